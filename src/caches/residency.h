/*-------------------------------------------------------------------------
 *
 * residency.h
 *	  Shared buffers and page cache compared block by block.
 *
 * Offers the blocks of a segment in both caches, one by one; their counts for each
 * fork of a list of relations, the same by ranges of blocks for one fork, and a
 * sample of the whole pool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESIDENCY_H
#define PBP_RESIDENCY_H

#include "base/relations.h"
#include "os/oscache.h"
#include "pool/poolindex.h"

/* What both caches hold of a segment. */
typedef struct PbpSegment
{
	PbpPoolIndex *index;		/* of the whole call */
	int64		nblocks;
	int64		shared;			/* in shared buffers */
	int64		shared_dirty;
	PbpOsBlocks os_blocks;		/* in the page cache; none if it is not trusted */
	uint8	   *levels;			/* for each block; 0: not in shared buffers */
	uint8	   *os;				/* a bit for each block */
} PbpSegment;

/* A fork's blocks in both caches. */
typedef struct PbpResidency
{
	Oid			relid;
	ForkNumber	fork;
	int64		blocks;
	int64		shared;			/* in shared buffers */
	int64		shared_dirty;
	PbpOsVerdict verdict;		/* on the counts below */
	int64		os;				/* in the page cache, with all pages */
	int64		os_partial;		/* with some of them */
	int64		both;
	double		nread;			/* blocks, or size of the sample; it would be as
								 * exact if all of its blocks counted the same */
} PbpResidency;

typedef struct PbpResidencyList
{
	PbpResidency *forks;
	int64		nforks;
	int64		max_forks;
} PbpResidencyList;

typedef struct PbpResidencyBucket
{
	int64		shared;
	int64		os;
	int64		both;
} PbpResidencyBucket;

/* A fork in ranges of equal length, give or take one block. */
typedef struct PbpResidencyMap
{
	int64		nblocks;
	int			nbuckets;		/* at most one per block */
	PbpResidencyBucket *buckets;
	PbpOsVerdict verdict;		/* on "os" and "both" */
} PbpResidencyMap;

/* How many pages of a sample of the pool are in the page cache. */
typedef struct PbpDuplicates
{
	int64		sampled;
	int64		cached;			/* of these, in the page cache */
	bool		complete;		/* the sample is the whole pool */
	PbpOsTrust	trust;			/* of the last page whose state is unknown */
} PbpDuplicates;

/* The first block of a range of a map. */
static inline int64
pbp_bucket_start(int bucket, int64 nblocks, int nbuckets)
{
	return (bucket * nblocks + nbuckets - 1) / nbuckets;
}

extern void pbp_segment_begin(PbpSegment *segment, const PbpLocator *only);
extern void pbp_segment_load(PbpSegment *segment, const PbpOsWalk *walk);
extern void pbp_segment_end(PbpSegment *segment);
extern void pbp_residency(const RelationList *relations, double fraction,
						  PbpResidencyList *result);
extern bool pbp_residency_map(const PbpLocator *locator, ForkNumber fork,
							  int max_buckets, PbpResidencyMap *map);
extern void pbp_sample_duplicates(int max_pages, int64 max_ns, int64 used, PbpDuplicates *duplicates);

#endif							/* PBP_RESIDENCY_H */

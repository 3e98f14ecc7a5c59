/*-------------------------------------------------------------------------
 *
 * residency.h
 *	  Shared buffers and page cache compared block by block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESIDENCY_H
#define PBP_RESIDENCY_H

#include "oscache.h"
#include "poolindex.h"

typedef struct PbpResidency
{
	int64		blocks;
	int64		shared;			/* all that are in shared buffers */
	int64		shared_dirty;
	PbpOsMethod method;
	char	   *unreadable;		/* path of the first segment that could not be
								 * opened, NULL if all could; palloc'd */
	int			error;			/* why, an errno */
	PbpOsTrust	trust;			/* of the counts below */
	int64		os;				/* all that are in the page cache, whole */
	int64		os_partial;		/* in part */
	int64		both;
} PbpResidency;

typedef struct PbpResidencyBucket
{
	int64		shared;
	int64		os;
	int64		both;
} PbpResidencyBucket;

/* A sample of the pool's pages, looked up in the page cache. */
typedef struct PbpDuplicates
{
	int64		sampled;
	int64		cached;			/* of them, in the page cache, too */
	bool		complete;		/* each page of the pool was looked up */
	PbpOsTrust	trust;			/* of the last page that could not be */
} PbpDuplicates;

/* The range that a block is in, and the first block of a range. */
static inline int
pbp_bucket_of(int64 block, int64 nblocks, int nbuckets)
{
	return (int) (block * nbuckets / nblocks);
}

static inline int64
pbp_bucket_start(int bucket, int64 nblocks, int nbuckets)
{
	return (bucket * nblocks + nbuckets - 1) / nbuckets;
}

extern bool pbp_residency(const PbpPoolIndex *index, const PbpLocator *locator,
						  ForkNumber fork, PbpResidency *residency);
extern PbpOsTrust pbp_residency_map(const PbpPoolIndex *index,
									const PbpLocator *locator,
									ForkNumber fork, int64 nblocks,
									int nbuckets, PbpResidencyBucket *buckets);

extern void pbp_sample_duplicates(int npages, int64 max_ns, PbpDuplicates *duplicates);

#endif							/* PBP_RESIDENCY_H */

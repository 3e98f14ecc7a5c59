/*-------------------------------------------------------------------------
 *
 * residency.h
 *	  Shared buffers and page cache compared block by block.
 *
 * Offers counts for each fork of a list of relations, perhaps by ranges of blocks; cache
 * maps; a sample of the whole pool; and times of reads by the cache that serves them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESIDENCY_H
#define PBP_RESIDENCY_H

#include "lib/stringinfo.h"

#include "base/latency.h"
#include "base/relations.h"
#include "caches/cachemap.h"
#include "os/oscache.h"

/* What both caches hold of a segment, and an index of the pool for all segments. */
typedef struct PbpSegment PbpSegment;

/* A fork's blocks in both caches, or those of one range of blocks. */
typedef struct PbpResidency
{
	Oid			relid;
	ForkNumber	fork;
	int64		first;			/* block */
	int64		blocks;
	int64		shared;			/* in shared buffers */
	PbpOsVerdict verdict;		/* on the counts below */
	int64		os;				/* in the page cache, with all pages */
	int64		both;
	double		nread;			/* size of the sample, if all of its blocks counted
								 * the same; INFINITY: all were looked up */
} PbpResidency;

typedef struct PbpResidencyList
{
	PbpResidency *rows;
	int64		nrows;
	int64		max_rows;
} PbpResidencyList;

#define PBP_ALL_SEGMENTS	(-1)

typedef struct PbpTakenMap
{
	StringInfoData bytes;
	bool		any;			/* one of the caches has a block */
	PbpOsVerdict verdict;		/* on the page cache; if unreadable, there is no map */
} PbpTakenMap;

/* How many pages of a sample of the pool are in the page cache. */
typedef struct PbpDuplicates
{
	int64		sampled;
	int64		cached;			/* of these, in the page cache */
	bool		complete;		/* the sample is the whole pool */
	PbpOsTrust	trust;			/* of the last page whose state is unknown */
} PbpDuplicates;

typedef enum PbpTier
{
	PBP_SHARED_BUFFERS,
	PBP_OS_CACHE,
	PBP_STORAGE,
	PBP_UNKNOWN_TIER			/* page cache or storage */
} PbpTier;

#define PBP_TIERS			(PBP_UNKNOWN_TIER + 1)

extern PbpSegment *pbp_segment_begin(const PbpLocator *only);
extern void pbp_segment_end(PbpSegment *segment);
extern void pbp_residency(const RelationList *relations, int buckets, double fraction,
						  PbpResidencyList *result);
extern bool pbp_take_map(PbpSegment *segment, Oid relid, const PbpLocator *locator,
						 ForkNumber fork, int only, const bool *os_before, PbpTakenMap *map);
extern const char *pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header);
extern void pbp_sample_duplicates(int max_pages, int64 max_ns, int64 used,
								  PbpDuplicates *duplicates);
extern PbpOsTrust pbp_read_cost(Relation relation, ForkNumber fork, int samples,
								PbpLatency *tiers);

#endif							/* PBP_RESIDENCY_H */

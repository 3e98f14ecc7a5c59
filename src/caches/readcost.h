/*-------------------------------------------------------------------------
 *
 * readcost.h
 *	  Times of reads, by the cache that serves them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_READCOST_H
#define PBP_READCOST_H

#include "base/compat.h"
#include "base/latency.h"
#include "os/oscache.h"

typedef enum PbpTier
{
	PBP_SHARED_BUFFERS,
	PBP_OS_CACHE,
	PBP_STORAGE,
	PBP_UNKNOWN_TIER			/* page cache or storage */
} PbpTier;

#define PBP_TIERS			(PBP_UNKNOWN_TIER + 1)

typedef struct PbpReadCost
{
	PbpLatency	tiers[PBP_TIERS];
	PbpOsTrust	trust;			/* of the last read whose tier is unknown */
} PbpReadCost;

extern void pbp_read_cost(Relation relation, ForkNumber fork, int samples,
						  PbpReadCost *cost);

#endif							/* PBP_READCOST_H */

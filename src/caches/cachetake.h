/*-------------------------------------------------------------------------
 *
 * cachetake.h
 *	  Takes cache maps: what both caches hold of a fork, block by block.
 *
 * Offers the maps of one relation, or of all relations of the database by one
 * scan of the descriptors; and those of single segments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHETAKE_H
#define PBP_CACHETAKE_H

#include "lib/stringinfo.h"

#include "caches/residency.h"

typedef struct PbpTakenMap
{
	StringInfoData bytes;
	int64		nblocks;
	int64		shared;			/* in shared buffers */
	int64		os;				/* in the page cache */
	PbpOsVerdict verdict;		/* on "os"; if unreadable, there is no map */
} PbpTakenMap;

extern bool pbp_take_map(PbpSegment *segment, Oid relid, const PbpLocator *locator,
						 ForkNumber fork, PbpTakenMap *map);
extern bool pbp_take_segment_map(PbpSegment *segment, const PbpLocator *locator, ForkNumber fork,
								 int number, const uint8 *os_before, PbpTakenMap *map);

#endif							/* PBP_CACHETAKE_H */

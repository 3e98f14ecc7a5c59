/*-------------------------------------------------------------------------
 *
 * cachetake.h
 *	  Takes cache maps: what both caches hold of a fork, block by block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHETAKE_H
#define PBP_CACHETAKE_H

#include "lib/stringinfo.h"

#include "caches/cachemap.h"
#include "caches/residency.h"

#define PBP_ALL_SEGMENTS	(-1)

typedef struct PbpTakenMap
{
	StringInfoData bytes;
	bool		any;			/* one of the caches has a block */
	PbpOsVerdict verdict;		/* on the page cache; if unreadable, there is no map */
} PbpTakenMap;

extern bool pbp_take_map(PbpSegment *segment, Oid relid, const PbpLocator *locator,
						 ForkNumber fork, int only, const uint8 *os_before, PbpTakenMap *map);
extern const char *pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header);

#endif							/* PBP_CACHETAKE_H */

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

#include "os/osfile.h"
#include "pool/poolindex.h"

typedef struct PbpMapTaker
{
	PbpPoolIndex *index;
	uint8	   *levels;			/* of the blocks of one segment */
	uint8	   *os;				/* a bit for each of them */
	const uint8 *os_before;		/* the same some time before; NULL: unknown */
} PbpMapTaker;

typedef struct PbpTakenMap
{
	StringInfoData bytes;
	int64		nblocks;
	int64		shared;			/* in shared buffers */
	int64		os;				/* in the page cache */
	PbpOsVerdict verdict;		/* on "os"; if unreadable, there is no map */
} PbpTakenMap;

extern void pbp_map_taker_begin(PbpMapTaker *taker, const PbpLocator *only);
extern bool pbp_take_map(PbpMapTaker *taker, Oid relid, const PbpLocator *locator,
						 ForkNumber fork, PbpTakenMap *map);
extern bool pbp_take_segment_map(PbpMapTaker *taker, const PbpLocator *locator, ForkNumber fork,
								 int segment, const uint8 *os_before, PbpTakenMap *map);
extern void pbp_map_taker_end(PbpMapTaker *taker);

#endif							/* PBP_CACHETAKE_H */

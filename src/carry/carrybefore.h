/*-------------------------------------------------------------------------
 *
 * carrybefore.h
 *	  What the page cache held at the save before, which tells pages that are
 *	  used from those that were read once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYBEFORE_H
#define PBP_CARRYBEFORE_H

#include "utils/hsearch.h"

#include "carry/carryfile.h"

typedef struct PbpCarryPlace
{
	PbpCarryEntry entry;		/* begins with the key */
	int64		end;			/* of its map in the file */
	bool		visited;		/* its map was asked for */
} PbpCarryPlace;

typedef struct PbpCarryBefore
{
	bool		is_open;		/* false: there was no save */
	bool		is_young;		/* what it had says little about what is used */
	PbpCarryReader reader;
	HTAB	   *places;			/* of entries in the file: PbpCarryPlace */
	uint8	   *os;				/* a bit for each block of a segment */
} PbpCarryBefore;

extern bool pbp_carry_open_before(PbpCarryBefore *before, int64 deadline_ns);
extern const uint8 *pbp_carry_map_before(PbpCarryBefore *before, const PbpCarryFile *file,
										 PbpCarryEntry *entry);
extern const uint8 *pbp_carry_os_before(PbpCarryBefore *before, const PbpCarryFile *file);
extern void pbp_carry_close_before(PbpCarryBefore *before);

#endif							/* PBP_CARRYBEFORE_H */

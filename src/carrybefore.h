/*-------------------------------------------------------------------------
 *
 * carrybefore.h
 *	  What the page cache held at the save before, which tells pages that are
 *	  used from those that somebody has read once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYBEFORE_H
#define PBP_CARRYBEFORE_H

#include "utils/hsearch.h"

#include "carryfile.h"

typedef struct PbpCarryBefore
{
	bool		is_open;		/* false: there was no save */
	bool		is_young;		/* what it had says little about what is used */
	PbpCarryReader reader;
	HTAB	   *places;			/* of entries in the file */
	uint8	   *os;				/* a bit for each block of a segment */
} PbpCarryBefore;

extern void pbp_carry_open_before(PbpCarryBefore *before);
extern const uint8 *pbp_carry_os_before(PbpCarryBefore *before, const PbpCarryFile *file);
extern void pbp_carry_close_before(PbpCarryBefore *before);

#endif							/* PBP_CARRYBEFORE_H */

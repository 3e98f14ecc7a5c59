/*-------------------------------------------------------------------------
 *
 * extent.h
 *	  The parts of a cache map that are restored at a time, and their value.
 *
 * Storage needs nearly as long for a few blocks as for some more.  So the unit
 * of a restore is not a block but an extent: all that the caches held of some
 * neighbors.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_EXTENT_H
#define PBP_EXTENT_H

#include "caches/cachemap.h"

/*
 * 4 MB of blocks of 8 kB: enough to keep a disk busy, and sessions wait no longer
 * than that takes to read.  A segment has a whole number of extents.
 */
#define PBP_EXTENT_BLOCKS	512

/* A request takes as long as reading this many further blocks. */
#define PBP_REQUEST_BLOCKS	8

/*
 * Extents of a band are worth about twice as much as those of the next lower one.
 * The lowest band has the blocks that are probably not missed: those that the
 * page cache alone held, and not yet at the save before.
 */
#define PBP_EXTENT_BANDS	8
#define PBP_LAST_BAND		0

/* States of blocks, a bit for each. */
#define PBP_STATE_BIT(state)	(UINT32_C(1) << (state))
#define PBP_STATES_LAST_BAND	PBP_STATE_BIT(PBP_MAP_LEVELS * PBP_MAP_OS_CACHED)
#define PBP_STATES_OTHER_BANDS	(~PBP_STATES_LAST_BAND & ~PBP_STATE_BIT(0))

typedef struct PbpExtent
{
	uint32_t	first;			/* place of its first block in the map */
	int			nblocks;
	int			nwanted;
	uint8_t		states[PBP_EXTENT_BLOCKS];	/* 0: not wanted */
} PbpExtent;

typedef struct PbpExtentReader
{
	uint32_t	wanted;			/* states, without 0 */
	PbpMapReader reader;
	PbpMapRun	run;			/* what is left of the present one */
	uint64_t	next;			/* place of its first block */
} PbpExtentReader;

extern void pbp_extents_read(PbpExtentReader *reader, const uint8_t *map, size_t bytes,
							 uint32_t wanted);
extern bool pbp_extent_next(PbpExtentReader *reader, PbpExtent *extent);
extern bool pbp_extent_run(const PbpExtent *extent, int *first, int *end);
extern int	pbp_extent_band(const PbpExtent *extent, bool last);

#endif							/* PBP_EXTENT_H */

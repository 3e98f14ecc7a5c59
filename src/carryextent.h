/*-------------------------------------------------------------------------
 *
 * carryextent.h
 *	  The parts of a cache map that are restored at a time, and what each of them
 *	  is worth.
 *
 * Storage answers a request for few blocks hardly sooner than one for some
 * more.  So what is restored is not a block but an extent: all that the caches
 * held of some neighbors, read in runs that go on over small gaps.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYEXTENT_H
#define PBP_CARRYEXTENT_H

#include "cachemap.h"

/*
 * 4 MB of blocks of 8 kB: enough to keep a disk busy, and sessions wait no longer
 * than that takes to read.
 */
#define PBP_EXTENT_BLOCKS	512

/* A request takes as long as reading so many blocks more. */
#define PBP_REQUEST_BLOCKS	8

/*
 * Extents of a band are worth about twice as much as those of the next lower one.
 * The lowest band has the blocks that probably nobody misses: those that the
 * page cache alone held, and not yet at the save before.
 */
#define PBP_EXTENT_BANDS	8
#define PBP_LAST_BAND		0

typedef struct PbpExtent
{
	uint32_t	first;			/* place of its first block in the map */
	int			nblocks;
	int			nwanted;
	uint8_t		states[PBP_EXTENT_BLOCKS];	/* 0: not wanted */
} PbpExtent;

typedef struct PbpExtentReader
{
	bool		last;			/* are the blocks of the last band wanted, or all others? */
	PbpMapReader reader;
	PbpMapRun	run;			/* what is left of the present one */
	uint64_t	next;			/* place of its first block */
} PbpExtentReader;

extern void pbp_extents_read(PbpExtentReader *reader, const uint8_t *map, size_t bytes, bool last);
extern bool pbp_extent_next(PbpExtentReader *reader, PbpExtent *extent);
extern bool pbp_extent_run(const PbpExtent *extent, int *first, int *end);
extern int	pbp_extent_band(const PbpExtent *extent, bool last);

#endif							/* PBP_CARRYEXTENT_H */

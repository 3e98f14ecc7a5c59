/*-------------------------------------------------------------------------
 *
 * extent.c
 *	  The parts of a cache map that are restored at a time, and their value.
 *
 * Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "caches/extent.h"

#include <string.h>

/* Prepares to read the blocks in some states of a map that pbp_map_check() has accepted. */
void
pbp_extents_read(PbpExtentReader *reader, const uint8_t *map, size_t bytes, uint32_t wanted)
{
	memset(reader, 0, sizeof(*reader));
	reader->wanted = wanted;
	pbp_map_read(&reader->reader, map, bytes);
}

/* Takes at most nblocks blocks of the present run; returns 0 at the end of the map. */
static uint64_t
take(PbpExtentReader *reader, uint64_t nblocks)
{
	if (reader->run.nblocks == 0 && !pbp_map_next(&reader->reader, &reader->run))
		return 0;
	if (nblocks > reader->run.nblocks)
		nblocks = reader->run.nblocks;
	reader->run.nblocks -= nblocks;
	reader->next += nblocks;
	return nblocks;
}

static bool
is_wanted(const PbpExtentReader *reader, int state)
{
	return (reader->wanted & PBP_STATE_BIT(state)) != 0;
}

/* Passes over extents that lie in a run of blocks that are not wanted. */
static void
skip_unwanted(PbpExtentReader *reader)
{
	if (reader->run.nblocks == 0)
		(void) pbp_map_next(&reader->reader, &reader->run);
	if (reader->run.nblocks >= PBP_EXTENT_BLOCKS && !is_wanted(reader, reader->run.state))
		(void) take(reader, reader->run.nblocks / PBP_EXTENT_BLOCKS * PBP_EXTENT_BLOCKS);
}

/* Reads the next extent, which may have no wanted block; false after the last one. */
bool
pbp_extent_next(PbpExtentReader *reader, PbpExtent *extent)
{
	uint64_t	taken;

	skip_unwanted(reader);
	extent->first = (uint32_t) reader->next;
	extent->nblocks = 0;
	extent->nwanted = 0;
	while (extent->nblocks < PBP_EXTENT_BLOCKS &&
		   (taken = take(reader, (uint64_t) (PBP_EXTENT_BLOCKS - extent->nblocks))) > 0)
	{
		bool		wanted = is_wanted(reader, reader->run.state);

		memset(extent->states + extent->nblocks, wanted ? reader->run.state : 0, taken);
		extent->nblocks += (int) taken;
		if (wanted)
			extent->nwanted += (int) taken;
	}
	return extent->nblocks > 0;
}

/*
 * Finds the next run of blocks to be read, from *end on, which is 0 at first:
 * from *first to before *end.  A gap that takes less time to read than another
 * request belongs to the run.
 */
bool
pbp_extent_run(const PbpExtent *extent, int *first, int *end)
{
	int			block = *end;

	while (block < extent->nblocks && extent->states[block] == 0)
		block++;
	if (block == extent->nblocks)
		return false;
	*first = *end = block;
	for (; block < extent->nblocks && block - *end < PBP_REQUEST_BLOCKS; block++)
	{
		if (extent->states[block] != 0)
			*end = block + 1;
	}
	return true;
}

/*
 * Returns the band of an extent.  Unless that is the last, it is the worth of its
 * blocks for the time that it takes to read them.  A block that only the page
 * cache held is worth 1, and one in shared buffers 2 and its usage count.
 */
int
pbp_extent_band(const PbpExtent *extent, bool last)
{
	int			worth = 0;
	int			cost = 0;
	int			band = PBP_LAST_BAND + 1;

	if (last)
		return PBP_LAST_BAND;

	for (int i = 0; i < extent->nblocks; i++)
	{
		if (extent->states[i] != 0)
			worth += pbp_map_level(extent->states[i]) + 1;
	}
	for (int first, end = 0; pbp_extent_run(extent, &first, &end);)
		cost += PBP_REQUEST_BLOCKS + end - first;
	/* A block that only the page cache held, without neighbors, is worth a ninth of its cost. */
	while (band < PBP_EXTENT_BANDS - 1 && 16 * worth >= cost << band)
		band++;
	return band;
}

/*
 * carry_extents.c
 *	  Are all blocks of a cache map restored once, in extents of the right band?
 *
 * Generates maps and compares their extents with the states from which they were
 * made.  Prints TAP; t/334_carry_extents.pl compiles it with src/carryextent.c
 * and src/cachemap.c.
 */
#include <stdio.h>
#include <string.h>

#include "../../src/carryextent.h"

#define MAPS			3000
#define MAX_BLOCKS		20000
#define MAX_BYTES		(PBP_MAP_HEADER_BYTES + 2 * MAX_BLOCKS + PBP_MAP_CHECKSUM_BYTES)

typedef struct Map
{
	size_t		nbytes;
	uint8_t		bytes[MAX_BYTES];
} Map;

static uint64_t random_state = 88172645463325252ULL;
static int	ntests = 0;

static uint32_t
draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t) (random_state >> 16) % below;
}

static void
ok(bool passed, const char *name)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++ntests, name);
}

static void
append(void *arg, const void *bytes, size_t nbytes)
{
	Map		   *map = arg;

	memcpy(map->bytes + map->nbytes, bytes, nbytes);
	map->nbytes += nbytes;
}

static void
write_map(Map *map, const uint8_t *states, int nblocks)
{
	PbpMapWriter writer = {.sink = append,.arg = map};

	map->nbytes = PBP_MAP_HEADER_BYTES;
	for (int i = 0; i < nblocks; i++)
		pbp_map_add(&writer, states[i], 1);
	pbp_map_end(&writer);
	map->nbytes += PBP_MAP_CHECKSUM_BYTES;
}

static int
draw_states(uint8_t *states)
{
	static const int lengths[] = {0, 1, PBP_EXTENT_BLOCKS - 1, PBP_EXTENT_BLOCKS, PBP_EXTENT_BLOCKS + 1};
	int			nblocks = draw(4) == 0 ? lengths[draw(5)] : (int) draw(MAX_BLOCKS);
	uint32_t	run_length = draw(3) == 0 ? 3000 : 1 + draw(20);

	for (int i = 0; i < nblocks; i++)
	{
		if (i == 0 || draw(run_length) == 0)
			states[i] = draw(2) == 0 ? 0 : (uint8_t) draw(PBP_MAP_STATES);
		else
			states[i] = states[i - 1];
	}
	return nblocks;
}

/* Each wanted block is in one run, runs begin and end with one, and gaps are where they must be. */
static bool
runs_are_right(const PbpExtent *extent)
{
	int			before = -PBP_EXTENT_BLOCKS;	/* end of the run before */
	int			covered = 0;

	for (int first, end = 0; pbp_extent_run(extent, &first, &end); before = end)
	{
		int			gap = 0;

		if (first - before < PBP_REQUEST_BLOCKS || extent->states[first] == 0 || extent->states[end - 1] == 0)
			return false;
		for (int i = first; i < end; i++)
		{
			gap = extent->states[i] == 0 ? gap + 1 : 0;
			covered += extent->states[i] != 0;
			if (gap >= PBP_REQUEST_BLOCKS)
				return false;
		}
	}
	return covered == extent->nwanted;
}

/* Are the extents those of the states, and is each block wanted with "last", or without, as it must be? */
static bool
extents_are_right(const Map *map, const uint8_t *states, int nblocks, bool last)
{
	PbpExtentReader reader;
	PbpExtent	extent;
	int			at = 0;			/* all blocks before are checked */

	pbp_extents_read(&reader, map->bytes, map->nbytes, last);
	for (bool more = true; more;)
	{
		int			nwanted = 0;
		int			first;

		more = pbp_extent_next(&reader, &extent);
		first = more ? (int) extent.first : nblocks;
		if (first < at || (more && (first % PBP_EXTENT_BLOCKS != 0 || first + extent.nblocks > nblocks)))
			return false;
		for (; at < (more ? first + extent.nblocks : nblocks); at++)
		{
			bool		is_last = states[at] == pbp_map_state(0, PBP_MAP_OS_CACHED);
			bool		wanted = states[at] != 0 && is_last == last;

			if (at < first ? wanted : extent.states[at - first] != (wanted ? states[at] : 0))
				return false;
			nwanted += wanted;
		}
		if (more && (nwanted == 0 || nwanted != extent.nwanted || !runs_are_right(&extent)))
			return false;
	}
	return true;
}

static void
test_maps(void)
{
	static uint8_t states[MAX_BLOCKS];
	static Map	map;
	bool		others = true;
	bool		last = true;

	for (int i = 0; i < MAPS; i++)
	{
		int			nblocks = draw_states(states);

		write_map(&map, states, nblocks);
		others = others && extents_are_right(&map, states, nblocks, false);
		last = last && extents_are_right(&map, states, nblocks, true);
	}
	ok(others, "each block is wanted once, in runs with small gaps");
	ok(last, "each block of the last band, too");
}

/* The band of an extent of which each so many blocks are in that state. */
static int
band(int step, int state, int nblocks)
{
	PbpExtent	extent = {.nblocks = nblocks};

	for (int i = 0; i < nblocks; i += step)
		extent.states[i] = (uint8_t) state;
	return pbp_extent_band(&extent, false);
}

static void
test_bands(void)
{
	int			kept = pbp_map_state(0, PBP_MAP_OS_KEPT);
	bool		rises = true;
	PbpExtent	extent = {.nblocks = 1};

	ok(pbp_extent_band(&extent, true) == PBP_LAST_BAND, "the last band is the last");
	ok(band(1, pbp_map_state(PBP_MAP_MAX_USAGE + 1, PBP_MAP_OS_NOT), PBP_EXTENT_BLOCKS) == PBP_EXTENT_BANDS - 1,
	   "the highest usage count is in the highest band");
	ok(band(1, kept, 1) == PBP_LAST_BAND + 1, "a single block is in the lowest of the other bands");
	ok(band(1, kept, PBP_EXTENT_BLOCKS) == band(2, kept, PBP_EXTENT_BLOCKS) + 1 &&
	   band(2, kept, PBP_EXTENT_BLOCKS) == band(4, kept, PBP_EXTENT_BLOCKS) + 1,
	   "half of the blocks of a run are one band less");
	for (int level = 1; level < PBP_MAP_LEVELS; level++)
	{
		for (int step = 1; step < 2 * PBP_REQUEST_BLOCKS; step++)
			rises = rises && band(step, level, PBP_EXTENT_BLOCKS) >= band(step, level > 1 ? level - 1 : kept, PBP_EXTENT_BLOCKS);
	}
	ok(rises && band(3, 6, PBP_EXTENT_BLOCKS) > band(3, 1, PBP_EXTENT_BLOCKS), "a higher usage count is in no lower band");
}

int
main(void)
{
	test_maps();
	test_bands();
	printf("1..%d\n", ntests);
	return 0;
}

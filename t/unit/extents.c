/*
 * extents.c
 *	  Tests that all blocks of a cache map are in one extent, of the right band.
 *
 * Generates maps and compares their extents with the states from which they were
 * made.
 */
#include <stdlib.h>
#include <string.h>

#include "caches/cachemap.h"
#include "random.h"
#include "tap.h"

#define MAPS			3000
#define MAX_BLOCKS		20000
#define BLOCK_BYTES		8192
#define CHECKSUM		0x12345678	/* any will do: the caller of pbp_map_check() computes it */
#define EXTENTS			2000

typedef struct Map
{
	size_t		nbytes;
	uint8_t    *bytes;			/* of exactly this size, for a sanitizer */
} Map;

static void
append(void *arg, const void *bytes, size_t nbytes)
{
	Map		   *map = arg;

	map->bytes = realloc(map->bytes, map->nbytes + nbytes);
	memcpy(map->bytes + map->nbytes, bytes, nbytes);
	map->nbytes += nbytes;
}

static void
begin_map(Map *map)
{
	static const uint8_t zeros[PBP_MAP_HEADER_BYTES];

	*map = (Map) {0, NULL};
	append(map, zeros, PBP_MAP_HEADER_BYTES);
}

/* Returns whether the map is a good one. */
static bool
end_map(Map *map, PbpMapWriter *writer, uint64_t nblocks)
{
	PbpMapHeader header = {.block_bytes = BLOCK_BYTES,.os_known = true,.nblocks = nblocks};
	uint8_t		checksum[PBP_MAP_CHECKSUM_BYTES];

	pbp_map_end(writer);
	pbp_map_put_header(map->bytes, &header);
	pbp_map_put_checksum(checksum, CHECKSUM);
	append(map, checksum, sizeof(checksum));
	return pbp_map_check(map->bytes, map->nbytes, CHECKSUM, BLOCK_BYTES, &header) == NULL;
}

static bool
write_map(Map *map, const uint8_t *states, int nblocks)
{
	PbpMapWriter writer = {.sink = append,.arg = map};

	begin_map(map);
	for (int i = 0; i < nblocks; i++)
		pbp_map_add(&writer, states[i], 1);
	return end_map(map, &writer, (uint64_t) nblocks);
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

	for (int first, end = 0; pbp_next_run(extent->states, extent->nblocks, PBP_MAX_GAP, &first, &end); before = end)
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

	pbp_extents_read(&reader, map->bytes, map->nbytes,
					 last ? PBP_STATES_LAST_BAND : PBP_STATES_OTHER_BANDS);
	for (bool more = true; more;)
	{
		int			nwanted = 0;
		int			first;

		memset(&extent, 0xAA, sizeof(extent));
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
		if (more && (nwanted != extent.nwanted || !runs_are_right(&extent)))
			return false;
	}
	return !pbp_extent_next(&reader, &extent);
}

static void
test_maps(void)
{
	static uint8_t states[MAX_BLOCKS];
	Map			map;
	bool		good = true;
	bool		others = true;
	bool		last = true;

	for (int i = 0; i < MAPS; i++)
	{
		int			nblocks = draw_states(states);

		good = write_map(&map, states, nblocks) && good;
		others = others && extents_are_right(&map, states, nblocks, false);
		last = last && extents_are_right(&map, states, nblocks, true);
		free(map.bytes);
	}
	ok(good, "the maps are good");
	ok(others, "each block is wanted once, in runs with small gaps");
	ok(last, "each block of the last band, too");
}

/* The only wanted block is the last one of the longest fork. */
static void
test_longest(void)
{
	uint64_t	before = PBP_MAP_MAX_BLOCKS - 1;
	Map			map;
	PbpMapWriter writer = {.sink = append,.arg = &map};
	PbpExtentReader reader;
	PbpExtent	extent;

	begin_map(&map);
	pbp_map_add(&writer, 0, before);
	pbp_map_add(&writer, 6, 1);
	ok(end_map(&map, &writer, PBP_MAP_MAX_BLOCKS), "a map of the longest fork");
	pbp_extents_read(&reader, map.bytes, map.nbytes, PBP_STATES_OTHER_BANDS);
	ok(pbp_extent_next(&reader, &extent) && extent.nwanted == 1 &&
	   extent.first + (uint64_t) extent.nblocks == PBP_MAP_MAX_BLOCKS &&
	   extent.first % PBP_EXTENT_BLOCKS == 0 && extent.states[extent.nblocks - 1] == 6 &&
	   !pbp_extent_next(&reader, &extent),
	   "its last block is found");
	free(map.bytes);
}

/* Blocks of levels below this one, with random gaps. */
static void
draw_extent(PbpExtent *extent, int levels)
{
	uint32_t	gaps = 1 + draw(20);

	memset(extent, 0, sizeof(*extent));
	extent->nblocks = 1 + (int) draw(PBP_EXTENT_BLOCKS);
	for (int i = (int) draw((uint32_t) extent->nblocks); i < extent->nblocks; i += 1 + (int) draw(gaps))
	{
		int			level = (int) draw((uint32_t) levels);

		extent->states[i] = (uint8_t) pbp_map_state(level, level == 0 ? PBP_MAP_OS_KEPT : (PbpMapOs) draw(3));
		extent->nwanted++;
	}
}

/* Raises the blocks one after another to a higher level. */
static bool
never_falls(PbpExtent *extent)
{
	int			before = pbp_extent_band(extent, false);

	for (int i = 0; i < extent->nblocks; i++)
	{
		int			level = pbp_map_level(extent->states[i]);
		int			band;

		if (extent->states[i] == 0 || level == PBP_MAP_LEVELS - 1)
			continue;
		extent->states[i] += (uint8_t) (1 + draw((uint32_t) (PBP_MAP_LEVELS - 1 - level)));
		band = pbp_extent_band(extent, false);
		if (band < before || band <= PBP_LAST_BAND || band >= PBP_EXTENT_BANDS)
			return false;
		before = band;
	}
	return true;
}

/* Twice the worth is one band more. */
static bool
doubles(PbpExtent *extent)
{
	int			before = pbp_extent_band(extent, false);

	for (int i = 0; i < extent->nblocks; i++)
	{
		if (extent->states[i] != 0)
			extent->states[i] = (uint8_t) (2 * pbp_map_level(extent->states[i]) + 1);
	}
	return pbp_extent_band(extent, false) == (before < PBP_EXTENT_BANDS - 1 ? before + 1 : before);
}

static void
test_random_bands(void)
{
	bool		rises = true;
	bool		doubled = true;
	PbpExtent	extent;

	for (int i = 0; i < EXTENTS; i++)
	{
		draw_extent(&extent, PBP_MAP_LEVELS);
		rises = rises && never_falls(&extent);
		draw_extent(&extent, PBP_MAP_LEVELS / 2);
		doubled = doubled && doubles(&extent);
	}
	ok(rises, "no block with a higher usage count lowers the band");
	ok(doubled, "twice the worth for the same cost is one band more");
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
	ok(band(PBP_REQUEST_BLOCKS + 1, kept, PBP_EXTENT_BLOCKS) == PBP_LAST_BAND + 1,
	   "many blocks apart are worth no more than one");
	ok(band(1, kept, PBP_REQUEST_BLOCKS) == 4 && band(1, kept, PBP_EXTENT_BLOCKS) == 4,
	   "half of the cost, or nearly all of it, is band 4");
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
	test_longest();
	test_bands();
	test_random_bands();
	return end_of_tests();
}

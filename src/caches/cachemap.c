/*-------------------------------------------------------------------------
 *
 * cachemap.c
 *	  The format of a cache map: written, checked, and read run by run, or extent by
 *	  extent with the value of each.
 *
 * A run is a single number: (number of blocks - 1) * number of states + state,
 * in groups of seven bits, the lowest first; the high bit of a byte says that
 * another byte follows.  So up to six blocks take one byte.
 *
 * Nothing in a map leads beyond its end, whether or not it was checked.  How to
 * get the states of blocks belongs in residency.c, what to do with them in
 * cacherestore.c.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "caches/cachemap.h"

#include <string.h>

#define MAGIC			"pbpcache"
#define MAGIC_BYTES		8
#define VERSION			1
#define OS_KNOWN		1		/* the only flag */

#define MAX_NUMBER_BYTES	10	/* of 64 bits */

/* ---- numbers ---- */

/* Returns the place behind the number. */
static uint8_t *
put_number(uint8_t *place, uint64_t number, int bytes)
{
	for (; bytes > 0; bytes--, number >>= 8)
		*place++ = (uint8_t) number;
	return place;
}

/* Leads the place behind the number. */
static uint64_t
get_number(const uint8_t **place, int bytes)
{
	uint64_t	number = 0;

	for (int i = 0; i < bytes; i++)
		number |= (uint64_t) *(*place)++ << (8 * i);
	return number;
}

/* ---- writing ---- */

/* Adds the next blocks of the fork, which are all in one state. */
void
pbp_map_add(PbpMapWriter *writer, int state, uint64_t nblocks)
{
	if (writer->run.state != state)
	{
		pbp_map_end(writer);
		writer->run.state = state;
	}
	writer->run.nblocks += nblocks;
}

/* Writes the last run. */
void
pbp_map_end(PbpMapWriter *writer)
{
	uint8_t		bytes[MAX_NUMBER_BYTES];
	size_t		nbytes = 0;
	uint64_t	number;

	if (writer->run.nblocks == 0)
		return;
	number = (writer->run.nblocks - 1) * PBP_MAP_STATES + (uint64_t) writer->run.state;
	for (; number > 0x7F; number >>= 7)
		bytes[nbytes++] = (uint8_t) (number | 0x80);
	bytes[nbytes++] = (uint8_t) number;
	writer->sink(writer->arg, bytes, nbytes);
	writer->run.nblocks = 0;
}

/* Writes the first PBP_MAP_HEADER_BYTES of a map. */
void
pbp_map_put_header(uint8_t *place, const PbpMapHeader *header)
{
	memcpy(place, MAGIC, MAGIC_BYTES);
	place = put_number(place + MAGIC_BYTES, VERSION, 4);
	place = put_number(place, header->block_bytes, 4);
	place = put_number(place, header->fork, 4);
	place = put_number(place, header->os_known ? OS_KNOWN : 0, 4);
	place = put_number(place, header->nblocks, 8);
	place = put_number(place, header->system, 8);
	place = put_number(place, header->database, 4);
	put_number(place, header->relation, 4);
}

/* Writes the last PBP_MAP_CHECKSUM_BYTES: a checksum of all bytes before. */
void
pbp_map_put_checksum(uint8_t *place, uint32_t checksum)
{
	put_number(place, checksum, PBP_MAP_CHECKSUM_BYTES);
}

/* ---- reading ---- */

/* Prepares to read the runs of a map, which has at least a header and a checksum. */
void
pbp_map_read(PbpMapReader *reader, const uint8_t *map, size_t bytes)
{
	reader->next = map + PBP_MAP_HEADER_BYTES;
	reader->end = map + bytes - PBP_MAP_CHECKSUM_BYTES;
}

/* Reads the next run; false after the last one, or if the rest is not a run. */
bool
pbp_map_next(PbpMapReader *reader, PbpMapRun *run)
{
	uint64_t	number = 0;
	const uint8_t *next = reader->next;

	for (int shift = 0; next < reader->end && shift < 7 * (MAX_NUMBER_BYTES - 1); shift += 7)
	{
		uint8_t		byte = *next++;

		number |= (uint64_t) (byte & 0x7F) << shift;
		if (byte <= 0x7F)
		{
			run->nblocks = number / PBP_MAP_STATES + 1;
			run->state = (int) (number % PBP_MAP_STATES);
			reader->next = next;
			return true;
		}
	}
	return false;
}

static bool
runs_add_up(const uint8_t *map, size_t bytes, uint64_t nblocks)
{
	PbpMapReader reader;
	PbpMapRun	run;
	uint64_t	left = nblocks;

	pbp_map_read(&reader, map, bytes);
	while (pbp_map_next(&reader, &run))
	{
		if (run.nblocks > left)
			return false;
		left -= run.nblocks;
	}
	return left == 0 && reader.next == reader.end;
}

/*
 * Returns why a map cannot be used, given the checksum of all but its last bytes; NULL
 * if it can.  Sets the header then.
 *
 * A map with the right checksum can still be wrong: it may have been made by hand.
 */
const char *
pbp_map_check(const uint8_t *map, size_t bytes, uint32_t checksum, uint32_t block_bytes,
			  PbpMapHeader *header)
{
	const uint8_t *place;
	const uint8_t *end;

	if (bytes < PBP_MAP_HEADER_BYTES + PBP_MAP_CHECKSUM_BYTES)
		return "It is too short.";
	place = map + MAGIC_BYTES;
	end = map + bytes - PBP_MAP_CHECKSUM_BYTES;
	if (memcmp(map, MAGIC, MAGIC_BYTES) != 0)
		return "It does not begin as a cache map does.";
	if (get_number(&end, PBP_MAP_CHECKSUM_BYTES) != checksum)
		return "It is damaged: its checksum is wrong.";
	if (get_number(&place, 4) != VERSION)
		return "It was written by another version of pgbufprobe.";
	header->block_bytes = (uint32_t) get_number(&place, 4);
	header->fork = (uint32_t) get_number(&place, 4);
	header->os_known = (get_number(&place, 4) & OS_KNOWN) != 0;
	header->nblocks = get_number(&place, 8);
	header->system = get_number(&place, 8);
	header->database = (uint32_t) get_number(&place, 4);
	header->relation = (uint32_t) get_number(&place, 4);
	if (header->block_bytes != block_bytes)
		return "It was written by a server with another block size.";
	if (header->nblocks > PBP_MAP_MAX_BLOCKS || !runs_add_up(map, bytes, header->nblocks))
		return "Its runs of blocks do not add up to its number of blocks.";
	return NULL;
}

/* ---- extents ---- */

/* Prepares to read the blocks in some states of a map that pbp_map_check() has accepted. */
void
pbp_extents_read(PbpExtentReader *reader, const uint8_t *map, size_t bytes, uint32_t wanted)
{
	*reader = (PbpExtentReader) {.wanted = wanted};
	pbp_map_read(&reader->reader, map, bytes);
}

/*
 * Reads the next extent, which may have no wanted block; false after the last one.
 * Passes over extents that lie in a run of blocks that are not wanted.
 */
bool
pbp_extent_next(PbpExtentReader *reader, PbpExtent *extent)
{
	PbpMapRun  *run = &reader->run;

	extent->nblocks = extent->nwanted = 0;
	while (extent->nblocks < PBP_EXTENT_BLOCKS &&
		   (run->nblocks > 0 || pbp_map_next(&reader->reader, run)))
	{
		bool		wanted = (reader->wanted & PBP_STATE_BIT(run->state)) != 0;
		uint64_t	taken = (uint64_t) (PBP_EXTENT_BLOCKS - extent->nblocks);

		if (taken > run->nblocks)
			taken = run->nblocks;
		if (taken == PBP_EXTENT_BLOCKS && !wanted)
			taken = run->nblocks / PBP_EXTENT_BLOCKS * PBP_EXTENT_BLOCKS;
		else
		{
			memset(extent->states + extent->nblocks, wanted ? run->state : 0, taken);
			extent->nblocks += (int) taken;
			extent->nwanted += wanted ? (int) taken : 0;
		}
		run->nblocks -= taken;
		reader->next += taken;
	}
	extent->first = (uint32_t) (reader->next - (uint64_t) extent->nblocks);
	return extent->nblocks > 0;
}

/*
 * Finds the next run of marks, from *end on, which is 0 at first: from *first to before
 * *end.  Gaps of up to max_gap belong to the run.
 */
bool
pbp_next_run(const uint8_t *marks, int nmarks, int max_gap, int *first, int *end)
{
	int			i = *end;

	while (i < nmarks && marks[i] == 0)
		i++;
	if (i == nmarks)
		return false;
	*first = *end = i;
	for (; i < nmarks && i - *end <= max_gap; i++)
		if (marks[i] != 0)
			*end = i + 1;
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
		if (extent->states[i] != 0)
			worth += pbp_map_level(extent->states[i]) + 1;
	for (int first, end = 0;
		 pbp_next_run(extent->states, extent->nblocks, PBP_MAX_GAP, &first, &end);)
		cost += PBP_REQUEST_BLOCKS + end - first;
	/* A block that only the page cache held, without neighbors, is worth a ninth of its cost. */
	while (band < PBP_EXTENT_BANDS - 1 && 16 * worth >= cost << band)
		band++;
	return band;
}

/*-------------------------------------------------------------------------
 *
 * cachemap.c
 *	  The format of a cache map: written, checked, and read run by run.
 *
 * A run is a single number: (number of blocks - 1) * number of states + state,
 * in groups of seven bits, the lowest first; the high bit of a byte says that
 * another byte follows.  So up to six blocks take one byte.
 *
 * Nothing in a map leads beyond its end, whether or not it was checked.  How to
 * get the states of blocks, and what to do with them, belongs in cachetake.c and
 * cacherestore.c.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "caches/cachemap.h"

#include <string.h>

#define MAGIC			"pbpcache"
#define MAGIC_BYTES		8
#define VERSION			1

/* offsets in the header */
#define VERSION_AT		8
#define BLOCK_BYTES_AT	12
#define FORK_AT			16
#define FLAGS_AT		20
#define NBLOCKS_AT		24
#define SYSTEM_AT		32
#define DATABASE_AT		40
#define RELATION_AT		44

#define OS_KNOWN		1		/* the only flag */

#define MAX_NUMBER_BYTES	10	/* of 64 bits */

/* ---- numbers ---- */

static void
put_number(uint8_t *place, uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		place[i] = (uint8_t) (number >> (8 * i));
}

static uint64_t
get_number(const uint8_t *place, int bytes)
{
	uint64_t	number = 0;

	for (int i = 0; i < bytes; i++)
		number |= (uint64_t) place[i] << (8 * i);
	return number;
}

/* ---- writing ---- */

static void
write_run(const PbpMapWriter *writer)
{
	uint64_t	number = (writer->run.nblocks - 1) * PBP_MAP_STATES + (uint64_t) writer->run.state;
	uint8_t		bytes[MAX_NUMBER_BYTES];
	size_t		nbytes = 0;

	while (number > 0x7F)
	{
		bytes[nbytes++] = (uint8_t) (number | 0x80);
		number >>= 7;
	}
	bytes[nbytes++] = (uint8_t) number;
	writer->sink(writer->arg, bytes, nbytes);
}

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
	if (writer->run.nblocks > 0)
		write_run(writer);
	writer->run.nblocks = 0;
}

/* Writes the first PBP_MAP_HEADER_BYTES of a map. */
void
pbp_map_put_header(uint8_t *place, const PbpMapHeader *header)
{
	memcpy(place, MAGIC, MAGIC_BYTES);
	put_number(place + VERSION_AT, VERSION, 4);
	put_number(place + BLOCK_BYTES_AT, header->block_bytes, 4);
	put_number(place + FORK_AT, header->fork, 4);
	put_number(place + FLAGS_AT, header->os_known ? OS_KNOWN : 0, 4);
	put_number(place + NBLOCKS_AT, header->nblocks, 8);
	put_number(place + SYSTEM_AT, header->system, 8);
	put_number(place + DATABASE_AT, header->database, 4);
	put_number(place + RELATION_AT, header->relation, 4);
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

/* A map of no more blocks than a fork can have, whose runs have exactly these. */
static bool
runs_add_up(const uint8_t *map, size_t bytes, uint64_t nblocks)
{
	PbpMapReader reader;
	PbpMapRun	run;
	uint64_t	sum = 0;

	pbp_map_read(&reader, map, bytes);
	while (sum <= nblocks && pbp_map_next(&reader, &run))
	{
		if (run.nblocks > nblocks - sum)
			return false;
		sum += run.nblocks;
	}
	return sum == nblocks && reader.next == reader.end;
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
	if (bytes < PBP_MAP_HEADER_BYTES + PBP_MAP_CHECKSUM_BYTES)
		return "It is too short.";
	if (memcmp(map, MAGIC, MAGIC_BYTES) != 0)
		return "It does not begin as a cache map does.";
	if (get_number(map + bytes - PBP_MAP_CHECKSUM_BYTES, PBP_MAP_CHECKSUM_BYTES) != checksum)
		return "It is damaged: its checksum is wrong.";
	if (get_number(map + VERSION_AT, 4) != VERSION)
		return "It was written by another version of pgbufprobe.";
	header->block_bytes = (uint32_t) get_number(map + BLOCK_BYTES_AT, 4);
	header->fork = (uint32_t) get_number(map + FORK_AT, 4);
	header->os_known = (get_number(map + FLAGS_AT, 4) & OS_KNOWN) != 0;
	header->nblocks = get_number(map + NBLOCKS_AT, 8);
	header->system = get_number(map + SYSTEM_AT, 8);
	header->database = (uint32_t) get_number(map + DATABASE_AT, 4);
	header->relation = (uint32_t) get_number(map + RELATION_AT, 4);
	if (header->block_bytes != block_bytes)
		return "It was written by a server with another block size.";
	if (header->nblocks > PBP_MAP_MAX_BLOCKS || !runs_add_up(map, bytes, header->nblocks))
		return "Its runs of blocks do not add up to its number of blocks.";
	return NULL;
}

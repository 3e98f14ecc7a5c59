/*
 * cache_map.c
 *	  Is a cache map read as it was written, and what happens to a damaged one?
 *
 * Generates 10,000 maps, reads them back, and damages each: cuts it off, flips
 * bits with and without a new checksum, or replaces it by random bytes.  Each
 * copy has memory of exactly its size, so that a sanitizer sees every read
 * beyond its end.  Prints TAP.
 */
#include <stdlib.h>
#include <string.h>

#include "caches/cachemap.h"
#include "random.h"
#include "tap.h"

#define MAPS			10000
#define MAX_BLOCKS		2000
#define BLOCK_BYTES		8192
#define SYSTEM			UINT64_C(7428391029384756102)

typedef struct Map
{
	uint8_t    *bytes;
	size_t		nbytes;
} Map;

/* CRC-32C, bit by bit */
static uint32_t
checksum(const uint8_t *bytes, size_t nbytes)
{
	uint32_t	crc = 0xFFFFFFFF;

	for (size_t i = 0; i < nbytes; i++)
	{
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
	}
	return ~crc;
}

static void
append(void *arg, const void *bytes, size_t nbytes)
{
	Map		   *map = arg;

	map->bytes = realloc(map->bytes, map->nbytes + nbytes);
	memcpy(map->bytes + map->nbytes, bytes, nbytes);
	map->nbytes += nbytes;
}

static void
sign(Map *map)
{
	size_t		before = map->nbytes - PBP_MAP_CHECKSUM_BYTES;

	pbp_map_put_checksum(map->bytes + before, checksum(map->bytes, before));
}

static Map
write_map(const uint8_t *states, uint64_t nblocks, bool os_known)
{
	static const uint8_t zeros[PBP_MAP_HEADER_BYTES];
	Map			map = {NULL, 0};
	PbpMapHeader header = {BLOCK_BYTES, 2, os_known, nblocks, SYSTEM, 5, 16384};
	PbpMapWriter writer = {append, &map, {0, 0}};

	append(&map, zeros, PBP_MAP_HEADER_BYTES);
	for (uint64_t i = 0; i < nblocks; i++)
		pbp_map_add(&writer, states[i], 1);
	pbp_map_end(&writer);
	pbp_map_put_header(map.bytes, &header);
	append(&map, zeros, PBP_MAP_CHECKSUM_BYTES);
	sign(&map);
	return map;
}

static const char *
check_bytes(const Map *map, PbpMapHeader *header)
{
	size_t		before = map->nbytes < PBP_MAP_CHECKSUM_BYTES ? 0 : map->nbytes - PBP_MAP_CHECKSUM_BYTES;

	return pbp_map_check(map->bytes, map->nbytes, checksum(map->bytes, before), BLOCK_BYTES, header);
}

/* Does the map say the same as the states from which it was written? */
static bool
reads_as(const Map *map, const uint8_t *states, uint64_t nblocks)
{
	PbpMapReader reader;
	PbpMapRun	run;
	uint64_t	block = 0;

	pbp_map_read(&reader, map->bytes, map->nbytes);
	while (pbp_map_next(&reader, &run))
	{
		for (uint64_t i = 0; i < run.nblocks; i++, block++)
		{
			if (block >= nblocks || states[block] != run.state)
				return false;
		}
	}
	return block == nblocks;
}

static uint64_t
draw_states(uint8_t *states)
{
	uint64_t	nblocks = draw(MAX_BLOCKS + 1);
	uint32_t	run_length = 1 + draw(300);

	for (uint64_t i = 0; i < nblocks; i++)
		states[i] = i == 0 || draw(run_length) == 0 ? (uint8_t) draw(PBP_MAP_STATES) : states[i - 1];
	return nblocks;
}

static Map
copy(const Map *map, size_t nbytes)
{
	Map			copied = {malloc(nbytes > 0 ? nbytes : 1), nbytes};

	memcpy(copied.bytes, map->bytes, nbytes);
	return copied;
}

static bool
refuses_cut(const Map *map)
{
	Map			cut = copy(map, draw((uint32_t) map->nbytes));
	PbpMapHeader header;
	bool		refused = check_bytes(&cut, &header) != NULL;

	free(cut.bytes);
	return refused;
}

static bool
refuses_flipped(const Map *map)
{
	Map			flipped = copy(map, map->nbytes);
	PbpMapHeader header;
	bool		refused;

	flipped.bytes[draw((uint32_t) map->nbytes)] ^= (uint8_t) (1 << draw(8));
	refused = check_bytes(&flipped, &header) != NULL;
	free(flipped.bytes);
	return refused;
}

/* A map that passes the check has as many blocks as its header says. */
static bool
is_consistent(const Map *map)
{
	PbpMapHeader header;
	PbpMapReader reader;
	PbpMapRun	run;
	uint64_t	sum = 0;

	if (check_bytes(map, &header) != NULL)
		return true;
	pbp_map_read(&reader, map->bytes, map->nbytes);
	while (pbp_map_next(&reader, &run))
	{
		if (run.state < 0 || run.state >= PBP_MAP_STATES || run.nblocks == 0)
			return false;
		sum += run.nblocks;
	}
	return sum == header.nblocks && reader.next == reader.end;
}

static bool
survives_signed_damage(const Map *map)
{
	Map			damaged = copy(map, PBP_MAP_HEADER_BYTES + PBP_MAP_CHECKSUM_BYTES +
							   draw((uint32_t) map->nbytes - PBP_MAP_HEADER_BYTES - PBP_MAP_CHECKSUM_BYTES + 1));
	bool		consistent;

	for (uint32_t flips = 1 + draw(5); flips > 0; flips--)
		damaged.bytes[draw((uint32_t) damaged.nbytes)] ^= (uint8_t) (1 << draw(8));
	sign(&damaged);
	consistent = is_consistent(&damaged);
	free(damaged.bytes);
	return consistent;
}

static bool
survives_noise(const Map *map)
{
	Map			noise = copy(map, map->nbytes);
	bool		consistent;

	for (size_t i = draw(2) ? 0 : PBP_MAP_HEADER_BYTES; i < noise.nbytes; i++)
		noise.bytes[i] = (uint8_t) draw(256);
	sign(&noise);
	consistent = is_consistent(&noise);
	free(noise.bytes);
	return consistent;
}

static void
test_generated(void)
{
	static uint8_t states[MAX_BLOCKS];
	int			read = 0, cut = 0, flipped = 0, damaged = 0, noise = 0;

	for (int i = 0; i < MAPS; i++)
	{
		uint64_t	nblocks = draw_states(states);
		bool		os_known = draw(2);
		Map			map = write_map(states, nblocks, os_known);
		PbpMapHeader header;

		read += check_bytes(&map, &header) == NULL && header.nblocks == nblocks && header.fork == 2 &&
			header.os_known == os_known && header.system == SYSTEM && header.database == 5 &&
			header.relation == 16384 && reads_as(&map, states, nblocks);
		cut += refuses_cut(&map);
		flipped += refuses_flipped(&map);
		damaged += survives_signed_damage(&map);
		noise += survives_noise(&map);
		free(map.bytes);
	}
	ok(read == MAPS, "each map is read as it was written");
	ok(cut == MAPS, "each map that was cut off is refused");
	ok(flipped == MAPS, "each map with a flipped bit is refused");
	ok(damaged == MAPS, "a damaged map with a new checksum is refused, or still adds up");
	ok(noise == MAPS, "random bytes with a checksum are refused, or add up");
}

static void
is_refused(Map map, size_t offset, uint8_t byte, const char *reason, const char *name)
{
	PbpMapHeader header;
	const char *given;

	map.bytes[offset] = byte;
	sign(&map);
	given = check_bytes(&map, &header);
	ok(given != NULL && strstr(given, reason) != NULL, name);
	free(map.bytes);
}

static void
test_reasons(void)
{
	const uint8_t states[] = {0, 0, 3, 13};

	is_refused(write_map(states, 4, true), 0, 'P', "begin", "something else");
	is_refused(write_map(states, 4, true), 8, 2, "another version", "another version");
	is_refused(write_map(states, 4, true), 13, 0x10, "block size", "another block size");
	is_refused(write_map(states, 4, true), 24, 5, "add up", "a block is missing");
	is_refused(write_map(states, 4, true), 24, 3, "add up", "a block too many");
	is_refused(write_map(states, 4, true), 29, 1, "add up", "more blocks than a fork can have");
	is_refused(write_map(states, 4, true), PBP_MAP_HEADER_BYTES + 2, 0x80 | 13, "add up", "a run without an end");
}

/* Sizes for a terabyte follow from the number of runs, so these must be right. */
static void
test_sizes(void)
{
	uint8_t		states[MAX_BLOCKS];
	Map			map;

	memset(states, 13, sizeof(states));
	map = write_map(states, MAX_BLOCKS, true);
	ok(map.nbytes == PBP_MAP_HEADER_BYTES + 3 + PBP_MAP_CHECKSUM_BYTES, "2000 equal blocks take three bytes");
	free(map.bytes);
	for (int i = 0; i < MAX_BLOCKS; i++)
		states[i] = (uint8_t) (i % PBP_MAP_STATES);
	map = write_map(states, MAX_BLOCKS, true);
	ok(map.nbytes == PBP_MAP_HEADER_BYTES + MAX_BLOCKS + PBP_MAP_CHECKSUM_BYTES, "at worst, a block takes one byte");
	free(map.bytes);
}

int
main(void)
{
	test_generated();
	test_reasons();
	test_sizes();
	return end_of_tests();
}

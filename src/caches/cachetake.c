/*-------------------------------------------------------------------------
 *
 * cachetake.c
 *	  Takes cache maps: what both caches hold of a fork, block by block.
 *
 * The format of a map belongs in cachemap.c.  No relation is locked, and no
 * descriptor is changed.  Shared buffers are those of the scan of the
 * descriptors in pbp_segment_begin(); each segment's page cache is seen at its
 * own instant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "port/pg_crc32c.h"

#include "caches/cachemap.h"
#include "caches/cachetake.h"

static void
append_bytes(void *arg, const void *bytes, size_t nbytes)
{
	appendBinaryStringInfo((StringInfo) arg, bytes, (int) nbytes);
}

static void
add_blocks(PbpMapWriter *writer, const PbpSegment *segment, const uint8 *os_before)
{
	for (int64 i = 0; i < segment->nblocks; i++)
	{
		PbpMapOs	os = pbp_bit_is_set(segment->os, i) ? PBP_MAP_OS_CACHED : PBP_MAP_OS_NOT;

		if (os == PBP_MAP_OS_CACHED && os_before != NULL && pbp_bit_is_set(os_before, i))
			os = PBP_MAP_OS_KEPT;
		pbp_map_add(writer, pbp_map_state(Min(segment->levels[i], PBP_MAP_LEVELS - 1), os), 1);
	}
}

/* Adds the open segment. */
static void
add_segment(PbpSegment *segment, const PbpOsWalk *walk, const uint8 *os_before,
			PbpMapWriter *writer, PbpTakenMap *map)
{
	pbp_segment_load(segment, walk);
	if (segment->shared == 0 && segment->cached == 0)
		pbp_map_add(writer, pbp_map_state(0, PBP_MAP_OS_NOT), segment->nblocks);
	else
		add_blocks(writer, segment, os_before);
	map->nblocks += segment->nblocks;
	map->shared += segment->shared;
	map->os += segment->cached;
}

static void
begin_map(PbpTakenMap *map)
{
	static const uint8 no_header[PBP_MAP_HEADER_BYTES];

	memset(map, 0, sizeof(*map));
	initStringInfo(&map->bytes);
	append_bytes(&map->bytes, no_header, sizeof(no_header));
}

/* Completes the map, whose runs are there, with a header and a checksum. */
static void
finish_map(PbpTakenMap *map, Oid relid, const PbpLocator *locator, ForkNumber fork)
{
	PbpMapHeader header = {
		.block_bytes = BLCKSZ,.fork = fork,
		.os_known = map->verdict.trust == PBP_OS_TRUSTED,.nblocks = map->nblocks,
		.system = GetSystemIdentifier(),.database = locator->dbOid,.relation = relid
	};
	uint8		end[PBP_MAP_CHECKSUM_BYTES];
	pg_crc32c	checksum;

	pbp_map_put_header((uint8 *) map->bytes.data, &header);
	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, map->bytes.data, map->bytes.len);
	FIN_CRC32C(checksum);
	pbp_map_put_checksum(end, checksum);
	append_bytes(&map->bytes, end, sizeof(end));
}

/*
 * Takes the map of a fork.  Returns false if the fork has no file.  The relation
 * may be InvalidOid if only its files are known.
 *
 * If the page cache's state of one segment is unknown, that of the fork is.  A
 * segment that cannot be opened ends the map, which is then of no use.
 *
 * Opens each segment once.  2 to 7 ns per block of a segment that one of the
 * caches has a part of; memory: a byte and a bit for each block of a segment.
 */
bool
pbp_take_map(PbpSegment *segment, Oid relid, const PbpLocator *locator, ForkNumber fork,
			 PbpTakenMap *map)
{
	PbpMapWriter writer = {.sink = append_bytes,.arg = &map->bytes};
	PbpOsWalk	walk;
	bool		found = false;

	begin_map(map);
	pbp_os_walk(&walk, locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		found = true;
		if (pbp_os_judge(&map->verdict, &walk.file))
			add_segment(segment, &walk, NULL, &writer, map);
	}
	pbp_map_end(&writer);
	finish_map(map, relid, locator, fork);
	return found;
}

/*
 * The same for one segment, whose first block is the map's block 0.  So a map
 * of a large relation needs not fit into memory.  os_before has a bit for each
 * block of a segment that the page cache held some time before, or is NULL.
 */
bool
pbp_take_segment_map(PbpSegment *segment, const PbpLocator *locator, ForkNumber fork, int number,
					 const uint8 *os_before, PbpTakenMap *map)
{
	PbpMapWriter writer = {.sink = append_bytes,.arg = &map->bytes};
	PbpOsWalk	walk = {.locator = *locator,.fork = fork,.segment = number};

	begin_map(map);
	if (!pbp_os_open(locator, fork, number, PBP_OS_AUTO, &walk.file))
		return false;
	if (pbp_os_judge(&map->verdict, &walk.file))
		add_segment(segment, &walk, os_before, &writer, map);
	pbp_os_close(&walk.file);
	pbp_map_end(&writer);
	finish_map(map, InvalidOid, locator, fork);
	return true;
}

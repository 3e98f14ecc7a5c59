/*-------------------------------------------------------------------------
 *
 * cachetake.c
 *	  Takes cache maps: what both caches hold of a fork, block by block.
 *
 * The format of a map belongs in cachemap.c, but for its checksum, which is the
 * server's.  No relation is locked, and no descriptor is changed.  Shared buffers
 * are those of the scan of the descriptors in pbp_segment_begin(); each segment's
 * page cache is seen at its own instant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "port/pg_crc32c.h"

#include "caches/cachetake.h"

static void
append_bytes(void *arg, const void *bytes, size_t nbytes)
{
	appendBinaryStringInfo((StringInfo) arg, bytes, (int) nbytes);
}

static pg_crc32c
checksum_of(const void *bytes, Size nbytes)
{
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, bytes, nbytes);
	FIN_CRC32C(checksum);
	return checksum;
}

/* Adds the loaded segment. */
static void
add_segment(const PbpSegment *segment, const uint8 *os_before, PbpMapWriter *writer)
{
	if (segment->shared == 0 && segment->cached == 0)
	{
		pbp_map_add(writer, pbp_map_state(0, PBP_MAP_OS_NOT), segment->nblocks);
		return;
	}
	for (int64 i = 0; i < segment->nblocks; i++)
	{
		PbpMapOs	os = !pbp_bit_is_set(segment->os, i) ? PBP_MAP_OS_NOT :
			os_before != NULL && pbp_bit_is_set(os_before, i) ? PBP_MAP_OS_KEPT : PBP_MAP_OS_CACHED;

		pbp_map_add(writer, pbp_map_state(Min(segment->levels[i], PBP_MAP_LEVELS - 1), os), 1);
	}
}

/*
 * Takes the map of a fork, or only of one segment, whose first block is the map's block 0:
 * so a map of a large relation needs not fit into memory.  Returns false if there is no
 * such file.  The relation may be InvalidOid if only its files are known.  os_before has
 * a bit for each block of the only segment that the page cache held some time before, or
 * is NULL.
 *
 * If the page cache's state of one segment is unknown, that of the fork is.  A
 * segment that cannot be opened ends the map, which is then of no use.
 *
 * Opens each segment once.  2 to 7 ns per block of a segment that one of the
 * caches has a part of; memory: a byte and a bit for each block of a segment.
 */
bool
pbp_take_map(PbpSegment *segment, Oid relid, const PbpLocator *locator, ForkNumber fork,
			 int only, const uint8 *os_before, PbpTakenMap *map)
{
	bool		all = only == PBP_ALL_SEGMENTS;
	PbpMapHeader header = {
		.block_bytes = BLCKSZ,.fork = fork,.system = GetSystemIdentifier(),
		.database = locator->dbOid,.relation = relid
	};
	PbpMapWriter writer = {.sink = append_bytes,.arg = &map->bytes};
	uint8		end[PBP_MAP_CHECKSUM_BYTES];
	PbpOsWalk	walk;
	bool		found;

	memset(map, 0, sizeof(*map));
	initStringInfo(&map->bytes);
	appendStringInfoSpaces(&map->bytes, PBP_MAP_HEADER_BYTES);

	pbp_os_walk(&walk, locator, fork, PBP_OS_AUTO);
	if (!all)
		walk.segment = only;
	found = all ? pbp_os_next(&walk) : pbp_os_open(locator, fork, only, PBP_OS_AUTO, &walk.file);
	for (bool more = found; more; more = all && pbp_os_next(&walk))
	{
		if (!pbp_os_judge(&map->verdict, &walk.file))
			continue;
		pbp_segment_load(segment, &walk);
		add_segment(segment, os_before, &writer);
		header.nblocks += segment->nblocks;
		map->any = map->any || segment->shared > 0 || segment->cached > 0;
	}
	if (found && !all)
		pbp_os_close(&walk.file);

	pbp_map_end(&writer);
	header.os_known = map->verdict.trust == PBP_OS_TRUSTED;
	pbp_map_put_header((uint8 *) map->bytes.data, &header);
	pbp_map_put_checksum(end, checksum_of(map->bytes.data, map->bytes.len));
	append_bytes(&map->bytes, end, sizeof(end));
	return found;
}

/* Returns a sentence that says why a map cannot be used; NULL if it can.  Sets the header then. */
const char *
pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header)
{
	Size		before = bytes < PBP_MAP_CHECKSUM_BYTES ? 0 : bytes - PBP_MAP_CHECKSUM_BYTES;

	return pbp_map_check(map, bytes, checksum_of(map, before), BLCKSZ, header);
}

/*-------------------------------------------------------------------------
 *
 * cachetake.c
 *	  Takes cache maps: what both caches hold of a fork, block by block.
 *
 * The format of a map belongs in cachemap.c.  No relation is locked, and no
 * descriptor is changed.  Shared buffers are those of the scan of the
 * descriptors with which a taker begins; each segment's page cache is seen at
 * its own instant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "port/pg_crc32c.h"

#include "caches/cachemap.h"
#include "caches/cachetake.h"
#include "os/oscache.h"

/* Scans the descriptors, for all relations of the database or for one only. */
void
pbp_map_taker_begin(PbpMapTaker *taker, const PbpLocator *only)
{
	taker->index = pbp_pool_index(only);
	taker->levels = palloc(RELSEG_SIZE);
	taker->os = palloc(PBP_BITMAP_BYTES(RELSEG_SIZE));
	taker->os_before = NULL;
}

void
pbp_map_taker_end(PbpMapTaker *taker)
{
	pbp_pool_index_free(taker->index);
	pfree(taker->levels);
	pfree(taker->os);
}

static void
append_bytes(void *arg, const void *bytes, size_t nbytes)
{
	appendBinaryStringInfo((StringInfo) arg, bytes, (int) nbytes);
}

static void
add_blocks(PbpMapWriter *writer, const PbpMapTaker *taker, int64 nblocks)
{
	for (int64 i = 0; i < nblocks; i++)
	{
		PbpMapOs	os = pbp_bit_is_set(taker->os, i) ? PBP_MAP_OS_CACHED : PBP_MAP_OS_NOT;

		if (os == PBP_MAP_OS_CACHED && taker->os_before != NULL && pbp_bit_is_set(taker->os_before, i))
			os = PBP_MAP_OS_KEPT;
		pbp_map_add(writer, pbp_map_state(Min(taker->levels[i], PBP_MAP_LEVELS - 1), os), 1);
	}
}

/* Adds the open segment. */
static void
add_segment(PbpMapTaker *taker, const PbpOsWalk *walk, PbpMapWriter *writer, PbpTakenMap *map)
{
	const PbpOsFile *file = &walk->file;
	int64		nblocks = Min(file->bytes / BLCKSZ, RELSEG_SIZE);
	PbpOsBlocks blocks = {0};
	int64		shared;

	if (file->trust == PBP_OS_TRUSTED)
		pbp_os_map(file, 0, nblocks, taker->os, &blocks);
	else
		memset(taker->os, 0, PBP_BITMAP_BYTES(nblocks));
	memset(taker->levels, 0, nblocks);
	shared = pbp_pool_levels(taker->index, &walk->locator, walk->fork, walk->segment,
							 taker->levels, nblocks);

	if (shared == 0 && blocks.cached == 0)
		pbp_map_add(writer, pbp_map_state(0, PBP_MAP_OS_NOT), nblocks);
	else
		add_blocks(writer, taker, nblocks);
	map->nblocks += nblocks;
	map->shared += shared;
	map->os += blocks.cached;
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
pbp_take_map(PbpMapTaker *taker, Oid relid, const PbpLocator *locator, ForkNumber fork,
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
			add_segment(taker, &walk, &writer, map);
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
pbp_take_segment_map(PbpMapTaker *taker, const PbpLocator *locator, ForkNumber fork, int segment,
					 const uint8 *os_before, PbpTakenMap *map)
{
	PbpMapWriter writer = {.sink = append_bytes,.arg = &map->bytes};
	PbpOsWalk	walk = {.locator = *locator,.fork = fork,.segment = segment};

	begin_map(map);
	if (!pbp_os_open(locator, fork, segment, PBP_OS_AUTO, &walk.file))
		return false;
	taker->os_before = os_before;
	if (pbp_os_judge(&map->verdict, &walk.file))
		add_segment(taker, &walk, &writer, map);
	pbp_os_close(&walk.file);
	pbp_map_end(&writer);
	finish_map(map, InvalidOid, locator, fork);
	return true;
}

/*-------------------------------------------------------------------------
 *
 * carrybefore.c
 *	  What the page cache held at the save before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/bitmap.h"
#include "base/latency.h"
#include "base/settings.h"
#include "carry/carrybefore.h"

/*
 * True if it is younger than half of the interval between two saves, as at most
 * stops.  One of the future is not: the machine's clock was set back.
 */
static bool
is_young(TimestampTz saved_at)
{
	TimestampTz now = GetCurrentTimestamp();

	return pbp_carry_over_interval_s != 0 && saved_at <= now &&
		!TimestampDifferenceExceeds(saved_at, now, pbp_carry_over_interval_s * 1000 / 2);
}

/*
 * Returns false if that takes too long.  Memory: about 100 bytes for each file that
 * the caches had a part of.
 */
bool
pbp_carry_open_before(PbpCarryBefore *before, int64 deadline_ns)
{
	HASHCTL		ctl = {
		.keysize = sizeof(PbpCarryFile),.entrysize = sizeof(PbpCarryPlace),.hcxt = CurrentMemoryContext
	};
	PbpCarryEntry entry;

	before->is_open = pbp_carry_open(&before->reader, false);
	if (!before->is_open)
		return true;
	before->is_young = is_young(before->reader.file.stamp.written_at);
	before->os = palloc(PBP_BITMAP_BYTES(RELSEG_SIZE));
	before->places = hash_create("pgbufprobe files", 1024, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	while (pbp_carry_next(&before->reader, &entry))
	{
		PbpCarryPlace *place = hash_search(before->places, &entry.file, HASH_ENTER, NULL);

		CHECK_FOR_INTERRUPTS();
		place->entry = entry;
		place->end = before->reader.file.next;
		place->visited = false;
		if (pbp_now_ns() >= deadline_ns)
			return false;
	}
	return true;
}

/* True if the save before saw the block in the page cache twice, or once some time ago. */
static bool
counts(const PbpCarryBefore *before, int state)
{
	PbpMapOs	os = pbp_map_os(state);

	return os == PBP_MAP_OS_KEPT || (os == PBP_MAP_OS_CACHED && !before->is_young);
}

/* Returns the map of a segment and its entry, valid until the next call; NULL if there is none. */
const uint8 *
pbp_carry_map_before(PbpCarryBefore *before, const PbpCarryFile *file, PbpCarryEntry *entry)
{
	PbpCarryPlace *place = before->is_open ? hash_search(before->places, file, HASH_FIND, NULL) : NULL;

	if (place == NULL)
		return NULL;
	place->visited = true;
	before->reader.file.next = place->end;
	*entry = place->entry;
	return pbp_carry_map(&before->reader, entry);
}

/* Returns a bit for each block of a segment, valid until the next call; NULL if it held none. */
const uint8 *
pbp_carry_os_before(PbpCarryBefore *before, const PbpCarryFile *file)
{
	PbpCarryEntry entry;
	PbpMapReader reader;
	PbpMapRun	run;
	const uint8 *map = pbp_carry_map_before(before, file, &entry);
	uint64		block = 0;

	if (map == NULL)
		return NULL;
	memset(before->os, 0, PBP_BITMAP_BYTES(RELSEG_SIZE));
	pbp_map_read(&reader, map, entry.map_bytes);
	while (pbp_map_next(&reader, &run))
	{
		for (uint64 i = 0; i < run.nblocks && counts(before, run.state); i++)
			pbp_set_bit(before->os, block + i);
		block += run.nblocks;
	}
	return before->os;
}

void
pbp_carry_close_before(PbpCarryBefore *before)
{
	if (!before->is_open)
		return;
	hash_destroy(before->places);
	pfree(before->os);
	pbp_carry_close(&before->reader);
}

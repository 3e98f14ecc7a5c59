/*-------------------------------------------------------------------------
 *
 * cacherestore.c
 *	  Restores the cache map of a relation, extent by extent.
 *
 * The blocks of shared buffers come first, from the highest usage count down,
 * and then those that only the page cache held.
 *
 * How an extent is restored belongs in extentrestore.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/smgr.h"

#include "base/latency.h"
#include "caches/cacherestore.h"
#include "caches/extentrestore.h"

/*
 * The states that are restored at a level.  A block in both caches comes back
 * into shared buffers, unless only the page cache is restored.
 */
static uint32
states_at(int level, PbpRestoreTarget target)
{
	uint32		states = 0;

	for (int state = 1; state < PBP_MAP_STATES; state++)
	{
		if (level > 0 ? pbp_map_level(state) == level :
			pbp_map_os(state) != PBP_MAP_OS_NOT &&
			(target == PBP_RESTORE_OS_CACHE || pbp_map_level(state) == 0))
			states |= PBP_STATE_BIT(state);
	}
	return states;
}

static void
begin_level(PbpRestore *restore, int level)
{
	restore->level = level;
	pbp_extents_read(&restore->reader, restore->map, restore->bytes,
					 states_at(level, restore->target));
}

/* Returns a sentence that says why a map cannot be used; NULL if it can.  Sets the header then. */
const char *
pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header)
{
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	if (bytes > PBP_MAP_CHECKSUM_BYTES)
		COMP_CRC32C(checksum, map, bytes - PBP_MAP_CHECKSUM_BYTES);
	FIN_CRC32C(checksum);
	return pbp_map_check(map, bytes, checksum, BLCKSZ, header);
}

/*
 * Begins to restore a map, which must stay in memory.  Returns a sentence that
 * says why it cannot be used, or NULL.
 */
const char *
pbp_restore_begin(PbpRestore *restore, const uint8 *map, Size bytes, PbpRestoreTarget target)
{
	const char *reason;

	memset(restore, 0, sizeof(*restore));
	restore->map = map;
	restore->bytes = bytes;
	restore->target = target;
	restore->start_ns = pbp_now_ns();
	reason = pbp_verify_map(map, bytes, &restore->header);
	if (reason == NULL && restore->header.fork > MAX_FORKNUM)
		reason = "It is of a fork that does not exist.";
	if (reason == NULL)
		begin_level(restore, target == PBP_RESTORE_OS_CACHE ? 0 : PBP_MAP_LEVELS - 1);
	return reason;
}

/* ---- an extent ---- */

/* Removes the blocks past the end of the fork from an extent.  Returns how many were wanted. */
static int
cut_extent(PbpExtent *extent, int64 end)
{
	int			nblocks = (int) Max(Min(extent->nblocks, end - extent->first), 0);
	int			ncut = 0;

	for (int i = nblocks; i < extent->nblocks; i++)
		ncut += extent->states[i] != 0;
	extent->nblocks = nblocks;
	return ncut;
}

static void
count_blocks(PbpRestoreCounts *counts, const PbpExtentRestore *part, bool asked_kernel)
{
	counts->present += part->nfound;
	counts->read += part->nfilled;
	for (int i = 0; i < part->extent.nblocks; i++)
	{
		if (part->extent.states[i] == 0 || part->is_shared[i])
			continue;
		if (!asked_kernel)
			counts->skipped++;
		else if (pbp_bit_is_set(part->cached, i))
			counts->present++;
		else
			counts->read++;
	}
}

/* What finds no free buffer comes into the page cache, if that is restored too. */
static void
restore_extent(PbpRestore *restore, Relation relation, PbpExtentRestore *part)
{
	bool		wants_kernel = restore->target != PBP_RESTORE_SHARED_BUFFERS;
	bool		exists = pbp_extent_open(part);

	for (int i = 0; i < part->extent.nblocks && restore->level > 0; i++)
	{
		if (part->extent.states[i] != 0)
			(void) pbp_extent_want_buffer(part, i);
	}
	if (part->has_page_cache && (wants_kernel || pbp_has_free_buffer()))
		pbp_extent_read(part);
	(void) pbp_extent_fill(part, relation, 0);
	if (exists)
		pbp_os_close(&part->file);
	count_blocks(&restore->counts, part, wants_kernel && part->has_page_cache);
}

/* Skips what is left of the level, which is past the end of the fork. */
static void
skip_rest(PbpRestore *restore)
{
	PbpMapRun  *run = &restore->reader.run;

	do
	{
		if ((restore->reader.wanted & PBP_STATE_BIT(run->state)) != 0)
		{
			restore->counts.requested += run->nblocks;
			restore->counts.skipped += run->nblocks;
		}
		run->nblocks = 0;
		CHECK_FOR_INTERRUPTS();
	} while (pbp_map_next(&restore->reader.reader, run));
}

/*
 * Restores the next extent; false if there are no more.
 *
 * The relation must be open and locked at least by an AccessShareLock, so that
 * it cannot become shorter during the step; each step determines its length.  It
 * must have the fork.  Can be interrupted before each block that is read.
 */
bool
pbp_restore_step(PbpRestore *restore, Relation relation)
{
	int			last = restore->target == PBP_RESTORE_SHARED_BUFFERS ? 1 : 0;
	PbpExtentRestore part = {
		.locator = relation->rd_locator,.fork = (ForkNumber) restore->header.fork
	};
	int64		end = smgrnblocks(RelationGetSmgr(relation), part.fork);
	int			ncut;

	CHECK_FOR_INTERRUPTS();
	if (!pbp_extent_next(&restore->reader, &part.extent))
	{
		if (restore->level == last)
			return false;
		begin_level(restore, restore->level - 1);
		return true;
	}
	restore->counts.requested += part.extent.nwanted;
	ncut = cut_extent(&part.extent, end);
	restore->counts.skipped += ncut;
	part.segment = part.extent.first / RELSEG_SIZE;
	part.extent.first %= RELSEG_SIZE;
	if (part.extent.nwanted > ncut)
		restore_extent(restore, relation, &part);
	if ((int64) restore->reader.next >= end)
		skip_rest(restore);
	return true;
}

/* The time to wait before the next step, so that no more is read per second. */
int64
pbp_restore_wait_ms(const PbpRestore *restore, double mb_per_second)
{
	double		due_ms = (double) restore->counts.read * BLCKSZ / (1024 * 1024) / mb_per_second * 1000;
	double		wait_ms = due_ms - (double) (pbp_now_ns() - restore->start_ns) / 1e6;

	return wait_ms > 0 ? (int64) Min(ceil(wait_ms), PG_INT32_MAX) : 0;
}

/*-------------------------------------------------------------------------
 *
 * cacherestore.c
 *	  Restores a cache map, or an extent of one: into free buffers, and into the
 *	  page cache.
 *
 * The kernel reads the missing blocks of the extent at the same time.  Pages
 * reach the pool through the buffer manager alone, which verifies them, and only
 * while a buffer holds no page.  A block number is all that a map has of a page:
 * after a rewrite, it is another page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/smgr.h"

#include "base/worker.h"
#include "caches/caches.h"
#include "pool/pool.h"

/* buffers at the clock hand that may be pinned while it is not known to be free */
#define MAX_PINNED			64

/* a page that was just read and has not been used since */
#define USAGE_WHEN_READ		1

StaticAssertDecl(RELSEG_SIZE % PBP_EXTENT_BLOCKS == 0, "an extent must not cross segments");

static bool
has_time(const PbpExtentRestore *restore)
{
	CHECK_FOR_INTERRUPTS();
	return !pbp_must_end() && (restore->until_ns == 0 || pbp_now_ns() < restore->until_ns);
}

/* ---- buffers ---- */

/*
 * Returns true if the next page that is read takes a buffer that holds no page.
 *
 * Up to 18 it does while there is a free list.  From 19 on the server takes the
 * first buffer at the clock hand that is not pinned and has usage count 0; if it
 * is in use, the hand would have to pass it.  Read without a lock: if a session
 * takes the buffer first, one page can still be evicted.
 */
static bool
has_free_buffer(void)
{
	int			hand;

	if (PBP_HAS_FREE_LIST)
		return have_free_buffer();
	hand = pbp_read_clock().hand;
	for (int i = 0; i < Min(MAX_PINNED, NBuffers); i++)
	{
		PbpBufState state = pbp_read_state(GetBufferDescriptor((hand + i) % NBuffers));

		if (BUF_STATE_GET_REFCOUNT(state) == 0)
			return (state & BM_TAG_VALID) == 0;
	}
	return false;
}

/*
 * Sets the usage count of a page, unless it has been used more meanwhile.
 * Returns false if the buffer does not have the page.  Locks one header.
 */
static bool
set_usage(BufferDesc *desc, const BufferTag *tag, int usage, int unused)
{
	PbpBufState state = LockBufHdr(desc);
	int			current = BUF_STATE_GET_USAGECOUNT(state);
	bool		present = pbp_holds_page(state) && BufferTagsEqual(&desc->tag, tag);

	if (present && (current < usage || current <= unused))
		pbp_unlock_header_with_usage(desc, state, usage);
	else
		pbp_unlock_header(desc, state);
	return present;
}

/* The first block of the extent in its fork. */
static BlockNumber
extent_start(const PbpExtentRestore *restore)
{
	return restore->key.segment * RELSEG_SIZE + restore->extent.first;
}

/* A block that only the page cache held, and that gets a buffer, gets usage count 0. */
static int
usage_of(const PbpExtentRestore *restore, int block)
{
	return Max(pbp_map_level(restore->extent.states[block]) - 1, 0);
}

/*
 * Requests a buffer for a block.  Returns false if it has one already; its usage
 * count is raised to that of the map.
 */
bool
pbp_extent_want_buffer(PbpExtentRestore *restore, int block)
{
	BufferTag	tag;
	PbpBufState state;
	BufferDesc *desc;
	bool		found;

	InitBufferTag(&tag, &restore->key.locator, restore->key.fork, extent_start(restore) + block);
	desc = pbp_pool_find(&tag, &state);
	found = desc != NULL && set_usage(desc, &tag, usage_of(restore, block), -1);
	restore->is_shared[block] = found;
	restore->wants_buffer[block] = !found;
	restore->nfound += found;
	return !found;
}

static void
fill_buffer(PbpExtentRestore *restore, Relation relation, int block)
{
	Buffer		buffer = ReadBufferExtended(relation, restore->key.fork,
											extent_start(restore) + block, RBM_NORMAL, NULL);
	BufferDesc *desc = GetBufferDescriptor(buffer - 1);

	/* while it is pinned, it has this page */
	(void) set_usage(desc, &desc->tag, usage_of(restore, block), USAGE_WHEN_READ);
	ReleaseBuffer(buffer);
	restore->is_shared[block] = true;
	restore->wants_buffer[block] = false;
	restore->nfilled++;
	restore->nread += !restore->was_read[block];
}

/*
 * Reads the blocks that want a buffer while there are free ones.  The relation
 * must have these files, and be locked at least by an AccessShareLock, so that it
 * cannot become shorter.  Returns true if some were left at until_ns, so that
 * others can get a lock before this goes on; 0 sets no limit.
 */
bool
pbp_extent_fill(PbpExtentRestore *restore, Relation relation, int64 until_ns)
{
	int64		end = (int64) smgrnblocks(RelationGetSmgr(relation), restore->key.fork) -
		extent_start(restore);

	for (int i = 0; i < Min(restore->extent.nblocks, end); i++)
	{
		if (!restore->wants_buffer[i])
			continue;
		if (!has_free_buffer())
			break;
		restore->is_left = !has_time(restore);
		if (restore->is_left)
			break;
		if (until_ns != 0 && pbp_now_ns() >= until_ns)
			return true;
		fill_buffer(restore, relation, i);
	}
	return false;
}

/* ---- the page cache ---- */

/*
 * Returns false if the file does not exist.  Advice is of no use without a page cache, or
 * if the kernel must not be asked.
 */
bool
pbp_extent_open(PbpExtentRestore *restore)
{
	PbpOsTrust	trust;

	if (!pbp_os_open(&restore->key, PBP_OS_AUTO, &restore->file))
		return false;
	trust = restore->file.trust;
	restore->has_page_cache = trust != PBP_OS_UNSUPPORTED && trust != PBP_OS_DIRECT_IO &&
		trust != PBP_OS_SWITCHED_OFF && trust != PBP_OS_UNREADABLE;
	return true;
}

/*
 * True if the page cache is to have a block: it is wanted, and not in shared
 * buffers, unless the page cache had kept it nevertheless.
 */
static bool
is_to_be_kept(const PbpExtentRestore *restore, int block)
{
	int			state = restore->extent.states[block];

	return state != 0 && (!restore->is_shared[block] ||
						  (pbp_map_os(state) == PBP_MAP_OS_KEPT && pbp_map_level(state) > 0));
}

/*
 * Has the kernel read each missing block, and small gaps between them, at the same time,
 * without waiting for them.  A cached block always ends a request.
 */
void
pbp_extent_read(PbpExtentRestore *restore)
{
	BlockNumber start = restore->extent.first;
	int			end = -1;		/* of the last request */

	(void) pbp_os_map(&restore->file, start, restore->extent.nblocks, restore->cached);
	for (int i = 0; i < restore->extent.nblocks; i++)
	{
		if (restore->cached[i])
			end = -1;
		else if (is_to_be_kept(restore, i))
		{
			if (end < 0 || i - end > restore->max_gap)
				end = i;
			memset(restore->was_read + end, true, i + 1 - end);
			restore->nread += i + 1 - end;
			end = i + 1;
		}
	}
	for (int first, last = 0; pbp_next_run(restore->was_read, PBP_EXTENT_BLOCKS, 0, &first, &last);)
		pbp_os_advise(&restore->file, (int64) (start + first) * BLCKSZ,
					  (int64) (last - first) * BLCKSZ, PBP_OS_WILLNEED);
}

/* Waits until the kernel has read what was requested of it. */
void
pbp_extent_wait(PbpExtentRestore *restore)
{
	for (int first, end = 0; pbp_next_run(restore->was_read, PBP_EXTENT_BLOCKS, 0, &first, &end);)
	{
		restore->is_left = !has_time(restore);
		if (restore->is_left)
			break;
		pbp_os_use(&restore->file, restore->extent.first + end - 1);
	}
}

/*
 * Leaves in the page cache what it held before, as used as it was.
 *
 * Others are dropped if it is known what was read here.  Gaps and pages that shared
 * buffers have may stay where nothing else needs the room.
 */
void
pbp_extent_settle(PbpExtentRestore *restore)
{
	uint8		drops[PBP_EXTENT_BLOCKS] = {0};
	bool		known = restore->file.trust == PBP_OS_TRUSTED;

	for (int i = 0; i < restore->extent.nblocks; i++)
	{
		bool		keep = is_to_be_kept(restore, i);
		bool		spare = restore->is_shared[i] || restore->extent.states[i] == 0;

		if (!restore->was_read[i])
			continue;
		drops[i] = known && !keep && restore->spare_room <= 0;
		restore->nkept += keep;
		restore->spare_room -= spare && !drops[i];
	}
	for (int first, end = 0; pbp_next_run(drops, PBP_EXTENT_BLOCKS, 0, &first, &end);)
		pbp_os_drop_blocks(&restore->file, restore->extent.first + first, end - first);

	/* The kernel keeps pages that were used twice longer than others. */
	for (int use = 0; use < 2; use++)
		for (int i = 0; i < restore->extent.nblocks; i++)
			if (is_to_be_kept(restore, i) &&
				pbp_map_os(restore->extent.states[i]) == PBP_MAP_OS_KEPT && has_time(restore))
				pbp_os_use(&restore->file, restore->extent.first + i);
}

/* ---- a map ---- */

/*
 * The states that are restored at a level, which is 0 for the page cache.  A block in both
 * caches comes back into shared buffers, unless only the page cache is restored.
 */
static uint32
states_at(int level, PbpRestoreTarget target)
{
	uint32		states = 0;

	for (int state = 1; state < PBP_MAP_STATES; state++)
		if (level > 0 ? pbp_map_level(state) == level :
			pbp_map_os(state) != PBP_MAP_OS_NOT &&
			(target == PBP_RESTORE_OS_CACHE || pbp_map_level(state) == 0))
			states |= PBP_STATE_BIT(state);
	return states;
}

/* In the whole map, which may have billions of blocks behind the end of the relation. */
static int64
count_blocks(const uint8 *map, Size bytes, uint32 states)
{
	PbpMapReader reader;
	PbpMapRun	run;
	int64		count = 0;

	pbp_map_read(&reader, map, bytes);
	while (pbp_map_next(&reader, &run))
	{
		CHECK_FOR_INTERRUPTS();
		if ((states & PBP_STATE_BIT(run.state)) != 0)
			count += (int64) run.nblocks;
	}
	return count;
}

/* What finds no free buffer comes into the page cache, if that is restored too. */
static void
restore_extent(PbpExtentRestore *part, Relation relation, bool wants_buffers, bool wants_kernel,
			   PbpRestoreCounts *counts)
{
	bool		exists = pbp_extent_open(part);

	for (int i = 0; wants_buffers && i < part->extent.nblocks; i++)
		if (part->extent.states[i] != 0)
			(void) pbp_extent_want_buffer(part, i);
	if (part->has_page_cache && (wants_kernel || has_free_buffer()))
		pbp_extent_read(part);
	(void) pbp_extent_fill(part, relation, 0);
	if (exists)
		pbp_os_close(&part->file);

	counts->present += part->nfound;
	counts->read += part->nfilled;
	for (int i = 0; wants_kernel && part->has_page_cache && i < part->extent.nblocks; i++)
	{
		if (part->extent.states[i] == 0 || part->is_shared[i])
			continue;
		if (part->cached[i])
			counts->present++;
		else
			counts->read++;
	}
}

/* Waits until no more was read per second, since the start; 0: no limit. */
static void
wait_for_rate(int64 nread, int64 start_ns, double mb_per_second)
{
	double		due_ms;
	double		left_ms;

	if (mb_per_second == 0)
		return;
	due_ms = (double) nread * BLCKSZ / (1024 * 1024) / mb_per_second * 1000;
	while ((left_ms = due_ms - (double) (pbp_now_ns() - start_ns) / 1e6) > 0)
		pbp_worker_wait((int64) Min(ceil(left_ms), PG_INT32_MAX));
}

/*
 * Restores a map that pbp_verify_map() has accepted, which is of this fork.  The blocks of
 * shared buffers come first, from the highest usage count down, and then those that only
 * the page cache held.
 *
 * The relation must be open and locked at least by an AccessShareLock, so that it cannot
 * become shorter; its length is determined before each extent.  It must have the fork.
 * Can be interrupted before each block that is read.
 */
PbpRestoreCounts
pbp_restore_map(Relation relation, ForkNumber fork, const uint8 *map, Size bytes,
				PbpRestoreTarget target, double mb_per_second)
{
	PbpRestoreCounts counts = {0};
	int			first = target == PBP_RESTORE_OS_CACHE ? 0 : PBP_MAP_LEVELS - 1;
	int			last = target == PBP_RESTORE_SHARED_BUFFERS ? 1 : 0;
	int64		start_ns = pbp_now_ns();

	for (int level = first; level >= last; level--)
	{
		uint32		states = states_at(level, target);
		PbpExtentReader reader;

		counts.requested += count_blocks(map, bytes, states);
		pbp_extents_read(&reader, map, bytes, states);
		for (;;)
		{
			PbpExtentRestore part = {.key = {relation->rd_locator, fork, 0}};
			int64		end = smgrnblocks(RelationGetSmgr(relation), fork);

			CHECK_FOR_INTERRUPTS();
			if (!pbp_extent_next(&reader, &part.extent) || part.extent.first >= end)
				break;
			if (part.extent.nwanted == 0)
				continue;
			part.extent.nblocks = (int) Min(part.extent.nblocks, end - part.extent.first);
			part.key.segment = part.extent.first / RELSEG_SIZE;
			part.extent.first %= RELSEG_SIZE;
			restore_extent(&part, relation, level > 0, target != PBP_RESTORE_SHARED_BUFFERS,
						   &counts);
			wait_for_rate(counts.read, start_ns, mb_per_second);
		}
	}
	counts.skipped = counts.requested - counts.present - counts.read;
	return counts;
}

/*-------------------------------------------------------------------------
 *
 * cacherestore.c
 *	  Restores what a cache map says, in small steps, into free buffers and into
 *	  the page cache.
 *
 * The blocks of shared buffers come first, from the highest usage count down,
 * and then those that only the page cache held.  Every page is read by the
 * buffer manager, which verifies it, or by the kernel.  A block number is all
 * that a map has of a page: after a rewrite, it is another page.
 *
 * The format of a map belongs in cachemap.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/smgr.h"

#include "cacherestore.h"
#include "descriptors.h"
#include "latency.h"
#include "oscache.h"
#include "poolindex.h"
#include "sweep.h"

/* blocks of a step, which the kernel reads at the same time */
#define STEP_BLOCKS			64

/* runs of a map that are passed over between two checks for interrupts */
#define RUNS_PER_CHECK		1000

/* buffers at the clock hand that may be pinned while it is not known to be free */
#define MAX_PINNED			64

/* a page that was just read, and that nobody has used since */
#define USAGE_WHEN_READ		1

/* some blocks of a fork, in ascending order */
typedef struct Blocks
{
	int			nblocks;
	BlockNumber blocks[STEP_BLOCKS];
} Blocks;

/* ---- which block is next ---- */

static void
begin_level(PbpRestore *restore, int level)
{
	restore->level = level;
	restore->block = 0;
	restore->run.nblocks = 0;
	pbp_map_read(&restore->reader, restore->map, restore->bytes);
}

/*
 * Begins to restore a map, which must stay in memory.  Returns a sentence that
 * says why it cannot be used, or NULL.
 */
const char *
pbp_restore_begin(PbpRestore *restore, const uint8 *map, Size bytes, PbpRestoreTarget target)
{
	pg_crc32c	checksum;
	const char *reason;

	memset(restore, 0, sizeof(*restore));
	restore->map = map;
	restore->bytes = bytes;
	restore->target = target;
	restore->start_ns = pbp_now_ns();
	begin_level(restore, target == PBP_RESTORE_OS_CACHE ? 0 : PBP_MAP_LEVELS - 1);

	INIT_CRC32C(checksum);
	if (bytes > PBP_MAP_CHECKSUM_BYTES)
		COMP_CRC32C(checksum, map, bytes - PBP_MAP_CHECKSUM_BYTES);
	FIN_CRC32C(checksum);
	reason = pbp_map_check(map, bytes, checksum, BLCKSZ, &restore->header);
	if (reason == NULL && restore->header.fork > MAX_FORKNUM)
		reason = "It is of a fork that does not exist.";
	return reason;
}

/* A block in both caches comes back into shared buffers, unless only the page cache is restored. */
static bool
is_wanted(const PbpRestore *restore, int state)
{
	if (restore->level > 0)
		return pbp_map_level(state) == restore->level;
	return pbp_map_os(state) != PBP_MAP_OS_NOT &&
		(restore->target == PBP_RESTORE_OS_CACHE || pbp_map_level(state) == 0);
}

/* Goes to the next level; the last one is that of the page cache. */
static void
end_level(PbpRestore *restore)
{
	int			last = restore->target == PBP_RESTORE_SHARED_BUFFERS ? 1 : 0;

	if (restore->level == last)
		restore->done = true;
	else
		begin_level(restore, restore->level - 1);
}

/* Finds the next run of the level; false if there is none. */
static bool
find_run(PbpRestore *restore)
{
	int			nruns = 0;

	while (restore->run.nblocks == 0 || !is_wanted(restore, restore->run.state))
	{
		if (++nruns % RUNS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
		restore->block += restore->run.nblocks;
		if (!pbp_map_next(&restore->reader, &restore->run))
			return false;
	}
	return true;
}

/* The next blocks of the level, but none past the end of the fork, which are skipped. */
static void
take_blocks(PbpRestore *restore, int64 end, Blocks *blocks)
{
	blocks->nblocks = 0;
	while (blocks->nblocks < STEP_BLOCKS && find_run(restore))
	{
		int64		taken = 0;
		int64		room = STEP_BLOCKS - blocks->nblocks;

		if (restore->block < end)
			taken = Min((int64) restore->run.nblocks, Min(room, end - restore->block));
		for (int64 i = 0; i < taken; i++)
			blocks->blocks[blocks->nblocks++] = (BlockNumber) (restore->block + i);
		if (taken == 0)
		{
			taken = restore->run.nblocks;
			restore->counts.skipped += taken;
		}
		restore->counts.requested += taken;
		restore->block += taken;
		restore->run.nblocks -= taken;
	}
}

/* ---- the page cache ---- */

/* Asks the kernel for those blocks of a file that it does not have. */
static void
want_missing(PbpRestore *restore, const PbpOsFile *file, BlockNumber first, int nblocks)
{
	uint8		bitmap[PBP_BITMAP_BYTES(STEP_BLOCKS)] = {0};
	PbpOsBlocks cached = {0};

	if (file->trust == PBP_OS_TRUSTED)
		pbp_os_map(file, first, nblocks, bitmap, &cached);
	restore->counts.present += cached.cached;
	restore->counts.read += nblocks - cached.cached;
	for (int i = 0, end; i < nblocks; i = end + 1)
	{
		for (end = i; end < nblocks && !pbp_bit_is_set(bitmap, end);)
			end++;
		if (end > i)
			pbp_os_want(file, first + i, end - i);
	}
}

/* Without a page cache, or if nobody may ask for it, there is nothing to advise. */
bool
pbp_can_advise(const PbpOsFile *file)
{
	return file->trust != PBP_OS_UNSUPPORTED && file->trust != PBP_OS_DIRECT_IO &&
		file->trust != PBP_OS_SWITCHED_OFF && file->trust != PBP_OS_UNREADABLE;
}

/* How many blocks from the first one on are neighbors in one file. */
static int
neighbors(const BlockNumber *blocks, int nblocks)
{
	int			n = 1;

	while (n < nblocks && blocks[n] == blocks[0] + n && blocks[n] % RELSEG_SIZE != 0)
		n++;
	return n;
}

static void
restore_os_run(PbpRestore *restore, const PbpLocator *locator, BlockNumber first, int nblocks)
{
	PbpOsFile	file;
	bool		advised = false;

	if (pbp_os_open(locator, restore->header.fork, first / RELSEG_SIZE, PBP_OS_AUTO, &file))
	{
		advised = pbp_can_advise(&file);
		if (advised)
			want_missing(restore, &file, first % RELSEG_SIZE, nblocks);
		pbp_os_close(&file);
	}
	if (!advised)
		restore->counts.skipped += nblocks;
}

static void
restore_os_cache(PbpRestore *restore, const PbpLocator *locator, const Blocks *blocks)
{
	int			n;

	for (int i = 0; i < blocks->nblocks; i += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = neighbors(&blocks->blocks[i], blocks->nblocks - i);
		restore_os_run(restore, locator, blocks->blocks[i], n);
	}
}

/* ---- shared buffers ---- */

/*
 * Would the next page that is read take a buffer that holds no page?
 *
 * Up to 18 it would while there is a free list.  From 19 on the server takes the
 * first buffer at the clock hand that is not pinned and has usage count 0; if it
 * is in use, the hand would have to pass it.  Read without a lock: if a session
 * takes the buffer first, one page can still be evicted.
 */
static bool
next_buffer_is_free(void)
{
	int			hand;

	if (PBP_HAS_FREE_LIST)
		return pbp_have_free_buffer();
	hand = (int) pbp_read_clock().hand;
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
	PbpLocator	locator = pbp_tag_locator(tag);
	PbpBufState state = pbp_lock_header(desc);
	int			current = BUF_STATE_GET_USAGECOUNT(state);
	bool		present = pbp_holds_page(state) && pbp_tag_matches(&desc->tag, &locator) &&
		pbp_tag_fork(&desc->tag) == pbp_tag_fork(tag) && desc->tag.blockNum == tag->blockNum;

	if (present && (current < usage || current <= unused))
		pbp_unlock_header_with_usage(desc, state, usage);
	else
		pbp_unlock_header(desc, state);
	return present;
}

/* Is the block in shared buffers?  Then it gets its usage count. */
bool
pbp_restore_usage(const PbpLocator *locator, ForkNumber fork, BlockNumber block, int usage)
{
	BufferTag	tag;
	BufferDesc *desc;

	pbp_init_tag(&tag, locator, fork, block);
	desc = pbp_pool_find(&tag);
	return desc != NULL && set_usage(desc, &tag, usage, -1);
}

/*
 * Reads a block that is not in shared buffers; false if that would take a buffer
 * that has a page.  The relation must be locked, and have the block.
 */
bool
pbp_restore_block(Relation relation, ForkNumber fork, BlockNumber block, int usage)
{
	PbpLocator	locator = pbp_relation_locator(relation);
	Buffer		buffer;
	BufferTag	tag;

	if (!next_buffer_is_free())
		return false;
	buffer = ReadBufferExtended(relation, fork, block, RBM_NORMAL, NULL);
	pbp_init_tag(&tag, &locator, fork, block);
	(void) set_usage(GetBufferDescriptor(buffer - 1), &tag, usage, USAGE_WHEN_READ);
	ReleaseBuffer(buffer);
	return true;
}

/* Leaves those blocks that are not in shared buffers. */
static void
keep_missing(PbpRestore *restore, const PbpLocator *locator, Blocks *blocks)
{
	int			nmissing = 0;

	for (int i = 0; i < blocks->nblocks; i++)
	{
		if (pbp_restore_usage(locator, restore->header.fork, blocks->blocks[i], restore->level - 1))
			restore->counts.present++;
		else
			blocks->blocks[nmissing++] = blocks->blocks[i];
	}
	blocks->nblocks = nmissing;
}

/* Has the kernel begin to read all blocks of the step, so that they do not wait for each other. */
static void
prefetch(const PbpLocator *locator, ForkNumber fork, const Blocks *blocks)
{
	int			n;

	for (int i = 0; i < blocks->nblocks; i += n)
	{
		BlockNumber first = blocks->blocks[i];
		PbpOsFile	file;

		n = neighbors(&blocks->blocks[i], blocks->nblocks - i);
		if (!pbp_os_open(locator, fork, first / RELSEG_SIZE, PBP_OS_AUTO, &file))
			continue;
		if (pbp_can_advise(&file))
			pbp_os_want(&file, first % RELSEG_SIZE, n);
		pbp_os_close(&file);
	}
}

/* Reads blocks while there are free buffers, and leaves the rest. */
static void
read_blocks(PbpRestore *restore, Relation relation, Blocks *blocks)
{
	int			nread = 0;

	while (nread < blocks->nblocks &&
		   pbp_restore_block(relation, restore->header.fork, blocks->blocks[nread], restore->level - 1))
	{
		CHECK_FOR_INTERRUPTS();
		nread++;
	}
	restore->counts.read += nread;
	blocks->nblocks -= nread;
	memmove(blocks->blocks, blocks->blocks + nread, blocks->nblocks * sizeof(BlockNumber));
}

/* What finds no free buffer comes into the page cache, if that is restored too. */
static void
restore_shared_buffers(PbpRestore *restore, Relation relation, Blocks *blocks)
{
	PbpLocator	locator = pbp_relation_locator(relation);

	keep_missing(restore, &locator, blocks);
	if (next_buffer_is_free())
	{
		prefetch(&locator, restore->header.fork, blocks);
		read_blocks(restore, relation, blocks);
	}
	if (restore->target == PBP_RESTORE_BOTH)
		restore_os_cache(restore, &locator, blocks);
	else
		restore->counts.skipped += blocks->nblocks;
}

/* ---- steps ---- */

/*
 * Restores the next blocks; false if there are no more.
 *
 * The relation must be open and locked at least by an AccessShareLock, so that
 * it cannot become shorter during the step; each step asks for its length.  It
 * must have the fork.  Reads at most STEP_BLOCKS blocks, and can be interrupted
 * before each.
 */
bool
pbp_restore_step(PbpRestore *restore, Relation relation)
{
	int64		end = smgrnblocks(RelationGetSmgr(relation), restore->header.fork);
	PbpLocator	locator = pbp_relation_locator(relation);
	bool		level_ends;
	Blocks		blocks;

	CHECK_FOR_INTERRUPTS();
	if (restore->done)
		return false;
	take_blocks(restore, end, &blocks);
	level_ends = blocks.nblocks < STEP_BLOCKS;
	if (restore->level > 0)
		restore_shared_buffers(restore, relation, &blocks);
	else
		restore_os_cache(restore, &locator, &blocks);
	if (level_ends)
		end_level(restore);
	return !restore->done;
}

/* How long to wait before the next step, so that no more is read per second. */
int64
pbp_restore_wait_ms(const PbpRestore *restore, double mb_per_second)
{
	double		due_ms = (double) restore->counts.read * BLCKSZ / (1024 * 1024) / mb_per_second * 1000;
	double		wait_ms = due_ms - (double) (pbp_now_ns() - restore->start_ns) / 1e6;

	return wait_ms > 0 ? (int64) Min(ceil(wait_ms), PG_INT32_MAX) : 0;
}

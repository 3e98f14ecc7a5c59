/*-------------------------------------------------------------------------
 *
 * extentrestore.c
 *	  Restores an extent of a cache map: into free buffers, and into the page
 *	  cache.
 *
 * The kernel reads the missing blocks of the extent at the same time.  Pages
 * reach the pool through the buffer manager alone, which verifies them, and only
 * while a buffer holds no page.  A block number is all that a map has of a page:
 * after a rewrite, it is another page.
 *
 * Which extents are restored when belongs to the callers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/smgr.h"

#include "base/latency.h"
#include "base/worker.h"
#include "caches/extentrestore.h"
#include "os/oscache.h"
#include "pool/descriptors.h"
#include "pool/poolindex.h"
#include "pool/sweep.h"

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
bool
pbp_has_free_buffer(void)
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
	PbpLocator	locator = BufTagGetRelFileLocator(tag);
	PbpBufState state = LockBufHdr(desc);
	int			current = BUF_STATE_GET_USAGECOUNT(state);
	bool		present = pbp_holds_page(state) &&
		BufTagMatchesRelFileLocator(&desc->tag, &locator) &&
		BufTagGetForkNum(&desc->tag) == BufTagGetForkNum(tag) && desc->tag.blockNum == tag->blockNum;

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
	return (BlockNumber) restore->segment * RELSEG_SIZE + restore->extent.first;
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

	InitBufferTag(&tag, &restore->locator, restore->fork, extent_start(restore) + block);
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
	BlockNumber number = extent_start(restore) + block;
	Buffer		buffer = ReadBufferExtended(relation, restore->fork, number, RBM_NORMAL, NULL);
	BufferTag	tag;

	InitBufferTag(&tag, &restore->locator, restore->fork, number);
	(void) set_usage(GetBufferDescriptor(buffer - 1), &tag, usage_of(restore, block),
					 USAGE_WHEN_READ);
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
	int64		end = (int64) smgrnblocks(RelationGetSmgr(relation), restore->fork) -
		extent_start(restore);

	for (int i = 0; i < Min(restore->extent.nblocks, end); i++)
	{
		if (!restore->wants_buffer[i])
			continue;
		if (!pbp_has_free_buffer())
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

/* Advice is of no use without a page cache, or if the kernel must not be asked. */
static bool
can_advise(const PbpOsFile *file)
{
	return file->trust != PBP_OS_UNSUPPORTED && file->trust != PBP_OS_DIRECT_IO &&
		file->trust != PBP_OS_SWITCHED_OFF && file->trust != PBP_OS_UNREADABLE;
}

/* Returns false if the file does not exist. */
bool
pbp_extent_open(PbpExtentRestore *restore)
{
	if (!pbp_os_open(&restore->locator, restore->fork, restore->segment, PBP_OS_AUTO, &restore->file))
		return false;
	restore->has_page_cache = can_advise(&restore->file);
	return true;
}

/* Finds the next run of blocks that are marked, from *end on, which is 0 at first. */
static bool
next_marked(const bool *marks, int *first, int *end)
{
	*first = *end;
	while (*first < PBP_EXTENT_BLOCKS && !marks[*first])
		(*first)++;
	*end = *first;
	while (*end < PBP_EXTENT_BLOCKS && marks[*end])
		(*end)++;
	return *first < *end;
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
 * Marks what is to be read: each block that is missing, and small gaps between
 * them.  A cached block always ends a request.
 */
static void
mark_reads(PbpExtentRestore *restore)
{
	int			end = -1;		/* of the last request */

	for (int i = 0; i < restore->extent.nblocks; i++)
	{
		if (pbp_bit_is_set(restore->cached, i))
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
}

/* Has the kernel read all missing blocks at the same time, without waiting for them. */
void
pbp_extent_read(PbpExtentRestore *restore)
{
	BlockNumber start = restore->extent.first;

	(void) pbp_os_map(&restore->file, start, restore->extent.nblocks, restore->cached);
	mark_reads(restore);
	for (int first, end = 0; next_marked(restore->was_read, &first, &end);)
		pbp_os_advise(&restore->file, (int64) (start + first) * BLCKSZ, (int64) (end - first) * BLCKSZ,
					  PBP_OS_WILLNEED);
}

/* Waits until the kernel has read them. */
void
pbp_extent_wait(PbpExtentRestore *restore)
{
	for (int first, end = 0; next_marked(restore->was_read, &first, &end);)
	{
		restore->is_left = !has_time(restore);
		if (restore->is_left)
			break;
		pbp_os_use(&restore->file, restore->extent.first + end - 1);
	}
}

/*
 * Leaves the room of the page cache to what it held before, if it is known what
 * was read here.  Gaps and pages that shared buffers have may stay where nothing
 * else needs the room.
 */
static void
drop_others(PbpExtentRestore *restore)
{
	bool		drops[PBP_EXTENT_BLOCKS] = {0};
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
	for (int first, end = 0; next_marked(drops, &first, &end);)
		pbp_os_drop_blocks(&restore->file, restore->extent.first + first, end - first);
}

/* The kernel keeps pages that were used twice longer than others. */
static void
use_twice(const PbpExtentRestore *restore)
{
	for (int times = 0; times < 2; times++)
	{
		for (int i = 0; i < restore->extent.nblocks; i++)
		{
			if (is_to_be_kept(restore, i) &&
				pbp_map_os(restore->extent.states[i]) == PBP_MAP_OS_KEPT && has_time(restore))
				pbp_os_use(&restore->file, restore->extent.first + i);
		}
	}
}

/* Leaves in the page cache what it held before, as used as it was. */
void
pbp_extent_settle(PbpExtentRestore *restore)
{
	drop_others(restore);
	use_twice(restore);
}

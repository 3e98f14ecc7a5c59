/*-------------------------------------------------------------------------
 *
 * readcost.c
 *	  Times of reads, by the cache that serves them.
 *
 * The page cache is asked in oscache.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "caches/readcost.h"
#include "pool/poolindex.h"

/* The last segment that was needed; it stays open for the next block. */
typedef struct OpenSegment
{
	int			number;			/* -1: none */
	PbpOsFile	file;
} OpenSegment;

static void
close_segment(OpenSegment *segment)
{
	if (segment->number >= 0)
		pbp_os_close(&segment->file);
	segment->number = -1;
}

static bool
open_segment(OpenSegment *segment, const PbpLocator *locator, ForkNumber fork, int number)
{
	if (segment->number == number)
		return true;

	close_segment(segment);
	if (!pbp_os_open(locator, fork, number, PBP_OS_AUTO, &segment->file))
		return false;
	segment->number = number;
	return true;
}

/* Where the block would be read from now.  Reads nothing to find out. */
static PbpTier
tier_of(OpenSegment *segment, const PbpLocator *locator, ForkNumber fork,
		BlockNumber block, PbpOsTrust *trust)
{
	uint8		bitmap[PBP_BITMAP_BYTES(1)];
	PbpOsBlocks blocks;
	bool		dirty;

	if (pbp_pool_lookup(locator, fork, block, &dirty))
		return PBP_SHARED_BUFFERS;
	if (!open_segment(segment, locator, fork, block / RELSEG_SIZE))
		return PBP_UNKNOWN_TIER;
	if (segment->file.trust != PBP_OS_TRUSTED)
	{
		*trust = segment->file.trust;
		return PBP_UNKNOWN_TIER;
	}
	pbp_os_map(&segment->file, block % RELSEG_SIZE, 1, bitmap, &blocks);
	return blocks.cached > 0 ? PBP_OS_CACHE : PBP_STORAGE;
}

static int64
timed_read(Relation relation, ForkNumber fork, BlockNumber block)
{
	int64		start = pbp_now_ns();
	Buffer		buffer = ReadBufferExtended(relation, fork, block, RBM_NORMAL, NULL);
	int64		elapsed_ns = pbp_now_ns() - start;

	ReleaseBuffer(buffer);
	return elapsed_ns;
}

/*
 * Chooses a random block of each of as many equal parts of the fork, in random
 * order: no part is left out, and the kernel detects no sequential read.
 */
static BlockNumber *
choose_blocks(BlockNumber nblocks, int samples)
{
	BlockNumber *blocks = MemoryContextAllocHuge(CurrentMemoryContext,
												 (Size) samples * sizeof(BlockNumber));

	for (int i = 0; i < samples; i++)
	{
		uint64		first = (uint64) nblocks * i / samples;
		uint64		end = (uint64) nblocks * (i + 1) / samples;
		uint64		place = pg_prng_uint64_range(&pg_global_prng_state, 0, i);

		CHECK_FOR_INTERRUPTS();
		blocks[i] = blocks[place];
		blocks[place] = (BlockNumber) pg_prng_uint64_range(&pg_global_prng_state,
														   first, end - 1);
	}
	return blocks;
}

/*
 * Reads random blocks of a fork through the buffer manager, each at most once,
 * and counts the times by the tier that was found just before.
 *
 * Like all reads, these evict other pages and warm both caches.  The caller
 * holds a lock that keeps the relation from being truncated.  A block's lookup
 * locks one partition of the server's table of buffers, shared.  Memory: 4 bytes
 * per sample.
 */
void
pbp_read_cost(Relation relation, ForkNumber fork, int samples, PbpReadCost *cost)
{
	BlockNumber nblocks = RelationGetNumberOfBlocksInFork(relation, fork);
	PbpLocator	locator = relation->rd_locator;
	OpenSegment segment = {.number = -1};
	BlockNumber *blocks;

	cost->trust = PBP_OS_TRUSTED;
	for (int tier = 0; tier < PBP_TIERS; tier++)
		pbp_latency_init(&cost->tiers[tier]);

	samples = (int) Min((BlockNumber) samples, nblocks);
	blocks = choose_blocks(nblocks, samples);
	for (int i = 0; i < samples; i++)
	{
		PbpTier		tier;

		CHECK_FOR_INTERRUPTS();
		tier = tier_of(&segment, &locator, fork, blocks[i], &cost->trust);
		pbp_latency_add(&cost->tiers[tier], timed_read(relation, fork, blocks[i]));
	}
	close_segment(&segment);
	pfree(blocks);

	for (int tier = 0; tier < PBP_TIERS; tier++)
		pbp_latency_finish(&cost->tiers[tier]);
}

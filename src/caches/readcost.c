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

static void
close_segment(PbpOsWalk *walk)
{
	if (walk->segment >= 0)
		pbp_os_close(&walk->file);
	walk->segment = -1;
}

/* The last segment that was needed stays open for the next block. */
static bool
open_segment(PbpOsWalk *walk, int segment)
{
	if (walk->segment == segment)
		return true;

	close_segment(walk);
	if (!pbp_os_open(&walk->locator, walk->fork, segment, walk->method, &walk->file))
		return false;
	walk->segment = segment;
	return true;
}

/* Where the block would be read from now.  Reads nothing to find out. */
static PbpTier
tier_of(PbpOsWalk *walk, BlockNumber block, PbpOsTrust *trust)
{
	if (pbp_pool_lookup(&walk->locator, walk->fork, block))
		return PBP_SHARED_BUFFERS;
	if (!open_segment(walk, block / RELSEG_SIZE))
		return PBP_UNKNOWN_TIER;
	if (walk->file.trust != PBP_OS_TRUSTED)
	{
		*trust = walk->file.trust;
		return PBP_UNKNOWN_TIER;
	}
	return pbp_os_block(&walk->file, block % RELSEG_SIZE) ? PBP_OS_CACHE : PBP_STORAGE;
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
	PbpOsWalk	walk;
	BlockNumber *blocks;

	pbp_os_walk(&walk, &relation->rd_locator, fork, PBP_OS_AUTO);
	cost->trust = PBP_OS_TRUSTED;
	for (int tier = 0; tier < PBP_TIERS; tier++)
		pbp_latency_init(&cost->tiers[tier]);

	samples = (int) Min((BlockNumber) samples, nblocks);
	blocks = choose_blocks(nblocks, samples);
	for (int i = 0; i < samples; i++)
	{
		PbpTier		tier;

		CHECK_FOR_INTERRUPTS();
		tier = tier_of(&walk, blocks[i], &cost->trust);
		pbp_latency_add(&cost->tiers[tier], timed_read(relation, fork, blocks[i]));
	}
	close_segment(&walk);
	pfree(blocks);

	for (int tier = 0; tier < PBP_TIERS; tier++)
		pbp_latency_finish(&cost->tiers[tier]);
}

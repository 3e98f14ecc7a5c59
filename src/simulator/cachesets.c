/*-------------------------------------------------------------------------
 *
 * cachesets.c
 *	  Which misses of the simulated pools wait for storage: a simulated page
 *	  cache below each of them.
 *
 * A miss of a pool is a read of the page cache below it.  The share of misses
 * that this cache does not hold, times the miss ratio of that size, is the
 * share of accesses that wait for storage.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

#include <math.h>
#include <string.h>

/* ---- misses ---- */

static void
count_miss(CacheSet *set, int cache, unsigned group, CacheRead read, bool adds)
{
	SimulatedCache *simulated = &set->caches[cache];
	CacheCounters *counters = &set->counters[cache];

	if (adds)
	{
		counters->misses[group]++;
		counters->storage_reads[group] += read != CACHE_HIT;
		counters->close_calls += read == CACHE_CLOSE_CALL;
	}
	if (read == CACHE_HIT || simulated->nlearned >= SETTLED_SHARE * simulated->capacity)
		return;
	set->doubtful_reads[cache] += simulated->learning || simulated->refilling;
	simulated->nlearned++;
}

static uint64_t
play_misses(const Advice *advice, CacheSet *set, uint32_t fingerprint, uint64_t absent,
			bool counts)
{
	bool		baseline_missed = is_absent(absent, BASELINE);
	uint64_t	waits = 0;
	uint64_t	refilling = advice->refilling;
	uint16_t	page;

	if (set == NULL || fingerprint > set->threshold || isnan(set->os_cache))
		return 0;
	page = pbp_find_cached_page(set, fingerprint);
	if (page == NO_RECORD)
		return 0;
	for (int cache = 0; cache < set->ncaches; cache++)
	{
		CacheCounters *counters = &set->counters[cache];
		bool		adds = !set->caches[cache].refilling &&
			!is_absent(advice->refilling, set->sizes[cache]);
		CacheRead	read;

		if (!adds)
			refilling |= size_bit(set->sizes[cache]);
		if (counts)
			*(adds ? &counters->baseline_misses : &counters->skipped) += baseline_missed;
		if (!is_absent(absent, set->sizes[cache]))
			continue;
		read = pbp_read_cached_page(set, cache, page);
		if (read != CACHE_HIT)
			waits |= size_bit(set->sizes[cache]);
		if (counts)
			count_miss(set, cache, group_of(fingerprint), read, adds);
	}
	if (counts && !is_absent(refilling, BASELINE))
	{
		set->uncalibrated_misses += baseline_missed;
		set->uncalibrated_reads += (waits & size_bit(BASELINE)) != 0;
	}
	return as_today(waits, refilling);
}

/*
 * Pools of these sizes have missed the page.  Those whose reads wait for storage,
 * while memory is fixed.
 */
uint64_t
pbp_play_misses(Advice *advice, uint32_t fingerprint, uint64_t absent, bool counts)
{
	for (int i = 1; i < CACHE_SETS; i++)
		(void) play_misses(advice, advice->cache_sets[i], fingerprint, absent, counts);
	return play_misses(advice, advice->cache_sets[0], fingerprint, absent, counts);
}

static void
play_write(CacheSet *set, uint32_t fingerprint, int size)
{
	uint16_t	page;

	if (set == NULL || fingerprint > set->threshold || isnan(set->os_cache))
		return;
	page = pbp_find_cached_page(set, fingerprint);
	for (int cache = 0; page != NO_RECORD && cache < set->ncaches; cache++)
		if (set->sizes[cache] == size)
			pbp_write_cached_page(set, cache, page);
}

/* The pool of this size has evicted a dirty page. */
void
pbp_play_write(Advice *advice, uint32_t fingerprint, int size)
{
	for (int i = 0; i < CACHE_SETS; i++)
		play_write(advice->cache_sets[i], fingerprint, size);
}

static void
write_block(CacheSet *set, uint32_t fingerprint)
{
	uint16_t	page;

	if (set == NULL || fingerprint > set->threshold)
		return;
	page = pbp_find_cached_page(set, fingerprint);
	for (int cache = 0; page != NO_RECORD && cache < set->ncaches; cache++)
		pbp_write_cached_page(set, cache, page);
}

/* A block of the WAL's files as a page of its own. */
static inline uint64_t
key_of_wal_block(uint64_t block)
{
	uint64_t	key = (block + 1) * UINT64_C(0x9E3779B97F4A7C15);

	key = (key ^ key >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return key ^ key >> 32;
}

/*
 * WAL has been written between these positions, in bytes.  Nobody reads it from
 * the page cache, but until it is evicted, it takes the place of other pages.
 * Its files, which are so large together, are written again and again.
 */
void
pbp_advice_write_wal(PbpAdvice *base, uint64_t from, uint64_t to, uint64_t file_bytes)
{
	const Advice *advice = (const Advice *) base;
	const CacheSet *set = advice->cache_sets[0];
	uint64_t	nblocks;
	uint64_t	first;
	uint64_t	end;

	if (set == NULL || isnan(set->os_cache))
		return;
	nblocks = file_bytes / (uint64_t) set->block_bytes;
	first = from / (uint64_t) set->block_bytes;
	end = to / (uint64_t) set->block_bytes;
	if (first < end && end - first > nblocks)
		first = end - nblocks;
	for (uint64_t block = first; block < end; block++)
	{
		uint64_t	key = key_of_wal_block(block % nblocks);

		check_interrupts((uint32_t) (block - first));
		for (int i = 0; i < CACHE_SETS && pbp_advice_sampled(base, key); i++)
			write_block(advice->cache_sets[i], (uint32_t) key);
	}
}

void
pbp_decay_caches(Advice *advice, double weight, double recent_weight)
{
	for (int i = 0; i < CACHE_SETS; i++)
	{
		CacheSet   *set = advice->cache_sets[i];

		if (set == NULL)
			continue;
		scale_counters(set->counters, sizeof(set->counters), weight);
		scale_counters(set->doubtful_reads, sizeof(set->doubtful_reads), recent_weight);
	}
}

/* A simulated pool is in order only now: forget what it missed before. */
void
pbp_forget_misses(Advice *advice, int size)
{
	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (set_of(advice, cache) != NULL && size_above(advice, cache) == size)
			memset(cache_counters(advice, cache), 0, sizeof(CacheCounters));
}

/* What happened is unknown: the caches may hold other pages by now. */
void
pbp_doubt_caches(Advice *advice)
{
	for (int cache = 0; cache < ALL_CACHES; cache++)
	{
		if (set_of(advice, cache) == NULL)
			continue;
		set_of(advice, cache)->doubtful_reads[slot_of(cache)] = 0;
		must_refill(simulated_cache(advice, cache));
	}
}

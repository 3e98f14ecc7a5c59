/*-------------------------------------------------------------------------
 *
 * pagecaches.c
 *	  Which misses of the simulated pools wait for storage: a simulated page
 *	  cache below each of them, and the records of their pages.
 *
 * A miss of a pool is a read of the page cache below it.  The share of misses
 * that this cache does not hold, times the miss ratio of that size, is the
 * share of accesses that wait for storage.
 *
 * Which pages a cache keeps is a matter of its policy, in kernellists.c or
 * kernelgenerations.c.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

#include <string.h>

/* Records that are tried before one is taken that may be needed, or none. */
#define ENOUGH_TRIES		64

/* ---- records ---- */

/* True if its return may matter to a cache. */
static bool
may_return_soon(const CacheSet *set, const CachedPage *page)
{
	for (int cache = 0; cache < set->ncaches; cache++)
		if (set->policy->may_return_soon(&set->caches[cache], page, cache))
			return true;
	return false;
}

/* Returns a record for one more page; NO_RECORD if all that were tried are of resident pages. */
static uint16_t
free_record(CacheSet *set)
{
	uint16_t	found = NO_RECORD;
	uint32_t	tries = set->max_pages < ENOUGH_TRIES ? set->max_pages : ENOUGH_TRIES;
	bool		needed = true;
	uint16_t   *link;

	if (set->npages < set->max_pages)
		return (uint16_t) set->npages++;
	for (uint32_t tried = 0; needed && tried < tries; tried++)
	{
		const CachedPage *page = cached_page(set, set->reclaimer);

		if (page->resident == 0)
		{
			found = (uint16_t) set->reclaimer;
			needed = may_return_soon(set, page);
		}
		set->reclaimer = (set->reclaimer + 1) % set->max_pages;
	}
	if (found == NO_RECORD)
		return NO_RECORD;
	set->ndropped += needed;
	link = &set->heads[chain_of(cached_page(set, found)->fingerprint, set->nheads)];
	while (*link != found)
		link = &cached_page(set, *link)->next;
	*link = cached_page(set, found)->next;
	return found;
}

/* NO_RECORD: it has none. */
static uint16_t
find_record(const CacheSet *set, uint32_t fingerprint)
{
	uint16_t	page = set->heads[chain_of(fingerprint, set->nheads)];

	while (page != NO_RECORD && cached_page(set, page)->fingerprint != fingerprint)
		page = cached_page(set, page)->next;
	return page;
}

/* Finds the record of a page, or adds one.  NO_RECORD: the page has none here. */
static uint16_t
record_of(CacheSet *set, uint32_t fingerprint)
{
	uint16_t	page;

	if (set == NULL || fingerprint > set->threshold || isnan(set->os_cache))
		return NO_RECORD;
	page = find_record(set, fingerprint);
	if (page != NO_RECORD)
		return page;
	page = free_record(set);
	if (page == NO_RECORD)
		set->ndropped++;
	else
	{
		uint16_t   *head = &set->heads[chain_of(fingerprint, set->nheads)];

		*cached_page(set, page) = (CachedPage) {.fingerprint = fingerprint, .next = *head};
		*head = page;
	}
	return page;
}

bool
pbp_advice_simulates(const PbpAdvice *advice, uint64_t key)
{
	const CacheSet *set = advice->cache_sets[0];

	return set != NULL && (uint32_t) key <= set->threshold;
}

PbpCacheAnswer
pbp_advice_caches(const PbpAdvice *advice, uint64_t key)
{
	const CacheSet *set = advice->cache_sets[0];
	const SimulatedCache *simulated;
	const CachedPage *page;
	PbpCacheAnswer answer = {NAN, NAN};
	uint16_t	number;

	if (!pbp_advice_simulates(advice, key) || isnan(set->os_cache))
		return answer;
	simulated = &set->caches[BASELINE];
	if (simulated->learning || simulated->refilling)
		return answer;
	number = find_record(set, (uint32_t) key);
	page = number == NO_RECORD ? NULL : cached_page(set, number);
	answer.cached = page != NULL && in_set(page->resident, BASELINE);
	if (set->policy->evicted_recently != NULL && !advice->facts.swaps)
		answer.recent = answer.cached > 0 ||
			(page != NULL && set->policy->evicted_recently(simulated, page, BASELINE));
	return answer;
}

/* ---- misses ---- */

/* Returns true if the cache has not read enough yet, so that this counts. */
static bool
learn_read(SimulatedCache *simulated, CacheRead read)
{
	if (read == CACHE_HIT || simulated->nlearned >= SETTLED_SHARE * simulated->capacity)
		return false;
	simulated->nlearned++;
	return true;
}

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
	if (learn_read(simulated, read))
		set->doubtful_reads[cache] += simulated->learning || simulated->refilling;
}

static uint64_t
play_misses(const Advice *advice, CacheSet *set, uint32_t fingerprint, uint64_t absent,
			bool counts)
{
	bool		baseline_missed = has_size(absent, BASELINE);
	uint64_t	waits = 0;
	uint64_t	refilling = advice->refilling;
	uint16_t	page = record_of(set, fingerprint);

	if (page == NO_RECORD)
		return 0;
	for (int cache = 0; cache < set->ncaches; cache++)
	{
		CacheCounters *counters = &set->counters[cache];
		bool		adds = !set->caches[cache].refilling &&
			!has_size(advice->refilling, set->sizes[cache]);
		CacheRead	read;

		if (!adds)
			refilling |= size_bit(set->sizes[cache]);
		if (counts)
			*(adds ? &counters->baseline_misses : &counters->skipped) += baseline_missed;
		if (!has_size(absent, set->sizes[cache]))
			continue;
		read = set->policy->read(set, cache, page);
		if (read != CACHE_HIT)
			waits |= size_bit(set->sizes[cache]);
		if (counts)
			count_miss(set, cache, group_of(fingerprint), read, adds);
	}
	if (counts && !has_size(refilling, BASELINE))
		set->uncalibrated_misses += baseline_missed;
	return as_today(waits, refilling);
}

/* Pools of these sizes have missed the page.  Returns those that wait for storage today. */
uint64_t
pbp_play_misses(Advice *advice, uint32_t fingerprint, uint64_t absent, bool counts)
{
	for (int i = 1; i < CACHE_SETS; i++)
		(void) play_misses(advice, advice->cache_sets[i], fingerprint, absent, counts);
	return play_misses(advice, advice->cache_sets[0], fingerprint, absent, counts);
}

/* Writes a page to the caches below pools of this size, or to all if it is negative. */
static void
play_write(CacheSet *set, uint32_t fingerprint, int size)
{
	uint16_t	page = record_of(set, fingerprint);

	for (int cache = 0; page != NO_RECORD && cache < set->ncaches; cache++)
		if ((size < 0 || set->sizes[cache] == size) && set->caches[cache].capacity > 0 &&
			!in_set(cached_page(set, page)->resident, cache))
			set->policy->insert(set, cache, page, 0);
}

/* The pool of this size has evicted a dirty page. */
void
pbp_play_write(Advice *advice, uint32_t fingerprint, int size)
{
	for (int i = 0; i < CACHE_SETS; i++)
		play_write(advice->cache_sets[i], fingerprint, size);
}

/* The scan reads what a pool does not hold. */
static void
play_scanned(const Advice *advice, CacheSet *set, uint32_t fingerprint, uint64_t absent)
{
	uint16_t	page = record_of(set, fingerprint);

	for (int cache = 0; page != NO_RECORD && cache < set->ncaches; cache++)
	{
		CacheCounters *counters = &set->counters[cache];
		bool		reads = has_size(absent, set->sizes[cache]);
		CacheRead	read = reads ? set->policy->read(set, cache, page) : CACHE_HIT;

		(void) learn_read(&set->caches[cache], read);
		if (set->caches[cache].refilling || has_size(advice->refilling, set->sizes[cache]))
			continue;
		counters->scan_reads += has_size(absent, BASELINE);
		counters->scan_storage_reads += read != CACHE_HIT;
	}
}

void
pbp_advice_scan(PbpAdvice *advice, uint64_t key, bool alone)
{
	const CacheSet *set = advice->cache_sets[0];
	uint64_t	absent;

	if (set == NULL || isnan(set->os_cache) || !pbp_advice_sampled(advice, key))
		return;
	absent = alone ? pbp_not_kept(advice) : pbp_absent_from(advice, key);
	for (int i = 0; i < CACHE_SETS; i++)
		play_scanned(advice, advice->cache_sets[i], (uint32_t) key, absent);
}

/* No pool holds blocks of WAL. */
static inline uint64_t
key_of_wal(uint64_t block)
{
	uint64_t	key = (block + 1) * UINT64_C(0x9E3779B97F4A7C15);

	key = (key ^ key >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return key ^ key >> 32;
}

/*
 * Nobody reads WAL from the page cache, but until it is evicted, it takes the place of other pages.
 * Its files are written again and again.
 */
void
pbp_advice_write_wal(PbpAdvice *advice, uint64_t from, uint64_t to, uint64_t file_bytes)
{
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
		uint64_t	key = key_of_wal(block % nblocks);

		check_interrupts((uint32_t) (block - first));
		for (int i = 0; i < CACHE_SETS && pbp_advice_sampled(advice, key); i++)
			play_write(advice->cache_sets[i], (uint32_t) key, -1);
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
		pbp_scale_doubles(set->counters, sizeof(set->counters), weight);
		pbp_scale_doubles(set->doubtful_reads, sizeof(set->doubtful_reads), recent_weight);
	}
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

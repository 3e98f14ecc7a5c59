/*-------------------------------------------------------------------------
 *
 * storage.c
 *	  Which misses of the simulated pools wait for storage: a simulated page
 *	  cache below each of them.
 *
 * A miss of a pool is a read of the page cache below it.  The share of misses
 * that this cache does not hold, times the miss ratio of that size, is the
 * share of accesses that wait for storage.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/storage.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "os/osmemory.h"

/*
 * Records for each page of the largest cache.  Caches hold different pages, and
 * evicted ones are remembered as long as their return would matter.
 */
#define RECORDS_PER_PAGE	1.7

/* Of what was counted before a cache was settled. */
#define UNSETTLED_WEIGHT	0.1

/* If the records suffice for a share larger by this factor, learning begins again. */
#define MUCH_LARGER			4.0

/*
 * How fast the correction of the capacity follows an error in the share of misses
 * that the baseline's cache serves: by all of the error for as many misses as
 * this cache has pages, or three times as many as the pool has.
 */
#define CORRECTION_GAIN		1.0
#define CORRECTED_POOLS		3.0
#define LEAST_CORRECTION	0.25
#define MOST_CORRECTION		2.0

#define GIGABYTE			1073741824.0

/* ---- capacities ---- */

/* In pages, as the pool of this size takes them of memory. */
static double
pool_pages(const Advice *advice, int size)
{
	double		block_bytes = advice->storage->block_bytes;

	return (double) pbp_pool_bytes((int64_t) (pbp_advice_factor(size) * advice->nbuffers * block_bytes)) / block_bytes;
}

/* Pages that a pool of this size takes from the cache, or leaves to it. */
static double
pages_taken(const Advice *advice, int size)
{
	double		more = pool_pages(advice, size) - pool_pages(advice, BASELINE);
	double		huge_pages = advice->storage->huge_pages;

	return huge_pages < 0 ? more : fmax(0, more - huge_pages);
}

/* Pages that memory leaves to the cache.  Negative: it has no room for the pool. */
double
pbp_pages_left(const Advice *advice, int cache, double os_cache)
{
	return cache >= FACTORS ? os_cache : os_cache - pages_taken(advice, cache);
}

/* As the kernel, whose gigabytes are rounded down. */
static uint32_t
active_ratio(double bytes)
{
	double		gigabytes = floor(bytes / GIGABYTE);

	return gigabytes < 1 ? 1 : (uint32_t) sqrt(10 * gigabytes);
}

static inline bool
is_full(const SimulatedCache *simulated)
{
	return simulated->nlearned >= LEARNED_SHARE * simulated->capacity;
}

static void
must_learn(SimulatedCache *simulated)
{
	simulated->learning = true;
	simulated->settled = false;
}

/* A larger cache must be learned again, unless the smaller one had room left. */
static void
resize_cache(Advice *advice, int cache, double pages)
{
	Storage    *storage = advice->storage;
	SimulatedCache *simulated = &storage->caches[cache];
	uint32_t	capacity = (uint32_t) (pages * pbp_share_of_pool(advice) * storage->share + 0.5);
	double		known = SETTLED_SHARE * capacity;
	bool		was_full = is_full(simulated);

	if (LEARNED_SHARE * capacity > simulated->capacity)
		known = simulated->capacity;	/* it held no more, however much it read */
	if (simulated->nlearned > known)
		simulated->nlearned = (uint32_t) known;
	simulated->ratio = active_ratio(pages * storage->block_bytes);
	pbp_resize_cache(storage, cache, capacity);
	if (was_full && !is_full(simulated))
		must_learn(simulated);
}

/* To be called when the share of the pool in the sample changes. */
void
pbp_resize_caches(Advice *advice)
{
	const Storage *storage = advice->storage;

	if (storage == NULL || isnan(storage->os_cache))
		return;
	for (int cache = 0; cache < CACHES; cache++)
		resize_cache(advice, cache, fmax(0, pbp_pages_left(advice, cache, storage->os_cache * storage->correction)));
}

/* The share of the sample whose records fit. */
static double
fitting_share(const Advice *advice)
{
	const Storage *storage = advice->storage;
	double		largest = pbp_pages_left(advice, 0, storage->os_cache * storage->correction);

	return fmin(1, storage->max_pages / (RECORDS_PER_PAGE * fmax(1, largest) * advice->sampling_rate));
}

static void
set_share(Storage *storage, double share)
{
	storage->share = share;
	storage->threshold = share >= 1 ? UINT32_MAX : (uint32_t) ldexp(share, 32);
}

/* Fewer pages, if they no longer fit: what is known of the others remains. */
static void
fit_records(Advice *advice)
{
	Storage    *storage = advice->storage;
	double		share = fitting_share(advice);

	if (share >= storage->share)
		return;
	for (int cache = 0; cache < CACHES; cache++)
		storage->caches[cache].nlearned =
			(uint32_t) (storage->caches[cache].nlearned * share / storage->share);
	set_share(storage, share);
	pbp_thin_out_records(storage);
}

static void
begin_again(Storage *storage, double share)
{
	pbp_forget_cached_pages(storage);
	memset(storage->counters, 0, sizeof(storage->counters));
	memset(storage->doubtful_reads, 0, sizeof(storage->doubtful_reads));
	set_share(storage, share);
}

size_t
pbp_advice_storage_bytes(uint32_t pages)
{
	uint32_t	npages = pages < NO_RECORD ? pages : NO_RECORD;

	return sizeof(Storage) + npages * sizeof(CachedPage) + (npages / 2 + 1) * sizeof(uint16_t);
}

bool
pbp_advice_init_storage(PbpAdvice *base, void *memory, size_t bytes, int block_bytes)
{
	Advice	   *advice = (Advice *) base;
	Storage    *storage = memory;
	uint32_t	low = 0;
	uint32_t	high = NO_RECORD;

	while (low < high)
	{
		uint32_t	middle = (low + high + 1) / 2;

		if (pbp_advice_storage_bytes(middle) <= bytes)
			low = middle;
		else
			high = middle - 1;
	}
	if (low == 0)
		return false;
	memset(storage, 0, sizeof(*storage));
	storage->max_pages = low;
	storage->nheads = low / 2 + 1;
	storage->pages = (CachedPage *) (storage + 1);
	storage->heads = (uint16_t *) (storage->pages + low);
	storage->block_bytes = block_bytes;
	storage->os_cache = NAN;
	storage->huge_pages = -1;
	storage->correction = 1;
	storage->measured_share = storage->measuring_error = NAN;
	begin_again(storage, 1);
	advice->storage = storage;
	return true;
}

void
pbp_advice_set_huge_pages(PbpAdvice *base, int64_t free_blocks)
{
	Storage    *storage = ((Advice *) base)->storage;

	if (storage != NULL)
		storage->huge_pages = (double) free_blocks;
}

void
pbp_advice_set_os_cache(PbpAdvice *base, int64_t pages)
{
	Advice	   *advice = (Advice *) base;
	Storage    *storage = advice->storage;

	if (storage == NULL)
		return;
	if (pages < 0)
	{
		storage->os_cache = NAN;
		return;
	}
	storage->os_cache = (double) pages;
	if (fitting_share(advice) >= MUCH_LARGER * storage->share)
	{
		begin_again(storage, fitting_share(advice));
		pbp_reduce_effects(advice->relations, BASELINE, true, 0);
	}
	fit_records(advice);
	pbp_resize_caches(advice);
}

/*
 * By how much more than a standard deviation of the measurement the simulation
 * differs from it, as a share of today's misses.  Positive: too few misses are
 * served.
 */
double
pbp_beyond_error(const Advice *advice)
{
	const Storage *storage = advice->storage;
	double		difference = storage->measured_share - (1 - pbp_waiting_share(advice, BASELINE));

	if (isnan(difference))
		return 0;
	return copysign(fmax(0, fabs(difference) - storage->measuring_error / PBP_DEVIATIONS), difference);
}

/*
 * The real cache also holds what the pool did not read, and the caller may not
 * know its size exactly.  So the simulated ones have the size at which the
 * baseline's serves as many misses as the real one, within the error.  The
 * counters follow a correction only after some pools' worth of misses.
 */
void
pbp_advice_calibrate(PbpAdvice *base, double served_share, double error)
{
	Advice	   *advice = (Advice *) base;
	Storage    *storage = advice->storage;
	double		misses;
	double		pages;

	if (storage == NULL)
		return;
	storage->measured_share = served_share;
	storage->measuring_error = error;
	misses = storage->uncalibrated_misses;
	storage->uncalibrated_misses = 0;
	if (isnan(storage->os_cache) || storage->caches[BASELINE].learning ||
		sum_of_groups(storage->counters[BASELINE].misses) < ENOUGH_CACHE_MISSES)
		return;
	pages = fmax(storage->caches[BASELINE].capacity,
				 CORRECTED_POOLS * advice->nbuffers * pbp_share_of_pool(advice) * storage->share);
	storage->correction *= exp(CORRECTION_GAIN * pbp_beyond_error(advice) * fmin(1, misses / fmax(1, pages)));
	storage->correction = fmin(fmax(storage->correction, LEAST_CORRECTION), MOST_CORRECTION);
	fit_records(advice);
	pbp_resize_caches(advice);
}

/* ---- misses ---- */

static void
count_miss(Storage *storage, int cache, unsigned group, CacheRead read)
{
	SimulatedCache *simulated = &storage->caches[cache];
	CacheCounters *counters = &storage->counters[cache];

	counters->misses[group]++;
	counters->storage_reads[group] += read != CACHE_HIT;
	counters->close_calls += read == CACHE_CLOSE_CALL;
	if (read == CACHE_HIT || simulated->nlearned >= SETTLED_SHARE * simulated->capacity)
		return;
	storage->doubtful_reads[cache] += simulated->learning;
	simulated->nlearned++;
}

/*
 * Pools of these sizes have missed the page.  Those whose reads wait for storage,
 * while memory is fixed.
 */
uint64_t
pbp_play_misses(Storage *storage, uint32_t fingerprint, uint64_t absent, bool counts)
{
	bool		baseline_missed = is_absent(absent, BASELINE);
	uint64_t	waits = 0;
	uint16_t	page;

	if (storage == NULL || fingerprint > storage->threshold || isnan(storage->os_cache))
		return 0;
	page = pbp_find_cached_page(storage, fingerprint);
	if (page == NO_RECORD)
		return 0;
	for (int cache = 0; cache < CACHES; cache++)
	{
		CacheRead	read;

		if (counts)
			storage->counters[cache].baseline_misses += baseline_missed;
		if (!is_absent(absent, size_above(cache)))
			continue;
		read = pbp_read_cached_page(storage, cache, page);
		if (cache < FACTORS && read != CACHE_HIT)
			waits |= size_bit(cache);
		if (counts)
			count_miss(storage, cache, group_of(fingerprint), read);
	}
	if (counts)
		storage->uncalibrated_misses += baseline_missed;
	return waits;
}

/* The pool of this size has evicted a dirty page. */
void
pbp_play_write(Storage *storage, uint32_t fingerprint, int size)
{
	uint16_t	page;

	if (storage == NULL || fingerprint > storage->threshold || isnan(storage->os_cache))
		return;
	page = pbp_find_cached_page(storage, fingerprint);
	for (int cache = 0; page != NO_RECORD && cache < CACHES; cache++)
		if (size_above(cache) == size)
			pbp_write_cached_page(storage, cache, page);
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
	Storage    *storage = ((Advice *) base)->storage;
	uint64_t	nblocks;
	uint64_t	first;
	uint64_t	end;

	if (storage == NULL || isnan(storage->os_cache))
		return;
	nblocks = file_bytes / (uint64_t) storage->block_bytes;
	first = from / (uint64_t) storage->block_bytes;
	end = to / (uint64_t) storage->block_bytes;
	if (first < end && end - first > nblocks)
		first = end - nblocks;
	for (uint64_t block = first; block < end; block++)
	{
		uint64_t	key = key_of_wal_block(block % nblocks);
		uint16_t	page;

		check_interrupts((uint32_t) (block - first));
		if (!pbp_advice_sampled(base, key) || (uint32_t) key > storage->threshold)
			continue;
		page = pbp_find_cached_page(storage, (uint32_t) key);
		for (int cache = 0; page != NO_RECORD && cache < CACHES; cache++)
			pbp_write_cached_page(storage, cache, page);
	}
}

void
pbp_decay_storage(Storage *storage, double weight, double recent_weight)
{
	if (storage == NULL)
		return;
	scale_counters(storage->counters, sizeof(storage->counters), weight);
	scale_counters(storage->doubtful_reads, sizeof(storage->doubtful_reads), recent_weight);
}

/* A simulated pool is in order only now: forget what it missed before. */
void
pbp_forget_misses(Storage *storage, int size)
{
	for (int cache = 0; storage != NULL && cache < CACHES; cache++)
		if (size_above(cache) == size)
			memset(&storage->counters[cache], 0, sizeof(CacheCounters));
}

/* What happened is unknown: the caches may hold other pages by now. */
void
pbp_doubt_caches(Storage *storage)
{
	for (int cache = 0; storage != NULL && cache < CACHES; cache++)
	{
		storage->caches[cache].nlearned = 0;
		storage->doubtful_reads[cache] = 0;
		storage->caches[cache].progress = (Progress) {0};
		must_learn(&storage->caches[cache]);
	}
}

/*
 * Maximum share of recent accesses whose storage reads may be warm-up artifacts:
 * the real cache may have held these pages before the first look.
 */
double
pbp_doubtful_reads_share(const Advice *advice, int cache)
{
	const Storage *storage = advice->storage;

	if (advice->recent.recent_accesses <= 0)
		return 1;
	return storage->doubtful_reads[cache] / (pbp_share_of_pool(advice) * storage->share) /
		advice->recent.recent_accesses;
}

/*
 * A cache is learned when it has read about as many pages as it holds, or reads
 * hardly any from storage.  What was counted before it was learned is worth
 * nothing, and before it was settled, little.
 */
static void
learn_cache(Advice *advice, int cache)
{
	SimulatedCache *simulated = &advice->storage->caches[cache];
	CacheCounters *counters = &advice->storage->counters[cache];

	if (simulated->learning &&
		(is_full(simulated) || pbp_doubtful_reads_share(advice, cache) <= TOLERATED_DOUBT / 2))
	{
		simulated->learning = false;
		memset(counters, 0, sizeof(*counters));
		pbp_reduce_effects(advice->relations, cache, true, 0);
	}
	if (!simulated->settled && simulated->nlearned + 1 > SETTLED_SHARE * simulated->capacity)
	{
		simulated->settled = true;
		scale_counters(counters, sizeof(*counters), UNSETTLED_WEIGHT);
		pbp_reduce_effects(advice->relations, cache, true, UNSETTLED_WEIGHT);
	}
}

/* Of a cache that is learning: it has been filled, or few reads are doubtful. */
static double
learned_share(const Advice *advice, int cache)
{
	const SimulatedCache *simulated = &advice->storage->caches[cache];
	double		filled = simulated->nlearned / fmax(1, LEARNED_SHARE * simulated->capacity);
	double		certain = doubt_progress(pbp_doubtful_reads_share(advice, cache), TOLERATED_DOUBT / 2);

	return fmin(fmax(filled, certain), MOST_PROGRESS);
}

void
pbp_learn_caches(Advice *advice)
{
	for (int cache = 0; advice->storage != NULL && cache < CACHES; cache++)
	{
		SimulatedCache *simulated = &advice->storage->caches[cache];

		learn_cache(advice, cache);
		if (simulated->learning)
			pbp_follow_progress(&simulated->progress, learned_share(advice, cache), advice->look.fresh.seconds);
		else
			simulated->progress = (Progress) {0};
	}
}

/*-------------------------------------------------------------------------
 *
 * advice_storage.c
 *	  Which misses of the simulated pools wait for storage: a simulated page
 *	  cache below each of them.
 *
 * A miss of a pool is a read of the page cache below it.  The share of misses
 * that this cache does not hold, times the miss ratio of that size, is the
 * share of accesses that wait for storage.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "advice_storage.h"

#include <math.h>
#include <string.h>

/*
 * Records for each page of the largest cache.  Caches hold different pages, and
 * evicted ones are remembered as long as their return would matter.
 */
#define RECORDS_PER_PAGE	2.3

/* If so many more pages would fit, learning begins again. */
#define MUCH_LARGER			4.0

/* The share of its capacity that a cache must have read. */
#define LEARNED_SHARE		0.9

/* Simulated misses of the baseline below which there is no figure. */
#define ENOUGH_MISSES		50.0

/*
 * The correction of the capacity changes by as much, for an error of 1 in the
 * share of misses that the baseline's cache serves and as many misses as it has
 * pages.
 */
#define CORRECTION_GAIN		1.0
#define LEAST_CORRECTION	0.25
#define MOST_CORRECTION		2.0

/* How much the share of misses that a cache serves depends on its size. */
#define CAPACITY_WEIGHT		0.5

/*
 * Where pages are read in turn, as by scans, all of them may return just before
 * or just after something decides, and a little more memory would change much.
 * This share of the reads from storage does so in any case, and each read above
 * it may mean so many.
 */
#define USUAL_CLOSE_CALLS	0.13
#define CLOSE_CALL_WEIGHT	2.0

#define GIGABYTE			1073741824.0

/* ----------------------------------------------------------------
 *		Capacities
 * ----------------------------------------------------------------
 */

static inline double
square(double value)
{
	return value * value;
}

/* Pages that memory leaves to the cache.  Negative: it has no room for the pool. */
static double
pages_left(const Advice *advice, int cache, double os_cache)
{
	return cache >= FACTORS ? os_cache :
		os_cache - (pbp_advice_factor(cache) - 1) * advice->nbuffers;
}

/* As the kernel, whose gigabytes are rounded down. */
static uint32_t
active_ratio(double bytes)
{
	double		gigabytes = floor(bytes / GIGABYTE);

	return gigabytes < 1 ? 1 : (uint32_t) sqrt(10 * gigabytes);
}

static void
resize_caches(Advice *advice)
{
	Storage    *storage = advice->storage;
	double		os_cache = storage->os_cache * storage->correction;

	for (int cache = 0; cache < CACHES; cache++)
	{
		SimulatedCache *simulated = &storage->caches[cache];
		double		pages = fmax(0, pages_left(advice, cache, os_cache));

		simulated->ratio = active_ratio(pages * storage->block_bytes);
		pbp_resize_cache(storage, cache, (uint32_t) (pages * advice->sampling_rate * storage->share + 0.5));
		if (simulated->nlearned < LEARNED_SHARE * simulated->capacity)
			simulated->learning = true;
	}
}

/* The share of the sample whose records fit. */
static double
fitting_share(const Advice *advice)
{
	const Storage *storage = advice->storage;
	double		largest = pages_left(advice, 0, storage->os_cache * storage->correction);

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
	memset(&storage->counters, 0, sizeof(storage->counters));
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
	storage->correction = 1;
	begin_again(storage, 1);
	advice->storage = storage;
	return true;
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
		begin_again(storage, fitting_share(advice));
	fit_records(advice);
	resize_caches(advice);
}

/*
 * The real cache also holds what the pool did not read, and the caller may not
 * know its size exactly.  So the simulated ones have the size at which the
 * baseline's serves as many misses as the real one.
 */
void
pbp_advice_calibrate(PbpAdvice *base, double served_share)
{
	Advice	   *advice = (Advice *) base;
	Storage    *storage = advice->storage;
	const SimulatedCache *baseline;
	const CacheCounters *counters;
	double		misses;
	double		error;

	if (storage == NULL || isnan(storage->os_cache))
		return;
	baseline = &storage->caches[BASELINE];
	counters = &storage->counters.caches[BASELINE];
	misses = storage->uncalibrated_misses;
	storage->uncalibrated_misses = 0;
	if (baseline->learning || counters->misses < ENOUGH_MISSES)
		return;
	storage->counters.calibrated_misses += misses;
	storage->counters.served_misses += served_share * misses;
	error = served_share - (1 - counters->storage_reads / counters->misses);
	storage->correction *= exp(CORRECTION_GAIN * error * fmin(1, misses / fmax(1, baseline->capacity)));
	storage->correction = fmin(fmax(storage->correction, LEAST_CORRECTION), MOST_CORRECTION);
	fit_records(advice);
	resize_caches(advice);
}

/* ----------------------------------------------------------------
 *		Misses
 * ----------------------------------------------------------------
 */

static void
count_miss(Storage *storage, int cache, CacheRead read)
{
	SimulatedCache *simulated = &storage->caches[cache];
	CacheCounters *counters = &storage->counters.caches[cache];

	counters->misses++;
	counters->storage_reads += read != CACHE_HIT;
	counters->close_calls += read == CACHE_CLOSE_CALL;
	if (read == CACHE_HIT || simulated->nlearned >= simulated->capacity)
		return;
	storage->doubtful_reads[cache] += simulated->learning;
	simulated->nlearned++;
}

/* Pools of these sizes have missed the page. */
void
pbp_play_misses(Storage *storage, uint32_t fingerprint, uint64_t absent, bool counts)
{
	bool		baseline_missed = is_absent(absent, BASELINE);
	uint16_t	page;

	if (storage == NULL || fingerprint > storage->threshold || isnan(storage->os_cache))
		return;
	page = pbp_find_cached_page(storage, fingerprint);
	if (page == NO_RECORD)
		return;
	for (int cache = 0; cache < CACHES; cache++)
	{
		CacheRead	read;

		if (counts)
			storage->counters.caches[cache].baseline_misses += baseline_missed;
		if (!is_absent(absent, size_above(cache)))
			continue;
		read = pbp_read_cached_page(storage, cache, page);
		if (counts)
			count_miss(storage, cache, read);
	}
	if (counts)
		storage->uncalibrated_misses += baseline_missed;
}

void
pbp_decay_storage(Storage *storage, double weight, double recent_weight)
{
	if (storage == NULL)
		return;
	scale_counters(&storage->counters, sizeof(storage->counters), weight);
	scale_counters(storage->doubtful_reads, sizeof(storage->doubtful_reads), recent_weight);
}

/* A simulated pool is in order only now: forget what it missed before. */
void
pbp_forget_misses(Storage *storage, int size)
{
	for (int cache = 0; storage != NULL && cache < CACHES; cache++)
		if (size_above(cache) == size)
			memset(&storage->counters.caches[cache], 0, sizeof(CacheCounters));
}

/* What happened is unknown: the caches may hold other pages by now. */
void
pbp_doubt_caches(Storage *storage)
{
	for (int cache = 0; storage != NULL && cache < CACHES; cache++)
	{
		storage->caches[cache].nlearned = 0;
		storage->caches[cache].learning = true;
	}
}

/* ----------------------------------------------------------------
 *		Answers
 * ----------------------------------------------------------------
 */

static double
doubtful_share(const Advice *advice, int cache)
{
	const Storage *storage = advice->storage;

	if (advice->recent.recent_accesses <= 0)
		return 1;
	return storage->doubtful_reads[cache] / (pbp_share_of_pool(advice) * storage->share) /
		advice->recent.recent_accesses;
}

/*
 * A cache is learned when it has read about as many pages as it holds, or reads
 * hardly any from storage.  What was counted before is worth less.
 */
void
pbp_learn_caches(Advice *advice)
{
	Storage    *storage = advice->storage;

	for (int cache = 0; storage != NULL && cache < CACHES; cache++)
	{
		SimulatedCache *simulated = &storage->caches[cache];

		if (!simulated->learning ||
			(simulated->nlearned < LEARNED_SHARE * simulated->capacity &&
			 doubtful_share(advice, cache) > TOLERATED_DOUBT / 2))
			continue;
		simulated->learning = false;
		memset(&storage->counters.caches[cache], 0, sizeof(CacheCounters));
	}
}

/*
 * The share of misses that wait for storage.  New pages are misses of all
 * levels that do not wait, so they are subtracted.
 */
static double
storage_share(const Advice *advice, int cache)
{
	const Counters *counters = &advice->counters;
	const CacheCounters *counted = &advice->storage->counters.caches[cache];
	double		loads = counters->reads + counters->extends;
	double		new_pages = loads > 0 ? counted->baseline_misses * counters->extends / loads : 0;

	if (counted->misses - new_pages <= 0)
		return 0;
	return fmin(1, fmax(0, counted->storage_reads - new_pages) / (counted->misses - new_pages));
}

static PbpStorageReason
reason_of(const Advice *advice, int cache, const PbpAdviceRow *row)
{
	const Storage *storage = advice->storage;

	if (storage == NULL || isnan(storage->os_cache))
		return PBP_STORAGE_NO_CAPACITY;
	if (pages_left(advice, cache, storage->os_cache) < 0)
		return PBP_STORAGE_NO_ROOM;
	if (row->reason != PBP_ADVICE_KNOWN)
		return PBP_STORAGE_NO_MISS_RATIO;
	if (storage->caches[cache].learning)
		return PBP_STORAGE_LEARNING;
	if (storage->counters.caches[cache].baseline_misses < ENOUGH_MISSES)
		return PBP_STORAGE_LITTLE_EVIDENCE;
	return PBP_STORAGE_KNOWN;
}

/*
 * Half the width of a 95 % interval.  Chance decides which misses the sample
 * has, and how many pages of those that the real cache would hold.
 */
static double
uncertainty_of(const Advice *advice, int cache, const PbpAdviceRow *row)
{
	const CacheCounters *counted = &advice->storage->counters.caches[cache];
	double		share = storage_share(advice, cache);
	double		misses = share * (1 - share) / fmax(1, counted->misses);
	double		pages = square(CAPACITY_WEIGHT * (1 - share)) / fmax(1, advice->storage->caches[cache].capacity);
	double		close_calls = counted->close_calls / fmax(1, counted->storage_reads) - USUAL_CLOSE_CALLS;

	return share * row->uncertainty + doubtful_share(advice, cache) +
		row->miss_ratio * (1.96 * sqrt(misses + pages) + CLOSE_CALL_WEIGHT * share * fmax(0, close_calls));
}

static int
cache_below(int size, PbpAdviceMemory memory)
{
	return memory == PBP_ADVICE_ADDED && size > BASELINE ? FACTORS + size - BASELINE - 1 : size;
}

/* NaN: unknown. */
static double
estimate(const Advice *advice, int size, PbpAdviceMemory memory)
{
	int			cache = cache_below(size, memory);
	PbpAdviceRow row;

	pbp_advice_row(&advice->base, size, &row);
	return reason_of(advice, cache, &row) == PBP_STORAGE_KNOWN ?
		row.miss_ratio * storage_share(advice, cache) : NAN;
}

/*
 * Where a larger pool above the same cache, or a larger cache below the same
 * pool, would wait more often, that is chance in the sample.
 */
static double
bounded_estimate(const Advice *advice, int size, PbpAdviceMemory memory)
{
	double		ratio = estimate(advice, size, memory);

	if (memory == PBP_ADVICE_FIXED || isnan(ratio))
		return ratio;
	ratio = fmin(ratio, estimate(advice, size, PBP_ADVICE_FIXED));
	for (int i = BASELINE; i < size; i++)
		ratio = fmin(ratio, estimate(advice, i, PBP_ADVICE_ADDED));
	return ratio;
}

void
pbp_advice_storage_row(const PbpAdvice *base, int i, PbpAdviceMemory memory, PbpAdviceStorageRow *row)
{
	const Advice *advice = (const Advice *) base;
	const Storage *storage = advice->storage;
	int			cache = cache_below(i, memory);
	PbpAdviceRow miss_row;

	pbp_advice_row(base, i, &miss_row);
	*row = (PbpAdviceStorageRow)
	{
		.storage_ratio = bounded_estimate(advice, i, memory),
		.uncertainty = NAN,
		.learned_share = NAN,
		.reason = reason_of(advice, cache, &miss_row),
	};
	if (row->reason == PBP_STORAGE_NO_CAPACITY)
		return;
	row->os_cache_pages = (int64_t) floor(pages_left(advice, cache, storage->os_cache));
	row->learned_share = storage->caches[cache].learning ?
		fmin(1, storage->caches[cache].nlearned / (LEARNED_SHARE * storage->caches[cache].capacity)) : 1;
	if (row->reason == PBP_STORAGE_KNOWN)
		row->uncertainty = uncertainty_of(advice, cache, &miss_row);
}

void
pbp_advice_storage_totals(const PbpAdvice *base, PbpAdviceStorageTotals *totals)
{
	const Advice *advice = (const Advice *) base;
	const Storage *storage = advice->storage;
	PbpAdviceStorageRow row;

	*totals = (PbpAdviceStorageTotals) {.self_error = NAN};
	if (storage == NULL)
		return;
	totals->sampling_rate = advice->sampling_rate * storage->share;
	totals->correction = storage->correction;
	totals->dropped = storage->ndropped;
	pbp_advice_storage_row(base, BASELINE, PBP_ADVICE_FIXED, &row);
	if (row.reason == PBP_STORAGE_KNOWN && storage->counters.calibrated_misses > 0)
	{
		PbpAdviceRow miss_row;

		pbp_advice_row(base, BASELINE, &miss_row);
		totals->self_error = row.storage_ratio - miss_row.miss_ratio *
			(1 - storage->counters.served_misses / storage->counters.calibrated_misses);
	}
}

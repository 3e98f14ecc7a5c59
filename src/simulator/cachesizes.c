/*-------------------------------------------------------------------------
 *
 * cachesizes.c
 *	  How large the simulated page caches are, and how many pages of them have
 *	  records.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/storage.h"

#include <math.h>
#include <string.h>

#include "os/osmemory.h"

/*
 * Records for each page of the largest cache.  Caches hold different pages, and
 * evicted ones are remembered as long as their return would matter.
 */
#define RECORDS_PER_PAGE	1.7

/*
 * Of the pages that have records of today's memory, the share that has records of
 * other totals: all of them would take half of the worker's time.
 */
#define SHARE_OF_TOTALS		0.5

/* All data may grow by this factor before it is known. */
#define DATA_GROWTH			1.25

/* If the records suffice for a share larger by this factor, more pages have some. */
#define MUCH_LARGER			4.0

/* How far the capacity is corrected at most. */
#define LEAST_CORRECTION	0.25
#define MOST_CORRECTION		2.0

#define GIGABYTE			1073741824.0

/*
 * Shares of a total of memory that the largest simulated pool takes: it is chosen
 * by the first, and again when it is outside of the others.
 */
#define LARGEST_POOL		0.75
#define LEAST_LARGEST_POOL	0.65
#define MOST_LARGEST_POOL	0.8

static const double total_factors[PBP_TOTALS] = {
	0.25, 0.35, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.8, 4
};

double
pbp_total_factor(int total)
{
	return total_factors[total];
}

/* ---- capacities ---- */

/* In pages, as the pool of this size takes them of memory. */
static double
pool_pages(const Advice *advice, int size)
{
	double		block_bytes = advice->storages[0]->block_bytes;

	double		bytes = pbp_advice_factor(size) * advice->nbuffers * block_bytes;

	return (double) pbp_pool_bytes((int64_t) bytes) / block_bytes;
}

/* Pages that a pool of this size takes from the cache, or leaves to it. */
static double
pages_taken(const Advice *advice, int size)
{
	double		more = pool_pages(advice, size) - pool_pages(advice, BASELINE);
	double		huge_pages = advice->storages[0]->huge_pages;

	return huge_pages < 0 ? more : fmax(0, more - huge_pages);
}

/* Pages that memory leaves to the cache.  Negative: it has no room for the pool. */
double
pbp_pages_left(const Advice *advice, int cache, double os_cache)
{
	int			size = size_above(advice, cache);
	double		total = pool_pages(advice, BASELINE) + advice->storages[0]->os_cache;

	if (has_todays_memory(cache))
		return os_cache - pages_taken(advice, size);
	return os_cache + (pbp_total_factor(total_of(cache)) - 1) * total -
		(pool_pages(advice, size) - pool_pages(advice, BASELINE));
}

/* As the kernel, whose gigabytes are rounded down. */
static uint32_t
active_ratio(double bytes)
{
	double		gigabytes = floor(bytes / GIGABYTE);

	return gigabytes < 1 ? 1 : (uint32_t) sqrt(10 * gigabytes);
}

/* A larger cache must be learned again, unless the smaller one had room left. */
static void
resize_cache(Advice *advice, int cache, double pages)
{
	Storage    *storage = storage_of(advice, cache);
	SimulatedCache *simulated = simulated_cache(advice, cache);
	double		sampled = fmax(0, pages) * share_of_pool(advice) * storage->share;
	uint32_t	capacity = (uint32_t) (sampled + 0.5);
	double		known = SETTLED_SHARE * capacity;
	bool		was_full = is_full(simulated);

	if (LEARNED_SHARE * capacity > simulated->capacity)
		known = simulated->capacity;	/* it held no more, however much it read */
	if (simulated->nlearned > known)
		simulated->nlearned = (uint32_t) known;
	simulated->ratio = active_ratio(pages * storage->block_bytes);
	pbp_resize_cache(storage, slot_of(cache), capacity);
	if (was_full && !is_full(simulated))
		must_learn(simulated);
}

/* The cache is below a pool of another size now, which has read other pages. */
static void
begin_below(Advice *advice, int cache, int size)
{
	Storage    *storage = storage_of(advice, cache);
	int			i = slot_of(cache);

	if (storage->sizes[i] == size)
		return;
	pbp_resize_cache(storage, i, 0);
	memset(&storage->counters[i], 0, sizeof(storage->counters[i]));
	storage->doubtful_reads[i] = 0;
	storage->caches[i].nlearned = 0;
	storage->caches[i].was_full = false;
	storage->caches[i].progress = (Progress) {0};
	must_learn(&storage->caches[i]);
	storage->sizes[i] = (uint8_t) size;
}

/* The largest size of the pool that takes at most this share of so many pages. */
static int
largest_size(const Advice *advice, double share, double pages)
{
	int			size = FACTORS - 1;

	while (size > 0 && pool_pages(advice, size) > share * pages)
		size--;
	return size;
}

/* Choose the pools between which the best split of each total may be. */
static void
choose_sizes(Advice *advice, int total)
{
	double		pages = pbp_total_factor(total) *
		(pool_pages(advice, BASELINE) + advice->storages[0]->os_cache);
	int			first = first_cache(total);
	int			largest = size_above(advice, first + PBP_SPLITS - 1);

	if (largest < largest_size(advice, LEAST_LARGEST_POOL, pages) ||
		largest > largest_size(advice, MOST_LARGEST_POOL, pages))
		largest = largest_size(advice, LARGEST_POOL, pages);
	begin_below(advice, first + 1, largest > BASELINE ? BASELINE : largest / 2);
	begin_below(advice, first + PBP_SPLITS - 1, largest);
}

/* To be called when the share of the pool in the sample changes. */
void
pbp_resize_caches(Advice *advice)
{
	const Storage *storage = advice->storages[0];

	if (storage == NULL || isnan(storage->os_cache))
		return;
	for (int total = 0; total < PBP_TOTALS; total++)
		if (total != PBP_TOTAL_TODAY && storage_of(advice, first_cache(total)) != NULL)
			choose_sizes(advice, total);
	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (storage_of(advice, cache) != NULL)
			resize_cache(advice, cache, pbp_pages_left(advice, cache,
													   storage->os_cache * storage->correction));
}

/*
 * The share of the sample whose records fit.  Caches that are larger than all
 * data need no records for the rest.
 */
static double
fitting_share(const Advice *advice, int which)
{
	const Storage *today = advice->storages[0];
	double		most = which == 0 ? 1 : SHARE_OF_TOTALS * today->share;
	double		largest = 1;
	double		needed;

	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (storage_of(advice, cache) == advice->storages[which])
			largest = fmax(largest,
						   pbp_pages_left(advice, cache, today->os_cache * today->correction));
	needed = fmin(RECORDS_PER_PAGE * largest, fmax(1, DATA_GROWTH * today->data_pages));
	return fmin(most, advice->storages[which]->max_pages / (needed * advice->sampling_rate));
}

static void
set_share(const Advice *advice, Storage *storage, double share)
{
	storage->share = share;
	storage->threshold = share >= 1 ? advice->base.kept : (uint32_t) (share * advice->base.kept);
}

/* So many of its records remain, as a share. */
static void
keep_records(Storage *storage, double share)
{
	for (int cache = 0; cache < storage->ncaches; cache++)
		storage->caches[cache].nlearned = (uint32_t) (storage->caches[cache].nlearned * share);
	scale_counters(storage->counters, sizeof(storage->counters), share);
	scale_counters(storage->doubtful_reads, sizeof(storage->doubtful_reads), share);
	storage->uncalibrated_misses *= share;
	storage->uncalibrated_reads *= share;
	pbp_thin_out_records(storage);
}

/* Fewer pages, if they no longer fit: what is known of the others remains. */
static void
fit_records(Advice *advice, int which)
{
	Storage    *storage = advice->storages[which];
	double		share = fitting_share(advice, which);
	double		before = storage->share;

	if (share >= before)
		return;
	set_share(advice, storage, share);
	keep_records(storage, share / before);
	if (which == 0)
		pbp_reduce_effects(advice->relations, BASELINE, true, share / before);
}

/*
 * The sample has so many times as many pages.  Records are of sampled pages;
 * without storage, all would remain.
 */
double
pbp_scale_caches(Advice *advice, double share)
{
	double		share_of_records = 1;

	for (int i = 0; i < STORAGES; i++)
	{
		Storage    *storage = advice->storages[i];
		double		kept;

		if (storage == NULL)
			continue;
		kept = fmin(1, share / storage->share);
		set_share(advice, storage, fmin(1, storage->share / share));
		if (kept < 1)
			keep_records(storage, kept);
		if (i == 0)
			share_of_records = kept;
	}
	return share_of_records;
}

/* More pages have records from now on.  What was learned of the others stays. */
static void
add_records(const Advice *advice, Storage *storage, double share)
{
	double		more = share / storage->share;

	set_share(advice, storage, share);
	scale_counters(storage->counters, sizeof(storage->counters), more);
	for (int cache = 0; cache < storage->ncaches; cache++)
		must_refill(&storage->caches[cache]);
	storage->uncalibrated_misses = storage->uncalibrated_reads = 0;
}

static void
begin_again(const Advice *advice, Storage *storage, double share)
{
	pbp_forget_cached_pages(storage);
	memset(storage->counters, 0, sizeof(storage->counters));
	memset(storage->doubtful_reads, 0, sizeof(storage->doubtful_reads));
	set_share(advice, storage, share);
}

/*
 * Without the sizes of the pools above.  Each record needs half a head of a
 * chain, and there is one more.
 */
static Storage *
init_storage(const Advice *advice, void *memory, size_t bytes, int block_bytes, int ncaches)
{
	Storage    *storage = memory;
	size_t		page_bytes = offsetof(CachedPage, entries) + (size_t) ncaches * sizeof(CacheEntry);
	size_t		fixed_bytes = sizeof(*storage) + sizeof(uint16_t);
	size_t		npages;

	if (bytes < fixed_bytes + page_bytes + sizeof(uint16_t) / 2)
		return NULL;
	npages = 2 * (bytes - fixed_bytes) / (2 * page_bytes + sizeof(uint16_t));
	memset(storage, 0, sizeof(*storage));
	storage->max_pages = npages < NO_RECORD ? (uint32_t) npages : NO_RECORD;
	storage->nheads = storage->max_pages / 2 + 1;
	storage->ncaches = ncaches;
	storage->pages = (char *) (storage + 1);
	storage->page_bytes = page_bytes;
	storage->heads = (uint16_t *) cached_page(storage, storage->max_pages);
	storage->block_bytes = block_bytes;
	storage->os_cache = NAN;
	storage->data_pages = INFINITY;
	storage->huge_pages = -1;
	storage->correction = 1;
	storage->measured_share = storage->measuring_error = NAN;
	begin_again(advice, storage, 1);
	return storage;
}

bool
pbp_advice_init_storage(PbpAdvice *base, void *memory, size_t bytes, int block_bytes)
{
	Storage    *storage = init_storage((Advice *) base, memory, bytes, block_bytes, FACTORS);

	for (int size = 0; storage != NULL && size < FACTORS; size++)
		storage->sizes[size] = (uint8_t) size;
	((Advice *) base)->storages[0] = storage;
	return storage != NULL;
}

bool
pbp_advice_init_totals(PbpAdvice *base, void *memory, size_t bytes)
{
	Advice	   *advice = (Advice *) base;
	int			block_bytes = (int) advice->storages[0]->block_bytes;
	size_t		half = bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);
	Storage    *less = init_storage(advice, memory, half, block_bytes, MOST_CACHES);
	Storage    *more = init_storage(advice, (char *) memory + half, half, block_bytes, MOST_CACHES);

	if (less == NULL || more == NULL)
		return false;
	less->sizes[REFERENCE] = more->sizes[REFERENCE] = BASELINE;
	advice->storages[1] = less;
	advice->storages[2] = more;
	return true;
}

void
pbp_advice_set_huge_pages(PbpAdvice *base, int64_t free_blocks)
{
	Storage    *storage = ((Advice *) base)->storages[0];

	if (storage != NULL)
		storage->huge_pages = (double) free_blocks;
}

void
pbp_advice_set_data(PbpAdvice *base, int64_t pages)
{
	Storage    *storage = ((Advice *) base)->storages[0];

	if (storage != NULL)
		storage->data_pages = pages < 0 ? INFINITY : (double) pages;
}

void
pbp_advice_set_os_cache(PbpAdvice *base, int64_t pages)
{
	Advice	   *advice = (Advice *) base;

	for (int i = 0; i < STORAGES; i++)
		if (advice->storages[i] != NULL)
			advice->storages[i]->os_cache = pages < 0 ? NAN : (double) pages;
	for (int i = 0; pages >= 0 && i < STORAGES; i++)
	{
		if (advice->storages[i] == NULL)
			continue;
		if (fitting_share(advice, i) >= MUCH_LARGER * advice->storages[i]->share)
		{
			double		more = fitting_share(advice, i) / advice->storages[i]->share;

			add_records(advice, advice->storages[i], fitting_share(advice, i));
			if (i == 0)
				pbp_reduce_effects(advice->relations, BASELINE, true, more);
		}
		fit_records(advice, i);
	}
	pbp_resize_caches(advice);
}

/* The page cache serves as many misses as one that is so many times as large. */
void
pbp_correct_caches(Advice *advice, double factor)
{
	double	   *correction = &advice->storages[0]->correction;

	*correction = fmin(fmax(*correction * factor, LEAST_CORRECTION), MOST_CORRECTION);
	for (int i = 0; i < STORAGES; i++)
		if (advice->storages[i] != NULL)
			fit_records(advice, i);
	pbp_resize_caches(advice);
}

/*-------------------------------------------------------------------------
 *
 * cachesizes.c
 *	  How large the simulated page caches are, and how many pages of them have
 *	  records.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

#include <string.h>

/* Of pages with records of today's memory.  All of them would take half of the worker's time. */
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
 * Of MGLRU: what it evicts at once, and how many times as much as it needs, half of that, it reads
 * before it begins a generation: to 6.13, or in a cgroup whose page cache is so large that this
 * is once.  Without a cgroup, it does so at once.
 */
#define BATCH_BYTES			(64 * 4096.0)
#define OLD_PATIENCE		128
#define PATIENT_BYTES		(GIGABYTE / 2)

/* The largest pool's share of a total when it is chosen, and within which it stays chosen. */
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
	double		block_bytes = advice->cache_sets[0]->block_bytes;
	double		bytes = pbp_advice_factor(size) * advice->nbuffers * block_bytes;

	return (double) pbp_pool_bytes((int64_t) bytes) / block_bytes;
}

/* Of both caches together today. */
static double
total_pages(const Advice *advice)
{
	return pool_pages(advice, BASELINE) + advice->cache_sets[0]->os_cache;
}

/* Pages that memory leaves to the cache.  Negative: it has no room for the pool. */
double
pbp_pages_left(const Advice *advice, int cache, double os_cache)
{
	double		more = pool_pages(advice, size_above(advice, cache)) - pool_pages(advice, BASELINE);
	double		huge_pages = advice->facts.huge_pages;

	if (!has_todays_memory(cache))
		return os_cache + (pbp_total_factor(total_of(cache)) - 1) * total_pages(advice) - more;
	return os_cache - (huge_pages < 0 ? more : fmax(0, more - huge_pages));
}

/* A larger cache must be learned again, unless the smaller one had room left. */
static void
resize_cache(Advice *advice, int cache, double pages)
{
	CacheSet   *set = set_of(advice, cache);
	SimulatedCache *simulated = simulated_cache(advice, cache);
	double		sampled = fmax(0, pages) * share_of_pool(advice) * set->share;
	uint32_t	capacity = (uint32_t) rint(sampled);
	double		known = SETTLED_SHARE * capacity;
	double		gigabytes = floor(pages * set->block_bytes / GIGABYTE);
	bool		was_full = is_full(simulated);

	if (LEARNED_SHARE * capacity > simulated->capacity)
		known = simulated->capacity;	/* it held no more, however much it read */
	if (simulated->nlearned > known)
		simulated->nlearned = (uint32_t) known;
	/* as the kernel, whose gigabytes are rounded down */
	simulated->ratio = gigabytes < 1 ? 1 : (uint32_t) sqrt(10 * gigabytes);
	simulated->generations.batch = BATCH_BYTES / set->block_bytes * share_of_pool(advice) *
		set->share;
	simulated->generations.patience = set->policy == &pbp_kernel_generations_6_8 ? OLD_PATIENCE :
		advice->limited ? pages * set->block_bytes / PATIENT_BYTES : 0;
	simulated->capacity = capacity;
	pbp_make_room(set, slot_of(cache), 0);
	if (was_full && !is_full(simulated))
		must_learn(simulated);
}

/* The cache is below a pool of another size now, which has read other pages. */
static void
begin_below(Advice *advice, int cache, int size)
{
	CacheSet   *set = set_of(advice, cache);
	int			i = slot_of(cache);

	if (set->sizes[i] == size)
		return;
	set->caches[i].capacity = 0;
	pbp_make_room(set, i, 0);
	memset(&set->counters[i], 0, sizeof(set->counters[i]));
	set->doubtful_reads[i] = 0;
	set->caches[i].was_full = false;
	must_refill(&set->caches[i]);
	must_learn(&set->caches[i]);
	set->sizes[i] = (uint8_t) size;
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
	double		pages = pbp_total_factor(total) * total_pages(advice);
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
	const CacheSet *set = advice->cache_sets[0];

	if (set == NULL || isnan(set->os_cache))
		return;
	for (int total = 0; total < PBP_TOTALS; total++)
		if (total != PBP_TOTAL_TODAY && set_of(advice, first_cache(total)) != NULL)
			choose_sizes(advice, total);
	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (set_of(advice, cache) != NULL)
			resize_cache(advice, cache, pbp_pages_left(advice, cache,
													   set->os_cache * set->correction));
}

/* The share of the sample whose records fit.  Those of all data are enough for any cache. */
static double
fitting_share(const Advice *advice, int which)
{
	const CacheSet *today = advice->cache_sets[0];
	double		most = which == 0 ? 1 : SHARE_OF_TOTALS * today->share;
	double		largest = 1;
	double		needed;

	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (set_of(advice, cache) == advice->cache_sets[which])
			largest = fmax(largest,
						   pbp_pages_left(advice, cache, today->os_cache * today->correction));
	needed = fmin(today->policy->records_per_page * largest,
				  fmax(1, DATA_GROWTH * advice->facts.data_pages));
	return fmin(most, advice->cache_sets[which]->max_pages / (needed * advice->sampling_rate));
}

static void
set_share(const Advice *advice, CacheSet *set, double share)
{
	set->share = share;
	set->threshold = share >= 1 ? advice->head.kept : (uint32_t) (share * advice->head.kept);
}

/* So many of its records remain, as a share: those of pages above the threshold become free. */
static void
keep_records(CacheSet *set, double share)
{
	for (int cache = 0; cache < set->ncaches; cache++)
		set->caches[cache].nlearned = (uint32_t) (set->caches[cache].nlearned * share);
	pbp_scale_doubles(set->counters, sizeof(set->counters), share);
	pbp_scale_doubles(set->doubtful_reads, sizeof(set->doubtful_reads), share);
	set->uncalibrated_misses *= share;
	for (uint32_t i = 0; i < set->npages; i++)
	{
		CachedPage *page = cached_page(set, i);

		check_interrupts(i);
		if (page->fingerprint <= set->threshold)
			continue;
		for (int cache = 0; cache < set->ncaches; cache++)
			if (in_set(page->resident, cache))
				pbp_unlink_cached_page(set, cache, (uint16_t) i);
		page->resident = page->active = page->evicted = 0;
	}
}

/* Fewer pages have records if they no longer fit, more if many more do. */
static void
fit_records(Advice *advice, int which)
{
	CacheSet   *set = advice->cache_sets[which];
	double		share;
	double		times;

	if (set == NULL)
		return;
	share = fitting_share(advice, which);
	times = share / set->share;
	if (share >= set->share && share < MUCH_LARGER * set->share)
		return;
	set_share(advice, set, share);
	if (times < 1)
		keep_records(set, times);
	else
	{
		pbp_scale_doubles(set->counters, sizeof(set->counters), times);
		for (int cache = 0; cache < set->ncaches; cache++)
			must_refill(&set->caches[cache]);
		set->uncalibrated_misses = 0;
	}
	if (which == 0)
		pbp_reduce_effects(advice->relations, BASELINE, true, times);
}

/* The sample has so many times as many pages.  Returns the share of the records that remain. */
double
pbp_scale_caches(Advice *advice, double share)
{
	double		share_of_records = 1;

	for (int i = 0; i < CACHE_SETS; i++)
	{
		CacheSet   *set = advice->cache_sets[i];
		double		kept;

		if (set == NULL)
			continue;
		kept = fmin(1, share / set->share);
		set_share(advice, set, fmin(1, set->share / share));
		if (kept < 1)
			keep_records(set, kept);
		if (i == 0)
			share_of_records = kept;
	}
	return share_of_records;
}

/*
 * Begins with this policy and without records, of which each has half a head of a chain, with one
 * more.  Returns false if no page fits.
 */
static bool
begin_set(const Advice *advice, CacheSet *set, const CachePolicy *policy)
{
	size_t		page_bytes = offsetof(CachedPage, entries) +
		(size_t) set->ncaches * (sizeof(CacheEntry) + policy->counts_uses);
	size_t		fixed_bytes = sizeof(*set) + sizeof(uint16_t);
	size_t		npages;

	page_bytes += (size_t) -page_bytes % sizeof(CacheEntry);
	fixed_bytes += LISTS * page_bytes;
	if (set->bytes < fixed_bytes + page_bytes + sizeof(uint16_t) / 2)
		return false;
	npages = 2 * (set->bytes - fixed_bytes) / (2 * page_bytes + sizeof(uint16_t));
	set->policy = policy;
	set->max_pages = npages < MOST_RECORDS ? (uint32_t) npages : MOST_RECORDS;
	set->nheads = set->max_pages / 2 + 1;
	set->pages = (char *) (set + 1);
	set->page_bytes = page_bytes;
	set->heads = (uint16_t *) cached_page(set, set->max_pages + LISTS);
	set->npages = set->reclaimer = 0;
	for (uint32_t i = 0; i < set->nheads; i++)
		set->heads[i] = NO_RECORD;
	for (int cache = 0; cache < set->ncaches; cache++)
	{
		set->caches[cache] = (SimulatedCache) {
			.learning = true,
			.generations = {.oldest = 1,.youngest = GENERATIONS - 1},
		};
		for (int list = 0; list < LISTS; list++)
			cached_page(set, end_of(set, list))->entries[cache] =
				(CacheEntry) {{end_of(set, list), end_of(set, list)}};
	}
	memset(set->counters, 0, sizeof(set->counters));
	memset(set->doubtful_reads, 0, sizeof(set->doubtful_reads));
	set->uncalibrated_misses = 0;
	set->correction = 1;
	set_share(advice, set, 1);
	return true;
}

/* But for the sizes of pools above. */
static CacheSet *
init_set(const Advice *advice, void *memory, size_t bytes, int block_bytes, int ncaches)
{
	CacheSet   *set = memory;

	if (bytes < sizeof(*set))
		return NULL;
	memset(set, 0, sizeof(*set));
	set->bytes = bytes;
	set->ncaches = ncaches;
	if (!begin_set(advice, set, &pbp_kernel_lists))
		return NULL;
	set->block_bytes = block_bytes;
	set->os_cache = NAN;
	set->served_more = set->measuring_error = NAN;
	set->recent = (PbpRecentShares) {NAN, NAN, NAN};
	return set;
}

bool
pbp_advice_init_storage(PbpAdvice *advice, void *memory, size_t bytes, int block_bytes)
{
	CacheSet   *set = init_set(advice, memory, bytes, block_bytes, FACTORS);

	for (int size = 0; set != NULL && size < FACTORS; size++)
		set->sizes[size] = (uint8_t) size;
	advice->cache_sets[0] = set;
	return set != NULL;
}

bool
pbp_advice_init_totals(PbpAdvice *advice, void *memory, size_t bytes)
{
	int			block_bytes = (int) advice->cache_sets[0]->block_bytes;
	size_t		half = bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);
	CacheSet    *less = init_set(advice, memory, half, block_bytes, MOST_CACHES);
	CacheSet    *more = init_set(advice, (char *) memory + half, half, block_bytes, MOST_CACHES);

	if (less == NULL || more == NULL)
		return false;
	less->sizes[REFERENCE] = more->sizes[REFERENCE] = BASELINE;
	advice->cache_sets[1] = less;
	advice->cache_sets[2] = more;
	return true;
}

void
pbp_advice_set_eviction(PbpAdvice *advice, PbpEviction eviction, bool limited)
{
	const CachePolicy *policy = eviction == PBP_EVICTS_BY_LISTS ? &pbp_kernel_lists :
		eviction == PBP_EVICTS_BY_MGLRU_6_14 ? &pbp_kernel_generations_6_14 :
		&pbp_kernel_generations_6_8;

	advice->limited = limited;
	for (int i = 0; i < CACHE_SETS; i++)
		if (advice->cache_sets[i] != NULL && advice->cache_sets[i]->policy != policy)
			begin_set(advice, advice->cache_sets[i], policy);
}

void
pbp_advice_set_os_cache(PbpAdvice *advice, int64_t pages)
{
	for (int i = 0; i < CACHE_SETS; i++)
		if (advice->cache_sets[i] != NULL)
			advice->cache_sets[i]->os_cache = pages < 0 ? NAN : (double) pages;
	for (int i = 0; pages >= 0 && i < CACHE_SETS; i++)
		fit_records(advice, i);
	pbp_resize_caches(advice);
}

/* The page cache serves as many misses as one that is so many times as large. */
void
pbp_correct_caches(Advice *advice, double factor)
{
	double	   *correction = &advice->cache_sets[0]->correction;

	*correction = fmin(fmax(*correction * factor, LEAST_CORRECTION), MOST_CORRECTION);
	for (int i = 0; i < CACHE_SETS; i++)
		fit_records(advice, i);
	pbp_resize_caches(advice);
}

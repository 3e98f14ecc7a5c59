/*-------------------------------------------------------------------------
 *
 * storageratios.c
 *	  Storage reads as a share of accesses: what is answered from the
 *	  simulated page caches, or why nothing is.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"
#include "statistics/estimate.h"

/*
 * Where pages are read in turn, as by scans, all of them may return just before or just after
 * something decides, and a little more memory would change much.  Up to this share of the storage
 * reads is normal.  Each one above it adds CLOSE_CALL_WEIGHT storage reads to the error.
 */
#define USUAL_CLOSE_CALLS	0.13
#define CLOSE_CALL_WEIGHT	2.0

/*
 * By chance, the sample has more or less of the pages that are used often than the real cache: so
 * many deviations of their number are 95 % of what it serves.
 */
#define CAPACITY_DEVIATIONS	1.0

/* From one size to the next, of the misses that wait. */
#define TOLERATED_JUMP		0.2

/* Of the mean difference between bends, for luck. */
#define ROUGHNESS_WEIGHT	0.5

/* Where all that scans read may wait or none, so much of other storage reads depends on it. */
#define SCANS_WEIGHT		0.5

/* Error of the storage reads, as a share of them, before the lists of the cache are settled. */
#define UNSETTLED_ERROR		0.1

/*
 * Calibration follows an error in the share of misses that the baseline's cache serves by all of it
 * for as many misses as this cache has pages, or so many times as many as the pool has.
 */
#define CORRECTED_POOLS		3.0

/*
 * The share of misses that wait for storage, without a group of the sample.  New pages are misses
 * of all caches that do not wait, so they are subtracted.
 */
static double
waiting_share(const Advice *advice, int cache, int group)
{
	const PbpAdviceCounts *server = &advice->server;
	const CacheCounters *counted = cache_counters(advice, cache);
	double		loads = server->reads + server->extends;
	double		new_pages = loads > 0 ?
		share_without(group) * counted->baseline_misses * server->extends / loads : 0;
	double		misses = sum_without(counted->misses, group) - new_pages;

	if (simulated_cache(advice, cache)->capacity == 0)
		return 1;
	if (misses <= 0)
		return 0;
	return fmin(1, fmax(0, sum_without(counted->storage_reads, group) - new_pages) / misses);
}

static inline const PbpEstimate *
misses_above(const Advice *advice, int cache)
{
	return &pbp_miss_answers(advice)->estimates[size_above(advice, cache)];
}

static inline const PbpAdviceRow *
miss_row_of(const Advice *advice, int cache)
{
	return &pbp_miss_answers(advice)->rows[size_above(advice, cache)];
}

static PbpStorageReason
reason_of(const Advice *advice, int cache)
{
	const CacheSet *set = set_of(advice, cache);

	if (set == NULL || isnan(set->os_cache))
		return PBP_STORAGE_NO_CAPACITY;
	if (pbp_pages_left(advice, cache, set->os_cache) < 0)
		return PBP_STORAGE_NO_ROOM;
	if (miss_row_of(advice, cache)->reason != PBP_ADVICE_KNOWN)
		return PBP_STORAGE_NO_MISS_RATIO;
	if (simulated_cache(advice, cache)->learning)
		return PBP_STORAGE_LEARNING;
	if (cache_counters(advice, cache)->baseline_misses < PBP_ENOUGH_EVENTS)
		return PBP_STORAGE_LITTLE_EVIDENCE;
	return PBP_STORAGE_KNOWN;
}

/*
 * The share of misses that wait, at another size of fixed memory.  NaN: it is unknown, or of hardly
 * any misses.
 */
static double
share_beside(const Advice *advice, int cache)
{
	return cache < 0 || !has_todays_memory(cache) || simulated_cache(advice, cache)->learning ||
		sum_of_groups(cache_counters(advice, cache)->misses) < PBP_ENOUGH_EVENTS ? NAN :
		waiting_share(advice, cache, NO_GROUP);
}

/* ---- the kernel's page cache against today's simulated one ---- */

/* Where today is not reproduced, or not for certain, other sizes are not either. */
static double
error_by_probes(const Advice *advice)
{
	const CacheSet *set = advice->cache_sets[0];

	return isnan(set->served_more) ? 0 : fabs(set->served_more) + set->measuring_error;
}

/*
 * Where a page cache with all that was evicted recently would serve more or less than the kernel
 * says, by more than chance, so may those below other sizes of the pool.
 */
static double
error_by_evicted(const Advice *advice, int cache)
{
	const PbpRecentShares *recent = &advice->cache_sets[0]->recent;
	double		difference = fabs(recent->kernel - recent->simulated);

	return cache != BASELINE && difference > recent->error ? difference : 0;
}

/*
 * Of the misses.  Where hardly any wait, and would not with the next size either, there is less to
 * be wrong about than today.
 */
static double
error_by_kernel(const Advice *advice, int cache)
{
	double		error = error_by_probes(advice) + error_by_evicted(advice, cache);
	double		today = waiting_share(advice, BASELINE, NO_GROUP);
	double		here = waiting_share(advice, cache, NO_GROUP);

	if (error == 0 || !has_todays_memory(cache))
		return error;
	here = fmax(here, fmax(share_beside(advice, cache - 1), share_beside(advice, cache + 1)));
	return error * fmin(1, (here + error) / (today + error));
}

/*
 * How much the share differs from that of the nearest other size, if it jumps there: between both,
 * something begins to fit into the cache that is read in turn, and the exact model jumps there and
 * back.
 */
static double
jump(const Advice *advice, int cache, int step)
{
	double		difference = fabs(waiting_share(advice, cache, NO_GROUP) -
								  share_beside(advice, cache + step));

	return difference > TOLERATED_JUMP ? difference : 0;
}

/* How far the share is from the line between those of both sizes beside it. */
static double
bend(const Advice *advice, int cache)
{
	double		before = pbp_advice_factor(cache - 1);
	double		after = pbp_advice_factor(cache + 1);
	double		along = (pbp_advice_factor(cache) - before) / (after - before);

	return share_beside(advice, cache) - (1 - along) * share_beside(advice, cache - 1) -
		along * share_beside(advice, cache + 1);
}

/*
 * Where pages are read in turn, it is luck which of them the kernel keeps, for long.  Each size has
 * a luck of its own, so that their curve is rough: the mean difference between the bends of sizes
 * next to each other, around this one.  Smooth curves bend everywhere nearly alike.
 */
static double
roughness(const Advice *advice, int cache)
{
	int			first = cache > 3 ? cache - 2 : 1;
	int			last = cache + 2 < FACTORS - 1 ? cache + 2 : FACTORS - 2;
	double		before = bend(advice, first);
	double		sum = 0;
	int			n = 0;

	for (int other = first + 1; other <= last; other++)
	{
		double		here = bend(advice, other);

		if (!isnan(here - before))
		{
			sum += fabs(here - before);
			n++;
		}
		before = here;
	}
	return sum / fmax(1, n);
}

/* What the curve of fixed memory shows of the error of one of its sizes. */
static double
error_of_curve(const Advice *advice, int cache)
{
	if (cache == BASELINE || !has_todays_memory(cache))
		return 0;
	return fmax(ROUGHNESS_WEIGHT * roughness(advice, cache),
				fmax(jump(advice, cache, -1), jump(advice, cache, 1)));
}

/*
 * No look saw what large scans read, nor much of a load that has just begun, so how much of it
 * waits is unknown.
 */
static double
error_of_unseen(const Advice *advice, double share)
{
	double		unseen = advice->time.changed ? 1 : pbp_unseen_share(advice);

	return unseen * fmax(share, 1 - share) * advice->server.reads / advice->server.accesses;
}

/* ---- large scans ---- */

/* What waits for storage, by what they read with today's size.  NaN: too little was played. */
static double
scans_waiting(const Advice *advice, int cache)
{
	const CacheCounters *counted = cache_counters(advice, cache);

	if (simulated_cache(advice, cache)->learning || counted->scan_reads < PBP_ENOUGH_EVENTS)
		return NAN;
	return counted->scan_storage_reads / counted->scan_reads;
}

/*
 * What is read in turn fits into a cache or does not, and neither the sample nor the kernel knows
 * to the page which.  So this share may be that of the next smaller or larger caches, too, of
 * which those of today's memory are closer to each other.
 */
static double
error_of_scans(const Advice *advice, int cache)
{
	int			step = has_todays_memory(cache) ? 1 : PBP_SPLITS;
	int			reach = has_todays_memory(cache) ? 2 : PBP_SPLITS;
	double		share = scans_waiting(advice, cache);
	double		error = 0;

	for (int other = cache - reach; other <= cache + reach; other += step)
		if (other >= 0 && other < ALL_CACHES && slot_of(other) < REFERENCE &&
			set_of(advice, other) == set_of(advice, cache))
			error = fmax(error, fabs(share - scans_waiting(advice, other)));
	return error;
}

/*
 * Scans that were not played read from storage, too, and so evict as many pages more.  Then more of
 * the misses wait, at most all.  Where nothing was played, all that scans read may wait.
 */
static double
error_of_skipped_scans(const Advice *advice, int cache, double share)
{
	const PbpAdviceCounts *server = &advice->server;
	double		known = scans_waiting(advice, cache);
	double		waiting = isnan(known) ? 1 : known;
	double		skipped = waiting * fmin(server->scan_skipped, server->scan_reads);
	double		lookups = share * misses_above(advice, cache)->value * server->accesses;

	return skipped > 0 ? skipped / (waiting * server->scan_reads + lookups) * (1 - share) : 0;
}

/* Where nothing was played, any share of them may wait. */
static PbpFigure
share_of_scans(const Advice *advice, int cache)
{
	double		share = scans_waiting(advice, cache);

	return isnan(share) ? (PbpFigure) {0.5, 0.5} :
		(PbpFigure) {share, error_of_scans(advice, cache)};
}

static PbpCompared
compare_scans(const Advice *advice, int cache)
{
	double		reads = advice->server.scan_reads / advice->server.accesses;
	PbpFigure	here = share_of_scans(advice, cache);
	PbpFigure	today = share_of_scans(advice, BASELINE);

	return (PbpCompared)
	{
		reads * here.value, reads * here.error, reads * (here.value - today.value),
		cache == BASELINE ? 0 : reads * fmax(here.error, today.error)
	};
}

/* ---- rows ---- */

/*
 * What no look saw, or was skipped, may all have been another load.  While the cache was filled
 * again, the load may have been one for which it is no other than today's.
 */
static double
error_of_unknown_load(const Advice *advice, int cache)
{
	const CacheCounters *counted = cache_counters(advice, cache);
	double		share = waiting_share(advice, cache, NO_GROUP);
	double		today = waiting_share(advice, reference_of(cache), NO_GROUP);
	double		doubt = simulated_cache(advice, cache)->refilling ? 0 :
		pbp_doubtful_reads_share(advice, cache);

	return doubt + error_of_unseen(advice, share) + misses_above(advice, cache)->value *
		skipped_share(counted->skipped, counted->baseline_misses) * fabs(share - today);
}

/* What neither chance nor time shows: errors that have nothing to do with each other. */
static double
error_of_storage_model(const Advice *advice, int cache)
{
	const SimulatedCache *simulated = simulated_cache(advice, cache);
	const CacheCounters *counted = cache_counters(advice, cache);
	const PbpEstimate *misses = misses_above(advice, cache);
	double		share = waiting_share(advice, cache, NO_GROUP);
	double		storage_reads = fmax(1, sum_of_groups(counted->storage_reads));
	double		close_calls = fmax(0, counted->close_calls / storage_reads - USUAL_CLOSE_CALLS);
	double		errors[] = {
		CAPACITY_DEVIATIONS * (1 - share) / sqrt(fmax(1, simulated->capacity)),
		CLOSE_CALL_WEIGHT * share * close_calls,
		error_of_curve(advice, cache),
		simulated->settled ? 0 : UNSETTLED_ERROR * share,
		SCANS_WEIGHT * share * error_of_scans(advice, cache),
		error_of_skipped_scans(advice, cache, share),
		error_by_kernel(advice, cache)
	};
	double		squares = 0;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		squares += errors[i] * errors[i];
	return hypot(share * misses->model, misses->value * sqrt(squares)) +
		error_of_unknown_load(advice, cache);
}

/* NaN: unknown. */
static double
estimate(const Advice *advice, int cache)
{
	return reason_of(advice, cache) == PBP_STORAGE_KNOWN ?
		misses_above(advice, cache)->value * waiting_share(advice, cache, NO_GROUP) : NAN;
}

/*
 * Where a larger cache below the same pool would wait more often, or one that
 * has never been full below a larger pool, that is chance in the sample.  A larger pool above
 * the same full cache may do so in truth: its pages return to the cache later.
 */
static double
bounded_estimate(const Advice *advice, int size)
{
	double		ratio = estimate(advice, size);

	for (int i = 0; !isnan(ratio) && i < size && !simulated_cache(advice, size)->was_full; i++)
		ratio = fmin(ratio, estimate(advice, i));
	return ratio;
}

/*
 * With another total of memory.  What its sample has more than the reference, which
 * is today's memory, is added to the estimate for that; what it has less is a share
 * of it, so that nothing is left where nothing waits.
 */
static double
estimate_of_split(const Advice *advice, int cache)
{
	double		today = bounded_estimate(advice, BASELINE);
	double		reference = estimate(advice, reference_of(cache));
	double		here = estimate(advice, cache);

	return here < reference ? today * here / reference : today + here - reference;
}

/*
 * More memory never makes more accesses wait below the same pool.  Where a figure says so, chance
 * in the sample is more likely, so that figures of totals between this one and today's bound it.
 */
static double
bounded_split(const Advice *advice, int cache)
{
	int			total = total_of(cache);
	int			step = total < PBP_TOTAL_TODAY ? -1 : 1;
	int			size = size_above(advice, cache);
	double		ratio = estimate_of_split(advice, cache);
	double		bound = bounded_estimate(advice, size);

	for (int i = PBP_TOTAL_TODAY + step; i != total; i += step)
		for (int other = first_cache(i); other < first_cache(i) + PBP_SPLITS; other++)
			if (size_above(advice, other) == size)
				bound = step > 0 ? fmin(bound, estimate_of_split(advice, other)) :
					fmax(bound, estimate_of_split(advice, other));
	return isnan(ratio) ? NAN : step > 0 ? fmin(ratio, bound) : fmax(ratio, bound);
}

/*
 * Of the difference to today's.  Where today is not reproduced, no difference is known better than
 * that: a pool with hardly any page cache does not have the same error.
 */
static double
error_of_storage_change(const Advice *advice, PbpEstimate here, const PbpEstimate *reference)
{
	here.model = fmax(here.model, misses_above(advice, BASELINE)->value *
					  error_by_kernel(advice, BASELINE));
	return error_of_change(&here, reference);
}

/* With the errors of the figure that is not bounded by other sizes. */
static PbpEstimate
estimate_cache(const Advice *advice, int cache)
{
	const PbpEstimate *misses = misses_above(advice, cache);
	double		share = waiting_share(advice, cache, NO_GROUP);
	PbpEstimate estimate = {
		.value = misses->value * share,
		.time = misses->time * share,
		.model = error_of_storage_model(advice, cache),
	};

	for (int group = 0; group < GROUPS; group++)
		estimate.without[group] = misses->without[group] * waiting_share(advice, cache, group);
	return estimate;
}

static int64_t
pages_of(const Advice *advice, int cache)
{
	return (int64_t) floor(pbp_pages_left(advice, cache, set_of(advice, cache)->os_cache));
}

/* At most all misses wait. */
static double
at_most_misses(const Advice *advice, int cache, double ratio)
{
	return isnan(ratio) ? NAN : fmin(ratio, miss_row_of(advice, cache)->ratio.value);
}

static PbpAdviceStorageRow
row_of(const Advice *advice, int cache, double storage_ratio)
{
	const SimulatedCache *simulated;
	PbpAdviceStorageRow row = {
		.ratio = PBP_NOT_COMPARED,.scans = PBP_NOT_COMPARED,.learned_share = NAN,
		.seconds_left = NAN,.reason = reason_of(advice, cache),
	};

	if (row.reason == PBP_STORAGE_NO_CAPACITY)
		return row;
	simulated = simulated_cache(advice, cache);
	row.os_cache_pages = pages_of(advice, cache);
	row.learned_share = simulated->learning ? simulated->progress.share : 1;
	row.seconds_left = pbp_seconds_left(&simulated->progress);
	if (row.reason == PBP_STORAGE_KNOWN)
	{
		double		today = at_most_misses(advice, BASELINE, bounded_estimate(advice, BASELINE));
		PbpEstimate here = estimate_cache(advice, cache);
		PbpEstimate reference = estimate_cache(advice, reference_of(cache));
		double		ratio = at_most_misses(advice, cache, storage_ratio);

		row.ratio = (PbpCompared)
		{
			ratio, error_of(&here), ratio - today,
			cache == BASELINE ? 0 : error_of_storage_change(advice, here, &reference)
		};
		row.scans = compare_scans(advice, cache);
	}
	return row;
}

PbpAdviceStorageRow
pbp_advice_storage_row(const PbpAdvice *advice, int i)
{
	return row_of(advice, i, bounded_estimate(advice, i));
}

/*
 * What is unknown yet of all that a split is estimated from: its own cache, those
 * that it is compared with, and a larger cache is not known before today's below
 * the same pool.  The cache itself if all are known.
 */
static int
first_unknown(const Advice *advice, int total, int cache)
{
	int			below_same = size_above(advice, cache);
	int			needed[] = {cache, BASELINE, reference_of(cache), below_same};
	int			nneeded = total < PBP_TOTAL_TODAY ? 3 : 4;

	for (int i = 0; i < nneeded; i++)
	{
		PbpStorageReason reason = reason_of(advice, needed[i]);

		if (reason != PBP_STORAGE_KNOWN &&
			!(needed[i] == below_same && reason == PBP_STORAGE_NO_ROOM))
			return needed[i];
	}
	return cache;
}

/* Of another total of memory than today's. */
PbpAdviceSplit
pbp_advice_split(const PbpAdvice *advice, int total, int i)
{
	int			cache = first_cache(total) + i;
	int			unknown = first_unknown(advice, total, cache);
	PbpAdviceSplit split = {
		.size = size_above(advice, cache),
		.storage = row_of(advice, unknown, unknown == cache ? bounded_split(advice, cache) : NAN)
	};

	if (split.storage.reason != PBP_STORAGE_NO_CAPACITY)
		split.storage.os_cache_pages = pages_of(advice, cache);
	return split;
}

PbpAdviceStorageTotals
pbp_advice_storage_totals(const PbpAdvice *advice)
{
	const CacheSet *set = advice->cache_sets[0];
	double		misses = reason_of(advice, BASELINE) == PBP_STORAGE_KNOWN ?
		pbp_advice_row(advice, BASELINE).ratio.value : NAN;

	if (set == NULL)
		return (PbpAdviceStorageTotals)
	{
		.self_error = NAN,.measuring_error = NAN,.recent = {NAN, NAN, NAN}
	};
	return (PbpAdviceStorageTotals)
	{
		.sampling_rate = advice->sampling_rate * set->share,
		.correction = set->correction,
		.self_error = misses * set->served_more,
		.measuring_error = misses * set->measuring_error,
		.recent = set->recent,
		.dropped = set->ndropped,
	};
}

/* ---- calibration ---- */

/*
 * The real cache also holds what the pool did not read, and the caller may not know its size
 * exactly.  So the simulated ones have the size at which the baseline's serves as many misses as
 * the real one, within the error.  Only the misses since the last time show what the latest
 * correction has done: while all that was counted follows, the size would go too far.
 */
void
pbp_advice_calibrate(PbpAdvice *advice, PbpFigure served_more, double lately)
{
	CacheSet   *set = advice->cache_sets[0];
	double		chance = served_more.error / PBP_DEVIATIONS;
	double		misses;
	double		pages;

	if (set == NULL)
		return;
	set->served_more = served_more.value;
	set->measuring_error = served_more.error;
	if (isnan(set->os_cache) || set->caches[BASELINE].learning ||
		set->caches[BASELINE].refilling ||
		sum_of_groups(set->counters[BASELINE].misses) < PBP_ENOUGH_EVENTS)
		set->uncalibrated_misses = 0;
	misses = set->uncalibrated_misses;
	if (isnan(lately) || misses < PBP_ENOUGH_EVENTS)
		return;
	set->uncalibrated_misses = 0;
	if (!(fabs(lately) > chance))
		return;
	pages = fmax(set->caches[BASELINE].capacity,
				 CORRECTED_POOLS * advice->nbuffers * share_of_pool(advice) * set->share);
	pbp_correct_caches(advice, exp((lately - copysign(chance, lately)) *
								   fmin(1, misses / fmax(1, pages))));
}

void
pbp_advice_set_recent(PbpAdvice *advice, PbpRecentShares recent)
{
	if (advice->cache_sets[0] != NULL)
		advice->cache_sets[0]->recent = recent;
}

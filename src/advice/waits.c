/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  Storage reads as a share of accesses: what is answered from the
 *	  simulated page caches, or why nothing is.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/storage.h"

#include <math.h>

#include "base/stats.h"

/* How much the share of misses that a cache serves depends on its size. */
#define CAPACITY_WEIGHT		0.5

/*
 * Where pages are read in turn, as by scans, all of them may return just before
 * or just after something decides, and a little more memory would change much.
 * Up to this share of the storage reads is normal.  Each one above it adds
 * CLOSE_CALL_WEIGHT storage reads to the error.
 */
#define USUAL_CLOSE_CALLS	0.13
#define CLOSE_CALL_WEIGHT	2.0

/* From one size to the next, of the misses that wait. */
#define TOLERATED_JUMP		0.2

/*
 * Error of the storage reads as a share of them, by the exact model: before the
 * lists of the cache are settled, and later, when they still move slightly.
 * The latter is bounded, as a share of all accesses.
 */
#define UNSETTLED_ERROR		0.1
#define SETTLED_ERROR		0.02
#define MOST_SETTLED_ERROR	0.003

/* A correction of the page cache's size from here on is more than chance. */
#define LARGE_CORRECTION	0.1

static inline double
square(double value)
{
	return value * value;
}

/*
 * The share of so many misses that wait for storage.  New pages are misses of all
 * caches that do not wait, so they are subtracted.
 */
static double
share_of(const Advice *advice, int cache, double share_of_sample, double misses, double storage_reads)
{
	const Counters *counters = &advice->counters;
	double		loads = counters->reads + counters->extends;
	double		new_pages = loads > 0 ? share_of_sample * advice->storage->counters[cache].baseline_misses * counters->extends / loads : 0;

	if (advice->storage->caches[cache].capacity == 0)
		return 1;
	if (misses - new_pages <= 0)
		return 0;
	return fmin(1, fmax(0, storage_reads - new_pages) / (misses - new_pages));
}

double
pbp_waiting_share(const Advice *advice, int cache)
{
	const CacheCounters *counted = &advice->storage->counters[cache];

	return share_of(advice, cache, 1, sum_of_groups(counted->misses), sum_of_groups(counted->storage_reads));
}

/* Storage ratios without each group of the sample. */
static void
ratios_without(const Advice *advice, int cache, double *ratios)
{
	const CacheCounters *counted = &advice->storage->counters[cache];
	double		misses = sum_of_groups(counted->misses);
	double		storage_reads = sum_of_groups(counted->storage_reads);

	pbp_estimates_without(advice, size_above(cache), ratios);
	for (int group = 0; group < GROUPS; group++)
		ratios[group] *= share_of(advice, cache, 1 - 1.0 / GROUPS, misses - counted->misses[group],
								  storage_reads - counted->storage_reads[group]);
}

static PbpStorageReason
reason_of(const Advice *advice, int cache, const PbpAdviceRow *row)
{
	const Storage *storage = advice->storage;

	if (storage == NULL || isnan(storage->os_cache))
		return PBP_STORAGE_NO_CAPACITY;
	if (pbp_pages_left(advice, cache, storage->os_cache) < 0)
		return PBP_STORAGE_NO_ROOM;
	if (row->reason != PBP_ADVICE_KNOWN)
		return PBP_STORAGE_NO_MISS_RATIO;
	if (storage->caches[cache].learning)
		return PBP_STORAGE_LEARNING;
	if (storage->counters[cache].baseline_misses < ENOUGH_CACHE_MISSES)
		return PBP_STORAGE_LITTLE_EVIDENCE;
	return PBP_STORAGE_KNOWN;
}

static double
model_error(const SimulatedCache *simulated, double storage_ratio)
{
	return simulated->settled ?
		fmin(MOST_SETTLED_ERROR, SETTLED_ERROR * storage_ratio) : UNSETTLED_ERROR * storage_ratio;
}

/*
 * Variance of the share of misses that wait, by calibration: a size that had to
 * be corrected much is known only as well as the probes have measured.
 */
static double
calibration_variance(const Storage *storage)
{
	double		corrected = fmin(1, fabs(log(storage->correction)) / LARGE_CORRECTION);

	return isnan(storage->measuring_error) ? 0 : square(corrected * storage->measuring_error / PBP_DEVIATIONS);
}

/*
 * How much the share of misses that wait differs from that of the nearest other
 * size, if it jumps there: between both, something begins to fit into the cache
 * that is read in turn, and the exact model jumps there and back.
 */
static double
jump(const Advice *advice, int cache, int step)
{
	int			other = cache + step;
	double		difference;

	if (cache == FACTORS && step < 0)
		other = BASELINE;		/* below the smallest size with memory added */
	if (other < 0 || other >= CACHES || (other == FACTORS && step > 0) || advice->storage->caches[other].learning ||
		advice->storage->counters[other].baseline_misses < ENOUGH_CACHE_MISSES)
		return 0;
	difference = fabs(pbp_waiting_share(advice, cache) - pbp_waiting_share(advice, other));
	return difference > TOLERATED_JUMP ? difference : 0;
}

/*
 * What chance in the sample explains: which misses it has, and how many pages of
 * those that the real cache would hold.
 */
static double
chance_of(const Advice *advice, int cache, const double *ratios, const PbpMissErrors *errors)
{
	double		share = pbp_waiting_share(advice, cache);
	double		pages = square(CAPACITY_WEIGHT * (1 - share)) / fmax(1, advice->storage->caches[cache].capacity);

	return hypot(pbp_jackknife_error(ratios, GROUPS),
				 errors->miss_ratio * PBP_DEVIATIONS * sqrt(pages + calibration_variance(advice->storage)));
}

/* No look saw what large scans read, so how much of it waits is unknown. */
static double
error_of_unseen(const Advice *advice, double share)
{
	return pbp_unseen_share(advice) * fmax(share, 1 - share) * advice->counters.reads / advice->counters.accesses;
}

/* What neither chance nor time explains.  Where today is not reproduced, other sizes are not either. */
static double
other_errors(const Advice *advice, int cache, const PbpMissErrors *errors)
{
	const CacheCounters *counted = &advice->storage->counters[cache];
	double		share = pbp_waiting_share(advice, cache);
	double		close_calls = counted->close_calls / fmax(1, sum_of_groups(counted->storage_reads)) - USUAL_CLOSE_CALLS;
	double		edge = cache == BASELINE ? 0 : fmax(jump(advice, cache, -1), jump(advice, cache, 1));

	return share * (errors->method + errors->edge) + pbp_doubtful_reads_share(advice, cache) + error_of_unseen(advice, share) +
		model_error(&advice->storage->caches[cache], share * errors->miss_ratio) +
		errors->miss_ratio * (CLOSE_CALL_WEIGHT * share * fmax(0, close_calls) + edge + fabs(pbp_beyond_error(advice)));
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
		row.miss_ratio * pbp_waiting_share(advice, cache) : NAN;
}

/*
 * Where a larger cache below the same pool would wait more often, or one that
 * has never been full below a larger pool, that is chance in the sample.  A larger pool above
 * the same full cache may do so in truth: its pages return to the cache later.
 */
static double
bounded_estimate(const Advice *advice, int size, PbpAdviceMemory memory)
{
	double		ratio = estimate(advice, size, memory);

	if (isnan(ratio))
		return ratio;
	if (memory == PBP_ADVICE_ADDED)
		ratio = fmin(ratio, estimate(advice, size, PBP_ADVICE_FIXED));
	for (int i = 0; i < size && !advice->storage->caches[cache_below(size, memory)].was_full; i++)
		ratio = fmin(ratio, estimate(advice, i, PBP_ADVICE_FIXED));
	return ratio;
}

/* Errors of the storage ratio, and of its difference to today's. */
static void
set_errors(const Advice *advice, int cache, PbpAdviceStorageRow *row)
{
	double		share = pbp_waiting_share(advice, cache);
	double		ratios[GROUPS];
	double		today[GROUPS];
	double		others;
	PbpMissErrors errors;

	pbp_miss_errors(advice, size_above(cache), &errors);
	ratios_without(advice, cache, ratios);
	ratios_without(advice, BASELINE, today);
	others = other_errors(advice, cache, &errors);
	row->uncertainty = hypot(chance_of(advice, cache, ratios, &errors), share * errors.variation) + others +
		share * errors.moved;
	for (int group = 0; group < GROUPS; group++)
		ratios[group] -= today[group];
	row->change_error = cache == BASELINE ? 0 : chance_of(advice, cache, ratios, &errors) + others +
		errors.moved_share * fabs(row->storage_ratio - estimate(advice, BASELINE, PBP_ADVICE_FIXED));
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
		.change_error = NAN,
		.learned_share = NAN,
		.seconds_left = NAN,
		.reason = reason_of(advice, cache, &miss_row),
	};
	if (row->reason == PBP_STORAGE_NO_CAPACITY)
		return;
	row->os_cache_pages = (int64_t) floor(pbp_pages_left(advice, cache, storage->os_cache));
	row->learned_share = storage->caches[cache].learning ? storage->caches[cache].progress.share : 1;
	row->seconds_left = pbp_seconds_left(&storage->caches[cache].progress);
	if (row->reason == PBP_STORAGE_KNOWN)
		set_errors(advice, cache, row);
}

void
pbp_advice_storage_totals(const PbpAdvice *base, PbpAdviceStorageTotals *totals)
{
	const Advice *advice = (const Advice *) base;
	const Storage *storage = advice->storage;
	PbpAdviceStorageRow row;

	*totals = (PbpAdviceStorageTotals) {.self_error = NAN,.measuring_error = NAN};
	if (storage == NULL)
		return;
	totals->sampling_rate = advice->sampling_rate * storage->share;
	totals->correction = storage->correction;
	totals->dropped = storage->ndropped;
	pbp_advice_storage_row(base, BASELINE, PBP_ADVICE_FIXED, &row);
	if (row.reason == PBP_STORAGE_KNOWN)
	{
		PbpAdviceRow miss_row;

		pbp_advice_row(base, BASELINE, &miss_row);
		totals->self_error = row.storage_ratio - miss_row.miss_ratio * (1 - storage->measured_share);
		totals->measuring_error = miss_row.miss_ratio * storage->measuring_error;
	}
}

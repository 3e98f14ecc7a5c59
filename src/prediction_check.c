/*-------------------------------------------------------------------------
 *
 * prediction_check.c
 *	  Did a prediction come true?
 *
 * What is measured counts while the workload is as it was when the prediction
 * was made.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "prediction.h"

#include <math.h>
#include <string.h>

/* As in the advice; see HALF_LIFE_POOLS. */
#define HALF_LIFE_POOLS		2.0

/*
 * Factor by which the rate may change.  The peak of a day is commonly twice or
 * three times its mean.
 */
#define TOLERATED_RATE		3.0

/* Share of the reads that may be of other relations than expected. */
#define TOLERATED_MIX		0.2

/*
 * Below this share of the former rate, a second is no part of the workload: a
 * monitoring query on an idle server is all hits.
 */
#define QUIET_SHARE			0.1

/*
 * When it is full and its pages have been evicted in turn, the pool is warm after
 * it has read its size once more.  A pool that holds all data never evicts a
 * page; it is warm after as many accesses as would have read this many pools
 * before the restart.
 */
#define WARM_POOLS			1.0
#define WARM_POOLS_AT_MOST	6.0

/* Pools' worth of reads that a verdict needs, and intervals. */
#define ENOUGH_POOLS		2.0
#define ENOUGH_INTERVALS	10.0

/* An error of the measured ratio up to this prevents no verdict. */
#define SMALL_ERROR			0.002

/* A page cache of another size, by this share of all memory, is another case. */
#define OTHER_MEMORY		0.2

/* ----------------------------------------------------------------
 *		The workload
 * ----------------------------------------------------------------
 */

static const PbpReadShare *
find_relation(const PbpReadMix *mix, const PbpRelationKey *key)
{
	for (int i = 0; i < mix->nrelations; i++)
		if (memcmp(&mix->relations[i].key, key, sizeof(*key)) == 0)
			return &mix->relations[i];
	return NULL;
}

/*
 * Share of the reads of relations that the other mix does not have.  They may be
 * among its other relations.
 */
static double
missing_share(const PbpReadMix *mix, const PbpReadMix *from)
{
	double		missing = 0;

	for (int i = 0; i < mix->nrelations; i++)
	{
		const PbpReadShare *relation = &mix->relations[i];

		if (find_relation(from, &relation->key) == NULL)
			missing += fmax(0, relation->share - relation->error);
	}
	return fmax(0, missing - from->others);
}

/*
 * Share of the reads that are of other relations than expected, less what chance
 * explains.  0 if either mix is unknown.
 */
double
pbp_mix_distance(const PbpReadMix *expected, const PbpReadMix *mix)
{
	double		sum = 0;

	if (expected->nrelations == 0 || mix->nrelations == 0)
		return 0;
	for (int i = 0; i < mix->nrelations; i++)
	{
		const PbpReadShare *now = &mix->relations[i];
		const PbpReadShare *before = find_relation(expected, &now->key);

		if (before != NULL)
			sum += fmax(0, fabs(now->share - before->share) - hypot(now->error, before->error));
	}
	return fmin(1, (sum + missing_share(expected, mix) + missing_share(mix, expected)) / 2);
}

/* NaN: unknown. */
double
pbp_pace_rate(const PbpPace *pace)
{
	return pace->reads > 0 ? pace->weighted_rates / pace->reads : NAN;
}

static void
keep_pace(PbpPace *pace, const PbpObservation *observation)
{
	double		weight = exp2(-observation->reads / (double) observation->buffers / HALF_LIFE_POOLS);

	if (observation->reads <= 0 || observation->seconds <= 0)
		return;
	pace->accesses = pace->accesses * weight + observation->accesses;
	pace->reads = pace->reads * weight + observation->reads;
	pace->weighted_rates = pace->weighted_rates * weight +
		observation->reads * observation->accesses / observation->seconds;
}

/*
 * The factor by which the rate has changed if that is another workload;
 * otherwise 1.  Sessions that wait for reads have more accesses per second where
 * there are fewer reads among them, at most by the factor by which these are
 * fewer.
 */
static double
changed_rate(const PbpPredictionWatch *watch)
{
	double		factor = pbp_pace_rate(&watch->pace) / watch->rate;
	double		fewer = watch->miss_ratio * watch->pace.accesses / watch->pace.reads;

	if (!isfinite(factor))
		return 1;
	if (!(isfinite(fewer) && fewer > 0))
		fewer = 1;
	return factor > TOLERATED_RATE * fmax(1, fewer) || factor < fmin(1, fewer) / TOLERATED_RATE ? factor : 1;
}

static bool
is_quiet(const PbpPredictionWatch *watch, const PbpObservation *observation)
{
	return observation->accesses < QUIET_SHARE * watch->rate * observation->seconds;
}

/* ----------------------------------------------------------------
 *		Measuring
 * ----------------------------------------------------------------
 */

/*
 * Half the width of a 95 % interval of the miss ratio, by how much it differs
 * from interval to interval.
 */
double
pbp_measured_error(const PbpMeasured *measured)
{
	double		ratio = measured->reads / measured->accesses;
	double		residuals = measured->reads_squared - 2 * ratio * measured->reads_accesses +
		ratio * ratio * measured->accesses_squared;

	return 1.96 * sqrt(fmax(0, residuals)) / measured->accesses;
}

/* The measured storage ratio; NaN: unknown for most of the time. */
double
pbp_measured_storage(const PbpMeasured *measured)
{
	return measured->accesses > 0 && measured->storage_accesses > measured->accesses / 2 ?
		measured->storage_reads / measured->storage_accesses : NAN;
}

/* Has the page cache another size than the forecast assumes? */
static bool
has_other_memory(const PbpPrediction *prediction, const PbpObservation *observation)
{
	double		pages = prediction->os_cache_pages;

	return !(fabs(observation->os_cache_pages - pages) <=
			 OTHER_MEMORY * (fmax(0, pages) + (double) prediction->to_buffers));
}

static void
measure(PbpPrediction *prediction, const PbpObservation *observation)
{
	PbpMeasured *measured = &prediction->measured;
	double		accesses = observation->accesses;
	double		reads = observation->reads;

	if (prediction->measured_since == 0)
		prediction->measured_since = observation->now;
	measured->intervals++;
	measured->accesses += accesses;
	measured->reads += reads;
	measured->accesses_squared += accesses * accesses;
	measured->reads_squared += reads * reads;
	measured->reads_accesses += reads * accesses;
	if (isnan(observation->storage_ratio) || has_other_memory(prediction, observation))
		return;
	measured->storage_accesses += accesses;
	measured->storage_reads += observation->storage_ratio * accesses;
	measured->storage_error = observation->storage_error;
}

/* Reads of so many accesses in pools, or those before the restart if more. */
static double
pools_worth(const PbpPredictionWatch *watch, int64_t buffers, double accesses, double reads)
{
	double		before = isnan(watch->miss_ratio) ? 0 : watch->miss_ratio * accesses;

	return fmax(reads, before) / (double) buffers;
}

/* Follow a pool that is filled after a restart. */
static void
warm_up(PbpPredictionWatch *watch, const PbpObservation *observation)
{
	watch->pools_read += pools_worth(watch, observation->buffers, observation->accesses, observation->reads);
	if (observation->settled && isnan(watch->pools_read_cold))
		watch->pools_read_cold = watch->pools_read;
	watch->warm = watch->pools_read - watch->pools_read_cold >= WARM_POOLS ||
		watch->pools_read >= WARM_POOLS_AT_MOST;
}

/* ----------------------------------------------------------------
 *		The verdict
 * ----------------------------------------------------------------
 */

static bool
within(const PbpForecast *forecast, double measured, double error)
{
	return measured >= forecast->low - error && measured <= forecast->high + error;
}

static bool
has_enough(const PbpPrediction *prediction)
{
	double		interval = prediction->misses.high - prediction->misses.low;

	return prediction->seen_share >= 1 && prediction->measured.intervals >= ENOUGH_INTERVALS &&
		pbp_measured_error(&prediction->measured) <= fmax(interval, SMALL_ERROR);
}

static PbpPredictionState
judge(const PbpPrediction *prediction)
{
	const PbpMeasured *measured = &prediction->measured;
	const PbpForecast *storage = &prediction->storage;
	double		ratio = pbp_measured_storage(measured);

	if (isnan(prediction->misses.value))
		return PBP_PREDICTION_NONE;
	if (!has_enough(prediction))
		return PBP_PREDICTION_FEW_READS;
	if (!within(&prediction->misses, measured->reads / measured->accesses, pbp_measured_error(measured)))
		return PBP_PREDICTION_OTHER_MISSES;
	if (!isnan(storage->value) && !isnan(ratio) && !within(storage, ratio, measured->storage_error))
		return PBP_PREDICTION_OTHER_STORAGE;
	return PBP_PREDICTION_HELD;
}

/* Is the workload another one, by its mix or its rate? */
static bool
has_changed(const PbpPredictionWatch *watch, PbpPrediction *prediction, const PbpReadMix *mix)
{
	double		distance = pbp_mix_distance(&watch->mix, mix);
	double		factor = changed_rate(watch);

	if (distance > TOLERATED_MIX)
	{
		prediction->change = distance;
		prediction->state = PBP_PREDICTION_OTHER_MIX;
		return true;
	}
	if (factor != 1)
	{
		prediction->change = factor;
		prediction->state = PBP_PREDICTION_OTHER_RATE;
		return true;
	}
	return false;
}

static void
check(const PbpPredictionWatch *watch, PbpPrediction *prediction, const PbpObservation *observation)
{
	bool		predicted = !isnan(prediction->misses.value);

	if (prediction->state == PBP_PREDICTION_WARMING)
		prediction->state = PBP_PREDICTION_FEW_READS;
	if (is_quiet(watch, observation))
		return;
	if (has_changed(watch, prediction, &observation->mix) && predicted)
		return;
	measure(prediction, observation);
	prediction->seen_share = fmin(1, pools_worth(watch, observation->buffers, prediction->measured.accesses,
												 prediction->measured.reads) / ENOUGH_POOLS);
	prediction->state = judge(prediction);
}

/* The server was restarted, with any size. */
void
pbp_watch_cold_pool(PbpPredictionWatch *watch)
{
	watch->warm = false;
	watch->pools_read = 0;
	watch->pools_read_cold = NAN;
}

/*
 * The server was restarted with another size.  What happens from now on is
 * compared with the pace that was kept until now, and with this miss ratio.
 */
void
pbp_watch_new_size(PbpPredictionWatch *watch, double miss_ratio)
{
	pbp_watch_cold_pool(watch);
	watch->rate = pbp_pace_rate(&watch->pace);
	watch->miss_ratio = miss_ratio;
	watch->pace = (PbpPace) {0};
}

/* What happened since the last call; the prediction is NULL if there is none. */
void
pbp_observe_workload(PbpPredictionWatch *watch, PbpPrediction *prediction, const PbpObservation *observation)
{
	bool		was_warm = watch->warm;

	if (observation->accesses <= 0)
		return;
	if (!watch->warm)
		warm_up(watch, observation);
	if (watch->warm && !was_warm)
		watch->pace = (PbpPace) {0};
	keep_pace(&watch->pace, observation);
	if (was_warm && prediction != NULL)
		check(watch, prediction, observation);
}

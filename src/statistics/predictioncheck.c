/*-------------------------------------------------------------------------
 *
 * predictioncheck.c
 *	  Whether a prediction came true, and whether the load is still the one that
 *	  a figure was made for.
 *
 * What is measured counts while the workload is as it was when the prediction
 * was made.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/prediction.h"

#include <string.h>

/*
 * When it is full and its pages have been evicted in turn, the pool is warm after it has read its
 * size once more.  A pool that holds all data never evicts a page; it is warm after as many
 * accesses as would have read this many pools before the restart.
 */
#define WARM_POOLS			1.0
#define WARM_POOLS_AT_MOST	6.0

/* The pace of a load is that of the last reads, which weigh half after so many pools' worth. */
#define HALF_LIFE_POOLS		3.0

/* Pools' worth of reads that a verdict needs, and intervals. */
#define ENOUGH_POOLS		2.0
#define ENOUGH_INTERVALS	10.0

/*
 * An error of the measured ratio up to this prevents no verdict.  After so many
 * pools' worth of reads and intervals, no error does.
 */
#define SMALL_ERROR			0.002
#define MOST_POOLS			20.0
#define MOST_INTERVALS		600.0

/* A page cache of another size, by this share of all memory, is another case. */
#define OTHER_MEMORY		0.2

/* Factor by which the rate may change.  The peak of a day is often twice or thrice its mean. */
#define TOLERATED_RATE		3.0

/* So many reads show how fast the load is.  Where it hardly reads, a monitoring query would. */
#define ENOUGH_READS		100.0

/* Share of the reads that may be of other relations than expected. */
#define TOLERATED_MIX		0.2

/* From one query to the next, it may change by so many times as much as in the last minutes. */
#define UNUSUAL_MIX			2.0
#define HALF_LIFE_USUAL_MIX	60.0

/* ---- loads ---- */

static const PbpReadShare *
find_relation(const PbpReadMix *mix, const PbpRelationKey *key)
{
	for (int i = 0; i < mix->nrelations; i++)
		if (memcmp(&mix->relations[i].key, key, sizeof(*key)) == 0)
			return &mix->relations[i];
	return NULL;
}

/* Share of the reads of relations that the other mix does not have, or has among its others. */
static double
missing_share(const PbpReadMix *mix, const PbpReadMix *from)
{
	double		missing = 0;

	for (int i = 0; i < mix->nrelations; i++)
		if (find_relation(from, &mix->relations[i].key) == NULL)
			missing += fmax(0, mix->relations[i].share - mix->relations[i].error);
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

/* The distance of two mixes if that makes another load; otherwise 0. */
double
pbp_other_mix(const PbpReadMix *expected, const PbpReadMix *mix)
{
	double		distance = pbp_mix_distance(expected, mix);

	return distance > TOLERATED_MIX ? distance : 0;
}

/*
 * The distance of what is read now to what was learned if that makes another load; otherwise 0.
 * The queries of one load may read other relations in turn, so a distance that is usual does not.
 */
double
pbp_unusual_mix(double *usual, double distance, double seconds)
{
	bool		unusual = distance > fmax(TOLERATED_MIX, UNUSUAL_MIX * *usual);
	double		weight = exp2(-seconds / HALF_LIFE_USUAL_MIX);

	*usual = weight * *usual + (1 - weight) * distance;
	return unusual ? distance : 0;
}

/* NaN: unknown. */
double
pbp_pace_rate(const PbpPace *pace)
{
	return pace->reads > 0 ? pace->weighted_rates / pace->reads : NAN;
}

void
pbp_add_load(PbpPace *pace, const PbpAdviceCounts *counts, int64_t buffers)
{
	double		weight = exp2(-counts->reads / (double) buffers / HALF_LIFE_POOLS);

	if (counts->reads <= 0 || counts->seconds <= 0)
		return;
	pbp_add_fading(pace, weight, &(PbpPace) {
		counts->accesses, counts->reads, counts->reads * counts->accesses / counts->seconds
	}, sizeof(*pace));
}

void
pbp_set_reference(PbpDriftWatch *watch, double miss_ratio)
{
	watch->rate = pbp_pace_rate(&watch->pace);
	watch->miss_ratio = miss_ratio;
	watch->pace = (PbpPace) {0};
}

/*
 * The factor by which the rate has changed if that is another load; otherwise 1.
 * Sessions that wait for reads have more accesses per second where there are
 * fewer reads among them, at most by the factor by which these are fewer.
 */
static double
changed_rate(const PbpDriftWatch *watch)
{
	double		factor = pbp_pace_rate(&watch->pace) / watch->rate;
	double		fewer;

	if (!isfinite(factor) || watch->pace.reads < ENOUGH_READS)
		return 1;
	fewer = watch->miss_ratio * watch->pace.accesses / watch->pace.reads;
	if (!(isfinite(fewer) && fewer > 0))
		fewer = 1;
	return factor > TOLERATED_RATE * fmax(1, fewer) || factor < fmin(1, fewer) / TOLERATED_RATE ?
		factor : 1;
}

PbpDrift
pbp_find_drift(const PbpDriftWatch *watch, const PbpAdviceCounts *counts, const PbpReadMix *mix)
{
	double		distance = pbp_other_mix(&watch->mix, mix);
	double		factor = changed_rate(watch);

	if (counts->accesses < PBP_QUIET_SHARE * watch->rate * counts->seconds)
		return (PbpDrift) {PBP_QUIET_LOAD, 0};
	if (distance > 0)
		return (PbpDrift) {PBP_OTHER_MIX, distance};
	if (factor != 1)
		return (PbpDrift) {PBP_OTHER_RATE, factor};
	return (PbpDrift) {PBP_SAME_LOAD, 0};
}

/* ---- measuring ---- */

/* Half a 95 % interval of the miss ratio, by how much it differs from interval to interval. */
static double
measured_error(const PbpMeasured *measured)
{
	double		ratio = measured->reads / measured->accesses;
	double		residuals = measured->reads_squared - 2 * ratio * measured->reads_accesses +
		ratio * ratio * measured->accesses_squared;

	return PBP_DEVIATIONS * sqrt(fmax(0, residuals)) / measured->accesses;
}

/* The measured storage ratio; NaN: unknown for most of the time. */
double
pbp_measured_storage(const PbpMeasured *measured)
{
	return measured->accesses > 0 && measured->storage_accesses > measured->accesses / 2 ?
		measured->storage_reads / measured->storage_accesses : NAN;
}

static void
measure(PbpPrediction *prediction, const PbpObservation *observation)
{
	PbpMeasured *measured = &prediction->measured;
	double		accesses = observation->counts.accesses;
	double		reads = observation->counts.reads;
	double		pages = prediction->os_cache_pages;

	measured->intervals++;
	measured->accesses += accesses;
	measured->reads += reads;
	measured->accesses_squared += accesses * accesses;
	measured->reads_squared += reads * reads;
	measured->reads_accesses += reads * accesses;
	/* not with a page cache of another size than the forecast assumes; NaN: unknown */
	if (isnan(observation->storage_ratio) ||
		!(fabs(observation->os_cache_pages - pages) <=
		  OTHER_MEMORY * (fmax(0, pages) + (double) prediction->to_buffers)))
		return;
	measured->storage_accesses += accesses;
	measured->storage_reads += observation->storage_ratio * accesses;
	measured->storage_error = observation->storage_error;
}

/* The larger of these reads and those that these accesses had before the restart, in pools. */
static double
pools_worth(const PbpPredictionWatch *watch, int64_t buffers, double accesses, double reads)
{
	double		before = isnan(watch->drift.miss_ratio) ? 0 : watch->drift.miss_ratio * accesses;

	return fmax(reads, before) / (double) buffers;
}

/* Follow a pool that is filled after a restart. */
static void
warm_up(PbpPredictionWatch *watch, const PbpObservation *observation)
{
	watch->pools_read += pools_worth(watch, observation->buffers, observation->counts.accesses,
									 observation->counts.reads);
	if (observation->settled && isnan(watch->pools_read_cold))
		watch->pools_read_cold = watch->pools_read;
	watch->warm = watch->pools_read - watch->pools_read_cold >= WARM_POOLS ||
		watch->pools_read >= WARM_POOLS_AT_MOST;
}

/* ---- the verdict ---- */

static bool
within(const PbpForecast *forecast, double measured, double error)
{
	return measured >= forecast->low - error && measured <= forecast->high + error;
}

/* The error of the measured ratio by the one that a verdict needs. */
static double
excess_of_error(const PbpPrediction *prediction)
{
	double		interval = prediction->misses.high - prediction->misses.low;

	return measured_error(&prediction->measured) / fmax(interval, SMALL_ERROR);
}

/* True if the error of the measured ratio is larger than its interval is wide. */
bool
pbp_measured_roughly(const PbpPrediction *prediction)
{
	return prediction->measured.accesses > 0 && excess_of_error(prediction) > 1;
}

/*
 * Pools' worth of reads that are missing until there is a verdict, if so much was measured: until
 * the error is small enough, or does not count.
 */
static double
missing_pools(const PbpPrediction *prediction, double pools)
{
	double		intervals = prediction->measured.intervals;
	double		needed = ENOUGH_INTERVALS;

	if (pbp_measured_roughly(prediction))
	{
		double		precise = intervals * pow(excess_of_error(prediction), 2);
		double		most = fmax(MOST_INTERVALS, intervals * MOST_POOLS / pools);

		needed = fmax(needed, fmin(precise, most));
	}
	return fmax(ENOUGH_POOLS - pools, fmax(0, needed - intervals) * pools / intervals);
}

/* Of a cold pool, reads that are missing until there is a verdict, as its worth. */
static double
missing_pools_cold(const PbpPredictionWatch *watch)
{
	double		warm_up = WARM_POOLS_AT_MOST - watch->pools_read;

	if (!isnan(watch->pools_read_cold))
		warm_up = fmin(warm_up, WARM_POOLS + watch->pools_read_cold - watch->pools_read);
	return warm_up + ENOUGH_POOLS;
}

/* The figure only falls, although the error may grow at times. */
static void
note_missing(PbpPrediction *prediction, double pools, int64_t buffers)
{
	prediction->missing_reads = fmin(prediction->missing_reads, fmax(0, pools) * (double) buffers);
}

/* With so many pools' worth of reads missing. */
static PbpPredictionState
judge(const PbpPrediction *prediction, double missing)
{
	const PbpMeasured *measured = &prediction->measured;
	const PbpForecast *storage = &prediction->storage;
	double		ratio = pbp_measured_storage(measured);

	if (isnan(prediction->misses.value))
		return PBP_PREDICTION_NONE;
	if (!(missing <= 0))
		return PBP_PREDICTION_FEW_READS;
	if (!within(&prediction->misses, measured->reads / measured->accesses,
				measured_error(measured)))
		return PBP_PREDICTION_OTHER_MISSES;
	if (!isnan(storage->value) && !isnan(ratio) && !within(storage, ratio, measured->storage_error))
		return PBP_PREDICTION_OTHER_STORAGE;
	return PBP_PREDICTION_HELD;
}

static void
check(const PbpPredictionWatch *watch, PbpPrediction *prediction, const PbpObservation *observation)
{
	PbpDrift	drift = pbp_find_drift(&watch->drift, &observation->counts, &observation->mix);
	double		pools;
	double		missing;

	if (prediction->state == PBP_PREDICTION_WARMING)
		prediction->state = PBP_PREDICTION_FEW_READS;
	if (drift.kind == PBP_QUIET_LOAD)
		return;
	if (drift.kind != PBP_SAME_LOAD && !isnan(prediction->misses.value))
	{
		prediction->state = drift.kind == PBP_OTHER_MIX ? PBP_PREDICTION_OTHER_MIX :
			PBP_PREDICTION_OTHER_RATE;
		prediction->change = drift.change;
		return;
	}
	measure(prediction, observation);
	pools = pools_worth(watch, observation->buffers, prediction->measured.accesses,
						prediction->measured.reads);
	prediction->seen_share = fmin(1, pools / ENOUGH_POOLS);
	missing = missing_pools(prediction, pools);
	prediction->state = judge(prediction, missing);
	/* a verdict may be lost again */
	if (prediction->state != PBP_PREDICTION_FEW_READS)
		prediction->missing_reads = NAN;
	else
		note_missing(prediction, missing, observation->buffers);
}

/* The server was restarted, perhaps with the same size.  The prediction may be NULL. */
void
pbp_watch_cold_pool(PbpPredictionWatch *watch, PbpPrediction *prediction)
{
	watch->warm = false;
	watch->pools_read = 0;
	watch->pools_read_cold = NAN;
	if (prediction != NULL)
		prediction->missing_reads = NAN;
}

/*
 * The server was restarted with another size.  What happens from now on is
 * compared with the pace that was kept until now, and with this miss ratio.
 */
void
pbp_watch_new_size(PbpPredictionWatch *watch, double miss_ratio)
{
	pbp_watch_cold_pool(watch, NULL);
	pbp_set_reference(&watch->drift, miss_ratio);
}

/* Adds what happened since the last call.  The prediction is NULL if there is none. */
void
pbp_observe_workload(PbpPredictionWatch *watch, PbpPrediction *prediction,
					 const PbpObservation *observation)
{
	bool		was_warm = watch->warm;

	if (observation->counts.accesses <= 0)
		return;
	if (!watch->warm)
		warm_up(watch, observation);
	if (watch->warm && !was_warm)
		watch->drift.pace = (PbpPace) {0};
	pbp_add_load(&watch->drift.pace, &observation->counts, observation->buffers);
	if (was_warm && prediction != NULL)
		check(watch, prediction, observation);
	else if (prediction != NULL && prediction->state == PBP_PREDICTION_WARMING)
		note_missing(prediction, missing_pools_cold(watch), observation->buffers);
}

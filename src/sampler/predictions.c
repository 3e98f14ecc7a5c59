/*-------------------------------------------------------------------------
 *
 * predictions.c
 *	  What was predicted at restarts with another size, in shared memory, and
 *	  what the worker reports to check it.
 *
 * Nothing is allocated or raised under the lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "pool/sweep.h"
#include "sampler/predictions.h"
#include "sampler/results.h"

/* Passes of the hand since the server started.  From 19 on, the first fills the pool. */
#define SETTLED_PASSES	2

/* For each access: an estimate less its error, both of which may be 1. */
#define MOST_STORAGE_READS	(2 * PBP_MAX_RATIO)

/* What the worker has counted when it last checked. */
static PbpAdviceCounts checked;

/* Copies, newest first; palloc'd. */
PbpPrediction *
pbp_predictions(int *npredictions)
{
	PbpPrediction *predictions = palloc(PBP_MAX_PREDICTIONS * sizeof(*predictions));
	const PbpResults *results = pbp_open_results(LW_SHARED);
	const PbpPredictionBook *book;

	*npredictions = 0;
	if (results == NULL)
		return predictions;
	book = &results->predictions;
	*npredictions = (int) Min(book->nmade, PBP_MAX_PREDICTIONS);
	for (int i = 0; i < *npredictions; i++)
		predictions[i] = book->ring[(book->nmade - 1 - i) % PBP_MAX_PREDICTIONS];
	pbp_close_results();
	return predictions;
}

/* ---- saved and restored ---- */

static const PbpField forecast_fields[] = {
	PBP_FIELD(PBP_REAL_OR_NAN, PbpForecast, value, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpForecast, low, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpForecast, high, 0, PBP_MAX_RATIO),
	PBP_END_OF_FIELDS
};

static const PbpField measured_fields[] = {
	PBP_FIELD(PBP_REAL, PbpMeasured, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, intervals, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, accesses_squared, 0, PBP_MANY * PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, reads_squared, 0, PBP_MANY * PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, reads_accesses, 0, PBP_MANY * PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpMeasured, storage_accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpMeasured, storage_reads, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpMeasured, storage_error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField prediction_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpPrediction, made_at, PBP_FIRST_TIME, PBP_LAST_TIME),
	PBP_FIELD(PBP_SIGNED, PbpPrediction, from_buffers, 0, INT_MAX / 2),
	PBP_FIELD(PBP_SIGNED, PbpPrediction, to_buffers, 0, INT_MAX / 2),
	PBP_STRUCT_FIELD(PbpPrediction, misses, forecast_fields),
	PBP_STRUCT_FIELD(PbpPrediction, storage, forecast_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPrediction, os_cache_pages, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_UNSIGNED, PbpPrediction, outside, 0, 1),
	PBP_FIELD(PBP_UNSIGNED, PbpPrediction, had_advice, 0, 1),
	PBP_FIELD(PBP_UNSIGNED, PbpPrediction, reason, 0, PBP_LAST_ADVICE_REASON),
	PBP_FIELD(PBP_SIGNED, PbpPrediction, measured_since, PBP_FIRST_TIME, PBP_LAST_TIME),
	PBP_STRUCT_FIELD(PbpPrediction, measured, measured_fields),
	PBP_FIELD(PBP_UNSIGNED, PbpPrediction, state, 0, PBP_LAST_PREDICTION_STATE),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPrediction, change, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPrediction, seen_share, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPrediction, missing_reads, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField pace_fields[] = {
	PBP_FIELD(PBP_REAL, PbpPace, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpPace, reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpPace, weighted_rates, 0, PBP_MANY * PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField share_fields[] = {
	PBP_STRUCT_FIELD(PbpReadShare, key, pbp_relation_key_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpReadShare, share, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpReadShare, error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField mix_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpReadMix, nrelations, 0, PBP_TOP_RELATIONS),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpReadMix, relations, 0, 0, share_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpReadMix, others, -PBP_MAX_RATIO, PBP_MAX_RATIO),
	PBP_END_OF_FIELDS
};

static const PbpField drift_fields[] = {
	PBP_STRUCT_FIELD(PbpDriftWatch, pace, pace_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpDriftWatch, rate, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpDriftWatch, miss_ratio, 0, PBP_MAX_RATIO),
	PBP_STRUCT_FIELD(PbpDriftWatch, mix, mix_fields),
	PBP_END_OF_FIELDS
};

static const PbpField watch_fields[] = {
	PBP_STRUCT_FIELD(PbpPredictionWatch, drift, drift_fields),
	PBP_FIELD(PBP_UNSIGNED, PbpPredictionWatch, warm, 0, 1),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPredictionWatch, pools_read, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpPredictionWatch, pools_read_cold, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField nmade_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpPredictionBook, nmade, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

/* All, in the order in which they are read one by one. */
static const PbpField book_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpPredictionBook, nmade, 0, PBP_MANY),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpPredictionBook, ring, 0, 0, prediction_fields),
	PBP_STRUCT_FIELD(PbpPredictionBook, watch, watch_fields),
	PBP_END_OF_FIELDS
};

/* In a file. */
Size
pbp_predictions_bytes(void)
{
	return pbp_fields_bytes(book_fields);
}

uint32
pbp_predictions_layout(void)
{
	return pbp_fields_layout(book_fields);
}

void
pbp_put_predictions(PbpNewFile *file)
{
	PbpPredictionBook *book = palloc(sizeof(*book));

	*book = pbp_open_results(LW_SHARED)->predictions;
	pbp_close_results();
	pbp_put_fields(file, book_fields, book);
	pfree(book);
}

static bool
is_possible_forecast(const PbpForecast *forecast)
{
	if (isnan(forecast->value))
		return isnan(forecast->low) && isnan(forecast->high);
	return forecast->low <= forecast->value * PBP_MAX_RATIO &&
		forecast->value <= forecast->high * PBP_MAX_RATIO;
}

/*
 * Returns the field that contradicts another one in a prediction whose values are
 * possible; NULL if there is none.
 */
static const char *
check_prediction(const PbpPrediction *prediction)
{
	const PbpMeasured *measured = &prediction->measured;
	PbpPredictionState state = prediction->state;

	if (prediction->from_buffers == 0 || prediction->to_buffers == 0)
		return "buffers";
	if (!is_possible_forecast(&prediction->misses) || !is_possible_forecast(&prediction->storage))
		return "forecast";
	if (measured->reads > measured->accesses)
		return "measured.reads";
	if (fabs(measured->storage_reads) > MOST_STORAGE_READS * measured->storage_accesses)
		return "measured.storage_reads";
	if (state == PBP_PREDICTION_NONE ?
		prediction->had_advice && !prediction->outside && prediction->reason == PBP_ADVICE_KNOWN :
		isnan(prediction->misses.value))
		return "state";
	if ((state == PBP_PREDICTION_OTHER_RATE || state == PBP_PREDICTION_OTHER_MIX) &&
		isnan(prediction->change))
		return "change";
	return state == PBP_PREDICTION_FEW_READS && isnan(prediction->seen_share) ? "seen_share" : NULL;
}

/*
 * A prediction with an impossible value is left out, and the newest one also if
 * what it is checked against has one.  Returns the first such value; NULL: there
 * is none.
 */
const char *
pbp_get_predictions(PbpFieldReader *reader, void **result)
{
	PbpPredictionBook *saved = palloc0(sizeof(PbpPredictionBook));
	PbpPredictionBook *book = palloc0(sizeof(PbpPredictionBook));
	const char *wrong_one[PBP_MAX_PREDICTIONS];
	const char *wrong = pbp_get_fields(reader, nmade_fields, saved);
	const char *wrong_watch;
	int64		nmade = wrong == NULL ? saved->nmade : 0;

	for (int i = 0; i < PBP_MAX_PREDICTIONS; i++)
	{
		wrong_one[i] = pbp_get_fields(reader, prediction_fields, &saved->ring[i]);
		if (wrong_one[i] == NULL)
			wrong_one[i] = check_prediction(&saved->ring[i]);
	}
	for (int64 i = Max(0, nmade - PBP_MAX_PREDICTIONS); i < nmade; i++)
	{
		int			place = i % PBP_MAX_PREDICTIONS;

		if (wrong_one[place] == NULL)
			book->ring[book->nmade++] = saved->ring[place];
		else if (wrong == NULL)
			wrong = wrong_one[place];
	}
	wrong_watch = pbp_get_fields(reader, watch_fields, &book->watch);
	if (wrong_watch != NULL)
	{
		memset(&book->watch, 0, sizeof(book->watch));
		pbp_watch_new_size(&book->watch, NAN);
		book->nmade = Max(0, book->nmade - 1);
	}
	*result = book;
	return wrong != NULL ? wrong : wrong_watch;
}

static PbpPrediction *
newest_of(PbpPredictionBook *book)
{
	return book->nmade > 0 ? &book->ring[(book->nmade - 1) % PBP_MAX_PREDICTIONS] : NULL;
}

/* After a start of the server. */
void
pbp_restore_predictions(const void *book)
{
	PbpPredictionBook *target = &pbp_open_results(LW_EXCLUSIVE)->predictions;

	memcpy(target, book, sizeof(*target));
	pbp_watch_cold_pool(&target->watch, newest_of(target));
	pbp_close_results();
}

/* ---- made ---- */

static void
miss_curve(const PbpAdviceReport *report, PbpCurvePoint *points)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpCurvePoint)
	{
		report->has_memory ? report->rows[i].miss_ratio : NAN, report->rows[i].uncertainty
	};
}

/* Models for which the advice gives no figures have none here, either. */
static void
storage_curve(const PbpStorageReport *report, PbpCurvePoint *points)
{
	bool		known = report->has_memory &&
		(report->model == PBP_STORAGE_MODELLED || report->model == PBP_STORAGE_UNPROVEN);

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpCurvePoint)
	{
		known ? report->fixed[i].storage_ratio : NAN, report->fixed[i].uncertainty
	};
}

static double
os_cache_pages(const PbpStorageReport *report)
{
	const PbpAdviceStorageRow *today = &report->fixed[PBP_ADVICE_BASELINE];

	return !report->has_memory || today->reason == PBP_STORAGE_NO_CAPACITY ? NAN : (double) today->os_cache_pages;
}

/* The memory of the machine is the same, so the page cache loses what the pool gains. */
static void
predict(const PbpAdviceReport *last, PbpPrediction *prediction)
{
	double		factor = (double) prediction->to_buffers / (double) prediction->from_buffers;
	PbpCurvePoint points[PBP_ADVICE_FACTORS];
	int			unknown;

	miss_curve(last, points);
	unknown = pbp_unknown_point(points, factor);
	prediction->had_advice = last->has_memory;
	prediction->outside = unknown == PBP_ADVICE_FACTORS;
	if (unknown >= 0 && unknown < PBP_ADVICE_FACTORS)
		prediction->reason = last->rows[unknown].reason;
	prediction->misses = pbp_forecast(points, factor, true);
	storage_curve(&last->storage, points);
	prediction->storage = pbp_forecast(points, factor, false);
	prediction->os_cache_pages = os_cache_pages(&last->storage) -
		(double) (prediction->to_buffers - prediction->from_buffers);
	prediction->state = isnan(prediction->misses.value) ? PBP_PREDICTION_NONE : PBP_PREDICTION_WARMING;
	prediction->missing_reads = NAN;
}

/*
 * Once after a start of the server with another size than that of the last
 * report.
 */
void
pbp_predict_after_restart(const PbpAdviceReport *last)
{
	PbpPrediction prediction = {.made_at = last->made_at,.from_buffers = last->nbuffers,.to_buffers = NBuffers};
	PbpPredictionBook *book;
	const PbpAdviceTotals *totals = &last->totals;
	PbpReadMix *mix = palloc0(sizeof(PbpReadMix));

	predict(last, &prediction);
	if (last->has_memory)
		pbp_expect_mix(&last->relations, totals->reads, (double) NBuffers / (double) last->nbuffers, mix);

	book = &pbp_open_results(LW_EXCLUSIVE)->predictions;
	book->ring[book->nmade % PBP_MAX_PREDICTIONS] = prediction;
	book->nmade++;
	pbp_watch_new_size(&book->watch, totals->accesses > 0 ? totals->reads / totals->accesses : NAN);
	book->watch.drift.mix = *mix;
	pbp_close_results();
	pfree(mix);
}

/* ---- checked ---- */

/*
 * The simulated page cache is calibrated by measured reads, and what still
 * differs is subtracted.
 */
static void
observe_storage(const PbpStorageReport *report, PbpObservation *observation)
{
	observation->os_cache_pages = os_cache_pages(report);
	observation->storage_ratio = observation->storage_error = NAN;
	if (!report->has_memory || isnan(report->totals.self_error))
		return;
	observation->storage_ratio = report->fixed[PBP_ADVICE_BASELINE].storage_ratio - report->totals.self_error;
	observation->storage_error = report->fixed[PBP_ADVICE_BASELINE].uncertainty;
}

/* What happened since the worker last checked, at least a second ago. */
void
pbp_check_predictions(const PbpAdviceReport *report, const PbpReadMix *mix)
{
	const PbpAdviceCounts *counted = &report->counted;
	PbpPredictionBook *book;
	PbpObservation *observation = palloc0(sizeof(PbpObservation));
	PbpPrediction *newest;

	observation->now = GetCurrentTimestamp();
	observation->buffers = NBuffers;
	observation->counts.reads = (double) (counted->reads - checked.reads);
	observation->counts.accesses = observation->counts.reads + (double) (counted->hits - checked.hits);
	observation->counts.seconds = counted->seconds - checked.seconds;
	observation->settled = pbp_ticks(pbp_read_clock()) >= SETTLED_PASSES * (int64) NBuffers;
	observe_storage(&report->storage, observation);
	observation->mix = *mix;
	checked = *counted;

	book = &pbp_open_results(LW_EXCLUSIVE)->predictions;
	newest = newest_of(book);
	/* that of this size may have been left out when the file was read */
	if (newest != NULL && newest->to_buffers != NBuffers)
		newest = NULL;
	pbp_observe_workload(&book->watch, newest, observation);
	pbp_close_results();
	pfree(observation);
}

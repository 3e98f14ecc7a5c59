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

#include "sampler/history.h"

/* Passes of the hand since the server started.  From 19 on, the first fills the pool. */
#define SETTLED_PASSES	2

/* Predictions that a file may count. */
#define MAX_MADE		INT64CONST(1000000000000000)

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

static PbpPrediction *
newest_of(PbpPredictionBook *book)
{
	return book->nmade > 0 ? &book->ring[(book->nmade - 1) % PBP_MAX_PREDICTIONS] : NULL;
}

/*
 * After a start of the server.  A prediction with an impossible value is left out,
 * and the newest one also if what it is checked against has one.  Returns the first
 * such value; NULL: there is none.
 */
const char *
pbp_restore_predictions(const PbpPredictionBook *saved)
{
	PbpPredictionBook *book = palloc0(sizeof(*book));
	bool		is_possible = saved->nmade >= 0 && saved->nmade <= MAX_MADE;
	const char *first_wrong = is_possible ? NULL : "predictions.nmade";
	const char *wrong_watch = pbp_check_watch(&saved->watch);

	for (int64 i = Max(0, saved->nmade - PBP_MAX_PREDICTIONS); is_possible && i < saved->nmade; i++)
	{
		const PbpPrediction *prediction = &saved->ring[i % PBP_MAX_PREDICTIONS];
		const char *wrong = pbp_check_prediction(prediction);

		if (wrong == NULL)
			book->ring[book->nmade++] = *prediction;
		else if (first_wrong == NULL)
			first_wrong = wrong;
	}
	if (wrong_watch == NULL)
		book->watch = saved->watch;
	else
	{
		pbp_watch_new_size(&book->watch, NAN);
		book->nmade = Max(0, book->nmade - 1);
	}
	pbp_watch_cold_pool(&book->watch, newest_of(book));
	pbp_open_results(LW_EXCLUSIVE)->predictions = *book;
	pbp_close_results();
	pfree(book);
	return first_wrong != NULL ? first_wrong : wrong_watch;
}

/* ---- made ---- */

static void
miss_curve(const PbpAdviceReport *report, PbpFigure *points)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpFigure)
	{
		report->has_memory ? report->rows[i].miss_ratio : NAN, report->rows[i].uncertainty
	};
}

/* Models for which the advice gives no figures have none here, either. */
static void
storage_curve(const PbpStorageReport *report, PbpFigure *points)
{
	bool		known = report->has_memory &&
		(report->model == PBP_STORAGE_MODELLED || report->model == PBP_STORAGE_UNPROVEN);

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpFigure)
	{
		known ? report->fixed[i].storage_ratio : NAN, report->fixed[i].uncertainty
	};
}

static double
os_cache_pages(const PbpStorageReport *report)
{
	const PbpAdviceStorageRow *today = &report->fixed[PBP_ADVICE_BASELINE];

	return !report->has_memory || today->reason == PBP_STORAGE_NO_CAPACITY ?
		NAN : (double) today->os_cache_pages;
}

/* The memory of the machine is the same, so the page cache loses what the pool gains. */
static void
predict(const PbpAdviceReport *last, PbpPrediction *prediction)
{
	double		factor = (double) prediction->to_buffers / (double) prediction->from_buffers;
	PbpFigure points[PBP_ADVICE_FACTORS];
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
	prediction->state = isnan(prediction->misses.value) ?
		PBP_PREDICTION_NONE : PBP_PREDICTION_WARMING;
	prediction->missing_reads = NAN;
}

/*
 * Once after a start of the server with another size than that of the last
 * report.
 */
void
pbp_predict_after_restart(const PbpAdviceReport *last)
{
	PbpPrediction prediction = {
		.made_at = last->made_at,.from_buffers = last->nbuffers,.to_buffers = NBuffers
	};
	PbpPredictionBook *book;
	const PbpAdviceTotals *totals = &last->totals;
	PbpReadMix *mix = palloc0(sizeof(PbpReadMix));

	predict(last, &prediction);
	if (last->has_memory)
		pbp_expect_mix(&last->relations, totals->reads,
					   (double) NBuffers / (double) last->nbuffers, mix);

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
	observation->storage_ratio = report->fixed[PBP_ADVICE_BASELINE].storage_ratio -
		report->totals.self_error;
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
	observation->counts.accesses = observation->counts.reads +
		(double) (counted->hits - checked.hits);
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

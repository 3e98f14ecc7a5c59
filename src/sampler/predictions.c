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

/* NULL: none was made. */
static PbpPrediction *
newest_of(PbpPredictionBook *book)
{
	return book->nmade > 0 ? &book->ring[(book->nmade - 1) % PBP_MAX_PREDICTIONS] : NULL;
}

/*
 * To an empty book, after a start of the server.  A prediction with an impossible value
 * is left out, and the newest one also if what it is checked against has one.
 */
void
pbp_restore_predictions(PbpPredictionBook *book, const PbpPredictionBook *saved)
{
	bool		logged = false;
	bool		is_count = pbp_is_possible(saved->nmade >= 0 && saved->nmade <= MAX_MADE ? NULL :
										   "predictions.nmade", &logged);

	for (int64 i = Max(0, saved->nmade - PBP_MAX_PREDICTIONS); is_count && i < saved->nmade; i++)
	{
		const PbpPrediction *prediction = &saved->ring[i % PBP_MAX_PREDICTIONS];

		if (pbp_is_possible(pbp_check_prediction(prediction), &logged))
			book->ring[book->nmade++] = *prediction;
	}
	if (pbp_is_possible(pbp_check_watch(&saved->watch), &logged))
		book->watch = saved->watch;
	else
	{
		pbp_watch_new_size(&book->watch, NAN);
		book->nmade = Max(0, book->nmade - 1);
	}
	pbp_watch_cold_pool(&book->watch, newest_of(book));
}

/* ---- made ---- */

static double
os_cache_pages(const PbpStorageReport *report)
{
	const PbpAdviceStorageRow *today = &report->fixed[PBP_ADVICE_BASELINE];

	return !report->has_memory || today->reason == PBP_STORAGE_NO_CAPACITY ?
		NAN : (double) today->os_cache_pages;
}

/*
 * The memory of the machine is the same, so the page cache loses what the pool gains.  Models
 * for which the advice gives no figures have none here, either.
 */
static void
predict(const PbpAdviceReport *last, PbpPrediction *prediction)
{
	double		factor = (double) prediction->to_buffers / (double) prediction->from_buffers;
	PbpFigure	misses[PBP_ADVICE_FACTORS];
	PbpFigure	storage[PBP_ADVICE_FACTORS];
	bool		known = last->storage.has_memory && pbp_is_modelled(last->storage.model);
	int			unknown;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpAdviceRow *row = &last->rows[i];
		const PbpAdviceStorageRow *fixed = &last->storage.fixed[i];

		misses[i] = (PbpFigure) {last->has_memory ? row->ratio.value : NAN, row->ratio.error};
		storage[i] = (PbpFigure) {known ? fixed->ratio.value : NAN, fixed->ratio.error};
	}
	unknown = pbp_unknown_point(misses, factor);
	prediction->had_advice = last->has_memory;
	prediction->outside = unknown == PBP_ADVICE_FACTORS;
	if (unknown >= 0 && unknown < PBP_ADVICE_FACTORS)
		prediction->reason = last->rows[unknown].reason;
	prediction->misses = pbp_forecast(misses, factor, true);
	prediction->storage = pbp_forecast(storage, factor, false);
	prediction->os_cache_pages = os_cache_pages(&last->storage) -
		(double) (prediction->to_buffers - prediction->from_buffers);
	prediction->state = isnan(prediction->misses.value) ?
		PBP_PREDICTION_NONE : PBP_PREDICTION_WARMING;
	prediction->missing_reads = NAN;
}

/*
 * Once after a start of the server with another size than it had.  The last report, if
 * it is about that, is a prediction for the size that runs now.
 */
void
pbp_predict_after_restart(PbpPredictionBook *book, const PbpAdviceReport *report, int64 nbuffers)
{
	const PbpAdviceReport nothing = {.made_at = GetCurrentTimestamp(),.nbuffers = nbuffers};
	const PbpAdviceReport *last = report->nbuffers == nbuffers ? report : &nothing;
	const PbpAdviceTotals *totals = &last->totals;
	PbpPrediction prediction = {
		.made_at = last->made_at,.from_buffers = nbuffers,.to_buffers = NBuffers
	};

	predict(last, &prediction);
	book->ring[book->nmade++ % PBP_MAX_PREDICTIONS] = prediction;
	pbp_watch_new_size(&book->watch, totals->accesses > 0 ? totals->reads / totals->accesses : NAN);
	pbp_expect_mix(&last->relations, totals->reads, (double) NBuffers / (double) nbuffers,
				   &book->watch.drift.mix);
}

/* ---- checked ---- */

/* By the counts since the worker last checked, at least a second ago. */
void
pbp_check_predictions(const PbpAdviceReport *report, const PbpAdviceCounts *counts,
					  const PbpReadMix *mix)
{
	const PbpStorageReport *storage = &report->storage;
	const PbpAdviceStorageRow *today = &storage->fixed[PBP_ADVICE_BASELINE];
	PbpObservation observation = {
		.buffers = NBuffers,
		.counts = *counts,
		.settled = pbp_ticks(pbp_read_clock()) >= SETTLED_PASSES * (int64) NBuffers,
		.mix = *mix,
		.os_cache_pages = os_cache_pages(storage),
		.storage_ratio = NAN,
		.storage_error = NAN,
	};
	PbpPredictionBook *book;
	PbpPrediction *newest;

	/* the simulated page cache is calibrated, and what still differs is subtracted */
	if (storage->has_memory && !isnan(storage->totals.self_error))
	{
		observation.storage_ratio = today->ratio.value - storage->totals.self_error;
		observation.storage_error = today->ratio.error;
	}

	book = &pbp_open_results(LW_EXCLUSIVE)->predictions;
	newest = newest_of(book);
	/* that of this size may have been left out when the file was read */
	if (newest != NULL && newest->to_buffers != NBuffers)
		newest = NULL;
	pbp_observe_workload(&book->watch, newest, &observation);
	pbp_close_results();
}

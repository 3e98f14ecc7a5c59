/*-------------------------------------------------------------------------
 *
 * predictionfuncs.c
 *	  The SQL function about predictions that were followed by a restart with
 *	  the predicted size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "answers/reasons.h"
#include "answers/historyfuncs.h"
#include "base/rows.h"
#include "sampler/predictions.h"

#define PREDICTIONS_COLS	13

PG_FUNCTION_INFO_V1(pgbufprobe_predictions);

/* ratio, low, high, measured */
static void
add_forecast(Row *row, const PbpForecast *forecast, double measured)
{
	add_number(row, forecast->value);
	add_number(row, forecast->low);
	add_number(row, forecast->high);
	add_number(row, measured);
}

static const char *
why_not_predicted(const PbpPrediction *prediction)
{
	if (prediction->outside)
		return "not predicted: estimates are for 0.25 to 4 times the size";
	if (!prediction->had_advice)
		return "not predicted: the sampler had estimated nothing before the restart";
	return psprintf("not predicted: before the restart, the advice said \"%s\"", words_of_reason(prediction->reason, NAN));
}

/* How much more load a verdict needs; an empty string if that is unknown. */
static const char *
missing_load(const PbpPrediction *prediction)
{
	return isnan(prediction->missing_reads) ? "" :
		psprintf("; a verdict needs %.0f more reads, or accesses that would have read as much before the restart",
				 ceil(prediction->missing_reads));
}

static const char *
note_of_storage(const PbpPrediction *prediction)
{
	if (isnan(prediction->storage.value))
		return "judged by the miss ratio alone, because no storage ratio was predicted";
	if (isnan(pbp_measured_storage(&prediction->measured)))
		return "judged by the miss ratio alone, because the storage ratio is not measured";
	return NULL;
}

static const char *
note_of_verdict(const PbpPrediction *prediction)
{
	return join_notes(pbp_measured_roughly(prediction) ?
					  "the miss ratio varies so much that its error is larger than the interval" : NULL,
					  note_of_storage(prediction));
}

/* Why there is no verdict, or what differs; NULL if there is nothing to say. */
static const char *
note_of(const PbpPrediction *prediction)
{
	switch (prediction->state)
	{
		case PBP_PREDICTION_NONE:
			return why_not_predicted(prediction);
		case PBP_PREDICTION_WARMING:
			return psprintf("the pool is still warming up after the restart%s", missing_load(prediction));
		case PBP_PREDICTION_FEW_READS:
			return prediction->seen_share >= 1 ?
				psprintf("more seconds of load are needed for a precise miss ratio%s", missing_load(prediction)) :
				psprintf("only %.0f %% of the reads needed have been seen%s", floor(100 * prediction->seen_share),
						 missing_load(prediction));
		case PBP_PREDICTION_OTHER_RATE:
			return psprintf("the workload has changed: %.2g times as many block accesses per second", prediction->change);
		case PBP_PREDICTION_OTHER_MIX:
			return psprintf("the workload has changed: %.0f %% of the reads are of other relations than expected",
							100 * prediction->change);
		case PBP_PREDICTION_HELD:
			return note_of_verdict(prediction);
		case PBP_PREDICTION_OTHER_MISSES:
			return "the measured miss ratio is outside its interval";
		case PBP_PREDICTION_OTHER_STORAGE:
			return "the measured storage ratio is outside its interval";
	}
	return NULL;
}

static void
add_verdict(Row *row, PbpPredictionState state)
{
	if (state < PBP_PREDICTION_HELD)
		add_null(row);
	else
		add_datum(row, BoolGetDatum(state == PBP_PREDICTION_HELD));
}

static void
emit_prediction(ReturnSetInfo *rsinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpPrediction *prediction = item;
	const PbpMeasured *measured = &prediction->measured;
	Row			row = {0};

	add_time(&row, prediction->made_at);
	add_count(&row, prediction->from_buffers * BLCKSZ);
	add_count(&row, prediction->to_buffers * BLCKSZ);
	add_forecast(&row, &prediction->misses, measured->accesses > 0 ? measured->reads / measured->accesses : NAN);
	add_forecast(&row, &prediction->storage, pbp_measured_storage(measured));
	add_verdict(&row, prediction->state);
	add_text(&row, note_of(prediction));
	emit_row(rsinfo, &row, PREDICTIONS_COLS);
}

Datum
pgbufprobe_predictions(PG_FUNCTION_ARGS)
{
	PbpPrediction *predictions;
	int			npredictions;

	check_sampler_runs();
	predictions = pbp_predictions(&npredictions);
	emit_rows(fcinfo, predictions, npredictions, sizeof(*predictions), emit_prediction, NULL);
	pfree(predictions);
	return (Datum) 0;
}

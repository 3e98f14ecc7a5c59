/*-------------------------------------------------------------------------
 *
 * savedvalues.c
 *	  Which values of structs that were saved are possible: each number is within
 *	  its limits, and none contradicts another one.
 *
 * A file may have a right checksum and wrong values, by a defect of the server that
 * wrote it.  No such value may crash the next one, or be shown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "postmaster/postmaster.h"

#include "sampler/history.h"

/* What a server can count, and what can be a time. */
#define MANY				1e15
#define MAX_BYTES			INT64CONST(1000000000000000000)
#define MAX_BLOCKS			(MAX_BYTES / BLCKSZ)
#define MAX_BUFFERS			(INT_MAX / 2)
#define FIRST_TIME			INT64CONST(-63000000000000000)	/* in the year 3, since a clock may
															 * be wrong */
#define LAST_TIME			INT64CONST(250000000000000000)	/* in the year 9922 */

/* Rounded; a sum of floats is rounded each second. */
#define MAX_RATIO			1.000001
#define MAX_RATIO_OF_SUMS	1.01

/* For each access: an estimate less its error, both of which may be 1. */
#define MOST_STORAGE_READS	(2 * MAX_RATIO)

static bool
reals_are_within(double min, double max, bool or_nan, const double *values, int nvalues)
{
	for (int i = 0; i < nvalues; i++)
		if (isnan(values[i]) ? !or_nan : values[i] < min || values[i] > max)
			return false;
	return true;
}

static bool
numbers_are_within(int64 min, int64 max, const int64 *values, int nvalues)
{
	for (int i = 0; i < nvalues; i++)
		if (values[i] < min || values[i] > max)
			return false;
	return true;
}

#define LIST(type, ...) \
	(const type[]) {__VA_ARGS__}, (int) (sizeof((const type[]) {__VA_ARGS__}) / sizeof(type))

/* True if all these values are within the limits: doubles and floats; or integers and enums. */
#define REALS(min, max, ...)			reals_are_within(min, max, false, LIST(double, __VA_ARGS__))
#define REALS_OR_NAN(min, max, ...)		reals_are_within(min, max, true, LIST(double, __VA_ARGS__))
#define NUMBERS(min, max, ...)			numbers_are_within(min, max, LIST(int64, __VA_ARGS__))

/* Not read as a bool before it is known to be one. */
static bool
is_bool(const bool *value)
{
	return *(const uint8 *) value <= 1;
}

static bool
is_key(const PbpRelationKey *key)
{
	return key->relfilenode != 0 && key->tablespace != 0 && key->fork <= MAX_FORKNUM &&
		(key->database == 0) == (key->tablespace == GLOBALTABLESPACE_OID);
}

/* ---- a report ---- */

static bool
is_total(const PbpAdviceTotals *totals)
{
	return REALS(0, MANY, totals->accesses, totals->reads, totals->extends, totals->ring_reads,
				 totals->scan_reads, totals->seconds, totals->dirty_evictions) &&
		REALS_OR_NAN(-1, MANY, totals->self_error) &&
		REALS_OR_NAN(0, MANY, totals->refaults) &&
		REALS(0, 1, totals->sampling_rate) &&
		REALS_OR_NAN(0, MAX_RATIO, totals->lately) &&
		REALS_OR_NAN(0, 1, totals->varies) &&
		NUMBERS(0, PBP_LAST_ADVICE_CHANGE, totals->change) &&
		NUMBERS(0, (int64) MANY, totals->sampled_loads, totals->gaps, totals->dropped);
}

static bool
is_compared(const PbpCompared *figure, double most)
{
	return REALS_OR_NAN(0, most, figure->value) &&
		REALS_OR_NAN(0, MANY, figure->error, figure->change_error) &&
		REALS_OR_NAN(-MANY, MANY, figure->change);
}

static bool
are_times(const PbpReadTimes *times)
{
	const PbpQueue *queue = &times->queue;

	return REALS_OR_NAN(0, MANY, times->os.value, times->os.error,
						times->storage.value, times->storage.error,
						times->scan.value, times->scan.error,
						times->write.value, times->write.error,
						times->held_up.value, times->held_up.error) &&
		REALS(0, 1, queue->service, queue->beside, queue->most_service, queue->least_beside,
			  queue->quick) &&
		REALS(0, MAX_BACKENDS, queue->sessions) &&
		REALS(0, MANY, queue->between, times->uncertain, times->scanned) &&
		is_bool(&queue->limited) && is_bool(&times->measured);
}

static bool
are_relations(const PbpRelationsReport *relations)
{
	if (!is_bool(&relations->has_memory) || !NUMBERS(0, PBP_RELATION_ROWS, relations->nrows))
		return false;
	for (int i = 0; i < PBP_WINDOWS; i++)
	{
		const PbpWindow *window = &relations->windows[i];

		if (!is_bool(&window->known) || !NUMBERS(0, INT_MAX, window->watched_seconds) ||
			!NUMBERS(0, PBP_MAX_HALVINGS, window->halvings) ||
			!REALS(0, MANY, window->pages, window->error, window->hidden))
			return false;
	}
	for (int i = 0; i < relations->nrows; i++)
	{
		const PbpRelationRow *row = &relations->rows[i];

		if (!is_bool(&row->others) || row->key.fork > MAX_FORKNUM ||
			(!row->others && !is_key(&row->key)) || !REALS(0, MANY, row->sampled_loads) ||
			!REALS_OR_NAN(0, MAX_RATIO, row->read_share, row->read_again) ||
			!REALS_OR_NAN(0, MANY, row->read_share_error, row->loads, row->saved.error,
						  row->added.error, row->storage_saved.error, row->storage_added.error,
						  row->pages, row->pages_error) ||
			!REALS_OR_NAN(-MANY, MANY, row->saved.reads, row->added.reads,
						  row->storage_saved.reads, row->storage_added.reads))
			return false;
	}
	return true;
}

static bool
is_storage(const PbpStorageReport *storage)
{
	const PbpAdviceStorageTotals *totals = &storage->totals;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpAdviceStorageRow *row = &storage->fixed[i];

		if (!NUMBERS(0, PBP_LAST_FIT, storage->fits[i]) ||
			!NUMBERS(-MAX_BLOCKS, MAX_BLOCKS, row->os_cache_pages) ||
			!NUMBERS(0, PBP_LAST_STORAGE_REASON, row->reason) ||
			!is_compared(&row->ratio, MAX_RATIO) || !is_compared(&row->scans, MANY) ||
			!REALS_OR_NAN(0, MAX_RATIO, row->learned_share) ||
			!REALS_OR_NAN(0, MANY, row->seconds_left))
			return false;
	}
	return is_bool(&storage->has_memory) &&
		NUMBERS(0, PBP_LAST_STORAGE_MODEL, storage->model) &&
		NUMBERS(-1, MAX_BYTES, storage->data_bytes) &&
		NUMBERS(0, PBP_LAST_FIT, storage->data_fit) &&
		REALS(0, MAX_RATIO, totals->sampling_rate) &&
		REALS_OR_NAN(0, MANY, totals->correction, totals->measuring_error) &&
		REALS_OR_NAN(-MAX_RATIO, MAX_RATIO, totals->self_error, totals->recent.kernel,
					 totals->recent.simulated, totals->recent.error) &&
		NUMBERS(0, (int64) MANY, totals->dropped);
}

static bool
is_decision(const PbpDecision *decision)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (!is_compared(&decision->choices[i], MANY))
			return false;
	return NUMBERS(0, PBP_LAST_DECISION_KIND, decision->kind) &&
		NUMBERS(0, PBP_LAST_DECISION_BASIS, decision->basis) &&
		NUMBERS(0, PBP_LAST_CONFIDENCE, decision->confidence) &&
		NUMBERS(0, PBP_LAST_VERDICT, decision->verdict) &&
		NUMBERS(0, PBP_ADVICE_FACTORS - 1, decision->size) &&
		NUMBERS(-1, PBP_ADVICE_FACTORS - 1, decision->best, decision->equal_from,
				decision->equal_to) &&
		is_bool(&decision->times_decide) && is_bool(&decision->matters_too_little) &&
		REALS(0, MAX_RATIO, decision->learned_share) &&
		REALS(0, MANY, decision->seen_seconds, decision->wanted_seconds, decision->active_ms);
}

/* An answer names the figures of these sizes: today's, the advised and the best one. */
static bool
decision_agrees(const PbpDecision *decision)
{
	const PbpCompared *choices = decision->choices;
	const PbpCompared *today = &choices[PBP_ADVICE_BASELINE];
	bool		unsure = decision->kind == PBP_DECIDE_UNSURE;

	return decision->equal_from <= decision->equal_to &&
		(decision->equal_from < 0) == (decision->equal_to < 0) &&
		(decision->best < 0 ? !unsure : !isnan(choices[decision->best].change)) &&
		(decision->kind == PBP_TAKE) == (decision->size != PBP_ADVICE_BASELINE) &&
		!((unsure || decision->kind >= PBP_KEEP_CACHED) &&
		  isnan(today->value + choices[decision->size].change)) &&
		!(unsure && today->value == 0);
}

static bool
are_rows(const PbpAdviceReport *report)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpAdviceRow *row = &report->rows[i];

		if (!is_bool(&report->may_fit[i]) || !REALS(0, 100, row->factor) ||
			!NUMBERS(0, PBP_LAST_ADVICE_REASON, row->reason) ||
			!is_compared(&row->ratio, MAX_RATIO) ||
			!REALS_OR_NAN(0, MAX_RATIO, row->learned_share) ||
			!REALS_OR_NAN(0, MANY, row->write_ratio, row->seconds_left) ||
			(report->has_memory && (row->factor != pbp_advice_factor(i) ||
									isnan(row->ratio.value) == (row->reason == PBP_ADVICE_KNOWN))))
			return false;
	}
	return true;
}

/* One that has memory has learned something. */
const char *
pbp_check_report(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	return !NUMBERS(FIRST_TIME, LAST_TIME, report->made_at) ? "report.made_at" :
		!is_bool(&report->has_memory) ? "report.has_memory" :
		!NUMBERS(report->has_memory ? 1 : 0, MAX_BUFFERS, report->nbuffers) ? "report.nbuffers" :
		!REALS(0, MANY, report->watched_seconds) ? "report.watched_seconds" :
		!is_total(totals) || (report->has_memory &&
							  (totals->accesses > MANY * totals->seconds ||
							   (totals->change == PBP_OTHER_MISSES && isnan(totals->lately)))) ?
		"report.totals" :
		!REALS_OR_NAN(0, MAX_RATIO, report->missed_loads) ? "report.missed_loads" :
		!are_rows(report) ? "report.rows" :
		!are_times(&report->times) ? "report.times" :
		!REALS_OR_NAN(0, MANY, report->active_ms) ? "report.active_ms" :
		!are_relations(&report->relations) ? "report.relations" :
		!is_storage(&report->storage) ? "report.storage" :
		!is_decision(&report->decision) ||
		(report->has_memory && !decision_agrees(&report->decision)) ? "report.decision" : NULL;
}

/* ---- predictions ---- */

static bool
is_forecast(const PbpForecast *forecast)
{
	if (!REALS_OR_NAN(0, MAX_RATIO, forecast->value, forecast->low, forecast->high))
		return false;
	if (isnan(forecast->value))
		return isnan(forecast->low) && isnan(forecast->high);
	return forecast->low <= forecast->value * MAX_RATIO &&
		forecast->value <= forecast->high * MAX_RATIO;
}

static bool
is_measured(const PbpMeasured *measured)
{
	return REALS(0, MANY, measured->accesses, measured->reads, measured->intervals,
				 measured->storage_accesses) &&
		REALS(0, MANY * MANY, measured->accesses_squared, measured->reads_squared,
			  measured->reads_accesses) &&
		REALS_OR_NAN(-MANY, MANY, measured->storage_reads) &&
		REALS_OR_NAN(0, MANY, measured->storage_error) &&
		measured->reads <= measured->accesses &&
		!(fabs(measured->storage_reads) > MOST_STORAGE_READS * measured->storage_accesses);
}

const char *
pbp_check_prediction(const PbpPrediction *prediction)
{
	PbpPredictionState state = prediction->state;

	return !NUMBERS(FIRST_TIME, LAST_TIME, prediction->made_at) ?
		"predictions.made_at" :
		!NUMBERS(1, MAX_BUFFERS, prediction->from_buffers, prediction->to_buffers) ?
		"predictions.buffers" :
		!is_forecast(&prediction->misses) || !is_forecast(&prediction->storage) ||
		!REALS_OR_NAN(-MANY, MANY, prediction->os_cache_pages) ? "predictions.forecast" :
		!is_measured(&prediction->measured) ? "predictions.measured" :
		!is_bool(&prediction->outside) || !is_bool(&prediction->had_advice) ||
		!NUMBERS(0, PBP_LAST_ADVICE_REASON, prediction->reason) ||
		!NUMBERS(0, PBP_LAST_PREDICTION_STATE, state) ||
		(state != PBP_PREDICTION_NONE ? isnan(prediction->misses.value) :
		 prediction->had_advice && !prediction->outside &&
		 prediction->reason == PBP_ADVICE_KNOWN) ? "predictions.state" :
		!REALS_OR_NAN(0, MANY, prediction->change, prediction->seen_share,
					  prediction->missing_reads) ||
		((state == PBP_PREDICTION_OTHER_RATE || state == PBP_PREDICTION_OTHER_MIX) &&
		 isnan(prediction->change)) ? "predictions.change" :
		state == PBP_PREDICTION_FEW_READS && isnan(prediction->seen_share) ?
		"predictions.seen_share" : NULL;
}

const char *
pbp_check_watch(const PbpPredictionWatch *watch)
{
	const PbpDriftWatch *drift = &watch->drift;
	const PbpReadMix *mix = &drift->mix;

	if (!NUMBERS(0, PBP_TOP_RELATIONS, mix->nrelations) ||
		!REALS_OR_NAN(-MAX_RATIO, MAX_RATIO, mix->others))
		return "predictions.drift.mix";
	for (int i = 0; i < mix->nrelations; i++)
		if (!REALS_OR_NAN(0, MANY, mix->relations[i].share, mix->relations[i].error))
			return "predictions.drift.mix";
	return !REALS(0, MANY, drift->pace.accesses, drift->pace.reads) ||
		!REALS(0, MANY * MANY, drift->pace.weighted_rates) ||
		!REALS_OR_NAN(0, MANY, drift->rate) ||
		!REALS_OR_NAN(0, MAX_RATIO, drift->miss_ratio) ? "predictions.drift" :
		!is_bool(&watch->warm) ||
		!REALS_OR_NAN(0, MANY, watch->pools_read, watch->pools_read_cold) ?
		"predictions.watch" : NULL;
}

/* ---- an hour ---- */

/* For an access, as for a second, nothing is more than can be counted. */
static bool
is_waiting(const PbpHourWaiting *waiting)
{
	double		most = MANY * Min(waiting->accesses, 1);

	return REALS(0, MANY, waiting->accesses, waiting->storage_reads) &&
		waiting->storage_reads <= MAX_RATIO_OF_SUMS * waiting->accesses &&
		REALS(0, most, waiting->storage_error, waiting->ms, waiting->error,
			  waiting->change_error) &&
		REALS(-most, most, waiting->change);
}

const char *
pbp_check_hour(const PbpHour *hour)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (!is_waiting(&hour->sizes[i]))
			return "hours.sizes";
	for (int i = 0; i < PBP_OTHER_SPLITS; i++)
		if (hour->split_sizes[i] >= PBP_ADVICE_FACTORS || !is_waiting(&hour->splits[i]))
			return "hours.splits";
	return !NUMBERS(FIRST_TIME, LAST_TIME, hour->begins_at) ||
		hour->begins_at % USECS_PER_HOUR != 0 ? "hours.begins_at" :
		!NUMBERS(1, MAX_BUFFERS, hour->nbuffers) ? "hours.nbuffers" :
		!REALS(0, MANY, hour->seconds, hour->accesses) || hour->seconds == 0 ||
		hour->accesses > MANY * hour->seconds ? "hours.seconds" :
		!REALS(0, hour->accesses, hour->reads, hour->apart) ? "hours.reads" :
		!REALS(0, MANY * Min(hour->seconds, 1), hour->active_ms, hour->counted_ms) ?
		"hours.active_ms" :
		!REALS(0, MANY, hour->read_ms, hour->read_ms_seconds) ||
		hour->read_ms > MANY * hour->read_ms_seconds ? "hours.read_ms" :
		!REALS(0, (double) MAX_BYTES, hour->memory) ||
		!REALS(0, MANY, hour->memory_seconds) ? "hours.memory" : NULL;
}

/* ---- a sample ---- */

static bool
is_count(const PbpBufferCount *count)
{
	return NUMBERS(0, INT_MAX, count->buffers) &&
		NUMBERS(0, count->buffers, count->dirty, count->pinned);
}

static bool
is_histogram(const PbpHistogram *histogram)
{
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		if (!is_count(&histogram->usage[i]))
			return false;
	return is_count(&histogram->unused) && NUMBERS(1, MAX_BUFFERS, histogram->nread) &&
		pbp_histogram_buffers(histogram) >= histogram->nread;
}

const char *
pbp_check_sample(const PbpSample *sample)
{
	const PbpTopRead *top = sample->top_reads;

	for (int i = 0; i < PBP_TOP_READS && top[i].key.relfilenode != 0; i++)
		if (!is_key(&top[i].key) || !REALS(0, MAX_RATIO, top[i].read_share))
			return "samples.top_reads";
	return !NUMBERS(FIRST_TIME, LAST_TIME, sample->taken_at) ? "samples.taken_at" :
		!NUMBERS(0, MAX_BYTES, sample->ticks, sample->allocations) ||
		!numbers_are_within(0, MAX_BYTES, &sample->elapsed_ns, PBP_SAMPLE_COUNTS) ?
		"samples.ticks" :
		!is_histogram(&sample->histogram) ? "samples.histogram" :
		!NUMBERS(0, sample->accesses, sample->reads) ? "samples.reads" :
		!NUMBERS(0, sample->evicted.pages, sample->evicted.used_once) ? "samples.evicted" :
		!REALS(0, MANY, sample->read_ms, sample->read_ms_seconds) ||
		sample->read_ms > MANY * sample->read_ms_seconds ? "samples.read_ms" : NULL;
}

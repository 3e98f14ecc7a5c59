/*-------------------------------------------------------------------------
 *
 * historyfuncs.c
 *	  SQL functions about what the sampler keeps: the history of the pool, the hours
 *	  of the last days, and predictions that were followed by a restart with the
 *	  predicted size; and about how long the pages of each relation stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "answers/answers.h"

PG_FUNCTION_INFO_V1(pgbufprobe_history);
PG_FUNCTION_INFO_V1(pgbufprobe_history_reset);
PG_FUNCTION_INFO_V1(pgbufprobe_hours);
PG_FUNCTION_INFO_V1(pgbufprobe_predictions);
PG_FUNCTION_INFO_V1(pgbufprobe_relations);

/* ---- history ---- */

/*
 * A relation of this database has its name.  Others, and those that were
 * rewritten or dropped since, have their file.
 */
static char *
find_name(const PbpRelationKey *key)
{
	PbpLocator	locator = pbp_locator(key->tablespace, key->database, key->relfilenode);
	ForkNumber	fork = (ForkNumber) key->fork;
	Oid			relation = relation_of(&locator);
	char	   *database;
	char	   *name;

	if (OidIsValid(relation))
	{
		name = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation)));
		return fork == MAIN_FORKNUM ? name : psprintf("%s (%s)", name, forkNames[fork]);
	}
	name = pbp_relation_path(&locator, fork);
	database = key->database == MyDatabaseId ? NULL : get_database_name(key->database);
	return !database ? name : psprintf("%s in database %s", name, quote_identifier(database));
}

/* Shares of the pages that were evicted; NULL if they were too few. */
static void
add_evicted(Row *row, const PbpEvicted *evicted)
{
	double		pages = evicted->pages < PBP_ENOUGH_EVENTS ? 0 : (double) evicted->pages;

	add_quotient(row, (double) evicted->used_once, pages);
	add_quotient(row, (double) Min(evicted->read_again, evicted->pages), pages);
}

/* Names of the relations with the most reads, and their shares; NULLs if nothing was read. */
static void
add_top_reads(Row *row, const PbpTopRead *top)
{
	Datum		relations[PBP_TOP_READS];
	Datum		shares[PBP_TOP_READS];
	int			n = 0;

	for (; n < PBP_TOP_READS && top[n].key.relfilenode != 0; n++)
	{
		relations[n] = CStringGetTextDatum(find_name(&top[n].key));
		shares[n] = Float8GetDatum(rint(1e4 * top[n].read_share) / 1e4);
	}
	add_value(row, n > 0, PointerGetDatum(construct_array(relations, n, TEXTOID, -1, false,
														  TYPALIGN_INT)));
	add_value(row, n > 0, PointerGetDatum(construct_array(shares, n, FLOAT8OID, sizeof(float8),
														  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
}

/* Of large scans: reads, reads per access, and the share of reads that took a buffer. */
static void
add_scans(Row *row, const PbpSample *sample)
{
	int64		accesses = PBP_COUNTS_APART ? sample->scan_hits + sample->scan_reads : 0;
	int64		kept = Max(0, sample->scan_reads - sample->scan_reuses);

	add_count(row, sample->scan_reads);
	add_share(row, sample->scan_reads, accesses);
	add_share(row, kept, PBP_COUNTS_APART ? sample->scan_reads : 0);
}

static void
emit_sample(FunctionCallInfo fcinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpSample *sample = item;
	const PbpHistogram *histogram = &sample->histogram;
	double		seconds = (double) sample->elapsed_ns / 1e9;
	double		ticks = (double) sample->new_ticks;
	double		age = (double) (pbp_now_ns() - sample->taken_ns) / PBP_NS_PER_S;
	int64		pool = pbp_histogram_buffers(histogram);	/* it may have been another */
	int64		usage[PBP_USAGE_LEVELS];
	int64		dirty = histogram->unused.dirty;
	Row			row = {0};

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
	{
		usage[i] = histogram->usage[i].buffers;
		dirty += histogram->usage[i].dirty;
	}

	add_time(&row, sample->taken_at);
	add_number(&row, sample->taken_ns > 0 ? age : NAN);
	add_number(&row, sample->elapsed_ns > 0 ? seconds : NAN);
	add_quotient(&row, ticks, (double) sample->new_allocations);
	add_quotient(&row, (double) pool * seconds, ticks);
	add_datum(&row, usagecounts_array(usage));
	add_count(&row, dirty);
	add_count(&row, sample->looks);
	add_quotient(&row, (double) sample->cpu_ns / 1e9, seconds);
	add_count(&row, sample->accesses);
	add_quotient(&row, (double) sample->reads, (double) sample->accesses);
	add_quotient(&row, sample->read_ms, sample->read_ms_seconds);
	add_scans(&row, sample);
	add_top_reads(&row, sample->top_reads);
	add_evicted(&row, &sample->evicted);
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_history(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"fine", "coarse"};	/* in the order of PbpHistory */
	PbpHistory	history = parse_name(fcinfo, 0, "resolution", names, lengthof(names));
	PbpSample  *samples;
	int			nsamples;

	check_sampler_runs();
	samples = pbp_history(history, &nsamples);
	emit_rows(fcinfo, samples, nsamples, sizeof(*samples), emit_sample, NULL);
	return (Datum) 0;
}

Datum
pgbufprobe_history_reset(PG_FUNCTION_ARGS pg_attribute_unused())
{
	check_sampler_runs();
	pbp_history_reset();
	pbp_remove_state_file();
	PG_RETURN_VOID();
}

/* ---- hours ---- */

static void
emit_hour(FunctionCallInfo fcinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpHour *hour = item;
	int			best = pbp_best_of_hour(hour);
	PbpCompared waiting = best < 0 ? PBP_NOT_COMPARED : pbp_waiting_of_hour(hour, best);
	Row			row = {0};

	add_time(&row, hour->begins_at);
	add_number(&row, hour->seconds);
	add_datum(&row, BoolGetDatum(!pbp_skips_hour(hour->begins_at)));
	add_count(&row, hour->nbuffers * BLCKSZ);
	add_quotient(&row, pbp_working_ms(hour->active_ms, hour->counted_ms), hour->seconds);
	add_quotient(&row, hour->read_ms, hour->read_ms_seconds);
	/* the size that would have been best, and what it would have saved */
	add_rounded(&row, best < 0 ? NAN :
				pbp_advice_factor(best) * (double) hour->nbuffers * BLCKSZ);
	add_difference(&row, -waiting.change, waiting.change_error);
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_hours(PG_FUNCTION_ARGS)
{
	PbpHour    *hours;
	int			nhours;

	check_sampler_runs();
	hours = pbp_last_hours(PBP_HOURS - 1, GetCurrentTimestamp(), &nhours);
	emit_rows(fcinfo, hours, nhours, sizeof(*hours), emit_hour, NULL);
	return (Datum) 0;
}

/* ---- predictions ---- */

/* Why there is no verdict, what limits it, or what differs; NULL if there is nothing to say. */
static const char *
note_of(const PbpPrediction *prediction)
{
	const char *missing = isnan(prediction->missing_reads) ? "" :
		psprintf("; a verdict needs %.0f more reads, or accesses that would have read as much "
				 "before the restart", ceil(prediction->missing_reads));

	switch (prediction->state)
	{
		case PBP_PREDICTION_NONE:
			if (prediction->outside)
				return "not predicted: estimates are for 0.25 to 4 times the size";
			if (!prediction->had_advice)
				return "not predicted: the sampler had estimated nothing before the restart";
			return psprintf("not predicted: before the restart, the advice said \"%s\"",
							words_of_reason(prediction->reason, NAN));
		case PBP_PREDICTION_WARMING:
			return psprintf("the pool is still warming up after the restart%s", missing);
		case PBP_PREDICTION_FEW_READS:
			if (prediction->seen_share >= 1)
				return psprintf("more seconds of load are needed for a precise miss ratio%s",
								missing);
			return psprintf("only %.0f %% of the reads needed have been seen%s",
							floor(100 * prediction->seen_share), missing);
		case PBP_PREDICTION_OTHER_RATE:
			return psprintf("the workload has changed: %.2g times as many block accesses "
							"per second", prediction->change);
		case PBP_PREDICTION_OTHER_MIX:
			return psprintf("the workload has changed: %.0f %% of the reads are of other relations "
							"than expected", 100 * prediction->change);
		case PBP_PREDICTION_HELD:
			return join_notes(
				pbp_measured_roughly(prediction) ?
				"the miss ratio varies so much that its error is larger than the interval" : NULL,
				isnan(prediction->storage.value) ?
				"judged by the miss ratio alone, because no storage ratio was predicted" :
				isnan(pbp_measured_storage(&prediction->measured)) ?
				"judged by the miss ratio alone, because the storage ratio is not measured" : NULL);
		case PBP_PREDICTION_OTHER_MISSES:
			return "the measured miss ratio is outside its interval";
		case PBP_PREDICTION_OTHER_STORAGE:
			return "the measured storage ratio is outside its interval";
	}
	return NULL;
}

static void
add_forecast(Row *row, const PbpForecast *forecast, double measured)
{
	add_number(row, forecast->value);
	add_number(row, forecast->low);
	add_number(row, forecast->high);
	add_number(row, measured);
}

static void
emit_prediction(FunctionCallInfo fcinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpPrediction *prediction = item;
	const PbpMeasured *measured = &prediction->measured;
	double		misses = measured->accesses > 0 ? measured->reads / measured->accesses : NAN;
	Row			row = {0};

	add_time(&row, prediction->made_at);
	add_count(&row, prediction->from_buffers * BLCKSZ);
	add_count(&row, prediction->to_buffers * BLCKSZ);
	add_forecast(&row, &prediction->misses, misses);
	add_forecast(&row, &prediction->storage, pbp_measured_storage(measured));
	add_value(&row, prediction->state >= PBP_PREDICTION_HELD,
			  BoolGetDatum(prediction->state == PBP_PREDICTION_HELD));
	add_text(&row, note_of(prediction));
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_predictions(PG_FUNCTION_ARGS)
{
	PbpPrediction *predictions;
	int			npredictions;

	check_sampler_runs();
	predictions = pbp_predictions(&npredictions);
	emit_rows(fcinfo, predictions, npredictions, sizeof(*predictions), emit_prediction, NULL);
	return (Datum) 0;
}

/* ---- relations ---- */

/* Largest first, then by OIDs for a stable order. */
static int
compare_relations(const void *a, const void *b)
{
	int64		one = ((const PbpRelationCount *) a)->buffers;
	int64		other = ((const PbpRelationCount *) b)->buffers;

	CHECK_FOR_INTERRUPTS();
	if (one != other)
		return one < other ? 1 : -1;
	return memcmp(a, b, offsetof(PbpRelationCount, dirty));
}

static void
emit_relation(FunctionCallInfo fcinfo, const void *item, void *arg)
{
	const PbpRelationCount *count = item;
	const PbpClockRate *recent = arg;
	int64		usage_sum = 0;
	Row			row = {0};

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		usage_sum += i * count->usage[i];

	add_storage(&row, &count->locator, count->fork);
	add_counted(&row, count->buffers, count->buffers_error, NBuffers);
	add_count(&row, count->dirty);
	add_quotient(&row, (double) usage_sum, (double) count->buffers);
	add_datum(&row, usagecounts_array(count->usage));
	add_quotient(&row, count->stay * recent->seconds, recent->ticks);
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_relations(PG_FUNCTION_ARGS)
{
	int			nrelations;
	PbpRelationCount *counts = pbp_count_relations(sample_arg(fcinfo, 0), &nrelations);
	PbpClockRate recent = pbp_recent_history();

	qsort(counts, nrelations, sizeof(*counts), compare_relations);
	emit_rows(fcinfo, counts, nrelations, sizeof(*counts), emit_relation, &recent);
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * sizefuncs.c
 *	  SQL functions about the history of the pool, and about other sizes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "args.h"
#include "oscache.h"
#include "poolfuncs.h"
#include "rows.h"
#include "sampler.h"
#include "sizefuncs.h"
#include "sweep.h"

#define PAGE_LIFETIME_COLS	14
#define HISTORY_COLS		16
#define ADVICE_COLS			12

/* a share of the reads; a larger error makes estimates uncertain */
#define LARGE_SELF_ERROR	0.2

PG_FUNCTION_INFO_V1(pgbufprobe_page_lifetime);
PG_FUNCTION_INFO_V1(pgbufprobe_history);
PG_FUNCTION_INFO_V1(pgbufprobe_history_reset);
PG_FUNCTION_INFO_V1(pgbufprobe_advice);

static void
check_sampler_is_loaded(void)
{
	if (!pbp_sampler_is_loaded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pgbufprobe must be loaded via shared_preload_libraries"),
				 errdetail("A background worker, which starts with the server, records the history."),
				 errhint("Add pgbufprobe to shared_preload_libraries and restart the server.  pgbufprobe_snapshot() works without this.")));
}

/* From the history of the last minutes; without one, from watching the hand for a while. */
ClockRate
recent_clock_rate(int64 duration_ms)
{
	ClockRate	rate;

	if (pbp_history_rate(&rate.seconds, &rate.ticks))
		return rate;
	return watch_clock(duration_ms);
}

/* Seconds that the clock hand needs for these ticks; NULL if it did not move. */
static void
add_seconds(Row *row, const ClockRate *rate, double ticks)
{
	add_quotient(row, ticks * rate->seconds, rate->ticks);
}

static void
emit_page_lifetime(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationCount *count = item;
	const ClockRate *rate = arg;
	Row			row = {0};

	add_relation(&row, count);
	add_seconds(&row, rate, (double) count->stay_min);
	add_seconds(&row, rate, count->stay_avg);
	add_seconds(&row, rate, (double) count->stay_max);
	add_seconds(&row, rate, NBuffers);
	add_measure(&row, rate->seconds);
	add_count(&row, count->buffers_error);
	if (count->stay_error >= 0)
		add_seconds(&row, rate, count->stay_error);
	else
		add_null(&row);
	emit_row(rsinfo, &row, PAGE_LIFETIME_COLS);
}

Datum
pgbufprobe_page_lifetime(PG_FUNCTION_ARGS)
{
	int64		duration_ms = duration_arg_ms(fcinfo, 0);
	int			nread = sample_arg(fcinfo, 1);
	ClockRate	rate = recent_clock_rate(duration_ms);

	emit_relations(fcinfo, nread, emit_page_lifetime, &rate);
	return (Datum) 0;
}

/* The largest error of the counts that a sample of the history has. */
static int64
largest_error(const PbpHistogram *histogram, int64 dirty, int64 pinned)
{
	int64		error = pbp_estimate_error(histogram->nread, NBuffers, histogram->unused.buffers);

	error = Max(error, pbp_estimate_error(histogram->nread, NBuffers, dirty));
	error = Max(error, pbp_estimate_error(histogram->nread, NBuffers, pinned));
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		error = Max(error, pbp_estimate_error(histogram->nread, NBuffers, histogram->usage[i].buffers));
	return error;
}

static void
emit_sample(ReturnSetInfo *rsinfo, const void *item,
			void *arg pg_attribute_unused())
{
	const PbpSample *sample = item;
	const PbpHistogram *histogram = &sample->histogram;
	double		seconds = (double) sample->elapsed_ns / 1e9;
	double		ticks = (double) sample->new_ticks;
	int64		usage[PBP_USAGE_LEVELS];
	int64		dirty = histogram->unused.dirty;
	int64		pinned = histogram->unused.pinned;
	Row			row = {0};

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
	{
		usage[i] = histogram->usage[i].buffers;
		dirty += histogram->usage[i].dirty;
		pinned += histogram->usage[i].pinned;
	}

	add_datum(&row, TimestampTzGetDatum(sample->taken_at));
	if (sample->elapsed_ns > 0)
		add_measure(&row, seconds);
	else
		add_null(&row);
	add_count(&row, sample->ticks);
	add_count(&row, sample->allocations);
	add_quotient(&row, ticks, seconds);
	add_quotient(&row, ticks, (double) sample->new_allocations);
	add_quotient(&row, NBuffers * seconds, ticks);
	add_datum(&row, usagecounts_array(usage));
	add_count(&row, histogram->unused.buffers);
	add_count(&row, dirty);
	add_count(&row, pinned);
	add_known_count(&row, histogram->nread < NBuffers, histogram->nread);
	add_count(&row, largest_error(histogram, dirty, pinned));
	add_count(&row, sample->looks);
	add_measure(&row, (double) sample->cpu_ns / 1e6);
	add_quotient(&row, (double) sample->cpu_ns / 1e9, seconds);
	emit_row(rsinfo, &row, HISTORY_COLS);
}

Datum
pgbufprobe_history(PG_FUNCTION_ARGS)
{
	PbpSample  *samples;
	int			nsamples;

	check_sampler_is_loaded();
	samples = pbp_history(&nsamples);
	emit_rows(fcinfo, samples, nsamples, sizeof(*samples), emit_sample, NULL);
	pfree(samples);
	return (Datum) 0;
}

Datum
pgbufprobe_history_reset(PG_FUNCTION_ARGS pg_attribute_unused())
{
	check_sampler_is_loaded();
	pbp_history_reset();
	PG_RETURN_VOID();
}

/* Why there are no estimates for any size; NULL if there are. */
static const char *
missing_advice(const PbpAdviceReport *report)
{
	if (!pbp_sampler_is_loaded())
		return "pgbufprobe is not in shared_preload_libraries, so no sampler is running";
	if (!pbp_sampler_on)
		return "pgbufprobe.sampler is off";
	if (pbp_sampler_has_no_slot())
		return "the sampler could not be registered, because max_worker_processes is too low";
	if (report->since == 0)
		return "the sampler has not taken its first sample yet";
	if (report->has_memory)
		return NULL;
	return pbp_advice_memory_kb == 0 ? "pgbufprobe.advice_memory is 0" :
		pbp_advice_memory_kb < 0 ? "the pool is too small for estimates, or memory could not be allocated" :
		"pgbufprobe.advice_memory is too small, or could not be allocated";
}

/* Why the miss ratio of one size is unknown; NULL if it is known. */
static const char *
unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row)
{
	const char *missing = missing_advice(report);

	if (missing != NULL)
		return missing;
	switch (row->reason)
	{
		case PBP_ADVICE_KNOWN:
			return NULL;
		case PBP_ADVICE_NOTHING_EVICTED:
			return "the clock hand has not completed a pass yet";
		case PBP_ADVICE_LEARNING:
			return "still learning, because too few pages have been evicted and read again so far";
		case PBP_ADVICE_LITTLE_EVIDENCE:
			return "too few recent reads for an estimate";
		case PBP_ADVICE_RARE_LOOKS:
			return "the clock hand is too fast for the sampler; a higher pgbufprobe.max_cpu_fraction allows more looks";
		case PBP_ADVICE_FAST_HAND:
			return "in a pool this small, the clock hand would complete too many passes between two looks";
		case PBP_ADVICE_UNPUBLISHED:
			return PBP_COUNTS_APART ?
				"reads are not counted, because transactions have not reported their statistics yet or WAL is being replayed" :
				"reads are not counted, because track_counts is off, transactions have not reported their statistics yet, or WAL is being replayed";
		case PBP_ADVICE_UNCOUNTED:
			return "more pages are loaded than the server counts as reads, because WAL is being replayed or statistics have not been reported yet";
		case PBP_ADVICE_UNSEEN:
			return "most reads were not observed, because their pages were evicted before the next scan";
		case PBP_ADVICE_SATURATED:
			return "more pages are in constant use than this size can hold, and usage counts do not show which are used most";
	}
	return "unknown";
}

/* What limits the value of a known estimate; NULL if nothing. */
static const char *
caveat_of_advice(const PbpAdviceReport *report, double factor)
{
	const PbpAdviceTotals *totals = &report->totals;

	if (totals->self_error < -LARGE_SELF_ERROR)
		return PBP_COUNTS_APART ?
			"many reads were not observed, because large scans or a fast clock hand evicted their pages between two looks" :
			"many reads were not observed; before PostgreSQL 16, these include reads by large scans and of temporary tables";
	if (totals->self_error > LARGE_SELF_ERROR)
		return PBP_COUNTS_APART ?
			"more pages were loaded than the server counts as reads, because COPY added pages, WAL is being replayed, or statistics have not been reported yet" :
			"more pages were loaded than the server counts as reads, because WAL is being replayed or statistics have not been reported yet";
	if (!pbp_os_cache_on)
		return "the share that the page cache serves is unknown, because pgbufprobe.os_cache is off";
	if (!PBP_COUNTS_APART)
		return "before PostgreSQL 16, the server counts large scans, new blocks and temporary tables as reads";
	if (totals->ring_reads > totals->reads)
		return factor > 1 ?
			"large scans read even more through ring buffers; if repeated often, they would occupy part of a larger pool" :
			"large scans read even more through ring buffers, which is not counted here";
	return NULL;
}

/* What the advice says about the first size that is at least this many times today's. */
Prediction
predict_size(const PbpAdviceReport *report, double factor)
{
	const PbpAdviceRow *today = &report->rows[PBP_ADVICE_BASELINE];
	Prediction	result = {.today = NAN,.then = NAN,.os_share = -1};
	int			i = 0;

	while (pbp_advice_factor(i) < factor)
		i++;
	if (unknown_advice(report, today) == NULL)
		result.today = today->miss_ratio;
	result.unknown = unknown_advice(report, &report->rows[i]);
	if (result.unknown == NULL && !(result.today > 0))
		result.unknown = "nothing was read recently";
	if (result.unknown != NULL)
		return result;
	result.then = report->rows[i].miss_ratio;
	result.os_share = report->os_cache_share[i];
	if (fabs(report->totals.self_error) > LARGE_SELF_ERROR)
		result.caveat = caveat_of_advice(report, factor);
	return result;
}

/* Time of some reads, of which the page cache serves this share; -1: unknown. */
static double
read_ms(const PbpAdviceReport *report, double reads, double os_share)
{
	double		ns = 0;

	if (os_share < 0 ||
		(os_share > 0 && report->os_read_ns < 0) || (os_share < 1 && report->storage_read_ns < 0))
		return -1;
	if (os_share > 0)
		ns += os_share * report->os_read_ns;
	if (os_share < 1)
		ns += (1 - os_share) * report->storage_read_ns;
	return reads * ns / 1e6;
}

/* NaN: unknown. */
static void
add_number(Row *row, double number)
{
	if (isnan(number))
		add_null(row);
	else
		add_measure(row, number);
}

static void
emit_advice(ReturnSetInfo *rsinfo, const PbpAdviceReport *report, int i)
{
	const PbpAdviceTotals *totals = &report->totals;
	const PbpAdviceRow *advice = &report->rows[i];
	double		factor = pbp_advice_factor(i);
	const char *unknown = unknown_advice(report, advice);
	double		os_share = report->os_cache_share[i];
	double		reads;
	double		ms;
	Row			row = {0};

	add_measure(&row, factor);
	add_rounded(&row, factor * NBuffers * BLCKSZ);
	if (unknown != NULL)
	{
		while (row.ncols < ADVICE_COLS - 1)
			add_null(&row);
		add_text(&row, unknown);
		emit_row(rsinfo, &row, ADVICE_COLS);
		return;
	}

	reads = advice->miss_ratio * totals->accesses;
	ms = read_ms(report, fabs(totals->reads - reads), os_share);
	add_measure(&row, advice->miss_ratio);
	add_rounded(&row, reads);
	add_quotient(&row, reads, totals->reads);
	add_rounded(&row, totals->reads - reads);
	add_known_measure(&row, os_share);
	if (ms >= 0)
		add_measure(&row, reads <= totals->reads ? ms : -ms);
	else
		add_null(&row);
	add_count(&row, totals->sampled_loads);
	add_number(&row, totals->self_error);
	add_number(&row, report->missed_loads);
	add_text(&row, caveat_of_advice(report, factor));
	emit_row(rsinfo, &row, ADVICE_COLS);
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = palloc0(sizeof(*report));

	if (pbp_sampler_is_loaded())
		pbp_read_advice(report);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		emit_advice((ReturnSetInfo *) fcinfo->resultinfo, report, i);
	pfree(report);
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * historyfuncs.c
 *	  SQL functions about the history of the pool.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "answers/historyfuncs.h"
#include "answers/readnames.h"
#include "answers/startfuncs.h"
#include "base/args.h"
#include "base/latency.h"
#include "base/rows.h"
#include "base/worker.h"
#include "pool/poolfuncs.h"
#include "sampler/results.h"
#include "sampler/sampler.h"
#include "sampler/statefile.h"

#define HISTORY_COLS		14

/* how long those who ask wait for a preloaded sampler, and how often they see whether it is there */
#define STARTS_WITHIN_MS	5000
#define POLL_MS				10

/* in the order of PbpHistory */
static const char *const resolution_names[] = {"fine", "coarse"};

PG_FUNCTION_INFO_V1(pgbufprobe_history);
PG_FUNCTION_INFO_V1(pgbufprobe_history_reset);

/*
 * What the sampler records is in shared memory as long as it runs.  One that is
 * preloaded starts just after the server accepts connections.
 */
void
check_sampler_runs(void)
{
	for (int i = 0; i < STARTS_WITHIN_MS / POLL_MS && pbp_sampler_is_preloaded() && !pbp_sampler_has_results(); i++)
		pbp_worker_wait(POLL_MS);
	if (!pbp_sampler_has_results())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(NO_SAMPLER),
				 errhint(HOW_TO_START ".")));
}

/* accesses, miss_ratio, read_ms_per_second, top_relations, top_read_fractions */
static void
add_reads(Row *row, const PbpSample *sample, ReadNames *names)
{
	add_count(row, sample->accesses);
	add_quotient(row, (double) sample->reads, (double) sample->accesses);
	add_quotient(row, sample->read_ms, sample->read_ms_seconds);
	add_top_reads(row, sample->top_reads, names);
}

/* age_seconds */
static void
add_age(Row *row, const PbpSample *sample)
{
	if (sample->taken_ns > 0)
		add_measure(row, (double) (pbp_now_ns() - sample->taken_ns) / PBP_NS_PER_S);
	else
		add_null(row);
}

static void
emit_sample(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpSample *sample = item;
	const PbpHistogram *histogram = &sample->histogram;
	double		seconds = (double) sample->elapsed_ns / 1e9;
	double		ticks = (double) sample->new_ticks;
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
	add_age(&row, sample);
	add_number(&row, sample->elapsed_ns > 0 ? seconds : NAN);
	add_quotient(&row, ticks, (double) sample->new_allocations);
	add_quotient(&row, (double) pool * seconds, ticks);
	add_datum(&row, usagecounts_array(usage));
	add_count(&row, dirty);
	add_count(&row, sample->looks);
	add_quotient(&row, (double) sample->cpu_ns / 1e9, seconds);
	add_reads(&row, sample, arg);
	emit_row(rsinfo, &row, HISTORY_COLS);
}

Datum
pgbufprobe_history(PG_FUNCTION_ARGS)
{
	PbpHistory	history = parse_name(fcinfo, 0, "resolution", resolution_names, lengthof(resolution_names));
	PbpSample  *samples;
	int			nsamples;

	check_sampler_runs();
	samples = pbp_history(history, &nsamples);
	emit_rows(fcinfo, samples, nsamples, sizeof(*samples), emit_sample, create_read_names());
	pfree(samples);
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

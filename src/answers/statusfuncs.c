/*-------------------------------------------------------------------------
 *
 * statusfuncs.c
 *	  The SQL function about what pgbufprobe itself does: the sampler, how much it
 *	  has learned and how far it can be trusted, and the carry-over of both caches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "answers/reasons.h"
#include "base/latency.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/shared.h"
#include "carry/carry.h"
#include "carry/carryprogress.h"
#include "sampler/history.h"
#include "sampler/sampler.h"

#define STATUS_COLS			15
#define SAMPLER_COLS		11

PG_FUNCTION_INFO_V1(pgbufprobe_status);

static const char *const phase_names[PBP_CARRY_PHASES] = {
	[PBP_CARRY_OFF] = "off",
	[PBP_CARRY_WAITING] = "waiting",
	[PBP_CARRY_SAVING] = "saving",
	[PBP_CARRY_RESTORING] = "restoring",
	[PBP_CARRY_DONE] = "done",
};

/* Without the settings, the state of a sampler is that of its process. */
static const char *
state_of_sampler(const PbpSharedHeader *header)
{
	if (header->pids[PBP_SAMPLER] != 0)
		return pbp_sampler_on ? "running" : "off";
	if (header->stopped)
		return "stopped";
	return header->segment != DSM_HANDLE_INVALID || pbp_sampler_is_preloaded() ? "ended" : "not started";
}

/* cpu_fraction */
static void
add_cpu_fraction(Row *row)
{
	PbpClockRate recent;

	(void) pbp_recent_history(&recent);
	add_quotient(row, recent.cpu_seconds, recent.seconds);
}

/* learned_fraction, seconds_left */
static void
add_learned(Row *row, const PbpAdviceReport *report)
{
	bool		evicted = report->rows[PBP_ADVICE_BASELINE].reason != PBP_ADVICE_NOTHING_EVICTED;
	double		learned = evicted ? fmin(report->decision.learned_share, 1) : 0;

	add_number(row, learned);
	add_number(row, learned < 1 ? seconds_left(report) : 0);
}

/* sampled_fraction to missed_fraction */
static void
add_trust(Row *row, const PbpAdviceReport *report)
{
	add_number(row, report->totals.sampling_rate);
	add_learned(row, report);
	add_rounded(row, report->totals.reads);
	add_number(row, report->totals.self_error);
	add_number(row, report->storage.has_memory ? report->storage.totals.self_error : NAN);
	add_number(row, report->missed_loads);
}

/* carry_over: what the worker does; none is needed while pgbufprobe.carry_over is off. */
static const char *
phase_of(const PbpSharedHeader *header, const PbpCarryProgress *progress)
{
	if (header->pids[PBP_CARRY_OVER] != 0)
		return phase_names[progress->phase];
	return pbp_carry_has_no_slot() ? "no background worker slot" : pbp_carry_over_on ? "no worker" : phase_names[PBP_CARRY_OFF];
}

/* restored_fraction, restore_seconds_left */
static void
add_restore(Row *row, const PbpCarryProgress *progress)
{
	int64		until_ns = progress->ended_ns != 0 ? progress->ended_ns : pbp_now_ns();
	double		seconds = (double) (until_ns - progress->begun_ns) / 1e9;
	int64		remaining = progress->blocks - progress->done;

	if (progress->begun_ns == 0)
		add_nulls(row, row->ncols + 2);
	else if (remaining == 0)
	{
		add_number(row, 1);
		add_number(row, 0);
	}
	else
	{
		add_share(row, progress->done, progress->blocks);
		add_quotient(row, (double) remaining * seconds, (double) progress->done);
	}
}

Datum
pgbufprobe_status(PG_FUNCTION_ARGS)
{
	PbpSharedHeader header = pbp_read_shared_header();
	PbpCarryProgress progress = pbp_carry_progress();
	const PbpAdviceReport *report = header.pids[PBP_SAMPLER] != 0 && pbp_sampler_on ? pbp_read_advice() : NULL;
	Row			row = {0};

	add_text(&row, state_of_sampler(&header));
	add_time(&row, header.pids[PBP_SAMPLER] != 0 ? header.since[PBP_SAMPLER] : 0);
	add_datum(&row, BoolGetDatum(pbp_sampler_is_preloaded()));
	add_cpu_fraction(&row);
	if (report != NULL && report->has_memory && !report->is_from_before)
		add_trust(&row, report);
	else
		add_nulls(&row, SAMPLER_COLS);
	add_text(&row, phase_of(&header, &progress));
	add_restore(&row, &progress);
	add_time(&row, progress.saved_at);
	return row_datum(fcinfo, &row, STATUS_COLS);
}

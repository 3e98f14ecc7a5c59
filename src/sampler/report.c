/*-------------------------------------------------------------------------
 *
 * report.c
 *	  A report of the advice: what it knows, what follows from it, and which size is
 *	  best by it and by the hours that were seen.
 *
 * The worker decides, and not whoever asks: what was advised before counts, and
 * all who ask must have the same answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/latency.h"
#include "base/settings.h"
#include "sampler/history.h"

/* Hours are added up as often. */
#define SUM_NS			INT64CONST(60000000000)

/* ---- waiting ---- */

/* For a second of the recent workload. */
PbpWaitingInput
pbp_waiting_input(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	return (PbpWaitingInput)
	{
		.accesses = totals->seconds > 0 ? totals->accesses / totals->seconds : NAN,
		.times = report->times,
		.misses = &report->rows[PBP_ADVICE_BASELINE],
		.storage = &report->storage.fixed[PBP_ADVICE_BASELINE],
		.varies = totals->varies,
	};
}

/* In bytes, with what is allocated beside the pool. */
int64
pbp_both_caches(const PbpAdviceReport *report)
{
	return pbp_pool_bytes(report->nbuffers * BLCKSZ) +
		report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages * BLCKSZ;
}

/* With the report's own arrays, so it must remain. */
PbpTotalsInput
pbp_totals_input(const PbpAdviceReport *report)
{
	return (PbpTotalsInput)
	{
		.misses = report->rows,
		.fixed = report->storage.fixed,
		.fits = report->may_fit,
		.splits = report->storage.splits,
		.waiting = pbp_waiting_input(report),
		.active_ms = report->active_ms,
		.advised = report->decision.size,
	};
}

/* ---- what is known ---- */

/* Returns true if storage reads are, or will become, known. */
bool
pbp_knows_storage(const PbpAdviceReport *report)
{
	return report->storage.has_memory && pbp_os_cache_on &&
		pbp_is_modelled(report->storage.model);
}

/* 0: nothing; 1: today's miss ratio; 2: enough for a decision */
static int
knowledge_of(const PbpAdviceReport *report)
{
	PbpDecisionKind kind = report->decision.kind;

	if (!report->has_memory || kind == PBP_DECIDE_UNKNOWN || kind == PBP_DECIDE_IDLE ||
		kind == PBP_KEEP_UNUSED)
		return 0;
	if (kind == PBP_DECIDE_SHORT)
		return report->rows[PBP_ADVICE_BASELINE].reason == PBP_ADVICE_KNOWN;
	return kind == PBP_DECIDE_EARLY ? 1 : 2;
}

/*
 * Returns true if a report of before a restart knows more than the latest one.
 * One that was published without memory says why there is no advice.
 */
bool
pbp_knows_more(const PbpAdviceReport *before, const PbpAdviceReport *latest)
{
	if (latest->made_at != 0 && !latest->has_memory)
		return false;
	return knowledge_of(before) > knowledge_of(latest);
}

/* ---- decisions, for the worker ---- */

static PbpHoursSum last_hours;
static int64 summed_ns;			/* when these were added up; 0: never */
static int64 advised_buffers;	/* 0: nothing yet */

/* Begins with what is published, which may be of before a restart. */
void
pbp_reset_decisions(void)
{
	PbpAdviceReport *report = pbp_read_advice();

	summed_ns = 0;
	advised_buffers = !report->has_memory ? 0 :
		(int64) (pbp_advice_factor(report->decision.size) * (double) report->nbuffers);
	pfree(report);
}

/* Sets the decision of a report that is complete otherwise. */
void
pbp_decide_report(PbpAdviceReport *report)
{
	PbpCompared waiting[PBP_ADVICE_FACTORS];
	PbpWaitingInput now = pbp_waiting_input(report);
	bool		known = pbp_knows_storage(report);
	PbpDecisionInput input = {
		.fits = report->may_fit,
		.misses = report->rows,
		.storage = known ? report->storage.fixed : NULL,
		.waiting = known ? waiting : NULL,
		.active_ms = report->active_ms,
		.varies = report->totals.varies,
		.hours = &last_hours,
		.watched_seconds = report->watched_seconds,
		.wanted_hours = pbp_decision_hours,
		.advised_before = pbp_size_of_factor((double) advised_buffers / NBuffers),
		.loaded = report->loaded,
		.evicted = pbp_has_evicted(),
		.probed = !report->times.measured,
		.spare_memory = known && report->storage.data_bytes <=
		report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages * BLCKSZ,
		.doubtful = report->storage.model == PBP_STORAGE_UNPROVEN,
		.unsettled = report->totals.change != PBP_NO_CHANGE ||
		fabs(report->totals.self_error) > LARGE_SELF_ERROR,
	};

	if (summed_ns == 0 || pbp_now_ns() - summed_ns >= SUM_NS)
	{
		summed_ns = pbp_now_ns();
		(void) pbp_sum_decision_hours(NULL, &last_hours);
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		waiting[i] = pbp_waiting(&now, &report->rows[i], &report->storage.fixed[i]);
	report->decision = pbp_decide(&input);
	/* while nothing is known, what was advised before remains */
	if (report->decision.verdict != PBP_VERDICT_UNKNOWN)
		advised_buffers = (int64) (pbp_advice_factor(report->decision.size) * NBuffers);
}

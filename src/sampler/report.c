/*-------------------------------------------------------------------------
 *
 * report.c
 *	  A report of the advice: what it knows, and what follows from it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/settings.h"
#include "sampler/report.h"

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
	};
}

/* In bytes, with what is allocated beside the pool. */
int64
pbp_both_caches(const PbpAdviceReport *report)
{
	return pbp_pool_bytes(report->nbuffers * BLCKSZ) +
		report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages * BLCKSZ;
}

/* Which sizes fit is set in an array of the caller. */
PbpTotalsInput
pbp_totals_input(const PbpAdviceReport *report, bool *fits)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		fits[i] = pbp_may_fit(report, i);
	return (PbpTotalsInput)
	{
		.misses = report->rows,
		.fixed = report->storage.fixed,
		.fits = fits,
		.splits = report->storage.splits,
		.waiting = pbp_waiting_input(report),
		.active_ms = report->active_ms,
		.advised = report->decision.size,
	};
}

/* ---- decisions ---- */

/* Returns true if this size fits, as far as known. */
bool
pbp_may_fit(const PbpAdviceReport *report, int size)
{
	PbpFit		fit = report->storage.fits[size];

	return size == PBP_ADVICE_BASELINE || !report->storage.has_memory ||
		fit == PBP_FITS || fit == PBP_FIT_UNKNOWN;
}

/* Returns true if storage reads are, or will become, known. */
bool
pbp_knows_storage(const PbpAdviceReport *report)
{
	return report->storage.has_memory && pbp_os_cache_on &&
		(report->storage.model == PBP_STORAGE_MODELLED ||
		 report->storage.model == PBP_STORAGE_UNPROVEN);
}

/* 0: nothing; 1: today's miss ratio; 2: enough for a decision */
static int
knowledge_of(const PbpAdviceReport *report)
{
	PbpDecisionKind kind;

	if (!report->has_memory)
		return 0;
	kind = report->decision.kind;
	if (kind == PBP_DECIDE_UNKNOWN || kind == PBP_DECIDE_IDLE || kind == PBP_KEEP_UNUSED)
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

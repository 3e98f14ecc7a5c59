/*-------------------------------------------------------------------------
 *
 * deciding.c
 *	  Which size is best, by a report and by the hours that were seen.
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
#include "pool/pool.h"
#include "sampler/deciding.h"
#include "sampler/hours.h"

/* Hours are added up as often. */
#define SUM_NS			INT64CONST(60000000000)

/* Sizes closer than this are the same: page counts are rounded. */
#define SAME_SIZE		0.001

/* Begins with what is published, which may be of before a restart. */
void
pbp_reset_decider(PbpDecider *decider)
{
	PbpAdviceReport *report = pbp_read_advice();

	memset(decider, 0, sizeof(*decider));
	if (report->has_memory)
		decider->advised_buffers =
			(int64) (pbp_advice_factor(report->decision.size) * (double) report->nbuffers);
	pfree(report);
}

static void
sum_hours(PbpDecider *decider)
{
	int64		now_ns = pbp_now_ns();

	if (decider->summed_ns != 0 && now_ns - decider->summed_ns < SUM_NS)
		return;
	decider->summed_ns = now_ns;
	(void) pbp_sum_decision_hours(NULL, &decider->sum);
}

/* What was advised before, as a size of today's pool; -1: nothing, or another one. */
static int
advised_before(const PbpDecider *decider)
{
	double		factor = (double) decider->advised_buffers / NBuffers;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (fabs(factor / pbp_advice_factor(i) - 1) <= SAME_SIZE)
			return i;
	return -1;
}

/* True if the page cache could hold all data today, or that is unknown. */
static bool
has_spare_memory(const PbpAdviceReport *report)
{
	const PbpStorageReport *storage = &report->storage;

	return pbp_knows_storage(report) &&
		storage->data_bytes <= storage->fixed[PBP_ADVICE_BASELINE].os_cache_pages * BLCKSZ;
}

void
pbp_decide_report(PbpDecider *decider, PbpAdviceReport *report)
{
	bool		fits[PBP_ADVICE_FACTORS];
	PbpCompared waiting[PBP_ADVICE_FACTORS];
	PbpWaitingInput now = pbp_waiting_input(report);
	PbpDecisionInput input = {.fits = fits,.misses = report->rows};

	sum_hours(decider);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		fits[i] = pbp_may_fit(report, i);
		waiting[i] = pbp_waiting(&now, &report->rows[i], &report->storage.fixed[i]);
	}
	if (pbp_knows_storage(report))
	{
		input.storage = report->storage.fixed;
		input.waiting = waiting;
	}
	input.active_ms = report->active_ms;
	input.hours = &decider->sum;
	input.watched_seconds = report->watched_seconds;
	input.wanted_hours = pbp_decision_hours;
	input.advised_before = advised_before(decider);
	input.loaded = report->counted.hits + report->counted.reads >= NBuffers;
	input.evicted = pbp_has_evicted();
	input.probed = !report->times.measured;
	input.spare_memory = has_spare_memory(report);
	input.doubtful = report->storage.model == PBP_STORAGE_UNPROVEN;
	input.unsettled = report->totals.change != PBP_NO_CHANGE ||
		fabs(report->totals.self_error) > LARGE_SELF_ERROR;
	report->decision = pbp_decide(&input);
	/* while nothing is known, what was advised before remains */
	if (report->decision.verdict != PBP_VERDICT_UNKNOWN)
		decider->advised_buffers = (int64) (pbp_advice_factor(report->decision.size) * NBuffers);
}

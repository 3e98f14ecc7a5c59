/*-------------------------------------------------------------------------
 *
 * checkupsize.c
 *	  The first answer of the checkup, which size shared_buffers should have:
 *	  the decision, its figures, and how certain they are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "answers/checkupsize.h"
#include "answers/reasons.h"
#include "base/words.h"

/* Share of block accesses that half the pool may add where it is enough. */
#define ADDED_ACCESSES		0.001

/* Share of the reads that twice the pool saves where that is worth a word. */
#define SAVED_READS			0.1

static char *
size_of(const PbpAdviceReport *report, int size)
{
	return pretty_size((int64) (pbp_advice_factor(size) * (double) report->nbuffers));
}

/* A share of accesses, with its interval. */
static char *
pretty_interval(double share, double uncertainty)
{
	if (uncertainty >= share)
		return psprintf("%s (at most %s)", pretty_percent(share), pretty_number(100 * Min(share + uncertainty, 1)));
	return psprintf("%s (%s to %s)", pretty_percent(share),
					pretty_number(100 * Max(share - uncertainty, 0)),
					pretty_number(100 * Min(share + uncertainty, 1)));
}

/* The figure by which sizes were compared. */
static char *
figure_of(const PbpAdviceReport *report, const PbpDecision *decision, int size)
{
	const PbpAdviceRow *misses = &report->rows[size];
	const PbpAdviceStorageRow *storage = &report->storage.fixed[size];

	if (decision->by_storage)
		return pretty_interval(storage->storage_ratio, storage->uncertainty);
	return misses->uncertainty > 0 ? pretty_interval(misses->miss_ratio, misses->uncertainty) :
		pretty_percent(misses->miss_ratio);
}

/* On what the figures stand. */
static const char *
evidence(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;
	const char *caveat = fabs(totals->self_error) > LARGE_SELF_ERROR ? caveat_of_advice(report) : NULL;

	return psprintf(" Ranges are 95 %% intervals, from %.0f reads in %s.%s", totals->reads, pretty_duration(totals->seconds),
					caveat ? psprintf(" They are uncertain: %s.", caveat) : "");
}

/* Reads from storage are unknown, or their model is unproven. */
static const char *
doubt_about_storage(const PbpAdviceReport *report, const PbpDecision *decision)
{
	const char *unknown = unknown_storage_model(report);

	if (decision->by_storage)
		return report->storage.model == PBP_STORAGE_UNPROVEN ?
			" This kernel evicts by MGLRU, for which the simulation of the page cache is unproven." : "";
	return psprintf(" It is unknown which reads wait for storage%s.",
					unknown ? psprintf(", because %s", unknown) : "");
}

static const char *
doubts(const PbpAdviceReport *report, const PbpDecision *decision)
{
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	const char *about_storage = doubt_about_storage(report, decision);

	return twice->reason != PBP_ADVICE_SCANS ? about_storage :
		psprintf("%s Larger sizes are unknown: %s.", about_storage, unknown_advice(report, twice));
}

/* What a smaller pool would cost, if nearly nothing. */
static const char *
smaller_is_enough(const PbpAdviceReport *report)
{
	const PbpAdviceRow *half = &report->rows[PBP_ADVICE_HALF];
	double		added = half->miss_ratio - report->rows[PBP_ADVICE_BASELINE].miss_ratio;

	if (half->reason != PBP_ADVICE_KNOWN || added + half->uncertainty > ADDED_ACCESSES)
		return "";
	return psprintf(" If the memory is needed elsewhere, %s is enough.", size_of(report, PBP_ADVICE_HALF));
}

/* What twice the pool would avoid, if that is much but does not decide. */
static const char *
avoided_reads(const PbpAdviceReport *report, const char *but)
{
	double		today = report->rows[PBP_ADVICE_BASELINE].miss_ratio;
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	double		avoided = 1 - twice->miss_ratio / today;

	if (twice->reason != PBP_ADVICE_KNOWN || !(avoided > SAVED_READS))
		return "";
	return psprintf(" %s would avoid %.0f %% of the reads, but %s.", size_of(report, PBP_ADVICE_DOUBLE), 100 * avoided, but);
}

static void
take(const PbpAdviceReport *report, const PbpDecision *decision, Answer *answer)
{
	const char *size = size_of(report, decision->size);
	const char *doubt = doubts(report, decision);
	int64		cache = report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages;

	answer->value = pbp_advice_factor(decision->size);
	if (!decision->by_storage)
	{
		answer->text = psprintf("Perhaps take %s: %s of block accesses would be reads, instead of %s.%s%s", size,
								figure_of(report, decision, decision->size),
								figure_of(report, decision, PBP_ADVICE_BASELINE), doubt, evidence(report));
		judge(answer, "look", psprintf("Check with pgbufprobe_read_cost() whether reads wait for storage. "
									   "If they do, and the machine has the memory, set shared_buffers to %s and restart the server.", size));
		return;
	}
	answer->text = psprintf("Take %s of the %s that the pool and the page cache have: "
							"%s of block accesses would wait for storage, instead of %s.%s%s",
							size, pretty_size(report->nbuffers + cache), figure_of(report, decision, decision->size),
							figure_of(report, decision, PBP_ADVICE_BASELINE), doubt, evidence(report));
	if (doubt[0] != '\0' || fabs(report->totals.self_error) > LARGE_SELF_ERROR)
		judge(answer, "look", psprintf("Let the real workload run longer and ask again. "
									   "If the answer remains, set shared_buffers to %s and restart the server.", size));
	else
		judge(answer, "act", psprintf("Set shared_buffers to %s and restart the server.", size));
}

/* Why today's size is kept although there are reads. */
static char *
why_keep(const PbpAdviceReport *report, const PbpDecision *decision)
{
	const char *reads = decision->by_storage ? "storage reads" : "reads";
	const char *what = decision->by_storage ? "of block accesses wait for storage" : "of block accesses are reads";
	const char *today = figure_of(report, decision, PBP_ADVICE_BASELINE);

	if (decision->best < 0)
		return psprintf("no other size has an estimate. Today %s %s.", today, what);
	return psprintf(decision->matters_too_little ?
					"no size that fits saves enough %s to matter. Today %s %s; with %s it would be %s." :
					"no size that fits saves more %s than the error. Today %s %s; with %s it would be %s.",
					reads, today, what, size_of(report, decision->best), figure_of(report, decision, decision->best));
}

static void
keep(const PbpAdviceReport *report, const PbpDecision *decision, Answer *answer)
{
	const char *today = pretty_size(report->nbuffers);
	double		misses = report->rows[PBP_ADVICE_BASELINE].miss_ratio;

	answer->value = 1;
	if (decision->kind == PBP_KEEP_FEW_READS)
		answer->text = psprintf("Keep %s: hardly anything is read. Only %s of block accesses are reads.%s", today,
								pretty_percent(misses), smaller_is_enough(report));
	else if (decision->kind == PBP_KEEP_CACHED)
		answer->text = psprintf("Keep %s: the page cache serves nearly all reads already. %s of block accesses are reads, "
								"but only %s wait for storage.%s%s%s%s", today, pretty_percent(misses),
								figure_of(report, decision, PBP_ADVICE_BASELINE),
								avoided_reads(report, "these come from the page cache, so sessions would hardly wait less"),
								smaller_is_enough(report), doubt_about_storage(report, decision), evidence(report));
	else
		answer->text = psprintf("Keep %s: %s%s%s%s", today, why_keep(report, decision),
								smaller_is_enough(report), doubts(report, decision), evidence(report));
}

/* Until today's size, half and twice of it are known.  NaN: this is unknown. */
static double
seconds_left(const PbpAdviceReport *report)
{
	static const int needed[] = {PBP_ADVICE_HALF, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE};
	double		seconds = NAN;

	for (size_t i = 0; i < lengthof(needed); i++)
	{
		seconds = fmax(seconds, report->rows[needed[i]].seconds_left);
		if (pbp_knows_storage(report) && pbp_may_fit(report, needed[i]))
			seconds = fmax(seconds, report->storage.fixed[needed[i]].seconds_left);
	}
	return seconds;
}

static char *
too_early(const PbpAdviceReport *report, const PbpDecision *decision)
{
	if (decision->kind == PBP_DECIDE_SHORT)
		return psprintf("Too early to decide: the worker has watched the workload for only %s.",
						pretty_duration((double) (report->made_at - report->since) / USECS_PER_SEC));
	return psprintf("Too early to decide: %.0f %% of the reads needed have been seen%s.%s",
					floor(100 * decision->learned_share), rest_of_learning(report, seconds_left(report)),
					avoided_reads(report, "it is unknown yet how many of these wait for storage"));
}

static void
answer_decision(const PbpAdviceReport *report, Answer *answer)
{
	PbpDecision decision = pbp_decide_report(report);

	if (decision.kind == PBP_DECIDE_UNKNOWN)
		answer_unknown(answer, unknown_advice(report, &report->rows[report->rows[PBP_ADVICE_BASELINE].reason != PBP_ADVICE_KNOWN ?
																	PBP_ADVICE_BASELINE : PBP_ADVICE_DOUBLE]));
	else if (decision.kind == PBP_DECIDE_SHORT || decision.kind == PBP_DECIDE_EARLY)
	{
		judge(answer, "unknown", NULL);
		answer->text = too_early(report, &decision);
	}
	else if (decision.kind == PBP_TAKE)
		take(report, &decision, answer);
	else
		keep(report, &decision, answer);
}

/* What the answer was before a restart.  It says nothing for certain about the server now. */
static void
answer_from_before(const PbpAdviceReport *report, Answer *answer)
{
	answer_decision(report, answer);
	answer->text = psprintf("Too early to decide. The answer %s: %s", origin_of_report(report), answer->text);
	if (report->nbuffers != NBuffers)
	{
		answer->value = NAN;
		judge(answer, "unknown", NULL);
	}
	else if (answer->action != NULL)
		judge(answer, "look", "Let the real workload run longer and ask again.");
}

/*
 * Only sizes that fit are advised.  Errors of the advice make the verdict
 * milder; where they are larger than what is saved, today's size is kept.
 */
void
answer_size(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = &checkup->advice;
	const char *missing = missing_advice(report);

	if (missing == NULL && report->is_from_before)
		answer_from_before(report, answer);
	else if (!checkup->evicted)
	{
		answer->value = 1;
		answer->text = psprintf("Keep %s so far: %s are in use, and no page has been evicted since the server started, "
								"except from the ring buffers of large scans.",
								pretty_size(NBuffers), pretty_size(checkup->used));
	}
	else if (missing != NULL)
		answer_unknown(answer, missing);
	else
		answer_decision(report, answer);
}

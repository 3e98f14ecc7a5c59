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

#include "answers/answer.h"
#include "answers/reasons.h"
#include "answers/resize.h"
#include "answers/sentences.h"
#include "answers/startfuncs.h"
#include "base/settings.h"
#include "base/words.h"
#include "sampler/results.h"

/* Share of block accesses that half the pool may add where it is enough. */
#define ADDED_ACCESSES		0.001

/* Share of the reads that twice the pool saves where that is worth a word. */
#define SAVED_READS			0.1

static char *
size_of(const PbpAdviceReport *report, int size)
{
	return exact_size((int64) (pbp_advice_factor(size) * (double) report->nbuffers));
}

/* Percent of accesses, with the interval. */
static char *
pretty_share(double share, double uncertainty)
{
	return pretty_interval(100 * share, 100 * Max(share - uncertainty, 0), 100 * Min(share + uncertainty, 1), "%");
}

/* The figure by which sizes were compared. */
static char *
figure_of(const PbpDecision *decision, int size)
{
	const PbpCompared *choice = &decision->choices[size];

	return decision->basis <= PBP_BY_STORAGE ? pretty_share(choice->value, choice->error) : pretty_waiting(choice);
}

/* What there is today, of that by which sizes were compared. */
static char *
today_is(const PbpDecision *decision)
{
	const char *figure = figure_of(decision, PBP_ADVICE_BASELINE);

	return decision->basis == PBP_BY_MISSES ? psprintf(TODAY_READS, figure) :
		decision->basis == PBP_BY_STORAGE ? psprintf(TODAY_STORAGE, figure) : psprintf(TODAY_TIME, figure);
}

/* Where the server does not time its reads, probes say how long these take. */
static const char *
source_of_times(const PbpAdviceReport *report)
{
	return report->decision.basis >= PBP_BY_WAITING && !report->times.measured ? MORE_PROBED : NULL;
}

/* On what the figures stand. */
static const char *
evidence(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;
	const PbpDecision *decision = &report->decision;
	const char *caveat = totals->change != PBP_NO_CHANGE || fabs(totals->self_error) > LARGE_SELF_ERROR ? caveat_of_advice(report) : NULL;

	if (decision->basis == PBP_BY_HOURS)
		return join_sentences(psprintf(MORE_HOURS, pretty_hours(decision->seen_seconds, decision->wanted_seconds)), source_of_times(report));
	return join_sentences(psprintf(MORE_EVIDENCE, totals->reads, pretty_duration(totals->seconds), 100 * totals->sampling_rate),
						  join_sentences(source_of_times(report), caveat ? psprintf(MORE_UNCERTAIN, caveat) : NULL));
}

/* Reads from storage are unknown, or their model is unproven; NULL: they are known. */
static const char *
doubt_about_storage(const PbpAdviceReport *report)
{
	const char *unknown = unknown_storage_model(report);

	if (report->decision.basis != PBP_BY_MISSES)
		return report->storage.model == PBP_STORAGE_UNPROVEN ? MORE_MGLRU : NULL;
	return psprintf(MORE_NO_STORAGE, unknown ? ", because " : "", unknown ? unknown : "");
}

static const char *
doubts(const PbpAdviceReport *report)
{
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	const char *about_storage = doubt_about_storage(report);

	if (report->decision.basis == PBP_BY_HOURS)
		return join_sentences(about_storage,
							  pbp_may_fit(report, PBP_ADVICE_DOUBLE) && isnan(report->decision.choices[PBP_ADVICE_DOUBLE].value) ?
							  psprintf(MORE_TWICE, size_of(report, PBP_ADVICE_DOUBLE)) : NULL);
	return join_sentences(about_storage,
						  twice->reason == PBP_ADVICE_SCANS ? psprintf(MORE_LARGER, unknown_advice(report, twice)) : NULL);
}

/* What a smaller pool would cost now, if nearly nothing. */
static const char *
smaller_is_enough(const PbpAdviceReport *report)
{
	const PbpAdviceRow *half = &report->rows[PBP_ADVICE_HALF];
	double		added = half->miss_ratio - report->rows[PBP_ADVICE_BASELINE].miss_ratio;

	if (report->decision.basis == PBP_BY_HOURS || !pbp_may_fit(report, PBP_ADVICE_HALF) || half->reason != PBP_ADVICE_KNOWN ||
		added + half->change_error > ADDED_ACCESSES)
		return NULL;
	return psprintf(MORE_SMALLER, size_of(report, PBP_ADVICE_HALF));
}

/* What twice the pool would avoid now, if that is much but does not decide. */
static const char *
avoided_reads(const PbpAdviceReport *report, const char *but)
{
	double		today = report->rows[PBP_ADVICE_BASELINE].miss_ratio;
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	double		avoided = today > 0 ? 1 - twice->miss_ratio / today : 0;

	if (report->decision.basis == PBP_BY_HOURS || twice->reason != PBP_ADVICE_KNOWN || !(avoided > SAVED_READS))
		return NULL;
	return psprintf(MORE_AVOIDED, size_of(report, PBP_ADVICE_DOUBLE), 100 * avoided, but);
}

/* ---- another size ---- */

/* What the advised size saves, as a share of this, with the interval. */
static char *
saved_share(const PbpCompared *choice, double whole)
{
	double		saved = -100 * choice->change / whole;
	double		error = 100 * choice->change_error / whole;

	return pretty_interval(Min(saved, 100), saved - error, Min(saved + error, 100), "%");
}

static char *
say_take(const PbpDecision *decision, const char *size)
{
	const PbpCompared *choice = &decision->choices[decision->size];
	double		today = decision->choices[PBP_ADVICE_BASELINE].value;

	if (decision->basis < PBP_BY_WAITING)
		return psprintf(decision->basis == PBP_BY_STORAGE ? SAY_TAKE_STORAGE : SAY_TAKE_READS, size, saved_share(choice, today));
	if (decision->active_ms > 0)
		return psprintf(SAY_TAKE_WORK, size, saved_share(choice, decision->active_ms));
	return psprintf(SAY_TAKE_WAIT, size, pretty_interval(-choice->change, -choice->change - choice->change_error,
														 -choice->change + choice->change_error, "ms/s"));
}

static const char *
more_about_take(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;
	const char *then = figure_of(decision, decision->size);
	const char *today = figure_of(decision, PBP_ADVICE_BASELINE);

	if (decision->basis >= PBP_BY_WAITING)
		return psprintf(MORE_TAKE_TIME, then, today);
	return psprintf(MORE_TAKE_SHARE, then, decision->basis == PBP_BY_STORAGE ? "wait for storage" : "be reads", today);
}

/* Sizes that are as good as the best, unless today's is one of them. */
static const char *
equals(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->equal_from >= decision->equal_to ||
		(decision->equal_from <= PBP_ADVICE_BASELINE && decision->equal_to >= PBP_ADVICE_BASELINE))
		return NULL;
	return psprintf(MORE_EQUAL, size_of(report, decision->equal_from), size_of(report, decision->equal_to));
}

/* What to do first if it is not certain enough to be done at once, as a comment above the statements. */
static const char *
what_first(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->basis == PBP_BY_MISSES)
		return CHECK_READS;
	if (decision->times_decide)
		return IF_IT_REMAINS;
	if (decision->confidence == PBP_SURE)
		return IF_MEMORY_IS_NEEDED;
	if (decision->seen_seconds < pbp_decision_hours * PBP_SECONDS_PER_HOUR)
		return psprintf(SEE_MORE_HOURS, pbp_decision_hours);
	return SEE_MORE;
}

static void
take(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	int64		cache = report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages;
	char	   *action = resize_action((int64) rint(pbp_advice_factor(decision->size) * (double) report->nbuffers));

	answer->text = say_take(decision, size_of(report, decision->size));
	answer->detail = join_sentences(more_about_take(report), decision->basis == PBP_BY_MISSES ? NULL :
									psprintf(MORE_TAKE, pretty_size(report->nbuffers + cache)));
	add_detail(answer, equals(report));
	add_detail(answer, doubts(report));
	add_detail(answer, evidence(report));
	judge(answer, name_of_verdict(decision->verdict),
		  decision->verdict == PBP_VERDICT_CHANGE ? action : psprintf("%s\n%s", what_first(report), action));
}

/* ---- today's size ---- */

/* What another size may save. */
static const char *
what_is_saved(const PbpDecision *decision)
{
	return decision->basis == PBP_BY_MISSES ? "reads" : decision->basis == PBP_BY_STORAGE ? "storage reads" : "waiting";
}

/* Why today's size is kept although there are reads. */
static char *
say_keep(const PbpAdviceReport *report, const char *today)
{
	const PbpDecision *decision = &report->decision;

	if (decision->best < 0)
		return psprintf(SAY_KEEP_ALONE, today);
	if (decision->equal_from < decision->equal_to &&
		decision->equal_from <= PBP_ADVICE_BASELINE && decision->equal_to >= PBP_ADVICE_BASELINE)
		return psprintf(SAY_KEEP_EQUAL, today, size_of(report, decision->equal_from), size_of(report, decision->equal_to));
	return psprintf(decision->matters_too_little ? SAY_KEEP_LITTLE : SAY_KEEP_ERROR, today, what_is_saved(decision));
}

static const char *
with_best(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	return decision->best < 0 ? NULL :
		psprintf(MORE_BEST, size_of(report, decision->best), figure_of(decision, decision->best));
}

static void
keep(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const PbpDecision *decision = &report->decision;
	const char *today = exact_size(report->nbuffers);
	const char *known = decision->kind == PBP_KEEP_UNUSED ? NULL : today_is(decision);
	const char *smaller = decision->kind == PBP_KEEP_UNUSED ? NULL : smaller_is_enough(report);

	if (decision->kind == PBP_KEEP_UNUSED)
	{
		answer->text = psprintf(SAY_KEEP_UNUSED, today);
		answer->detail = psprintf(MORE_KEEP_UNUSED, pretty_size(checkup->used));
	}
	else if (decision->kind == PBP_KEEP_FEW_READS)
	{
		answer->text = psprintf(SAY_KEEP_FEW, today);
		answer->detail = decision->basis == PBP_BY_HOURS ? join_sentences(known, evidence(report)) :
			join_sentences(psprintf(MORE_KEEP_FEW, pretty_percent(report->rows[PBP_ADVICE_BASELINE].miss_ratio)), smaller);
	}
	else if (decision->kind == PBP_KEEP_CACHED)
	{
		answer->text = psprintf(decision->basis == PBP_BY_STORAGE ? SAY_KEEP_CACHED : SAY_KEEP_SHORT_WAIT, today);
		add_detail(answer, known);
		add_detail(answer, avoided_reads(report, BUT_WAIT));
		add_detail(answer, smaller);
		add_detail(answer, doubt_about_storage(report));
		add_detail(answer, evidence(report));
	}
	else
	{
		answer->text = say_keep(report, today);
		add_detail(answer, known);
		add_detail(answer, with_best(report));
		add_detail(answer, smaller);
		add_detail(answer, doubts(report));
		add_detail(answer, evidence(report));
	}
	judge(answer, name_of_verdict(decision->verdict), NULL);
}

/* ---- no decision ---- */

static void
too_early(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	int			watched = (int) Min(report->watched_seconds, PBP_ENOUGH_SECONDS - 1);
	double		left = seconds_left(report);

	judge(answer, "unknown", ASK_AGAIN);
	if (decision->kind == PBP_DECIDE_SHORT)
	{
		/* in whole seconds, of which at least one is left */
		answer->text = psprintf(SAY_WATCHED, watched, PBP_ENOUGH_SECONDS);
		answer->action = psprintf(ASK_IN_SECONDS, PBP_ENOUGH_SECONDS - watched);
	}
	else if (decision->kind == PBP_DECIDE_IDLE)
		answer->text = SAY_IDLE;
	else
	{
		answer->text = psprintf(SAY_EARLY, floor(100 * decision->learned_share));
		answer->detail = avoided_reads(report, BUT_UNKNOWN);
		if (!report->is_from_before && left > 0)
			answer->action = psprintf(ASK_IN, pretty_duration(left));
	}
}

/* The best size would save enough to matter, but not for certain. */
static void
not_certain(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	const PbpCompared *best = &decision->choices[decision->best];
	double		share = 100 / decision->choices[PBP_ADVICE_BASELINE].value;
	double		least = Max(100 + (best->change - best->change_error) * share, 0);
	double		most = 100 + (best->change + best->change_error) * share;

	answer->text = psprintf(SAY_UNSURE, exact_size(report->nbuffers));
	answer->detail = psprintf(MORE_UNSURE, size_of(report, decision->best),
							  pretty_interval(100 + best->change * share, least, most, "%"), what_is_saved(decision),
							  best->change_error < -best->change ? BEST_OF_MANY : "");
	add_detail(answer, today_is(decision));
	add_detail(answer, doubts(report));
	add_detail(answer, evidence(report));
	judge(answer, "unknown", decision->times_decide ? THEN_ASK : ASK_AGAIN);
}

/* Why nothing is decided, now or by the hours. */
static const char *
why_unknown(const PbpAdviceReport *report)
{
	bool		today = report->rows[PBP_ADVICE_BASELINE].reason == PBP_ADVICE_KNOWN;
	const char *unknown = unknown_advice(report, &report->rows[today ? PBP_ADVICE_DOUBLE : PBP_ADVICE_BASELINE]);

	if (report->decision.basis == PBP_BY_HOURS)
		return "other sizes were known in too little of the hours";
	return unknown != NULL ? unknown : "no other size that fits has an estimate";
}

static void
answer_decision(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const PbpDecision *decision = &report->decision;

	if (decision->kind == PBP_DECIDE_UNKNOWN)
		answer_unknown(answer, why_unknown(report));
	else if (decision->kind < PBP_DECIDE_UNSURE)
		too_early(report, answer);
	else if (decision->kind == PBP_DECIDE_UNSURE)
		not_certain(report, answer);
	else if (decision->kind == PBP_TAKE)
		take(report, answer);
	else
		keep(checkup, answer);
}

/* What the answer was before a restart.  It says nothing for certain about the server now. */
static void
answer_from_before(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;

	answer_decision(checkup, answer);
	answer->detail = join_sentences(psprintf(MORE_RESTARTED, origin_of_report(report), answer->text), answer->detail);
	answer->text = SAY_RESTARTED;
	if (report->nbuffers != NBuffers)
		judge(answer, "unknown", ASK_AGAIN);
	else if (report->decision.kind == PBP_TAKE)
		judge(answer, "consider", ASK_AGAIN);
}

/*
 * Only sizes that fit are advised.  Errors of the advice make the verdict
 * milder; where they are larger than what is saved, today's size is kept.
 */
void
answer_size(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const char *missing = missing_advice(report);

	if (missing != NULL)
	{
		answer_unknown(answer, missing);
		answer->action = start_action(checkup->function, ASK_AGAIN);
	}
	else if (report->is_from_before)
		answer_from_before(checkup, answer);
	else
		answer_decision(checkup, answer);
}

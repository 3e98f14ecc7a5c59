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
#include "answers/startfuncs.h"
#include "base/settings.h"
#include "base/words.h"
#include "sampler/results.h"

/* Needs no restart; what follows is a comment of its own line. */
#define TIME_READS			"-- The server's own times are more precise than those of probes:\n" \
	"ALTER SYSTEM SET track_io_timing = on;\nSELECT pg_reload_conf();\n"

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
figure_of(const PbpDecision *decision, int size)
{
	const PbpCompared *choice = &decision->choices[size];

	if (decision->basis <= PBP_BY_STORAGE)
		return choice->error > 0 ? pretty_interval(choice->value, choice->error) : pretty_percent(choice->value);
	return pretty_waiting(choice);
}

/* What there is today, of that by which sizes were compared. */
static char *
today_is(const PbpDecision *decision)
{
	const char *figure = figure_of(decision, PBP_ADVICE_BASELINE);

	switch (decision->basis)
	{
		case PBP_BY_MISSES:
			return psprintf("%s of block accesses are reads", figure);
		case PBP_BY_STORAGE:
			return psprintf("%s of block accesses wait for storage", figure);
		case PBP_BY_WAITING:
		case PBP_BY_HOURS:
			break;
	}
	return psprintf("sessions wait %s for reads in each second", figure);
}

/* Where the server does not time its reads, probes say how long these take. */
static const char *
source_of_times(const PbpAdviceReport *report)
{
	return report->decision.basis >= PBP_BY_WAITING && !report->times.measured ?
		" Times are those of probes, and less certain than the server's own with track_io_timing." : "";
}

/* On what the figures stand. */
static const char *
evidence(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;
	const PbpDecision *decision = &report->decision;
	const char *caveat = totals->change != PBP_NO_CHANGE || fabs(totals->self_error) > LARGE_SELF_ERROR ? caveat_of_advice(report) : NULL;

	if (decision->basis == PBP_BY_HOURS)
		return psprintf(" Ranges are 95 %% intervals. Seen: %s.%s",
						pretty_hours(decision->seen_seconds, decision->wanted_seconds), source_of_times(report));
	return psprintf(" Ranges are 95 %% intervals, from %.0f reads in %s and %.2g %% of the pages.%s%s", totals->reads, pretty_duration(totals->seconds),
					100 * totals->sampling_rate, source_of_times(report), caveat ? psprintf(" They are uncertain: %s.", caveat) : "");
}

/* Reads from storage are unknown, or their model is unproven. */
static const char *
doubt_about_storage(const PbpAdviceReport *report)
{
	const char *unknown = unknown_storage_model(report);

	if (report->decision.basis != PBP_BY_MISSES)
		return report->storage.model == PBP_STORAGE_UNPROVEN ?
			" This kernel evicts by MGLRU, for which the simulation of the page cache is unproven." : "";
	return psprintf(" It is unknown which reads wait for storage%s.",
					unknown ? psprintf(", because %s", unknown) : "");
}

static const char *
doubts(const PbpAdviceReport *report)
{
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	const char *about_storage = doubt_about_storage(report);

	if (report->decision.basis == PBP_BY_HOURS)
		return pbp_may_fit(report, PBP_ADVICE_DOUBLE) && isnan(report->decision.choices[PBP_ADVICE_DOUBLE].value) ?
			psprintf("%s %s was known in too little of these hours.", about_storage, size_of(report, PBP_ADVICE_DOUBLE)) : about_storage;
	return twice->reason != PBP_ADVICE_SCANS ? about_storage :
		psprintf("%s Larger sizes are unknown: %s.", about_storage, unknown_advice(report, twice));
}

/* Sizes that are as good as the best. */
static const char *
equals(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->equal_from >= decision->equal_to ||
		(decision->equal_from <= PBP_ADVICE_BASELINE && decision->equal_to >= PBP_ADVICE_BASELINE))
		return "";
	return psprintf(" %s to %s are equally good.", size_of(report, decision->equal_from), size_of(report, decision->equal_to));
}

/* What a smaller pool would cost now, if nearly nothing. */
static const char *
smaller_is_enough(const PbpAdviceReport *report)
{
	const PbpAdviceRow *half = &report->rows[PBP_ADVICE_HALF];
	double		added = half->miss_ratio - report->rows[PBP_ADVICE_BASELINE].miss_ratio;

	if (report->decision.basis == PBP_BY_HOURS || !pbp_may_fit(report, PBP_ADVICE_HALF) || half->reason != PBP_ADVICE_KNOWN ||
		added + half->change_error > ADDED_ACCESSES)
		return "";
	return psprintf(" If the memory is needed elsewhere, %s is enough.", size_of(report, PBP_ADVICE_HALF));
}

/* What twice the pool would avoid now, if that is much but does not decide. */
static const char *
avoided_reads(const PbpAdviceReport *report, const char *but)
{
	double		today = report->rows[PBP_ADVICE_BASELINE].miss_ratio;
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	double		avoided = today > 0 ? 1 - twice->miss_ratio / today : 0;

	if (report->decision.basis == PBP_BY_HOURS || twice->reason != PBP_ADVICE_KNOWN || !(avoided > SAVED_READS))
		return "";
	return psprintf(" %s would avoid %.0f %% of the reads, but %s.", size_of(report, PBP_ADVICE_DOUBLE), 100 * avoided, but);
}

/* What another size saves, of the time that sessions work or wait. */
static char *
saved_time(const PbpDecision *decision, int size)
{
	const PbpCompared *choice = &decision->choices[size];
	double		least = -choice->change - choice->change_error;
	double		most = -choice->change + choice->change_error;
	double		share = decision->active_ms > 0 ? 100 / decision->active_ms : NAN;

	if (share > 0)
		return psprintf("sessions would work %s %% less time (%s to %s) for the same load: %s of waiting for reads in each second instead of %s",
						pretty_number(-choice->change * share), pretty_number(least * share), pretty_number(Min(most * share, 100)),
						figure_of(decision, size), figure_of(decision, PBP_ADVICE_BASELINE));
	return psprintf("sessions would wait %s for reads in each second instead of %s, which is %s to %s ms less",
					figure_of(decision, size), figure_of(decision, PBP_ADVICE_BASELINE), pretty_number(least), pretty_number(most));
}

static const char *
why_take(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->basis >= PBP_BY_WAITING)
		return saved_time(decision, decision->size);
	return psprintf(decision->basis == PBP_BY_STORAGE ? "%s of block accesses would wait for storage, instead of %s" :
					"%s of block accesses would be reads, instead of %s",
					figure_of(decision, decision->size), figure_of(decision, PBP_ADVICE_BASELINE));
}

/* What to do first if it is not certain enough to be done at once, as a comment above the statements. */
static const char *
what_first(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->basis == PBP_BY_MISSES)
		return "-- Check with pgbufprobe_read_cost() whether reads wait for storage.\n-- If they do, and the machine has the memory:";
	if (decision->times_decide)
		return TIME_READS "-- Let the real workload run, and ask again.  If the answer remains:";
	if (decision->confidence == PBP_SURE)
		return "-- The page cache could hold all data, so the pool need not give memory back.\n-- If the memory is needed elsewhere:";
	if (decision->seen_seconds < pbp_decision_hours * PBP_SECONDS_PER_HOUR)
		return psprintf("-- Let the real workload run until %d hours have been seen\n-- (pgbufprobe.decision_hours). If the answer remains:",
						pbp_decision_hours);
	return "-- Let the real workload run longer and ask again. If the answer remains:";
}

static void
take(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	const char *size = size_of(report, decision->size);
	int64		cache = report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages;
	char	   *action;

	answer->value = pbp_advice_factor(decision->size);
	answer->text = psprintf("%s %s%s: %s.%s%s%s", decision->basis == PBP_BY_MISSES ? "Perhaps take" : "Take", size,
							decision->basis == PBP_BY_MISSES ? "" :
							psprintf(" of the %s that the pool and the page cache have", pretty_size(report->nbuffers + cache)),
							why_take(report), equals(report), doubts(report), evidence(report));
	action = resize_action((int64) rint(answer->value * (double) report->nbuffers));
	judge(answer, name_of_verdict(decision->verdict),
		  decision->verdict == PBP_VERDICT_CHANGE ? action : psprintf("%s\n%s", what_first(report), action));
}

/* What another size may save. */
static const char *
what_is_saved(const PbpDecision *decision)
{
	return decision->basis == PBP_BY_MISSES ? "reads" : decision->basis == PBP_BY_STORAGE ? "storage reads" : "waiting";
}

/* Why today's size is kept although there are reads. */
static char *
why_keep(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;
	const char *saved = what_is_saved(decision);
	const char *today = psprintf("Today %s", today_is(decision));

	if (decision->best < 0)
		return psprintf("no other size has an estimate. %s.", today);
	if (decision->equal_from < decision->equal_to &&
		decision->equal_from <= PBP_ADVICE_BASELINE && decision->equal_to >= PBP_ADVICE_BASELINE)
		return psprintf("%s to %s are equally good. %s; with %s it would be %s.",
						size_of(report, decision->equal_from), size_of(report, decision->equal_to), today,
						size_of(report, decision->best), figure_of(decision, decision->best));
	return psprintf(decision->matters_too_little ?
					"no size that fits saves enough %s to matter. %s; with %s it would be %s." :
					"no size that fits saves more %s than the error. %s; with %s it would be %s.",
					saved, today, size_of(report, decision->best), figure_of(decision, decision->best));
}

/* How much is read now, or is waited in the hours, of which the figures of now say nothing. */
static const char *
how_few_reads(const PbpAdviceReport *report)
{
	return report->decision.basis == PBP_BY_HOURS ?
		psprintf("Today %s.%s", today_is(&report->decision), evidence(report)) :
		psprintf("Only %s of block accesses are reads.%s", pretty_percent(report->rows[PBP_ADVICE_BASELINE].miss_ratio), smaller_is_enough(report));
}

static void
keep(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const PbpDecision *decision = &report->decision;
	const char *today = pretty_size(report->nbuffers);

	answer->value = 1;
	if (decision->kind == PBP_KEEP_UNUSED)
		answer->text = psprintf("Keep %s so far: %s are in use, and no page has been evicted since the server started, "
								"except from the ring buffers of large scans.", today, pretty_size(checkup->used));
	else if (decision->kind == PBP_KEEP_FEW_READS)
		answer->text = psprintf("Keep %s: hardly anything is read. %s", today, how_few_reads(report));
	else if (decision->kind == PBP_KEEP_CACHED)
		answer->text = psprintf("Keep %s: %s. Today %s.%s%s%s%s", today,
								decision->basis == PBP_BY_STORAGE ? "the page cache serves nearly all reads already" : "sessions hardly wait for reads",
								today_is(decision), avoided_reads(report, "sessions would hardly wait less"),
								smaller_is_enough(report), doubt_about_storage(report), evidence(report));
	else
		answer->text = psprintf("Keep %s: %s%s%s%s", today, why_keep(report),
								smaller_is_enough(report), doubts(report), evidence(report));
	judge(answer, name_of_verdict(decision->verdict), NULL);
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

/* In whole seconds, of which at least one is left. */
static void
watched_too_short(const PbpAdviceReport *report, Answer *answer)
{
	int			watched = (int) Min(report->watched_seconds, PBP_ENOUGH_SECONDS - 1);

	answer->text = psprintf("Too early: watched for %d s of at least %d.", watched, PBP_ENOUGH_SECONDS);
	answer->action = psprintf("Ask again in %d s.", PBP_ENOUGH_SECONDS - watched);
}

static void
too_early(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;

	judge(answer, "unknown", ASK_AGAIN);
	if (decision->kind == PBP_DECIDE_SHORT)
		watched_too_short(report, answer);
	else if (decision->kind == PBP_DECIDE_IDLE)
		answer->text = "Too early: there has been hardly any load yet, and no page has been evicted.";
	else
		answer->text = psprintf("Too early: %.0f %% of the reads needed have been seen%s.%s",
								floor(100 * decision->learned_share), rest_of_learning(report, seconds_left(report)),
								avoided_reads(report, "it is unknown yet how many of these wait for storage"));
}

/* The best size would save enough to matter, but not for certain. */
static void
not_certain(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	const PbpCompared *best = &decision->choices[decision->best];
	double		share = 100 / decision->choices[PBP_ADVICE_BASELINE].value;
	const char *why = best->change_error < -best->change ? ", but chance favors the best of many sizes" : "";

	answer->text = psprintf("Not certain enough: with %s, there would be %s to %s %% as much %s as today%s. Keep %s for now. Today %s.%s%s",
							size_of(report, decision->best),
							pretty_number(Max(100 + (best->change - best->change_error) * share, 0)),
							pretty_number(100 + (best->change + best->change_error) * share), what_is_saved(decision),
							why, pretty_size(report->nbuffers), today_is(decision), doubts(report), evidence(report));
	judge(answer, "unknown", decision->times_decide ?
		  TIME_READS "-- Let the real workload run, and ask again." :
		  ASK_AGAIN);
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
	answer->text = psprintf("Too early. The answer %s: %s", origin_of_report(report), answer->text);
	if (report->nbuffers != NBuffers)
	{
		answer->value = NAN;
		judge(answer, "unknown", ASK_AGAIN);
	}
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

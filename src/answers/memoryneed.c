/*-------------------------------------------------------------------------
 *
 * memoryneed.c
 *	  How much memory the machine or the container needs.
 *
 * The advice knows both caches.  All else that takes memory stays as it is: a
 * machine with so much more memory has so much more for both caches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "answers/memoryneed.h"
#include "answers/startfuncs.h"
#include "answers/reasons.h"
#include "answers/sentences.h"
#include "base/settings.h"
#include "base/words.h"
#include "os/oskernel.h"
#include "sampler/hours.h"
#include "sampler/results.h"

/* Less memory than this share of today's is worth a word if it is no worse. */
#define MUCH_LESS			0.67

/* So is more, if it saves this share of the time that sessions work, or if that is unknown, of waiting. */
#define MUCH_TIME			0.1
#define MUCH_WAITING		0.3

/* Share of what the most memory saves that is enough. */
#define NEARLY_ALL_SAVED	0.8

/* ---- facts ---- */

/* Why no total of memory is known; NULL if some are, or may be. */
static const char *
unknown_need(const PbpAdviceReport *report)
{
	const char *missing = missing_advice(report);
	const char *model;

	if (missing != NULL)
		return missing;
	if (report->is_from_before || report->nbuffers != NBuffers)
		return "the advice is from before the restart";
	model = unknown_storage_model(report);
	if (model != NULL)
		return model;
	if (!report->storage.has_totals)
		return "memory to simulate other page caches could not be allocated";
	return report->storage.fixed[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_NO_CAPACITY || !report->storage.memory.known ?
		"the size of the page cache is unknown" : NULL;
}

/* The same by the load now. */
static const char *
unknown_now(const PbpAdviceReport *report)
{
	const char *unknown = unknown_advice(report, &report->rows[PBP_ADVICE_BASELINE]);

	return unknown != NULL ? unknown : unknown_waits_of(report, &report->storage.fixed[PBP_ADVICE_BASELINE]);
}

/* True if some total is known, and today's memory as it is divided and as is advised. */
static bool
is_known(const MemoryNeed *need)
{
	bool		known = false;

	for (int i = 0; i < PBP_TOTALS; i++)
		known |= i != PBP_TOTAL_TODAY && !isnan(need->totals[i].pool);
	return known && !isnan(need->totals[PBP_TOTAL_TODAY].pool) && !isnan(pbp_today_total(&need->input).pool);
}

static void
set_totals(MemoryNeed *need)
{
	need->input.active_ms = pbp_working_beside(need->input.active_ms, pbp_today_total(&need->input).waiting.value);
	pbp_totals(&need->input, need->totals);
}

/*
 * By the hours of the verdict in which both caches had as much memory as now.
 * False: the verdict has none, or too little of them is known.
 */
static bool
use_hours(MemoryNeed *need)
{
	const PbpAdviceReport *report = need->report;

	need->input = pbp_totals_input(report, need->fits);
	if (report->decision.basis != PBP_BY_HOURS || !pbp_sum_decision_hours(report, &need->hours) ||
		need->hours.seconds < PBP_SECONDS_PER_HOUR)
		return false;
	need->input.hours = &need->hours;
	need->input.active_ms = pbp_working_of_sum(&need->hours);
	set_totals(need);
	return is_known(need);
}

void
find_memory_need(const PbpAdviceReport *report, MemoryNeed *need)
{
	*need = (MemoryNeed) {.report = report,.unknown = unknown_need(report)};
	pbp_read_memory_facts(&need->facts);
	/* The limit that the report's caches were found with: one of now may be less than these. */
	if (need->unknown == NULL)
		need->facts.memory = report->storage.memory;
	pbp_plan_memory(&need->facts.settings, &need->facts.processes, &need->facts.memory, NULL, pbp_os_page_bytes(), &need->plan);
	if (need->unknown == NULL && machine_bytes(need, pbp_total_factor(0)) <= 0)
		need->unknown = "both caches are larger than all memory";
	if (need->unknown != NULL || use_hours(need))
		return;
	need->input = pbp_totals_input(report, need->fits);
	need->unknown = unknown_now(report);
	if (need->unknown == NULL)
		set_totals(need);
}

/* What load the figures are of. */
const char *
load_of_need(const MemoryNeed *need)
{
	const PbpHoursSum *hours = need->input.hours;

	return hours ? psprintf("seen: %s", pretty_hours(hours->seconds, hours->wanted_seconds)) : "by the load now";
}

/* All memory, so that both caches have this factor of today's. */
int64
machine_bytes(const MemoryNeed *need, double factor)
{
	return need->plan.rows[PBP_ALL_MEMORY].today + (int64) ((factor - 1) * (double) pbp_both_caches(need->report));
}

/* Of a split that was interpolated, in whole megabytes. */
int64
pool_bytes_of(const MemoryNeed *need, const PbpTotal *total)
{
	int64		bytes = (int64) (total->pool * (double) need->report->nbuffers) * BLCKSZ;

	return total->size >= 0 || bytes < 1024 * 1024 ? bytes : bytes / (1024 * 1024) * (1024 * 1024);
}

/* With today's memory, free huge pages may hold what another pool takes. */
int64
cache_bytes_of(const MemoryNeed *need, const PbpTotal *total)
{
	if (total->factor == 1 && total->size >= 0)
		return need->report->storage.fixed[total->size].os_cache_pages * BLCKSZ;
	return (int64) (total->factor * (double) pbp_both_caches(need->report)) - pbp_pool_bytes(pool_bytes_of(need, total));
}

/* "a container of 6 GB with shared_buffers = 1536 MB" */
const char *
pretty_machine(const MemoryNeed *need, const PbpTotal *total)
{
	return psprintf("a %s of %s with shared_buffers = %s",
					need->facts.memory.holder == PBP_HELD_BY_CGROUP ? "container" : "machine",
					pretty_bytes(machine_bytes(need, total->factor)), exact_size(pool_bytes_of(need, total) / BLCKSZ));
}

/* Why a total is unknown: of a split that is. */
const char *
unknown_total(const MemoryNeed *need, int i)
{
	const PbpAdviceReport *report = need->report;
	const char *unknown = "too little memory is left beside both caches";

	if (i == PBP_TOTAL_TODAY)
		return unknown_waits(report, need->input.advised);
	for (int kind = 0; kind < PBP_SPLITS; kind++)
	{
		const PbpAdviceSplit *split = &report->storage.splits[i][kind];

		if (!split->fits)
			continue;
		if (split->storage.reason == PBP_STORAGE_KNOWN)
		{
			if (need->input.hours)
				return "known in too little of these hours";
			continue;
		}
		unknown = unknown_advice(report, &report->rows[split->size]);
		if (unknown == NULL)
			unknown = unknown_waits_of(report, &split->storage);
	}
	return unknown;
}

/* ---- the checkup ---- */

/* What is saved, as a share of the time that sessions work or wait. */
static double
saved_share(const MemoryNeed *need, double saved)
{
	const PbpTotal *today = &need->totals[PBP_TOTAL_TODAY];
	double		time = need->input.active_ms > 0 ? need->input.active_ms : today->waiting.value;

	return time > 0 ? saved / time : 0;
}

/* The least memory that saves nearly as much as the most; NULL: it saves too little for certain. */
static const PbpTotal *
worth_more(const MemoryNeed *need)
{
	const PbpTotal *today = &need->totals[PBP_TOTAL_TODAY];
	double		enough = need->input.active_ms > 0 ? MUCH_TIME : MUCH_WAITING;
	double		most = 0;
	const PbpTotal *least = NULL;

	for (int i = PBP_TOTAL_TODAY + 1; i < PBP_TOTALS; i++)
		most = fmax(most, today->waiting.value - need->totals[i].waiting.value);
	for (int i = PBP_TOTALS - 1; i > PBP_TOTAL_TODAY; i--)
	{
		double		saved = today->waiting.value - need->totals[i].waiting.value;

		if (saved >= NEARLY_ALL_SAVED * most &&
			saved_share(need, saved - need->totals[i].waiting.change_error) >= enough)
			least = &need->totals[i];
	}
	return least;
}

static void
answer_less(const MemoryNeed *need, const PbpTotal *less, Answer *answer)
{
	answer->text = psprintf(SAY_LESS_MEMORY, pretty_machine(need, less));
	answer->detail = psprintf(MORE_LESS_MEMORY, 100 * less->factor, pretty_waiting(&less->waiting),
							  pretty_waiting(&need->totals[PBP_TOTAL_TODAY].waiting));
	judge(answer, "consider", LOWER_IN_STEPS);
}

static void
answer_more(const MemoryNeed *need, const PbpTotal *more, Answer *answer)
{
	const PbpTotal *today = &need->totals[PBP_TOTAL_TODAY];
	double		saved = today->waiting.value - more->waiting.value;
	double		low = 100 * saved_share(need, saved - more->waiting.change_error);
	double		high = Min(100 * saved_share(need, saved + more->waiting.change_error), 100);

	answer->text = psprintf(SAY_MORE_MEMORY, pretty_bytes(machine_bytes(need, more->factor) - machine_bytes(need, 1)),
							pretty_interval(100 * saved_share(need, saved), low, high, "%"), need->input.active_ms > 0 ? "working" : "waiting");
	answer->detail = psprintf(MORE_MORE_MEMORY, pretty_waiting(&more->waiting), pretty_waiting(&today->waiting));
	judge(answer, "consider", psprintf(CONSIDER_MACHINE, pretty_machine(need, more)));
}

/* Neither more nor less is worth a word, as far as it is known. */
static void
answer_same(const MemoryNeed *need, Answer *answer)
{
	answer->text = SAY_SAME_MEMORY;
	answer->detail = psprintf(MORE_SAME_MEMORY, pretty_bytes(pbp_both_caches(need->report)));
	for (int i = PBP_TOTAL_TODAY + 1; i < PBP_TOTALS; i++)
		if (isnan(need->totals[i].waiting.value))
		{
			add_detail(answer, psprintf(MORE_UNKNOWN_TOTAL, pretty_bytes(machine_bytes(need, need->totals[i].factor)), unknown_total(need, i)));
			break;
		}
}

static void
answer_need(const MemoryNeed *need, Answer *answer)
{
	PbpTarget	no_worse = {PBP_TARGET_TODAY, 0};
	const PbpTotal *more = worth_more(need);
	PbpTotal	less;
	PbpTargetResult result = pbp_least_total(&need->input, &no_worse, &less);

	if (isnan(need->totals[PBP_TOTAL_TODAY].waiting.value))
		answer_unknown(answer, WAITING_UNKNOWN);
	else if (more != NULL)
		answer_more(need, more, answer);
	else if (result >= PBP_TARGET_MET && less.factor <= MUCH_LESS && !isnan(less.waiting.value))
		answer_less(need, &less, answer);
	else
		answer_same(need, answer);
}

/* What was not simulated for long enough does not count. */
void
answer_memory(const Checkup *checkup, Answer *answer)
{
	MemoryNeed *need = palloc(sizeof(*need));

	find_memory_need(checkup->advice, need);
	if (need->unknown != NULL)
	{
		answer_unknown(answer, need->unknown);
		answer->action = start_action(checkup->function, ASK_AGAIN);
		return;
	}
	if (checkup->advice->decision.kind < PBP_DECIDE_UNSURE)
	{
		answer_unknown(answer, SIZE_UNKNOWN);
		return;
	}
	answer_need(need, answer);
	if (need->input.hours)
		add_detail(answer, psprintf(MORE_SEEN, pretty_hours(need->hours.seconds, need->hours.wanted_seconds)));
}

/*-------------------------------------------------------------------------
 *
 * checkup.c
 *	  Common questions about shared_buffers, each answered in a
 *	  sentence.
 *
 * There is one answer_*() per topic, which inspects at most as many
 * descriptors as the pool has (MIN_INSPECTED in a smaller pool) and takes
 * about a second, so a checkup is safe on any server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "answers/answer.h"
#include "answers/memoryneed.h"
#include "answers/sentences.h"
#include "answers/startfuncs.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/stats.h"
#include "base/words.h"

#define CHECKUP_COLS		5

/* how long to watch the clock hand if there is no history */
#define WATCHED_MS			1000

/* limits of the buffers that a question inspects, about a second's work */
#define MIN_INSPECTED		1000000
#define MAX_INSPECTED		32000000

/* runs of each timing, of which the fastest counts */
#define RUNS				5

#define VICTIMS				1000

/* pages to look up in the page cache, and the time limit */
#define SAMPLED_PAGES		4000
#define SAMPLED_NS			INT64CONST(1000000000)

/* thresholds of the verdicts */
#define MANY_FREE			0.1 /* share of free buffers that lasts for a while */
#define LONG_WATCH_S		60
#define SLOW_SEARCH_US		100
#define VERY_SLOW_SEARCH_US 1000
#define MANY_DIRTY			0.5
#define SLOW_SCAN_MS		5
#define VERY_SLOW_SCAN_MS	50
#define MOSTLY_TWICE		0.5

PG_FUNCTION_INFO_V1(pgbufprobe_checkup);

/* ---- facts ---- */

static int64
inspection_limit(void)
{
	return Max(Min(NBuffers, MAX_INSPECTED), MIN_INSPECTED);
}

static void
gather(Checkup *checkup)
{
	PbpSweepPlan plan = {
		.scenario = PBP_CURRENT,.victims = VICTIMS,.max_inspected = inspection_limit()
	};

	pbp_histogram(NULL, NBuffers, &checkup->histogram);
	/* a pinned buffer without a valid page is being read into */
	checkup->unused = checkup->histogram.unused.buffers - checkup->histogram.unused.pinned;
	checkup->used = NBuffers - checkup->unused;
	checkup->evicted = pbp_has_evicted();
	if (!pbp_recent_history(&checkup->rate))
		checkup->rate = pbp_watch_clock(WATCHED_MS);
	checkup->advice = pbp_read_advice();
	pbp_sweep_cost(&plan, &checkup->next);
	pbp_sample_duplicates(SAMPLED_PAGES, SAMPLED_NS, checkup->used, &checkup->duplicates);
}

/* Ticks of the clock hand until an unused page is evicted, on average. */
static double
ticks_until_eviction(const PbpHistogram *histogram)
{
	double		pages = 0;
	double		passes = 0;

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
	{
		pages += (double) histogram->usage[i].buffers;
		passes += (double) i * (double) histogram->usage[i].buffers;
	}
	return pages > 0 ? (passes / pages + 0.5) * NBuffers : 0;
}

/* ---- the pool ---- */

static void
answer_pool_full(const Checkup *checkup, Answer *answer)
{
	bool		nearly = checkup->evicted && checkup->unused <= NBuffers / 2;

	answer->text = checkup->unused == 0 ? psprintf(SAY_FULL, exact_size(NBuffers)) :
		psprintf(nearly ? SAY_NEARLY_FULL : SAY_NOT_FULL, pretty_size(checkup->unused), exact_size(NBuffers));
	if (!checkup->evicted)
		answer->detail = NEVER_EVICTED;
}

static void
answer_page_lifetime(const Checkup *checkup, Answer *answer)
{
	const PbpClockRate *rate = &checkup->rate;

	if (!checkup->evicted)
		answer->text = NEVER_EVICTED;
	else if (PBP_HAS_FREE_LIST && checkup->unused > MANY_FREE * NBuffers)
		answer->text = psprintf(SAY_FREE_FIRST, pretty_size(checkup->unused));
	else if (rate->ticks > 0)
	{
		answer->text = psprintf(SAY_STAY, pretty_duration(ticks_until_eviction(&checkup->histogram) * rate->seconds / rate->ticks));
		answer->detail = psprintf(MORE_STAY, pretty_duration(NBuffers * rate->seconds / rate->ticks));
	}
	else if (rate->seconds >= LONG_WATCH_S)
		answer->text = psprintf(SAY_NOT_EVICTED, pretty_duration(rate->seconds));
	else
		answer_unknown(answer, psprintf(TOO_SHORT, pretty_duration(rate->seconds)));
}

/* ---- what it costs ---- */

/* Other work can only slow a run down, so the best one is the estimate. */
typedef struct Timing
{
	double		best_ms;
	double		slowest_ms;
} Timing;

static void
add_run(Timing *timing, int run, double ms)
{
	timing->best_ms = run == 0 ? ms : Min(timing->best_ms, ms);
	timing->slowest_ms = Max(timing->slowest_ms, ms);
}

/*
 * The longest possible search, with every page at the highest usage count.  In
 * a large pool, each run searches a different part of it.
 */
static Timing
time_longest_search(void)
{
	int64		longest = (int64) NBuffers * BM_MAX_USAGE_COUNT + 1;
	int64		part = Min(longest, inspection_limit() / RUNS);
	Timing		timing = {0};

	for (int run = 0; run < RUNS; run++)
	{
		PbpSweepPlan plan = {
			.scenario = PBP_WORST,.victims = 1,.max_inspected = part,
			.start = part < longest ? (int) (run * part % NBuffers) : 0
		};
		PbpSweepCost cost;

		pbp_sweep_cost(&plan, &cost);
		if (cost.inspected > 0)
			add_run(&timing, run, cost.sweep_ns / 1e6 / (double) cost.inspected * (double) longest);
	}
	return timing;
}

static void
answer_victim_cost(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;
	Timing		longest = time_longest_search();
	double		us = next->victims > 0 ? pbp_latency_avg_ns(&next->latency) / 1e3 : next->sweep_ns / 1e3;
	bool		slow = us > SLOW_SEARCH_US;
	const char *more = NULL;

	if (next->from_freelist == next->victims && next->victims > 0)
		answer->text = SAY_SEARCH_FREE;
	else if (next->victims == 0)
	{
		answer->text = psprintf(SAY_SEARCH_LONG, pretty_number(next->sweep_ns / 1e6));
		more = psprintf(MORE_SEARCH_LONG, next->inspected);
	}
	else
	{
		answer->text = psprintf(SAY_SEARCH, slow ? "" : NOTHING_TO_NOTICE, pretty_number(us), pretty_number(longest.best_ms));
		more = psprintf(MORE_SEARCH, next->victims, pretty_number(pbp_latency_max_ns(&next->latency) / 1e3));
	}
	answer->detail = join_sentences(more, psprintf(MORE_WORST, pretty_number(longest.best_ms), RUNS, pretty_number(longest.slowest_ms)));
	if (slow)
		judge(answer, us > VERY_SLOW_SEARCH_US ? "change" : "consider", ALL_IN_USE);
}

static void
answer_dirty_victims(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;

	if (next->victims == 0)
	{
		answer_unknown(answer, VICTIM_TOO_FAR);
		return;
	}
	if (next->dirty_victims == 0)
	{
		answer->text = psprintf(SAY_CLEAN, next->victims);
		return;
	}
	answer->text = psprintf(SAY_DIRTY, next->dirty_victims, next->victims);
	answer->detail = MORE_DIRTY;
	if ((double) next->dirty_victims > MANY_DIRTY * (double) next->victims)
		judge(answer, "consider", WRITE_SOONER);
}

/* In a large pool, each run scans a different part of it. */
static Timing
time_scan(PbpScanMethod method)
{
	int			part = (int) Min(NBuffers, inspection_limit() / RUNS / 2);
	PbpScanCost cost;
	Timing		timing;

	pbp_scan_cost(method, part, RUNS, &cost);
	timing.best_ms = (double) cost.min_ns / 1e6 / cost.nread * NBuffers;
	timing.slowest_ms = (double) cost.max_ns / 1e6 / cost.nread * NBuffers;
	return timing;
}

static void
answer_scan_cost(const Checkup *checkup pg_attribute_unused(), Answer *answer)
{
	Timing		match = time_scan(PBP_SCAN_MATCH);
	Timing		lock = time_scan(PBP_SCAN_LOCK);
	bool		slow = match.best_ms > SLOW_SCAN_MS;

	answer->text = psprintf(SAY_SCANS, slow ? "" : NOTHING_TO_NOTICE, pretty_number(match.best_ms), pretty_number(lock.best_ms));
	answer->detail = psprintf(MORE_SCANS, NBuffers, RUNS, pretty_number(match.slowest_ms), pretty_number(lock.slowest_ms));
	if (slow)
		judge(answer, match.best_ms > VERY_SLOW_SCAN_MS ? "change" : "consider", DROP_TOGETHER);
}

/* ---- memory used twice ---- */

/* With the 95 % interval of a sample's share. */
static const char *
precision_of(const PbpDuplicates *duplicates)
{
	double		n = (double) duplicates->sampled;
	PbpInterval interval = pbp_share_interval((double) duplicates->cached / n, n);

	if (duplicates->complete)
		return MORE_TWICE_ALL;
	return psprintf(MORE_TWICE_SAMPLE, 100 * Max(interval.middle - interval.half, 0),
					100 * Min(interval.middle + interval.half, 1), duplicates->sampled);
}

static void
answer_cached_twice(const Checkup *checkup, Answer *answer)
{
	const PbpDuplicates *duplicates = &checkup->duplicates;
	bool		decided = verdict_of_size(checkup->advice) != PBP_VERDICT_UNKNOWN;
	double		twice;			/* buffers */

	if (duplicates->sampled == 0)
	{
		const char *reason = pbp_os_reason(duplicates->trust);

		answer_unknown(answer, reason ? NO_CACHE_STATE : NO_PAGES);
		answer->detail = reason;
		if (reason != NULL)
			answer->action = pbp_os_cache_on ? NOT_SHOWN : TURN_OS_CACHE_ON;
		return;
	}

	twice = (double) duplicates->cached / (double) duplicates->sampled * (double) checkup->used;
	answer->text = psprintf(SAY_TWICE, pretty_size((int64) twice), exact_size(NBuffers), decided ? SIZE_COUNTS_IT : "");
	answer->detail = precision_of(duplicates);
	if (!decided && twice > MOSTLY_TWICE * NBuffers)
		judge(answer, "consider", start_action(checkup->function, ASK_AGAIN));
}

/* ---- all topics ---- */

typedef struct Topic
{
	const char *name;
	void		(*answer) (const Checkup *checkup, Answer *answer);
} Topic;

static const Topic topics[] = {
	{"size", answer_size},
	{"pool", answer_pool_full},
	{"page lifetime", answer_page_lifetime},
	{"victim search", answer_victim_cost},
	{"dirty victims", answer_dirty_victims},
	{"pool scans", answer_scan_cost},
	{"cached twice", answer_cached_twice},
	{"planner cache", answer_planner_cache},
	{"memory", answer_memory},
};

static void
emit_answer(ReturnSetInfo *rsinfo, const char *topic, const Answer *answer)
{
	Row			row = {0};

	Assert(strlen(answer->text) <= MAX_ANSWER);
	add_text(&row, topic);
	add_text(&row, answer->verdict);
	add_text(&row, answer->text);
	add_text(&row, answer->action);
	add_text(&row, answer->detail);
	emit_row(rsinfo, &row, CHECKUP_COLS);
}

Datum
pgbufprobe_checkup(PG_FUNCTION_ARGS)
{
	Checkup    *checkup = palloc0(sizeof(*checkup));

	checkup->function = fcinfo->flinfo->fn_oid;
	InitMaterializedSRF(fcinfo, 0);
	gather(checkup);
	for (int i = 0; i < (int) lengthof(topics); i++)
	{
		Answer		answer = {.verdict = "fine"};

		topics[i].answer(checkup, &answer);
		emit_answer((ReturnSetInfo *) fcinfo->resultinfo, topics[i].name, &answer);
	}
	return (Datum) 0;
}

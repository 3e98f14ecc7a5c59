/*-------------------------------------------------------------------------
 *
 * checkup.c
 *	  Common questions about shared_buffers, each answered in a
 *	  sentence.
 *
 * There is one answer_*() per question.  A question inspects at most as many
 * descriptors as the pool has (MIN_INSPECTED in a smaller pool) and takes
 * about a second, so a checkup is safe on any server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "answers/answer.h"
#include "answers/memoryneed.h"
#include "answers/sizefuncs.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/stats.h"
#include "base/words.h"

#define CHECKUP_COLS		8

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

	pbp_histogram(NBuffers, &checkup->histogram);
	/* a pinned buffer without a valid page is being read into */
	checkup->unused = checkup->histogram.unused.buffers - checkup->histogram.unused.pinned;
	checkup->used = NBuffers - checkup->unused;
	checkup->evicted = pbp_has_evicted();
	checkup->rate = recent_clock_rate(WATCHED_MS);
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
	answer->value = (double) checkup->used / NBuffers;
	if (checkup->unused == 0)
		answer->text = psprintf("Yes: all %s are in use.", pretty_size(NBuffers));
	else
		answer->text = psprintf("%s: %s of %s are free%s.",
								checkup->evicted && checkup->unused <= NBuffers / 2 ? "Nearly" : "No",
								pretty_size(checkup->unused), pretty_size(NBuffers),
								checkup->evicted ? " now" : ", and no page has been evicted since the server started");
}

static void
answer_page_lifetime(const Checkup *checkup, Answer *answer)
{
	const ClockRate *rate = &checkup->rate;

	if (!checkup->evicted)
		answer->text = "No page has been evicted since the server started.";
	else if (PBP_HAS_FREE_LIST && checkup->unused > MANY_FREE * NBuffers)
		answer->text = psprintf("No page will be evicted before %s of free buffers are used.", pretty_size(checkup->unused));
	else if (rate->ticks > 0)
	{
		answer->value = ticks_until_eviction(&checkup->histogram) * rate->seconds / rate->ticks;
		answer->text = psprintf("%s on average. The clock hand completes a pass in %s, and each pass lowers the usage count of a page by one.",
								pretty_duration(answer->value), pretty_duration(NBuffers * rate->seconds / rate->ticks));
	}
	else if (rate->seconds >= LONG_WATCH_S)
		answer->text = psprintf("No page was evicted in the last %s.", pretty_duration(rate->seconds));
	else
		answer_unknown(answer, psprintf("no page was evicted in %s, which is too short for an estimate", pretty_duration(rate->seconds)));
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

static char *
next_searches(const PbpSweepCost *next)
{
	if (next->from_freelist == next->victims && next->victims > 0)
		return psprintf("Nothing: the next %d allocations take free buffers.", VICTIMS);
	if (next->victims == 0)
		return psprintf("The next search takes more than %s ms and inspects more than " INT64_FORMAT " buffers.",
						pretty_number(next->sweep_ns / 1e6), next->inspected);
	return psprintf("For the next " INT64_FORMAT " searches, the median is %s us and the maximum %s us.",
					next->victims, pretty_number(pbp_latency_percentile_ns(&next->latency, 0.5) / 1e3),
					pretty_number(pbp_latency_max_ns(&next->latency) / 1e3));
}

static void
answer_victim_cost(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;
	Timing		longest = time_longest_search();

	answer->value = next->victims > 0 ? pbp_latency_avg_ns(&next->latency) / 1e3 : next->sweep_ns / 1e3;
	answer->text = psprintf("%s At worst, with every page at the highest usage count, one search would take %s ms "
							"(best of %d runs; slowest: %s ms).",
							next_searches(next), pretty_number(longest.best_ms), RUNS, pretty_number(longest.slowest_ms));
	if (answer->value > SLOW_SEARCH_US)
		judge(answer, answer->value > VERY_SLOW_SEARCH_US ? "change" : "consider",
			  "Nearly all pages are in constant use, so each search inspects many buffers. "
			  "Enlarge the pool until it holds all of these pages, or shrink it to shorten a pass. "
			  "pgbufprobe_advice() estimates the reads at each size.");
}

static void
answer_dirty_victims(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;

	if (next->victims == 0)
	{
		answer_unknown(answer, "the next victim is too far ahead of the clock hand");
		return;
	}
	answer->value = (double) next->dirty_victims / (double) next->victims;
	if (next->dirty_victims == 0)
		answer->text = psprintf("No: none of the next " INT64_FORMAT " victims is dirty.", next->victims);
	else
		answer->text = psprintf("Possibly: " INT64_FORMAT " of the next " INT64_FORMAT " victims are dirty. A session that needs such a buffer "
								"must write the page first, unless the background writer or a checkpoint already has.",
								next->dirty_victims, next->victims);
	if (answer->value > MANY_DIRTY)
		judge(answer, "consider", "If sessions do write pages (\"buffers_backend\" in pg_stat_bgwriter; from PostgreSQL 17 on, "
			  "\"writes\" of client backends in pg_stat_io), raise bgwriter_lru_maxpages or lower bgwriter_delay.");
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

	answer->value = match.best_ms;
	answer->text = psprintf("Each DROP or TRUNCATE of a table scans all %d buffer descriptors in %s ms, each checkpoint in %s ms "
							"(best of %d runs; slowest: %s and %s ms).",
							NBuffers, pretty_number(match.best_ms), pretty_number(lock.best_ms), RUNS,
							pretty_number(match.slowest_ms), pretty_number(lock.slowest_ms));
	if (match.best_ms > SLOW_SCAN_MS)
		judge(answer, match.best_ms > VERY_SLOW_SCAN_MS ? "change" : "consider",
			  "If you drop or truncate many tables, do so in one transaction, which scans the pool once for all of them.");
}

/* ---- memory used twice ---- */

/* With the 95 % interval of a sample's share. */
static const char *
precision_of(const PbpDuplicates *duplicates)
{
	double		n = (double) duplicates->sampled;
	double		share = (double) duplicates->cached / n;
	PbpInterval interval = pbp_share_interval(share, n);

	if (duplicates->complete)
		return "all pages were checked";
	return psprintf("%.1f to %.1f %% of the pages in use, from a sample of " INT64_FORMAT,
					100 * Max(interval.middle - interval.half, 0), 100 * Min(interval.middle + interval.half, 1), duplicates->sampled);
}

static void
answer_cached_twice(const Checkup *checkup, Answer *answer)
{
	const PbpDuplicates *duplicates = &checkup->duplicates;
	double		twice;			/* buffers */

	if (duplicates->sampled == 0)
	{
		const char *reason = pbp_os_reason(duplicates->trust);

		judge(answer, "unknown", reason == NULL ? ASK_AGAIN : pbp_os_cache_on ?
			  "None: this kernel or file system does not show its page cache." : "Set pgbufprobe.os_cache to on and reload the settings.");
		answer->text = psprintf("Unknown: %s", reason != NULL ? reason : "The pool holds no page.");
		return;
	}

	twice = (double) duplicates->cached / (double) duplicates->sampled * (double) checkup->used;
	answer->value = twice / NBuffers;
	answer->text = psprintf("%s of the %s in use are also in the page cache (%s).",
							pretty_size((int64) twice), pretty_size(checkup->used), precision_of(duplicates));
	if (answer->value > MOSTLY_TWICE)
		judge(answer, "consider", "The page cache duplicates most of the pool. "
			  "The first answer compares sizes at which it duplicates more or less; follow that.");
}

/* ---- all questions ---- */

typedef struct Question
{
	const char *key;
	const char *question;
	const char *unit;			/* of the answer's value */
	const char *look_at;		/* for details */
	void		(*answer) (const Checkup *checkup, Answer *answer);
} Question;

static const Question questions[] = {
	{"size", "Which size should shared_buffers have?",
	"times today's size", "pgbufprobe_advice()", answer_size},
	{"pool_full", "Is the pool full?",
	"of the pool", "pgbufprobe_usagecount_histogram()", answer_pool_full},
	{"page_lifetime", "How long does an unused page stay?",
	"s", "pgbufprobe_page_lifetime()", answer_page_lifetime},
	{"victim_cost", "What does finding a victim buffer cost, now and at worst?",
	"us", "pgbufprobe_sweep_cost()", answer_victim_cost},
	{"dirty_victims", "Do sessions have to write before they can read?",
	"of the victims", "pgbufprobe_sweep_cost()", answer_dirty_victims},
	{"scan_cost", "How long does each DROP or checkpoint scan the pool?",
	"ms", "pgbufprobe_scan_cost()", answer_scan_cost},
	{"cached_twice", "How much of the pool is cached twice?",
	"of the pool", "pgbufprobe_residency()", answer_cached_twice},
	{"planner_cache", "Does the planner know how much is cached?",
	"of what both caches can hold", "pgbufprobe_memory_plan()", answer_planner_cache},
	{"memory", "How much memory does the load need?",
	"times today's memory", "pgbufprobe_memory()", answer_memory},
};

static void
emit_answer(ReturnSetInfo *rsinfo, const Question *question, const Answer *answer)
{
	Row			row = {0};

	add_text(&row, question->key);
	add_text(&row, question->question);
	add_text(&row, answer->text);
	add_number(&row, answer->value);
	add_text(&row, question->unit);
	add_text(&row, answer->verdict);
	add_text(&row, answer->action);
	add_text(&row, question->look_at);
	emit_row(rsinfo, &row, CHECKUP_COLS);
}

Datum
pgbufprobe_checkup(PG_FUNCTION_ARGS)
{
	Checkup    *checkup = palloc0(sizeof(*checkup));

	checkup->function = fcinfo->flinfo->fn_oid;
	InitMaterializedSRF(fcinfo, 0);
	gather(checkup);
	for (int i = 0; i < (int) lengthof(questions); i++)
	{
		Answer		answer = {.value = NAN,.verdict = "fine"};

		questions[i].answer(checkup, &answer);
		emit_answer((ReturnSetInfo *) fcinfo->resultinfo, &questions[i], &answer);
	}
	return (Datum) 0;
}

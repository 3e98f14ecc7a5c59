/*-------------------------------------------------------------------------
 *
 * checkup.c
 *	  Is my shared_buffers right?  The questions that people ask of it, each
 *	  answered in a sentence.
 *
 * One answer_*() for each question.  What a question inspects is bounded, so
 * that a checkup is safe on any server: at most as many descriptors as the
 * pool has, or MIN_INSPECTED in a small pool, and about a second.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "descriptors.h"
#include "residency.h"
#include "rows.h"
#include "sampler.h"
#include "sizefuncs.h"
#include "sweep.h"
#include "words.h"

#define CHECKUP_COLS		8

/* how long the clock hand is watched where the worker does not */
#define WATCHED_MS			1000

/* buffers that a question may inspect: at most all, a second's worth in any pool */
#define MIN_INSPECTED		1000000
#define MAX_INSPECTED		32000000

/* runs of what is timed, of which the best one counts */
#define RUNS				5

#define VICTIMS				1000

/* pages looked up in the page cache, and for how long at most */
#define SAMPLED_PAGES		4000
#define SAMPLED_NS			INT64CONST(1000000000)

/* what makes a verdict */
#define SAVED_READS			0.2 /* share of the reads that a larger pool avoids */
#define SAVED_ACCESSES		0.01	/* the same as a share of the block accesses */
#define FEW_READS			0.01	/* so few reads are not worth a larger pool */
#define ADDED_ACCESSES		0.001	/* a smaller pool reads hardly more */
#define MOSTLY_CACHED		0.5 /* reads avoided are mostly from the page cache */
#define MANY_FREE			0.1 /* so many free buffers last for a while */
#define LONG_WATCH_S		60
#define SLOW_SEARCH_US		100
#define VERY_SLOW_SEARCH_US 1000
#define MANY_DIRTY			0.5
#define SLOW_SCAN_MS		5
#define VERY_SLOW_SCAN_MS	50
#define MOSTLY_TWICE		0.5

PG_FUNCTION_INFO_V1(pgbufprobe_checkup);

/* What is known before any question is asked. */
typedef struct Checkup
{
	PbpHistogram histogram;
	int64		used;			/* buffers */
	int64		unused;
	bool		evicted;		/* has anything been, since the server started? */
	TurnRate	rate;			/* of the clock hand */
	PbpAdviceReport advice;
	PbpSweepCost next;			/* the next searches */
} Checkup;

typedef struct Answer
{
	const char *key;
	const char *question;
	char	   *answer;
	double		value;			/* NaN: unknown */
	const char *unit;
	const char *verdict;
	char	   *action;			/* NULL: nothing to do */
	const char *look_at;
} Answer;

static void
judge(Answer *answer, const char *verdict, const char *action)
{
	answer->verdict = verdict;
	answer->action = action != NULL ? pstrdup(action) : NULL;
}

/* ---- facts ---- */

static double
used_share(const Checkup *checkup)
{
	return (double) checkup->used / NBuffers;
}

/* Enough of the pool is free that nothing will be evicted for a while. */
static bool
has_many_free(const Checkup *checkup)
{
	return PBP_HAS_FREE_LIST && checkup->unused > MANY_FREE * NBuffers;
}

static int64
most_inspected(void)
{
	return Max(Min(NBuffers, MAX_INSPECTED), MIN_INSPECTED);
}

static void
gather(Checkup *checkup)
{
	PbpSweepPlan plan = {
		.scenario = PBP_CURRENT,.victims = VICTIMS,.max_inspected = most_inspected()
	};
	int64		ticks = pbp_ticks(pbp_read_clock());

	pbp_histogram(&checkup->histogram);
	/* one that is pinned is being read into */
	checkup->unused = checkup->histogram.unused.buffers - checkup->histogram.unused.pinned;
	checkup->used = NBuffers - checkup->unused;
	/* without a free list, the first pass hands out what is unused */
	checkup->evicted = ticks > (PBP_HAS_FREE_LIST ? 0 : NBuffers);
	checkup->rate = turn_rate(WATCHED_MS);
	if (pbp_sampler_is_loaded())
		pbp_read_advice(&checkup->advice);
	pbp_sweep_cost(&plan, &checkup->next);
}

/* Ticks of the hand until an unused page is evicted, on average. */
static double
ticks_to_stay(const PbpHistogram *histogram)
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

/* ---- the pool and its size ---- */

static void
answer_pool_full(const Checkup *checkup, Answer *answer)
{
	answer->value = used_share(checkup);
	answer->unit = "of the pool";
	answer->look_at = "pgbufprobe_usagecount_histogram()";
	judge(answer, "fine", NULL);
	if (checkup->unused == 0)
		answer->answer = psprintf("Yes, all %s of it.", size_of(NBuffers));
	else if (checkup->evicted)
		answer->answer = psprintf("%s: %s of %s are free just now.",
								  checkup->unused <= NBuffers / 2 ? "Nearly" : "No",
								  size_of(checkup->unused), size_of(NBuffers));
	else
		answer->answer = psprintf("No: %s of %s are free, and no page has been evicted since the server started.",
								  size_of(checkup->unused), size_of(NBuffers));
}

/* What the advice says of a size. */
typedef struct Prediction
{
	const char *unknown;		/* why it says nothing, NULL if it does */
	const char *reserve;		/* why it is not certain, NULL if it is */
	double		today;			/* miss ratio; NaN: unknown */
	double		then;
	double		os_share;		/* of the reads between, served by the page cache; -1: unknown */
} Prediction;

static Prediction
prediction(const Checkup *checkup, double factor)
{
	const PbpAdviceReport *advice = &checkup->advice;
	const PbpAdviceRow *today = &advice->rows[PBP_ADVICE_TODAY];
	Prediction	result = {.today = NAN,.then = NAN,.os_share = -1};
	int			i = 0;

	while (pbp_advice_factor(i) < factor)
		i++;
	if (unknown_advice(advice, today) == NULL)
		result.today = today->miss_ratio;
	result.unknown = unknown_advice(advice, &advice->rows[i]);
	if (result.unknown == NULL && !(result.today > 0))
		result.unknown = "nothing was read recently";
	if (result.unknown != NULL)
		return result;
	result.then = advice->rows[i].miss_ratio;
	result.os_share = advice->os_cache_share[i];
	if (fabs(advice->totals.self_error) > LARGE_SELF_ERROR)
		result.reserve = caveat_of_advice(advice, factor);
	return result;
}

static const char *
reserve_of(const Prediction *prediction)
{
	return prediction->reserve != NULL ? psprintf(" This is uncertain: %s.", prediction->reserve) : "";
}

static char *
share_of_page_cache(const Prediction *prediction)
{
	return prediction->os_share >= 0 ?
		psprintf("The page cache serves %.0f %% of these reads today.", 100 * prediction->os_share) :
		pstrdup("How many of these reads the page cache serves today is unknown.");
}

static void
judge_larger_pool(const Prediction *prediction, double saved, Answer *answer)
{
	if (saved < SAVED_READS || prediction->today - prediction->then < SAVED_ACCESSES)
		judge(answer, "fine", NULL);
	else if (prediction->os_share >= 0 && prediction->os_share < MOSTLY_CACHED && prediction->reserve == NULL)
		judge(answer, "act", psprintf("Set shared_buffers to %s if the machine has the memory, and restart.",
									  size_of((int64) 2 * NBuffers)));
	else if (prediction->reserve != NULL)
		judge(answer, "look", "Ask again after a longer run of the real workload.");
	else if (prediction->os_share >= 0)
		judge(answer, "look", "A larger pool would save copying from the page cache, not reads from storage. "
			  "Measure with pgbufprobe_read_cost() what that is worth before you enlarge it.");
	else
		judge(answer, "look", "Find out with pgbufprobe_read_cost() whether reads wait for storage; if they do, enlarge the pool.");
}

static void
answer_larger_pool(const Checkup *checkup, Answer *answer)
{
	Prediction	twice = prediction(checkup, 2);
	double		saved = 1 - twice.then / twice.today;

	answer->unit = "of the reads avoided";
	answer->look_at = "pgbufprobe_advice()";
	judge(answer, "fine", NULL);
	if (!checkup->evicted)
	{
		answer->value = 0;
		answer->answer = pstrdup("No: no page has been evicted since the server started, except from the rings of large scans.");
	}
	else if (twice.unknown == NULL)
	{
		judge_larger_pool(&twice, saved, answer);
		answer->value = saved;
		answer->answer = psprintf("%s: twice %s would avoid %.1f %% of the reads. %s of all block accesses would be reads, "
								  "instead of %s. %s%s",
								  strcmp(answer->verdict, "fine") == 0 ? "Hardly" : "Yes",
								  size_of(NBuffers), 100 * saved, percent(twice.then), percent(twice.today),
								  saved > 0 ? share_of_page_cache(&twice) : "", reserve_of(&twice));
	}
	else if (twice.today < FEW_READS)
		answer->answer = psprintf("Hardly: only %s of all block accesses are reads.", percent(twice.today));
	else if (checkup->rate.ticks == 0 && checkup->rate.seconds >= LONG_WATCH_S)
		answer->answer = psprintf("No: no page was evicted in the last %s.", duration(checkup->rate.seconds));
	else
	{
		judge(answer, "unknown", NULL);
		answer->answer = psprintf("Unknown: %s.", twice.unknown);
	}
}

static void
answer_smaller_pool(const Checkup *checkup, Answer *answer)
{
	Prediction	half = prediction(checkup, 0.5);

	answer->unit = "more reads";
	answer->look_at = "pgbufprobe_advice()";
	judge(answer, "unknown", NULL);
	if (!checkup->evicted)
		answer->answer = psprintf("Perhaps: %s of %s are in use, and no page has been evicted since the server started.",
								  size_of(checkup->used), size_of(NBuffers));
	else if (half.unknown != NULL)
		answer->answer = psprintf("Unknown: %s.", half.unknown);
	else
	{
		bool		would_do = half.then - half.today < ADDED_ACCESSES;

		answer->value = half.then / half.today - 1;
		answer->answer = psprintf("%s: half of %s would read %.1f %% more. %s of all block accesses would be reads, instead of %s.%s",
								  would_do ? "Yes" : "No, the size is needed", size_of(NBuffers),
								  100 * answer->value, percent(half.then), percent(half.today), reserve_of(&half));
		if (would_do)
			judge(answer, "look", psprintf("Set shared_buffers to %s if the memory is needed elsewhere.",
										   size_of(NBuffers / 2)));
		else
			judge(answer, "fine", NULL);
	}
}

static void
answer_page_lifetime(const Checkup *checkup, Answer *answer)
{
	const TurnRate *rate = &checkup->rate;
	double		stay = ticks_to_stay(&checkup->histogram);

	answer->unit = "s";
	answer->look_at = "pgbufprobe_page_lifetime()";
	judge(answer, "fine", NULL);
	if (!checkup->evicted)
		answer->answer = pstrdup("No page has been evicted since the server started.");
	else if (has_many_free(checkup))
		answer->answer = psprintf("No page is evicted before the %s that are free have been used.", size_of(checkup->unused));
	else if (rate->ticks > 0)
	{
		answer->value = stay * rate->seconds / rate->ticks;
		answer->answer = psprintf("%s on average. The clock hand completes a pass in %s, and each pass lowers the usage count of a page by one.",
								  duration(answer->value), duration(NBuffers * rate->seconds / rate->ticks));
	}
	else if (rate->seconds >= LONG_WATCH_S)
		answer->answer = psprintf("No page was evicted in the last %s.", duration(rate->seconds));
	else
	{
		judge(answer, "unknown", NULL);
		answer->answer = psprintf("Unknown: no page was evicted in %s, which is too short to say more.", duration(rate->seconds));
	}
}

/* ---- what it costs ---- */

/* The best of some runs, and the slowest: other work can only slow them down. */
typedef struct Spread
{
	double		best_ms;
	double		slowest_ms;
} Spread;

static void
add_run(Spread *spread, int run, double ms)
{
	spread->best_ms = run == 0 ? ms : Min(spread->best_ms, ms);
	spread->slowest_ms = Max(spread->slowest_ms, ms);
}

/*
 * The longest search there can be, with every page at the highest usage count.
 * In a large pool each run searches a part of it, and not the same one.
 */
static Spread
longest_search(void)
{
	int64		longest = (int64) NBuffers * BM_MAX_USAGE_COUNT + 1;
	int64		part = Min(longest, most_inspected() / RUNS);
	Spread		spread = {0};

	for (int run = 0; run < RUNS; run++)
	{
		PbpSweepPlan plan = {
			.scenario = PBP_WORST,.victims = 1,.max_inspected = part,
			.start = part < longest ? (int) (run * part % NBuffers) : 0
		};
		PbpSweepCost cost;

		pbp_sweep_cost(&plan, &cost);
		if (cost.inspected > 0)
			add_run(&spread, run, cost.sweep_ns / 1e6 / (double) cost.inspected * (double) longest);
	}
	return spread;
}

static char *
next_searches(const PbpSweepCost *next)
{
	double		inspected_ms = next->sweep_ns / 1e6;

	if (next->from_freelist == next->victims && next->victims > 0)
		return psprintf("Nothing: free buffers serve the next %d allocations.", VICTIMS);
	if (next->victims == 0)
		return psprintf("The next search takes more than %s ms, for " INT64_FORMAT " buffers and more.",
						measure(inspected_ms), next->inspected);
	return psprintf("%s us for half of the next " INT64_FORMAT " searches, %s us for the longest.",
					measure(pbp_latency_percentile_ns(&next->latency, 0.5) / 1e3), next->victims,
					measure(pbp_latency_max_ns(&next->latency) / 1e3));
}

static void
answer_victim_cost(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;
	Spread		longest = longest_search();

	answer->unit = "us";
	answer->look_at = "pgbufprobe_sweep_cost()";
	answer->value = next->victims > 0 ? pbp_latency_avg_ns(&next->latency) / 1e3 : next->sweep_ns / 1e3;
	answer->answer = psprintf("%s At worst, with every page at the highest usage count, one search would take %s ms "
							  "(best of %d runs; the slowest %s ms).",
							  next_searches(next), measure(longest.best_ms), RUNS, measure(longest.slowest_ms));
	if (answer->value > SLOW_SEARCH_US)
		judge(answer, answer->value > VERY_SLOW_SEARCH_US ? "act" : "look",
			  "Nearly all pages are in constant use, so each search passes many of them. "
			  "Enlarge the pool until it holds them all, or make it smaller, which shortens a pass; "
			  "pgbufprobe_advice() shows what each size would read.");
	else
		judge(answer, "fine", NULL);
}

static void
answer_dirty_victims(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;

	answer->unit = "of the victims";
	answer->look_at = "pgbufprobe_sweep_cost()";
	judge(answer, "fine", NULL);
	if (next->victims == 0)
	{
		judge(answer, "unknown", NULL);
		answer->answer = pstrdup("Unknown: the next victim is too far ahead of the clock hand.");
		return;
	}
	answer->value = (double) next->dirty_victims / (double) next->victims;
	if (next->dirty_victims == 0)
		answer->answer = psprintf("No: none of the next " INT64_FORMAT " victims is dirty.", next->victims);
	else
		answer->answer = psprintf("For " INT64_FORMAT " of the next " INT64_FORMAT " victims: they are dirty, and a session that needs the buffer "
								  "must write them unless the background writer or a checkpoint does so first.",
								  next->dirty_victims, next->victims);
	if (answer->value > MANY_DIRTY)
		judge(answer, "look", "If sessions do write (\"buffers_backend\" in pg_stat_bgwriter, from PostgreSQL 17 on \"writes\" of client backends in pg_stat_io), "
			  "raise bgwriter_lru_maxpages or lower bgwriter_delay.");
}

/* In a large pool each run scans a part of it, and not the same one. */
static Spread
scan_spread(PbpScanMethod method)
{
	int			part = (int) Min(NBuffers, most_inspected() / RUNS / 2);
	Spread		spread = {0};

	for (int run = 0; run < RUNS; run++)
	{
		int			first = (int) ((int64) run * (NBuffers - part) / Max(RUNS - 1, 1));
		PbpScanCost cost;

		pbp_scan_cost(method, first, first + part, 1, &cost);
		add_run(&spread, run, (double) cost.min_ns / 1e6 / part * NBuffers);
	}
	return spread;
}

static void
answer_scan_cost(const Checkup *checkup pg_attribute_unused(), Answer *answer)
{
	Spread		match = scan_spread(PBP_SCAN_MATCH);
	Spread		lock = scan_spread(PBP_SCAN_LOCK);

	answer->value = match.best_ms;
	answer->unit = "ms";
	answer->look_at = "pgbufprobe_scan_cost()";
	answer->answer = psprintf("All %d descriptors: %s ms for each DROP or TRUNCATE of a table, %s ms for each checkpoint "
							  "(best of %d runs; the slowest %s and %s ms).",
							  NBuffers, measure(match.best_ms), measure(lock.best_ms), RUNS,
							  measure(match.slowest_ms), measure(lock.slowest_ms));
	if (match.best_ms > SLOW_SCAN_MS)
		judge(answer, match.best_ms > VERY_SLOW_SCAN_MS ? "act" : "look",
			  "If many tables are dropped or truncated, drop them in one transaction, which scans the pool once for all of them.");
	else
		judge(answer, "fine", NULL);
}

/* ---- memory used twice ---- */

/* Where a share lies with 95 % certainty, by a sample (Wilson's interval). */
static void
interval_of_share(int64 part, int64 whole, double *low, double *high)
{
	double		n = (double) whole;
	double		share = (double) part / n;
	double		z2 = 1.96 * 1.96;
	double		center = (share + z2 / (2 * n)) / (1 + z2 / n);
	double		half = sqrt(share * (1 - share) * z2 / n + z2 * z2 / (4 * n * n)) / (1 + z2 / n);

	*low = Max(center - half, 0);
	*high = Min(center + half, 1);
}

static char *
certainty_of(const PbpDuplicates *duplicates)
{
	double		low;
	double		high;

	if (duplicates->complete)
		return pstrdup("all pages were looked up");
	interval_of_share(duplicates->cached, duplicates->sampled, &low, &high);
	return psprintf("%.1f to %.1f %% of the pages in use, by a sample of " INT64_FORMAT,
					100 * low, 100 * high, duplicates->sampled);
}

static void
answer_cached_twice(const Checkup *checkup, Answer *answer)
{
	PbpDuplicates duplicates;
	double		twice;			/* buffers */

	answer->unit = "of the pool";
	answer->look_at = "pgbufprobe_residency()";
	judge(answer, "unknown", NULL);
	pbp_sample_duplicates(SAMPLED_PAGES, SAMPLED_NS, &duplicates);
	if (duplicates.sampled == 0)
	{
		const char *reason = pbp_os_reason(duplicates.trust);

		answer->answer = psprintf("Unknown: %s", reason != NULL ? reason : "The pool holds no page.");
		return;
	}

	twice = (double) duplicates.cached / (double) duplicates.sampled * (double) checkup->used;
	answer->value = twice / NBuffers;
	answer->answer = psprintf("%s of the %s in use are in the page cache, too (%s).",
							  size_of((int64) twice), size_of(checkup->used), certainty_of(&duplicates));
	if (answer->value > MOSTLY_TWICE)
		judge(answer, "look", psprintf("The pool holds only %s that the page cache does not hold. Enlarge it if pgbufprobe_advice() says that this avoids reads; "
									   "if not, a smaller one leaves more memory to the page cache.",
									   size_of((int64) ((double) checkup->used - twice))));
	else
		judge(answer, "fine", NULL);
}

/* ---- the front door ---- */

static void
emit_answer(ReturnSetInfo *rsinfo, const Answer *answer)
{
	Row			row = {0};

	add_text(&row, answer->key);
	add_text(&row, answer->question);
	add_text(&row, answer->answer);
	if (isnan(answer->value))
		add_null(&row);
	else
		add_measure(&row, answer->value);
	add_text(&row, answer->unit);
	add_text(&row, answer->verdict);
	add_text(&row, answer->action);
	add_text(&row, answer->look_at);
	emit_row(rsinfo, &row, CHECKUP_COLS);
}

typedef struct Question
{
	const char *key;
	const char *question;
	void		(*answer) (const Checkup *checkup, Answer *answer);
} Question;

static const Question questions[] = {
	{"pool_full", "Is the pool full?", answer_pool_full},
	{"larger_pool", "Would a larger pool help?", answer_larger_pool},
	{"smaller_pool", "Would a smaller pool do?", answer_smaller_pool},
	{"page_lifetime", "How long does an unused page stay?", answer_page_lifetime},
	{"victim_cost", "What does finding a victim cost, now and at worst?", answer_victim_cost},
	{"dirty_victims", "Do sessions have to write before they can read?", answer_dirty_victims},
	{"scan_cost", "What does each DROP or checkpoint scan?", answer_scan_cost},
	{"cached_twice", "How much of the pool is cached twice?", answer_cached_twice},
};

Datum
pgbufprobe_checkup(PG_FUNCTION_ARGS)
{
	Checkup    *checkup = palloc0(sizeof(*checkup));

	InitMaterializedSRF(fcinfo, 0);
	gather(checkup);
	for (int i = 0; i < (int) lengthof(questions); i++)
	{
		Answer		answer = {
			.key = questions[i].key,.question = questions[i].question,.value = NAN
		};

		questions[i].answer(checkup, &answer);
		emit_answer((ReturnSetInfo *) fcinfo->resultinfo, &answer);
	}
	return (Datum) 0;
}

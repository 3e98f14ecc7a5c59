/*-------------------------------------------------------------------------
 *
 * checkup.c
 *	  Common questions about shared_buffers, each answered in a sentence.
 *
 * There is one answer_*() per topic, which inspects at most as many descriptors
 * as the pool has (MIN_INSPECTED in a smaller pool) and takes about a second, so a
 * checkup is safe on any server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "answers/answers.h"
#include "base/settings.h"

/* how long to watch the clock hand if there is no history */
#define WATCHED_MS			1000

/* limits of the buffers that a question inspects, about a second's work */
#define MIN_INSPECTED		1000000
#define MAX_INSPECTED		32000000

/* runs of each timing, of which the fastest counts */
#define RUNS				5

#define VICTIMS				1000

#define NEVER_EVICTED		"No page has been evicted since the server started."
#define NOTHING_TO_NOTICE	"Nothing to notice: "
#define TURN_OS_CACHE_ON	"Set pgbufprobe.os_cache to on and reload the settings."

/* thresholds of the verdicts */
#define MANY_FREE			0.1 /* share of free buffers that lasts for a while */
#define LONG_WATCH_S		60
#define SLOW_SEARCH_US		100
#define VERY_SLOW_SEARCH_US 1000
#define MANY_DIRTY			0.5
#define SLOW_SCAN_MS		5
#define VERY_SLOW_SCAN_MS	50
#define MOSTLY_TWICE		0.5
#define TOLERATED_FACTOR	2.0 /* of effective_cache_size, in either direction */

PG_FUNCTION_INFO_V1(pgbufprobe_checkup);

/* in the order of PbpVerdict */
const char *const verdict_names[] = {"unknown", "fine", "consider", "change"};

/* ---- answers ---- */

/* Milliseconds in each second, with the interval. */
char *
pretty_waiting(const PbpCompared *waiting)
{
	return pretty_interval(waiting->value, waiting->error, 0, INFINITY, "ms");
}

void
judge(Answer *answer, PbpVerdict verdict, const char *action)
{
	answer->verdict = verdict;
	answer->action = action;
}

/* What comes behind a semicolon is detail. */
void
answer_unknown(Answer *answer, const char *reason)
{
	const char *rest = strstr(reason, "; ");

	judge(answer, PBP_VERDICT_UNKNOWN, ASK_AGAIN);
	answer->text =
		psprintf("Unknown: %.*s.", rest ? (int) (rest - reason) : (int) strlen(reason), reason);
	if (rest != NULL)
	{
		char	   *detail = psprintf("%s.", rest + 2);

		detail[0] = pg_toupper((unsigned char) detail[0]);
		answer->detail = detail;
	}
}

/* ---- the pool ---- */

static void
answer_pool_full(const Checkup *checkup, Answer *answer)
{
	bool		nearly = checkup->evicted && checkup->unused <= NBuffers / 2;

	answer->text = checkup->unused == 0 ?
		psprintf("Full: all %s are in use.", exact_size(NBuffers)) :
		psprintf("%s full: %s of %s are free.", nearly ? "Nearly" : "Not",
				 pretty_size(checkup->unused), exact_size(NBuffers));
	if (!checkup->evicted)
		answer->detail = NEVER_EVICTED;
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

static void
answer_page_lifetime(const Checkup *checkup, Answer *answer)
{
	double		seconds = checkup->rate.seconds;
	double		ticks = checkup->rate.ticks;

	if (!checkup->evicted)
		answer->text = NEVER_EVICTED;
	else if (PBP_HAS_FREE_LIST && checkup->unused > MANY_FREE * NBuffers)
		answer->text = psprintf("No page is evicted before %s of free buffers are used.",
								pretty_size(checkup->unused));
	else if (ticks > 0)
	{
		double		stay = ticks_until_eviction(&checkup->histogram) * seconds / ticks;

		answer->text =
			psprintf("A page that is not used again stays %s on average.", pretty_duration(stay));
		answer->detail = psprintf("The clock hand completes a pass in %s, and each pass lowers the "
								  "usage count of a page by one.",
								  pretty_duration(NBuffers * seconds / ticks));
	}
	else if (seconds >= LONG_WATCH_S)
		answer->text = psprintf("No page was evicted in the last %s.", pretty_duration(seconds));
	else
		answer_unknown(answer, psprintf("no page was evicted in %s, too short for an estimate",
										pretty_duration(seconds)));
}

/* ---- what it costs ---- */

/* Other work can only slow a run down, so the best one is the estimate. */
typedef struct Timing
{
	double		best_ms;
	double		slowest_ms;
} Timing;

static int64
inspection_limit(void)
{
	return Max(Min(NBuffers, MAX_INSPECTED), MIN_INSPECTED);
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
		double		ms;

		pbp_sweep_cost(&plan, &cost);
		ms = cost.sweep_ns / 1e6 / (double) cost.inspected * (double) longest;
		timing.best_ms = run == 0 ? ms : Min(timing.best_ms, ms);
		timing.slowest_ms = Max(timing.slowest_ms, ms);
	}
	return timing;
}

static void
answer_victim_cost(const Checkup *checkup, Answer *answer)
{
	const PbpSweepCost *next = &checkup->next;
	Timing		longest = time_longest_search();
	double		ns = next->victims > 0 ? pbp_latency_avg_ns(&next->latency) : next->sweep_ns;
	double		us = ns / 1e3;
	bool		slow = us > SLOW_SEARCH_US;
	const char *more = NULL;

	if (next->victims == 0)
	{
		answer->text =
			psprintf("The next search takes more than %s ms.", pretty_number(next->sweep_ns / 1e6));
		more = psprintf("It inspects more than " INT64_FORMAT " buffers.", next->inspected);
	}
	else if (next->from_freelist == next->victims)
		answer->text = NOTHING_TO_NOTICE "the next searches take free buffers.";
	else
	{
		answer->text =
			psprintf("%s%s us for each search now, %s ms at worst.", slow ? "" : NOTHING_TO_NOTICE,
					 pretty_number(us), pretty_number(longest.best_ms));
		more = psprintf("The longest of the next " INT64_FORMAT " searches takes %s us.",
						next->victims, pretty_number(pbp_latency_max_ns(&next->latency) / 1e3));
	}
	answer->detail = join_sentences(
		more,
		psprintf("At worst, with every page at the highest usage count, one search would take %s "
				 "ms (best of %d runs; slowest: %s ms).",
				 pretty_number(longest.best_ms), RUNS, pretty_number(longest.slowest_ms)));
	if (slow)
		judge(answer, us > VERY_SLOW_SEARCH_US ? PBP_VERDICT_CHANGE : PBP_VERDICT_CONSIDER,
			  "Nearly all pages are in constant use, so each search inspects many buffers. Enlarge "
			  "the pool until it holds all of these pages, or shrink it to shorten a pass. "
			  "pgbufprobe_advice() estimates the reads at each size.");
}

static void
answer_dirty_victims(const Checkup *checkup, Answer *answer)
{
	int64		victims = checkup->next.victims;
	int64		dirty = checkup->next.dirty_victims;

	if (victims == 0)
		answer_unknown(answer, "the next victim is too far ahead of the clock hand");
	else if (dirty == 0)
		answer->text = psprintf("No: none of the next " INT64_FORMAT " victims is dirty.", victims);
	else
	{
		answer->text =
			psprintf("Perhaps: " INT64_FORMAT " of the next " INT64_FORMAT " victims are dirty.",
					 dirty, victims);
		answer->detail = "A session that needs such a buffer must write the page first, unless the "
						 "background writer or a checkpoint already has.";
		if ((double) dirty > MANY_DIRTY * (double) victims)
			judge(answer, PBP_VERDICT_CONSIDER,
				  "If sessions do write pages (\"buffers_backend\" in pg_stat_bgwriter; from "
				  "PostgreSQL 17 on, \"writes\" of client backends in pg_stat_io), raise "
				  "bgwriter_lru_maxpages or lower bgwriter_delay.");
	}
}

/* In a large pool, each run scans a different part of it. */
static PbpScanCost
time_scan(PbpScanMethod method)
{
	return pbp_scan_cost(method, (int) Min(NBuffers, inspection_limit() / RUNS / 2), RUNS);
}

static void
answer_scan_cost(const Checkup *checkup pg_attribute_unused(), Answer *answer)
{
	PbpScanCost match = time_scan(PBP_SCAN_MATCH);
	PbpScanCost lock = time_scan(PBP_SCAN_LOCK);
	bool		slow = match.min_ms > SLOW_SCAN_MS;

	answer->text =
		psprintf("%s%s ms for each DROP, %s for a checkpoint.", slow ? "" : NOTHING_TO_NOTICE,
				 pretty_number(match.min_ms), pretty_number(lock.min_ms));
	answer->detail =
		psprintf("Each DROP or TRUNCATE of a table, and each checkpoint, scans all %d buffer "
				 "descriptors (best of %d runs; slowest: %s and %s ms).",
				 NBuffers, RUNS, pretty_number(match.max_ms), pretty_number(lock.max_ms));
	if (slow)
		judge(answer, match.min_ms > VERY_SLOW_SCAN_MS ? PBP_VERDICT_CHANGE : PBP_VERDICT_CONSIDER,
			  "If you drop or truncate many tables, do so in one transaction, which scans the pool "
			  "once for all of them.");
}

/* ---- the page cache ---- */

static void
answer_cached_twice(const Checkup *checkup, Answer *answer)
{
	const PbpDuplicates *duplicates = &checkup->duplicates;
	bool		decided = verdict_of_size(checkup->advice) != PBP_VERDICT_UNKNOWN;
	double		n = (double) duplicates->sampled;
	PbpInterval interval;

	if (duplicates->sampled == 0)
	{
		const char *reason = pbp_os_reason(duplicates->trust);

		answer_unknown(answer, reason ? "the state of the page cache is unavailable" :
					   "the pool holds no page");
		answer->detail = reason;
		if (reason != NULL)
			answer->action = !pbp_os_cache_on ? TURN_OS_CACHE_ON :
				"None: this kernel or file system does not show its page cache.";
		return;
	}
	answer->text =
		psprintf("%s of %s is in the page cache, too%s.", pretty_size((int64) checkup->twice),
				 exact_size(NBuffers), decided ? "; the size counts that" : "");
	interval = pbp_share_interval((double) duplicates->cached / n, n);
	answer->detail = duplicates->complete ?
		"All pages in use were looked up in the page cache." :
		psprintf("%.1f to %.1f %% of the pages in use are also in the page cache, from a sample "
				 "of " INT64_FORMAT ".",
				 100 * Max(interval.middle - interval.half, 0),
				 100 * Min(interval.middle + interval.half, 1), duplicates->sampled);
	if (!decided && checkup->twice > MOSTLY_TWICE * NBuffers)
		judge(answer, PBP_VERDICT_CONSIDER, start_action(checkup->function));
}

/*
 * How many buffers the page cache can hold: by the worker, which knows what other
 * programs hold there, or else by the kernel alone.  Returns why that or what both
 * caches hold is unknown; NULL: it is known.
 */
static const char *
capacity_of_page_cache(const Checkup *checkup, int64 *capacity)
{
	const PbpAdviceReport *report = checkup->advice;
	const PbpAdviceStorageRow *today = &report->storage.fixed[PBP_ADVICE_BASELINE];

	if (!pbp_os_cache_on)
		return "pgbufprobe.os_cache is off";
	if (pbp_direct_io())
		return "the server bypasses the page cache";
	if (missing_advice(report) == NULL && !report->is_from_before &&
		unknown_storage_model(report) == NULL && today->reason != PBP_STORAGE_NO_CAPACITY)
		*capacity = Max(today->os_cache_pages, 0);
	else
	{
		PbpMemoryFacts facts = pbp_read_memory_facts(PBP_UNKNOWN, PBP_UNKNOWN);

		if (!facts.memory.known)
			return "the kernel does not report its memory";
		*capacity = facts.memory.cache_bytes / BLCKSZ;
	}
	return isnan(checkup->twice) ? "it is unknown which pages both caches hold" : NULL;
}

/*
 * The planner takes effective_cache_size for what all caches hold of the tables
 * of a query, each page once.
 */
static void
answer_planner_cache(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	int64		data = report->storage.data_bytes;
	int64		os_cache = 0;
	int64		distinct;		/* pages that both caches can hold */
	const char *unknown = capacity_of_page_cache(checkup, &os_cache);
	double		ratio;
	bool		is_near;
	bool		has_all;

	if (unknown != NULL)
	{
		answer_unknown(answer, unknown);
		if (!pbp_os_cache_on)
			answer->action = TURN_OS_CACHE_ON;
		return;
	}
	distinct = NBuffers + Max(os_cache - (int64) checkup->twice, 0);
	ratio = (double) effective_cache_size / (double) distinct;
	is_near = ratio <= TOLERATED_FACTOR && ratio >= 1 / TOLERATED_FACTOR;
	/* the planner may assume that all files of relations are cached, and they can be */
	has_all = !is_near && missing_advice(report) == NULL && report->storage.has_memory &&
		!report->is_from_before && data > 0 &&
		Min(distinct, (int64) effective_cache_size) * BLCKSZ >= data;
	answer->text = psprintf("%s: effective_cache_size is %s, and both caches hold %s.",
							is_near || has_all ? "Right" : ratio > 1 ? "Too high" : "Too low",
							pretty_size(effective_cache_size), pretty_size(distinct));
	answer->detail =
		psprintf("%s in the pool and %s in the page cache, of which %s are in both.%s",
				 pretty_size(NBuffers), pretty_size(os_cache), pretty_size((int64) checkup->twice),
				 has_all ? " Both are more than all relations have." : "");
	if (!is_near && !has_all)
		judge(answer, PBP_VERDICT_CONSIDER,
			  psprintf("Set effective_cache_size to %s and reload the settings. It takes no "
					   "memory; the planner then knows how likely a page is cached.",
					   pretty_size(distinct)));
}

/* ---- all topics ---- */

static const struct
{
	const char *name;
	void		(*answer) (const Checkup *checkup, Answer *answer);
}			topics[] = {
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
gather(Checkup *checkup)
{
	PbpSweepPlan plan = {
		.scenario = PBP_CURRENT,.victims = VICTIMS,.max_inspected = inspection_limit()
	};
	PbpDuplicates *duplicates = &checkup->duplicates;

	checkup->histogram = pbp_histogram(NULL, NBuffers);
	/* a pinned buffer without a valid page is being read into */
	checkup->unused = checkup->histogram.unused.buffers - checkup->histogram.unused.pinned;
	checkup->used = NBuffers - checkup->unused;
	checkup->evicted = pbp_has_evicted();
	checkup->rate = pbp_recent_history();
	if (checkup->rate.seconds == 0)
		checkup->rate = pbp_watch_clock(WATCHED_MS);
	checkup->advice = pbp_read_advice();
	pbp_sweep_cost(&plan, &checkup->next);
	*duplicates = pbp_sample_duplicates(checkup->used);
	checkup->twice = duplicates->sampled == 0 ? NAN :
		(double) duplicates->cached / (double) duplicates->sampled * (double) checkup->used;
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
		Answer		answer = {.verdict = PBP_VERDICT_FINE};
		Row			row = {0};

		topics[i].answer(checkup, &answer);
		Assert(strlen(answer.text) <= MAX_ANSWER);
		add_text(&row, topics[i].name);
		add_text(&row, verdict_names[answer.verdict]);
		add_text(&row, answer.text);
		add_text(&row, answer.action);
		add_text(&row, answer.detail);
		emit_row(fcinfo, &row);
	}
	return (Datum) 0;
}

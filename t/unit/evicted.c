/*
 * evicted.c
 *	  Compares what looks find of pages that were evicted with a pool that runs the same
 *	  trace, in full.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact_policies.h"

#define NBUFFERS	16384

static double
share(int64_t part, int64_t whole)
{
	return (double) part / fmax(1, (double) whole);
}

/* Of all samples, in the window of the run, since what was counted before is taken at its start. */
static PbpEvicted
take_all(Run *run)
{
	PbpEvicted	sum = {0};

	for (int j = 0; j < SAMPLES && run->advice[j]; j++)
		pbp_advice_take_evicted(run->advice[j], &sum);
	return sum;
}

/* The first relation has the first half of the pages. */
static uint32_t
relation_of(int page)
{
	return page < trace_pages(NBUFFERS) / 2 ? 1 : 2;
}

/* What the first sample says of the first relation. */
static double
share_of_relation(const Run *run)
{
	static PbpRelationsReport report;

	pbp_advice_report_relations(run->advice[0], &report);
	for (int i = 0; i < report.nrows; i++)
		if (report.rows[i].key.relfilenode == 1)
			return report.rows[i].read_again;
	return NAN;
}

static void
compare_trace(Kind kind, const char *name, double looks_per_pass, double tolerated)
{
	Bench		bench;
	Run			run = {.kind = kind, .nbuffers = NBUFFERS, .seed = 1 + (uint64_t) kind, .looks_per_pass = looks_per_pass};
	Recording	trace;
	ExactEvicted truth;
	ExactEvicted of_relation;
	PbpEvicted	found;
	double		once;
	double		again;

	bench_start_run(&bench, &run, SAMPLES, (size_t) NBUFFERS * 10, 1.0 / 20);
	for (int j = 0; j < SAMPLES; j++)
		pbp_advice_watch_relations(bench.run.advice[j], malloc(100000), 100000);
	bench.run.relation_of = relation_of;
	bench_run(&bench, SETTLE_POOLS, true);
	bench.run.window_start = bench.trace.count;
	take_all(&bench.run);
	bench_run(&bench, 2 * WINDOW_POOLS, true);
	bench.run.window_end = bench.trace.count;
	bench.run.move_at = INT64_MAX;
	found = take_all(&bench.run);
	trace = record_run(&bench.run);
	truth = exact_evicted(&trace, NBUFFERS, trace.npages);
	of_relation = exact_evicted(&trace, NBUFFERS, trace.npages / 2);
	once = fabs(share(found.used_once, found.pages) - share(truth.used_once, truth.pages));
	again = fabs(share(found.read_again, found.pages) - share(truth.read_again, truth.pages));
	okf(once <= tolerated && again <= tolerated, "%s: used once %.4f (error %.4f), read again %.4f (error %.4f)", name,
		share(truth.used_once, truth.pages), once, share(truth.read_again, truth.pages), again);
	again = fabs(share_of_relation(&bench.run) - share(of_relation.read_again, of_relation.pages));
	okf(again <= 3 * tolerated, "of one relation, %.4f (error %.4f)", share(of_relation.read_again, of_relation.pages), again);
	free(trace.pages);
	bench_finish(&bench);
}

/* Skewed lookups, and beside them every so many accesses one of a page that is never used again; 0: none. */
static double
read_again_beside(int lookups_per_page)
{
	int64_t		most = 400 * 4096;
	Recording	trace = {.pages = malloc(sizeof(int) * (size_t) most), .first = most / 2};
	Trace		source;
	ExactEvicted evicted;
	bool		bulk;

	trace_init(&source, ZIPF, 4096, 2, INT64_MAX);
	trace.npages = trace_pages(4096);
	for (int64_t i = 0; i < most; i++)
		trace.pages[i] = lookups_per_page > 0 && i % (lookups_per_page + 1) == 0 ? trace.npages++ : next_page(&source, &bulk);
	trace.naccesses = most;
	evicted = exact_evicted(&trace, 4096, trace.npages);
	free(trace.pages);
	return share(evicted.read_again, evicted.pages);
}

/* A scan drives out pages, but more of its own than of others. */
static void
scan_beside(void)
{
	double		without = read_again_beside(0);
	double		with = read_again_beside(4);

	okf(with < without / 2, "beside a scan, a smaller share is read again (%.2f, without it %.2f)", with, without);
}

/* Pages that leave where the hand has not been are not evicted. */
static void
drop_pages(void)
{
	Bench		bench;
	PbpAdvice  *advice;

	bench_learn(&bench, ZIPF, 5);
	advice = bench.run.advice[0];
	look_only(&bench.run, 0, &bench.pool);
	ok(take_all(&bench.run).pages > 0, "pages are evicted");
	pbp_advice_begin(advice, bench.pool.ticks);
	pbp_advice_end(advice, bench.pool.ticks);
	ok(take_all(&bench.run).pages == 0, "all pages are dropped, and none is evicted");
	bench_finish(&bench);
}

static void
lose_knowledge(void)
{
	Bench		bench;

	bench_learn(&bench, ZIPF, 5);
	take_all(&bench.run);
	pbp_advice_gap(bench.run.advice[0]);
	bench_run(&bench, 0.9, true);
	ok(take_all(&bench.run).pages == 0, "after a time without looks, nothing is known");
	bench_run(&bench, 1, true);
	ok(take_all(&bench.run).pages > 0, "before a pool of pages was evicted");
	bench_finish(&bench);
}

int
main(void)
{
	compare_trace(UNIFORM, "uniform", 8, 0.012);
	compare_trace(ZIPF, "zipf", 8, 0.012);
	compare_trace(TWO_SETS, "two sets", 8, 0.012);
	compare_trace(SCANS, "scans", 8, 0.012);
	/* a scan through a ring uses the pages that it finds in the pool */
	compare_trace(RING_SCANS, "ring scans", 8, 0.04);
	compare_trace(PGBENCH, "pgbench", 8, 0.012);
	compare_trace(PGBENCH, "two looks", 2, 0.012);
	compare_trace(LOOP, "loop", 8, 0.012);
	compare_trace(PERIODIC_SCAN, "scan", 8, 0.012);
	scan_beside();
	drop_pages();
	lose_knowledge();
	return end_of_tests();
}

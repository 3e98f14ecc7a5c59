/*
 * advice_limits.c
 *	  What the advice does not know, it does not say; and its memory and time
 *	  are bounded.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice_model.h"

static void
all_fits(void)
{
	Bench		bench;

	bench_start(&bench, UNIFORM, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 200; i++)
	{
		for (int page = 0; page < 8000; page++)
			pool_access(&bench.pool, page, false);
		look_at_pool(&bench.run, 0, &bench.pool, &bench.watch);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_NOTHING_EVICTED),
	   "nothing was evicted: nothing is known, with the reason");
	bench_finish(&bench);
}

static double
dirty_evictions(const PbpAdvice *advice, int size)
{
	return row_of(advice, size).write_ratio * totals_of(advice).accesses;
}

/* A third of all pages is written, and then none.  The real pool has written what it evicted; a larger one has not. */
static void
write_after_checkpoint(void)
{
	Bench		bench;
	PbpAdvice  *advice;
	double		written[2];

	bench_start(&bench, ZIPF, 8192, 8192 * 20, 1.0 / 20);
	bench.run.written_from = 2 * 8192;
	bench_run(&bench, 12, true);
	advice = bench.run.advice[0];
	bench.run.written_from = 0;
	for (int checkpoint = 0; checkpoint < 2; checkpoint++)
	{
		double		before = dirty_evictions(advice, TODAY + 2);

		if (checkpoint)
			pbp_advice_checkpoint(advice);
		bench_run(&bench, 0.5, true);
		written[checkpoint] = dirty_evictions(advice, TODAY + 2) / before;
	}
	printf("# dirty evictions, that decay: by a factor of %g before a checkpoint, %g after it\n", written[0], written[1]);
	ok(written[0] > 0.97 && written[1] < 0.93, "what a checkpoint has written, no eviction writes");
	bench_finish(&bench);
}

/* What is known, when, and after a time without a look. */
static void
lose_knowledge(void)
{
	Bench		bench;

	bench_learn(&bench, ZIPF, 0.5);
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_LEARNING), "before the first look, all sizes are being learned");
	bench_run(&bench, 1.4, true);
	ok(all_unknown(bench.run.advice[0], TODAY + 3, PBP_ADVICE_LEARNING),
	   "soon after the start, twice the size and more are being learned");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "later all are known from 0.5 on");

	pbp_advice_gap(bench.run.advice[0]);
	bench_run(&bench, 0.2, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "after a gap, what was learned is known");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "and later, too");
	ok(totals_of(bench.run.advice[0]).gaps == 1, "the gap was counted");

	bench_run(&bench, 2, false);
	bench_run(&bench, 0.2, true);
	ok(totals_of(bench.run.advice[0]).gaps == 2, "a gap of some passes without a look is detected");
	bench_finish(&bench);
}

/*
 * In a small pool, whose sample is small, the first figures after a gap stand
 * on enough as well.  Of pages used alike, twice a pool, any size misses the
 * share that it has no room for.
 */
static void
learn_again(void)
{
	Bench		bench;
	double		worst = 0;
	int			nfigures = 0;

	bench_start(&bench, UNIFORM, 2048, 2048 * 20, 1.0 / 20);
	for (int i = 0; i < 30; i++)
	{
		bench_run(&bench, 8, true);
		pbp_advice_gap(bench.run.advice[0]);
		for (int step = 0; step < 60; step++)
		{
			bench_run(&bench, 0.1, true);
			for (int j = TODAY + 1; j < PBP_ADVICE_FACTORS; j++)
			{
				PbpAdviceRow row = row_of(bench.run.advice[0], j);

				if (row.reason != PBP_ADVICE_KNOWN)
					continue;
				nfigures++;
				worst = fmax(worst, fabs(row.ratio.value - fmax(0, 1 - row.factor / 2)));
			}
		}
	}
	printf("# a small pool after gaps: within %.4f, %d figures\n", worst, nfigures);
	ok(worst <= 0.1 && nfigures > 1000, "a small pool after gaps: the first figures of larger sizes within 0.1");
	bench_finish(&bench);
}

/* A hand that makes several passes between two looks, after slower times. */
static void
outrun(void)
{
	Bench		bench;

	bench_learn(&bench, ZIPF, 9);
	for (int i = 0; i < 20; i++)
	{
		bench_run(&bench, 3, false);
		look_at_pool(&bench.run, 0, &bench.pool, &bench.watch);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_RARE_LOOKS),
	   "a hand that outruns the looks: nothing is known any more, with the reason");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "and known again when it is slower");
	bench_finish(&bench);
}

/* The server does not count all reads. */
static void
count_less(void)
{
	Bench		bench;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	bench.run.uncounted = 0.6;
	bench_run(&bench, 12, true);
	ok(count_known(bench.run.advice[0], 0) == 1 && count_reason(bench.run.advice[0], 0, PBP_ADVICE_UNCOUNTED) == PBP_ADVICE_FACTORS - 1,
	   "where more than half of the reads are not counted, no other size is known, with the reason");
	bench.run.uncounted = 0.8;
	bench_run(&bench, 12, true);
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_UNCOUNTED),
	   "where most reads are not counted, neither is today's, with the reason");
	bench_finish(&bench);

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 100; i++)
	{
		bench_run(&bench, 0.1, false);
		look_only(&bench.run, 0, &bench.pool);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_UNPUBLISHED),
	   "where no access is counted, nothing is known, with the reason");
	bench_finish(&bench);
}

/* Each time, no look sees three pools' worth of reads, and then some see as much. */
static double
worst_with_gaps(Bench *bench, int from, int to)
{
	for (int i = 0; i < 20; i++)
	{
		bench_run(bench, 3, false);
		look_and_watch(&bench->run, &bench->pool, bench->trace.count, 0, &bench->watch);
		bench_run(bench, 3, true);
	}
	bench->run.window_start = bench->trace.count / 2;
	bench->run.window_end = bench->trace.count;
	bench->run.move_at = INT64_MAX;
	return worst_error(&bench->run, from, to);
}

/* Accesses during a gap, whose loads no look has seen, must not dilute the figures. */
static void
count_before_gaps(void)
{
	Bench		bench;
	double		worst;

	bench_learn(&bench, ZIPF, 9);
	/* between two gaps, larger pools are not filled again, and what was learned of them fades */
	worst = worst_with_gaps(&bench, SMALLEST, TODAY + 2);
	printf("# gaps every six pools: within %.4f\n", worst);
	ok(worst <= 0.02, "gaps again and again: up to 1.5 times the size within 0.02");
	bench_finish(&bench);
}

/* How often the pages of a hot set are used, their counts hide most of the time.  A gap leaves what was learned of that. */
static void
remember_rates(void)
{
	Bench		bench;
	double		worst;

	bench_start(&bench, TWO_SETS, 8192, 8192 * 80, 1.0 / 2);
	worst = worst_with_gaps(&bench, PBP_ADVICE_HALF, TODAY);
	printf("# a hot set, gaps every six pools: within %.4f\n", worst);
	ok(worst <= 0.02, "a hot set, gaps again and again: from half the size on within 0.02");
	bench_finish(&bench);
}

/* Reads that no look sees: at most a fifth of all. */
static void
see_less(void)
{
	for (int together = 0; together < 2; together++)
		for (int most = 0; most < 2; most++)
		{
			Bench		bench;
			const Run	run = {
				.kind = ZIPF, .nbuffers = 8192, .seed = 7, .looks_per_pass = 8, .rings_together = together,
				.uncounted = most ? -0.6 : -0.15
			};

			bench_start_run(&bench, &run, 1, 8192 * 10, 1.0 / 20);
			bench_run(&bench, 12, true);
			if (most)
				ok(count_known(bench.run.advice[0], 0) == 1 && count_reason(bench.run.advice[0], 0, PBP_ADVICE_UNSEEN) == 10,
				   "less than two thirds of the reads are seen: only what is measured is known");
			else
				ok(count_known(bench.run.advice[0], 1) == 10, "more than four fifths of the reads are seen: sizes are known");
			bench_finish(&bench);
		}
}

/* Tables that are scanned through a ring, and that only larger pools may hold. */
static void
scan_past_the_pool(bool together, Kind kind)
{
	Bench		bench;
	PbpAdvice  *advice;
	const Run	run = {
		.kind = kind, .nbuffers = 8192, .seed = 7, .looks_per_pass = 8, .rings_together = together,
		.uncounted = together ? -0.15 : 0
	};

	bench_start_run(&bench, &run, 1, 8192 * 10, 1.0 / 20);
	advice = bench.run.advice[0];
	bench_run(&bench, 12, true);
	ok(count_known(advice, TODAY) == 6, "scans through a ring: known if no larger pool would hold the tables");
	pbp_advice_facts(advice)->smallest_scanned = 8192 / 4 * 3;
	ok(count_known(advice, 1) == 8 && count_reason(advice, 1, PBP_ADVICE_SCANS) == 2, "unknown where the pool might hold one of them");
	pbp_advice_facts(advice)->smallest_scanned = 0;
	ok(count_known(advice, 1) == 5 && count_reason(advice, 1, PBP_ADVICE_SCANS) == 5, "and at all larger sizes as long as sizes are unknown");
	bench_finish(&bench);
}

/* Both intervals have such a miss ratio. */
static bool
reaches(const PbpAdviceRow *row, double miss_ratio)
{
	return row->ratio.value + row->ratio.error >= miss_ratio && row->ratio.value + row->ratio.change_error >= miss_ratio;
}

/* What one scan leaves, another one finds, and keeps in the pool. */
static void
scan_at_once(void)
{
	PbpAdviceCounts apart = {.ring_reads = 97000,.scan_reads = 97000,.scan_hits = 900,.alone_reads = 97000,.alone_hits = 900};
	PbpAdviceCounts few = {.scan_hits = 10,.alone_hits = 10};
	PbpAdviceCounts at_once = {.scan_hits = 2100,.alone_hits = 2100};
	Bench		bench;
	PbpAdvice  *advice;
	PbpAdviceRow today;
	PbpAdviceRow before;
	PbpAdviceRow larger;

	bench_learn(&bench, ZIPF, 12);
	advice = bench.run.advice[0];
	today = row_of(advice, TODAY);
	pbp_advice_accesses(advice, &few);
	before = row_of(advice, PBP_ADVICE_DOUBLE);
	ok(!reaches(&before, today.ratio.value), "a few blocks that scans find do not matter");
	pbp_advice_accesses(advice, &apart);
	today = row_of(advice, TODAY);
	before = row_of(advice, PBP_ADVICE_DOUBLE);
	ok(!reaches(&before, today.ratio.value), "scans that find nothing in the pool: twice the size saves misses");
	pbp_advice_accesses(advice, &at_once);
	larger = row_of(advice, PBP_ADVICE_DOUBLE);
	ok(larger.ratio.value == before.ratio.value && reaches(&larger, today.ratio.value), "or perhaps none, if scans find what others left, and it is unknown how much that is");
	pbp_advice_facts(advice)->scanned_alone = 8192 / 2;
	larger = row_of(advice, PBP_ADVICE_DOUBLE);
	ok(reaches(&larger, row_of(advice, PBP_ADVICE_DOUBLE - 1).ratio.value) && !reaches(&larger, today.ratio.value), "what is scanned takes no more than its size");
	bench_finish(&bench);
}

static void
scan_nothing(void)
{
	Bench		bench;

	bench_learn(&bench, ZIPF, 12);
	pbp_advice_facts(bench.run.advice[0])->smallest_scanned = 0;
	ok(count_known(bench.run.advice[0], 1) == 10, "without scans, the sizes of tables do not matter");
	bench_finish(&bench);
}

/* Of pages that are read in turn, all fit or none does. */
static void
read_in_turn(void)
{
	Bench		bench;

	bench_learn(&bench, LOOP, 9);
	ok(row_of(bench.run.advice[0], TODAY + 1).reason == PBP_ADVICE_CLIFF && count_reason(bench.run.advice[0], 0, PBP_ADVICE_CLIFF) <= 2,
	   "pages of 1.3 pools that are read in turn: the nearest sizes are unknown, with the reason");
	bench_finish(&bench);
}

/*
 * In turn, pages of a part of the pool, beside others: for long, a pool misses them or does not, and a simulated one may be of
 * the other kind than the real one.  Then what a smaller pool misses more is not known.
 */
static void
keep_others_in_turn(void)
{
	Bench		bench;
	Pool		half;
	int			n = 8192;
	int			wrong = 0;

	bench_start_run(&bench, &(Run) {.kind = UNIFORM,.nbuffers = n,.seed = 7,.looks_per_pass = 10}, SAMPLES, (size_t) n * 60, 0.2);
	pool_init(&half, n / 2, trace_pages(n));
	for (int i = 0; i < 130 * n; i++)
	{
		int			percent = below(&bench.trace.random, 100);
		int			page = percent < 45 ? bench.trace.step++ % (n * 6 / 10) :
			percent < 65 ? n + below(&bench.trace.random, 2 * n) : 4 * n + below(&bench.trace.random, n * 3 / 10);

		if (i == 70 * n)
			half.hits = half.reads = 0;
		pool_access(&bench.pool, page, false);
		pool_access(&half, page, false);
		bench.trace.count++;
		watch_pool(&bench.run, &bench.pool, &bench.trace, &bench.watch);
	}
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceRow row = row_of(bench.run.advice[j], PBP_ADVICE_HALF);
		double		truth = (double) half.reads / (double) (half.hits + half.reads);

		printf("# half misses %g, and the advice has %g +- %g\n", truth, row.ratio.value, row.ratio.error);
		wrong += row.reason == PBP_ADVICE_KNOWN && !(fabs(row.ratio.value - truth) <= row.ratio.error);
	}
	ok(wrong == 0, "today's size is not reproduced: a smaller one is not known better");
	pool_free(&half);
	bench_finish(&bench);
}

/* New pages are loads that are no reads. */
static void
extend(void)
{
	Bench		bench;
	PbpAdviceTotals totals;
	int64_t		loads = 0;

	bench_start(&bench, NEW_PAGES, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 200; i++)
	{
		PbpAdviceCounts counts = {0};

		bench_run(&bench, 0.1, false);
		counts.accesses = bench.pool.hits - bench.watch.hits;
		counts.extends = bench.pool.reads - loads;
		loads = bench.pool.reads;
		bench.watch.hits = bench.pool.hits;
		pbp_advice_accesses(bench.run.advice[0], &counts);
		look_only(&bench.run, 0, &bench.pool);
	}
	totals = totals_of(bench.run.advice[0]);
	printf("# new pages: self error %+.3f\n", totals.self_error);
	ok(fabs(totals.self_error) < 0.1, "new pages are loads, as counted");
	ok(count_known(bench.run.advice[0], TODAY) >= 1, "and today's figure is known where hardly anything else happens");
	bench_finish(&bench);
}

static int	checks;

static void
count_check(void)
{
	checks++;
}

/* Interrupts are checked for in proportion to the pages. */
static void
interrupt(void)
{
	Bench		bench;
	int			n = 262144;
	int			while_looking;

	bench_start(&bench, UNIFORM, n, (size_t) n * 256, 0);
	bench_run(&bench, 2, true);
	pbp_advice_check_interrupts = count_check;
	look_at_pool(&bench.run, 0, &bench.pool, &bench.watch);
	while_looking = checks;
	pbp_advice_gap(bench.run.advice[0]);
	checks = 0;
	pbp_advice_begin(bench.run.advice[0], bench.pool.ticks);
	printf("# a sample of all %d pages: %d checks in a look, %d at the beginning of one after a gap\n", n, while_looking, checks);
	ok(while_looking >= 2, "interrupts are checked for while events are played");
	ok(checks >= n / 16384, "and while a gap is noted");
	pbp_advice_check_interrupts = NULL;
	bench_finish(&bench);
}

/* The past fades, in today's figures as in the others. */
static void
forget(void)
{
	Bench		bench;
	Pool		then;
	PbpAdviceRow row;
	double		truth;

	bench_learn(&bench, UNIFORM, 12);
	row = row_of(bench.run.advice[0], TODAY);
	printf("# before %.4f\n", row.ratio.value);
	ok(fabs(row.ratio.value - 0.5) < 0.01, "the miss ratio today is the measured one");
	bench.trace.kind = ZIPF;
	bench_run(&bench, 12, true);
	then = bench.pool;
	bench_run(&bench, 4, true);
	truth = (double) (bench.pool.reads - then.reads) /
		(double) (bench.pool.hits - then.hits + bench.pool.reads - then.reads);
	row = row_of(bench.run.advice[0], TODAY);
	printf("# after %.4f, true %.4f\n", row.ratio.value, truth);
	ok(fabs(row.ratio.value - truth) < 0.01, "and follows another workload");
	bench_finish(&bench);
}

/* 2048 buffers, little memory; and not a byte more. */
static void
small_pool(void)
{
	Run			run = {.kind = ZIPF, .nbuffers = 2048, .seed = 5, .looks_per_pass = 8};
	size_t		bytes = 24576;
	size_t		behind = 4096;
	unsigned char *memory = malloc(bytes + behind);
	size_t		touched = 0;
	double		worst;
	PbpAdviceTotals totals;

	memset(memory, 0xA5, bytes + behind);
	run.advice[0] = pbp_advice_init(memory, bytes, run.nbuffers, USAGE_MAX, 1.0 / 20, true);
	run_today(&run);
	for (size_t i = 0; i < behind; i++)
		touched += memory[bytes + i] != 0xA5;
	worst = worst_error(&run, SMALLEST, PBP_ADVICE_FACTORS - 1);
	totals = totals_of(run.advice[0]);
	printf("# 2048 buffers: rate 1/%.1f, within %.4f\n", 1 / pbp_advice_rate(run.advice[0]), worst);
	ok(pbp_advice_rate(run.advice[0]) > 1.0 / 40, "2048 buffers, 24 kB: more than 1 in 40 pages");
	ok(worst < 0.05, "2048 buffers, 24 kB: within 0.05");
	ok(touched == 0, "nothing is written behind the given memory");
	ok(totals.dropped < totals.sampled_loads / 100, "and it is nearly always enough");
	free(memory);
}

static void
extremes(void)
{
	static uint64_t memory[4096];
	size_t		smallest = 0;
	PbpAdvice  *advice;
	Bench		bench;

	while (smallest < sizeof(memory) && !pbp_advice_init(memory, smallest, 1000, USAGE_MAX, 0, true))
		smallest++;
	ok(smallest > 0 && smallest < 16384, "too little memory is refused");

	/* a pool of one buffer, whose page is not sampled */
	advice = pbp_advice_init(memory, sizeof(memory), 1, USAGE_MAX, 1.0 / 20, true);
	for (int i = 0; i < 100; i++)
	{
		pbp_advice_accesses(advice, &(PbpAdviceCounts) {.accesses = 11, .reads = 1});
		pbp_advice_begin(advice, i);
		pbp_advice_end(advice, i);
	}
	ok(fabs(row_of(advice, TODAY).ratio.value - 1.0 / 11) < 1e-9, "nothing sampled: today's figure is known");
	ok(all_unknown(advice, TODAY + 1, PBP_ADVICE_LITTLE_EVIDENCE), "nothing sampled: and no other");

	/* every page of a small pool */
	bench_start(&bench, ZIPF, 64, 1 << 16, 0);
	bench_run(&bench, 100, true);
	ok(pbp_advice_rate(bench.run.advice[0]) == 1, "with memory for all, all pages are sampled");
	ok(count_known(bench.run.advice[0], TODAY) == 6, "and the figures known");
	bench_finish(&bench);
}

static void
repeat(void)
{
	size_t		bytes = 4096 * 10;
	Bench		one;
	Bench		other;
	int			different = 0;

	bench_start(&one, PGBENCH, 4096, bytes, 1.0 / 20);
	bench_start(&other, PGBENCH, 4096, bytes, 1.0 / 20);
	bench_run(&one, 5, true);
	bench_run(&other, 5, true);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row = row_of(one.run.advice[0], i);
		PbpAdviceRow again = row_of(other.run.advice[0], i);

		different += memcmp(&row.ratio.value, &again.ratio.value, sizeof(double)) != 0;
	}
	ok(different == 0, "the same run says the same");
	bench_finish(&one);
	bench_finish(&other);
}

/* Half of the reads are of other relations than were learned. */
static void
read_others(void)
{
	Bench		bench;
	PbpAdviceRow before;
	PbpAdviceRow row;
	PbpAdviceRow today;

	bench_learn(&bench, ZIPF, 12);
	today = row_of(bench.run.advice[0], TODAY);
	before = row_of(bench.run.advice[0], TODAY + 2);
	ok(totals_of(bench.run.advice[0]).change == PBP_NO_CHANGE, "the load is the one that was learned");
	pbp_advice_facts(bench.run.advice[0])->other_mix = 0.5;
	row = row_of(bench.run.advice[0], TODAY + 2);
	ok(totals_of(bench.run.advice[0]).change == PBP_OTHER_RELATIONS && row.ratio.value == before.ratio.value &&
	   row.ratio.change_error >= 0.5 * (today.ratio.value - row.ratio.value) && row.ratio.change_error > before.ratio.change_error &&
	   row.ratio.error > before.ratio.error, "where other relations are read, intervals are wider, and it is said");
	pbp_advice_facts(bench.run.advice[0])->other_mix = 0.9;
	ok(all_unknown(bench.run.advice[0], TODAY + 1, PBP_ADVICE_CHANGED), "where hardly any of those learned are, larger sizes are unknown, with the reason");
	bench_finish(&bench);
}

/* A page that was evicted and read again between two looks was loaded. */
static void
return_unseen(void)
{
	const int	buffers[] = {3, 3, 40, 40, 7};	/* where each look meets it */
	const bool	loaded[] = {false, false, true, false, true};
	size_t		bytes = 1024 * 1024;
	void	   *memory = malloc(bytes);
	PbpAdvice  *advice = pbp_advice_init(memory, bytes, 64, USAGE_MAX, 1, true);
	int			wrong = 0;

	for (int look = 0; look < 5; look++)
	{
		pbp_advice_begin(advice, 10 * look);
		wrong += pbp_advice_observe(advice, 12345, buffers[look], 1, false, false) != loaded[look];
		pbp_advice_end(advice, 10 * look);
	}
	ok(wrong == 0, "a page that returned to another buffer between two looks was loaded");
	free(memory);
}

/* Subnormal numbers, at which a count that is only multiplied would end, are slow. */
static void
fade(void)
{
	Bench		bench;
	double		ring_reads;

	bench_start(&bench, RING_SCANS, 64, 1024 * 1024, 1);
	bench_run(&bench, 20, true);
	ring_reads = totals_of(bench.run.advice[0]).ring_reads;
	trace_init(&bench.trace, UNIFORM, 64, 1, INT64_MAX);
	bench_run(&bench, 6000, true);
	ok(ring_reads > 0 && totals_of(bench.run.advice[0]).ring_reads == 0,
	   "what is no longer counted is nothing at last");
	bench_finish(&bench);
}

int
main(void)
{
	all_fits();
	write_after_checkpoint();
	lose_knowledge();
	learn_again();
	outrun();
	count_less();
	count_before_gaps();
	remember_rates();
	see_less();
	scan_past_the_pool(false, RING_SCANS);
	scan_past_the_pool(true, ZIPF);
	scan_at_once();
	scan_nothing();
	read_in_turn();
	keep_others_in_turn();
	extend();
	interrupt();
	forget();
	read_others();
	return_unseen();
	small_pool();
	extremes();
	repeat();
	fade();
	return end_of_tests();
}

/*
 * advice_thin.c
 *	  A sample that becomes smaller while it learns, or larger: figures stay,
 *	  nothing is learned again, and later figures are true.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage_model.h"

#define STEPS			3		/* each halves the sample */
#define NBUFFERS		16384
#define MB				256

static int	nfigures;
static int	covered;

/* From the largest known sample to an eighth of it, in the same run. */
static void
thin_pools(Kind kind)
{
	Bench		bench;
	PbpAdvice  *advice;
	double		moved = 0;
	double		width = 0;
	double		thin_width = 0;

	bench_start(&bench, kind, NBUFFERS, NBUFFERS * 40, 0.25);
	advice = bench.run.advice[0];
	bench_run(&bench, SETTLE_POOLS, true);
	for (int step = 0; step < STEPS; step++)
	{
		PbpAdviceRow before[PBP_ADVICE_FACTORS];
		double		rate = pbp_advice_rate(advice);
		int			known = count_known(advice, 0);

		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			before[i] = row_of(advice, i);
		ok(pbp_advice_thin(advice, 0.5) && fabs(pbp_advice_rate(advice) / rate - 0.5) < 1e-6, "half of the sample remains");
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		{
			PbpAdviceRow after = row_of(advice, i);

			if (before[i].reason == PBP_ADVICE_KNOWN && after.reason == PBP_ADVICE_KNOWN)
				moved = fmax(moved, fabs(after.ratio.value - before[i].ratio.value) / before[i].ratio.error);
			if (before[i].reason == PBP_ADVICE_KNOWN)
				*(step == 0 ? &width : &thin_width) = before[i].ratio.error;
		}
		okf(count_known(advice, 0) == known, "%s: what was known still is (%d sizes, %d of them)", kind_names[kind], known, count_known(advice, 0));
		bench_run(&bench, 0.5, true);
		okf(count_known(advice, 0) >= known, "%s: and half a pool later (%d)", kind_names[kind], count_known(advice, 0));
	}
	okf(moved < 0.01, "%s: figures stay (%.4f of their errors)", kind_names[kind], moved);
	ok(totals_of(advice).gaps == 0, "no knowledge is lost");
	printf("# %s: half a width of %.4f, %.4f with less\n", kind_names[kind], width, thin_width);
	bench_finish(&bench);
}

/* Thinned when it is half warm, and long before the window. */
static void
stay_true(Kind kind)
{
	Run			run = {.kind = kind, .nbuffers = NBUFFERS, .seed = 1 + (uint64_t) kind, .looks_per_pass = 8};
	double		worst = 0;

	start(&run, SAMPLES, NBUFFERS * 40, 0.25);
	run.thin_at = NBUFFERS * 2;
	run_today(&run);
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
	{
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));

		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceRow row = row_of(run.advice[j], i);

			if (row.reason != PBP_ADVICE_KNOWN)
				continue;
			worst = fmax(worst, fabs(row.ratio.value - truth));
			nfigures += i != TODAY;
			covered += i != TODAY && fabs(row.ratio.value - truth) <= row.ratio.error;
		}
	}
	okf(worst < 0.03, "%s: an eighth of the sample is true within 0.03 (%.4f)", kind_names[kind], worst);
	finish(&run);
}

/* Page caches have records of some of the sample, at first fewer than remain, then all. */
static void
thin_caches(Load load)
{
	Scene		scene;
	PbpAdviceStorageRow before[PBP_ADVICE_FACTORS];
	PbpAdvice  *advice;
	double		moved = 0;

	scene_start(&scene, load, megabytes(MB), os_pages(megabytes(MB)), STORAGE_BYTES);
	advice = scene.run.advice[0];
	pbp_advice_set_os_cache(advice, os_pages(megabytes(MB)));
	scene_run(&scene, WARM_UP);
	for (int step = 0; step < STEPS; step++)
	{
		int			lost = 0;

		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			before[i] = storage_row_of(advice, i);
		pbp_advice_thin(advice, 0.5);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		{
			PbpAdviceStorageRow after = storage_row_of(advice, i);

			if (before[i].reason != PBP_STORAGE_KNOWN)
				continue;
			lost += after.reason != PBP_STORAGE_KNOWN;
			moved = fmax(moved, fabs(after.ratio.value - before[i].ratio.value) / before[i].ratio.error);
		}
		ok(before[TODAY].reason == PBP_STORAGE_KNOWN, "storage reads are known");
		okf(lost == 0, "%s: and still are", load_names[load]);
		scene_run(&scene, 2);
	}
	okf(moved < 0.05, "%s: and stay (%.4f of their errors)", load_names[load], moved);
	scene_run(&scene, WINDOW);
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * megabytes(MB));
		PbpAdviceStorageRow row = storage_row_of(advice, i);
		double		truth;

		if (row.reason != PBP_STORAGE_KNOWN)
			continue;
		truth = true_storage_ratio(load, nbuffers, os_pages(nbuffers));
		printf("# %s at %.3f: %.4f +- %.4f, true %.4f\n", load_names[load], pbp_advice_factor(i), row.ratio.value, row.ratio.error, truth);
		nfigures++;
		covered += fabs(row.ratio.value - truth) <= row.ratio.error;
	}
	scene_finish(&scene);
}

/* And back: what was known stays, and later figures are those of the larger sample. */
static void
widen(Kind kind)
{
	Bench		bench;
	PbpAdvice  *advice;
	PbpAdviceRow before[PBP_ADVICE_FACTORS];
	double		moved = 0;
	double		worst;
	int			known;

	bench_start(&bench, kind, NBUFFERS, NBUFFERS * 40, 0.25);
	advice = bench.run.advice[0];
	pbp_advice_thin(advice, 0.125);
	bench_run(&bench, 2 * SETTLE_POOLS, true);
	known = count_known(advice, 0);
	for (int step = 0; step < STEPS; step++)
	{
		double		rate = pbp_advice_rate(advice);

		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			before[i] = row_of(advice, i);
		ok(pbp_advice_widen(advice, 2) && fabs(pbp_advice_rate(advice) / rate - 2) < 1e-6, "twice the sample");
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			if (before[i].reason == PBP_ADVICE_KNOWN)
				moved = fmax(moved, fabs(row_of(advice, i).ratio.value - before[i].ratio.value) / before[i].ratio.error);
		okf(count_known(advice, 0) == known, "%s: what was known still is (%d)", kind_names[kind], known);
		bench_run(&bench, 0.5, true);
		okf(count_known(advice, 0) == known, "%s: and half a pool later (%d)", kind_names[kind], count_known(advice, 0));
		bench_run(&bench, 8, true);
	}
	okf(moved < 0.01, "%s: figures stay (%.4f of their errors)", kind_names[kind], moved);
	ok(!pbp_advice_widen(advice, 2), "no more than the sample at the beginning");
	bench.run.window_start = bench.trace.count / 2;
	bench_run(&bench, 2 * SETTLE_POOLS, true);
	bench.run.window_end = bench.trace.count;
	bench.run.move_at = INT64_MAX;
	worst = worst_error(&bench.run, SMALLEST, PBP_ADVICE_FACTORS - 1);
	okf(worst < 0.01, "%s: all sizes within 0.01 (%.4f)", kind_names[kind], worst);
	bench_finish(&bench);
}

/* More pages get records of page caches, too. */
static void
widen_caches(Load load)
{
	Scene		scene;
	PbpAdviceStorageRow before[PBP_ADVICE_FACTORS];
	PbpAdvice  *advice;
	int			lost = 0;

	scene_start(&scene, load, megabytes(MB), os_pages(megabytes(MB)), STORAGE_BYTES);
	advice = scene.run.advice[0];
	pbp_advice_set_os_cache(advice, os_pages(megabytes(MB)));
	pbp_advice_thin(advice, 0.1);
	scene_run(&scene, WARM_UP);
	for (int step = 0; step < 4; step++)
	{
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			before[i] = storage_row_of(advice, i);
		(void) pbp_advice_widen(advice, 2);
		pbp_advice_set_os_cache(advice, os_pages(megabytes(MB)));
		scene_run(&scene, 2);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			lost += before[i].reason == PBP_STORAGE_KNOWN && storage_row_of(advice, i).reason != PBP_STORAGE_KNOWN;
		scene_run(&scene, WARM_UP);
	}
	okf(before[TODAY].reason == PBP_STORAGE_KNOWN && lost == 0, "%s: storage reads that were known still are", load_names[load]);
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * megabytes(MB));
		PbpAdviceStorageRow row = storage_row_of(advice, i);

		if (row.reason != PBP_STORAGE_KNOWN)
			continue;
		nfigures++;
		covered += fabs(row.ratio.value - true_storage_ratio(load, nbuffers, os_pages(nbuffers))) <= row.ratio.error;
	}
	scene_finish(&scene);
}

/* Down to the least, and while a look is under way. */
static void
refuse(void)
{
	Bench		bench;
	PbpAdvice  *advice;
	int			steps = 0;

	bench_learn(&bench, ZIPF, 2);
	advice = bench.run.advice[0];
	pbp_advice_begin(advice, bench.pool.ticks);
	ok(!pbp_advice_thin(advice, 0.5), "not while a look is under way");
	pbp_advice_end(advice, bench.pool.ticks);
	while (pbp_advice_thin(advice, 0.7))
		steps++;
	okf(steps > 0 && pbp_advice_rate(advice) * bench.run.nbuffers > 100, "nor below some pages (%.0f)", pbp_advice_rate(advice) * bench.run.nbuffers);
	bench_run(&bench, 6, true);
	ok(count_known(advice, TODAY) > 4, "which still learn");
	bench_finish(&bench);
}

int
main(void)
{
	thin_pools(ZIPF);
	thin_pools(TWO_SETS);
	thin_pools(PGBENCH);
	stay_true(ZIPF);
	stay_true(UNIFORM);
	stay_true(TWO_SETS);
	stay_true(PGBENCH);
	thin_caches(ACCOUNTS);
	thin_caches(ZIPF_PAGES);
	widen(ZIPF);
	widen(PGBENCH);
	widen_caches(ACCOUNTS);
	widen_caches(ZIPF_PAGES);
	refuse();
	okf(covered >= 0.93 * nfigures, "at least 93 %% of the figures are within their intervals (%d of %d)", covered, nfigures);
	return end_of_tests();
}

/*
 * advice_totals.c
 *	  Compares estimates of storage reads with other totals of memory with an exact
 *	  model of both caches of these sizes.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/osmemory.h"
#include "storage_model.h"

#define UNSURE		0.02
#define LARGE_ERROR	0.01

/* What was estimated of one load, of all totals, splits and samples. */
typedef struct Figures
{
	int			nknown;
	int			nunknown;
	int			nsure;
	int			ncovered;
	int			nrising;		/* with more memory below the same pool */
	int			nmore;			/* than misses */
	int			nothers;		/* whose caches do not add up to the total */
	double		worst_sure;
} Figures;

static int
pool_pages(int size, int today)
{
	return (int) (pbp_pool_bytes((int64_t) (pbp_advice_factor(size) * today) * BLOCK_BYTES) / BLOCK_BYTES);
}

/* Of all smaller totals that have the same pool, today's among them: the fewest storage reads. */
static double
least_below(const PbpAdvice *advice, int total, int size)
{
	double		least = INFINITY;
	PbpAdviceSplit split;

	for (int i = 0; i < total * PBP_SPLITS; i++)
	{
		split.size = size;
		if (i / PBP_SPLITS == PBP_TOTAL_TODAY)
			split.storage = pbp_advice_storage_row(advice, size);
		else
			split = pbp_advice_split(advice, i / PBP_SPLITS, i % PBP_SPLITS);
		if (split.size == size && split.storage.reason == PBP_STORAGE_KNOWN)
			least = fmin(least, split.storage.ratio.value);
	}
	return least;
}

static void
note_figure(const PbpAdvice *advice, int total, const PbpAdviceSplit *split, double truth, Figures *figures)
{
	const PbpAdviceStorageRow *row = &split->storage;
	double		error = fabs(row->ratio.value - truth);

	if (row->reason != PBP_STORAGE_KNOWN)
	{
		figures->nunknown++;
		printf(" unknown (%d)", (int) row->reason);
		return;
	}
	printf(" %.4f +- %.4f", row->ratio.value, row->ratio.error);
	figures->nknown++;
	figures->ncovered += error <= row->ratio.error;
	figures->nrising += row->ratio.value > least_below(advice, total, split->size) + 1e-9;
	figures->nmore += row->ratio.value > row_of(advice, split->size).ratio.value + 1e-9;
	if (row->ratio.error > UNSURE)
		return;
	figures->nsure++;
	figures->worst_sure = fmax(figures->worst_sure, error);
}

static void
compare_total(const Run *run, Load load, int total, Figures *figures)
{
	double		memory = pbp_total_factor(total) * (pool_pages(PBP_ADVICE_BASELINE, run->nbuffers) + os_pages(run->nbuffers));
	PbpAdviceSplit split;

	for (int i = 0; i < PBP_SPLITS; i++)
	{
		double		truth;

		split = pbp_advice_split(run->advice[0], total, i);
		figures->nothers += fabs(pool_pages(split.size, run->nbuffers) + (double) split.storage.os_cache_pages - memory) > 4; /* pages are rounded */
		if (split.storage.os_cache_pages < 0)
			continue;
		truth = true_storage_ratio(load, (int) (pbp_advice_factor(split.size) * run->nbuffers), (int) split.storage.os_cache_pages);
		printf("# %-13s %.2f times the memory, %.2f times the pool: true %.4f, predicted", load_names[load],
			   pbp_total_factor(total), pbp_advice_factor(split.size), truth);
		for (int j = 0; j < SAMPLES; j++)
		{
			split = pbp_advice_split(run->advice[j], total, i);
			note_figure(run->advice[j], total, &split, truth, figures);
		}
		printf("\n");
	}
}

/* Every second total: each of them and its splits needs a run of the exact model. */
static void
compare_load(Load load, int today_mb)
{
	Run			run = {.nbuffers = megabytes(today_mb),.looks_per_pass = 8,.totals = true};
	Figures		figures = {0};

	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(run.nbuffers), 1, NULL);
	for (int total = 0; total < PBP_TOTALS; total += 2)
		compare_total(&run, load, total, &figures);
	finish(&run);
	printf("# %s: %d known, %d unknown; %d sure, of which the worst is off by %.4f; %d within their interval\n", load_names[load],
		   figures.nknown, figures.nunknown, figures.nsure, figures.worst_sure, figures.ncovered);
	okf(figures.nsure >= 20 && figures.worst_sure <= LARGE_ERROR, "%s: figures of other totals that are sure are within %.2f", load_names[load], LARGE_ERROR);
	okf(figures.ncovered >= 0.95 * figures.nknown, "%s: nineteen in twenty are within their interval", load_names[load]);
	okf(4 * figures.nunknown <= figures.nknown + figures.nunknown, "%s: at most a quarter are unknown", load_names[load]);
	okf(figures.nrising == 0, "%s: more memory below the same pool never waits more", load_names[load]);
	okf(figures.nmore == 0, "%s: and at most all misses wait", load_names[load]);
	okf(figures.nothers == 0, "%s: both caches add up to the total", load_names[load]);
}

static int
count_splits(const PbpAdvice *advice, int from, int to)
{
	int			nknown = 0;

	for (int i = from * PBP_SPLITS; i < (to + 1) * PBP_SPLITS; i++)
		if (i / PBP_SPLITS != PBP_TOTAL_TODAY)
			nknown += pbp_advice_split(advice, i / PBP_SPLITS, i % PBP_SPLITS).storage.reason == PBP_STORAGE_KNOWN;
	return nknown;
}

/* What was not seen is unknown, and less memory is known before more is. */
static void
learn_totals(void)
{
	int			pool = MEMORY / 4;
	Scene		scene;
	PbpAdvice  *advice;
	PbpAdviceSplit split;
	int			all = PBP_TOTAL_TODAY * PBP_SPLITS;
	int			known;

	scene_start(&scene, UPDATES, pool, os_pages(pool), STORAGE_BYTES);
	advice = scene.run.advice[0];
	pbp_advice_init_totals(advice, malloc(STORAGE_BYTES), STORAGE_BYTES);
	split = pbp_advice_split(advice, 0, 0);
	ok(split.storage.reason == PBP_STORAGE_NO_CAPACITY, "without the size of the page cache nothing is known of another total");
	pbp_advice_set_os_cache(advice, os_pages(pool));
	scene_run(&scene, 12);
	printf("# %d of less memory and %d of more are known\n", count_splits(advice, 0, PBP_TOTAL_TODAY - 1),
		   count_splits(advice, PBP_TOTAL_TODAY + 1, PBP_TOTALS - 1));
	ok(count_splits(advice, 0, PBP_TOTAL_TODAY - 1) == all, "less memory is known first");
	split = pbp_advice_split(advice, PBP_TOTALS - 1, 0);
	ok(split.storage.reason == PBP_STORAGE_LEARNING && split.storage.learned_share > 0 && split.storage.learned_share < 1,
	   "four times the memory is not, but shows its progress");
	scene_run(&scene, 60);
	ok(count_splits(advice, PBP_TOTAL_TODAY + 1, PBP_TOTALS - 1) == all, "later, all are known");
	split = pbp_advice_split(advice, 2, PBP_SPLITS - 1);
	ok(split.size > PBP_ADVICE_BASELINE, "half of the memory could have a larger pool");
	pbp_advice_set_os_cache(advice, os_pages(pool) / 4);
	split = pbp_advice_split(advice, 2, PBP_SPLITS - 1);
	ok(split.size < PBP_ADVICE_BASELINE && split.storage.reason == PBP_STORAGE_LEARNING,
	   "with a lower limit it cannot, and a page cache below another pool must be learned");
	known = count_splits(advice, 0, PBP_TOTALS - 1);
	pbp_advice_gap(advice);
	scene_run(&scene, 0.2);
	ok(known > 0 && count_splits(advice, 0, PBP_TOTALS - 1) == known, "after a gap, what was learned is known");
	scene_finish(&scene);
}

/* True if the split has more memory than today's, which is unknown below the same pool. */
static bool
is_early(const PbpAdvice *advice, int total, const PbpAdviceSplit *split)
{
	PbpAdviceStorageRow today = pbp_advice_storage_row(advice, split->size);

	return total > PBP_TOTAL_TODAY && today.reason != PBP_STORAGE_KNOWN && today.reason != PBP_STORAGE_NO_ROOM;
}

/* Page caches that hold all data are never full, so that figures of smaller pools bound those of today's memory. */
static void
hold_all_data(int pool, size_t bytes)
{
	int			nknown = 0;
	int			nearly = 0;
	int			nrising = 0;
	int			ncomplete = 0;
	Scene		scene;
	PbpAdvice  *advice;
	PbpAdviceSplit split;

	scene_start(&scene, UNIFORM_PAGES, pool, LOAD_PAGES, bytes);
	advice = scene.run.advice[0];
	pbp_advice_init_totals(advice, malloc(bytes), bytes);
	pbp_advice_set_os_cache(advice, LOAD_PAGES);
	for (int i = 0; i < 80; i++)
	{
		scene_run(&scene, 0.25);
		for (int j = 0; j < PBP_TOTALS * PBP_SPLITS; j++)
		{
			int			total = j / PBP_SPLITS;

			if (total == PBP_TOTAL_TODAY)
				continue;
			split = pbp_advice_split(advice, total, j % PBP_SPLITS);
			ncomplete += split.storage.reason == PBP_STORAGE_LEARNING && !(split.storage.learned_share < 1);
			if (split.storage.reason != PBP_STORAGE_KNOWN)
				continue;
			nknown++;
			nearly += is_early(advice, total, &split);
			nrising += split.storage.ratio.value > least_below(advice, total, split.size) + 1e-9;
		}
	}
	printf("# %d known, %d of them before today's memory, %d rising\n", nknown, nearly, nrising);
	ok(nknown >= 100 && nrising == 0, "more memory never waits more where the page cache holds all data");
	ok(nearly == 0, "... and is not known before today's");
	ok(ncomplete == 0, "no other total is learned completely before it is known");
	scene_finish(&scene);
}

int
main(void)
{
	learn_totals();
	compare_load(ACCOUNTS, 256);
	compare_load(UPDATES_AND_WAL, 256);
	compare_load(SCAN_AND_ZIPF, 256);
	compare_load(SHIFTING, 512);
	hold_all_data(MEMORY / 8, STORAGE_BYTES);
	hold_all_data(MEMORY / 16, STORAGE_BYTES / 4);
	return end_of_tests();
}

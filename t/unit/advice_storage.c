/*
 * advice_storage.c
 *	  Compares estimates of storage reads at other splits of the memory with an
 *	  exact model of both levels at those splits.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

#define MEMORY			131072	/* pages: 1 GB */
#define RESERVED		3840	/* of them, for neither level */
#define WARM_UP			60		/* accesses for each page of memory */
#define WINDOW			12
#define LOOKS_PER_PASS	8
#define SPLITS			6
#define TODAYS			2
#define STORAGE_BYTES	((size_t) 4 * 1024 * 1024)

typedef struct Errors
{
	double		of[LOADS * TODAYS * SPLITS * SAMPLES * 2];
	int			nerrors;
	int			ncovered;
} Errors;

static double
true_ratio(Load load, int nbuffers, int os_pages, double *miss_ratio)
{
	Memory		memory;
	LoadTrace	trace;
	int64_t		storage_reads = 0;
	int64_t		reads = 0;
	int64_t		window = (int64_t) WINDOW * MEMORY;
	double		ratio;

	memory_init(&memory, load_pages(MEMORY), nbuffers, os_pages, 0.5);
	load_init(&trace, load, MEMORY, 7);
	while (memory.accesses < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		memory_access(&memory, load_next(&trace));
		if (memory.accesses == (int64_t) WARM_UP * MEMORY)
		{
			storage_reads = memory.storage_reads;
			reads = memory.pool.reads;
		}
	}
	ratio = (double) (memory.storage_reads - storage_reads) / (double) window;
	*miss_ratio = (double) (memory.pool.reads - reads) / (double) window;
	memory_free(&memory);
	return ratio;
}

/* Learn from a pool of today's size above the rest of memory. */
static void
learn(Run *run, Load load, double calibrate_from)
{
	Memory		memory;
	LoadTrace	trace;
	Trace		clock = {0};
	Watch		watch = {0};
	int			os_pages = MEMORY - RESERVED - run->nbuffers;

	memory_init(&memory, load_pages(MEMORY), run->nbuffers, os_pages, 0.5);
	load_init(&trace, load, MEMORY, 7);
	for (int j = 0; j < SAMPLES; j++)
	{
		pbp_advice_init_storage(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES, 8192);
		pbp_advice_set_os_cache(run->advice[j], (int64_t) (os_pages * calibrate_from));
	}
	while (memory.accesses < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		int64_t		before = watch.ticks;

		memory_access(&memory, load_next(&trace));
		clock.count = memory.accesses;
		watch_pool(run, &memory.pool, &clock, &watch);
		(void) before;
	}
	memory_free(&memory);
}

static void
compare(Load load, int todays_mb, Errors *errors)
{
	static const int splits_mb[SPLITS] = {128, 256, 384, 512, 640, 768};
	Run			run = {.nbuffers = todays_mb * 128, .looks_per_pass = LOOKS_PER_PASS};
	int			os_today = MEMORY - RESERVED - run.nbuffers;
	double		truth_miss;

	start(&run, SAMPLES, (size_t) run.nbuffers * 10, 1.0 / 20);
	learn(&run, load, 1);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run.nbuffers);
		int			wanted = 0;

		for (int j = 0; j < SPLITS; j++)
			wanted |= splits_mb[j] * 128 == nbuffers;
		for (int added = 0; wanted && added < 1 + (i > TODAY); added++)
		{
			double		truth = true_ratio(load, nbuffers, added ? os_today : MEMORY - RESERVED - nbuffers, &truth_miss);

			printf("# %-13s %d -> %d%c miss %.4f storage %.4f: ", load_names[load], todays_mb, nbuffers / 128,
				   added ? '+' : ' ', truth_miss, truth);
			for (int j = 0; j < SAMPLES; j++)
			{
				PbpAdviceRow miss;
				PbpAdviceStorageRow row;
				double		error;

				pbp_advice_row(run.advice[j], i, &miss);
				pbp_advice_storage_row(run.advice[j], i, (PbpAdviceMemory) added, &row);
				error = row.reason == PBP_STORAGE_KNOWN ? fabs(row.storage_ratio - truth) : 1;
				errors->ncovered += error <= row.uncertainty;
				errors->of[errors->nerrors++] = error;
				printf("  %.4f +-%.4f (%+.4f miss %+.4f)", row.storage_ratio, row.uncertainty,
					   row.storage_ratio - truth, miss.miss_ratio - truth_miss);
				if (row.reason)
					printf(" reason %d", (int) row.reason);
			}
			printf("\n");
			fflush(stdout);
		}
	}
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceStorageTotals totals;

		pbp_advice_storage_totals(run.advice[j], &totals);
		printf("# rate 1/%.1f, of caches 1/%.1f, dropped %ld\n", 1 / pbp_advice_rate(run.advice[j]),
			   1 / totals.sampling_rate, (long) totals.dropped);
	}
	finish(&run);
}

static int
compare_doubles(const void *a, const void *b)
{
	double		one = *(const double *) a;
	double		other = *(const double *) b;

	return (one > other) - (one < other);
}

int
main(void)
{
	static Errors errors;
	double		median;
	double		worst;

	for (int load = 0; load < LOADS; load++)
	{
		compare((Load) load, 256, &errors);
		compare((Load) load, 512, &errors);
	}
	qsort(errors.of, (size_t) errors.nerrors, sizeof(double), compare_doubles);
	median = errors.of[errors.nerrors / 2];
	worst = errors.of[errors.nerrors - 1];
	printf("# %d errors, median %.4f, worst %.4f, %d within the uncertainty\n", errors.nerrors, median, worst, errors.ncovered);
	ok(worst <= 0.02, "worst");
	ok(median <= 0.007, "median");
	ok(errors.ncovered >= 0.9 * errors.nerrors, "covered");
	printf("1..%d\n", tests);
	return 0;
}

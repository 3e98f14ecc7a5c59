/*
 * truth.c
 *	  How true the advice is on a frozen set of loads, by exact models of the
 *	  caches at other sizes: one line for each load.
 *
 * "coverage" is the share of the errors that are within their intervals, "width"
 * the median of half an interval.  The last column is what an interval of 95 %
 * would have about 2 to 4 of.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

#define SEEDS			4
#define NBUFFERS		16384
#define MOST_FIGURES	8192

typedef struct Tally
{
	int			nasked;
	int			nknown;
	int			ncovered;
	double		errors[MOST_FIGURES];
	double		widths[MOST_FIGURES];
} Tally;

/* How the sampler of a run is hindered. */
typedef enum Hindrance
{
	NOT_HINDERED,
	FEW_LOOKS,					/* four in a pass */
	RARE_LOOKS,					/* one */
	SMALL_SAMPLE,				/* an eighth of it, from early on */
	PAUSES						/* without a look, of three pools' worth of reads in six */
} Hindrance;

static const char *const hindrances[] = {"", "few looks", "rare looks", "small sample", "pauses"};

static void
add_figure(Tally *tally, bool known, double value, double uncertainty, double truth)
{
	tally->nasked++;
	if (!known || tally->nknown == MOST_FIGURES)
		return;
	tally->errors[tally->nknown] = fabs(value - truth);
	tally->widths[tally->nknown++] = uncertainty;
	tally->ncovered += fabs(value - truth) <= uncertainty;
}

static void
print_heading(void)
{
	printf("%-34s %7s %6s %9s %8s %8s %8s %12s\n", "load", "figures", "known", "coverage", "mean", "largest", "width", "width/mean");
}

static void
print_tally(const char *what, const char *load, Tally *tally)
{
	char		name[64];
	double		sum = 0;
	double		width;

	snprintf(name, sizeof(name), "%s%s%s", what, *what && *load ? ", " : "", load);
	for (int i = 0; i < tally->nknown; i++)
		sum += tally->errors[i];
	width = quantile(tally->widths, tally->nknown, 0.5);
	printf("%-34s %7d %6.3f %9.3f %8.4f %8.4f %8.4f %12.1f\n", name, tally->nasked,
		   (double) tally->nknown / fmax(1, tally->nasked), tally->ncovered / fmax(1, tally->nknown), sum / fmax(1, tally->nknown),
		   quantile(tally->errors, tally->nknown, 1), width, width / fmax(1e-6, sum / fmax(1, tally->nknown)));
	fflush(stdout);
}

static void
add_all(Tally *sum, const Tally *tally)
{
	sum->nasked += tally->nasked;
	sum->ncovered += tally->ncovered;
	for (int i = 0; i < tally->nknown && sum->nknown < MOST_FIGURES; i++)
	{
		sum->errors[sum->nknown] = tally->errors[i];
		sum->widths[sum->nknown++] = tally->widths[i];
	}
}

static void
compare_rows(const Run *run, int i, double truth, Tally *tally)
{
	for (int j = 0; j < SAMPLES && run->advice[j] != NULL; j++)
	{
		PbpAdviceRow row = row_of(run->advice[j], i);

		add_figure(tally, row.reason == PBP_ADVICE_KNOWN, row.miss_ratio, row.uncertainty, truth);
	}
}

/* ---- pools ---- */

static void
compare_kind(Kind kind, Hindrance hindrance, Tally *all)
{
	static Tally tally;

	memset(&tally, 0, sizeof(tally));
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
	{
		Run			run = {
			.kind = kind,.nbuffers = NBUFFERS,.seed = seed * 100 + (uint64_t) kind,.sample_seed = 1000 * seed,.looks_per_pass = hindrance == FEW_LOOKS ? 4 : hindrance == RARE_LOOKS ? 1 : 10,
			.thin_at = hindrance == SMALL_SAMPLE ? NBUFFERS * 2 : 0,.pauses = hindrance == PAUSES
		};

		start(&run, SAMPLES, (size_t) NBUFFERS * 20, 1.0 / 10);
		run_today(&run);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			if (i != TODAY)
				compare_rows(&run, i, true_miss_ratio(&run, pbp_advice_factor(i)), &tally);
		finish(&run);
	}
	print_tally(hindrances[hindrance], kind_names[kind], &tally);
	add_all(all, &tally);
}

/* ---- page caches ---- */

static void
compare_caches(Load load, Tally *all)
{
	static Tally tally;
	Run			run = {.nbuffers = megabytes(256),.looks_per_pass = 8};

	memset(&tally, 0, sizeof(tally));
	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(run.nbuffers), 1, NULL);
	for (int i = 0; i < PBP_ADVICE_FACTORS - 1; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run.nbuffers);
		double		truth = true_storage_ratio(load, nbuffers, os_pages(nbuffers));

		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceStorageRow row = storage_row_of(run.advice[j], i);

			add_figure(&tally, row.reason == PBP_STORAGE_KNOWN, row.storage_ratio, row.uncertainty, truth);
		}
	}
	finish(&run);
	print_tally("storage", load_names[load], &tally);
	add_all(all, &tally);
}

/* ---- recorded traces ---- */

typedef struct Recording
{
	int			naccesses;
	int			npages;
	int		   *pages;
} Recording;

/* Keys of 32 bits, big-endian; each is a page, numbered in the order in which they come. */
static bool
read_recording(const char *name, Recording *recording)
{
	static int	numbers[1 << 24];	/* by key: one more than its page */
	FILE	   *file = fopen(name, "rb");
	unsigned char key[4];

	if (file == NULL)
		return false;
	memset(numbers, 0, sizeof(numbers));
	*recording = (Recording) {.pages = malloc(sizeof(int) * 100000000)};
	while (fread(key, 1, 4, file) == 4 && recording->naccesses < 100000000)
	{
		uint32_t	at = (((uint32_t) key[0] << 24 | (uint32_t) key[1] << 16 | (uint32_t) key[2] << 8 | key[3]) * UINT32_C(0x9E3779B1)) >> 8;

		if (numbers[at] == 0)
			numbers[at] = ++recording->npages;
		recording->pages[recording->naccesses++] = numbers[at] - 1;
	}
	fclose(file);
	return true;
}

/* What a pool misses in the second half. */
static double
replay(const Recording *recording, int nbuffers)
{
	Pool		pool;
	int64_t		reads = 0;
	int			half = recording->naccesses / 2;

	pool_init(&pool, nbuffers, recording->npages);
	for (int i = 0; i < recording->naccesses; i++)
	{
		pool_access(&pool, recording->pages[i], false);
		if (i == half)
			reads = pool.reads;
	}
	reads = pool.reads - reads;
	pool_free(&pool);
	return (double) reads / (recording->naccesses - half);
}

/* Today's pool has room for such a share of all pages. */
static void
compare_recording(const Recording *recording, double share, Tally *tally)
{
	Run			run = {.nbuffers = (int) (share * recording->npages),.looks_per_pass = 10};
	Pool		pool;
	Watch		watch = {0};
	Trace		clock = {0};

	start(&run, SAMPLES, (size_t) run.nbuffers * 60, fmin(1, 4000.0 / run.nbuffers));
	pool_init(&pool, run.nbuffers, recording->npages);
	for (int i = 0; i < recording->naccesses; i++)
	{
		pool_access(&pool, recording->pages[i], false);
		clock.count = i + 1;
		watch_pool(&run, &pool, &clock, &watch);
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (i != TODAY)
			compare_rows(&run, i, replay(recording, (int) (pbp_advice_factor(i) * run.nbuffers)), tally);
	pool_free(&pool);
	finish(&run);
}

static void
compare_file(const char *name)
{
	static Tally tally;
	Recording	recording;
	const char *slash = strrchr(name, '/');

	if (!read_recording(name, &recording))
	{
		fprintf(stderr, "could not read \"%s\"\n", name);
		exit(1);
	}
	memset(&tally, 0, sizeof(tally));
	for (double share = 0.05; share < 0.5; share *= 2)
		compare_recording(&recording, share, &tally);
	free(recording.pages);
	print_tally("recorded", slash ? slash + 1 : name, &tally);
}

int
main(int argc, char **argv)
{
	static Tally all;
	static Tally storage;

	print_heading();
	for (int hindrance = 0; hindrance <= PAUSES; hindrance++)
		for (int kind = 0; kind < KINDS; kind++)
			compare_kind((Kind) kind, (Hindrance) hindrance, &all);
	print_tally("all misses", "", &all);
	for (int load = 0; load < LOADS; load++)
		compare_caches((Load) load, &storage);
	print_tally("all storage reads", "", &storage);
	for (int i = 1; i < argc; i++)
		compare_file(argv[i]);
	return 0;
}

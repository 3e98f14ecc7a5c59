/*
 * truth.c
 *	  How true the advice is on a frozen set of loads, by exact models of the
 *	  caches at other sizes: one line for each load.
 *
 * Arguments are those of bench/truth/run.  "coverage" is the share of the errors
 * that are within their intervals, "width" the median of half an interval.  The
 * last column is about 2 to 4 for an interval of 95 %.
 *
 * A figure of a recorded trace is about the time that is remembered at its end, so
 * it is compared with the exact model's ratio of that time: each part of the trace
 * weighs what is left of its accesses in the counters.  "half" compares it with the
 * second half, which may be much longer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/osmemory.h"
#include "storage_model.h"

#define SEEDS			4
#define NBUFFERS		16384
#define MOST_FIGURES	8192
#define MOST_ACCESSES	100000000
#define MOST_TRUTHS		4096

/* Of a recorded trace, for what it had in the time that is remembered. */
#define PARTS			1000

/* The pace of recorded traces, which have no times: five million accesses are 83 minutes. */
#define ACCESSES_PER_SECOND	1000.0

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

static bool quick;				/* only a part of the figures */

static void
die(const char *what, const char *name)
{
	fprintf(stderr, "truth: could not %s \"%s\"\n", what, name);
	exit(1);
}

/* ---- exact models ---- */

/* What an exact model has found; it does not depend on the method. */
typedef struct Truth
{
	char		model[100];		/* the model's parameters, all in one word each */
	double		miss_ratio;		/* NaN: this model has none */
	double		storage_ratio;
	int		   *misses;			/* in each part, if it has both by part; or NULL */
	int		   *waits;			/* for storage */
} Truth;

static Truth truths[MOST_TRUTHS];
static int	ntruths;
static FILE *truths_file;		/* keeps them for the next run; NULL: nobody does */

/* Returns NULL if the model has not run yet. */
static Truth *
find_truth(const char *model)
{
	for (int i = 0; i < ntruths; i++)
		if (strcmp(truths[i].model, model) == 0)
			return &truths[i];
	return NULL;
}

static Truth *
add_truth(const char *model, double miss_ratio, double storage_ratio)
{
	Truth	   *truth = &truths[ntruths++];

	if (ntruths == MOST_TRUTHS)
		die("keep", model);
	*truth = (Truth) {.miss_ratio = miss_ratio,.storage_ratio = storage_ratio};
	snprintf(truth->model, sizeof(truth->model), "%s", model);
	return truth;
}

static Truth *
keep_truth(const char *model, double miss_ratio, double storage_ratio)
{
	if (truths_file)
		fprintf(truths_file, "%a %a %s\n", miss_ratio, storage_ratio, model);
	return add_truth(model, miss_ratio, storage_ratio);
}

static void
make_parts(Truth *truth)
{
	truth->misses = calloc(PARTS, sizeof(int));
	truth->waits = calloc(PARTS, sizeof(int));
}

static void
read_parts(Truth *truth)
{
	make_parts(truth);
	for (int i = 0; i < PARTS; i++)
		if (fscanf(truths_file, "%d %d", &truth->misses[i], &truth->waits[i]) != 2)
			die("read", truth->model);
}

static void
read_truths(const char *name)
{
	char		model[100];
	double		miss_ratio;
	double		storage_ratio;

	truths_file = fopen(name, "a+");
	if (truths_file == NULL)
		die("open", name);
	while (fscanf(truths_file, "%la %la %99[^\n]", &miss_ratio, &storage_ratio, model) == 3)
	{
		Truth	   *truth = add_truth(model, miss_ratio, storage_ratio);

		if (isnan(miss_ratio) && isnan(storage_ratio))
			read_parts(truth);
	}
}

static void
keep_parts(const Truth *truth)
{
	for (int i = 0; i < PARTS && truths_file; i++)
		fprintf(truths_file, "%d %d\n", truth->misses[i], truth->waits[i]);
}

static double
true_misses(const Run *run, double factor)
{
	char		model[100];
	const Truth *truth;

	snprintf(model, sizeof(model), "%s, seed %d, %g", kind_names[run->kind], (int) run->seed, factor);
	truth = find_truth(model);
	if (truth == NULL)
		truth = keep_truth(model, true_miss_ratio(run, factor), NAN);
	return truth->miss_ratio;
}

static double
true_storage(Load load, int nbuffers, int os_cache)
{
	char		model[100];
	const Truth *truth;

	snprintf(model, sizeof(model), "%s, %d + %d", load_names[load], nbuffers, os_cache);
	truth = find_truth(model);
	if (truth == NULL)
		truth = keep_truth(model, NAN, true_storage_ratio(load, nbuffers, os_cache));
	return truth->storage_ratio;
}

/* ---- tallies ---- */

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
	printf("%-46s %7s %6s %9s %8s %8s %8s %12s\n", "load", "figures", "known", "coverage", "mean", "largest", "width",
		   "width/mean");
}

static void
print_tally(const char *what, const char *load, Tally *tally)
{
	char		name[64];
	double		nknown = fmax(1, tally->nknown);
	double		mean = 0;
	double		width;

	snprintf(name, sizeof(name), "%s%s%s", what, *what && *load ? ", " : "", load);
	for (int i = 0; i < tally->nknown; i++)
		mean += tally->errors[i] / nknown;
	width = quantile(tally->widths, tally->nknown, 0.5);
	printf("%-46s %7d %6.3f %9.3f %8.4f %8.4f %8.4f %12.1f\n", name, tally->nasked,
		   tally->nknown / fmax(1, tally->nasked), tally->ncovered / nknown, mean,
		   quantile(tally->errors, tally->nknown, 1), width, width / fmax(1e-6, mean));
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
add_row(const PbpAdviceRow *row, double truth, Tally *tally)
{
	add_figure(tally, row->reason == PBP_ADVICE_KNOWN, row->miss_ratio, row->uncertainty, truth);
}

static void
add_storage_row(const PbpAdviceStorageRow *row, double truth, Tally *tally)
{
	add_figure(tally, row->reason == PBP_STORAGE_KNOWN, row->storage_ratio, row->uncertainty, truth);
}

/* ---- pools ---- */

static void
compare_kind(Kind kind, Hindrance hindrance, Tally *all)
{
	static Tally tally;

	memset(&tally, 0, sizeof(tally));
	for (uint64_t seed = 1; seed <= (quick ? 1 : SEEDS); seed++)
	{
		Run			run = {
			.kind = kind,.nbuffers = NBUFFERS,.seed = seed * 100 + (uint64_t) kind,.sample_seed = 1000 * seed,
			.looks_per_pass = hindrance == FEW_LOOKS ? 4 : hindrance == RARE_LOOKS ? 1 : 10,
			.thin_at = hindrance == SMALL_SAMPLE ? NBUFFERS * 2 : 0,.pauses = hindrance == PAUSES
		};

		start(&run, SAMPLES, (size_t) NBUFFERS * 20, 1.0 / 10);
		run_today(&run);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			for (int j = 0; j < SAMPLES && i != TODAY; j++)
			{
				PbpAdviceRow row = row_of(run.advice[j], i);

				add_row(&row, true_misses(&run, pbp_advice_factor(i)), &tally);
			}
		finish(&run);
	}
	print_tally(hindrances[hindrance], kind_names[kind], &tally);
	add_all(all, &tally);
}

/* ---- page caches ---- */

/* Today's memory, divided in other ways. */
static void
compare_divisions(const Run *run, Load load, Tally *tally)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS - 1; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run->nbuffers);
		double		truth = true_storage(load, nbuffers, os_pages(nbuffers));

		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceStorageRow row = storage_row_of(run->advice[j], i);

			add_storage_row(&row, truth, tally);
		}
	}
}

/* More and less memory than today: a cache has what the total leaves to it. */
static void
compare_totals(const Run *run, Load load, Tally *tally)
{
	for (int i = 0; i < PBP_TOTALS * PBP_SPLITS; i++)
		for (int j = 0; j < SAMPLES && i / PBP_SPLITS % 2 == 0; j++)
		{
			PbpAdviceSplit split;

			pbp_advice_split(run->advice[j], i / PBP_SPLITS, i % PBP_SPLITS, &split);
			if (split.storage.os_cache_pages >= 0)
				add_storage_row(&split.storage, true_storage(load, (int) (pbp_advice_factor(split.size) * run->nbuffers),
															 (int) split.storage.os_cache_pages), tally);
		}
}

static void
compare_caches(Load load, Tally *all, Tally *of_totals)
{
	static Tally tally;
	Run			run = {.nbuffers = megabytes(256),.looks_per_pass = 8,.totals = !quick || load == ZIPF_PAGES || load == SCAN_AND_ZIPF};

	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(run.nbuffers), 1, NULL);
	memset(&tally, 0, sizeof(tally));
	compare_divisions(&run, load, &tally);
	print_tally("storage", load_names[load], &tally);
	add_all(all, &tally);
	memset(&tally, 0, sizeof(tally));
	if (run.totals)
	{
		compare_totals(&run, load, &tally);
		print_tally("other memory", load_names[load], &tally);
		add_all(of_totals, &tally);
	}
	finish(&run);
}

/* ---- recorded traces ---- */

typedef struct Recording
{
	char		name[100];
	int			naccesses;
	int			compared_from;	/* the second half of the last file */
	int			npages;
	int		   *pages;
	int		   *numbers;		/* by key: one more than its page */
} Recording;

/* What today's pool is, as a share of all pages, in percent. */
static const int shares[] = {1, 2, 5, 10, 20, 50};

/*
 * Adds a file to those that were read before.  Keys have 32 bits, big-endian; each
 * is a page, numbered in the order in which they come.
 */
static void
read_recording(const char *path, Recording *recording)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	FILE	   *file = fopen(path, "rb");
	unsigned char key[4];
	int			before = recording->naccesses;

	if (file == NULL)
		die("open", path);
	if (before == 0)
	{
		recording->pages = malloc(sizeof(int) * MOST_ACCESSES);
		recording->numbers = calloc(1 << 24, sizeof(int));
	}
	while (fread(key, 1, 4, file) == 4 && recording->naccesses < MOST_ACCESSES)
	{
		uint32_t	number = (uint32_t) key[0] << 24 | (uint32_t) key[1] << 16 | (uint32_t) key[2] << 8 | key[3];
		int		   *page = &recording->numbers[number * UINT32_C(0x9E3779B1) >> 8];

		if (*page == 0)
			*page = ++recording->npages;
		recording->pages[recording->naccesses++] = *page - 1;
	}
	fclose(file);
	recording->compared_from = before + (recording->naccesses - before) / 2;
	snprintf(recording->name + strlen(recording->name), sizeof(recording->name) - strlen(recording->name), "%s%.*s",
			 before ? ", " : "", (int) strcspn(name, "."), name);
}

/* Pages that a pool leaves of four times today's. */
static int
pages_beside(const Run *run, int nbuffers)
{
	return 4 * run->nbuffers - (int) (pbp_pool_bytes((int64_t) nbuffers * BLOCK_BYTES) / BLOCK_BYTES);
}

static int
part_of(const Recording *recording, int access)
{
	return (int) ((int64_t) access * PARTS / recording->naccesses);
}

/* Without room for a page cache, all misses wait. */
static const Truth *
replay(const Recording *recording, int nbuffers, int os_cache)
{
	char		model[100];
	Truth	   *truth;
	Memory		memory;

	snprintf(model, sizeof(model), "%.40s, %d accesses by part, %d + %d", recording->name,
			 recording->naccesses, nbuffers, os_cache);
	truth = find_truth(model);
	if (truth)
		return truth;
	truth = keep_truth(model, NAN, NAN);
	make_parts(truth);
	memory_init(&memory, recording->npages, nbuffers, os_cache, BLOCK_BYTES);
	for (int i = 0; i < recording->naccesses; i++)
	{
		int			part = part_of(recording, i);
		int64_t		reads = memory.reads;
		int64_t		storage_reads = memory.storage_reads;

		memory_access(&memory, recording->pages[i]);
		truth->misses[part] += memory.reads > reads;
		truth->waits[part] += memory.storage_reads > storage_reads;
	}
	memory_free(&memory);
	keep_parts(truth);
	return truth;
}

/* Of counts in each part, as a share of the accesses there. */
static double
weighted_ratio(const Recording *recording, const int *counts, const double *weights)
{
	double		sum = 0;
	double		weight = 0;

	for (int i = 0; i < PARTS; i++)
	{
		sum += weights[i] * counts[i];
		weight += weights[i];
	}
	return sum / weight / recording->naccesses * PARTS;
}

/*
 * A look reduces what is left of the parts before by as much as all that is counted,
 * and adds what it counts of its own accesses.  One that leaves the counters as they
 * were has counted nothing.
 */
static void
look_and_weigh(Run *run, const Pool *pool, int64_t count, double seconds, Watch *watch, int part,
			   double weights[SAMPLES][PARTS])
{
	PbpAdviceCounts counts = count_accesses(run, pool, watch);
	double		before[SAMPLES];

	for (int j = 0; j < SAMPLES; j++)
		before[j] = totals_of(run->advice[j]).accesses;
	look_and_watch(run, pool, count, seconds, watch);
	for (int j = 0; j < SAMPLES; j++)
	{
		double		after = totals_of(run->advice[j]).accesses;
		double		counted = (double) (counts.hits + counts.reads) -
			pbp_advice_accesses_apart(run->advice[j], &counts);

		if (fabs(after - before[j]) <= 1e-9 * after)
			continue;
		weights[j][part] += counted;
		for (int i = 0; i <= part; i++)
			weights[j][i] *= after / (before[j] + counted);
	}
}

/*
 * All samples see today's pool, and know of the page cache.  A look comes after a
 * tenth of a pass, or after five seconds, as the worker would do it.
 */
static void
observe_recording(Run *run, const Recording *recording, double weights[SAMPLES][PARTS])
{
	Memory		memory;
	Watch		watch = {0};

	start(run, SAMPLES, (size_t) run->nbuffers * 60, fmin(1, 4000.0 / run->nbuffers));
	for (int j = 0; j < SAMPLES; j++)
	{
		pbp_advice_init_storage(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
		pbp_advice_set_os_cache(run->advice[j], pages_beside(run, run->nbuffers));
	}
	memory_init(&memory, recording->npages, run->nbuffers, pages_beside(run, run->nbuffers), BLOCK_BYTES);
	for (int i = 0; i < recording->naccesses; i++)
	{
		double		seconds = (double) (i + 1 - watch.count) / ACCESSES_PER_SECOND;

		memory_access(&memory, recording->pages[i]);
		if (memory.pool.ticks - watch.ticks >= run->nbuffers / 10 || seconds >= 5)
			look_and_weigh(run, &memory.pool, i + 1, seconds, &watch, part_of(recording, i), weights);
	}
	memory_free(&memory);
}

/* What figures are compared with, and their tallies. */
typedef struct Time
{
	const char *name;
	double		weights[SAMPLES][PARTS];
	Tally		misses;
	Tally		storage;
} Time;

enum
{
	REMEMBERED,
	HALF,
	TIMES
};

static void
compare_with(const Run *run, const Recording *recording, int i, Time *time)
{
	int			nbuffers = (int) (pbp_advice_factor(i) * run->nbuffers);
	int			os_cache = pages_beside(run, nbuffers);
	const Truth *truth = replay(recording, nbuffers, os_cache);

	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceRow row = row_of(run->advice[j], i);
		PbpAdviceStorageRow storage = storage_row_of(run->advice[j], i);

		if (i != TODAY)
			add_row(&row, weighted_ratio(recording, truth->misses, time->weights[j]), &time->misses);
		if (os_cache >= 0)
			add_storage_row(&storage, weighted_ratio(recording, truth->waits, time->weights[j]),
							&time->storage);
	}
}

static void
compare_share(const Recording *recording, int percent, Time *sums)
{
	static Time times[TIMES];
	Run			run = {.nbuffers = (int) (percent / 100.0 * recording->npages)};

	memset(times, 0, sizeof(times));
	observe_recording(&run, recording, times[REMEMBERED].weights);
	for (int j = 0; j < SAMPLES; j++)
		for (int part = part_of(recording, recording->compared_from); part < PARTS; part++)
			times[HALF].weights[j][part] = 1;
	for (int time = 0; time < TIMES; time++)
	{
		char		name[64];

		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			compare_with(&run, recording, i, &times[time]);
		snprintf(name, sizeof(name), "%s, %.24s, %d %%", sums[time].name, recording->name, percent);
		print_tally("misses", name, &times[time].misses);
		print_tally("storage", name, &times[time].storage);
		add_all(&sums[time].misses, &times[time].misses);
		add_all(&sums[time].storage, &times[time].storage);
	}
	finish(&run);
}

static void
compare_recording(char **paths, int npaths, Time *sums)
{
	Recording	recording = {0};

	for (int i = 0; i < npaths; i++)
		read_recording(paths[i], &recording);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if (!quick || shares[i] == 10)
			compare_share(&recording, shares[i], sums);
	free(recording.pages);
	free(recording.numbers);
}

/* Each alone, and two one after the other. */
static void
compare_recordings(char **paths, int npaths)
{
	static Time sums[TIMES] = {{.name = "remembered"}, {.name = "half"}};

	for (int i = 0; i < npaths; i++)
		compare_recording(&paths[i], 1, sums);
	if (npaths == 2)
		compare_recording(paths, 2, sums);
	for (int time = 0; time < TIMES; time++)
	{
		print_tally("all recorded misses", sums[time].name, &sums[time].misses);
		print_tally("all recorded storage reads", sums[time].name, &sums[time].storage);
	}
}

int
main(int argc, char **argv)
{
	static Tally all;
	static Tally storage;
	static Tally totals;
	int			i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++)
	{
		if (strcmp(argv[i], "--quick") == 0)
			quick = true;
		else if (strcmp(argv[i], "--truths") == 0 && i + 1 < argc)
			read_truths(argv[++i]);
		else
			die("use", argv[i]);
	}
	print_heading();
	for (int hindrance = 0; hindrance <= PAUSES; hindrance++)
		for (int kind = 0; kind < KINDS; kind++)
			compare_kind((Kind) kind, (Hindrance) hindrance, &all);
	print_tally("all misses", "", &all);
	for (int load = 0; load < LOADS; load++)
		compare_caches((Load) load, &storage, &totals);
	print_tally("all storage reads", "", &storage);
	print_tally("all with other memory", "", &totals);
	if (i < argc)
		compare_recordings(argv + i, argc - i);
	if (truths_file && fclose(truths_file) != 0)
		die("write", "truths");
	return 0;
}

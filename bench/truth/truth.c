/*
 * truth.c
 *	  How true the advice is on a frozen set of loads, by exact models of the
 *	  caches at other sizes: one line for each load.
 *
 * Arguments are those of bench/truth/run.  "coverage" is the share of the errors
 * that are within their intervals, "width" the median of half an interval.  The
 * last column is about 2 to 4 for an interval of 95 %.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "truth.h"

#define SEEDS			4
#define NBUFFERS		16384
#define MOST_TRUTHS		4096

/* Half the width of the interval of what probes find, in looks, and how much it lasts. */
#define PROBE_ERROR		0.05
#define LOOKS_PER_PROBE	5
#define SAME_ERROR		0.95

/* How the sampler of a run is hindered. */
typedef enum Hindrance
{
	NOT_HINDERED,
	FEW_LOOKS,					/* four in a pass */
	RARE_LOOKS,					/* one */
	SMALL_SAMPLE,				/* an eighth of it, from early on */
	PAUSES,						/* without a look, of three pools' worth of reads in six */
	LATE_LOOKS					/* two in a pass, of which a third is missed by chance */
} Hindrance;

static const char *const hindrances[] = {
	"", "few looks", "rare looks", "small sample", "pauses", "late looks"
};

static const double looks_per_pass[] = {10, 4, 1, 10, 10, 2};

bool		quick;

void
die(const char *what, const char *name)
{
	fprintf(stderr, "truth: could not %s \"%s\"\n", what, name);
	exit(1);
}

/* ---- exact models ---- */

static Truth truths[MOST_TRUTHS];
static int	ntruths;
static FILE *truths_file;		/* keeps them for the next run; NULL: nobody does */

/* Returns NULL if the model has not run yet. */
Truth *
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

Truth *
keep_truth(const char *model, double miss_ratio, double storage_ratio)
{
	if (truths_file)
		fprintf(truths_file, "%a %a %s\n", miss_ratio, storage_ratio, model);
	return add_truth(model, miss_ratio, storage_ratio);
}

void
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

void
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

	snprintf(model, sizeof(model), "%s, seed %d, %g", kind_names[run->kind], (int) run->seed,
			 factor);
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
	printf("%-46s %7s %6s %9s %8s %8s %8s %12s\n", "load", "figures", "known", "coverage", "mean",
		   "largest", "width", "width/mean");
}

void
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

void
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

/* The figure of a size, and what it changes if that is not today's. */
void
add_compared(const PbpAdvice *advice, PbpCompared ratio, double truth, double today, Tally *tally,
			 Tally *changes)
{
	ratio = pbp_compared_now(ratio, pbp_advice_totals(advice).varies);
	add_figure(tally, !isnan(ratio.value), ratio.value, ratio.error, truth);
	if (ratio.change != 0)
		add_figure(changes, !isnan(ratio.change), ratio.change, ratio.change_error, truth - today);
}

void
add_sums(Sums *sums, const Sums *added)
{
	add_all(&sums->figures, &added->figures);
	add_all(&sums->changes, &added->changes);
}

/* One line for the figures, and one for their changes. */
void
print_sums(const char *what, const char *time, Sums *sums)
{
	char		changes[64];

	snprintf(changes, sizeof(changes), "%s%schanges", time, *time ? ", " : "");
	print_tally(what, time, &sums->figures);
	print_tally(what, changes, &sums->changes);
}

/* ---- pools ---- */

static void
compare_kind(Kind kind, Hindrance hindrance, Sums *all)
{
	static Tally tally;

	memset(&tally, 0, sizeof(tally));
	for (uint64_t seed = 1; seed <= (quick ? 1 : SEEDS); seed++)
	{
		Run			run = {
			.kind = kind,.nbuffers = NBUFFERS,
			.seed = seed * 100 + (uint64_t) kind,.sample_seed = 1000 * seed,
			.looks_per_pass = looks_per_pass[hindrance],
			.thin_at = hindrance == SMALL_SAMPLE ? NBUFFERS * 2 : 0,.pauses = hindrance == PAUSES,
			.missed_percent = hindrance == LATE_LOOKS ? 33 : 0,.chance = {seed}
		};

		start(&run, SAMPLES, (size_t) NBUFFERS * 20, 1.0 / 10);
		run_today(&run);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			for (int j = 0; j < SAMPLES && i != TODAY; j++)
				add_compared(run.advice[j], row_of(run.advice[j], i).ratio,
							 true_misses(&run, pbp_advice_factor(i)), true_misses(&run, 1), &tally,
							 &all->changes);
		finish(&run);
	}
	print_tally(hindrances[hindrance], kind_names[kind], &tally);
	add_all(&all->figures, &tally);
}

/* ---- probes ---- */

/* What probes have found, with an error that lasts. */
typedef struct Probes
{
	Compared	fresh[SAMPLES]; /* since the last correction */
	Compared	remembered[SAMPLES];
	double		errors[SAMPLES];
	Random		random;
	int			nlooks;
} Probes;

static Probes probes;

void
start_probes(void)
{
	probes = (Probes) {.random = {1}};
}

static double
share_of(const Compared *compared, int sample)
{
	return compared->reads > 0 ?
		fmin(1, fmax(-1, compared->served_more / compared->reads + probes.errors[sample])) : NAN;
}

/* To be called after each look. */
void
calibrate(Run *run)
{
	bool		due = ++probes.nlooks % LOOKS_PER_PROBE == 0;

	for (int j = 0; j < SAMPLES; j++)
	{
		double		chance = sqrt(1 - SAME_ERROR * SAME_ERROR) * normal(&probes.random);
		Compared   *fresh = &probes.fresh[j];
		Compared   *remembered = &probes.remembered[j];
		bool		enough;

		fresh->reads += run->compared[j].reads;
		fresh->served_more += run->compared[j].served_more;
		remembered->reads += run->compared[j].reads - 0.01 * remembered->reads;
		remembered->served_more += run->compared[j].served_more - 0.01 * remembered->served_more;
		run->compared[j] = (Compared) {0};
		if (!due)
			continue;
		probes.errors[j] = SAME_ERROR * probes.errors[j] + PROBE_ERROR / PBP_DEVIATIONS * chance;
		enough = fresh->reads >= PBP_ENOUGH_EVENTS;
		pbp_advice_calibrate(run->advice[j], (PbpFigure) {share_of(remembered, j), PROBE_ERROR},
							 enough ? share_of(fresh, j) : NAN);
		if (enough)
			*fresh = (Compared) {0};
	}
}

/* ---- page caches ---- */

/* Today's memory, divided in other ways. */
static void
compare_divisions(const Run *run, Load load, Tally *tally, Tally *changes)
{
	double		today = true_storage(load, run->nbuffers, os_pages(run->nbuffers));

	for (int i = 0; i < PBP_ADVICE_FACTORS - 1; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run->nbuffers);
		double		truth = true_storage(load, nbuffers, os_pages(nbuffers));

		for (int j = 0; j < SAMPLES; j++)
			add_compared(run->advice[j], storage_row_of(run->advice[j], i).ratio, truth, today,
						 tally, changes);
	}
}

/* More and less memory than today: a cache has what the total leaves to it. */
static void
compare_totals(const Run *run, Load load, Tally *tally, Tally *changes)
{
	double		today = true_storage(load, run->nbuffers, os_pages(run->nbuffers));

	for (int i = 0; i < PBP_TOTALS * PBP_SPLITS; i++)
		for (int j = 0; j < SAMPLES && i / PBP_SPLITS % 2 == 0; j++)
		{
			PbpAdviceSplit split;

			split = pbp_advice_split(run->advice[j], i / PBP_SPLITS, i % PBP_SPLITS);
			if (split.storage.os_cache_pages >= 0)
			{
				int			nbuffers = (int) (pbp_advice_factor(split.size) * run->nbuffers);
				int			os_cache = (int) split.storage.os_cache_pages;

				add_compared(run->advice[j], split.storage.ratio,
							 true_storage(load, nbuffers, os_cache), today, tally, changes);
			}
		}
}

/* For what takes long. */
static bool
is_chosen(Load load)
{
	return !quick || load == ZIPF_PAGES || load == SCAN_AND_ZIPF;
}

static void
calibrate_by_look(Run *run, int64_t reads, int64_t storage_reads)
{
	(void) reads;
	(void) storage_reads;
	calibrate(run);
}

/* The page cache has this share of the pages that the advice knows of. */
static void
compare_real_size(Load load, double share, Sums *all)
{
	static Tally tally;
	char		name[64];
	Run			run = {.nbuffers = megabytes(256),.looks_per_pass = 8};

	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	start_probes();
	learn_storage(&run, load, os_pages(run.nbuffers), 1 / share, calibrate_by_look);
	memset(&tally, 0, sizeof(tally));
	compare_divisions(&run, load, &tally, &all->changes);
	snprintf(name, sizeof(name), "storage, %g times the cache", share);
	print_tally(name, load_names[load], &tally);
	add_all(&all->figures, &tally);
	finish(&run);
}

static void
compare_caches(Load load, Sums *all, Sums *of_totals)
{
	static Tally tally;
	Run			run = {.nbuffers = megabytes(256),.looks_per_pass = 8,.totals = is_chosen(load)};

	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(run.nbuffers), 1, NULL);
	memset(&tally, 0, sizeof(tally));
	compare_divisions(&run, load, &tally, &all->changes);
	print_tally("storage", load_names[load], &tally);
	add_all(&all->figures, &tally);
	memset(&tally, 0, sizeof(tally));
	if (run.totals)
	{
		compare_totals(&run, load, &tally, &of_totals->changes);
		print_tally("other memory", load_names[load], &tally);
		add_all(&of_totals->figures, &tally);
	}
	finish(&run);
}

static void
compare_loads(void)
{
	static Sums all;
	static Sums storage;
	static Sums totals;
	static Sums probed;

	for (int hindrance = 0; hindrance <= LATE_LOOKS; hindrance++)
		for (int kind = 0; kind < KINDS; kind++)
			compare_kind((Kind) kind, (Hindrance) hindrance, &all);
	print_sums("all misses", "", &all);
	for (int load = 0; load < ALL_LOADS; load++)
		compare_caches((Load) load, &storage, &totals);
	print_sums("all storage reads", "", &storage);
	print_sums("all with other memory", "", &totals);
	for (int load = 0; load < LOADS; load++)
		for (int larger = 0; larger < 2 && is_chosen((Load) load); larger++)
			compare_real_size((Load) load, larger ? 1.4 : 0.7, &probed);
	print_sums("all with probes", "", &probed);
	compare_stories();
}

int
main(int argc, char **argv)
{
	bool		recorded = false;
	int			i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++)
	{
		if (strcmp(argv[i], "--quick") == 0)
			quick = true;
		else if (strcmp(argv[i], "--recorded") == 0)
			recorded = true;
		else if (strcmp(argv[i], "--truths") == 0 && i + 1 < argc)
			read_truths(argv[++i]);
		else
			die("use", argv[i]);
	}
	print_heading();
	if (!recorded)
		compare_loads();
	if (i < argc)
		compare_recordings(argv + i, argc - i);
	if (truths_file && fclose(truths_file) != 0)
		die("write", "truths");
	return 0;
}

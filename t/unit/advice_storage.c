/*
 * advice_storage.c
 *	  Compares estimates of storage reads at other splits of the memory with an
 *	  exact model of both caches at those splits.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "storage_model.h"

#define SPLITS		6
#define TODAYS		2
#define LARGE_ERROR	0.02
#define UNSURE		0.025		/* an uncertainty */
#define WRONG		0.01

static const int splits_mb[SPLITS] = {128, 256, 384, 512, 640, 768};
static const int todays_mb[TODAYS] = {256, 512};

/* All that was estimated, of all traces. */
typedef struct Errors
{
	double		known[LOADS * TODAYS * SPLITS * SAMPLES * 2];
	double		widths[LOADS * TODAYS * SPLITS * SAMPLES * 2];
	int			nknown;
	int			ncovered;
} Errors;

/* What was estimated of one trace. */
typedef struct LoadErrors
{
	double		worst_sure;		/* where the uncertainty is no more than UNSURE */
	int			nsure;
	int			nunsure;
	int			nunknown;
	int			nimpossible;	/* more storage reads than misses */
	int			nwrong;			/* by more than WRONG outside of their interval */
} LoadErrors;

static void
note_error(const PbpAdviceStorageRow *row, const PbpAdviceRow *miss_row, double truth, Errors *errors, LoadErrors *of_load)
{
	double		error = fabs(row->ratio.value - truth);

	if (row->reason != PBP_STORAGE_KNOWN)
	{
		of_load->nunknown++;
		printf(" unknown (%d)", (int) row->reason);
		return;
	}
	printf(" %.4f +- %.4f", row->ratio.value, row->ratio.error);
	errors->known[errors->nknown] = error;
	errors->widths[errors->nknown++] = row->ratio.error;
	errors->ncovered += error <= row->ratio.error;
	of_load->nwrong += error > row->ratio.error + WRONG;
	of_load->nimpossible += row->ratio.value > miss_row->ratio.value;
	if (row->ratio.error > UNSURE)
		of_load->nunsure++;
	else
	{
		of_load->nsure++;
		of_load->worst_sure = fmax(of_load->worst_sure, error);
	}
}

/* All splits that a size of today's pool has a factor for. */
static void
compare_splits(Load load, int today_mb, const double *fixed, Errors *errors, LoadErrors *of_load)
{
	Run			run = {.nbuffers = megabytes(today_mb), .looks_per_pass = 8};
	int			os_today = os_pages(run.nbuffers);

	start(&run, SAMPLES, (size_t) run.nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_today, 1, NULL);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		for (int split = 0; split < SPLITS; split++)
		{
			int			nbuffers = megabytes(splits_mb[split]);

			if (pbp_advice_factor(i) * run.nbuffers != nbuffers)
				continue;
			printf("# %-13s %d to %d MB: true %.4f, predicted", load_names[load], today_mb, splits_mb[split], fixed[split]);
			for (int j = 0; j < SAMPLES; j++)
			{
				PbpAdviceStorageRow row = storage_row_of(run.advice[j], i);
				PbpAdviceRow miss_row = row_of(run.advice[j], i);

				note_error(&row, &miss_row, fixed[split], errors, of_load);
			}
			printf("\n");
		}
	}
	finish(&run);
}

static void
compare_load(Load load, const char *policy, Errors *errors)
{
	LoadErrors	of_load = {0};
	double		fixed[SPLITS];

	for (int split = 0; split < SPLITS; split++)
	{
		int			nbuffers = megabytes(splits_mb[split]);

		fixed[split] = true_storage_ratio(load, nbuffers, os_pages(nbuffers));
	}
	for (int today = 0; today < TODAYS; today++)
		compare_splits(load, todays_mb[today], fixed, errors, &of_load);
	okf(of_load.nsure > 0 && of_load.worst_sure <= LARGE_ERROR,
		"%s%s: figures that are sure are within %.2f (%.4f)", load_names[load], policy, LARGE_ERROR, of_load.worst_sure);
	/* scans that nearly fit into the page cache are different from run to run, in truth, too */
	okf(of_load.nunsure + of_load.nunknown <= of_load.nsure / 2,
		"%s%s: of %d figures, %d are unsure and %d unknown", load_names[load], policy, of_load.nsure + of_load.nunsure + of_load.nunknown, of_load.nunsure, of_load.nunknown);
	okf(of_load.nwrong == 0, "%s%s: none is off by more than %.2f outside of its interval", load_names[load], policy, WRONG);
	okf(of_load.nimpossible == 0, "%s%s: no more storage reads than misses", load_names[load], policy);
}

/*
 * With MGLRU, only some loads.  While the load shifts, that of before 6.14 keeps pages that it no
 * longer needs, for so long that its storage reads rise and fall by half.
 */
static void
compare_loads(PbpEviction eviction, const char *policy)
{
	Errors		errors = {0};
	double		error;

	exact_eviction = eviction;
	for (int load = 0; load < LOADS; load++)
		if (eviction == PBP_EVICTS_BY_LISTS || load == UPDATES_AND_WAL || load == ZIPF_PAGES || load == UNIFORM_PAGES)
			compare_load((Load) load, policy, &errors);
	error = quantile(errors.known, errors.nknown, 0.5);
	printf("# %d figures%s: median error %.4f, median uncertainty %.4f, %d within it\n", errors.nknown, policy, error,
		   quantile(errors.widths, errors.nknown, 0.5), errors.ncovered);
	okf(error <= 0.007, "the median error is at most 0.007 of the accesses%s", policy);
	okf(errors.ncovered >= 0.9 * errors.nknown, "nine in ten errors are within the uncertainty%s", policy);
}

int
main(void)
{
	compare_loads(PBP_EVICTS_BY_LISTS, "");
	compare_loads(PBP_EVICTS_BY_MGLRU_6_8, ", MGLRU of 6.8");
	compare_loads(PBP_EVICTS_BY_MGLRU_6_14, ", MGLRU of 6.14");
	return end_of_tests();
}

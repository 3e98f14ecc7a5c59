/*
 * scans.c
 *	  Large scans beside lookups: what waits for storage of either at other sizes,
 *	  against the exact model of both caches at those sizes.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "storage_model.h"

#define TODAY_MB		256
#define NSIZES			4

static const int sizes[NSIZES] = {2, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE, PBP_ADVICE_DOUBLE + 1};

/* So many of the sizes are known. */
static void
compare(Load load, int scans_each, int known, double most_error)
{
	int			nbuffers = megabytes(TODAY_MB);
	Run			run = {.nbuffers = nbuffers,.looks_per_pass = 8};
	int			misses_covered = 0;
	int			covered = 0;
	int			scans_covered = 0;
	double		worst = 0;

	start(&run, 1, (size_t) nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(nbuffers), 1, NULL);
	for (int i = 0; i < NSIZES; i++)
	{
		PbpAdviceRow misses = row_of(run.advice[0], sizes[i]);
		PbpAdviceStorageRow row = storage_row_of(run.advice[0], sizes[i]);
		int			other = (int) (pbp_advice_factor(sizes[i]) * nbuffers);
		Waits		truth = true_waits(load, other, os_pages(other), 0);
		double		scans = row.scans.value * scans_each;
		double		scans_error = row.scans.error * scans_each;

		printf("# %s, %.3f of the pool: misses %.4f +- %.4f, true %.4f; storage %.4f +- %.4f, true %.4f; of scans %.4f +- %.4f, true %.4f\n",
			   load_names[load], pbp_advice_factor(sizes[i]), misses.ratio.value, misses.ratio.error, truth.misses, row.ratio.value,
			   row.ratio.error, truth.lookups, scans, scans_error, truth.scans);
		misses_covered += fabs(misses.ratio.value - truth.misses) <= misses.ratio.error + 0.001;
		covered += fabs(row.ratio.value - truth.lookups) <= row.ratio.error;
		scans_covered += fabs(scans - truth.scans) <= scans_error + 0.01;
		worst = fmax(worst, fabs(row.ratio.value - truth.lookups));
	}
	okf(misses_covered == known, "%s: misses of the lookups are within their intervals (%d of %d)", load_names[load], misses_covered, known);
	okf(covered >= NSIZES - 1, "%s: what waits of them, too (%d of %d)", load_names[load], covered, NSIZES);
	okf(worst <= most_error, "%s: and right to %.3f (%.4f)", load_names[load], most_error, worst);
	okf(scans_covered == known, "%s: what waits of the scans, too (%d of %d)", load_names[load], scans_covered, known);
	finish(&run);
}

int
main(void)
{
	compare(BESIDE_SMALL_SCANS, 2, NSIZES, 0.005);
	compare(BESIDE_SCANS, 2, NSIZES, 0.06);	/* the table fits into the page cache, or nearly */
	compare(BESIDE_LARGE_SCANS, 2, NSIZES, 0.01);
	compare(BESIDE_OWN_SCANS, 2, NSIZES, 0.02);
	compare(BESIDE_KEPT_SCANS, 2, NSIZES - 1, 0.03);	/* what three times the size keeps is unknown */
	return end_of_tests();
}

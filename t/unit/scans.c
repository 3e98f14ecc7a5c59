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

static const int sizes[NSIZES] = {2, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE, PBP_ADVICE_TRIPLE};

static void
compare(Load load, int scans_each, double most_error)
{
	int			nbuffers = megabytes(TODAY_MB);
	Run			run = {.nbuffers = nbuffers,.looks_per_pass = 8};
	int			covered = 0;
	int			scans_covered = 0;
	double		worst = 0;

	start(&run, 1, (size_t) nbuffers * 20, 1.0 / 10);
	learn_storage(&run, load, os_pages(nbuffers), 1, NULL);
	for (int i = 0; i < NSIZES; i++)
	{
		PbpAdviceStorageRow row = storage_row_of(run.advice[0], sizes[i]);
		int			other = (int) (pbp_advice_factor(sizes[i]) * nbuffers);
		Waits		truth = true_waits(load, other, os_pages(other));
		double		scans = row.scan_ratio * scans_each;
		double		scans_error = row.scan_error * scans_each;

		printf("# %s, %.3f of the pool: storage %.4f +- %.4f, true %.4f; of scans %.4f +- %.4f, true %.4f\n", load_names[load],
			   pbp_advice_factor(sizes[i]), row.storage_ratio, row.uncertainty, truth.lookups, scans, scans_error, truth.scans);
		covered += fabs(row.storage_ratio - truth.lookups) <= row.uncertainty;
		scans_covered += fabs(scans - truth.scans) <= scans_error + 0.01;
		worst = fmax(worst, fabs(row.storage_ratio - truth.lookups));
	}
	okf(covered >= NSIZES - 1, "%s: what waits of the lookups is within its interval (%d of %d)", load_names[load], covered, NSIZES);
	okf(worst <= most_error, "%s: and right to %.3f (%.4f)", load_names[load], most_error, worst);
	okf(scans_covered == NSIZES, "%s: what waits of the scans, too (%d of %d)", load_names[load], scans_covered, NSIZES);
	finish(&run);
}

int
main(void)
{
	compare(BESIDE_SMALL_SCANS, 2, 0.005);
	compare(BESIDE_SCANS, 2, 0.06); /* the table fits into the page cache, or nearly */
	compare(BESIDE_LARGE_SCANS, 2, 0.01);
	compare(BESIDE_OWN_SCANS, 2, 0.02);
	return end_of_tests();
}

/*
 * advice_accuracy.c
 *	  Compares estimates of src/statistics/ for other sizes with pools of those
 *	  sizes that run the same trace.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "advice_model.h"

static int	nknown;				/* figures with an uncertainty */
static int	covered;			/* of these, off by no more than that */

static void
compare_trace(Kind kind, int nbuffers, int looks_per_pass, int smallest)
{
	Run			run = {.kind = kind, .nbuffers = nbuffers, .seed = 1 + (uint64_t) kind, .looks_per_pass = looks_per_pass};
	double		worst_smaller = 0;
	double		worst_larger = 0;
	double		worst_self = 0;
	int64_t		dropped = 0;

	start(&run, SAMPLES, (size_t) nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));
		double		worst = 0;
		double	   *bound = i < TODAY ? &worst_smaller : &worst_larger;

		printf("# %-10s %5.3f  true %.4f  predicted", kind_names[kind], pbp_advice_factor(i), truth);
		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceRow row = row_of(run.advice[j], i);
			double		error = row.reason == PBP_ADVICE_KNOWN ? fabs(row.ratio.value - truth) : INFINITY;

			worst = fmax(worst, error);
			nknown += i != TODAY && row.reason == PBP_ADVICE_KNOWN;
			covered += i != TODAY && error <= row.ratio.error;
			printf(" %.4f +- %.4f", row.ratio.value, row.ratio.error);
		}
		printf("  worst error %.4f\n", worst);
		if (i >= smallest)
			*bound = fmax(*bound, worst);
	}
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceTotals totals = totals_of(run.advice[j]);

		worst_self = fmax(worst_self, fabs(totals.self_error));
		dropped += totals.dropped;
		printf("# %-10s sample %d: rate 1/%.1f, self error %+.3f\n", kind_names[kind], j,
			   1 / pbp_advice_rate(run.advice[j]), totals.self_error);
	}
	finish(&run);

	okf(worst_larger <= 0.01, "%s: 1 to 4 times the size, known within 0.01 (%.4f)", kind_names[kind], worst_larger);
	okf(worst_smaller <= 0.02,
		"%s, %d looks per pass: %g to 1 times, known within 0.02 (%.4f)", kind_names[kind], looks_per_pass, pbp_advice_factor(smallest), worst_smaller);
	okf(worst_self < 0.1, "%s: as many loads seen as the server reads, within a tenth (%.3f)", kind_names[kind], worst_self);
	okf(dropped == 0, "%s: room for all pages", kind_names[kind]);
}

/* One look per pass suffices; how uses are spread over that time makes smaller sizes less certain. */
static void
look_rarely(Kind kind)
{
	Run			run = {.kind = kind, .nbuffers = 16384, .seed = 11, .looks_per_pass = 1};
	double		worst = 0;
	double		half;

	start(&run, 1, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row = row_of(run.advice[0], i);

		worst = fmax(worst, fabs(row.ratio.value - true_miss_ratio(&run, row.factor)) / fmax(1e-9, row.ratio.error));
	}
	half = worst_error(&run, PBP_ADVICE_HALF, PBP_ADVICE_HALF);
	printf("# %-10s one look per pass: half the size within %.4f, larger ones within %.4f\n", kind_names[kind], half, worst_error(&run, TODAY, PBP_ADVICE_FACTORS - 1));
	okf(worst <= 1.2, "%s, one look per pass: none is far outside of its interval (%.2f of it)", kind_names[kind], worst);
	okf(half <= 0.02, "%s, one look per pass: half the size within 0.02 (%.4f)", kind_names[kind], half);
	finish(&run);
}

/* Loads that no look has seen are no uses of a larger pool, which seems to miss more: its interval says so. */
static void
look_late(void)
{
	Run			run = {.kind = PGBENCH, .nbuffers = 16384, .seed = 11, .looks_per_pass = 1 / 1.5};
	double		worst = 0;

	start(&run, SAMPLES, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceRow twice = row_of(run.advice[j], PBP_ADVICE_DOUBLE);
		double		error = fabs(twice.ratio.value - true_miss_ratio(&run, twice.factor));

		printf("# looks each 1.5 passes: twice the size %.4f off, +- %.4f; self error %+.3f\n", error, twice.ratio.error, totals_of(run.advice[j]).self_error);
		worst = fmax(worst, error / fmax(1e-9, twice.ratio.error));
	}
	okf(worst <= 1, "late looks: twice the size is in its interval (%.2f of it)", worst);
	finish(&run);
}

/*
 * A few pages come and go, and all others are used far more often than looks
 * come: at smaller sizes these would miss more often than can be seen.
 */
static void
look_at_a_slow_hand(int looks_per_pass)
{
	Run			run = {.kind = NEARLY_FITS, .nbuffers = 8192, .seed = 13, .looks_per_pass = looks_per_pass};
	int			wrong = 0;

	start(&run, 1, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = 0; i < TODAY; i++)
	{
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));
		PbpAdviceRow row = row_of(run.advice[0], i);

		wrong += row.reason != PBP_ADVICE_SATURATED && !(fabs(row.ratio.value - truth) <= 0.02);
		printf("# %-10s %5.3f  true %.4f  predicted %.4f, reason %d\n", "slow hand", row.factor, truth, row.ratio.value, (int) row.reason);
	}
	okf(wrong == 0, "%d looks per pass: where a slow hand hides uses, no wrong figure is given, with the reason", looks_per_pass);
	finish(&run);
}

/*
 * A long transaction publishes its accesses at its end, when no look comes any
 * more.
 */
static void
publish_late(void)
{
	Bench		bench;
	PbpAdviceCounts counts;
	PbpAdviceTotals totals;
	PbpAdviceRow row;
	double		before;

	bench_learn(&bench, ZIPF, 3);
	for (int i = 0; i < 400; i++)
	{
		bench_run(&bench, 0.04, false);
		look_only(&bench.run, 0, &bench.pool);
	}
	row = row_of(bench.run.advice[0], TODAY);
	ok(isnan(row.ratio.value) && row.reason == PBP_ADVICE_UNCOUNTED, "a long transaction: until it publishes its reads, nothing is known");
	counts = count_accesses(&bench.run, &bench.pool, &bench.watch);
	pbp_advice_accesses(bench.run.advice[0], &counts);
	row = row_of(bench.run.advice[0], TODAY);
	totals = totals_of(bench.run.advice[0]);
	before = (double) counts.reads / (double) counts.accesses;
	printf("# published late: %.4f, true %.4f, self error %+.3f\n", row.ratio.value, before, totals.self_error);
	ok(fabs(row.ratio.value - before) < 0.01 && fabs(totals.self_error) < 0.2, "and then the miss ratio is known, before the next look");
	look_only(&bench.run, 0, &bench.pool);
	row = row_of(bench.run.advice[0], TODAY);
	ok(fabs(row.ratio.value - before) < 0.01, "and the same after it");
	ok(count_known(bench.run.advice[0], 1) >= 8, "with other sizes, to twice today's at least");
	bench_finish(&bench);
}

/* Chance in a sample of a sixteenth as many pages is four times as large. */
static void
sample_few_pages(void)
{
	double		width[2];

	for (int i = 0; i < 2; i++)
	{
		Run			run = {.kind = ZIPF, .nbuffers = 16384, .seed = 11, .looks_per_pass = 8};

		start(&run, 1, (size_t) run.nbuffers * 10, i == 0 ? 1.0 / 10 : 1.0 / 160);
		run_today(&run);
		width[i] = row_of(run.advice[0], PBP_ADVICE_HALF).ratio.error;
		finish(&run);
	}
	okf(width[1] > 2 * width[0], "half the size is known within %.4f, from a small sample within %.4f", width[0], width[1]);
}

int
main(void)
{
	for (int kind = 0; kind < KINDS; kind++)
		compare_trace((Kind) kind, 32768, 8, SMALLEST);
	compare_trace(UNIFORM, 16384, 4, SMALLEST);
	compare_trace(RING_SCANS, 16384, 4, SMALLEST);
	compare_trace(PGBENCH, 16384, 4, SMALLEST);
	printf("# %d of %d errors are within the uncertainty\n", covered, nknown);
	ok(covered >= 0.9 * nknown, "nine in ten errors are within the uncertainty");
	look_rarely(UNIFORM);
	look_rarely(ZIPF);
	look_rarely(PGBENCH);
	look_late();
	look_at_a_slow_hand(8);
	look_at_a_slow_hand(40);
	publish_late();
	sample_few_pages();
	return end_of_tests();
}

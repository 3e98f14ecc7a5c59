/*
 * size_decision.c
 *	  From tables of estimates to the size that src/statistics/decision.c advises, and how
 *	  much the advice says that it has learned before that.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decision_case.h"

static const Curve flat = {0.100, 0.099, 0.101, 0.100, 0.099, 0.100, 0.101, 0.100, 0.099, 0.098, 0.097};

/* ---- by reads from storage ---- */

static void
choose_by_storage(void)
{
	Case		one = new_case(falling, hump, 0.004);

	is_decided(&one, PBP_TAKE, 4, "the lowest of two optima is taken");
	one.fits[SIZES - 1] = false;
	is_decided(&one, PBP_TAKE, 3, "if it does not fit, a smaller gain is taken, if it is clear");
	one.fits[SIZES - 2] = false;
	is_decided(&one, PBP_KEEP, 1, "but not the other optimum: whether a smaller size saves time, only time tells");

	one = new_case(falling, hump, 0.004);
	one.storage[SIZES - 1].ratio.change_error = 0.05;
	is_decided(&one, PBP_TAKE, 3, "if the lowest is uncertain, one that is certain is taken");

	one = new_case(falling, falling, 0.001);
	is_decided(&one, PBP_TAKE, 4, "small errors: the best size");
	one.storage[SIZES - 2].ratio.value = 0.0305;
	is_decided(&one, PBP_TAKE, 3, "the smallest step that is nearly as good as the best");
	one = new_case(falling, falling, 0.04);
	is_decided(&one, PBP_TAKE, 4, "larger errors: still the best size");
	one = new_case(falling, falling, 0.2);
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "errors that are larger than a gain that matters: nothing is decided");
	one = new_case(falling, flat, 0.01);
	is_decided(&one, PBP_KEEP, 1, "errors that are larger than a gain that does not matter: today's size");
	ok(!ask(&one).matters_too_little, "because of the errors");
	one = new_case(falling, flat, 0.0001);
	is_decided(&one, PBP_KEEP, 1, "a certain gain of 3 % does not matter");
	ok(ask(&one).matters_too_little, "and not because of the errors");
}

static void
keep_for_storage(void)
{
	Curve		little;
	Case		one;

	for (int i = 0; i < SIZES; i++)
		little[i] = falling[i] / 400;
	one = new_case(falling, little, 0.00001);
	is_decided(&one, PBP_KEEP_CACHED, 1, "where the page cache serves all reads, half as many reads are no reason");
	for (int i = 0; i < SIZES; i++)
		little[i] = falling[i] / 30;
	one = new_case(falling, little, 0.006);
	is_decided(&one, PBP_KEEP_CACHED, 1, "and within the error of nearly all reads as well");
	one = new_case(falling, little, 0.0001);
	is_decided(&one, PBP_TAKE, 4, "but the other reads count, if there are enough");

	one = new_case(falling, hump, 0.004);
	one.storage[TODAY].ratio.value = 0.0005;
	forget_storage(&one, 8, SIZES - 1, 0.1, PBP_STORAGE_LEARNING);
	is_decided(&one, PBP_KEEP_CACHED, 1, "if hardly anything waits for storage, larger sizes need not be known");

	one = new_case(little, hump, 0.00001);
	for (int i = 0; i < SIZES; i++)
		one.misses[i].ratio.value /= 10;
	is_decided(&one, PBP_KEEP_FEW_READS, 1, "where hardly anything is read, no other size matters");
}

/* ---- by misses ---- */

static void
choose_by_misses(void)
{
	Case		one = new_case(falling, NULL, 0.004);

	is_decided(&one, PBP_TAKE, 2, "without storage reads: at most twice the size");
	ok(ask(&one).basis == PBP_BY_MISSES, "and the decision says on what it is based");
	one.fits[8] = one.fits[7] = false;
	is_decided(&one, PBP_KEEP, 1, "a gain that would do for storage reads is too small for misses");
	one = new_case(flat, NULL, 0.0001);
	is_decided(&one, PBP_KEEP, 1, "a flat curve: today's size");

	one = new_case(falling, falling, 0.004);
	forget_storage(&one, 0, SIZES - 1, NAN, PBP_STORAGE_NO_CAPACITY);
	is_decided(&one, PBP_TAKE, 2, "a page cache of unknown size: by misses");
}

/* ---- too early ---- */

static void
wait_for_more(void)
{
	Case		one = new_case(falling, hump, 0.004);

	one.seconds = 8;
	is_decided(&one, PBP_DECIDE_SHORT, 1, "after some seconds it is too early");

	one = new_case(falling, hump, 0.004);
	forget_storage(&one, 8, SIZES - 1, 0.37, PBP_STORAGE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "as long as storage reads of twice the size are unknown, too");
	ok(ask(&one).learned_share == 0.37, "with the progress");
	one.fits[8] = false;
	is_decided(&one, PBP_KEEP, 1, "but not if that would not fit");

	one = new_case(falling, hump, 0.004);
	forget_misses(&one, 8, 0.5, PBP_ADVICE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "nor while the misses of that size are unknown");
	ok(ask(&one).learned_share == 0.5, "with the progress of these");
	forget_misses(&one, 8, 1, PBP_ADVICE_SATURATED);
	is_decided(&one, PBP_TAKE, 4, "what will not become known is not waited for");

	one = new_case(falling, hump, 0.004);
	forget_misses(&one, TODAY, 0.2, PBP_ADVICE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "nothing is decided as long as today's misses are unknown");
	forget_misses(&one, TODAY, 1, PBP_ADVICE_UNCOUNTED);
	is_decided(&one, PBP_DECIDE_UNKNOWN, 1, "or if they remain unknown");

	one = new_case(falling, hump, 0.004);
	for (int i = 0; i < SIZES; i++)
		if (i != TODAY)
			forget_misses(&one, i, 0.6, PBP_ADVICE_UNSEEN);
	is_decided(&one, PBP_DECIDE_UNKNOWN, 1, "nor where too few of the reads are seen");

	one = new_case(falling, hump, 0.004);
	one.varies = 1;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "a load that varies by all of its misses has no certain best size");
}

/* Whatever the figures: no size that does not fit, none without an estimate. */
static void
try_at_random(void)
{
	Random		random = {7};
	int			wrong = 0;
	int			taken = 0;

	for (int n = 0; n < 100000; n++)
	{
		Case		one = new_case(falling, hump, next_share(&random) * 0.02);
		PbpDecision decision;

		for (int i = 0; i < SIZES; i++)
		{
			one.fits[i] = i == TODAY || below(&random, 2) == 0;
			one.misses[i].ratio.value = next_share(&random);
			one.storage[i].ratio.value = one.misses[i].ratio.value * next_share(&random);
			if (i != TODAY && below(&random, 4) == 0)
				forget_misses(&one, i, 1, PBP_ADVICE_SATURATED);
		}
		one.has_storage = below(&random, 2) == 0;
		decision = ask(&one);
		taken += decision.kind == PBP_TAKE;
		wrong += (decision.kind == PBP_TAKE) != (decision.size != TODAY) || !one.fits[decision.size] ||
			one.misses[decision.size].reason != PBP_ADVICE_KNOWN ||
			(decision.kind == PBP_TAKE && decision.basis == PBP_BY_STORAGE &&
			 one.storage[decision.size].ratio.value >= one.storage[TODAY].ratio.value) ||
			(decision.kind == PBP_TAKE && decision.basis == PBP_BY_MISSES &&
			 one.misses[decision.size].ratio.value >= one.misses[TODAY].ratio.value);
	}
	printf("# of 100000 tables of random figures, %d advise another size\n", taken);
	ok(wrong == 0 && taken > 10000, "no size is advised that does not fit, has no estimate, or is no better");
}

/* ---- the knee ---- */

static void
find_knees(void)
{
	const Curve cliff = {0.40, 0.39, 0.38, 0.36, 0.34, 0.30, 0.02, 0.02, 0.02, 0.01, 0.01};
	Curve		line;
	Curve		gaps;

	for (int i = 0; i < SIZES; i++)
		line[i] = 0.5 - 0.1 * pbp_advice_factor(i);
	memcpy(gaps, cliff, sizeof(gaps));
	gaps[0] = gaps[1] = gaps[2] = gaps[SIZES - 1] = NAN;
	ok(pbp_knee(cliff, PBP_ADVICE_FACTORS, pbp_advice_factor) == 6, "the knee is where the curve becomes flat");
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == 6, "also if sizes at both ends are unknown");
	ok(pbp_knee(line, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "a straight line has none");
	ok(pbp_knee(flat, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor has a curve that is flat from the start");
	for (int i = 0; i < SIZES; i++)
		gaps[i] = i == TODAY ? 0.1 : NAN;
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor one known size");
	gaps[TODAY] = NAN;
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor none");
}

/* ---- progress ---- */

/*
 * The share that is learned grows with the reads, later for larger sizes, and is
 * 1 as soon as the size is known.
 */
static void
report_progress(void)
{
	Bench		bench;
	double		last[SIZES] = {0};
	double		half_at = 0;
	int			known_at = 0;
	bool		in_order = true;
	bool		grows = true;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	for (int step = 1; step <= 200 && known_at == 0; step++)
	{
		bench_run(&bench, 0.1, true);
		for (int j = TODAY + 1; j < SIZES; j++)
		{
			PbpAdviceRow row = row_of(bench.run.advice[0], j);

			grows = grows && row.learned_share >= last[j];
			in_order = in_order && (row.learned_share < 1) == (row.reason != PBP_ADVICE_KNOWN) &&
				(j == TODAY + 1 || row.learned_share <= last[j - 1] + 0.05);
			last[j] = row.learned_share;
		}
		if (last[SIZES - 1] < 0.5)
			half_at = step;
		if (last[SIZES - 1] >= 1)
			known_at = step;
	}
	printf("# four times the size: half learned after %.0f of %d steps\n", half_at, known_at);
	ok(known_at > 0 && grows, "while a size is learned, the progress grows until it is known");
	ok(in_order, "it is complete when the size is known and not before, and larger sizes come later");
	ok(half_at > 0.2 * known_at && half_at < 0.8 * known_at, "half of the progress takes about half of the reads");
	bench_finish(&bench);
}

int
main(void)
{
	choose_by_storage();
	keep_for_storage();
	choose_by_misses();
	wait_for_more();
	try_at_random();
	find_knees();
	report_progress();
	return end_of_tests();
}

/*
 * progress.c
 *	  What is said of learning while it lasts: its share never falls, and how long
 *	  the rest takes.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "storage_model.h"

#define STEPS		600
#define STEP		0.02		/* pools' worth of reads */
#define SECONDS		3.0			/* that a step takes */

/* All shares that the rows of one run have while sizes are learned. */
typedef struct Shares
{
	double		last[PBP_ADVICE_FACTORS];
	int			ngrown;
	int			nfallen;
	double		farthest;
} Shares;

static void
note_share(Shares *shares, int i, bool learning, double share)
{
	if (learning)
	{
		shares->ngrown += share > shares->last[i];
		shares->nfallen += share < shares->last[i];
		shares->farthest = fmax(shares->farthest, shares->last[i] - share);
	}
	/* once known, it may be learned again */
	shares->last[i] = learning ? share : 0;
}

static void
note_rows(const PbpAdvice *advice, Shares *shares)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row = row_of(advice, i);

		note_share(shares, i, row.reason == PBP_ADVICE_LEARNING || row.reason == PBP_ADVICE_LITTLE_EVIDENCE, row.learned_share);
	}
}

/* In the middle, another load begins, which makes shares of the first fall. */
static void
never_fall(Kind kind)
{
	Bench		bench;
	Shares		shares = {0};

	bench_start(&bench, kind, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < STEPS; i++)
	{
		if (i == STEPS / 2)
			bench.trace.kind = (kind + 1) % KINDS;
		bench_run(&bench, STEP, true);
		note_rows(bench.run.advice[0], &shares);
	}
	bench_finish(&bench);
	printf("# %s, then another: %d times grown, %d times fallen, by %.3f\n", kind_names[kind], shares.ngrown, shares.nfallen, shares.farthest);
	okf(shares.ngrown > 100 && shares.nfallen == 0,
		"%s, then another load: while a size is learned, its share grows and never falls", kind_names[kind]);
}

static void
never_fall_below(Load load)
{
	Scene		scene;
	Shares		shares = {0};

	scene_start(&scene, load, megabytes(128), os_pages(megabytes(128)), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(megabytes(128)));
	for (int i = 0; i < 100; i++)
	{
		scene_run(&scene, 0.2);
		for (int j = 0; j < PBP_ADVICE_FACTORS; j++)
		{
			PbpAdviceStorageRow row = storage_row_of(scene.run.advice[0], j);

			note_share(&shares, j, row.learned_share < 1, row.learned_share);
		}
	}
	scene_finish(&scene);
	printf("# page cache, %s: %d times grown, %d times fallen, by %.3f\n", load_names[load], shares.ngrown, shares.nfallen, shares.farthest);
	okf(shares.ngrown > 20 && shares.nfallen == 0,
		"page cache, %s: while it is learned, its share grows and never falls", load_names[load]);
}

/* Runs a step, which takes some seconds, and looks ten times. */
static void
run_step(Bench *bench)
{
	for (int i = 0; i < 10; i++)
	{
		bench_run(bench, STEP / 10, false);
		look_and_watch(&bench->run, &bench->pool, bench->trace.count, SECONDS / 10, &bench->watch);
	}
}

/* When half of the reads needed have been seen, the rest takes about as long as that. */
static void
foretell_the_rest(int size)
{
	Bench		bench;
	PbpAdviceRow row;
	PbpAdviceRow at_half = {.seconds_left = NAN};
	double		left = 0;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	run_step(&bench);
	row = row_of(bench.run.advice[0], size);
	ok(isnan(row.seconds_left), "at first, it is unknown how long learning takes");
	for (int i = 0; i < STEPS && row.reason != PBP_ADVICE_KNOWN; i++)
	{
		run_step(&bench);
		row = row_of(bench.run.advice[0], size);
		if (isnan(at_half.seconds_left) && row.learned_share >= 0.5)
			at_half = row;
		left += isnan(at_half.seconds_left) ? 0 : SECONDS;
	}
	bench_finish(&bench);
	printf("# x%g: half learned, %.0f s said to be left, %.0f s were\n", at_half.factor, at_half.seconds_left, left);
	okf(at_half.seconds_left > left / 2 && at_half.seconds_left < left * 2,
		"x%g: what is said to be left at half is right within a factor of 2", at_half.factor);
	ok(row.reason == PBP_ADVICE_KNOWN && isnan(row.seconds_left), "and nothing is left when the size is known");
}

int
main(void)
{
	for (int kind = 0; kind < KINDS; kind++)
		never_fall((Kind) kind);
	never_fall_below(ZIPF_PAGES);
	never_fall_below(SHIFTING);
	for (int i = TODAY + 1; i < PBP_ADVICE_FACTORS; i++)
		foretell_the_rest(i);
	return end_of_tests();
}

/*
 * advice_loads.c
 *	  Steady loads and bold ones, by time: compares estimates for all sizes with
 *	  pools of those sizes that run the same load.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advice_model.h"

#define NBUFFERS	2048
#define LEARNED		7			/* pools' worth of reads before the window */
#define MEASURED	6
#define MOST		(INT64_C(200) * 1000000)	/* accesses */
#define WRONG		0.01		/* so far outside of its interval */

typedef enum Class
{
	STEADY,
	BOLD,
	CHANGING,
	PERIODIC,
	CLASSES
} Class;

static const char *const class_names[CLASSES] = {"steady", "bold", "changing", "periodic"};

/* The window of those without one is found by reads. */
static const struct
{
	const char *name;
	Class		class;
	Kind		kind;
	int64_t		window_start;	/* in accesses */
	int64_t		window_end;
}			loads[] =
{
	{"skewed", STEADY, ZIPF, 0, 0},
	{"uniform", STEADY, WIDE, 0, 0},
	{"TPC-B-like", STEADY, PGBENCH, 0, 0},
	{"lookups, scans", STEADY, RING_SCANS, 0, 0},
	{"loop", BOLD, LOOP, 0, 0},
	{"slow turns", BOLD, SLOW_TURNS, 0, 0},
	{"fast turns", BOLD, FAST_TURNS, 0, 0},
	{"night", BOLD, NIGHT_AND_DAY, NIGHT / 2, NIGHT},
	/* half a minute after the night */
	{"at dawn", CHANGING, NIGHT_AND_DAY, NIGHT + DAY / 48, NIGHT + DAY / 8},
	{"by day", CHANGING, NIGHT_AND_DAY, NIGHT + DAY / 2, NIGHT + DAY},
	/* whole periods, to the middle of one */
	{"periodic scan", PERIODIC, PERIODIC_SCAN, 90 * NBUFFERS, 190 * NBUFFERS}
};

#define LOADS ((int) (sizeof(loads) / sizeof(loads[0])))

/* All estimates of a load, or of several. */
typedef struct Score
{
	int			nasked;
	int			nknown;
	int			nwithin;
	int			nwrong;
	double		farthest;		/* outside of an interval */
	double		errors[PBP_ADVICE_FACTORS * SAMPLES * LOADS];
	double		widths[PBP_ADVICE_FACTORS * SAMPLES * LOADS];
} Score;

/* Until the pool has read so much, or so many accesses have happened. */
static void
run_until(Bench *bench, int64_t reads, int64_t accesses)
{
	while (bench->pool.reads < reads && bench->trace.count < accesses)
		bench_step(bench, true);
}

static void
run_load(Bench *bench, int load)
{
	bool		fixed = loads[load].window_end > 0;

	run_until(bench, fixed ? INT64_MAX : LEARNED * NBUFFERS, fixed ? loads[load].window_start : MOST / 2);
	bench->run.window_start = bench->trace.count;
	run_until(bench, fixed ? INT64_MAX : (LEARNED + MEASURED) * NBUFFERS, fixed ? loads[load].window_end : MOST);
	bench->run.window_end = bench->trace.count;
	bench->run.move_at = INT64_MAX;
}

static void
add_row(Score *score, const PbpAdviceRow *row, double truth)
{
	double		error = fabs(row->ratio.value - truth);

	score->nasked++;
	if (row->reason != PBP_ADVICE_KNOWN)
		return;
	score->errors[score->nknown] = error;
	score->widths[score->nknown++] = row->ratio.error;
	score->nwithin += error <= row->ratio.error + 1e-9;
	score->nwrong += error > row->ratio.error + WRONG;
	score->farthest = fmax(score->farthest, error - row->ratio.error);
}

static void
print_score(const char *name, Score *score)
{
	double		sum = 0;

	for (int i = 0; i < score->nknown; i++)
		sum += score->errors[i];
	printf("# %-24s %4d %4d  %.4f %.4f %.4f   %.4f   %3.0f %%  %4d  %.4f\n", name, score->nknown, score->nasked - score->nknown,
		   sum / fmax(1, score->nknown), quantile(score->errors, score->nknown, 0.95), quantile(score->errors, score->nknown, 1),
		   quantile(score->widths, score->nknown, 0.5), 100.0 * score->nwithin / fmax(1, score->nknown), score->nwrong,
		   score->farthest);
}

/* With a sample of the least memory that the worker takes, but for what is for relations. */
static void
score_load(int load, Score *sum)
{
	static Score score;
	Bench		bench;
	const Run	run = {.kind = loads[load].kind, .nbuffers = NBUFFERS, .seed = 3, .timed = true, .looks_per_pass = 8};

	memset(&score, 0, sizeof(score));
	bench_start_run(&bench, &run, SAMPLES, 512 * 1024 * 5 / 6 / 16 * 16, 1);
	run_load(&bench, load);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		truth = true_miss_ratio(&bench.run, pbp_advice_factor(i));

		printf("# %-16s x%.3f true %.4f:", loads[load].name, pbp_advice_factor(i), truth);
		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceRow row = row_of(bench.run.advice[j], i);

			add_row(&score, &row, truth);
			add_row(sum, &row, truth);
			printf("  %.4f +- %.4f (%d)", row.ratio.value, row.ratio.error, (int) row.reason);
		}
		printf("\n");
	}
	print_score(loads[load].name, &score);
	bench_finish(&bench);
}

int
main(void)
{
	static Score scores[CLASSES];

	printf("# load                   known unknown  error: mean, 95 %%, most   +-      within  wrong, by\n");
	for (int load = 0; load < LOADS; load++)
		score_load(load, &scores[loads[load].class]);
	for (int class = 0; class < CLASSES; class++)
		print_score(class_names[class], &scores[class]);
	ok(scores[STEADY].nwrong == 0, "steady loads: no estimate is wrong by more than 0.01 outside of its interval");
	ok(scores[STEADY].nknown >= 0.9 * scores[STEADY].nasked, "and nine in ten sizes are known");
	ok(scores[BOLD].nwrong == 0, "loops and turns: no estimate is wrong by more than 0.01 outside of its interval");
	ok(scores[BOLD].nknown >= 0.5 * scores[BOLD].nasked, "and half of the sizes are known");
	ok(scores[CHANGING].nwrong == 0, "a day after a night: no estimate is wrong by more than 0.01 outside of its interval");
	return end_of_tests();
}

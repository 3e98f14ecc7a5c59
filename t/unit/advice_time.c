/*
 * advice_time.c
 *	  A light day after a heavy night, and an idle server after it: what is
 *	  forgotten by time, and what is not.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "advice_model.h"

#define BUFFERS		4096
#define NIGHT_PACE	50000
#define DAY_PACE	400
#define HOUR		3600

/* Accesses to so many pages from the first one on, in so many seconds, and a look at the end. */
typedef struct Load
{
	int			accesses;
	int			first;
	int			npages;
	double		seconds;
} Load;

static void
run_load(Bench *bench, const Load *load)
{
	for (int i = 0; i < load->accesses; i++)
		pool_access(&bench->pool, load->first + below(&bench->trace.random, load->npages), false);
	look_and_watch(&bench->run, &bench->pool, 0, load->seconds, &bench->watch);
}

/* 50,000 accesses a second to pages of 6 pools, all in the sample. */
static void
end_of_night(Bench *bench)
{
	static const Load night = {BUFFERS / 8, 0, 6 * BUFFERS, (double) BUFFERS / 8 / NIGHT_PACE};

	bench_start(bench, UNIFORM, BUFFERS, 1 << 18, 0);
	for (int i = 0; i < 100 * 8; i++)
		run_load(bench, &night);
}

static double
miss_ratio_of(const Bench *bench, int size)
{
	PbpAdviceRow row = row_of(bench->run.advice[0], size);

	return row.miss_ratio;
}

/* By day, one access in 200 is to another page than those of half a pool. */
static void
follow_light_day(void)
{
	static const Load day[] = {
		{DAY_PACE * 199 / 200, 7 * BUFFERS, BUFFERS / 2, 1}, {DAY_PACE / 200, 8 * BUFFERS, 4 * BUFFERS, 1}
	};
	Bench		bench;
	double		after_minutes = NAN;
	double		truth = 0;
	double		early = NAN;

	end_of_night(&bench);
	for (int second = 0; second < 3 * HOUR; second++)
	{
		int64_t		reads = bench.pool.reads;

		for (int i = 0; i < day[0].accesses; i++)
			pool_access(&bench.pool, day[0].first + below(&bench.trace.random, day[0].npages), false);
		run_load(&bench, &day[1]);
		truth += second >= 2 * HOUR ? (double) (bench.pool.reads - reads) / DAY_PACE / HOUR : 0;
		if (second == 600)
			early = miss_ratio_of(&bench, TODAY);
		if (isnan(after_minutes) && miss_ratio_of(&bench, TODAY) < 0.03)
			after_minutes = second / 60.0;
	}
	printf("# a light day: %.4f after ten minutes, below 0.03 after %.0f minutes, %.4f after three hours, true %.4f\n",
		   early, after_minutes, miss_ratio_of(&bench, TODAY), truth);
	ok(early > 0.7, "a light day after a heavy night: after ten minutes, it may be a pause");
	ok(after_minutes <= 120, "after two hours, it is the load");
	ok(fabs(miss_ratio_of(&bench, TODAY) - truth) < 0.002, "and later, nothing is left of the night");
	bench_finish(&bench);
}

/* A query every 15 seconds, for eight hours; the worker looks every 5 seconds. */
static void
remain_idle(int accesses, const char *what)
{
	const Load	query = {accesses, 0, BUFFERS / 16, 5};
	const Load	nothing = {0, 0, 1, 5};
	double		before[PBP_ADVICE_FACTORS];
	double		most = 0;
	Bench		bench;

	end_of_night(&bench);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		before[i] = miss_ratio_of(&bench, i);
	for (int i = 0; i < 8 * HOUR / 15; i++)
	{
		run_load(&bench, &query);
		run_load(&bench, &nothing);
		run_load(&bench, &nothing);
	}
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
		most = fmax(most, fabs(miss_ratio_of(&bench, i) - before[i]));
	printf("# %s: figures differ by at most %.4f after eight hours\n", what, most);
	okf(most < 0.02 && !isnan(most), "an idle server, %s: what was learned remains", what);
	bench_finish(&bench);
}

int
main(void)
{
	follow_light_day();
	remain_idle(300, "a query of 300 accesses every 15 seconds");
	remain_idle(30, "a query of 30 accesses every 15 seconds");
	return end_of_tests();
}

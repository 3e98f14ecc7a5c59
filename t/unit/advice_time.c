/*
 * advice_time.c
 *	  A light day after a heavy night, and an idle server after it: what is
 *	  forgotten by time, what is not, and what is unknown meanwhile.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "advice_model.h"

#define BUFFERS		4096
#define LIGHT_PACE	400
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
	return row_of(bench->run.advice[0], size).ratio.value;
}

/* By day, one access in 200 is to another page than those of half a pool. */
static void
follow_light_day(void)
{
	static const Load day[] = {
		{LIGHT_PACE * 199 / 200, 7 * BUFFERS, BUFFERS / 2, 1}, {LIGHT_PACE / 200, 8 * BUFFERS, 4 * BUFFERS, 1}
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
		truth += second >= 2 * HOUR ? (double) (bench.pool.reads - reads) / LIGHT_PACE / HOUR : 0;
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

/*
 * True if the row of today's size has what was measured in its interval, but for the
 * precision of the measurement, or is unknown with that reason.
 */
static bool
allows(const PbpAdviceRow *row, double reads, double accesses)
{
	double		precision = 0.0005 + 3 * sqrt(reads) / accesses;

	return row->reason == PBP_ADVICE_CHANGED ||
		(row->reason == PBP_ADVICE_KNOWN && fabs(row->ratio.value - reads / accesses) <= row->ratio.error + precision);
}

/*
 * For three hours after the night, lookups at a share of its pace in a sixteenth of
 * the pool, of which some are of other pages.  The server may have been idle before.
 */
static void
run_lightly(int share, int others, int idle_seconds)
{
	static const Load nothing = {0, 0, 1, 1};
	Bench		bench;
	int			wrong = 0;
	int			worst = 0;
	bool		learned = false;

	end_of_night(&bench);
	for (int i = 0; i < idle_seconds; i++)
		run_load(&bench, &nothing);
	for (int minute = 1; minute <= 180; minute++)
	{
		Watch		before = bench.watch;
		double		reads;
		double		accesses;
		PbpAdviceRow row;

		for (int second = 0; second < 60; second++)
		{
			Load		few = {NIGHT_PACE / share / others, 8 * BUFFERS, 4 * BUFFERS, 1};

			for (int i = few.accesses; i < NIGHT_PACE / share; i++)
				pool_access(&bench.pool, 7 * BUFFERS + below(&bench.trace.random, BUFFERS / 16), false);
			run_load(&bench, &few);
		}
		reads = (double) (bench.pool.reads - before.reads);
		accesses = (double) (bench.pool.hits - before.hits) + reads;
		row = row_of(bench.run.advice[0], TODAY);
		learned = totals_of(bench.run.advice[0]).change == PBP_NO_CHANGE;
		if (minute < 3 || allows(&row, reads, accesses))
			continue;
		if (wrong++ == 0)
			printf("# minute %d: %.4f +- %.4f, measured %.4f\n", minute, row.ratio.value, row.ratio.error, reads / accesses);
		worst = minute;
	}
	if (wrong > 0)
		printf("# wrong in %d minutes, the last of them the %d.\n", wrong, worst);
	okf(wrong == 0, "a %d. of the pace, 1 in %d accesses to other pages, after %d s without any: no confident error about today's size", share, others, idle_seconds);
	if (others < NIGHT_PACE)
		ok(learned, "and after three hours, it is the load");
	bench_finish(&bench);
}

/* Whoever asks a server of which the load has just ended, again and again or at times. */
static void
ask_idle_server(void)
{
	static const Load nothing = {0, 0, 1, 1};
	static const Load query = {3000, 7 * BUFFERS, BUFFERS / 16, 1};
	Bench		bench;
	int			unknown = 0;
	double		widest = 0;

	end_of_night(&bench);
	for (int i = 1; i <= 600; i++)
	{
		PbpAdviceRow row;

		run_load(&bench, i <= 40 || i % 30 < 3 ? &query : &nothing);
		row = row_of(bench.run.advice[0], TODAY);
		widest = fmax(widest, row.ratio.error);
		for (int j = 1; j < PBP_ADVICE_FACTORS; j++)
			unknown += isnan(miss_ratio_of(&bench, j));
	}
	printf("# a query each second, then three every half minute: +- %.4f at most\n", widest);
	ok(unknown == 0 && widest < 0.1, "when a load has ended, all sizes remain known to whoever asks");
	bench_finish(&bench);
}

/* A minute in which hardly anything happens, between two of the night. */
static void
pause_at_night(void)
{
	static const Load light = {NIGHT_PACE / 50, 7 * BUFFERS, BUFFERS / 16, 1};
	static const Load night = {NIGHT_PACE / 50, 0, 6 * BUFFERS, 1.0 / 50};
	static const PbpAdviceCounts hits = {.accesses = 1000,.seconds = 1};
	Bench		bench;
	double		before[PBP_ADVICE_FACTORS];
	double		most = 0;
	double		apart;
	PbpAdviceRow row;

	end_of_night(&bench);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		before[i] = miss_ratio_of(&bench, i);
	ok(pbp_advice_accesses_apart(bench.run.advice[0], &hits) == 0, "what is accessed at night is of the load");
	for (int i = 0; i < 60; i++)
		run_load(&bench, &light);
	apart = pbp_advice_accesses_apart(bench.run.advice[0], &hits);
	ok(apart == 1000 && totals_of(bench.run.advice[0]).change == PBP_LIGHT_LOAD, "hits of a light load are not");
	ok(all_unknown(bench.run.advice[0], TODAY + 1, PBP_ADVICE_CHANGED), "and while it runs, larger sizes are unknown");
	for (int i = 0; i < 25; i++)
		run_load(&bench, &night);
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
		most = isnan(miss_ratio_of(&bench, i)) ? INFINITY : fmax(most, fabs(miss_ratio_of(&bench, i) - before[i]));
	row = row_of(bench.run.advice[0], TODAY);
	printf("# half a second after a pause, figures differ by at most %.4f; today's +- %.4f\n", most, row.ratio.error);
	ok(most < 0.05 && row.ratio.error < 0.02 && totals_of(bench.run.advice[0]).change == PBP_NO_CHANGE, "after it, everything is known again");
	bench_finish(&bench);
}

/* A load of 100 seconds again and again, with a light one for twelve minutes between. */
static void
come_back(void)
{
	static const Load night = {NIGHT_PACE / 50, 0, 6 * BUFFERS, 1.0 / 50};
	static const Load light = {NIGHT_PACE / 20, 7 * BUFFERS, 17 * BUFFERS / 16, 1};
	Bench		bench;
	int			npauses = 0;

	end_of_night(&bench);
	for (int turn = 0; turn < 3; turn++)
	{
		for (int i = 0; i < 100 * 50; i++)
			run_load(&bench, &night);
		for (int i = 0; i < 12 * 60; i++)
			run_load(&bench, &light);
		npauses += totals_of(bench.run.advice[0]).change == PBP_LIGHT_LOAD;
	}
	ok(npauses == 3, "a load that comes back before a light one has become the load remains the load");
	bench_finish(&bench);
}

/* Two queries in turn, each for 15 seconds, of which either reads the pool more than ten times in that time. */
static void
take_turns(void)
{
	static const Load queries[] = {{NIGHT_PACE / 20, 0, 6 * BUFFERS, 1.0 / 20}, {NIGHT_PACE / 20, 6 * BUFFERS, 2 * BUFFERS, 1.0 / 20}};
	Bench		bench;
	int			wrong = 0;
	double		widest = 0;

	end_of_night(&bench);
	for (int turn = 0; turn < 12; turn++)
	{
		Watch		before = bench.watch;
		double		asked[2];
		double		errors[2];
		double		mean;

		for (int i = 0; i < 2; i++)
		{
			PbpAdviceRow row;

			for (int j = 0; j < 15 * 20; j++)
				run_load(&bench, &queries[i]);
			row = row_of(bench.run.advice[0], TODAY);
			asked[i] = row.ratio.value;
			errors[i] = row.ratio.error;
		}
		mean = (double) (bench.pool.reads - before.reads) / (2 * 15 * NIGHT_PACE);
		for (int i = 0; i < 2 && turn >= 4; i++)
		{
			wrong += !(fabs(asked[i] - mean) <= errors[i]);
			widest = fmax(widest, errors[i]);
		}
		printf("# %.4f: %.4f +- %.4f, %.4f +- %.4f\n", mean, asked[0], errors[0], asked[1], errors[1]);
	}
	okf(wrong == 0 && widest < 0.25, "two queries in turn: either is asked for, and the interval of %.2f has the mean of both", widest);
	bench_finish(&bench);
}

/* A query of ten seconds, after which its session publishes what it read; another session reads a little. */
static void
publish_late(void)
{
	Bench		bench;
	int			light = 0;

	end_of_night(&bench);
	for (int second = 1; second <= 200; second++)
	{
		PbpAdviceCounts counts = {.accesses = 100};

		for (int i = 0; i < NIGHT_PACE; i++)
			pool_access(&bench.pool, below(&bench.trace.random, 6 * BUFFERS), false);
		if (second % 10 == 0)
		{
			counts = count_accesses(&bench.run, &bench.pool, &bench.watch);
			bench.watch = (Watch) {.hits = bench.pool.hits,.reads = bench.pool.reads};
		}
		counts.seconds = 1;
		pbp_advice_accesses(bench.run.advice[0], &counts);
		look_only(&bench.run, 0, &bench.pool);
		light += totals_of(bench.run.advice[0]).change == PBP_LIGHT_LOAD;
	}
	okf(light == 0, "while a query runs whose reads are not published yet, that is no light load (%d s)", light);
	bench_finish(&bench);
}

int
main(void)
{
	static const int shares[] = {11, 50, 500};

	for (int i = 0; i < 3; i++)
	{
		run_lightly(shares[i], 1000000, 0);
		run_lightly(shares[i], 20, 0);
		run_lightly(shares[i], 20, HOUR);
		run_lightly(shares[i], 2, 0);
	}
	take_turns();
	publish_late();
	ask_idle_server();
	pause_at_night();
	come_back();
	follow_light_day();
	remain_idle(300, "a query of 300 accesses every 15 seconds");
	remain_idle(30, "a query of 30 accesses every 15 seconds");
	return end_of_tests();
}

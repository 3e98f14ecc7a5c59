/*
 * advice_loads.c
 *	  Steady loads and bold ones, by time: compares estimates for all sizes with
 *	  pools of those sizes that live through the same accesses.  Prints TAP.
 *
 * advice_loads MB...: a table for pools of these sizes; -v in front: each
 * estimate, too; -kKB: the least memory of the sample.  -l: instead of all that,
 * how many pools' worth of reads each size needs until it is known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice_model.h"

#define PACE		50000		/* accesses in a second */
#define DAY_PACE	7500
#define PHASE		240			/* seconds of a night, and of a day */
#define NIGHT		((int64_t) PHASE * PACE)
#define DAY			((int64_t) PHASE * DAY_PACE)
#define SLOW_TURN	(20 * PACE)
#define FAST_TURN	(PACE / 2)
#define LOOK_PAUSE	5			/* seconds */
#define LOOKS		8			/* in a pass of the hand, at most */
#define LEARNED		7			/* pools' worth of reads before the window */
#define MEASURED	6
#define MOST		(INT64_C(200) * 1000000)	/* accesses */
#define WRONG		0.01		/* so far outside of its interval */

typedef enum TimedLoad
{
	SKEWED,
	EVEN,
	TPC_B,
	BIG_SCANS,					/* through a ring, beside lookups */
	STEADY,						/* how many of these there are */
	LOOP = STEADY,				/* over 1.3 pools */
	SLOW_TURNS,					/* of two sets of 0.85 pools */
	FAST_TURNS,
	AT_NIGHT,
	BOLD,						/* and how many with these */
	AT_DAWN = BOLD,				/* half a minute after the night */
	BY_DAY,
	CHANGING,					/* and with these */
	PERIODIC_SCAN = CHANGING,	/* of 1.5 pools, not through a ring */
	TIMED_LOADS
} TimedLoad;

static const char *const names[TIMED_LOADS] = {
	"skewed", "uniform", "TPC-B-like", "lookups, scans", "loop", "slow turns", "fast turns", "night", "at dawn",
	"by day", "periodic scan"
};

/* All estimates of a load, or of several. */
typedef struct Score
{
	int			nasked;
	int			nknown;
	int			nwithin;
	int			nwrong;
	double		farthest;		/* outside of an interval */
	double		errors[PBP_ADVICE_FACTORS * SAMPLES * TIMED_LOADS * 8];
	double		widths[PBP_ADVICE_FACTORS * SAMPLES * TIMED_LOADS * 8];
} Score;

/* The same accesses to pools of all sizes, of which one is observed. */
typedef struct World
{
	Run			run;
	TimedLoad	load;
	Trace		trace;
	int			left;			/* of a scan */
	double		seconds;
	Watch		watch;
	double		watch_seconds;
	Pool		pools[PBP_ADVICE_FACTORS];
	int64_t		hits[PBP_ADVICE_FACTORS];	/* at the beginning of the window */
	int64_t		reads[PBP_ADVICE_FACTORS];
} World;

static bool verbose;
static bool learning;
static double least_kb = 512;

static bool
has_night(TimedLoad load)
{
	return load == AT_NIGHT || load == AT_DAWN || load == BY_DAY;
}

static int
all_pages(int nbuffers)
{
	return 12 * nbuffers;
}

/* ---- loads ---- */

/* A table of 1.5 pools in a burst, every 20 pools' worth of accesses. */
static int
scan_at_times(World *world)
{
	int			n = world->run.nbuffers;
	Random	   *random = &world->trace.random;

	if (world->trace.count % (20 * (int64_t) n) == 1)
		world->left = 3 * n / 2;
	if (world->left > 0 && below(random, 2) == 0)
		return 8 * n + --world->left;
	return below(random, 10) > 0 ? below(random, n / 2) : n + below(random, 4 * n);
}

static int
take_turns(World *world, int accesses)
{
	int			set = 17 * (world->run.nbuffers / 20);

	return (int) (world->trace.count / accesses % 2) * set + below(&world->trace.random, set);
}

/* At night, one in 20 accesses is to any page; by day, one in 500. */
static int
by_night_and_day(World *world)
{
	int			n = world->run.nbuffers;
	int			others = world->trace.count < NIGHT ? 20 : 500;

	return below(&world->trace.random, others) == 0 ? n + below(&world->trace.random, 6 * n) : below(&world->trace.random, n / 2);
}

static int
next_of(World *world, bool *bulk)
{
	static const Kind kinds[STEADY] = {ZIPF, UNIFORM, PGBENCH, RING_SCANS};
	int			n = world->run.nbuffers;

	*bulk = false;
	if (world->load != EVEN && world->load < STEADY)
	{
		world->trace.kind = kinds[world->load];
		return next_page(&world->trace, bulk);
	}
	world->trace.count++;
	switch (world->load)
	{
		case EVEN:
			return below(&world->trace.random, 6 * n);
		case PERIODIC_SCAN:
			return scan_at_times(world);
		case LOOP:
			return (int) (world->trace.count % (13 * (int64_t) n / 10));
		case SLOW_TURNS:
			return take_turns(world, SLOW_TURN);
		case FAST_TURNS:
			return take_turns(world, FAST_TURN);
		default:
			return by_night_and_day(world);
	}
}

/* ---- running ---- */

/* As the worker does it: the share of memory, the reserve for relations, and the largest sample. */
static void
start_world(World *world, TimedLoad load, int nbuffers, uint64_t salt)
{
	double		bytes = fmin(fmax(nbuffers * 8192.0 / 1000, least_kb * 1024), 4 * 1024 * 1024) * 5 / 6;

	memset(world, 0, sizeof(*world));
	world->run = (Run) {.nbuffers = nbuffers, .seed = 1, .looks_per_pass = LOOKS, .sample_seed = salt};
	world->load = load;
	start(&world->run, SAMPLES, (size_t) bytes / 16 * 16, fmin(1, 4000.0 / nbuffers));
	trace_init(&world->trace, UNIFORM, nbuffers, 3, INT64_MAX);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		pool_init(&world->pools[i], (int) (pbp_advice_factor(i) * nbuffers), all_pages(nbuffers));
}

static void
look_when_due(World *world)
{
	const Pool *pool = &world->pools[TODAY];

	if (pool->ticks - world->watch.ticks < pool->nbuffers / LOOKS && world->seconds - world->watch_seconds < LOOK_PAUSE)
		return;
	look_and_watch(&world->run, pool, world->trace.count, world->seconds - world->watch_seconds, &world->watch);
	world->watch_seconds = world->seconds;
}

static void
step(World *world)
{
	bool		bulk;
	int			page = next_of(world, &bulk);
	bool		day = has_night(world->load) && world->trace.count >= NIGHT;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		pool_access(&world->pools[i], page, bulk);
	world->seconds += 1.0 / (day ? DAY_PACE : PACE);
	look_when_due(world);
}

/* Until today's pool has read so much, or so many accesses have happened. */
static void
run_until(World *world, int64_t reads, int64_t accesses)
{
	while (world->pools[TODAY].reads < reads && world->trace.count < accesses)
		step(world);
}

static void
begin_window(World *world)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		world->hits[i] = world->pools[i].hits;
		world->reads[i] = world->pools[i].reads;
	}
}

/* From when to when the truth is measured, in accesses. */
static void
run_window(World *world)
{
	int64_t		n = world->run.nbuffers;
	static const int64_t windows[][2] = {
		{NIGHT / 2, NIGHT}, {NIGHT + DAY / 48, NIGHT + DAY / 8}, {NIGHT + DAY / 2, NIGHT + DAY}
	};

	if (has_night(world->load))
	{
		const int64_t *window = windows[world->load == AT_NIGHT ? 0 : world->load - AT_DAWN + 1];

		run_until(world, INT64_MAX, window[0]);
		begin_window(world);
		run_until(world, INT64_MAX, window[1]);
		return;
	}
	if (world->load == PERIODIC_SCAN)
	{
		/* whole periods, to the middle of one */
		run_until(world, INT64_MAX, 90 * n);
		begin_window(world);
		run_until(world, INT64_MAX, 190 * n);
		return;
	}
	run_until(world, LEARNED * n, MOST / 2);
	begin_window(world);
	run_until(world, (LEARNED + MEASURED) * n, MOST);
}

static void
finish_world(World *world)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		pool_free(&world->pools[i]);
	finish(&world->run);
}

/* ---- scores ---- */

static void
add_row(Score *score, const PbpAdviceRow *row, double truth)
{
	double		error = fabs(row->miss_ratio - truth);

	score->nasked++;
	if (row->reason != PBP_ADVICE_KNOWN)
		return;
	score->errors[score->nknown] = error;
	score->widths[score->nknown++] = row->uncertainty;
	score->nwithin += error <= row->uncertainty + 1e-9;
	score->nwrong += error > row->uncertainty + WRONG;
	score->farthest = fmax(score->farthest, error - row->uncertainty);
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
	fflush(stdout);
}

static void
score_load(TimedLoad load, int mb, Score *sum)
{
	static Score score;
	World		world;
	char		name[100];

	memset(&score, 0, sizeof(score));
	start_world(&world, load, mb * 128, 1000);
	run_window(&world);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		reads = (double) (world.pools[i].reads - world.reads[i]);
		double		truth = reads / ((double) (world.pools[i].hits - world.hits[i]) + reads);

		if (verbose)
			printf("# %-16s x%.3f true %.4f:", names[load], pbp_advice_factor(i), truth);
		for (int j = 0; j < SAMPLES; j++)
		{
			PbpAdviceRow row = row_of(world.run.advice[j], i);

			add_row(&score, &row, truth);
			add_row(sum, &row, truth);
			if (verbose)
				printf("  %.4f +- %.4f (%d)", row.miss_ratio, row.uncertainty, (int) row.reason);
		}
		if (verbose)
			printf("\n");
	}
	finish_world(&world);
	snprintf(name, sizeof(name), "%s, %d MB", names[load], mb);
	print_score(name, &score);
}

/* Prints after how many pools' worth of reads each size became known and stayed so. */
static void
print_learning(TimedLoad load, int mb)
{
	World		world;
	double		known_at[PBP_ADVICE_FACTORS] = {0};
	int			nbuffers = mb * 128;

	start_world(&world, load, nbuffers, 1000);
	for (double pools = 0.1; pools < 3 * LEARNED; pools += 0.1)
	{
		run_until(&world, (int64_t) (pools * nbuffers), MOST);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		{
			PbpAdviceRow row = row_of(world.run.advice[0], i);

			if (row.reason != PBP_ADVICE_KNOWN)
				known_at[i] = pools + 0.1;
		}
	}
	printf("# %-16s %4d MB:", names[load], mb);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		printf(known_at[i] < 3 * LEARNED ? " x%g %.1f" : " x%g -", pbp_advice_factor(i), known_at[i]);
	printf("\n");
	finish_world(&world);
}

static const char *const kinds_of_load[] = {"steady", "bold", "changing", "periodic"};

static void
score_pools(int npools, const int *mb, Score *scores)
{
	printf("# load, pool             known unknown  error: mean, 95 %%, most   +-      within  wrong, by\n");
	for (int i = 0; i < npools; i++)
		for (int load = 0; load < TIMED_LOADS; load++)
			score_load((TimedLoad) load, mb[i], &scores[(load >= STEADY) + (load >= BOLD) + (load >= CHANGING)]);
	for (int kind = 0; kind < 4; kind++)
		print_score(kinds_of_load[kind], &scores[kind]);
}

int
main(int argc, char **argv)
{
	static Score scores[4];
	int			mb[8] = {16};
	int			npools = 0;

	for (int i = 1; i < argc && npools < 8; i++)
		if (strcmp(argv[i], "-v") == 0)
			verbose = true;
		else if (strcmp(argv[i], "-l") == 0)
			learning = true;
		else if (strncmp(argv[i], "-k", 2) == 0)
			least_kb = atof(argv[i] + 2);
		else
			mb[npools++] = atoi(argv[i]);
	if (learning)
	{
		for (int i = 0; i < npools; i++)
			for (int load = 0; load < STEADY; load++)
				print_learning((TimedLoad) load, mb[i]);
		return 0;
	}
	score_pools(npools > 0 ? npools : 1, mb, scores);
	ok(scores[0].nwrong == 0, "steady loads: no estimate is wrong by more than 0.01 outside of its interval");
	ok(scores[1].nwrong == 0, "loops and turns: the same");
	ok(scores[0].nknown >= 0.9 * scores[0].nasked, "steady loads: nine in ten sizes are known");
	ok(scores[2].nwrong == 0, "a day after a night: the same");
	ok(scores[1].nknown >= 0.5 * scores[1].nasked, "loops and turns: half of them");
	return end_of_tests();
}

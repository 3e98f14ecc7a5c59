/*
 * advice.c
 *	  Compares estimates of src/advice.c for other sizes with pools of those
 *	  sizes.
 *
 * A model of the server's buffer pool runs a trace; looks of it feed the
 * advice, as the sampler would.  Then pools of the other sizes run the same
 * trace.  Prints TAP; t/500_advice_model.pl compiles it with src/advice*.c alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/advice.h"

#define USAGE_MAX	5
#define RING		32
#define NONE		(-1)

static int	tests;
static int	nknown;				/* figures with an uncertainty */
static int	covered;			/* of these, off by no more than that */

static void
ok(bool passed, const char *what)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, what);
	fflush(stdout);
}

/* xorshift: the same in every run */
typedef struct Random
{
	uint64_t	state;
} Random;

static uint64_t
next_random(Random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state * UINT64_C(0x2545F4914F6CDD1D);
}

static double
next_share(Random *random)
{
	return (double) (next_random(random) >> 11) / 9007199254740992.0;
}

static int
below(Random *random, int n)
{
	return (int) ((next_random(random) >> 32) * (uint64_t) n >> 32);
}

/* The sampler's hash of a tag. */
static uint64_t
key_of(int page, uint64_t seed)
{
	uint64_t	x = (uint64_t) page + seed * UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

/* ----------------------------------------------------------------
 *		The server's buffer pool
 * ----------------------------------------------------------------
 */

typedef struct Pool
{
	int			nbuffers;
	int			used;			/* the others are free */
	int			hand;
	int64_t		ticks;
	int		   *page;			/* of each buffer */
	uint8_t    *usage;			/* of each buffer */
	int		   *buffer;			/* of each page, or NONE */
	int			ring[RING];
	int			ring_next;
	int64_t		hits;			/* both without the bulk reads */
	int64_t		reads;
	int64_t		ring_reads;
} Pool;

static void
pool_init(Pool *pool, int nbuffers, int npages)
{
	memset(pool, 0, sizeof(*pool));
	pool->nbuffers = nbuffers;
	pool->page = malloc(sizeof(int) * (size_t) nbuffers);
	pool->usage = calloc((size_t) nbuffers, 1);
	pool->buffer = malloc(sizeof(int) * (size_t) npages);
	for (int i = 0; i < npages; i++)
		pool->buffer[i] = NONE;
	for (int i = 0; i < RING; i++)
		pool->ring[i] = NONE;
}

static void
pool_free(Pool *pool)
{
	free(pool->page);
	free(pool->usage);
	free(pool->buffer);
}

/* StrategyGetBuffer: the free list, then the clock sweep */
static int
clock_victim(Pool *pool)
{
	if (pool->used < pool->nbuffers)
	{
		pool->page[pool->used] = NONE;
		return pool->used++;
	}
	for (;;)
	{
		int			buffer = pool->hand;

		pool->hand = buffer + 1 < pool->nbuffers ? buffer + 1 : 0;
		pool->ticks++;
		if (pool->usage[buffer] == 0)
			return buffer;
		pool->usage[buffer]--;
	}
}

/* GetBufferFromRing and AddBufferToRing */
static int
ring_victim(Pool *pool)
{
	int		   *entry = &pool->ring[pool->ring_next];

	pool->ring_next = (pool->ring_next + 1) % RING;
	if (*entry == NONE || pool->usage[*entry] > 1)
		*entry = clock_victim(pool);
	return *entry;
}

/* PinBuffer on a hit; BufferAlloc on a miss */
static void
pool_access(Pool *pool, int page, bool bulk)
{
	int			buffer = pool->buffer[page];

	if (buffer != NONE)
	{
		if (bulk ? pool->usage[buffer] == 0 : pool->usage[buffer] < USAGE_MAX)
			pool->usage[buffer]++;
		pool->hits += !bulk;
		return;
	}
	buffer = bulk ? ring_victim(pool) : clock_victim(pool);
	if (pool->page[buffer] != NONE)
		pool->buffer[pool->page[buffer]] = NONE;
	pool->page[buffer] = page;
	pool->buffer[page] = buffer;
	pool->usage[buffer] = 1;
	pool->reads += !bulk;
	pool->ring_reads += bulk;
}

/* ----------------------------------------------------------------
 *		Traces
 * ----------------------------------------------------------------
 */

typedef enum Kind
{
	UNIFORM,
	ZIPF,
	TWO_SETS,
	LOOKS,						/* of small tables, through the pool */
	RING_LOOKS,					/* of large ones, through a ring */
	MOVING,
	PGBENCH,
	KINDS,
	NEARLY_FITS = KINDS,		/* these are for tests of their own */
	FITS_TWICE,
	NEW_PAGES
} Kind;

static const char *const kind_names[KINDS] = {
	"uniform", "zipf", "two sets", "looks", "ring looks", "moving", "pgbench"
};

typedef struct Trace
{
	Kind		kind;
	int			nbuffers;		/* of today's pool */
	Random		random;
	int64_t		count;
	int64_t		move_at;		/* the working set moves, or never */
	int			lookned;
	int			step;			/* of a transaction */
	int			row;			/* that it is about */
} Trace;

static int
trace_pages(int nbuffers)
{
	return 12 * nbuffers;
}

static void
trace_init(Trace *trace, Kind kind, int nbuffers, uint64_t seed, int64_t move_at)
{
	memset(trace, 0, sizeof(*trace));
	trace->kind = kind;
	trace->nbuffers = nbuffers;
	trace->random.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	trace->move_at = move_at;
}

/* One of n, that of rank r with a probability of 1 / r, nearly; hot ones anywhere */
static int
zipf(Random *random, int n)
{
	int			rank = (int) exp(next_share(random) * log((double) n + 1)) - 1;

	return (int) ((uint64_t) rank * 2654435761u % (unsigned) n);
}

/*
 * Transactions as pgbench's: one row is found by its index and updated, and
 * some small tables are always in use.  Six index pages for each 60 rows.
 */
static int
pgbench_page(Trace *trace)
{
	int			n = trace->nbuffers;
	int			heap = 4 * n;
	int			leaves = heap / 6;
	int			rows = heap * 60;

	switch (trace->step++)
	{
		case 0:
			trace->row = zipf(&trace->random, rows);
			return 0;
		case 1:
			return 1 + trace->row / 60 / 6 / 280;
		case 2:
			return heap + n + trace->row / 60 / 6;
		case 3:
		case 4:
			return heap + n + leaves + 1 + trace->row / 60;
		case 5:
			return heap + below(&trace->random, 3);
		default:
			trace->step = 0;
			return heap + 3 + below(&trace->random, 20);
	}
}

static int
next_page(Trace *trace, bool *bulk)
{
	Random	   *random = &trace->random;
	int			n = trace->nbuffers;
	int64_t		count = trace->count++;

	*bulk = false;
	switch (trace->kind)
	{
		case UNIFORM:
			return below(random, 2 * n);
		case ZIPF:
			return zipf(random, 8 * n);
		case TWO_SETS:
			if (below(random, 100) < 70)
				return below(random, n * 2 / 5);
			return n + below(random, 3 * n);
		case LOOKS:
			/* five tables of a fifth of the pool, one after the other */
			if (below(random, 100) < 15)
				return trace->lookned++ % n;
			return n + zipf(random, 6 * n);
		case RING_LOOKS:
			if (below(random, 100) < 30)
			{
				*bulk = true;
				return trace->lookned++ % (4 * n);
			}
			return 2 * n + zipf(random, 6 * n);
		case MOVING:
			return (count < trace->move_at ? 0 : 6 * n) + zipf(random, 6 * n);
		case NEARLY_FITS:
			if (below(random, 100) > 0)
				return below(random, n * 17 / 20);
			return n + below(random, 8 * n);
		case FITS_TWICE:
			/* among looks of a large table through a ring */
			*bulk = below(random, 100) < 40;
			return *bulk ? 4 * n + trace->lookned++ % (8 * n) : below(random, 3 * n / 2);
		case NEW_PAGES:
			if (below(random, 100) < 30)
				return n + trace->lookned++ % (11 * n);
			return below(random, n / 4);
		default:
			return pgbench_page(trace);
	}
}

/* ----------------------------------------------------------------
 *		The comparison
 * ----------------------------------------------------------------
 */

#define SAMPLES			3		/* drawn of the pages, in the same run */
#define SETTLE_POOLS	7		/* pools' worth of reads before the window */
#define MOVED_POOLS		12		/* and after the working set has moved */
#define WINDOW_POOLS	6
#define IDLE_POOLS		20		/* of accesses, to a look while nothing moves */
#define SMALLEST		1		/* index of the smallest size that must be right */
#define TODAY			5

typedef struct Run
{
	Kind		kind;
	int			nbuffers;
	uint64_t	seed;
	int			looks_per_pass;
	PbpAdvice  *advice[SAMPLES];
	double		uncounted;		/* share of the reads that the server does not count */
	bool		rings_together; /* their reads count as others */
	int64_t		window_start;	/* in accesses */
	int64_t		window_end;
	int64_t		move_at;
} Run;

typedef struct Watch
{
	int64_t		ticks;
	int64_t		count;
	int64_t		hits;
	int64_t		reads;
	int64_t		ring_reads;
} Watch;

static uint64_t
sample_seed(int sample)
{
	return 1000 + (uint64_t) sample;
}

/* The server's counts of accesses since the last look. */
static PbpAdviceCounts
count_accesses(const Run *run, const Pool *pool, const Watch *watch)
{
	int64_t		ring_reads = pool->ring_reads - watch->ring_reads;
	PbpAdviceCounts counts = {.hits = pool->hits - watch->hits};

	counts.reads = (int64_t) ((1 - run->uncounted) * (double) (pool->reads - watch->reads));
	if (run->rings_together)
		counts.reads += ring_reads;
	else
		counts.ring_reads = ring_reads;
	return counts;
}

static void
look_only(const Run *run, int sample, const Pool *pool)
{
	PbpAdvice  *advice = run->advice[sample];

	pbp_advice_begin(advice, pool->ticks);
	for (int i = 0; i < pool->used; i++)
	{
		uint64_t	key = key_of(pool->page[i], sample_seed(sample));

		if (pbp_advice_sampled(advice, key))
			pbp_advice_observe(advice, key, i, pool->usage[i]);
	}
	pbp_advice_end(advice, pool->ticks);
}

static void
look_pool(const Run *run, int sample, const Pool *pool, const Watch *watch)
{
	PbpAdviceCounts counts = count_accesses(run, pool, watch);

	pbp_advice_accesses(run->advice[sample], &counts);
	look_only(run, sample, pool);
}

/* Look whenever the sampler would. */
static void
watch_pool(const Run *run, const Pool *pool, const Trace *trace, Watch *watch)
{
	if (pool->ticks - watch->ticks < run->nbuffers / run->looks_per_pass &&
		trace->count - watch->count < (int64_t) IDLE_POOLS * run->nbuffers)
		return;
	for (int i = 0; i < SAMPLES && run->advice[i]; i++)
		look_pool(run, i, pool, watch);
	*watch = (Watch) {pool->ticks, trace->count, pool->hits, pool->reads, pool->ring_reads};
}

/* Runs the baseline pool under observation, and finds the window. */
static void
run_today(Run *run)
{
	Pool		pool;
	Trace		trace;
	Watch		watch = {0};
	int64_t		reads = (int64_t) SETTLE_POOLS * run->nbuffers;

	pool_init(&pool, run->nbuffers, trace_pages(run->nbuffers));
	trace_init(&trace, run->kind, run->nbuffers, run->seed, INT64_MAX);
	run->window_start = run->window_end = 0;
	while (run->window_end == 0)
	{
		bool		bulk;
		int			page = next_page(&trace, &bulk);

		pool_access(&pool, page, bulk);
		watch_pool(run, &pool, &trace, &watch);
		if (pool.reads < reads)
			continue;
		if (run->kind == MOVING && trace.move_at == INT64_MAX)
		{
			trace.move_at = trace.count;
			reads += (int64_t) MOVED_POOLS * run->nbuffers;
		}
		else if (run->window_start == 0)
		{
			run->window_start = trace.count;
			reads += (int64_t) WINDOW_POOLS * run->nbuffers;
		}
		else
			run->window_end = trace.count;
	}
	run->move_at = trace.move_at;
	pool_free(&pool);
}

/* What a pool of another size misses in the same window. */
static double
true_miss_ratio(const Run *run, double factor)
{
	Pool		pool;
	Trace		trace;
	int64_t		hits = 0;
	int64_t		reads = 0;
	int64_t		ring_reads = 0;
	double		ratio;

	pool_init(&pool, (int) (factor * run->nbuffers), trace_pages(run->nbuffers));
	trace_init(&trace, run->kind, run->nbuffers, run->seed, run->move_at);
	while (trace.count < run->window_end)
	{
		bool		bulk;
		int			page = next_page(&trace, &bulk);

		pool_access(&pool, page, bulk);
		if (trace.count == run->window_start)
		{
			hits = pool.hits;
			reads = pool.reads;
			ring_reads = pool.ring_reads;
		}
	}
	reads = pool.reads - reads + (run->rings_together ? pool.ring_reads - ring_reads : 0);
	ratio = (double) reads / (double) (pool.hits - hits + reads);
	pool_free(&pool);
	return ratio;
}

static void
start(Run *run, int samples, size_t bytes, double rate)
{
	memset(run->advice, 0, sizeof(run->advice));
	for (int i = 0; i < samples; i++)
		run->advice[i] = pbp_advice_init(malloc(bytes), bytes, run->nbuffers, USAGE_MAX, rate, !run->rings_together);
}

static void
finish(Run *run)
{
	for (int i = 0; i < SAMPLES; i++)
		free(run->advice[i]);
}

static void
compare_trace(Kind kind, int nbuffers, int looks_per_pass, int smallest)
{
	Run			run = {.kind = kind, .nbuffers = nbuffers, .seed = 1 + (uint64_t) kind, .looks_per_pass = looks_per_pass};
	double		worst_smaller = 0;
	double		worst_larger = 0;
	double		worst_self = 0;
	int64_t		dropped = 0;
	char		what[100];

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
			PbpAdviceRow row;
			double		error;

			pbp_advice_row(run.advice[j], i, &row);
			error = row.reason == PBP_ADVICE_KNOWN ? fabs(row.miss_ratio - truth) : INFINITY;
			worst = fmax(worst, error);
			nknown += i != TODAY && row.reason == PBP_ADVICE_KNOWN;
			covered += i != TODAY && error <= row.uncertainty;
			printf(" %.4f +- %.4f", row.miss_ratio, row.uncertainty);
		}
		printf("  worst error %.4f\n", worst);
		if (i >= smallest)
			*bound = fmax(*bound, worst);
	}
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpAdviceTotals totals;

		pbp_advice_totals(run.advice[j], &totals);
		worst_self = fmax(worst_self, fabs(totals.self_error));
		dropped += totals.dropped;
		printf("# %-10s sample %d: rate 1/%.1f, %.1f looks per pass, self error %+.3f\n", kind_names[kind], j,
			   1 / pbp_advice_rate(run.advice[j]), totals.looks_per_pass, totals.self_error);
	}
	finish(&run);

	snprintf(what, sizeof(what), "%s: 1 to 4 times the size, known within 0.01 (%.4f)", kind_names[kind], worst_larger);
	ok(worst_larger <= 0.01, what);
	snprintf(what, sizeof(what), "%s, %d looks per pass: %g to 1 times, known within 0.02 (%.4f)",
			 kind_names[kind], looks_per_pass, pbp_advice_factor(smallest), worst_smaller);
	ok(worst_smaller <= 0.02, what);
	snprintf(what, sizeof(what), "%s: as many loads seen as the server reads, within a tenth (%.3f)", kind_names[kind], worst_self);
	ok(worst_self < 0.1, what);
	snprintf(what, sizeof(what), "%s: room for all pages", kind_names[kind]);
	ok(dropped == 0, what);
}

/* One look per pass suffices for larger sizes, but not for smaller ones. */
static void
look_rarely(void)
{
	Run			run = {.kind = ZIPF, .nbuffers = 16384, .seed = 11, .looks_per_pass = 1};
	int			wrong = 0;
	double		worst = 0;
	PbpAdviceRow row;

	start(&run, 1, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		pbp_advice_row(run.advice[0], i, &row);
		if (i < TODAY)
			wrong += row.reason != PBP_ADVICE_FAST_HAND || !isnan(row.miss_ratio);
		else
			worst = fmax(worst, row.reason == PBP_ADVICE_KNOWN ?
						 fabs(row.miss_ratio - true_miss_ratio(&run, row.factor)) : INFINITY);
	}
	printf("# one look per pass: larger sizes within %.4f\n", worst);
	ok(wrong == 0, "one look per pass: smaller sizes are unknown, with the reason");
	ok(worst <= 0.02, "one look per pass: larger sizes within 0.02");
	finish(&run);
}

/*
 * A few pages come and go, and all others are used far more often than looks
 * come: at smaller sizes these would miss more often than can be seen.
 */
static void
look_a_slow_hand(void)
{
	Run			run = {.kind = NEARLY_FITS, .nbuffers = 4096, .seed = 13, .looks_per_pass = 8};
	int			wrong = 0;
	PbpAdviceRow row;

	start(&run, 1, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = 0; i < TODAY; i++)
	{
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));

		pbp_advice_row(run.advice[0], i, &row);
		wrong += row.reason == PBP_ADVICE_KNOWN && fabs(row.miss_ratio - truth) > 0.02;
		printf("# %-10s %5.3f  true %.4f  predicted %.4f, reason %d\n", "slow hand", row.factor, truth, row.miss_ratio, (int) row.reason);
	}
	ok(wrong == 0, "where a slow hand hides uses, no wrong figure is given");
	finish(&run);
}

/* ----------------------------------------------------------------
 *		Honesty and bounds
 * ----------------------------------------------------------------
 */

/* How many of these rows have a figure. */
static int
count_known(const PbpAdvice *advice, int from)
{
	int			known = 0;

	for (int i = from; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;

		pbp_advice_row(advice, i, &row);
		known += row.reason == PBP_ADVICE_KNOWN || !isnan(row.miss_ratio);
	}
	return known;
}

static int
count_reason(const PbpAdvice *advice, int from, PbpAdviceReason reason)
{
	int			found = 0;

	for (int i = from; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;

		pbp_advice_row(advice, i, &row);
		found += row.reason == reason;
	}
	return found;
}

static bool
all_unknown(const PbpAdvice *advice, int from, PbpAdviceReason reason)
{
	return count_known(advice, from) == 0 &&
		count_reason(advice, from, reason) == PBP_ADVICE_FACTORS - from;
}

/* A pool that runs a trace in steps, observed by one advice. */
typedef struct Bench
{
	Run			run;
	Pool		pool;
	Trace		trace;
	Watch		watch;
} Bench;

static void
bench_start(Bench *bench, Kind kind, int nbuffers, size_t bytes, double rate)
{
	memset(bench, 0, sizeof(*bench));
	bench->run = (Run) {.kind = kind, .nbuffers = nbuffers, .seed = 7, .looks_per_pass = 8};
	start(&bench->run, 1, bytes, rate);
	pool_init(&bench->pool, nbuffers, trace_pages(nbuffers));
	trace_init(&bench->trace, kind, nbuffers, bench->run.seed, INT64_MAX);
}

/* For so many pools' worth of reads, with or without looks. */
static void
bench_run(Bench *bench, double pools, bool watched)
{
	int64_t		reads = bench->pool.reads + (int64_t) (pools * bench->run.nbuffers);

	while (bench->pool.reads < reads)
	{
		bool		bulk;
		int			page = next_page(&bench->trace, &bulk);

		pool_access(&bench->pool, page, bulk);
		if (watched)
			watch_pool(&bench->run, &bench->pool, &bench->trace, &bench->watch);
	}
}

/* 8192 buffers, observed from the start for so many pools' worth of reads. */
static void
bench_learn(Bench *bench, Kind kind, double pools)
{
	bench_start(bench, kind, 8192, 8192 * 10, 1.0 / 20);
	bench_run(bench, pools, true);
}

static void
bench_finish(Bench *bench)
{
	pool_free(&bench->pool);
	finish(&bench->run);
}

static void
all_fits(void)
{
	Bench		bench;

	bench_start(&bench, UNIFORM, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 200; i++)
	{
		for (int page = 0; page < 8000; page++)
			pool_access(&bench.pool, page, false);
		look_pool(&bench.run, 0, &bench.pool, &bench.watch);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_NOTHING_EVICTED),
	   "nothing was evicted: nothing is known, with the reason");
	bench_finish(&bench);
}

/* What is known, when, and after knowledge was lost. */
static void
lose_knowledge(void)
{
	Bench		bench;
	PbpAdviceTotals totals;

	bench_learn(&bench, ZIPF, 1.9);
	ok(all_unknown(bench.run.advice[0], TODAY + 3, PBP_ADVICE_LEARNING),
	   "soon after the start, twice the size and more are being learned");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "later all are known from 0.5 on");

	pbp_advice_gap(bench.run.advice[0]);
	bench_run(&bench, 0.2, true);
	ok(all_unknown(bench.run.advice[0], TODAY + 1, PBP_ADVICE_LEARNING),
	   "after a gap, larger sizes are being learned again");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "and known again later");
	pbp_advice_totals(bench.run.advice[0], &totals);
	ok(totals.gaps == 1, "the gap was counted");

	bench_run(&bench, 2, false);
	bench_run(&bench, 0.2, true);
	pbp_advice_totals(bench.run.advice[0], &totals);
	ok(totals.gaps == 2 && count_known(bench.run.advice[0], TODAY + 1) == 0, "a gap of some passes without a look is detected");
	bench_finish(&bench);
}

/*
 * In a small pool, whose sample is small, the first figures after a gap stand
 * on enough as well.  Of pages used alike, twice a pool, any size misses the
 * share that it has no room for.
 */
static void
learn_again(void)
{
	Bench		bench;
	double		worst = 0;
	int			nfigures = 0;

	bench_start(&bench, UNIFORM, 2048, 2048 * 20, 1.0 / 20);
	for (int i = 0; i < 30; i++)
	{
		bench_run(&bench, 8, true);
		pbp_advice_gap(bench.run.advice[0]);
		for (int step = 0; step < 60; step++)
		{
			bench_run(&bench, 0.1, true);
			for (int j = TODAY + 1; j < PBP_ADVICE_FACTORS; j++)
			{
				PbpAdviceRow row;

				pbp_advice_row(bench.run.advice[0], j, &row);
				if (row.reason != PBP_ADVICE_KNOWN)
					continue;
				nfigures++;
				worst = fmax(worst, fabs(row.miss_ratio - fmax(0, 1 - row.factor / 2)));
			}
		}
	}
	printf("# a small pool after gaps: within %.4f, %d figures\n", worst, nfigures);
	ok(worst <= 0.1 && nfigures > 1000, "a small pool after gaps: the first figures of larger sizes within 0.1");
	bench_finish(&bench);
}

/* A hand that makes several passes between two looks, after slower times. */
static void
outrun(void)
{
	Bench		bench;

	bench_learn(&bench, ZIPF, 9);
	for (int i = 0; i < 20; i++)
	{
		bench_run(&bench, 3, false);
		look_pool(&bench.run, 0, &bench.pool, &bench.watch);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_RARE_LOOKS),
	   "a hand that outruns the looks: nothing is known any more, with the reason");
	bench_run(&bench, 9, true);
	ok(count_known(bench.run.advice[0], 1) == 10, "and known again when it is slower");
	bench_finish(&bench);
}

/* The server does not count all reads. */
static void
count_less(void)
{
	Bench		bench;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	bench.run.uncounted = 0.6;
	bench_run(&bench, 12, true);
	ok(count_known(bench.run.advice[0], 0) == 1 && count_reason(bench.run.advice[0], 0, PBP_ADVICE_UNCOUNTED) == PBP_ADVICE_FACTORS - 1,
	   "where more than half of the reads are not counted, no other size is known, with the reason");
	bench.run.uncounted = 0.8;
	bench_run(&bench, 12, true);
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_UNCOUNTED),
	   "where most reads are not counted, neither is today's, with the reason");
	bench_finish(&bench);

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 100; i++)
	{
		bench_run(&bench, 0.1, false);
		look_only(&bench.run, 0, &bench.pool);
	}
	ok(all_unknown(bench.run.advice[0], 0, PBP_ADVICE_UNPUBLISHED),
	   "where no access is counted, nothing is known, with the reason");
	bench_finish(&bench);
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
	pbp_advice_row(bench.run.advice[0], TODAY, &row);
	ok(isnan(row.miss_ratio) && row.reason == PBP_ADVICE_UNCOUNTED, "a long transaction: until it publishes its reads, nothing is known");
	counts = count_accesses(&bench.run, &bench.pool, &bench.watch);
	pbp_advice_accesses(bench.run.advice[0], &counts);
	pbp_advice_row(bench.run.advice[0], TODAY, &row);
	pbp_advice_totals(bench.run.advice[0], &totals);
	before = (double) counts.reads / (double) (counts.reads + counts.hits);
	printf("# published late: %.4f, true %.4f, self error %+.3f\n", row.miss_ratio, before, totals.self_error);
	ok(fabs(row.miss_ratio - before) < 0.01 && fabs(totals.self_error) < 0.2, "and then the miss ratio is known, before the next look");
	look_only(&bench.run, 0, &bench.pool);
	pbp_advice_row(bench.run.advice[0], TODAY, &row);
	ok(fabs(row.miss_ratio - before) < 0.01, "and the same after it");
	ok(count_known(bench.run.advice[0], 1) >= 8, "with other sizes, to twice today's at least");
	bench_finish(&bench);
}

/* Accesses during a gap, whose loads no look has seen, must not dilute the figures. */
static void
count_before_gaps(void)
{
	Bench		bench;
	double		worst = 0;

	bench_learn(&bench, ZIPF, 9);
	for (int i = 0; i < 20; i++)
	{
		PbpAdviceCounts counts;

		bench_run(&bench, 3, false);
		counts = count_accesses(&bench.run, &bench.pool, &bench.watch);
		pbp_advice_accesses(bench.run.advice[0], &counts);
		look_only(&bench.run, 0, &bench.pool);
		bench.watch = (Watch) {bench.pool.ticks, bench.trace.count, bench.pool.hits, bench.pool.reads, 0};
		bench_run(&bench, 3, true);
	}
	bench.run.window_start = bench.trace.count / 2;
	bench.run.window_end = bench.trace.count;
	bench.run.move_at = INT64_MAX;
	for (int i = SMALLEST; i < TODAY + 1; i++)
	{
		PbpAdviceRow row;

		pbp_advice_row(bench.run.advice[0], i, &row);
		worst = fmax(worst, row.reason == PBP_ADVICE_KNOWN ?
					 fabs(row.miss_ratio - true_miss_ratio(&bench.run, row.factor)) : INFINITY);
	}
	printf("# gaps every six pools: smaller sizes within %.4f\n", worst);
	ok(worst <= 0.02, "gaps again and again: smaller sizes within 0.02");
	bench_finish(&bench);
}

/* Reads that no look sees.  If they cannot be large scans, nothing is known. */
static void
see_less(void)
{
	Bench		bench;

	for (int together = 0; together < 2; together++)
	{
		bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
		finish(&bench.run);
		bench.run.rings_together = together;
		start(&bench.run, 1, 8192 * 10, 1.0 / 20);
		bench.run.uncounted = -19;
		bench_run(&bench, 12, true);
		if (together)
			ok(count_known(bench.run.advice[0], 1) == 10 && count_reason(bench.run.advice[0], 1, PBP_ADVICE_UNSEEN) == 0,
			   "hardly any read is seen: known where these may be large scans");
		else
			ok(all_unknown(bench.run.advice[0], 1, PBP_ADVICE_UNSEEN),
			   "hardly any read is seen: nothing is known where large scans count apart, with the reason");
		bench_finish(&bench);
	}
}

/* Where large scans count as others, larger pools do not avoid their reads. */
static void
count_rings_as_others(void)
{
	Run			run = {.kind = FITS_TWICE, .nbuffers = 16384, .seed = 17, .looks_per_pass = 8, .rings_together = true};
	double		worst = 0;

	start(&run, 1, (size_t) run.nbuffers * 10, 1.0 / 20);
	run_today(&run);
	for (int i = TODAY; i < PBP_ADVICE_FACTORS; i++)
	{
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));
		PbpAdviceRow row;

		pbp_advice_row(run.advice[0], i, &row);
		printf("# %-10s %5.3f  true %.4f  predicted %.4f\n", "one count", row.factor, truth, row.miss_ratio);
		worst = fmax(worst, row.reason == PBP_ADVICE_KNOWN ? fabs(row.miss_ratio - truth) : INFINITY);
	}
	ok(worst <= 0.02, "large scans that count as other reads stay in larger pools");
	finish(&run);
}

/* New pages are loads that are no reads. */
static void
extend(void)
{
	Bench		bench;
	PbpAdviceTotals totals;
	int64_t		loads = 0;

	bench_start(&bench, NEW_PAGES, 8192, 8192 * 10, 1.0 / 20);
	for (int i = 0; i < 200; i++)
	{
		PbpAdviceCounts counts = {0};

		bench_run(&bench, 0.1, false);
		counts.hits = bench.pool.hits - bench.watch.hits;
		counts.extends = bench.pool.reads - loads;
		loads = bench.pool.reads;
		bench.watch.hits = bench.pool.hits;
		pbp_advice_accesses(bench.run.advice[0], &counts);
		look_only(&bench.run, 0, &bench.pool);
	}
	pbp_advice_totals(bench.run.advice[0], &totals);
	printf("# new pages: self error %+.3f\n", totals.self_error);
	ok(fabs(totals.self_error) < 0.1, "new pages are loads, as counted");
	ok(count_known(bench.run.advice[0], TODAY) >= 1, "and today's figure is known where hardly anything else happens");
	bench_finish(&bench);
}

static int	checks;

static void
count_check(void)
{
	checks++;
}

/* Interrupts are checked for in proportion to the pages. */
static void
interrupt(void)
{
	Bench		bench;
	int			n = 262144;
	int			while_looking;

	bench_start(&bench, UNIFORM, n, (size_t) n * 256, 0);
	bench_run(&bench, 2, true);
	pbp_advice_check_interrupts = count_check;
	look_pool(&bench.run, 0, &bench.pool, &bench.watch);
	while_looking = checks;
	pbp_advice_gap(bench.run.advice[0]);
	checks = 0;
	pbp_advice_begin(bench.run.advice[0], bench.pool.ticks);
	printf("# a sample of all %d pages: %d checks in a look, %d at the beginning of one after a gap\n", n, while_looking, checks);
	ok(while_looking >= 2, "interrupts are checked for while events are played");
	ok(checks >= n / 16384, "and while a gap is noted");
	pbp_advice_check_interrupts = NULL;
	bench_finish(&bench);
}

/* The past fades, in today's figures as in the others. */
static void
forget(void)
{
	Bench		bench;
	Pool		then;
	PbpAdviceRow row;
	double		truth;

	bench_learn(&bench, UNIFORM, 12);
	pbp_advice_row(bench.run.advice[0], TODAY, &row);
	printf("# before %.4f\n", row.miss_ratio);
	ok(fabs(row.miss_ratio - 0.5) < 0.01, "the miss ratio today is the measured one");
	bench.trace.kind = ZIPF;
	bench_run(&bench, 12, true);
	then = bench.pool;
	bench_run(&bench, 4, true);
	truth = (double) (bench.pool.reads - then.reads) /
		(double) (bench.pool.hits - then.hits + bench.pool.reads - then.reads);
	pbp_advice_row(bench.run.advice[0], TODAY, &row);
	printf("# after %.4f, true %.4f\n", row.miss_ratio, truth);
	ok(fabs(row.miss_ratio - truth) < 0.01, "and follows another workload");
	bench_finish(&bench);
}

/* The bands hold the pages that pools of these sizes hold. */
static void
look_at_bands(void)
{
	Bench		bench;
	Bench		twice;
	int			n = 16384;
	int			held = 0;
	int			agree = 0;
	int			sampled = 0;
	int			within[PBP_ADVICE_FACTORS] = {0};
	int			unsampled = 0;
	double		worst = 0;

	bench_start(&bench, ZIPF, n, (size_t) n * 10, 1.0 / 20);
	bench_start(&twice, ZIPF, n, (size_t) n * 10, 1.0 / 20);
	pool_free(&twice.pool);
	pool_init(&twice.pool, 2 * n, trace_pages(n));
	bench_run(&bench, 8, true);
	while (twice.trace.count < bench.trace.count)
	{
		bool		bulk;

		pool_access(&twice.pool, next_page(&twice.trace, &bulk), false);
	}
	for (int page = 0; page < trace_pages(n); page++)
	{
		uint64_t	key = key_of(page, sample_seed(0));
		int			band = pbp_advice_band(bench.run.advice[0], key);

		if (!pbp_advice_sampled(bench.run.advice[0], key))
		{
			unsampled += band != -1;
			continue;
		}
		sampled++;
		held += twice.pool.buffer[page] != NONE;
		agree += (twice.pool.buffer[page] != NONE) == (band >= 0 && pbp_advice_factor(band) <= 2);
		for (int i = band; band >= 0 && i < PBP_ADVICE_FACTORS; i++)
			within[i]++;
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		worst = fmax(worst, fabs(within[i] / (pbp_advice_factor(i) * n * pbp_advice_rate(bench.run.advice[0])) - 1));
	printf("# %d sampled pages, twice the pool holds %d, %d predicted right; sizes of bands off by %.3f\n",
		   sampled, held, agree, worst);
	ok(unsampled == 0, "pages that are not sampled are in no band");
	ok(agree > 0.9 * sampled, "the bands predict for nine in ten pages whether twice the pool would hold them");
	ok(worst < 0.15, "each size's bands hold about the pages of such a pool");
	bench_finish(&bench);
	bench_finish(&twice);
}

/* 2048 buffers, a thousandth of their memory; and not a byte more. */
static void
small_pool(void)
{
	Run			run = {.kind = ZIPF, .nbuffers = 2048, .seed = 5, .looks_per_pass = 8};
	size_t		bytes = 16384;
	size_t		behind = 4096;
	unsigned char *memory = malloc(bytes + behind);
	size_t		touched = 0;
	double		worst = 0;
	PbpAdviceTotals totals;

	memset(memory, 0xA5, bytes + behind);
	run.advice[0] = pbp_advice_init(memory, bytes, run.nbuffers, USAGE_MAX, 1.0 / 20, true);
	run_today(&run);
	for (size_t i = 0; i < behind; i++)
		touched += memory[bytes + i] != 0xA5;
	for (int i = SMALLEST; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;

		pbp_advice_row(run.advice[0], i, &row);
		worst = fmax(worst, row.reason == PBP_ADVICE_KNOWN ?
					 fabs(row.miss_ratio - true_miss_ratio(&run, row.factor)) : INFINITY);
	}
	pbp_advice_totals(run.advice[0], &totals);
	printf("# 2048 buffers: rate 1/%.1f, within %.4f\n", 1 / pbp_advice_rate(run.advice[0]), worst);
	ok(pbp_advice_rate(run.advice[0]) > 1.0 / 40, "2048 buffers, 16 kB: more than 1 in 40 pages");
	ok(worst < 0.05, "2048 buffers, 16 kB: within 0.05");
	ok(touched == 0, "nothing is written behind the given memory");
	ok(totals.dropped < totals.sampled_loads / 100, "and it is nearly always enough");
	free(memory);
}

static void
extremes(void)
{
	static uint64_t memory[4096];
	size_t		smallest = 0;
	PbpAdvice  *advice;
	PbpAdviceRow row;
	Bench		bench;

	while (smallest < sizeof(memory) && !pbp_advice_init(memory, smallest, 1000, USAGE_MAX, 0, true))
		smallest++;
	ok(smallest > 0 && smallest < 4096, "too little memory is refused");

	/* a pool of one buffer, whose page is not sampled */
	advice = pbp_advice_init(memory, sizeof(memory), 1, USAGE_MAX, 1.0 / 20, true);
	for (int i = 0; i < 100; i++)
	{
		pbp_advice_accesses(advice, &(PbpAdviceCounts) {.hits = 10, .reads = 1});
		pbp_advice_begin(advice, i);
		pbp_advice_end(advice, i);
	}
	pbp_advice_row(advice, TODAY, &row);
	ok(fabs(row.miss_ratio - 1.0 / 11) < 1e-9, "nothing sampled: today's figure is known");
	ok(all_unknown(advice, TODAY + 1, PBP_ADVICE_LITTLE_EVIDENCE), "nothing sampled: and no other");

	/* every page of a small pool */
	bench_start(&bench, ZIPF, 64, 1 << 16, 0);
	bench_run(&bench, 100, true);
	ok(pbp_advice_rate(bench.run.advice[0]) == 1, "with memory for all, all pages are sampled");
	ok(count_known(bench.run.advice[0], TODAY) == 6, "and the figures known");
	bench_finish(&bench);
}

static void
repeat(void)
{
	size_t		bytes = 4096 * 10;
	Bench		one;
	Bench		other;
	int			different = 0;

	bench_start(&one, PGBENCH, 4096, bytes, 1.0 / 20);
	bench_start(&other, PGBENCH, 4096, bytes, 1.0 / 20);
	bench_run(&one, 5, true);
	bench_run(&other, 5, true);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;
		PbpAdviceRow again;

		pbp_advice_row(one.run.advice[0], i, &row);
		pbp_advice_row(other.run.advice[0], i, &again);
		different += memcmp(&row.miss_ratio, &again.miss_ratio, sizeof(double)) != 0;
	}
	ok(different == 0, "the same run says the same");
	bench_finish(&one);
	bench_finish(&other);
}

int
main(void)
{
	for (int kind = 0; kind < KINDS; kind++)
		compare_trace((Kind) kind, 32768, 8, SMALLEST);
	compare_trace(UNIFORM, 16384, 4, SMALLEST);
	compare_trace(RING_LOOKS, 16384, 4, SMALLEST);
	compare_trace(PGBENCH, 16384, 4, SMALLEST);
	printf("# %d of %d errors are within the uncertainty\n", covered, nknown);
	ok(covered >= 0.9 * nknown, "nine in ten errors are within the uncertainty");
	look_rarely();
	look_a_slow_hand();
	all_fits();
	lose_knowledge();
	learn_again();
	outrun();
	count_less();
	publish_late();
	count_before_gaps();
	see_less();
	count_rings_as_others();
	extend();
	interrupt();
	forget();
	look_at_bands();
	small_pool();
	extremes();
	repeat();
	printf("1..%d\n", tests);
	return 0;
}

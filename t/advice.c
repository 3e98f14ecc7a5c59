/*
 * advice.c
 *	  Compares what src/advice.c says of other sizes with pools of those sizes.
 *
 * A model of the server's buffer pool runs a trace; scans of it feed the
 * advice, as the sampler would.  Then pools of the other sizes run the same
 * trace.  Prints TAP; t/advice.pl compiles it with src/advice.c alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/advice.h"

#define USAGE_MAX	5
#define RING		32
#define NONE		(-1)

static int	tests;

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
	uint64_t	x = random->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	random->state = x;
	return x * UINT64_C(0x2545F4914F6CDD1D);
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

/* What the sampler would make of a tag. */
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
	SCANS,						/* of small tables, through the pool */
	RING_SCANS,					/* of large ones, through a ring */
	MOVING,
	PGBENCH,
	KINDS
} Kind;

static const char *const kind_names[KINDS] = {
	"uniform", "zipf", "two sets", "scans", "ring scans", "moving", "pgbench"
};

typedef struct Trace
{
	Kind		kind;
	int			nbuffers;		/* of today's pool */
	Random		random;
	int64_t		count;
	int64_t		move_at;		/* the working set moves, or never */
	int			scanned;
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
		case SCANS:
			/* five tables of a fifth of the pool, one after the other */
			if (below(random, 100) < 15)
				return trace->scanned++ % n;
			return n + zipf(random, 6 * n);
		case RING_SCANS:
			if (below(random, 100) < 30)
			{
				*bulk = true;
				return trace->scanned++ % (4 * n);
			}
			return 2 * n + zipf(random, 6 * n);
		case MOVING:
			return (count < trace->move_at ? 0 : 6 * n) + zipf(random, 6 * n);
		default:
			return pgbench_page(trace);
	}
}

/* ----------------------------------------------------------------
 *		The comparison
 * ----------------------------------------------------------------
 */

typedef struct Run
{
	Kind		kind;
	int			nbuffers;
	uint64_t	seed;
	double		rate;
	int			scans_per_turn;
	PbpAdvice  *advice;
	size_t		bytes;
	int64_t		window_start;	/* in accesses */
	int64_t		window_end;
	int64_t		move_at;
} Run;

#define SETTLE_POOLS	7		/* pools' worth of reads before the window */
#define WINDOW_POOLS	8
#define IDLE_POOLS		20		/* of accesses, to a scan while nothing moves */

static void
scan_pool(Pool *pool, PbpAdvice *advice, uint64_t seed, int64_t *hits, int64_t *reads)
{
	pbp_advice_begin(advice, pool->ticks);
	for (int i = 0; i < pool->used; i++)
	{
		uint64_t	key = key_of(pool->page[i], seed);

		if (pbp_advice_sampled(advice, key))
			pbp_advice_page(advice, key, i, pool->usage[i], USAGE_MAX);
	}
	pbp_advice_end(advice, pool->ticks, pool->hits - *hits, pool->reads - *reads);
	*hits = pool->hits;
	*reads = pool->reads;
}

/* Today's pool, scanned all along; finds the window, too. */
static void
run_today(Run *run)
{
	Pool		pool;
	Trace		trace;
	int64_t		scanned_ticks = 0;
	int64_t		scanned_count = 0;
	int64_t		hits = 0;
	int64_t		reads = 0;
	int64_t		moved = 0;

	pool_init(&pool, run->nbuffers, trace_pages(run->nbuffers));
	trace_init(&trace, run->kind, run->nbuffers, run->seed, INT64_MAX);
	run->window_start = run->window_end = 0;
	run->move_at = INT64_MAX;
	while (run->window_end == 0)
	{
		bool		bulk;
		int			page = next_page(&trace, &bulk);

		pool_access(&pool, page, bulk);
		if (pool.ticks - scanned_ticks >= run->nbuffers / run->scans_per_turn ||
			trace.count - scanned_count >= (int64_t) IDLE_POOLS * run->nbuffers)
		{
			scan_pool(&pool, run->advice, run->seed, &hits, &reads);
			scanned_ticks = pool.ticks;
			scanned_count = trace.count;
		}
		if (run->kind == MOVING && moved == 0 && pool.reads >= (int64_t) SETTLE_POOLS * run->nbuffers)
		{
			moved = pool.reads;
			trace.move_at = run->move_at = trace.count;
		}
		if (run->kind == MOVING && moved == 0)
			continue;
		if (run->window_start == 0 && pool.reads - moved >= (int64_t) (moved ? 12 : SETTLE_POOLS) * run->nbuffers)
			run->window_start = trace.count;
		if (pool.reads - moved >= (int64_t) ((moved ? 12 : SETTLE_POOLS) + WINDOW_POOLS) * run->nbuffers)
			run->window_end = trace.count;
	}
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
		}
	}
	ratio = (double) (pool.reads - reads) / (double) (pool.hits - hits + pool.reads - reads);
	pool_free(&pool);
	return ratio;
}

static void
compare(Kind kind, int nbuffers, uint64_t seed, int scans_per_turn)
{
	Run			run = {.kind = kind, .nbuffers = nbuffers, .seed = seed, .scans_per_turn = scans_per_turn};
	PbpAdviceTotals totals;
	void	   *memory;

	run.bytes = (size_t) nbuffers * 9 + 3000;
	memory = malloc(run.bytes);
	run.advice = pbp_advice_init(memory, run.bytes, nbuffers, 1.0 / 20);
	run_today(&run);
	pbp_advice_totals(run.advice, &totals);
	printf("# %s seed %d rate 1/%.2f scans a turn %.1f, self error %.3f, dropped %d, scans %d accesses %.1f pools\n", kind_names[kind], (int) seed,
		   1 / pbp_advice_rate(run.advice), totals.scans_per_turn, totals.self_error, (int) totals.dropped, (int) totals.scans, run.window_end / (double) nbuffers);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;
		double		truth = true_miss_ratio(&run, pbp_advice_factor(i));

		pbp_advice_row(run.advice, i, &row);
		printf("#  %5.3f  true %.4f  said %.4f  error %+.4f  uncertainty %.4f reason %d %s\n", row.factor, truth, row.miss_ratio,
			   row.miss_ratio - truth, row.uncertainty, row.reason, fabs(row.miss_ratio - truth) > (row.factor<1?0.02:0.01)?"!!!":"");
	}
	free(memory);
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 16384;
	int spt = argc > 2 ? atoi(argv[2]) : 4;
	int seeds = argc > 3 ? atoi(argv[3]) : 1;
	for (int s = 1; s <= seeds; s++)
	for (int k = 0; k < KINDS; k++) if (argc <= 4 || atoi(argv[4]) == k)
		compare((Kind) k, n, (uint64_t) s, spt);
	ok(true, "x");
	printf("1..%d\n", tests);
	return 0;
}

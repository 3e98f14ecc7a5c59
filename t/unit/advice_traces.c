/*
 * advice_traces.c
 *	  Loads of a bench: traces of pages that are asked of a pool.
 */
#include <math.h>
#include <string.h>

#include "advice_model.h"

#define SLOW_TURN	(20 * NIGHT_PACE)	/* accesses */
#define FAST_TURN	(NIGHT_PACE / 2)

/* The sampler's hash of a tag. */
uint64_t
key_of(int page, uint64_t seed)
{
	uint64_t	x = (uint64_t) page + seed * UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

const char *const kind_names[KINDS] = {
	"uniform", "zipf", "two sets", "scans", "ring scans", "moving", "pgbench"
};

int
trace_pages(int nbuffers)
{
	return 12 * nbuffers;
}

void
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

/* A table of 1.5 pools in a burst, every 20 pools' worth of accesses. */
static int
scan_at_times(Trace *trace)
{
	int			n = trace->nbuffers;
	Random	   *random = &trace->random;

	if (trace->count % (20 * (int64_t) n) == 1)
		trace->scanned = 3 * n / 2;
	if (trace->scanned > 0 && below(random, 2) == 0)
		return 8 * n + --trace->scanned;
	return below(random, 10) > 0 ? below(random, n / 2) : n + below(random, 4 * n);
}

static int
take_turns(Trace *trace, int accesses)
{
	int			set = 17 * (trace->nbuffers / 20);

	return (int) (trace->count / accesses % 2) * set + below(&trace->random, set);
}

/* At night, one in 20 accesses is to any page; by day, one in 500. */
static int
by_night_and_day(Trace *trace)
{
	int			n = trace->nbuffers;
	int			others = trace->count < NIGHT ? 20 : 500;

	return below(&trace->random, others) == 0 ? n + below(&trace->random, 6 * n) : below(&trace->random, n / 2);
}

int
next_page(Trace *trace, bool *bulk)
{
	Random	   *random = &trace->random;
	int			n = trace->nbuffers;
	int64_t		count = trace->count++;

	*bulk = false;
	if (trace->timed)
		trace->seconds += 1.0 / (trace->kind == NIGHT_AND_DAY && trace->count >= NIGHT ? DAY_PACE : NIGHT_PACE);
	switch (trace->kind)
	{
		case UNIFORM:
			return below(random, 2 * n);
		case WIDE:
			return below(random, 6 * n);
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
		case NEARLY_FITS:
			if (below(random, 100) > 0)
				return below(random, n * 17 / 20);
			return n + below(random, 8 * n);
		case NEW_PAGES:
			if (below(random, 100) < 30)
				return n + trace->scanned++ % (11 * n);
			return below(random, n / 4);
		case LOOP:
			return (int) (trace->count % (13 * (int64_t) n / 10));
		case SLOW_TURNS:
			return take_turns(trace, SLOW_TURN);
		case FAST_TURNS:
			return take_turns(trace, FAST_TURN);
		case NIGHT_AND_DAY:
			return by_night_and_day(trace);
		case PERIODIC_SCAN:
			return scan_at_times(trace);
		default:
			return pgbench_page(trace);
	}
}

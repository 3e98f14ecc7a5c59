/*
 * advice_pool.c
 *	  The server's buffer pool, and traces of pages that are asked of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advice_model.h"

/* The sampler's hash of a tag. */
uint64_t
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

void
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

void
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
void
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

int
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
		case NEARLY_FITS:
			if (below(random, 100) > 0)
				return below(random, n * 17 / 20);
			return n + below(random, 8 * n);
		case NEW_PAGES:
			if (below(random, 100) < 30)
				return n + trace->scanned++ % (11 * n);
			return below(random, n / 4);
		default:
			return pgbench_page(trace);
	}
}

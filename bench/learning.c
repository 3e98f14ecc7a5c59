/*
 * learning.c
 *	  What the advice takes for each page of its sample.
 *
 * A pool is simulated between the looks.  Only calls of the advice are timed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/advice_relations.h"
#include "../src/latency.h"

#define LOOKS			200
#define WARM_UP			100		/* of them, not timed */
#define LOOKS_PER_PASS	10
#define LOOKS_PER_SECOND	2
#define USAGE_MAX		5
#define PAGES_PER_BUFFER	6
#define CACHE_BYTES		((size_t) 64 * 1024 * 1024)
#define STORAGE_BYTES	((size_t) 4 * 1024 * 1024)
#define NONE			(-1)
#define RELATIONS		40

typedef struct Pool
{
	int			nbuffers;
	int			hand;
	int64_t		ticks;
	int64_t		hits;
	int64_t		reads;
	int		   *page;			/* of each buffer */
	int		   *usage;			/* of each buffer */
	int		   *buffer;			/* of each page, or NONE */
} Pool;

/* What a look finds of a page. */
typedef struct Observation
{
	uint64_t	key;
	int			page;
	int			buffer;
	int			usage;
} Observation;

typedef struct Times
{
	double		observe_ns[LOOKS];	/* for each page */
	double		end_ns[LOOKS];
	int			nlooks;
} Times;

static uint64_t
mixed(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static uint64_t
key_of(int page)
{
	return mixed(((uint64_t) page + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

/* The page of rank r has a probability of nearly 1 / r. */
static int
zipf_page(int npages)
{
	static uint64_t count = 0;
	double		share = (double) (mixed(++count * UINT64_C(0x9E3779B97F4A7C15)) >> 11) / 9007199254740992.0;
	uint64_t	rank = (uint64_t) exp(share * log(npages)) - 1;

	return (int) (rank * 2654435761u % (unsigned) npages);
}

static void
pool_init(Pool *pool, int nbuffers)
{
	int			npages = PAGES_PER_BUFFER * nbuffers;

	*pool = (Pool) {.nbuffers = nbuffers, .ticks = nbuffers};
	pool->page = malloc(sizeof(int) * (size_t) nbuffers);
	pool->usage = calloc((size_t) nbuffers, sizeof(int));
	pool->buffer = malloc(sizeof(int) * (size_t) npages);
	for (int i = 0; i < npages; i++)
		pool->buffer[i] = i < nbuffers ? i : NONE;
	for (int i = 0; i < nbuffers; i++)
		pool->page[i] = i;
}

static void
pool_access(Pool *pool, int page)
{
	int			buffer = pool->buffer[page];

	if (buffer != NONE)
	{
		pool->hits++;
		pool->usage[buffer] += pool->usage[buffer] < USAGE_MAX;
		return;
	}
	pool->reads++;
	do
	{
		buffer = pool->hand;
		pool->hand = (buffer + 1) % pool->nbuffers;
		pool->ticks++;
	} while (pool->usage[buffer]-- > 0);
	pool->buffer[pool->page[buffer]] = NONE;
	pool->page[buffer] = page;
	pool->usage[buffer] = 1;
	pool->buffer[page] = buffer;
}

static void
look(PbpAdvice *advice, int64_t ticks, const Observation *sample, int nsampled, Times *times)
{
	static int64_t nlooks = 0;
	int64_t		start = pbp_now_ns();
	int64_t		observed;

	pbp_advice_look_time(advice, nlooks++ / LOOKS_PER_SECOND);
	pbp_advice_begin(advice, ticks);
	for (int i = 0; i < nsampled; i++)
	{
		pbp_advice_observe(advice, sample[i].key, sample[i].buffer, sample[i].usage, false);
		if (advice->wants_relation)
			pbp_advice_set_relation(advice, &(PbpRelationKey) {.relfilenode = (uint32_t) sample[i].page % RELATIONS});
	}
	observed = pbp_now_ns();
	pbp_advice_end(advice, ticks);
	times->observe_ns[times->nlooks] = (double) (observed - start) / nsampled;
	times->end_ns[times->nlooks++] = (double) (pbp_now_ns() - observed) / nsampled;
}

/* Runs the pool for one look's share of a pass, then looks it. */
static int
run(PbpAdvice *advice, Pool *pool, Observation *sample, Times *times)
{
	static char cache[CACHE_BYTES];
	int64_t		until = pool->ticks + pool->nbuffers / LOOKS_PER_PASS;
	PbpAdviceCounts counts = {.hits = -pool->hits, .reads = -pool->reads};
	int			nsampled = 0;

	while (pool->ticks < until)
		pool_access(pool, zipf_page(PAGES_PER_BUFFER * pool->nbuffers));
	counts.hits += pool->hits;
	counts.reads += pool->reads;
	pbp_advice_accesses(advice, &counts);
	memset(cache, (int) pool->ticks, sizeof(cache));
	for (int i = 0; i < pool->nbuffers; i++)
	{
		uint64_t	key = key_of(pool->page[i]);

		if (pbp_advice_sampled(advice, key))
			sample[nsampled++] = (Observation) {key, pool->page[i], i, pool->usage[i]};
	}
	look(advice, pool->ticks, sample, nsampled, times);
	return nsampled;
}

static int
compare(const void *a, const void *b)
{
	double		one = *(const double *) a;
	double		other = *(const double *) b;

	return (one > other) - (one < other);
}

static double
median(double *values, int nvalues)
{
	qsort(values, (size_t) nvalues, sizeof(double), compare);
	return values[nvalues / 2];
}

int
main(int argc, char **argv)
{
	int			nbuffers = argc > 1 ? atoi(argv[1]) : 0;
	double		rate = argc > 2 ? atof(argv[2]) : 0;
	int64_t		os_cache = argc > 3 ? atoll(argv[3]) : 0;
	size_t		bytes = 1024 * 1024 + (size_t) nbuffers * 300;
	PbpAdvice  *advice = pbp_advice_init(malloc(bytes), bytes, nbuffers, USAGE_MAX, rate, true);
	static Times times;
	Observation *sample = malloc(sizeof(Observation) * (size_t) nbuffers);
	Pool		pool;
	int			nsampled = 0;

	if (advice == NULL || sample == NULL ||
		!pbp_advice_watch_relations(advice, malloc(bytes / 5), bytes / 5))
		return 1;
	if (os_cache > 0)
	{
		pbp_advice_init_storage(advice, malloc(STORAGE_BYTES), STORAGE_BYTES, 8192);
		pbp_advice_set_os_cache(advice, os_cache);
	}
	pool_init(&pool, nbuffers);
	for (int i = 0; i < LOOKS; i++)
	{
		if (i == WARM_UP)
			times.nlooks = 0;
		nsampled = run(advice, &pool, sample, &times);
	}
	printf("%d buffers, %d pages in the sample; medians of %d looks, for each page:\n", nbuffers, nsampled, times.nlooks);
	printf("%8.1f ns to observe it\n", median(times.observe_ns, times.nlooks));
	printf("%8.1f ns to replay its events\n", median(times.end_ns, times.nlooks));
	return 0;
}

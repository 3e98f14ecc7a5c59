/*
 * terabyte.c
 *	  What looks at a pool of any size take, and how true the advice is there.
 *
 * A clock sweep over a synthetic array of descriptors runs a Zipf workload.
 * look.c and the advice learn from it as they do in the server; only their
 * processor time is measured.  The truth at other sizes is that of exact clock
 * sweeps over one page in SHARE.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/advice.h"
#include "../src/look.h"

#define USAGE_MAX		5
#define PAGES_PER_BUFFER	6
#define SHARE			64
#define LOOKS_PER_PASS	40
#define WHOLE_LOOKS_PER_PASS	10
#define IN_FLIGHT		64		/* victims whose page is being read */
#define NONE			UINT32_MAX

/* As large as the server's. */
typedef struct Descriptor
{
	uint32_t	page;
	uint8_t		usage;
	uint8_t		pinned;
	char		other[58];
} Descriptor;

typedef struct Pool
{
	uint32_t	nbuffers;
	uint32_t	hand;
	int64_t		ticks;
	int64_t		hits;
	int64_t		reads;
	Descriptor *descriptors;
	uint32_t   *buffer_of;		/* of each page, or NONE */
	uint32_t	flying_buffer[IN_FLIGHT];
	uint32_t	flying_page[IN_FLIGHT];
	uint32_t	nflights;
} Pool;

typedef struct Worker
{
	Pool	   *pool;
	PbpAdvice  *advice;
	PbpLook		look;
	int64_t		cpu_ns;
	int64_t		nlooks;
	int64_t		nwhole;
	int64_t		nread;
} Worker;

static uint64_t
mixed(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static inline uint64_t
key_of(uint32_t page)
{
	return mixed(((uint64_t) page + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

static double
next_share(void)
{
	static uint64_t count = 0;

	return (double) (mixed(++count * UINT64_C(0x9E3779B97F4A7C15)) >> 11) / 9007199254740992.0;
}

/* The page of rank r has a probability of nearly 1 / r; ranks are spread. */
static uint32_t
zipf_page(uint32_t npages)
{
	uint64_t	rank = (uint64_t) exp(next_share() * log((double) npages + 1)) - 1;

	return (uint32_t) (rank * 2654435761u % npages);
}

static void *
allocate(size_t n, size_t bytes)
{
	void	   *memory = malloc(n * bytes);

	if (memory == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memory;
}

static void
pool_init(Pool *pool, uint32_t nbuffers, uint32_t npages)
{
	memset(pool, 0, sizeof(*pool));
	pool->nbuffers = nbuffers;
	pool->ticks = nbuffers;
	pool->descriptors = allocate(nbuffers, sizeof(Descriptor));
	pool->buffer_of = allocate(npages, sizeof(uint32_t));
	memset(pool->buffer_of, 0xff, npages * sizeof(uint32_t));
	for (uint32_t i = 0; i < nbuffers; i++)
		pool->descriptors[i] = (Descriptor) {.page = NONE};
}

/* The oldest read ends: its page replaces the old one. */
static void
land(Pool *pool)
{
	uint32_t	i = pool->nflights % IN_FLIGHT;
	Descriptor *descriptor = &pool->descriptors[pool->flying_buffer[i]];

	if (descriptor->page != NONE)
		pool->buffer_of[descriptor->page] = NONE;
	descriptor->page = pool->flying_page[i];
	descriptor->usage = 1;
	descriptor->pinned = 0;
	pool->buffer_of[descriptor->page] = pool->flying_buffer[i];
}

static void
pool_access(Pool *pool, uint32_t page, bool delay)
{
	uint32_t	buffer = pool->buffer_of[page];
	Descriptor *descriptor;

	if (buffer != NONE)
	{
		pool->hits++;
		pool->descriptors[buffer].usage += pool->descriptors[buffer].usage < USAGE_MAX;
		return;
	}
	if (delay)
		for (uint32_t i = 0; i < IN_FLIGHT; i++)
			if (pool->flying_page[i] == page && pool->nflights >= IN_FLIGHT)
			{
				pool->hits++;	/* another session is reading it */
				return;
			}
	pool->reads++;
	for (;;)
	{
		buffer = pool->hand;
		descriptor = &pool->descriptors[buffer];
		pool->hand = buffer + 1 < pool->nbuffers ? buffer + 1 : 0;
		pool->ticks++;
		if (descriptor->pinned)
			continue;
		if (descriptor->usage == 0)
			break;
		descriptor->usage--;
	}
	if (delay && pool->nflights >= IN_FLIGHT)
		land(pool);
	descriptor->pinned = 1;
	pool->flying_buffer[pool->nflights % IN_FLIGHT] = buffer;
	pool->flying_page[pool->nflights % IN_FLIGHT] = page;
	if (delay)
		pool->nflights++;
	else
		land(pool);
}

/* ---- the worker ---- */

static void
read_buffer(Worker *worker, uint32_t buffer)
{
	const Descriptor *descriptor = &worker->pool->descriptors[buffer];

	if (descriptor->page != NONE && !(descriptor->pinned && descriptor->usage == 0))
	{
		uint64_t	key = key_of(descriptor->page);

		if (pbp_advice_sampled(worker->advice, key))
		{
			pbp_look_page(&worker->look, key, (int) buffer, descriptor->usage);
			return;
		}
	}
	if (descriptor->pinned)
		pbp_look_pinned(&worker->look, (int) buffer);
}

static void
read_range(void *arg, int first, int end)
{
	Worker	   *worker = arg;

	worker->nread += end - first;
	for (int i = first; i < end; i++)
		read_buffer(worker, (uint32_t) i);
}

static void
read_buffers(void *arg, const int *buffers, int nbuffers)
{
	Worker	   *worker = arg;

	worker->nread += nbuffers;
	for (int i = 0; i < nbuffers; i++)
	{
		if (i + 16 < nbuffers)
			__builtin_prefetch(&worker->pool->descriptors[buffers[i + 16]]);
		read_buffer(worker, (uint32_t) buffers[i]);
	}
}

static int64_t
cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
look(Worker *worker, PbpAdviceCounts *counts)
{
	int64_t		start = cpu_now_ns();

	pbp_advice_accesses(worker->advice, counts);
	pbp_look_begin(&worker->look, worker->pool->ticks);
	worker->nwhole += worker->look.whole;
	pbp_look_end(&worker->look, worker->pool->ticks);
	worker->nlooks++;
	worker->cpu_ns += cpu_now_ns() - start;
	memset(counts, 0, sizeof(*counts));
}

/* ---- the truth ---- */

/* Misses of the sampled pages, as a share of all accesses. */
static double
true_miss_ratio(const Pool *pool, int64_t reads, int64_t accesses)
{
	return (double) SHARE * (double) (pool->reads - reads) / (double) accesses;
}

int
main(int argc, char **argv)
{
	uint32_t	nbuffers = (uint32_t) strtoul(argv[1], NULL, 10);
	double		passes = atof(argv[2]);
	int			looks_per_pass = argc > 3 ? atoi(argv[3]) : LOOKS_PER_PASS;
	bool		always_whole = argc > 4 && strcmp(argv[4], "whole") == 0;
	uint32_t	npages = nbuffers * PAGES_PER_BUFFER;
	size_t		bytes = (size_t) nbuffers * 8192 / 1000;
	Pool		pool;
	Pool		truth[PBP_ADVICE_FACTORS];
	int64_t		true_reads[PBP_ADVICE_FACTORS];
	Worker		worker = {.pool = &pool};
	PbpLookReader reader = {&worker, read_range, read_buffers};
	PbpAdviceCounts counts = {0};
	PbpAdviceTotals totals;
	int64_t		next_look;
	int64_t		hits = 0;
	int64_t		reads = 0;
	int64_t		start_ticks;
	int64_t		half_ticks = 0;
	int64_t		half_reads = 0;
	int64_t		half_hits = 0;
	int64_t		half_cpu = 0;
	int64_t		half_looks = 0;

	if (bytes > 4 * 1024 * 1024)
		bytes = 4 * 1024 * 1024;
	pool_init(&pool, nbuffers, npages);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		pool_init(&truth[i], (uint32_t) (pbp_advice_factor(i) * nbuffers / SHARE), npages / SHARE);
	worker.advice = pbp_advice_init(malloc(bytes), bytes, (int) nbuffers, USAGE_MAX, 4000.0 / nbuffers, true);
	pbp_look_init(&worker.look, worker.advice, (int) nbuffers, &reader);

	/* fill the pools with the most popular pages, the least popular first */
	for (int64_t rank = (int64_t) npages - 1; rank >= 0; rank--)
	{
		uint32_t	page = (uint32_t) ((uint64_t) rank * 2654435761u % npages);

		if (rank < (int64_t) nbuffers)
			pool_access(&pool, page, false);
		if (page % SHARE == 0)
			for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
				pool_access(&truth[i], page / SHARE, false);
	}
	start_ticks = pool.ticks;
	next_look = pool.ticks;
	for (bool half = false; pool.ticks - start_ticks < passes * nbuffers;)
	{
		uint32_t	page = zipf_page(npages);

		pool_access(&pool, page, true);
		if (page % SHARE == 0)
			for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
				pool_access(&truth[i], page / SHARE, false);
		if (pool.ticks >= next_look)
		{
			if (always_whole)
				pbp_look_is_incomplete(&worker.look);
			counts.hits = pool.hits - hits;
			counts.reads = pool.reads - reads;
			hits = pool.hits;
			reads = pool.reads;
			look(&worker, &counts);
			next_look = pool.ticks + nbuffers / looks_per_pass;
		}
		if (!half && pool.ticks - start_ticks > passes * nbuffers / 2)
		{
			half = true;
			half_ticks = pool.ticks;
			half_reads = pool.reads;
			half_hits = pool.hits;
			half_cpu = worker.cpu_ns;
			half_looks = worker.nlooks;
			worker.nread = 0;
			for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
				true_reads[i] = truth[i].reads;
		}
	}
	pbp_advice_totals(worker.advice, &totals);
	printf("%u buffers, %.1f passes: %.1f looks a pass, %.2f ms of processor a pass, %.2f ms per million reads, %.2f buffers read per tick\n",
		   nbuffers, (double) (pool.ticks - start_ticks) / nbuffers,
		   (double) (worker.nlooks - half_looks) * nbuffers / (double) (pool.ticks - half_ticks),
		   (double) (worker.cpu_ns - half_cpu) / 1e6 * nbuffers / (double) (pool.ticks - half_ticks),
		   (double) (worker.cpu_ns - half_cpu) / (double) (pool.reads - half_reads),
		   (double) worker.nread / (double) (pool.ticks - half_ticks));
	printf("loads seen %.4f of the reads, missed by checks %.5f, gaps %lld, whole looks %lld\n",
		   totals.self_error + 1, pbp_look_missed_share(&worker.look), (long long) totals.gaps, (long long) worker.nwhole);
	printf("%8s %10s %10s %9s\n", "factor", "predicted", "true", "error");
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;
		double		is = true_miss_ratio(&truth[i], true_reads[i], pool.reads - half_reads + pool.hits - half_hits);

		pbp_advice_row(worker.advice, i, &row);
		printf("%8g %10.4f %10.4f %9.4f  %d\n", row.factor, row.miss_ratio, is, row.miss_ratio - is, row.reason);
	}
	printf("pool itself %.4f\n", (double) (pool.reads - half_reads) / (double) (pool.reads - half_reads + pool.hits - half_hits));
	return 0;
}

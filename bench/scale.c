/*
 * scale.c
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

#include "simulator/simulator.h"
#include "statistics/figures.h"
#include "simulator/look.h"
#include "base/latency.h"

#define USAGE_MAX		5
#define PAGES_PER_BUFFER	6
#define SHARE			64
#define LOOKS_PER_PASS	40
#define ENOUGH_PAGES	4000.0
#define ADVICE_BYTES	(4 * 1024 * 1024)
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

typedef struct Sampler
{
	Pool	   *pool;
	PbpAdvice  *advice;
	PbpLook		look;
	int64_t		cpu_ns;
	int64_t		nlooks;
	int64_t		nread;
} Sampler;

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

/* Neighbors in popularity are spread. */
static uint32_t
page_of_rank(uint64_t rank, uint32_t npages)
{
	return (uint32_t) (rank * 2654435761u % npages);
}

/* The page of rank r has a probability of nearly 1 / r. */
static uint32_t
zipf_page(uint32_t npages)
{
	return page_of_rank((uint64_t) exp(next_share() * log((double) npages + 1)) - 1, npages);
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

/* ---- the sampler ---- */

static void
read_buffer(Sampler *sampler, uint32_t buffer)
{
	const Descriptor *descriptor = &sampler->pool->descriptors[buffer];

	if (descriptor->page != NONE && !(descriptor->pinned && descriptor->usage == 0))
	{
		uint64_t	key = key_of(descriptor->page);

		if (pbp_advice_sampled(sampler->advice, key))
		{
			pbp_look_page(&sampler->look, key, (int) buffer, descriptor->usage, false, false);
			return;
		}
	}
	if (descriptor->pinned)
		pbp_look_pinned(&sampler->look, (int) buffer);
}

static void
read_range(void *arg, int first, int end)
{
	Sampler	   *sampler = arg;

	sampler->nread += end - first;
	for (int i = first; i < end; i++)
		read_buffer(sampler, (uint32_t) i);
}

static void
read_buffers(void *arg, const int *buffers, int nbuffers)
{
	Sampler	   *sampler = arg;

	sampler->nread += nbuffers;
	for (int i = 0; i < nbuffers; i++)
	{
		if (i + 16 < nbuffers)
			__builtin_prefetch(&sampler->pool->descriptors[buffers[i + 16]]);
		read_buffer(sampler, (uint32_t) buffers[i]);
	}
}

static void
look(Sampler *sampler, const PbpAdviceCounts *counts)
{
	int64_t		start = pbp_cpu_now_ns();

	pbp_advice_accesses(sampler->advice, counts);
	pbp_look_begin(&sampler->look, sampler->pool->ticks);
	pbp_look_end(&sampler->look, sampler->pool->ticks);
	sampler->nlooks++;
	sampler->cpu_ns += pbp_cpu_now_ns() - start;
}

/* ---- measuring ---- */

/* All at one time. */
typedef struct Figures
{
	int64_t		ticks;
	int64_t		hits;
	int64_t		reads;
	int64_t		cpu_ns;
	int64_t		nlooks;
	int64_t		nread;
	int64_t		true_reads[PBP_ADVICE_FACTORS];
} Figures;

static Figures
take_figures(const Sampler *sampler, const Pool *truth)
{
	const Pool *pool = sampler->pool;
	Figures		figures = {
		.ticks = pool->ticks,.hits = pool->hits,.reads = pool->reads,
		.cpu_ns = sampler->cpu_ns,.nlooks = sampler->nlooks,.nread = sampler->nread
	};

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		figures.true_reads[i] = truth[i].reads;
	return figures;
}

static void
access_truth(Pool *truth, uint32_t page)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS && page % SHARE == 0; i++)
		pool_access(&truth[i], page / SHARE, false);
}

/* Fills the pools, the most popular pages last. */
static void
fill(Pool *pool, Pool *truth, uint32_t npages)
{
	for (uint64_t rank = npages; rank-- > 0;)
	{
		uint32_t	page = page_of_rank(rank, npages);

		if (rank < pool->nbuffers)
			pool_access(pool, page, false);
		access_truth(truth, page);
	}
}

static void
run(Sampler *sampler, Pool *truth, uint32_t npages, double passes, int looks_per_pass, bool whole)
{
	Pool	   *pool = sampler->pool;
	int64_t		end = pool->ticks + (int64_t) (passes * pool->nbuffers);
	int64_t		next_look = pool->ticks;
	Figures		before = take_figures(sampler, truth);

	while (pool->ticks < end)
	{
		uint32_t	page = zipf_page(npages);

		pool_access(pool, page, true);
		access_truth(truth, page);
		if (pool->ticks < next_look)
			continue;
		if (whole)
			pbp_look_is_incomplete(&sampler->look);
		look(sampler, &(PbpAdviceCounts) {.accesses = pool->hits - before.hits + pool->reads - before.reads,.reads = pool->reads - before.reads});
		before.hits = pool->hits;
		before.reads = pool->reads;
		next_look = pool->ticks + pool->nbuffers / looks_per_pass;
	}
}

static void
report(const Sampler *sampler, const Figures *from, const Figures *to)
{
	const Pool *pool = sampler->pool;
	double		passes = (double) (to->ticks - from->ticks) / pool->nbuffers;
	double		reads = (double) (to->reads - from->reads);
	double		accesses = reads + (double) (to->hits - from->hits);
	double		cpu_ns = (double) (to->cpu_ns - from->cpu_ns);
	PbpAdviceTotals totals;

	totals = pbp_advice_totals(sampler->advice);
	printf("%u buffers: %.1f looks per pass, each buffer read %.2f times\n",
		   pool->nbuffers, (double) (to->nlooks - from->nlooks) / passes,
		   (double) (to->nread - from->nread) / (double) (to->ticks - from->ticks));
	printf("processor time: %.1f ms per pass, %.2f ms per million reads; share of a processor at 1 GB/s %.4f, at 5 GB/s %.4f\n",
		   cpu_ns / passes / 1e6, cpu_ns / reads, cpu_ns / (reads * 8.192e3), cpu_ns / (reads * 8.192e3 / 5));
	printf("loads seen %.4f, missed by checks %.5f, gaps %lld\n",
		   totals.self_error + 1, pbp_look_missed_share(&sampler->look), (long long) totals.gaps);
	printf("%8s %10s %10s %9s\n", "factor", "predicted", "true", "error");
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row;
		double		is = SHARE * (double) (to->true_reads[i] - from->true_reads[i]) / accesses;

		row = pbp_advice_row(sampler->advice, i);
		printf("%8g %10.4f %10.4f %9.4f\n", row.factor, row.ratio.value, is, row.ratio.value - is);
	}
}

int
main(int argc, char **argv)
{
	uint32_t	nbuffers = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 10) : 131072;
	double		passes = argc > 2 ? atof(argv[2]) : 10;
	int			looks_per_pass = argc > 3 ? atoi(argv[3]) : LOOKS_PER_PASS;
	bool		whole = argc > 4;
	uint32_t	npages = nbuffers * PAGES_PER_BUFFER;
	double		share = (double) nbuffers * 8192 / 1000;
	size_t		bytes = share < ADVICE_BYTES ? (size_t) share : ADVICE_BYTES;
	Pool		pool;
	Pool		truth[PBP_ADVICE_FACTORS];
	Sampler		sampler = {.pool = &pool};
	PbpLookReader reader = {&sampler, read_range, read_buffers};
	Figures		from;
	Figures		to;

	pool_init(&pool, nbuffers, npages);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		pool_init(&truth[i], (uint32_t) (pbp_advice_factor(i) * nbuffers / SHARE), npages / SHARE);
	fill(&pool, truth, npages);
	sampler.advice = pbp_advice_init(allocate(bytes, 1), bytes, (int) nbuffers, USAGE_MAX, ENOUGH_PAGES / nbuffers, true);
	pbp_look_init(&sampler.look, sampler.advice, &reader);
	run(&sampler, truth, npages, passes / 2, looks_per_pass, whole);
	from = take_figures(&sampler, truth);
	run(&sampler, truth, npages, passes / 2, looks_per_pass, whole);
	to = take_figures(&sampler, truth);
	report(&sampler, &from, &to);
	return 0;
}

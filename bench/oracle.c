/*
 * oracle.c
 *	  Replays a trace through an exact clock sweep of each size, and through the
 *	  simulated pools of src/simulator/, which see one pool by looks; and through
 *	  the other replacement policies there.
 *
 * Usage: oracle TRACE BUFFERS BYTES LOOKS SALT.  TRACE has 32-bit page numbers
 * from 0 on.  The first line of output is where the window begins: the last reads
 * of today's pool, six times its buffers, but at most the second half of the
 * trace.  Then a line for each size: buffers, miss ratio of the exact clock in the
 * window, estimate at its end, half of its interval's width.  Then a line for each
 * replacement policy and size, which has first the number of the policy; its miss
 * ratio is that of the simulated policy that sees all accesses.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice_model.h"

static int *pages;
static int64_t npages;			/* in the trace */
static int	max_page;

static void
read_trace(const char *path)
{
	FILE	   *file = fopen(path, "rb");

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		exit(1);
	npages = ftell(file) / (int64_t) sizeof(int);
	pages = malloc((size_t) npages * sizeof(int));
	rewind(file);
	if (fread(pages, sizeof(int), (size_t) npages, file) != (size_t) npages)
		exit(1);
	for (int64_t i = 0; i < npages; i++)
		max_page = pages[i] > max_page ? pages[i] : max_page;
}

/* Runs the trace from the beginning; the advice looks on, if there is one. */
static int64_t
reads_from(Run *run, int nbuffers, int64_t start)
{
	Pool		pool;
	Trace		clock = {0};
	Watch		watch = {0};
	int64_t		before = 0;

	pool_init(&pool, nbuffers, max_page + 1);
	while (clock.count < npages)
	{
		if (clock.count == start)
			before = pool.reads;
		pool_access(&pool, pages[clock.count++], false);
		if (run != NULL)
			watch_pool(run, &pool, &clock, &watch);
	}
	before = pool.reads - before;
	pool_free(&pool);
	return before;
}

/* The latest half of a half, and so on, in which today's pool reads enough. */
static int64_t
find_window(int nbuffers)
{
	int64_t		start = npages / 2;

	while (npages - start > 1000 &&
		   reads_from(NULL, nbuffers, start + (npages - start) / 2) >= (int64_t) WINDOW_POOLS * nbuffers)
		start += (npages - start) / 2;
	return start;
}

/* Policies that see all accesses, in the order of pbp_policy_bit(). */
static void
count_policies(int nbuffers, int64_t start, int64_t *misses)
{
	PbpPolicies *policies = pbp_policies_init(malloc(pbp_policies_bytes((uint32_t) nbuffers)),
											  (uint32_t) nbuffers, USAGE_MAX, 1);

	for (int64_t i = 0; i < npages; i++)
	{
		uint32_t	missed = pbp_policies_use(policies, (uint32_t) pages[i], 1);

		for (int j = 0; j < PBP_POLICY_COUNT * PBP_POLICY_SIZES && i >= start; j++)
			misses[j] += missed >> j & 1;
	}
	free(policies);
}

static void
print_policies(const Run *run, int64_t start)
{
	static const double factors[PBP_POLICY_SIZES] = {0.5, 1, 2};
	int64_t		misses[PBP_POLICY_COUNT * PBP_POLICY_SIZES] = {0};

	count_policies(run->nbuffers, start, misses);
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
		{
			PbpPolicyRow row;

			row = pbp_advice_policy_row(run->advice[0], policy, size);
			printf("%d %d %.6f %.6f %.6f\n", policy, (int) (factors[size] * run->nbuffers),
				   (double) misses[policy * PBP_POLICY_SIZES + size] / (double) (npages - start),
				   row.reason == PBP_POLICY_KNOWN ? row.ratio.value : NAN, row.ratio.error);
		}
}

int
main(int argc, char **argv)
{
	Run			run = {.looks_per_pass = 8};
	int64_t		start_at;
	size_t		bytes;

	if (argc != 6)
		return 2;
	read_trace(argv[1]);
	run.nbuffers = atoi(argv[2]);
	run.looks_per_pass = atoi(argv[4]);
	run.sample_seed = (uint64_t) atoi(argv[5]);
	start(&run, 1, (size_t) atol(argv[3]), 0);
	bytes = pbp_advice_policies_bytes(run.advice[0]);
	pbp_advice_watch_policies(run.advice[0], malloc(bytes), bytes);
	start_at = find_window(run.nbuffers);
	reads_from(&run, run.nbuffers, npages);
	printf("%lld\n", (long long) start_at);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run.nbuffers);
		PbpAdviceRow row;

		row = pbp_advice_row(run.advice[0], i);
		printf("%d %.6f %.6f %.6f\n", nbuffers, (double) reads_from(NULL, nbuffers, start_at) / (double) (npages - start_at),
			   row.reason == PBP_ADVICE_KNOWN ? row.ratio.value : NAN, row.ratio.error);
	}
	print_policies(&run, start_at);
	finish(&run);
	free(pages);
	return 0;
}

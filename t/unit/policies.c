/*
 * policies.c
 *	  Compares src/simulator/policies.c with other simulators of the policies, on
 *	  traces of all accesses.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact_policies.h"

#define NBUFFERS	4096
#define NACCESSES	(160 * NBUFFERS)
#define FIRST		(80 * NBUFFERS) /* those before fill the pools */

typedef double Ratios[PBP_POLICY_COUNT][PBP_POLICY_SIZES];

static double sums[PBP_POLICY_COUNT];	/* of errors */
static double most[PBP_POLICY_COUNT];
static int	ncompared;

static PbpPolicies *
new_policies(uint32_t npages)
{
	return pbp_policies_init(malloc(pbp_policies_bytes(npages)), npages, 5, 1);
}

static void
simulate(PbpPolicies *policies, const Recording *trace, Ratios ratios)
{
	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		uint32_t	missed = pbp_policies_use(policies, (uint32_t) trace->pages[i], 1);

		for (int policy = 0; policy < PBP_POLICY_COUNT && i >= trace->first; policy++)
			for (int size = 0; size < PBP_POLICY_SIZES; size++)
				ratios[policy][size] += (missed & pbp_policy_bit(policy, size)) != 0;
	}
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
			ratios[policy][size] /= (double) (trace->naccesses - trace->first);
}

static Recording
record(Kind kind)
{
	int		   *pages = malloc(sizeof(int) * NACCESSES);
	Trace		source;
	bool		bulk;

	trace_init(&source, kind, NBUFFERS, 1 + (uint64_t) kind, NACCESSES / 4);
	for (int i = 0; i < NACCESSES; i++)
		pages[i] = next_page(&source, &bulk);
	return (Recording) {.pages = pages, .naccesses = NACCESSES, .first = FIRST, .npages = trace_pages(NBUFFERS)};
}

static void
compare_trace(Kind kind, const char *name)
{
	Recording	trace = record(kind);
	PbpPolicies *policies = new_policies(NBUFFERS);
	Ratios		ratios = {{0}};

	simulate(policies, &trace, ratios);
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
	{
		printf("# %-12s %-10s", name, policy_names[policy]);
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
		{
			double		truth = exact_miss_ratio(&trace, policy,
												 (int) (policy_sizes[size] * NBUFFERS));
			double		error = fabs(ratios[policy][size] - truth);

			printf("  %.4f (true %.4f)", ratios[policy][size], truth);
			sums[policy] += error;
			most[policy] = fmax(most[policy], error);
		}
		printf("\n");
	}
	ncompared += PBP_POLICY_SIZES;
	free(policies);
	free(trace.pages);
}

/* A page that returns after more pages than there are records for is taken for a new one. */
static void
forget_pages(void)
{
	Recording	trace = record(NEW_PAGES);
	PbpPolicies *policies = new_policies(NBUFFERS);
	Ratios		ratios = {{0}};
	double		truth = exact_miss_ratio(&trace, PBP_OPTIMUM, 2 * NBUFFERS);

	simulate(policies, &trace, ratios);
	okf(ratios[PBP_OPTIMUM][PBP_POLICY_DOUBLE] > truth + 0.01 &&
		ratios[PBP_OPTIMUM][PBP_POLICY_DOUBLE] <= ratios[PBP_CLOCK_TODAY][PBP_POLICY_DOUBLE],
		"what returns after 11 pools of other pages is missed by the optimum, too (%.4f, true %.4f)",
		ratios[PBP_OPTIMUM][PBP_POLICY_DOUBLE], truth);
	okf(fabs(ratios[PBP_CLOCK_15][PBP_POLICY_HALF] - exact_miss_ratio(&trace, PBP_CLOCK_15, NBUFFERS / 2)) == 0,
		"pages that a pool keeps for long are not forgotten");
	free(policies);
	free(trace.pages);
}

/* Pools that became smaller and larger again behave as if they never had. */
static void
resize(void)
{
	Recording	trace = record(ZIPF);
	PbpPolicies *policies = new_policies(2 * NBUFFERS);
	Ratios		ratios = {{0}};
	double		worst = 0;

	for (int i = 0; i < 40 * NBUFFERS; i++)
	{
		if (i % NBUFFERS == 0)
			pbp_policies_resize(policies, NBUFFERS * (i / NBUFFERS % 3 + 0.01));
		pbp_policies_use(policies, (uint32_t) trace.pages[i], 1 + (unsigned) i % 5);
	}
	pbp_policies_resize(policies, NBUFFERS);
	simulate(policies, &trace, ratios);
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
			worst = fmax(worst, fabs(ratios[policy][size] -
									 exact_miss_ratio(&trace, policy, (int) (policy_sizes[size] * NBUFFERS))));
	okf(worst <= 0.002, "pools of other sizes before (error %.4f)", worst);
	free(policies);
	free(trace.pages);
}

int
main(void)
{
	compare_trace(UNIFORM, "uniform");
	compare_trace(ZIPF, "zipf");
	compare_trace(TWO_SETS, "two sets");
	compare_trace(SCANS, "scans");
	compare_trace(MOVING, "moving");
	compare_trace(PGBENCH, "pgbench");
	compare_trace(NEARLY_FITS, "nearly fits");
	compare_trace(LOOP, "loop");
	compare_trace(PERIODIC_SCAN, "scan");
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		okf(most[policy] <= (policy <= PBP_LRU ? 0 : 0.003), "%s: error %.4f on average, %.4f at most",
			policy_names[policy], sums[policy] / ncompared, most[policy]);
	forget_pages();
	resize();
	return end_of_tests();
}

/*
 * policy_looks.c
 *	  Compares what looks at one pool say of other policies with simulators of these
 *	  that run the same trace.  Prints TAP.
 *
 * With arguments, compares recorded traces instead: files of big-endian keys of 32 bits,
 * each of which stands for a page.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact_policies.h"

#define NBUFFERS	16384

static PbpPolicyRow
policy_row(const PbpAdvice *advice, int policy, int size)
{
	return pbp_advice_policy_row(advice, policy, size);
}

static void
watch_policies(Run *run)
{
	for (int j = 0; j < SAMPLES && run->advice[j]; j++)
	{
		size_t		bytes = pbp_advice_policies_bytes(run->advice[j]);

		pbp_advice_watch_policies(run->advice[j], malloc(bytes), bytes);
	}
}

/* What the samples say of one policy and size, against the truth. */
typedef struct Score
{
	int			nknown;
	int			covered;		/* of these, off by no more than their interval */
	int			changes_covered;
	double		errors;
	double		worst;
} Score;

static void
compare(const Run *run, int policy, int size, double truth, double truth_today, Score *score)
{
	printf("  %.4f", truth);
	for (int j = 0; j < SAMPLES; j++)
	{
		PbpPolicyRow row = policy_row(run->advice[j], policy, size);
		double		error = fabs(row.ratio.value - truth);
		double		change_error = fabs(row.ratio.change - (truth - truth_today));

		printf(" %+.4f", row.ratio.value - truth);
		if (row.reason != PBP_POLICY_KNOWN)
			continue;
		score->nknown++;
		score->covered += error <= row.ratio.error;
		score->changes_covered += change_error <= row.ratio.change_error;
		score->errors += error;
		score->worst = fmax(score->worst, error);
	}
}

/* Today's policy is no estimate of its own. */
static bool
agrees(const PbpAdvice *advice)
{
	static const int sizes[PBP_POLICY_SIZES] = {PBP_ADVICE_HALF, TODAY, PBP_ADVICE_DOUBLE};
	bool		same = true;

	for (int size = 0; size < PBP_POLICY_SIZES; size++)
	{
		PbpPolicyRow row = policy_row(advice, PBP_CLOCK_TODAY, size);
		PbpAdviceRow advised = row_of(advice, sizes[size]);

		same &= advised.reason != PBP_ADVICE_KNOWN ? row.reason == PBP_POLICY_NO_MISS_RATIO :
			row.ratio.value == advised.ratio.value && row.ratio.error == advised.ratio.error && row.ratio.change == 0;
	}
	return same;
}

static void
compare_policies(const Run *run, const char *name, const Recording *trace, Score *scores)
{
	double		today[PBP_POLICY_SIZES];

	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
	{
		printf("# %-12s %-10s", name, policy_names[policy]);
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
		{
			double		truth = exact_miss_ratio(trace, policy, (int) (policy_sizes[size] * run->nbuffers));

			if (policy == PBP_CLOCK_TODAY)
				today[size] = truth;
			compare(run, policy, size, truth, today[size], &scores[policy]);
		}
		printf("\n");
	}
}

static void
compare_trace(Kind kind, const char *name, int looks_per_pass, bool pauses, Score *scores)
{
	Run			run = {.kind = kind, .nbuffers = NBUFFERS, .seed = 1 + (uint64_t) kind, .looks_per_pass = looks_per_pass, .pauses = pauses};
	Recording	trace;

	start(&run, SAMPLES, (size_t) NBUFFERS * 10, 1.0 / 20);
	watch_policies(&run);
	run_today(&run);
	trace = record_run(&run);
	compare_policies(&run, name, &trace, scores);
	okf(agrees(run.advice[0]), "%s: today's policy has what the advice has at each size", name);
	free(trace.pages);
	finish(&run);
}

static Score
add_scores(const Score *scores)
{
	Score		sum = {0};

	for (int policy = PBP_CLOCK_1; policy < PBP_POLICY_COUNT; policy++)
	{
		sum.nknown += scores[policy].nknown;
		sum.covered += scores[policy].covered;
		sum.changes_covered += scores[policy].changes_covered;
	}
	return sum;
}

static void
judge(const Score *scores)
{
	Score		sum = add_scores(scores);

	for (int policy = PBP_CLOCK_1; policy < PBP_POLICY_COUNT; policy++)
	{
		const Score *score = &scores[policy];

		okf(score->errors / score->nknown <= 0.006, "%s: error %.4f on average, %.4f at most",
			policy_names[policy], score->errors / score->nknown, score->worst);
	}
	okf(sum.covered >= 0.93 * sum.nknown, "%d of %d errors are within their interval", sum.covered, sum.nknown);
	okf(sum.changes_covered >= 0.93 * sum.nknown, "and %d of the differences to today's policy", sum.changes_covered);
}

static void
compare_all(void)
{
	Score		scores[PBP_POLICY_COUNT] = {{0}};

	compare_trace(UNIFORM, "uniform", 8, false, scores);
	compare_trace(ZIPF, "zipf", 8, false, scores);
	compare_trace(TWO_SETS, "two sets", 8, false, scores);
	compare_trace(SCANS, "scans", 8, false, scores);
	compare_trace(RING_SCANS, "ring scans", 8, false, scores);
	compare_trace(MOVING, "moving", 8, false, scores);
	compare_trace(PGBENCH, "pgbench", 8, false, scores);
	compare_trace(PGBENCH, "two looks", 2, false, scores);
	compare_trace(NEARLY_FITS, "nearly fits", 8, false, scores);
	compare_trace(PERIODIC_SCAN, "scan", 8, false, scores);
	judge(scores);
}

/* No look comes half of the time, so that pools lose the order of uses again and again. */
static void
compare_with_pauses(void)
{
	Score		scores[PBP_POLICY_COUNT] = {{0}};
	Score		sum;

	compare_trace(ZIPF, "zipf, pauses", 8, true, scores);
	compare_trace(SCANS, "scans, pauses", 8, true, scores);
	compare_trace(MOVING, "moving, pauses", 8, true, scores);
	sum = add_scores(scores);
	okf(sum.nknown > 0 && sum.changes_covered >= 0.93 * sum.nknown,
		"with pauses, %d of %d differences are within their interval", sum.changes_covered, sum.nknown);
}

/* ---- what is unknown ---- */

static int
count_policies(const PbpAdvice *advice, int size, PbpPolicyReason reason)
{
	int			n = 0;

	for (int policy = PBP_CLOCK_1; policy < PBP_POLICY_COUNT; policy++)
	{
		PbpPolicyRow row = policy_row(advice, policy, size);

		n += row.reason == reason && isnan(row.ratio.value) == (reason != PBP_POLICY_KNOWN);
	}
	return n;
}

#define ALL		(PBP_POLICY_COUNT - 1)	/* others than today's */

/* Policies that are watched late begin with empty pools, and the advice does not notice. */
static void
begin_late(void)
{
	Bench		bench;
	Bench		other;
	PbpAdviceRow row;
	PbpAdviceRow row_of_other;

	bench_learn(&bench, ZIPF, 10);
	bench_learn(&other, ZIPF, 10);
	watch_policies(&bench.run);
	ok(count_policies(bench.run.advice[0], PBP_POLICY_BASELINE, PBP_POLICY_LEARNING) == ALL &&
	   policy_row(bench.run.advice[0], PBP_CLOCK_TODAY, PBP_POLICY_BASELINE).reason == PBP_POLICY_KNOWN,
	   "at first, only today's policy is known");
	bench_run(&bench, 0.5, true);
	okf(policy_row(bench.run.advice[0], PBP_LRU, PBP_POLICY_DOUBLE).learned_share < 0.99 &&
		policy_row(bench.run.advice[0], PBP_LRU, PBP_POLICY_DOUBLE).learned_share > 0.1,
		"twice the size is being filled (%.2f)", policy_row(bench.run.advice[0], PBP_LRU, PBP_POLICY_DOUBLE).learned_share);
	bench_run(&bench, 5, true);
	ok(count_policies(bench.run.advice[0], PBP_POLICY_DOUBLE, PBP_POLICY_KNOWN) == ALL, "then all are known");
	bench_run(&other, 5.5, true);
	row = row_of(bench.run.advice[0], PBP_ADVICE_DOUBLE);
	row_of_other = row_of(other.run.advice[0], PBP_ADVICE_DOUBLE);
	ok(row.ratio.value == row_of_other.ratio.value && row.ratio.error == row_of_other.ratio.error,
	   "the advice is the same as without them");
	pbp_advice_watch_policies(bench.run.advice[0], NULL, 0);
	bench_run(&bench, 1, true);
	bench_run(&other, 1, true);
	ok(row_of(bench.run.advice[0], PBP_ADVICE_DOUBLE).ratio.value == row_of(other.run.advice[0], PBP_ADVICE_DOUBLE).ratio.value,
	   "and once they are forgotten");
	bench_finish(&bench);
	bench_finish(&other);
}

/* Most pages are in constant use, and their usage counts at the maximum. */
static void
hide_uses(void)
{
	Bench		bench;
	const PbpAdvice *advice;

	bench_start(&bench, NEARLY_FITS, 8192, 8192 * 10, 1.0 / 20);
	watch_policies(&bench.run);
	bench_run(&bench, 8, true);
	advice = bench.run.advice[0];
	ok(policy_row(advice, PBP_CLOCK_15, PBP_POLICY_BASELINE).reason == PBP_POLICY_HIDDEN &&
	   policy_row(advice, PBP_CLOCK_1, PBP_POLICY_BASELINE).reason == PBP_POLICY_HIDDEN &&
	   policy_row(advice, PBP_LRU, PBP_POLICY_BASELINE).reason == PBP_POLICY_KNOWN,
	   "where most usage counts are at the maximum, other maxima are unknown, but not LRU");
	ok(count_policies(advice, PBP_POLICY_HALF, PBP_POLICY_NO_MISS_RATIO) == ALL,
	   "and nothing is known of a size of which the advice knows nothing");
	bench_finish(&bench);
}

/* In half of the memory, there are pools for half of the sample. */
static void
have_less_memory(void)
{
	Bench		bench;
	size_t		bytes;
	void	   *memory = malloc(1 << 20);
	PbpPolicyRow row;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	bytes = pbp_advice_policies_bytes(bench.run.advice[0]);
	ok(!pbp_advice_watch_policies(bench.run.advice[0], memory, bytes / 8), "too little memory for any policy");
	ok(pbp_advice_watch_policies(bench.run.advice[0], memory, bytes * 6 / 10), "enough for a part of the sample");
	bench_run(&bench, 15, true);
	row = policy_row(bench.run.advice[0], PBP_S3_FIFO, PBP_POLICY_BASELINE);
	okf(row.reason == PBP_POLICY_KNOWN && fabs(row.ratio.value - 0.2) < 0.02, "which suffices (%.4f)", row.ratio.value);
	ok(pbp_advice_thin(bench.run.advice[0], 0.9), "a part of the sample leaves, more than these policies need");
	ok(count_policies(bench.run.advice[0], PBP_POLICY_BASELINE, PBP_POLICY_KNOWN) == ALL, "so all are still known");
	ok(pbp_advice_thin(bench.run.advice[0], 0.5), "more leaves");
	ok(count_policies(bench.run.advice[0], PBP_POLICY_BASELINE, PBP_POLICY_LEARNING) == ALL, "and all begin again");
	bench_finish(&bench);
	free(memory);
}

/* ---- recorded traces ---- */

#define MOST_ACCESSES	10000000

/* Keys become pages, in the order of their first accesses; a few keys share one. */
static Recording
read_recording(const char *path)
{
	Recording	trace = {.pages = malloc(sizeof(int) * MOST_ACCESSES)};
	int		   *page_of = calloc((size_t) 1 << 24, sizeof(int));
	FILE	   *file = fopen(path, "r");
	uint8_t		bytes[4];

	while (file && trace.naccesses < MOST_ACCESSES && fread(bytes, sizeof(bytes), 1, file) == 1)
	{
		uint32_t	key = (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 | (uint32_t) bytes[2] << 8 | bytes[3];
		int		   *page = &page_of[key * UINT32_C(0x9E3779B1) >> 8];

		if (*page == 0)
			*page = ++trace.npages;
		trace.pages[trace.naccesses++] = *page - 1;
	}
	okf(file && trace.naccesses > 0, "%s: %d pages", path, trace.npages);
	if (file)
		fclose(file);
	free(page_of);
	return trace;
}

/* A look reduces the weights of all accesses before as its counters, and counts its own, or counts nothing. */
static void
weigh(const PbpAdvice *advice, double before, const Recording *part, int64_t from, double *weights)
{
	double		after = totals_of(advice).accesses;
	double		factor = after / (before + (double) (part->naccesses - from));

	if (after == before)
		return;
	for (int64_t i = from; i < part->naccesses; i++)
		weights[i] = 1;
	for (int64_t i = part->first; i < part->naccesses; i++)
		weights[i] *= factor;
}

/* From one access on, until the pool has read as much as for other traces. */
static void
compare_part(const Recording *all, int64_t from, int nbuffers, Score *scores)
{
	Run			run = {.nbuffers = nbuffers, .looks_per_pass = 8};
	double	   *weights = calloc((size_t) all->naccesses, sizeof(double));
	Recording	part = {.pages = all->pages + from, .npages = all->npages, .weights = weights};
	Pool		pool;
	Watch		watch = {0};

	pool_init(&pool, nbuffers, all->npages);
	start(&run, SAMPLES, (size_t) nbuffers * 60, 0.25);
	watch_policies(&run);
	while (pool.reads < (SETTLE_POOLS + WINDOW_POOLS) * nbuffers && from + part.naccesses < all->naccesses)
	{
		int64_t		looked = watch.count;
		double		before;

		pool_access(&pool, part.pages[part.naccesses++], false);
		if (pool.ticks - watch.ticks < nbuffers / run.looks_per_pass)
			continue;
		before = totals_of(run.advice[0]).accesses;
		look_and_watch(&run, &pool, part.naccesses, 0, &watch);
		weigh(run.advice[0], before, &part, looked, weights);
	}
	compare_policies(&run, "recorded", &part, scores);
	free(weights);
	pool_free(&pool);
	finish(&run);
}

static void
compare_recorded(char **paths, int npaths)
{
	Score		scores[PBP_POLICY_COUNT] = {{0}};

	for (int i = 0; i < npaths; i++)
	{
		Recording	trace = read_recording(paths[i]);

		for (int percent = 5; percent <= 20; percent += 5)
			for (int third = 0; third < 3; third++)
				compare_part(&trace, third * trace.naccesses / 3, trace.npages * percent / 100, scores);
		free(trace.pages);
	}
	judge(scores);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
	{
		compare_recorded(argv + 1, argc - 1);
		return end_of_tests();
	}
	compare_all();
	compare_with_pauses();
	begin_late();
	hide_uses();
	have_less_memory();
	return end_of_tests();
}

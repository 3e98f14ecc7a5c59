/*-------------------------------------------------------------------------
 *
 * policyruns.c
 *	  What other replacement policies miss of the uses that looks find.
 *
 * All policies, the server's own among them, see the same uses of the same pages in
 * pools of the same sizes, so what looks distort, they distort in all.  Only the ratio
 * of their misses is used.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <string.h>

/*
 * After a loss of knowledge, pools are in order once they have missed so many times their pages.
 * With 1, the optimum is twice as far off where no look comes half of the time.
 */
#define IN_ORDER_POOLS		2.0

/* With fewer pages, no policy has a figure. */
#define LEAST_PAGES			100

/* The size that a pool of the advice has. */
int
pbp_size_of_policies(int size)
{
	static const int sizes[PBP_POLICY_SIZES] = {HALF, BASELINE, DOUBLE};

	return sizes[size];
}

/* Of the whole sample, in a pool of today's size. */
static double
most_pages(const Advice *advice)
{
	double		residents = advice->sampling_rate * advice->nbuffers;

	return residents + SLACK_DEVIATIONS * sqrt(residents) + 1;
}

size_t
pbp_advice_policies_bytes(const PbpAdvice *advice)
{
	return sizeof(PolicyRun) + pbp_policies_bytes((uint32_t) most_pages(advice));
}

/* All pools are empty, and nothing is known. */
static void
begin_run(Advice *advice)
{
	PolicyRun  *run = advice->policies;

	*run = (PolicyRun) {.max_pages = run->max_pages,.kept = run->kept};
	run->policies = pbp_policies_init(run + 1, run->max_pages, advice->usage_max,
									  advice->sampling_rate * run->kept / advice->head.kept);
	outdate_answers(advice);
}

bool
pbp_advice_watch_policies(PbpAdvice *advice, void *memory, size_t bytes)
{
	double		most = most_pages(advice);
	uint32_t	npages = memory == NULL ? 0 : (uint32_t) most;

	/* about the most pages whose memory fits */
	while (npages >= LEAST_PAGES && sizeof(PolicyRun) + pbp_policies_bytes(npages) > bytes)
		npages -= npages / LEAST_PAGES;
	advice->policies = NULL;
	outdate_answers(advice);
	if (npages < LEAST_PAGES)
		return false;
	advice->policies = memory;
	advice->policies->max_pages = npages;
	advice->policies->kept = (uint32_t) (fmin(1, (npages + 1) / most) * advice->head.kept);
	begin_run(advice);
	return true;
}

/* What was learned of pages that leave the sample is of no use for those that remain. */
void
pbp_thin_policies(Advice *advice)
{
	PolicyRun  *run = advice->policies;

	if (run == NULL || run->kept <= advice->head.kept)
		return;
	run->kept = advice->head.kept;
	begin_run(advice);
}

/*
 * At the end of a look: follow today's size, and what has been learned.  After a look that knows
 * nothing of what happened before, the pools have lost the order of uses.
 */
void
pbp_follow_policies(Advice *advice)
{
	PolicyRun  *run = advice->policies;

	if (advice->head.lost)
		memset(run->turned_over, 0, sizeof(run->turned_over));
	pbp_policies_resize(run->policies, (1 - advice->averages.scanned_share) *
						advice->averages.residents * run->kept / advice->head.kept);
	for (int size = 0; size < PBP_POLICY_SIZES; size++)
		if (pbp_policies_filled_share(run->policies, size) >= 1 ||
			(run->counters.uses >= PBP_ENOUGH_EVENTS &&
			 run->counters.doubtful_misses[size] <= TOLERATED_DOUBT / 2 * run->counters.uses))
			run->learned[size] = true;
}

/* A page of the sample was used, or loaded and perhaps used again. */
void
pbp_play_policies(Advice *advice, uint32_t fingerprint, unsigned amount, bool counts)
{
	PolicyRun  *run = advice->policies;
	uint32_t	missed;

	if (fingerprint > run->kept)
		return;
	missed = pbp_policies_use(run->policies, fingerprint, amount);
	run->counters.uses++;
	for (int size = 0; size < PBP_POLICY_SIZES && missed != 0; size++)
	{
		bool		today = (missed & pbp_policy_bit(PBP_CLOCK_TODAY, size)) != 0;

		if (today)
			run->turned_over[size] += 1 / pbp_policies_size(run->policies, size);
		if (!run->learned[size])
			run->counters.doubtful_misses[size] += today;
		else if (!counts || run->turned_over[size] < IN_ORDER_POOLS)
			run->counters.skipped[size] += today;
		else
			for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
				run->counters.misses[policy][size][group_of(fingerprint)] +=
					(missed & pbp_policy_bit(policy, size)) != 0;
	}
}

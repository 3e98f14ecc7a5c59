/*-------------------------------------------------------------------------
 *
 * policyratios.c
 *	  Miss ratio of other replacement policies, and its errors, or why it is
 *	  unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/estimate.h"

/*
 * Error as a share of the difference to the server's policy.  These three are by
 * t/unit/policy_looks.c, where without them, a seventh of the differences is outside, and half of
 * those on recorded traces.
 */
#define CHANGE_SHARE		0.05

/* And as a share of the misses, since looks do not show the order of uses. */
#define ORDER_SHARE			0.0075

/* And if as much is read through rings as otherwise: uses by scans look like others. */
#define SCANNED_SHARE		0.02

static double
todays_misses(const Advice *advice, int size, int without)
{
	return sum_without(advice->policies->counters.misses[PBP_CLOCK_TODAY][size], without);
}

/* How many times as much as the server's policy another one misses, without a group of pages. */
static double
ratio_of(const Advice *advice, int policy, int size, int without)
{
	double		today = todays_misses(advice, size, without);

	return today > 0 ?
		sum_without(advice->policies->counters.misses[policy][size], without) / today : 1;
}

/*
 * True if more pages are at the server's maximum usage count than this policy bears.  Other uses
 * of them are hidden, and so it is unknown which would reach a higher maximum, or which a lower
 * one protects.
 */
static bool
hides_uses(const Advice *advice, int policy, int size)
{
	static const double tolerated[PBP_POLICY_COUNT] = {
		[PBP_CLOCK_1] = 0.67,[PBP_CLOCK_2] = 0.67,[PBP_CLOCK_15] = 0.33
	};
	double		saturated = advice->counters.saturated_accesses / fmax(1, advice->server.accesses);

	return tolerated[policy] > 0 &&
		saturated > tolerated[policy] * pbp_advice_factor(pbp_size_of_policies(size));
}

static PbpPolicyReason
reason_of(const Advice *advice, int policy, int size, PbpAdviceReason reason_of_size)
{
	if (reason_of_size != PBP_ADVICE_KNOWN)
		return PBP_POLICY_NO_MISS_RATIO;
	if (policy == PBP_CLOCK_TODAY)
		return PBP_POLICY_KNOWN;
	if (hides_uses(advice, policy, size))
		return PBP_POLICY_HIDDEN;
	if (!advice->policies->learned[size])
		return PBP_POLICY_LEARNING;
	return todays_misses(advice, size, NO_GROUP) < PBP_ENOUGH_EVENTS ?
		PBP_POLICY_LITTLE_EVIDENCE : PBP_POLICY_KNOWN;
}

/*
 * True if it is the server's sweep but for the order in which buffers are inspected.  What the
 * model doubts of a size is then the same for both.
 */
static bool
is_server_sweep(int policy)
{
	return policy == PBP_CLOCK_2_HANDS || policy == PBP_CLOCK_4_HANDS ||
		policy == PBP_CLOCK_BATCHES;
}

/* By the server's policy at that size. */
static PbpEstimate
estimate_policy(const Advice *advice, int policy, int size, const PbpEstimate *today)
{
	const PbpAdviceCounts *server = &advice->server;
	double		scanned = server->ring_reads / fmax(1, server->reads);
	double		ratio = ratio_of(advice, policy, size, NO_GROUP);
	double		skipped = skipped_share(advice->policies->counters.skipped[size],
										todays_misses(advice, size, NO_GROUP));
	PbpEstimate estimate = {
		.value = fmin(1, ratio * today->value),
		.time = fmax(1, ratio) * today->time,
	};

	for (int group = 0; group < GROUPS; group++)
		estimate.without[group] = fmin(1, ratio_of(advice, policy, size, group) *
									   today->without[group]);
	estimate.model = (CHANGE_SHARE + skipped) * fabs(estimate.value - today->value) +
		(ORDER_SHARE + SCANNED_SHARE * scanned) * today->value;
	if (!is_server_sweep(policy))
		estimate.model += fmax(1, ratio) * today->model;
	return estimate;
}

static PbpCompared
compare(int policy, PbpEstimate estimate, const PbpEstimate *today)
{
	PbpCompared ratio = pbp_compared_now((PbpCompared) {
		.value = estimate.value,.change = estimate.value - today->value,
		.change_error = error_of_change(&estimate, today)
	}, varying_share(today));

	ratio.change_error = fmin(1, ratio.change_error);
	if (is_server_sweep(policy))
		estimate.model += today->model;
	ratio.error = fmin(1, error_of(&estimate));
	return ratio;
}

PbpPolicyRow
pbp_advice_policy_row(const PbpAdvice *advice, int policy, int size)
{
	const MissAnswers *answers = pbp_miss_answers(advice);
	int			i = pbp_size_of_policies(size);
	const PbpAdviceRow *of_size = &answers->rows[i];
	PbpPolicyRow row = {
		.ratio = PBP_NOT_COMPARED,.learned_share = 1,
		.reason = reason_of(advice, policy, size, of_size->reason),
	};

	if (row.reason == PBP_POLICY_LEARNING)
		row.learned_share = fmin(PBP_MOST_PROGRESS,
								 pbp_policies_filled_share(advice->policies->policies, size));
	if (row.reason != PBP_POLICY_KNOWN)
		return row;
	if (policy == PBP_CLOCK_TODAY)
		row.ratio = (PbpCompared) {of_size->ratio.value, of_size->ratio.error, 0, 0};
	else
		row.ratio = compare(policy,
							estimate_policy(advice, policy, size, &answers->estimates[i]),
							&answers->estimates[i]);
	row.too_fine = policy == PBP_CLOCK_BATCHES &&
		!pbp_policies_have_batches(advice->policies->policies);
	return row;
}

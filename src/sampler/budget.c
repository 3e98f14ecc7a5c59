/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  How much of its sample the worker has time for.
 *
 *-------------------------------------------------------------------------
 */
#include "sampler/budget.h"

#include <math.h>

/* How often that is judged; the first looks may take far too long. */
#define JUDGED_NS			INT64_C(3000000000)
#define JUDGED_FIRST_NS		INT64_C(300000000)
#define JUDGED_FIRST		10

/*
 * Up to this share of the allowed time, looks are late for another reason; from this
 * share of the looks that are needed, they are in time.
 */
#define LITTLE_TIME			0.9
#define ENOUGH_LOOKS		0.85

/* At most this share of the sample remains, and at least. */
#define LEAST_KEPT			0.25
#define MOST_KEPT			0.9

/*
 * Below this share of the allowed time, there is some for so many times the sample.
 * A larger one is learned for as long as the first, so this must have lasted.
 */
#define MUCH_TIME			0.4
#define GROWTH				2.0
#define AMPLE_NS			INT64_C(300000000000)

/* Before any look has been timed: what a tick takes at least, if each moved a page of the sample. */
#define ASSUMED_NS			700.0

void
pbp_begin_budget(PbpBudget *budget, const PbpSpending *now)
{
	*budget = (PbpBudget) {.judged = *now,.ample_since_ns = now->now_ns};
}

/* By what has happened since the last time. */
static double
affordable_share(const PbpBudget *budget, const PbpSpending *now, const PbpAllowance *allowance)
{
	const PbpSpending *from = &budget->judged;
	double		ns = (double) (now->now_ns - from->now_ns);
	double		ticks = (double) (now->ticks - from->ticks);
	double		taken = (double) (now->cpu_ns - from->cpu_ns) / (allowance->cpu_fraction * ns);
	double		seen = ticks > 0 ? (double) (now->nlooks - from->nlooks) / (allowance->looks_per_tick * ticks) : 1;
	double		share = 1;

	if (budget->njudged == 0)
		share = allowance->cpu_fraction * ns / (ASSUMED_NS * allowance->sampling_rate * fmax(1, ticks));
	else if (taken > LITTLE_TIME)
		share = seen / ENOUGH_LOOKS;
	else if (taken < MUCH_TIME && seen >= ENOUGH_LOOKS)
		return GROWTH;
	return share < 1 ? fmin(MOST_KEPT, fmax(LEAST_KEPT, share)) : 1;
}

static int64_t
time_to_judge(const PbpBudget *budget)
{
	return budget->njudged == 0 ? PBP_FIRST_LOOK_NS : budget->njudged < JUDGED_FIRST ? JUDGED_FIRST_NS : JUDGED_NS;
}

/* Before the first look by the speed of the hand, and then by what was so twice in turn. */
double
pbp_fit_sample(PbpBudget *budget, const PbpSpending *now, const PbpAllowance *allowance)
{
	double		share;
	bool		acts;

	if (now->now_ns - budget->judged.now_ns < time_to_judge(budget))
		return 1;
	share = affordable_share(budget, now, allowance);
	acts = share < 1 ? budget->too_late || budget->njudged == 0 : now->now_ns - budget->ample_since_ns >= AMPLE_NS;
	if (share <= 1 || acts)
		budget->ample_since_ns = now->now_ns;
	budget->too_late = share < 1;
	budget->njudged++;
	budget->judged = *now;
	return acts ? share : 1;
}

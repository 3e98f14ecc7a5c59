/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  How much of its sample the worker has time for.
 *
 * The faster the clock hand, the more often it must be looked at, and the more
 * pages of the sample have been loaded each time.  A smaller sample makes looks
 * cheaper; fewer looks than are needed would lose what happens between two.
 *
 *-------------------------------------------------------------------------
 */
#include "sampler/budget.h"

#include <math.h>

/*
 * Up to this share of the allowed time, looks are late for another reason; from this
 * share of the looks that are needed, they are in time.
 */
#define LITTLE_TIME			0.9
#define ENOUGH_LOOKS		0.85

/* Below this share of the allowed time, there is some for so many times the sample. */
#define MUCH_TIME			0.4
#define GROWTH				2.0

/* At most this share of the sample remains, and at least. */
#define LEAST_KEPT			0.25
#define MOST_KEPT			0.9

/* Before any look has been timed: what a tick takes at least, if each moved a page of the sample. */
#define ASSUMED_NS			700.0

double
pbp_affordable_share(const PbpSpending *from, const PbpSpending *to, double cpu_fraction,
					 double looks_per_tick, double sampling_rate)
{
	double		ns = (double) (to->now_ns - from->now_ns);
	double		ticks = (double) (to->ticks - from->ticks);
	double		taken = (double) (to->cpu_ns - from->cpu_ns) / (cpu_fraction * ns);
	double		seen = ticks > 0 ? (double) (to->nlooks - from->nlooks) / (looks_per_tick * ticks) : 1;
	double		share = 1;

	if (taken < MUCH_TIME && seen >= ENOUGH_LOOKS && to->nlooks > from->nlooks)
		return GROWTH;
	if (to->nlooks == 0)
		share = cpu_fraction * ns / (ASSUMED_NS * sampling_rate * fmax(1, ticks));
	else if (taken > LITTLE_TIME)
		share = seen / ENOUGH_LOOKS;
	return share < 1 ? fmin(MOST_KEPT, fmax(LEAST_KEPT, share)) : 1;
}

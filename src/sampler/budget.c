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

/* Of what the looks may take, the share that they are to take afterwards. */
#define TARGET				0.8

/* At most this share of the sample leaves at once, and no less than that. */
#define LEAST_KEPT			0.25
#define MOST_KEPT			0.9

/* Before any look has been timed: what a tick takes at least, if each moved a page of the sample. */
#define ASSUMED_NS			700.0

/* Looks may always take this share, whatever else the worker does. */
#define LEAST_FOR_LOOKS		0.3

/*
 * The share of the sample that is to be kept so that as many looks as are needed
 * take no more than is allowed; 1: all of it.
 */
double
pbp_affordable_share(const PbpSpending *from, const PbpSpending *to, double cpu_fraction,
					 double looks_per_tick, double sampling_rate)
{
	double		ns = (double) (to->now_ns - from->now_ns);
	double		ticks = (double) (to->ticks - from->ticks);
	double		nlooks = (double) (to->nlooks - from->nlooks);
	double		looks = (double) (to->looks_ns - from->looks_ns) / ns;
	double		others = (double) (to->cpu_ns - from->cpu_ns) / ns - looks;
	double		allowed = fmax(LEAST_FOR_LOOKS * cpu_fraction, cpu_fraction - others);
	double		needed = nlooks > 0 ? looks * ticks * looks_per_tick / nlooks : ASSUMED_NS * sampling_rate * ticks / ns;

	if (!(ns > 0) || needed <= allowed)
		return 1;
	return fmin(MOST_KEPT, fmax(LEAST_KEPT, TARGET * allowed / needed));
}

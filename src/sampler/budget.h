/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  How much of its sample the worker has time for.
 *
 * The faster the clock hand, the more often it must be looked at, and the more
 * pages of the sample have been loaded each time.  A smaller sample makes looks
 * cheaper; fewer looks than are needed would lose what happens between two.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_BUDGET_H
#define PBP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* At one time. */
typedef struct PbpSpending
{
	int64_t		now_ns;
	int64_t		cpu_ns;			/* of the worker */
	int64_t		nlooks;
	int64_t		ticks;			/* of the clock hand */
} PbpSpending;

typedef struct PbpBudget
{
	PbpSpending judged;			/* the last time */
	int			njudged;		/* before, no look may be taken */
	bool		too_late;		/* by then, looks were */
	int64_t		ample_since_ns; /* there has been time for a larger sample */
} PbpBudget;

/* What is allowed, and needed. */
typedef struct PbpAllowance
{
	double		cpu_fraction;
	double		looks_per_tick;
	double		sampling_rate;	/* now */
} PbpAllowance;

extern void pbp_begin_budget(PbpBudget *budget, const PbpSpending *now);

/* How long the worker may sleep at first, so that the speed of the hand is known. */
#define PBP_FIRST_LOOK_NS	INT64_C(50000000)

/*
 * To be called in each round.  Returns the share of the sample that is to be kept
 * so that there is time for as many looks as are needed; 1: all of it.  Above 1:
 * there has been time for so many times as much.
 */
extern double pbp_fit_sample(PbpBudget *budget, const PbpSpending *now, const PbpAllowance *allowance);

#endif							/* PBP_BUDGET_H */

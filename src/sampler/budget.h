/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  How much of its sample the worker has time for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_BUDGET_H
#define PBP_BUDGET_H

#include <stdint.h>

/* At one time.  */
typedef struct PbpSpending
{
	int64_t		now_ns;
	int64_t		cpu_ns;			/* of the worker */
	int64_t		nlooks;
	int64_t		ticks;			/* of the clock hand */
} PbpSpending;

/*
 * How much of the sample is to be kept so that there is time for as many looks as are
 * needed; 1: all of it.  Above 1: there is time for so many times as much.
 */
extern double pbp_affordable_share(const PbpSpending *from, const PbpSpending *to, double cpu_fraction,
								   double looks_per_tick, double sampling_rate);

#endif							/* PBP_BUDGET_H */

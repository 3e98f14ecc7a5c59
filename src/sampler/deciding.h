/*-------------------------------------------------------------------------
 *
 * deciding.h
 *	  What the worker needs to decide which size is best, once a second.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DECIDING_H
#define PBP_DECIDING_H

#include "statistics/hoursum.h"
#include "sampler/report.h"

typedef struct PbpDecider
{
	PbpHoursSum sum;			/* of the last hours */
	int64		summed_ns;		/* when that was added up; 0: never */
	int64		advised_buffers;	/* 0: nothing yet */
} PbpDecider;

extern void pbp_reset_decider(PbpDecider *decider);
extern void pbp_decide_report(PbpDecider *decider, PbpAdviceReport *report);

#endif							/* PBP_DECIDING_H */

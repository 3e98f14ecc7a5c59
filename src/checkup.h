/*-------------------------------------------------------------------------
 *
 * checkup.h
 *	  What the files of the checkup share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CHECKUP_H
#define PBP_CHECKUP_H

#include "descriptors.h"
#include "poolfuncs.h"
#include "sampler.h"
#include "sweep.h"

/* Facts gathered before the first question. */
typedef struct Checkup
{
	PbpHistogram histogram;
	int64		used;			/* buffers */
	int64		unused;
	bool		evicted;		/* any page since server start? */
	ClockRate	rate;
	PbpAdviceReport advice;
	PbpSweepCost next;			/* a replay of the next searches */
} Checkup;

typedef struct Answer
{
	const char *text;
	double		value;			/* NaN: unknown */
	const char *verdict;
	const char *action;			/* NULL: nothing to do */
} Answer;

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

/* checkup.c */
extern void judge(Answer *answer, const char *verdict, const char *action);
extern void answer_unknown(Answer *answer, const char *reason);

/* checkup_size.c */
extern void answer_size(const Checkup *checkup, Answer *answer);

#pragma GCC visibility pop

#endif							/* PBP_CHECKUP_H */

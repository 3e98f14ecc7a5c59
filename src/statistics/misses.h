/*-------------------------------------------------------------------------
 *
 * misses.h
 *	  Miss ratios and their errors: what missratios.c offers storage reads and
 *	  relations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_MISSES_H
#define PBP_MISSES_H

#include "simulator/internal.h"
#include "statistics/figures.h"

/* Errors of a known miss ratio: each half the width of a 95 % interval. */
typedef struct PbpMissErrors
{
	double		miss_ratio;
	double		chance;			/* in the sample */
	double		method;			/* of the difference to today's */
	double		edge;			/* of a cliff, or of doubtful misses */
	double		variation;		/* of the load, as usual */
	double		moved;			/* because the load has changed */
	double		moved_share;	/* of today's miss ratio, likewise */
} PbpMissErrors;

/* What is answered of each size, until something else is counted. */
typedef struct MissAnswers
{
	PbpAdviceReason reasons[FACTORS];	/* but for cliffs */
	double		estimates[FACTORS];
	double		without[FACTORS][GROUPS];	/* the same without each group */
	double		bounded[FACTORS];
	double		chance[FACTORS];
	PbpMissErrors errors[FACTORS];
	PbpAdviceRow rows[FACTORS];
} MissAnswers;

extern double pbp_unseen_share(const Advice *advice);
extern const MissAnswers *pbp_miss_answers(const Advice *advice);

#endif							/* PBP_MISSES_H */

/*-------------------------------------------------------------------------
 *
 * misses.h
 *	  Estimated miss ratios: what missratios.c offers storage reads and relations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_MISSES_H
#define PBP_MISSES_H

#include "statistics/estimate.h"
#include "statistics/figures.h"

/* What is answered of each size, until something else is counted. */
typedef struct MissAnswers
{
	PbpAdviceReason reasons[FACTORS];	/* but for cliffs */
	PbpEstimate estimates[FACTORS]; /* as far as the reason is that it is known */
	PbpAdviceRow rows[FACTORS];
} MissAnswers;

extern double pbp_unseen_share(const Advice *advice);
extern const MissAnswers *pbp_miss_answers(const Advice *advice);

#endif							/* PBP_MISSES_H */

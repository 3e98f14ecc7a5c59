/*-------------------------------------------------------------------------
 *
 * decision.h
 *	  Which of the sizes of the pool is best, and whether that is certain.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DECISION_H
#define PBP_DECISION_H

#include "advice/advice.h"

/* What is known of all sizes, in arrays by size. */
typedef struct PbpDecisionInput
{
	const bool *fits;			/* into memory, as far as known */
	const PbpAdviceRow *misses;
	const PbpAdviceStorageRow *storage; /* while memory is fixed; NULL: this
										 * will not become known */
	double		watched_seconds;	/* since learning began */
} PbpDecisionInput;

typedef enum PbpDecisionKind
{
	PBP_DECIDE_UNKNOWN,			/* today's miss ratio is, or all others are,
								 * because too few reads are seen */
	PBP_DECIDE_SHORT,			/* too early, by the time watched */
	PBP_DECIDE_EARLY,			/* too early, by what was learned */
	PBP_KEEP_FEW_READS,			/* today's size; hardly anything is read */
	PBP_KEEP_CACHED,			/* the page cache serves nearly all reads */
	PBP_KEEP,					/* no size is better by more than the error */
	PBP_TAKE					/* another size */
} PbpDecisionKind;

typedef struct PbpDecision
{
	PbpDecisionKind kind;
	bool		by_storage;		/* by storage reads, not by misses */
	int			size;			/* that is advised; the baseline, unless
								 * PBP_TAKE */
	int			best;			/* other size that fits, with the lowest
								 * estimate; -1: there is none */
	bool		matters_too_little; /* the best is lower by more than the error,
									 * but not by enough */
	double		learned_share;	/* if too early */
} PbpDecision;

extern PbpDecision pbp_decide(const PbpDecisionInput *input);

/*
 * The size above which the curve is flat; -1: it has no pronounced knee.  Ratios
 * by size; NaN: unknown.
 */
extern int	pbp_knee(const double *ratios);

#endif							/* PBP_DECISION_H */

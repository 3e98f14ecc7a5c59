/*-------------------------------------------------------------------------
 *
 * decision.h
 *	  Which of the sizes of the pool is best, and whether that is certain.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DECISION_H
#define PBP_DECISION_H

#include "statistics/hoursum.h"

/* What is known of all sizes, in arrays by size. */
typedef struct PbpDecisionInput
{
	const bool *fits;			/* into memory, as far as known */
	const PbpAdviceRow *misses; /* now, like the next two */
	const PbpAdviceStorageRow *storage; /* while memory is fixed; NULL: this
										 * will not become known */
	const PbpCompared *waiting;	/* in a second; NULL: unknown */
	double		active_ms;		/* that sessions work in a second now; NaN: unknown */
	double		varies;			/* the load now, as a share */
	const PbpHoursSum *hours;	/* of today's size */
	double		watched_seconds;	/* since learning began */
	bool		loaded;			/* meanwhile, as many block accesses as the pool has buffers */
	double		wanted_hours;	/* that must have been seen */
	int			advised_before; /* size; -1: nothing was */
	bool		evicted;		/* any page since the server started */
	bool		spare_memory;	/* the page cache could hold all data */
	bool		probed;			/* probes alone say how long reads take */
	bool		doubtful;		/* the model of the page cache is unproven */
	bool		unsettled;		/* the load is changing now, or looks see too little */
} PbpDecisionInput;

/* Before that, hardly any workload has shown all that it does. */
#define PBP_ENOUGH_SECONDS	30

typedef enum PbpDecisionKind
{
	PBP_DECIDE_UNKNOWN,			/* today's figure is, or all others are, because
								 * too few reads are seen */
	PBP_DECIDE_SHORT,			/* too early, by the time watched */
	PBP_DECIDE_IDLE,			/* too early: hardly any load yet */
	PBP_DECIDE_EARLY,			/* too early, by what was learned */
	PBP_DECIDE_UNSURE,			/* the best size saves enough to matter, but not for certain */
	PBP_KEEP_UNUSED,			/* today's size; no page has been evicted yet */
	PBP_KEEP_FEW_READS,			/* today's size; hardly anything is read */
	PBP_KEEP_CACHED,			/* sessions hardly wait for storage */
	PBP_KEEP,					/* no size is better by enough to matter */
	PBP_TAKE,					/* another size */
	PBP_LAST_DECISION_KIND = PBP_TAKE
} PbpDecisionKind;

/* What sizes are compared by, from the worst to the best. */
typedef enum PbpDecisionBasis
{
	PBP_BY_MISSES,				/* share of accesses */
	PBP_BY_STORAGE,				/* share of accesses */
	PBP_BY_WAITING,				/* milliseconds in a second, now */
	PBP_BY_HOURS,				/* the same, in all hours */
	PBP_LAST_DECISION_BASIS = PBP_BY_HOURS
} PbpDecisionBasis;

typedef enum PbpConfidence
{
	PBP_UNSURE,
	PBP_LIKELY,
	PBP_SURE,
	PBP_LAST_CONFIDENCE = PBP_SURE
} PbpConfidence;

typedef enum PbpVerdict
{
	PBP_VERDICT_UNKNOWN,
	PBP_VERDICT_FINE,
	PBP_VERDICT_CONSIDER,
	PBP_VERDICT_CHANGE,
	PBP_LAST_VERDICT = PBP_VERDICT_CHANGE
} PbpVerdict;

typedef struct PbpDecision
{
	PbpDecisionKind kind;
	PbpDecisionBasis basis;
	PbpConfidence confidence;
	PbpVerdict	verdict;
	int			size;			/* that is advised; the baseline, unless PBP_TAKE */
	int			best;			/* other size that fits, with the lowest
								 * figure; -1: there is none */
	int			equal_from;		/* sizes that cannot be told apart from the best */
	int			equal_to;		/* one of all; -1: none is known */
	bool		times_decide;	/* with more precise times than those of probes,
								 * the answer may be another one */
	bool		matters_too_little; /* the best is lower by more than the error,
									 * but not by enough */
	double		learned_share;	/* if too early */
	double		seen_seconds;	/* of the hours, if these are the basis */
	double		wanted_seconds; /* in these hours */
	double		active_ms;		/* time that sessions work in a second; 0: unknown */
	PbpCompared choices[PBP_ADVICE_FACTORS];	/* by the basis */
} PbpDecision;

extern PbpDecision pbp_decide(const PbpDecisionInput *input);

/* The size above which the curve is flat; -1: no pronounced knee.  NaN among ratios: unknown. */
extern int	pbp_knee(const double *ratios, int nsizes, double (*factor) (int i));

#endif							/* PBP_DECISION_H */

/*-------------------------------------------------------------------------
 *
 * totals.h
 *	  How much memory both caches need together: the best split of each total,
 *	  and the least total that meets a target.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_TOTALS_H
#define PBP_TOTALS_H

#include "statistics/decision.h"

typedef enum PbpTargetKind
{
	PBP_TARGET_STORAGE,			/* share of accesses that wait for storage */
	PBP_TARGET_WAITING,			/* milliseconds in a second */
	PBP_TARGET_TODAY,			/* no worse than today */
	PBP_TARGET_TIME				/* change of the time that sessions work */
} PbpTargetKind;

typedef struct PbpTarget
{
	PbpTargetKind kind;
	double		most;			/* in its unit; a change is a share */
} PbpTarget;

/* What is known of all totals and splits. */
typedef struct PbpTotalsInput
{
	const PbpAdviceRow *misses; /* by size of the pool */
	const PbpAdviceStorageRow *fixed;	/* by size, with today's memory */
	const bool *fits;			/* by size, with today's memory */
	const PbpAdviceSplit (*splits)[PBP_SPLITS]; /* by total, but today's */
	PbpWaitingInput waiting;
	const PbpHoursSum *hours;	/* that count instead of the load now; NULL: none */
	double		active_ms;		/* that sessions work in a second; NaN: unknown */
	int			advised;		/* size, of today's memory; the baseline: none is better */
} PbpTotalsInput;

/* A total of memory, and its best split; figures are NaN if none is known. */
typedef struct PbpTotal
{
	double		factor;			/* of both caches together today */
	double		pool;			/* factor of today's pool */
	int			size;			/* the same, of those simulated; -1: between two, or unknown */
	PbpFigure	storage;		/* share of accesses that wait for it */
	PbpCompared waiting;		/* in a second */
} PbpTotal;

typedef enum PbpTargetResult
{
	PBP_TARGET_UNKNOWN,			/* no known total meets it, but unknown ones may */
	PBP_TARGET_MISSED,			/* no total meets it; the best that can be had */
	PBP_TARGET_MET,
	PBP_TARGET_MET_BELOW		/* less memory than that found may meet it, too */
} PbpTargetResult;

extern bool pbp_parse_target(const char *text, PbpTarget *target);
extern void pbp_totals(const PbpTotalsInput *input, PbpTotal *totals);
extern PbpTotal pbp_today_total(const PbpTotalsInput *input);
extern PbpTargetResult pbp_least_total(const PbpTotalsInput *input, const PbpTarget *target,
									   PbpTotal *found);
extern int	pbp_knee_of_totals(const PbpTotal *totals);

#endif							/* PBP_TOTALS_H */

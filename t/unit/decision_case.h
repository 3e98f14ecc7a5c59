/*
 * decision_case.h
 *	  Tables of estimates, and what src/statistics/decision.c says about them.
 */
#ifndef DECISION_CASE_H
#define DECISION_CASE_H

#include "statistics/decision.h"
#include "advice_model.h"

#define SIZES	PBP_ADVICE_FACTORS

/* by size: 0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2, 3, 4 */
typedef double Curve[SIZES];

_Static_assert(SIZES == 11, "the curves of these tests have a figure for each size");

/* What the test changes before it asks. */
typedef struct Case
{
	bool		fits[SIZES];
	PbpAdviceRow misses[SIZES];
	PbpAdviceStorageRow storage[SIZES];
	double		varies;
	bool		has_storage;
	double		seconds;
	double		active_ms;
	PbpCompared waiting[SIZES];
	bool		has_waiting;
	PbpHoursSum hours;
	double		wanted_hours;
	int			before;
	bool		unused;
	bool		idle;
	bool		probed;
	bool		spare_memory;
	bool		doubtful;
	bool		unsettled;
} Case;

/* of misses, and of storage reads with two optima */
extern const Curve falling;
extern const Curve hump;

extern Case new_case(const Curve misses, const Curve storage, double error);
extern Case new_waiting(const Curve ms, double error);
extern Case new_hours(const Curve ms, double error, double hours, double active_ms);
extern void forget_storage(Case *one, int from, int to, double learned, PbpStorageReason reason);
extern void forget_misses(Case *one, int i, double learned, PbpAdviceReason reason);
extern PbpDecision ask(const Case *one);
extern void is_decided(const Case *one, PbpDecisionKind kind, double factor, const char *what);
extern void is_judged(const Case *one, PbpConfidence confidence, PbpVerdict verdict, const char *what);

#endif							/* DECISION_CASE_H */

/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  A figure that is estimated from the sample, and the three things that make
 *	  it uncertain: chance in the sample, time, and the model.  Those of miss
 *	  ratios, from which all others are made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ESTIMATE_H
#define PBP_ESTIMATE_H

#include "simulator/internal.h"
#include "statistics/figures.h"

/* Instead of a group that is left out of the sample: none is. */
#define NO_GROUP			(-1)

typedef struct PbpEstimate
{
	double		value;
	double		without[GROUPS];	/* the same figure without each group of sampled pages */
	double		time;			/* half a 95 % interval of the mean of the load, which varies */
	double		model;			/* half a 95 % interval of what neither of them shows */
} PbpEstimate;

/* Half a 95 % interval, by chance in the sample. */
static inline double
chance_of(const PbpEstimate *estimate)
{
	return pbp_jackknife_error(estimate->without, GROUPS);
}

/* By how much of it the figure varies with the load, at most all. */
static inline double
varying_share(const PbpEstimate *estimate)
{
	return fmin(1, estimate->time / fmax(1e-9, estimate->value));
}

/* Half of the 95 % interval. */
static inline double
error_of(const PbpEstimate *estimate)
{
	return hypot(chance_of(estimate), estimate->time) + estimate->model;
}

/*
 * Of its difference to today's, of the same sample and time, which the model does not doubt.  For
 * how it varies with the load, see pbp_compared_now().
 */
static inline double
error_of_change(const PbpEstimate *estimate, const PbpEstimate *today)
{
	double		without[GROUPS];

	for (int group = 0; group < GROUPS; group++)
		without[group] = estimate->without[group] - today->without[group];
	return pbp_jackknife_error(without, GROUPS) + estimate->model;
}

static inline double
sum_without(const double *counts, int group)
{
	return sum_of_groups(counts) - (group == NO_GROUP ? 0 : counts[group]);
}

static inline double
share_without(int group)
{
	return group == NO_GROUP ? 1 : 1 - 1.0 / GROUPS;
}

/* Of all that happened; 0 if nothing did. */
static inline double
skipped_share(double skipped, double counted)
{
	return skipped > 0 ? skipped / (skipped + counted) : 0;
}

/* ---- missratios.c ---- */

/* What is answered of each size, until something else is counted. */
typedef struct MissAnswers
{
	PbpAdviceReason reasons[FACTORS];	/* but for cliffs */
	PbpEstimate estimates[FACTORS]; /* as far as the reason is that it is known */
	PbpAdviceRow rows[FACTORS];
} MissAnswers;

extern double pbp_unseen_share(const Advice *advice);
extern const MissAnswers *pbp_miss_answers(const Advice *advice);

#endif							/* PBP_ESTIMATE_H */

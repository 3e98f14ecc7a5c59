/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  A figure that is estimated from the sample, and the three things that make
 *	  it uncertain: chance in the sample, time, and the model.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ESTIMATE_H
#define PBP_ESTIMATE_H

#include "base/stats.h"
#include "simulator/internal.h"

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

/* Half of the 95 % interval. */
static inline double
error_of(const PbpEstimate *estimate)
{
	return hypot(chance_of(estimate), estimate->time) + estimate->model;
}

/* Of its difference to another one of the same sample and time, which the model does not doubt. */
static inline double
error_of_difference(const PbpEstimate *estimate, const PbpEstimate *other)
{
	double		without[GROUPS];

	for (int group = 0; group < GROUPS; group++)
		without[group] = estimate->without[group] - other->without[group];
	return pbp_jackknife_error(without, GROUPS) + estimate->model;
}

#endif							/* PBP_ESTIMATE_H */

/*-------------------------------------------------------------------------
 *
 * stats.h
 *	  Errors of what was counted in a sample.
 *
 * All are half the width of a 95 % interval, or the distance to its farther
 * end.  Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STATS_H
#define PBP_STATS_H

#include <math.h>
#include <stddef.h>

/* Standard deviations that cover 95 % of a normal distribution. */
#define PBP_DEVIATIONS		1.96

/* Sampled events below which there is no figure. */
#define PBP_ENOUGH_EVENTS	50.0

/* A figure, and half the width of its 95 % interval.  NaN: unknown. */
typedef struct PbpFigure
{
	double		value;
	double		error;
} PbpFigure;

/* A figure at one size of the pool, compared with that at today's.  NaN: unknown. */
typedef struct PbpCompared
{
	double		value;
	double		error;			/* half the width of a 95 % interval, here and below */
	double		change;			/* difference to today's size */
	double		change_error;
} PbpCompared;

/* As certain as it is now, of a load that varies by such a share.  Over hours, that averages out. */
static inline PbpCompared
pbp_compared_now(PbpCompared figure, double varies)
{
	figure.change_error = hypot(figure.change_error, varies * figure.change);
	return figure;
}

#define PBP_NO_FIGURE		((PbpFigure) {NAN, NAN})
#define PBP_NOT_COMPARED	((PbpCompared) {NAN, NAN, NAN, NAN})

typedef struct PbpInterval
{
	double		middle;
	double		half;
} PbpInterval;

/*
 * Wilson's interval of a share of n events.  Unlike the normal approximation, it
 * holds for small counts, too: if the sample has none, there may still be some.
 */
static inline PbpInterval
pbp_share_interval(double share, double n)
{
	double		doubt = PBP_DEVIATIONS * PBP_DEVIATIONS / n;

	return (PbpInterval)
	{
		.middle = (share + doubt / 2) / (1 + doubt),
		.half = sqrt(doubt * (share * (1 - share) + doubt / 4)) / (1 + doubt),
	};
}

/* The distance to its farther end. */
static inline double
pbp_share_error(double share, double n)
{
	PbpInterval interval = pbp_share_interval(share, n);

	return fabs(interval.middle - share) + interval.half;
}

/*
 * The error of a number of events that were sampled at this rate: 0 for
 * independent events, and at 1 nothing is uncertain.
 */
static inline double
pbp_count_error(double count, double rate)
{
	double		doubt = PBP_DEVIATIONS * PBP_DEVIATIONS * (1 - rate);

	return doubt / 2 + sqrt(doubt * (count + doubt / 4));
}

/*
 * The error of a figure, from the figures without each of n random parts of the
 * same size (jackknife).
 */
static inline double
pbp_jackknife_error(const double *figures, int n)
{
	double		mean = 0;
	double		squares = 0;

	for (int i = 0; i < n; i++)
		mean += figures[i] / n;
	for (int i = 0; i < n; i++)
		squares += (figures[i] - mean) * (figures[i] - mean);
	return PBP_DEVIATIONS * sqrt(squares * (n - 1) / n);
}

/* ---- structs of nothing but doubles ---- */

/* Less than this is nothing: many processors take a hundred times as long for subnormals. */
#define PBP_LEAST_COUNT		1e-100

static inline void
pbp_scale_doubles(void *values, size_t bytes, double weight)
{
	double	   *value = values;

	for (size_t i = 0; i < bytes / sizeof(double); i++)
		value[i] = fabs(value[i]) < PBP_LEAST_COUNT ? 0 : weight * value[i];
}

static inline void
pbp_add_doubles(void *sum, const void *values, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(double); i++)
		((double *) sum)[i] += ((const double *) values)[i];
}

/* All that was added before keeps such a weight. */
static inline void
pbp_add_fading(void *sum, double weight, const void *values, size_t bytes)
{
	pbp_scale_doubles(sum, bytes, weight);
	pbp_add_doubles(sum, values, bytes);
}

#endif							/* PBP_STATS_H */

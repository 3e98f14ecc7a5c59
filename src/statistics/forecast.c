/*-------------------------------------------------------------------------
 *
 * forecast.c
 *	  What the advice predicts for any size between the smallest and the largest
 *	  that it estimates.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/prediction.h"

/* Sizes closer than this are the same: page counts are rounded. */
#define SAME_FACTOR			0.001

/* Where a size lies between two that the advice estimates. */
typedef struct Place
{
	int			below;			/* -1: outside */
	int			above;			/* the same: exactly there */
	double		share;			/* of the way from one to the other */
} Place;

static double
width(int i)
{
	return log2(pbp_advice_factor(i + 1) / pbp_advice_factor(i));
}

int
pbp_size_of_factor(double factor)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (fabs(factor / pbp_advice_factor(i) - 1) <= SAME_FACTOR)
			return i;
	return -1;
}

static Place
find_place(double factor)
{
	int			size = pbp_size_of_factor(factor);

	if (size >= 0)
		return (Place) {size, size, 0};
	for (int i = 1; i < PBP_ADVICE_FACTORS && factor > pbp_advice_factor(0); i++)
		if (factor < pbp_advice_factor(i))
			return (Place) {i - 1, i, log2(factor / pbp_advice_factor(i - 1)) / width(i - 1)};
	return (Place) {-1, -1, 0};
}

/* NaN: unknown, or there is no such line. */
static double
slope(const PbpFigure *points, int i)
{
	if (i < 0 || i + 1 >= PBP_ADVICE_FACTORS)
		return NAN;
	return (points[i + 1].value - points[i].value) / width(i);
}

/*
 * How far the curve may be from the line between two points.  Where it bends to
 * one side only, it lies between this line and those through the next points,
 * extended.  Where it bends to both, there may be a step.  At an end of the
 * curve, or next to an unknown size, it is taken for a parabola.
 */
static double
bend(const PbpFigure *points, const Place *place)
{
	double		here = slope(points, place->below);
	double		below = here - slope(points, place->below - 1);
	double		above = slope(points, place->above) - here;
	double		from_below = fabs(below) * place->share * width(place->below);
	double		from_above = fabs(above) * (1 - place->share) * width(place->below);

	if (isnan(below) && isnan(above))
		return fabs(points[place->above].value - points[place->below].value) / 2;
	if (isnan(below))
		return from_above * place->share;
	if (isnan(above))
		return from_below * (1 - place->share);
	return (below < 0) == (above < 0) ? fmin(from_below, from_above) : fmax(from_below, from_above);
}

/*
 * The line between the next points by the logarithm of the size, with the larger
 * of their errors and how far the curve may be from that line.
 */
PbpFigure
pbp_curve_at(const PbpFigure *points, double factor)
{
	Place		place = find_place(factor);
	const PbpFigure *below;
	const PbpFigure *above;
	double		error;

	if (pbp_unknown_point(points, factor) >= 0)
		return PBP_NO_FIGURE;
	below = &points[place.below];
	above = &points[place.above];
	error = fmax(below->error, above->error);
	if (place.below != place.above)
		error += bend(points, &place);
	return (PbpFigure) {below->value + place.share * (above->value - below->value), error};
}

/* For a share.  A curve that falls with the size stays between the intervals of both points. */
PbpForecast
pbp_forecast(const PbpFigure *points, double factor, bool falls)
{
	PbpFigure	point = pbp_curve_at(points, factor);
	PbpForecast forecast = {point.value, point.value - point.error, point.value + point.error};

	if (isnan(point.value))
		return forecast;
	if (falls)
	{
		Place		place = find_place(factor);
		const PbpFigure *below = &points[place.below];
		const PbpFigure *above = &points[place.above];

		forecast.low = fmax(forecast.low,
							fmin(below->value - below->error, above->value - above->error));
		forecast.high = fmin(forecast.high,
							 fmax(below->value + below->error, above->value + above->error));
	}
	forecast.low = fmax(0, forecast.low);
	forecast.high = fmin(1, forecast.high);
	return forecast;
}

/* Which of the next points is unknown.  -1: none; PBP_ADVICE_FACTORS: the size lies outside. */
int
pbp_unknown_point(const PbpFigure *points, double factor)
{
	Place		place = find_place(factor);

	if (place.below < 0)
		return PBP_ADVICE_FACTORS;
	if (isnan(points[place.below].value))
		return place.below;
	return isnan(points[place.above].value) ? place.above : -1;
}

/* Reads of a relation at another size, and their error. */
static double
expected_reads(const PbpRelationRow *row, double reads, double factor, double *error)
{
	double		today = row->read_share * reads;
	double		octaves = log2(factor);
	double		more = octaves < 0 ? row->added.reads : -row->saved.reads;
	double		more_error = octaves < 0 ? row->added.error : row->saved.error;

	*error = row->read_share_error * reads;
	if (octaves == 0 || isnan(more) || isnan(more_error) || today <= 0)
		return today;
	*error += fabs(octaves) * more_error;
	return today * pow(fmax(0, 1 + more / today), fabs(octaves));
}

/*
 * Which relations will be read at another size, as today's workload goes on: a
 * relation whose pages fit into a larger pool is hardly read any more.
 */
void
pbp_expect_mix(const PbpRelationsReport *report, double reads, double factor, PbpReadMix *mix)
{
	double		sum = 0;

	*mix = (PbpReadMix) {0};
	for (int i = 0; i < report->nrows; i++)
	{
		const PbpRelationRow *row = &report->rows[i];
		PbpReadShare share = {.key = row->key};

		if (isnan(row->read_share))
			continue;
		share.share = expected_reads(row, reads, factor, &share.error);
		sum += share.share;
		if (row->others)
			mix->others = share.share;
		else if (mix->nrelations < PBP_TOP_RELATIONS)
			mix->relations[mix->nrelations++] = share;
	}
	if (!(sum > 0))
	{
		mix->nrelations = 0;
		return;
	}
	mix->others /= sum;
	for (int i = 0; i < mix->nrelations; i++)
	{
		mix->relations[i].share /= sum;
		mix->relations[i].error /= sum;
	}
}

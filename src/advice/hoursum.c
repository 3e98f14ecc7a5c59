/*-------------------------------------------------------------------------
 *
 * hoursum.c
 *	  What is kept of each hour, and sums of hours.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/hoursum.h"

#include <math.h>
#include <string.h>

#include "advice/prediction.h"

/* Of the accesses of an hour, those in which a size must have been known. */
#define ENOUGH_KNOWN		0.5

#define FIGURES				(sizeof(PbpHourSize) / sizeof(float))

_Static_assert(sizeof(PbpSizeSum) == FIGURES * sizeof(double), "a sum has the figures of an hour");

/* ---- counting ---- */

static void
add_misses(PbpHourSize *size, const PbpHourShare *share, int i)
{
	const PbpAdviceRow *row = &share->misses[i];
	double		today = share->misses[PBP_ADVICE_BASELINE].miss_ratio;

	if (isnan(row->miss_ratio) || isnan(today) || isnan(row->change_error))
		return;
	size->accesses += (float) share->accesses;
	size->misses += (float) (share->accesses * row->miss_ratio);
	size->misses_change += (float) (share->accesses * (row->miss_ratio - today));
	size->misses_change_error += (float) (share->accesses * row->change_error);
}

static void
add_waiting(PbpHourSize *size, const PbpHourShare *share, int i)
{
	PbpWaitingInput input = {share->accesses, share->times, &share->misses[PBP_ADVICE_BASELINE], &share->storage[PBP_ADVICE_BASELINE]};
	PbpWaiting	waiting = pbp_waiting(&input, &share->misses[i], &share->storage[i]);

	/* a sum with an unknown figure is unknown */
	if (isnan(waiting.error + waiting.change_error + waiting.ms + waiting.change))
		return;
	size->waiting_accesses += (float) share->accesses;
	size->storage_reads += (float) (share->accesses * share->storage[i].storage_ratio);
	size->waiting_ms += (float) waiting.ms;
	size->waiting_error += (float) waiting.error;
	size->waiting_change += (float) waiting.change;
	size->waiting_change_error += (float) waiting.change_error;
}

void
pbp_add_to_hour(PbpHour *hour, const PbpHourShare *share)
{
	hour->seconds += share->seconds;
	hour->accesses += share->accesses;
	hour->reads += share->reads;
	hour->active_ms += share->active_ms;
	if (!isnan(share->read_ms))
	{
		hour->read_ms += share->read_ms;
		hour->read_ms_seconds += share->seconds;
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS && share->accesses > 0; i++)
	{
		add_misses(&hour->sizes[i], share, i);
		if (share->storage != NULL && share->fits[i])
			add_waiting(&hour->sizes[i], share, i);
	}
}

/* ---- other sizes ---- */

/* A figure of all sizes for each access, and its error.  NaN: unknown. */
static void
curve_of(const PbpHour *hour, size_t accesses, size_t figure, size_t error, PbpCurvePoint *points)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const float *figures = (const float *) &hour->sizes[i];
		double		n = figures[accesses];

		points[i] = n > 0 ? (PbpCurvePoint) {figures[figure] / n, figures[error] / n} : (PbpCurvePoint) {NAN, NAN};
	}
}

static double
accesses_at(const PbpHour *hour, size_t accesses, double factor)
{
	PbpCurvePoint points[PBP_ADVICE_FACTORS];

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpCurvePoint) {((const float *) &hour->sizes[i])[accesses], 0};
	return pbp_curve_at(points, factor).value;
}

/* By their places in PbpHourSize. */
#define FIGURE(member)		(offsetof(PbpHourSize, member) / sizeof(float))

/*
 * What changes from one size to another.  Of the same size, nothing does, for
 * certain.
 */
static PbpCurvePoint
change_between(const PbpCurvePoint *points, double from, double to)
{
	PbpCurvePoint one = pbp_curve_at(points, from);
	PbpCurvePoint other = pbp_curve_at(points, to);

	return (PbpCurvePoint)
	{
		other.value - one.value, from == to ? 0 : hypot(one.error, other.error)
	};
}

static void
move_misses(const PbpHour *hour, double today, double factor, PbpHourSize *size)
{
	PbpCurvePoint points[PBP_ADVICE_FACTORS];
	double		accesses = fmin(accesses_at(hour, FIGURE(accesses), today), accesses_at(hour, FIGURE(accesses), factor));
	double		misses;
	PbpCurvePoint change;

	curve_of(hour, FIGURE(accesses), FIGURE(misses), FIGURE(misses_change_error), points);
	misses = pbp_curve_at(points, factor).value;
	curve_of(hour, FIGURE(accesses), FIGURE(misses_change), FIGURE(misses_change_error), points);
	change = change_between(points, today, factor);
	if (isnan(misses + change.value))
		return;
	size->accesses = (float) accesses;
	size->misses = (float) (accesses * misses);
	size->misses_change = (float) (accesses * change.value);
	size->misses_change_error = (float) (accesses * change.error);
}

static void
move_waiting(const PbpHour *hour, double today, double factor, PbpHourSize *size)
{
	PbpCurvePoint points[PBP_ADVICE_FACTORS];
	double		accesses = fmin(accesses_at(hour, FIGURE(waiting_accesses), today),
								accesses_at(hour, FIGURE(waiting_accesses), factor));
	PbpCurvePoint waiting;
	PbpCurvePoint change;
	double		storage;

	curve_of(hour, FIGURE(waiting_accesses), FIGURE(storage_reads), FIGURE(waiting_error), points);
	storage = pbp_curve_at(points, factor).value;
	curve_of(hour, FIGURE(waiting_accesses), FIGURE(waiting_ms), FIGURE(waiting_error), points);
	waiting = pbp_curve_at(points, factor);
	curve_of(hour, FIGURE(waiting_accesses), FIGURE(waiting_change), FIGURE(waiting_change_error), points);
	change = change_between(points, today, factor);
	if (isnan(waiting.value + change.value))
		return;
	size->waiting_accesses = (float) accesses;
	size->storage_reads = (float) (accesses * storage);
	size->waiting_ms = (float) (accesses * waiting.value);
	size->waiting_error = (float) (accesses * waiting.error);
	size->waiting_change = (float) (accesses * change.value);
	size->waiting_change_error = (float) (accesses * change.error);
}

/*
 * Where the other size lies outside of those that were estimated, nothing is
 * known of any.
 */
void
pbp_move_hour(PbpHour *hour, int64_t nbuffers)
{
	double		today = (double) nbuffers / (double) hour->nbuffers;
	PbpHourSize sizes[PBP_ADVICE_FACTORS] = {0};

	if (nbuffers == hour->nbuffers)
		return;
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		factor = i == PBP_ADVICE_BASELINE ? today : pbp_advice_factor(i) * today;

		move_misses(hour, today, factor, &sizes[i]);
		move_waiting(hour, today, factor, &sizes[i]);
	}
	memcpy(hour->sizes, sizes, sizeof(sizes));
	hour->nbuffers = nbuffers;
}

/* ---- sums ---- */

void
pbp_sum_hour(PbpHoursSum *sum, const PbpHour *hour)
{
	sum->nhours++;
	sum->seconds += hour->seconds;
	sum->accesses += hour->accesses;
	sum->reads += hour->reads;
	sum->active_ms += hour->active_ms;
	sum->read_ms += hour->read_ms;
	sum->read_ms_seconds += hour->read_ms_seconds;
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const float *figures = (const float *) &hour->sizes[i];
		double	   *sums = (double *) &sum->sizes[i];

		for (size_t j = 0; j < FIGURES; j++)
			sums[j] += figures[j];
	}
}

double
pbp_known_misses(const PbpHoursSum *sum, int size)
{
	return sum->accesses > 0 ? fmin(1, sum->sizes[size].accesses / sum->accesses) : 0;
}

double
pbp_known_waiting(const PbpHoursSum *sum, int size)
{
	return sum->accesses > 0 ? fmin(1, sum->sizes[size].waiting_accesses / sum->accesses) : 0;
}

static bool
is_known(const PbpHour *hour, int i)
{
	return hour->sizes[i].waiting_accesses > 0 && hour->sizes[i].waiting_accesses >= ENOUGH_KNOWN * hour->accesses;
}

int
pbp_best_of_hour(const PbpHour *hour)
{
	double		least = 0;
	int			best = is_known(hour, PBP_ADVICE_BASELINE) ? PBP_ADVICE_BASELINE : -1;

	for (int i = 0; best >= 0 && i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpHourSize *size = &hour->sizes[i];

		if (!is_known(hour, i) || size->waiting_change + size->waiting_change_error >= 0 ||
			size->waiting_change / size->waiting_accesses >= least)
			continue;
		least = size->waiting_change / size->waiting_accesses;
		best = i;
	}
	return best;
}

/*-------------------------------------------------------------------------
 *
 * hoursum.c
 *	  What is kept of each hour, and sums of hours.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/hoursum.h"

#include <math.h>
#include <string.h>

#include "statistics/prediction.h"

/* Of the accesses of an hour, those in which a size must have been known. */
#define ENOUGH_KNOWN		0.5

/* Of the accesses of all hours, those in which it must have been known. */
#define KNOWN_HOURS			0.8

/*
 * A share of memory that makes no other total of it: less than half of the
 * least step between two totals.
 */
#define SAME_MEMORY			0.08

_Static_assert(sizeof(PbpSizeSum) == 2 * sizeof(PbpHourSize), "a sum has the figures of an hour");
_Static_assert(sizeof(PbpWaitingSum) == 2 * sizeof(PbpHourWaiting),
			   "a sum has the figures of an hour");

/* ---- counting ---- */

/* Accesses of the load that the figures are about. */
static inline double
accesses_of_load(const PbpHourShare *share)
{
	return share->accesses - share->apart;
}

static void
add_misses(PbpHourSize *size, const PbpHourShare *share, int i)
{
	const PbpAdviceRow *row = &share->misses[i];
	double		today = share->misses[PBP_ADVICE_BASELINE].miss_ratio;
	double		accesses = accesses_of_load(share);

	if (isnan(row->miss_ratio) || isnan(today) || isnan(row->change_error))
		return;
	size->accesses += (float) accesses;
	size->misses += (float) (accesses * row->miss_ratio);
	size->misses_change += (float) (accesses * (row->miss_ratio - today));
	size->misses_change_error += (float) (accesses * row->change_error);
}

static void
add_waiting(PbpHourWaiting *sum, const PbpHourShare *share, int size,
			const PbpAdviceStorageRow *storage)
{
	double		accesses = accesses_of_load(share);
	PbpWaitingInput input = {accesses, share->times, &share->misses[PBP_ADVICE_BASELINE],
							 &share->storage[PBP_ADVICE_BASELINE]};
	PbpCompared waiting = pbp_waiting(&input, &share->misses[size], storage);

	/* a sum with an unknown figure is unknown */
	if (isnan(waiting.error + waiting.change_error + waiting.value + waiting.change +
			  storage->uncertainty))
		return;
	sum->accesses += (float) accesses;
	sum->storage_reads += (float) (accesses * storage->storage_ratio);
	sum->storage_error += (float) (accesses * storage->uncertainty);
	sum->ms += (float) waiting.value;
	sum->error += (float) waiting.error;
	sum->change += (float) waiting.change;
	sum->change_error += (float) waiting.change_error;
}

bool
pbp_is_of_memory(const PbpHour *hour, double memory)
{
	return hour->memory > 0 && fabs(memory / hour->memory - 1) <= SAME_MEMORY;
}

static void
forget_splits(PbpHour *hour)
{
	hour->memory = hour->memory_seconds = 0;
	memset(hour->split_sizes, 0, sizeof(hour->split_sizes));
	memset(hour->splits, 0, sizeof(hour->splits));
}

/*
 * Returns false if the hour is about another total of memory.  It keeps that until
 * this one has lasted for longer.
 */
static bool
follow_memory(PbpHour *hour, double memory, double seconds)
{
	if (pbp_is_of_memory(hour, memory))
	{
		hour->memory_seconds += seconds;
		return true;
	}
	hour->memory_seconds -= seconds;
	if (hour->memory_seconds >= 0)
		return false;
	forget_splits(hour);
	hour->memory = memory;
	hour->memory_seconds = seconds;
	return true;
}

/* What is known of a split with another pool is forgotten. */
static void
add_splits(PbpHour *hour, const PbpHourShare *share)
{
	if (!follow_memory(hour, share->memory, share->seconds))
		return;
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
		{
			const PbpAdviceSplit *split = &share->splits[i][kind];
			int			k = pbp_other_split(i, kind);

			if (hour->split_sizes[k] != split->size)
				hour->splits[k] = (PbpHourWaiting) {0};
			hour->split_sizes[k] = (uint8_t) split->size;
			if (split->fits)
				add_waiting(&hour->splits[k], share, split->size, &split->storage);
		}
}

void
pbp_add_to_hour(PbpHour *hour, const PbpHourShare *share)
{
	hour->seconds += share->seconds;
	hour->accesses += share->accesses;
	hour->apart += share->apart;
	hour->reads += share->reads;
	hour->active_ms += share->active_ms;
	hour->counted_ms += share->counted_ms;
	if (!isnan(share->read_ms))
	{
		hour->read_ms += share->read_ms;
		hour->read_ms_seconds += share->seconds;
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS && accesses_of_load(share) > 0; i++)
	{
		add_misses(&hour->sizes[i], share, i);
		if (share->storage != NULL && share->fits[i])
			add_waiting(&hour->sizes[i].waiting, share, i, &share->storage[i]);
	}
	if (share->storage != NULL && share->splits != NULL)
		add_splits(hour, share);
}

/* ---- other sizes ---- */

/* A figure of all sizes for each access, and its error.  NaN: unknown. */
static void
curve_of(const PbpHour *hour, size_t accesses, size_t figure, size_t error, PbpFigure *points)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const float *figures = (const float *) &hour->sizes[i];
		double		n = figures[accesses];

		points[i] = n > 0 ? (PbpFigure) {figures[figure] / n, figures[error] / n} :
			(PbpFigure) {NAN, NAN};
	}
}

static double
accesses_at(const PbpHour *hour, size_t accesses, double factor)
{
	PbpFigure points[PBP_ADVICE_FACTORS];

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpFigure) {((const float *) &hour->sizes[i])[accesses], 0};
	return pbp_curve_at(points, factor).value;
}

/* By their places in PbpHourSize. */
#define FIGURE(member)		(offsetof(PbpHourSize, member) / sizeof(float))

/*
 * What changes from one size to another.  Of the same size, nothing does, for
 * certain.
 */
static PbpFigure
change_between(const PbpFigure *points, double from, double to)
{
	PbpFigure one = pbp_curve_at(points, from);
	PbpFigure other = pbp_curve_at(points, to);

	return (PbpFigure)
	{
		other.value - one.value, from == to ? 0 : hypot(one.error, other.error)
	};
}

static void
move_misses(const PbpHour *hour, double today, double factor, PbpHourSize *size)
{
	PbpFigure points[PBP_ADVICE_FACTORS];
	double		accesses = fmin(accesses_at(hour, FIGURE(accesses), today),
								accesses_at(hour, FIGURE(accesses), factor));
	double		misses;
	PbpFigure change;

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
move_waiting(const PbpHour *hour, double today, double factor, PbpHourWaiting *moved)
{
	PbpFigure points[PBP_ADVICE_FACTORS];
	double		accesses = fmin(accesses_at(hour, FIGURE(waiting.accesses), today),
								accesses_at(hour, FIGURE(waiting.accesses), factor));
	PbpFigure waiting;
	PbpFigure change;
	PbpFigure storage;

	curve_of(hour, FIGURE(waiting.accesses), FIGURE(waiting.storage_reads),
			 FIGURE(waiting.storage_error), points);
	storage = pbp_curve_at(points, factor);
	curve_of(hour, FIGURE(waiting.accesses), FIGURE(waiting.ms), FIGURE(waiting.error), points);
	waiting = pbp_curve_at(points, factor);
	curve_of(hour, FIGURE(waiting.accesses), FIGURE(waiting.change), FIGURE(waiting.change_error),
			 points);
	change = change_between(points, today, factor);
	if (isnan(waiting.value + change.value))
		return;
	moved->accesses = (float) accesses;
	moved->storage_reads = (float) (accesses * storage.value);
	moved->storage_error = (float) (accesses * storage.error);
	moved->ms = (float) (accesses * waiting.value);
	moved->error = (float) (accesses * waiting.error);
	moved->change = (float) (accesses * change.value);
	moved->change_error = (float) (accesses * change.error);
}

/*
 * Where the other size lies outside of those that were estimated, nothing is
 * known of any.  Of other totals of memory, nothing is interpolated.
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
		move_waiting(hour, today, factor, &sizes[i].waiting);
	}
	forget_splits(hour);
	memcpy(hour->sizes, sizes, sizeof(sizes));
	hour->nbuffers = nbuffers;
}

/* ---- sums ---- */

static void
add_figures(void *sum, const void *figures, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(float); i++)
		((double *) sum)[i] += ((const float *) figures)[i];
}

void
pbp_sum_hour(PbpHoursSum *sum, const PbpHour *hour)
{
	sum->nhours++;
	sum->seconds += hour->seconds;
	sum->accesses += hour->accesses;
	sum->apart += hour->apart;
	sum->reads += hour->reads;
	sum->active_ms += hour->active_ms;
	sum->counted_ms += hour->counted_ms;
	sum->read_ms += hour->read_ms;
	sum->read_ms_seconds += hour->read_ms_seconds;
	add_figures(sum->sizes, hour->sizes, sizeof(hour->sizes));
}

void
pbp_sum_splits(PbpHoursSum *sum, const PbpHour *hour, const PbpAdviceSplit (*splits)[PBP_SPLITS])
{
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
		{
			int			k = pbp_other_split(i, kind);

			if (hour->split_sizes[k] == splits[i][kind].size)
				add_figures(&sum->splits[k], &hour->splits[k], sizeof(hour->splits[k]));
		}
}

/* In a second. */
double
pbp_working_of_sum(const PbpHoursSum *sum)
{
	return pbp_working_ms(sum->active_ms, sum->counted_ms) / sum->seconds;
}

PbpCompared
pbp_waiting_of_sum(const PbpHoursSum *sum, const PbpWaitingSum *waiting)
{
	double		accesses = sum->accesses - sum->apart;
	double		scale;

	if (!(waiting->accesses > 0 && waiting->accesses >= KNOWN_HOURS * accesses))
		return (PbpCompared) {NAN, NAN, NAN, NAN};
	scale = accesses / waiting->accesses / sum->seconds;
	return (PbpCompared) {waiting->ms * scale, waiting->error * scale, waiting->change * scale,
						  waiting->change_error * scale};
}

static bool
is_known(const PbpHour *hour, int i)
{
	return hour->sizes[i].waiting.accesses > 0 &&
		hour->sizes[i].waiting.accesses >= ENOUGH_KNOWN * (hour->accesses - hour->apart);
}

int
pbp_best_of_hour(const PbpHour *hour)
{
	double		least = 0;
	int			best = is_known(hour, PBP_ADVICE_BASELINE) ? PBP_ADVICE_BASELINE : -1;

	for (int i = 0; best >= 0 && i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpHourWaiting *waiting = &hour->sizes[i].waiting;

		if (!is_known(hour, i) || waiting->change + waiting->change_error >= 0 ||
			waiting->change / waiting->accesses >= least)
			continue;
		least = waiting->change / waiting->accesses;
		best = i;
	}
	return best;
}

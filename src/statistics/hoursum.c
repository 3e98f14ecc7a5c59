/*-------------------------------------------------------------------------
 *
 * hoursum.c
 *	  What is kept of each hour, and sums of hours.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/hoursum.h"

#include <string.h>

#include "statistics/prediction.h"

/* Of the accesses of an hour, those in which a size must have been known. */
#define ENOUGH_KNOWN		0.5

/* Of the accesses of all hours, those in which it must have been known. */
#define KNOWN_HOURS			0.8

/* A share of memory that makes no other total: less than half of the least step between two. */
#define SAME_MEMORY			0.08

/* ---- counting ---- */

/* Accesses of the load that the figures are about. */
static inline double
accesses_of_load(const PbpHourShare *share)
{
	return share->accesses - share->apart;
}

static void
add_waiting(PbpHourWaiting *sum, const PbpHourShare *share, int size,
			const PbpAdviceStorageRow *storage)
{
	double		accesses = accesses_of_load(share);
	PbpWaitingInput input = {accesses, share->times, &share->misses[PBP_ADVICE_BASELINE],
							 &share->storage[PBP_ADVICE_BASELINE], 0};
	PbpCompared waiting = pbp_waiting(&input, &share->misses[size], storage);

	/* a sum with an unknown figure is unknown */
	if (isnan(waiting.error + waiting.change_error + waiting.value + waiting.change +
			  storage->ratio.error))
		return;
	sum->accesses += (float) accesses;
	sum->storage_reads += (float) (accesses * storage->ratio.value);
	sum->storage_error += (float) (accesses * storage->ratio.error);
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
		if (share->storage != NULL && share->fits[i])
			add_waiting(&hour->sizes[i], share, i, &share->storage[i]);
	if (share->storage != NULL && share->splits != NULL)
		add_splits(hour, share);
}

/* ---- other sizes ---- */

/* NaN: unknown. */
static PbpFigure
per_access(double figure, double error, double accesses)
{
	return accesses > 0 ? (PbpFigure) {figure / accesses, error / accesses} : PBP_NO_FIGURE;
}

/*
 * Where the other size lies outside of those that were estimated, nothing is known of any, since
 * changes are differences to it.  Of other totals of memory, nothing is interpolated.
 */
void
pbp_move_hour(PbpHour *hour, int64_t nbuffers)
{
	double		today = (double) nbuffers / (double) hour->nbuffers;
	PbpFigure	accesses[PBP_ADVICE_FACTORS];
	PbpFigure	storage_reads[PBP_ADVICE_FACTORS];
	PbpFigure	ms[PBP_ADVICE_FACTORS];
	PbpFigure	changes[PBP_ADVICE_FACTORS];

	if (nbuffers == hour->nbuffers)
		return;
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpHourWaiting *size = &hour->sizes[i];

		accesses[i] = (PbpFigure) {size->accesses, 0};
		storage_reads[i] = per_access(size->storage_reads, size->storage_error, size->accesses);
		ms[i] = per_access(size->ms, size->error, size->accesses);
		changes[i] = per_access(size->change, size->change_error, size->accesses);
	}
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		factor = pbp_advice_factor(i) * today;
		PbpFigure	from = pbp_curve_at(changes, today);
		PbpFigure	to = pbp_curve_at(changes, factor);
		PbpFigure	storage = pbp_curve_at(storage_reads, factor);
		PbpFigure	waiting = pbp_curve_at(ms, factor);
		/* in which both sizes were known */
		double		n = fmin(pbp_curve_at(accesses, today).value,
							 pbp_curve_at(accesses, factor).value);

		hour->sizes[i] = (PbpHourWaiting) {0};
		if (!isnan(to.value - from.value))
			hour->sizes[i] = (PbpHourWaiting)
		{
			.accesses = (float) n,
			.storage_reads = (float) (n * storage.value),
			.storage_error = (float) (n * storage.error),
			.ms = (float) (n * waiting.value),
			.error = (float) (n * waiting.error),
			.change = (float) (n * (to.value - from.value)),
			.change_error = i == PBP_ADVICE_BASELINE ? 0 :
				(float) (n * hypot(from.error, to.error)),
		};
	}
	forget_splits(hour);
	hour->nbuffers = nbuffers;
}

/* ---- sums ---- */

static void
add_floats(void *sum, const void *floats, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(float); i++)
		((float *) sum)[i] += ((const float *) floats)[i];
}

void
pbp_sum_hour(PbpHoursSum *sum, const PbpHour *hour)
{
	sum->seconds += hour->seconds;
	sum->accesses += hour->accesses;
	sum->reads += hour->reads;
	sum->apart += hour->apart;
	sum->active_ms += hour->active_ms;
	sum->counted_ms += hour->counted_ms;
	add_floats(sum->sizes, hour->sizes, sizeof(hour->sizes));
}

void
pbp_sum_splits(PbpHoursSum *sum, const PbpHour *hour, const PbpAdviceSplit (*splits)[PBP_SPLITS])
{
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
		{
			int			k = pbp_other_split(i, kind);

			if (hour->split_sizes[k] == splits[i][kind].size)
				add_floats(&sum->splits[k], &hour->splits[k], sizeof(hour->splits[k]));
		}
}

double
pbp_working_of_sum(const PbpHoursSum *sum)
{
	return pbp_working_ms(sum->active_ms, sum->counted_ms) / sum->seconds;
}

/* In a second, as if it had been known for all of these accesses, and not for a share of them. */
static PbpCompared
per_second(const PbpHourWaiting *waiting, double accesses, double seconds, double enough)
{
	double		scale = accesses / waiting->accesses / seconds;

	if (!(waiting->accesses > 0 && waiting->accesses >= enough * accesses))
		return PBP_NOT_COMPARED;
	return (PbpCompared)
	{
		waiting->ms * scale, waiting->error * scale, waiting->change * scale,
		waiting->change_error * scale
	};
}

PbpCompared
pbp_waiting_of_sum(const PbpHoursSum *sum, const PbpHourWaiting *waiting)
{
	return per_second(waiting, sum->accesses - sum->apart, sum->seconds, KNOWN_HOURS);
}

PbpCompared
pbp_waiting_of_hour(const PbpHour *hour, int size)
{
	return per_second(&hour->sizes[size], hour->accesses - hour->apart, hour->seconds,
					  ENOUGH_KNOWN);
}

int
pbp_best_of_hour(const PbpHour *hour)
{
	double		least = 0;
	int			best = PBP_ADVICE_BASELINE;

	if (isnan(pbp_waiting_of_hour(hour, PBP_ADVICE_BASELINE).value))
		return -1;
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpCompared waiting = pbp_waiting_of_hour(hour, i);

		if (waiting.change + waiting.change_error < 0 && waiting.change < least)
		{
			least = waiting.change;
			best = i;
		}
	}
	return best;
}

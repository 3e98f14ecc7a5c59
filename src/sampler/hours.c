/*-------------------------------------------------------------------------
 *
 * hours.c
 *	  The hours of the last eight days: what the worker adds to them, and sums
 *	  of the last ones.
 *
 * They are in shared memory, beside the history.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "miscadmin.h"
#include "pgtime.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "sampler/hours.h"

#define HOURS_OF_DAY	24
#define HOURS_OF_WEEK	168
#define NEARLY_ALL_HOURS	0.9

/* Of an hour, what must have had the same memory. */
#define MOST_OF_HOUR		0.5

/* ---- for the worker ---- */

/* What the worker adds to; nbuffers is 0 before the first second. */
static PbpHour current;
static uint32 current_resets;

/* Times before 2000 are negative. */
static TimestampTz
hour_of(TimestampTz time)
{
	TimestampTz into = time % USECS_PER_HOUR;

	return time - (into < 0 ? into + USECS_PER_HOUR : into);
}

/* A restart of the server within an hour continues it, and so does a clock that is set back. */
static void
begin_hour(TimestampTz begins_at)
{
	int			nhours;
	PbpHour    *hours = pbp_hours(&nhours);

	memset(&current, 0, sizeof(current));
	current.begins_at = begins_at;
	current.nbuffers = NBuffers;
	for (int i = 0; i < nhours; i++)
		if (hours[i].begins_at == begins_at)
			current = hours[i];
	pbp_move_hour(&current, NBuffers);
	pfree(hours);
}

void
pbp_count_hour(TimestampTz now, const PbpHourShare *share, uint32 resets)
{
	if (current.nbuffers == 0 || current.begins_at != hour_of(now) || current_resets != resets)
		begin_hour(hour_of(now));
	current_resets = resets;
	pbp_add_to_hour(&current, share);
	pbp_put_hour(&current, resets);
}

/* ---- saved ---- */

static const PbpField waiting_fields[] = {
	PBP_FIELD(PBP_REAL, PbpHourWaiting, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, storage_reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, storage_error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, ms, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, change, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourWaiting, change_error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField size_fields[] = {
	PBP_FIELD(PBP_REAL, PbpHourSize, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourSize, misses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourSize, misses_change, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHourSize, misses_change_error, 0, PBP_MANY),
	PBP_STRUCT_FIELD(PbpHourSize, waiting, waiting_fields),
	PBP_END_OF_FIELDS
};

const PbpField pbp_hour_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpHour, begins_at, PBP_FIRST_TIME, PBP_LAST_TIME),
	PBP_FIELD(PBP_SIGNED, PbpHour, nbuffers, 1, INT_MAX / 2),
	PBP_FIELD(PBP_REAL, PbpHour, seconds, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, active_ms, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, counted_ms, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, read_ms, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpHour, read_ms_seconds, 0, PBP_MANY),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpHour, sizes, 0, 0, size_fields),
	PBP_FIELD(PBP_REAL, PbpHour, memory, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_REAL, PbpHour, memory_seconds, 0, PBP_MANY),
	PBP_ARRAY_FIELD(PBP_UNSIGNED, PbpHour, split_sizes, 0, PBP_ADVICE_FACTORS - 1, NULL),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpHour, splits, 0, 0, waiting_fields),
	PBP_FIELD(PBP_REAL, PbpHour, apart, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

/*
 * A sum of floats is rounded each second, so that a part may become slightly more
 * than all of it.
 */
#define MOST_ROUNDED		1.01

/* For an access, as for a second, nothing is more than can be counted. */
static const char *
check_waiting(const PbpHourWaiting *waiting)
{
	double		most = PBP_MANY * waiting->accesses;

	if (waiting->storage_reads > MOST_ROUNDED * waiting->accesses)
		return "waiting.storage_reads";
	return waiting->storage_error > most || waiting->ms > most || waiting->error > most ||
		fabsf(waiting->change) > most || waiting->change_error > most ? "waiting" : NULL;
}

static const char *
check_size(const PbpHourSize *size)
{
	if (size->misses > MOST_ROUNDED * size->accesses)
		return "sizes.misses";
	return check_waiting(&size->waiting);
}

/*
 * Returns the field that contradicts another one in an hour whose values are
 * possible; NULL if there is none.
 */
const char *
pbp_check_hour(const PbpHour *hour)
{
	const char *wrong = NULL;

	if (hour->begins_at % USECS_PER_HOUR != 0)
		return "begins_at";
	if (hour->reads > hour->accesses)
		return "reads";
	if (hour->apart > hour->accesses)
		return "apart";
	if (hour->seconds == 0 || hour->accesses > PBP_MANY * hour->seconds)
		return "seconds";
	if (hour->active_ms > PBP_MANY * hour->seconds || hour->counted_ms > PBP_MANY * hour->seconds)
		return "active_ms";
	if (hour->read_ms > PBP_MANY * hour->read_ms_seconds)
		return "read_ms";
	for (int i = 0; wrong == NULL && i < PBP_ADVICE_FACTORS; i++)
		wrong = check_size(&hour->sizes[i]);
	for (int i = 0; wrong == NULL && i < PBP_OTHER_SPLITS; i++)
		wrong = check_waiting(&hour->splits[i]);
	return wrong;
}

/* ---- for readers ---- */

static int
compare_hours(const void *one, const void *other)
{
	TimestampTz begins_at = ((const PbpHour *) one)->begins_at;
	TimestampTz other_begins_at = ((const PbpHour *) other)->begins_at;

	return (begins_at > other_begins_at) - (begins_at < other_begins_at);
}

/*
 * The hour that runs and so many before it, as far as anything was seen in them,
 * oldest first; palloc'd.  Others that are kept are of a time in which the machine's
 * clock was another one.
 */
PbpHour *
pbp_last_hours(int before, TimestampTz now, int *nhours)
{
	TimestampTz first = hour_of(now) - before * USECS_PER_HOUR;
	int			nkept;
	PbpHour    *hours = pbp_hours(&nkept);

	*nhours = 0;
	for (int i = 0; i < nkept; i++)
		if (hours[i].begins_at >= first && hours[i].begins_at <= now)
			hours[(*nhours)++] = hours[i];
	qsort(hours, *nhours, sizeof(*hours), compare_hours);
	return hours;
}

/*
 * True if pgbufprobe.decision_skip_hours leaves out the hour that begins then.
 * It is in the time zone of the log, since TimeZone may differ between sessions,
 * whose answers must not.
 */
bool
pbp_skips_hour(TimestampTz begins_at)
{
	pg_time_t	time = timestamptz_to_time_t(begins_at);
	struct pg_tm *local = pg_localtime(&time, log_timezone);

	return local != NULL && (pbp_decision_skip_mask >> local->tm_hour & 1) != 0;
}

static bool
is_of_memory(const PbpHour *hour, const PbpAdviceReport *report)
{
	return pbp_is_of_memory(hour, (double) pbp_both_caches(report)) && hour->memory_seconds >= MOST_OF_HOUR * hour->seconds;
}

/*
 * Adds up the last hours and the one that runs, at multiples of the size that
 * runs.  With a report, only hours with its memory, and its splits.  Returns false
 * if nothing was seen in them.
 */
static bool
sum_hours(int hours, const PbpAdviceReport *report, PbpHoursSum *sum)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz first = hour_of(now) - hours * USECS_PER_HOUR;
	int			nhours;
	PbpHour    *last = pbp_last_hours(hours, now, &nhours);

	memset(sum, 0, sizeof(*sum));
	for (TimestampTz hour = first; hour <= now; hour += USECS_PER_HOUR)
		if (!pbp_skips_hour(hour))
			sum->wanted_seconds += (double) Min(USECS_PER_HOUR, now - hour) / USECS_PER_SEC;
	for (int i = 0; i < nhours; i++)
	{
		if (pbp_skips_hour(last[i].begins_at))
			continue;
		pbp_move_hour(&last[i], NBuffers);
		if (report != NULL && !is_of_memory(&last[i], report))
			continue;
		pbp_sum_hour(sum, &last[i]);
		if (report != NULL)
			pbp_sum_splits(sum, &last[i], report->storage.splits);
	}
	pfree(last);
	return sum->seconds > 0;
}

/* The last day, or as many hours as are wanted, or a week if nearly all of it was seen.  Likewise. */
bool
pbp_sum_decision_hours(const PbpAdviceReport *report, PbpHoursSum *sum)
{
	int			hours = Max(HOURS_OF_DAY, pbp_decision_hours);

	if (sum_hours(HOURS_OF_WEEK, NULL, sum) && sum->seconds >= NEARLY_ALL_HOURS * sum->wanted_seconds)
	{
		if (report == NULL)
			return true;
		hours = HOURS_OF_WEEK;
	}
	return sum_hours(hours, report, sum);
}

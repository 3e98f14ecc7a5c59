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

/* What the worker adds to; begins_at is 0 before the first second. */
static PbpHour current;
static uint32 current_resets;

static TimestampTz
hour_of(TimestampTz time)
{
	return time - time % USECS_PER_HOUR;
}

/*
 * True if this time belongs to the current hour, also if the machine's clock was
 * set back by less than an hour.
 */
static bool
is_current(TimestampTz now)
{
	return current.begins_at != 0 && now < current.begins_at + USECS_PER_HOUR &&
		now >= current.begins_at - USECS_PER_HOUR;
}

/* A restart of the server within an hour continues it. */
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
	if (!is_current(now) || current_resets != resets)
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
	PBP_FIELD(PBP_SIGNED, PbpHour, begins_at, 0, PBP_LAST_TIME),
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
	PBP_END_OF_FIELDS
};

/* Returns the field that contradicts another one; NULL if there is none. */
const char *
pbp_check_hours(const PbpHour *hours, int nhours)
{
	for (int i = 0; i < nhours; i++)
		if (hours[i].begins_at % USECS_PER_HOUR != 0 || (i > 0 && hours[i].begins_at <= hours[i - 1].begins_at))
			return "begins_at";
	return NULL;
}

/* ---- sums ---- */

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
	int			nkept;
	PbpHour    *kept = pbp_hours(&nkept);

	memset(sum, 0, sizeof(*sum));
	for (TimestampTz hour = first; hour <= now; hour += USECS_PER_HOUR)
		if (!pbp_skips_hour(hour))
			sum->wanted_seconds += (double) Min(USECS_PER_HOUR, now - hour) / USECS_PER_SEC;
	for (int i = 0; i < nkept; i++)
	{
		if (kept[i].begins_at < first || kept[i].begins_at > now || pbp_skips_hour(kept[i].begins_at))
			continue;
		pbp_move_hour(&kept[i], NBuffers);
		if (report != NULL && !is_of_memory(&kept[i], report))
			continue;
		pbp_sum_hour(sum, &kept[i]);
		if (report != NULL)
			pbp_sum_splits(sum, &kept[i], report->storage.splits);
	}
	pfree(kept);
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

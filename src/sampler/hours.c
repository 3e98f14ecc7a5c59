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

#include "miscadmin.h"
#include "pgtime.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "sampler/history.h"

#define HOURS_PER_WEEK	(7 * HOURS_PER_DAY)
#define NEARLY_ALL_HOURS	0.9

/* Of an hour, what must have had the same memory. */
#define MOST_OF_HOUR		0.5

/* Times before 2000 are negative. */
static TimestampTz
hour_of(TimestampTz time)
{
	TimestampTz into = time % USECS_PER_HOUR;

	return time - (into < 0 ? into + USECS_PER_HOUR : into);
}

/* ---- for the worker ---- */

/*
 * The place of an hour: its own, or that behind all, which may cost the one begun first.
 * A restart of the server within an hour continues it, and so does a clock that is set
 * back.  That may be for some moments or for good, so no other is discarded because of
 * its time.
 */
static PbpHour *
place_of_hour(PbpResults *results, TimestampTz begins_at)
{
	PbpHour    *hours = results->hours;

	for (int i = results->nhours - 1; i >= 0; i--)
		if (hours[i].begins_at == begins_at)
			return &hours[i];
	if (results->nhours == PBP_HOURS)
		memmove(hours, hours + 1, --results->nhours * sizeof(PbpHour));
	hours[results->nhours] = (PbpHour) {.begins_at = begins_at,.nbuffers = NBuffers};
	return &hours[results->nhours++];
}

/*
 * Adds a second or so to the hour that runs, in place: nothing of that allocates memory
 * or raises an error.
 */
void
pbp_count_hour(TimestampTz now, const PbpHourShare *share)
{
	PbpResults *results = pbp_open_results(LW_EXCLUSIVE);

	if (results->nresets == pbp_noticed_resets)
	{
		PbpHour    *hour = place_of_hour(results, hour_of(now));

		pbp_move_hour(hour, NBuffers);
		pbp_add_to_hour(hour, share);
	}
	pbp_close_results();
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
 * Copies of the hour that runs and of so many before it, as far as anything was seen in
 * them, oldest first; palloc'd.  Others that are kept are of a time in which the machine's
 * clock was another one.
 */
PbpHour *
pbp_last_hours(int before, TimestampTz now, int *nhours)
{
	TimestampTz first = hour_of(now) - before * USECS_PER_HOUR;
	PbpHour    *hours = palloc(PBP_HOURS * sizeof(*hours));
	const PbpResults *results = pbp_open_results(LW_SHARED);

	*nhours = 0;
	if (results == NULL)
		return hours;
	for (int i = 0; i < results->nhours; i++)
		if (results->hours[i].begins_at >= first && results->hours[i].begins_at <= now)
			hours[(*nhours)++] = results->hours[i];
	pbp_close_results();
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
		if (report != NULL &&
			(!pbp_is_of_memory(&last[i], (double) pbp_both_caches(report)) ||
			 last[i].memory_seconds < MOST_OF_HOUR * last[i].seconds))
			continue;
		pbp_sum_hour(sum, &last[i]);
		if (report != NULL)
			pbp_sum_splits(sum, &last[i], report->storage.splits);
	}
	pfree(last);
	return sum->seconds > 0;
}

/* The last day, or as many hours as are wanted, or a week if nearly all of it was seen. */
bool
pbp_sum_decision_hours(const PbpAdviceReport *report, PbpHoursSum *sum)
{
	int			hours = Max(HOURS_PER_DAY, pbp_decision_hours);

	if (sum_hours(HOURS_PER_WEEK, NULL, sum) &&
		sum->seconds >= NEARLY_ALL_HOURS * sum->wanted_seconds)
	{
		if (report == NULL)
			return true;
		hours = HOURS_PER_WEEK;
	}
	return sum_hours(hours, report, sum);
}

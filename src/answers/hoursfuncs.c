/*-------------------------------------------------------------------------
 *
 * hoursfuncs.c
 *	  The SQL function about the hours of the last days.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "answers/historyfuncs.h"
#include "base/rows.h"
#include "sampler/hours.h"

#define HOURS_COLS			10

PG_FUNCTION_INFO_V1(pgbufprobe_hours);

/* The size that would have been best, and what it would have saved, with the interval. */
static void
add_best(Row *row, const PbpHour *hour)
{
	int			best = pbp_best_of_hour(hour);
	const PbpHourSize *size = &hour->sizes[best < 0 ? PBP_ADVICE_BASELINE : best];
	double		scale = (hour->accesses - hour->apart) / size->waiting.accesses;

	if (best < 0)
	{
		add_nulls(row, HOURS_COLS);
		return;
	}
	add_rounded(row, pbp_advice_factor(best) * (double) hour->nbuffers * BLCKSZ);
	add_quotient(row, -size->waiting.change * scale, hour->seconds);
	add_quotient(row, (-size->waiting.change - size->waiting.change_error) * scale, hour->seconds);
	add_quotient(row, (-size->waiting.change + size->waiting.change_error) * scale, hour->seconds);
}

static void
emit_hour(ReturnSetInfo *rsinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpHour *hour = item;
	Row			row = {0};

	add_time(&row, hour->begins_at);
	add_measure(&row, hour->seconds);
	add_datum(&row, BoolGetDatum(!pbp_skips_hour(hour->begins_at)));
	add_count(&row, hour->nbuffers * BLCKSZ);
	add_quotient(&row, pbp_working_ms(hour->active_ms, hour->counted_ms), hour->seconds);
	add_quotient(&row, hour->read_ms, hour->read_ms_seconds);
	add_best(&row, hour);
	emit_row(rsinfo, &row, HOURS_COLS);
}

Datum
pgbufprobe_hours(PG_FUNCTION_ARGS)
{
	PbpHour    *hours;
	int			nhours;

	check_sampler_runs();
	hours = pbp_last_hours(PBP_HOURS - 1, GetCurrentTimestamp(), &nhours);
	emit_rows(fcinfo, hours, nhours, sizeof(*hours), emit_hour, NULL);
	pfree(hours);
	return (Datum) 0;
}

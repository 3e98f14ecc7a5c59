/*-------------------------------------------------------------------------
 *
 * carryfuncs.c
 *	  The SQL function about the carry-over of both caches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/dbcommands.h"
#include "utils/lsyscache.h"

#include "base/latency.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/shared.h"
#include "carry/carry.h"
#include "carry/carryprogress.h"

#define PROGRESS_COLS		9

#define BLOCKS_PER_MB		(1024.0 * 1024.0 / BLCKSZ)

PG_FUNCTION_INFO_V1(pgbufprobe_carry_over_progress);

static const char *const phase_names[PBP_CARRY_PHASES] = {
	[PBP_CARRY_OFF] = "off",
	[PBP_CARRY_WAITING] = "waiting",
	[PBP_CARRY_SAVING] = "saving",
	[PBP_CARRY_RESTORING] = "restoring",
	[PBP_CARRY_DONE] = "done",
};

/* What the worker does; none is needed while pgbufprobe.carry_over is off. */
static const char *
phase_of(const PbpCarryProgress *progress)
{
	if (pbp_read_shared_header().pids[PBP_CARRY_OVER] != 0)
		return phase_names[progress->phase];
	return pbp_carry_has_no_slot() ? "no background worker slot" : pbp_carry_over_on ? "no worker" : phase_names[PBP_CARRY_OFF];
}

/* blocks_done, blocks_remaining, mb_per_second, seconds_left */
static void
add_restore(Row *row, const PbpCarryProgress *progress)
{
	bool		begun = progress->begun_ns != 0;
	int64		until_ns = progress->ended_ns != 0 ? progress->ended_ns : pbp_now_ns();
	double		seconds = (double) (until_ns - progress->begun_ns) / 1e9;
	int64		remaining = progress->blocks - progress->done;

	add_known_count(row, begun, progress->done);
	add_known_count(row, begun, remaining);
	if (!begun)
	{
		add_null(row);
		add_null(row);
		return;
	}
	add_quotient(row, (double) progress->read / BLOCKS_PER_MB, seconds);
	if (remaining == 0)
		add_number(row, 0);
	else
		add_quotient(row, (double) remaining * seconds, (double) progress->done);
}

/* saved_at, map_bytes, save_ms */
static void
add_file(Row *row, const PbpCarryProgress *progress)
{
	add_time(row, progress->saved_at);
	add_known_count(row, progress->saved_at != 0, progress->map_bytes);
	add_number(row, progress->save_ns > 0 ? (double) progress->save_ns / 1e6 : NAN);
}

Datum
pgbufprobe_carry_over_progress(PG_FUNCTION_ARGS)
{
	PbpCarryProgress progress = pbp_carry_progress();
	Row			row = {0};

	add_text(&row, phase_of(&progress));
	add_name(&row, OidIsValid(progress.database) ? get_database_name(progress.database) : NULL);
	add_restore(&row, &progress);
	add_file(&row, &progress);
	PG_RETURN_DATUM(row_datum(fcinfo, &row, PROGRESS_COLS));
}

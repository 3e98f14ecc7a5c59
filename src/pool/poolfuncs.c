/*-------------------------------------------------------------------------
 *
 * poolfuncs.c
 *	  SQL functions about the state of the buffer pool.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/compat.h"
#include "base/relations.h"
#include "base/rows.h"
#include "base/worker.h"
#include "pool/descriptors.h"
#include "pool/poolfuncs.h"
#include "pool/serverstats.h"
#include "pool/sweep.h"

#define HISTOGRAM_COLS		5
#define CLOCK_COLS			8

PG_FUNCTION_INFO_V1(pgbufprobe_usagecount_histogram);
PG_FUNCTION_INFO_V1(pgbufprobe_clock);

static void
emit_buffer_count(ReturnSetInfo *rsinfo, int usage, const PbpBufferCount *count, int nread)
{
	Row			row = {0};

	if (usage >= 0)
		add_datum(&row, Int32GetDatum(usage));
	else
		add_null(&row);
	add_counted(&row, count->buffers, pbp_estimate_error(nread, NBuffers, count->buffers), NBuffers);
	add_count(&row, count->dirty);
	emit_row(rsinfo, &row, HISTOGRAM_COLS);
}

Datum
pgbufprobe_usagecount_histogram(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nread = sample_arg(fcinfo, 1);
	PbpLocator	locator;
	PbpHistogram histogram;

	if (!PG_ARGISNULL(0))
		locator = relation_locator(PG_GETARG_OID(0));
	pbp_histogram(PG_ARGISNULL(0) ? NULL : &locator, nread, &histogram);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		emit_buffer_count(rsinfo, i, &histogram.usage[i], nread);
	emit_buffer_count(rsinfo, -1, &histogram.unused, nread);
	return (Datum) 0;
}

/* The relation that owns these pages; InvalidOid if this database does not know it. */
Oid
relation_of(const PbpLocator *locator)
{
	if (OidIsValid(locator->dbOid) && locator->dbOid != MyDatabaseId)
		return InvalidOid;
	return RelidByRelfilenumber(locator->spcOid, locator->relNumber);
}

Datum
usagecounts_array(const int64 *usage)
{
	Datum		elements[PBP_USAGE_LEVELS];

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		elements[i] = Int64GetDatum(usage[i]);
	return PointerGetDatum(construct_array(elements, PBP_USAGE_LEVELS, INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* database, relfilenode, fork, relation */
void
add_storage(Row *row, const PbpLocator *locator, ForkNumber fork)
{
	Oid			relation = relation_of(locator);

	add_name(row, get_database_name(locator->dbOid));
	add_datum(row, ObjectIdGetDatum(locator->relNumber));
	add_text(row, forkNames[fork]);
	if (OidIsValid(relation))
		add_datum(row, ObjectIdGetDatum(relation));
	else
		add_null(row);
}

/* Measures the speed of the clock hand, for at least this long. */
ClockRate
watch_clock(int64 duration_ms)
{
	PbpClock	from = pbp_read_clock();
	int64		from_ns = pbp_now_ns();
	int64		left_ns;
	ClockRate	rate;

	while ((left_ns = from_ns + duration_ms * 1000000 - pbp_now_ns()) > 0)
		pbp_worker_wait(left_ns / 1000000 + 1);
	rate.seconds = (double) (pbp_now_ns() - from_ns) / 1e9;
	rate.ticks = (double) pbp_ticks_between(from, pbp_read_clock());
	return rate;
}

/* Where the hand is at the end of the watch, if there is one. */
Datum
pgbufprobe_clock(PG_FUNCTION_ARGS)
{
	bool		watches = !PG_ARGISNULL(0);
	int64		duration_ms = watches ? duration_arg_ms(fcinfo, 0) : 0;
	int64		from_allocations = pbp_read_published().allocations;
	ClockRate	rate = {0};
	PbpClock	clock;
	PbpPublished published;
	Row			row = {0};

	if (watches)
		rate = watch_clock(duration_ms);
	clock = pbp_read_clock();
	published = pbp_read_published();
	add_text(&row, psprintf(UINT64_FORMAT "-%08x", (uint64) PgStartTime, pbp_shared_memory_id()));
	add_count(&row, NBuffers);
	add_count(&row, clock.hand);
	add_count(&row, clock.passes);
	add_count(&row, published.allocations);
	add_time(&row, published.reset_at);
	/* fewer allocations than before: the statistics were reset */
	add_quotient(&row, rate.ticks, watches ? (double) (published.allocations - from_allocations) : 0);
	add_quotient(&row, NBuffers * rate.seconds, rate.ticks);
	return row_datum(fcinfo, &row, CLOCK_COLS);
}

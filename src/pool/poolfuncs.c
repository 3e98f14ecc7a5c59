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
#include "commands/tablespace.h"
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

#define HISTOGRAM_COLS		7
#define RELATIONS_COLS		12
#define CLOCK_COLS			12

PG_FUNCTION_INFO_V1(pgbufprobe_usagecount_histogram);
PG_FUNCTION_INFO_V1(pgbufprobe_relations);
PG_FUNCTION_INFO_V1(pgbufprobe_clock);

/* An error is largest near half of the pool, so a smaller count may have a larger error. */
static int64
largest_error(const PbpBufferCount *count, int nread)
{
	int64		error = pbp_estimate_error(nread, NBuffers, count->buffers);

	error = Max(error, pbp_estimate_error(nread, NBuffers, count->dirty));
	return Max(error, pbp_estimate_error(nread, NBuffers, count->pinned));
}

static void
emit_buffer_count(ReturnSetInfo *rsinfo, int usage,
				  const PbpBufferCount *count, int64 total, int nread)
{
	Row			row = {0};

	if (usage >= 0)
		add_datum(&row, Int32GetDatum(usage));
	else
		add_null(&row);
	add_count(&row, count->buffers);
	add_count(&row, (int64) count->buffers * BLCKSZ);
	add_count(&row, count->dirty);
	add_count(&row, count->pinned);
	add_share(&row, count->buffers, total);
	add_count(&row, largest_error(count, nread));
	emit_row(rsinfo, &row, HISTOGRAM_COLS);
}

Datum
pgbufprobe_usagecount_histogram(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nread = sample_arg(fcinfo, 1);
	PbpHistogram histogram;
	int64		total;

	if (PG_ARGISNULL(0))
		pbp_histogram(nread, &histogram);
	else
	{
		PbpLocator	locator = relation_locator(PG_GETARG_OID(0));

		pbp_relation_histogram(&locator, nread, &histogram);
	}

	total = pbp_histogram_buffers(&histogram);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		emit_buffer_count(rsinfo, i, &histogram.usage[i], total, nread);
	emit_buffer_count(rsinfo, -1, &histogram.unused, total, nread);
	return (Datum) 0;
}

/* Largest first, then by OIDs for a stable order. */
static int
compare_relations(const void *a, const void *b)
{
	const PbpRelationCount *one = a;
	const PbpRelationCount *other = b;
	int64		difference = pbp_relation_buffers(other) - pbp_relation_buffers(one);

	CHECK_FOR_INTERRUPTS();
	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return memcmp(one, other, offsetof(PbpRelationCount, dirty));
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

/* database, tablespace, relfilenode, fork, relation */
void
add_storage(Row *row, const PbpLocator *locator, ForkNumber fork)
{
	Oid			relation = relation_of(locator);

	add_name(row, get_database_name(locator->dbOid));
	add_name(row, get_tablespace_name(locator->spcOid));
	add_datum(row, ObjectIdGetDatum(locator->relNumber));
	add_text(row, forkNames[fork]);
	if (OidIsValid(relation))
		add_datum(row, ObjectIdGetDatum(relation));
	else
		add_null(row);
}

/* the same, buffers, bytes */
void
add_relation(Row *row, const PbpRelationCount *count)
{
	add_storage(row, &count->locator, count->fork);
	add_count(row, pbp_relation_buffers(count));
}

static void
emit_relation_count(ReturnSetInfo *rsinfo, const void *item,
					void *arg pg_attribute_unused())
{
	const PbpRelationCount *count = item;
	Row			row = {0};
	int64		usage_sum = 0;

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		usage_sum += i * count->usage[i];

	add_relation(&row, count);
	add_count(&row, pbp_relation_buffers(count) * BLCKSZ);
	add_count(&row, count->dirty);
	add_count(&row, count->pinned);
	add_quotient(&row, (double) usage_sum, (double) pbp_relation_buffers(count));
	add_datum(&row, usagecounts_array(count->usage));
	add_count(&row, count->buffers_error);
	emit_row(rsinfo, &row, RELATIONS_COLS);
}

/* One row for every relation and fork found in this number of buffers, largest first. */
void
emit_relations(FunctionCallInfo fcinfo, int nread, RowEmitter emit, void *arg)
{
	int			nrelations;
	PbpRelationCount *counts = pbp_count_relations(nread, &nrelations);

	qsort(counts, nrelations, sizeof(*counts), compare_relations);
	emit_rows(fcinfo, counts, nrelations, sizeof(*counts), emit, arg);
	pfree(counts);
}

Datum
pgbufprobe_relations(PG_FUNCTION_ARGS)
{
	emit_relations(fcinfo, sample_arg(fcinfo, 0), emit_relation_count, NULL);
	return (Datum) 0;
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

static void
add_rate(Row *row, const ClockRate *rate, double allocations)
{
	add_measure(row, rate->seconds);
	add_measure(row, rate->ticks / rate->seconds);
	/* fewer than before: the statistics were reset */
	add_quotient(row, allocations, allocations >= 0 ? rate->seconds : 0);
	add_quotient(row, rate->ticks, allocations);
	add_quotient(row, NBuffers * rate->seconds, rate->ticks);
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
	add_count(&row, pbp_ticks(clock));
	add_count(&row, published.allocations);
	add_time(&row, published.reset_at);
	if (watches)
		add_rate(&row, &rate, (double) (published.allocations - from_allocations));
	else
		add_nulls(&row, CLOCK_COLS);
	return row_datum(fcinfo, &row, CLOCK_COLS);
}

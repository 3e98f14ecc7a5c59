/*-------------------------------------------------------------------------
 *
 * pgbufprobe.c
 *	  The SQL face: checks arguments and privileges, calls an engine in src/,
 *	  forms the rows.
 *
 * No buffer descriptor is touched here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "commands/tablespace.h"
#include "common/relpath.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "src/pgbufprobe.h"

PBP_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

#define MAX_VICTIMS			100000000
#define MAX_ROUNDS			10000
#define MAX_SAMPLES			1000000
#define MAX_BUCKETS			1000000
#define MAX_LOOKS			3	/* at a relation that is rewritten meanwhile */
#define MAX_CLOCK_RATE_MS	(INT64CONST(24) * 3600 * 1000)

/* how far back the sampler is asked how fast the hand turns */
#define RATE_SECONDS		300

/* beyond this, a share of the reads, advice is not to be trusted without a look at why */
#define LARGE_SELF_ERROR	0.2

#define SWEEP_COST_COLS		18
#define SCAN_COST_COLS		10
#define HISTOGRAM_COLS		6
#define RELATIONS_COLS		11
#define CLOCK_COLS			6
#define CLOCK_RATE_COLS		7
#define OS_CACHE_COLS		14
#define RESIDENCY_COLS		11
#define RESIDENCY_MAP_COLS	6
#define READ_COST_COLS		7
#define RESIDENCE_COLS		12
#define HISTORY_COLS		14
#define ADVICE_COLS			11
#define MAX_COLS			SWEEP_COST_COLS

PG_FUNCTION_INFO_V1(pgbufprobe_sweep_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_scan_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_usagecount_histogram);
PG_FUNCTION_INFO_V1(pgbufprobe_relations);
PG_FUNCTION_INFO_V1(pgbufprobe_clock);
PG_FUNCTION_INFO_V1(pgbufprobe_clock_rate);
PG_FUNCTION_INFO_V1(pgbufprobe_os_cache);
PG_FUNCTION_INFO_V1(pgbufprobe_residency);
PG_FUNCTION_INFO_V1(pgbufprobe_residency_map);
PG_FUNCTION_INFO_V1(pgbufprobe_read_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_os_advise);
PG_FUNCTION_INFO_V1(pgbufprobe_residence);
PG_FUNCTION_INFO_V1(pgbufprobe_history);
PG_FUNCTION_INFO_V1(pgbufprobe_history_reset);
PG_FUNCTION_INFO_V1(pgbufprobe_advice);
PG_FUNCTION_INFO_V1(pgbufprobe_no_snapshot);

static const char *const scenario_names[PBP_SCENARIOS] = {
	[PBP_CURRENT] = "current",
	[PBP_WORST] = "worst",
	[PBP_LIVE] = "live",
};

typedef struct ScanMethodName
{
	const char *name;
	const char *models;
} ScanMethodName;

static const ScanMethodName scan_methods[PBP_SCAN_METHODS] = {
	[PBP_SCAN_READ] = {"read", "reading each state, as a histogram does"},
	[PBP_SCAN_LOCK] = {"lock", "a checkpoint's search for dirty buffers"},
	[PBP_SCAN_MATCH] = {"match", "the search of each DROP or TRUNCATE"},
};

static const char *const os_method_names[PBP_OS_METHODS] = {
	[PBP_OS_AUTO] = "auto",
	[PBP_OS_CACHESTAT] = "cachestat",
	[PBP_OS_MINCORE] = "mincore",
};

static const char *const os_advice_names[PBP_OS_ADVICES] = {
	[PBP_OS_WILLNEED] = "willneed",
	[PBP_OS_DONTNEED] = "dontneed",
};

static const char *const tier_names[PBP_TIERS] = {
	[PBP_SHARED_BUFFERS] = "shared_buffers",
	[PBP_OS_CACHE] = "os_cache",
	[PBP_STORAGE] = "storage",
	[PBP_UNKNOWN_TIER] = NULL,
};

/* One row under construction; columns are filled from left to right. */
typedef struct Row
{
	int			ncols;
	Datum		values[MAX_COLS];
	bool		nulls[MAX_COLS];
} Row;

static void
add_null(Row *row)
{
	Assert(row->ncols < MAX_COLS);
	row->nulls[row->ncols++] = true;
}

static void
add_datum(Row *row, Datum value)
{
	Assert(row->ncols < MAX_COLS);
	row->values[row->ncols++] = value;
}

static void
add_count(Row *row, int64 count)
{
	add_datum(row, Int64GetDatum(count));
}

/*
 * Round to four significant digits, all that a measurement is worth, but
 * never cut into the integer part.
 */
static void
add_measure(Row *row, double value)
{
	if (value != 0 && isfinite(value))
	{
		double		decimals = Max(0, 3 - floor(log10(fabs(value))));
		double		scale = pow(10, decimals);

		value = rint(value * scale) / scale;
	}
	add_datum(row, Float8GetDatum(value));
}

/* A quotient, NULL where there is nothing to divide by. */
static void
add_quotient(Row *row, double dividend, double divisor)
{
	if (divisor > 0)
		add_measure(row, dividend / divisor);
	else
		add_null(row);
}

/* A part of a whole: 1 means all of it, and nothing is rounded up to that. */
static void
add_share(Row *row, int64 part, int64 whole)
{
	if (part < whole)
		add_quotient(row, Min((double) part, 0.9999 * (double) whole), (double) whole);
	else
		add_quotient(row, (double) part, (double) whole);
}

/* avg_us, p50_us, p95_us, p99_us, max_us */
static void
add_latency(Row *row, const PbpLatency *latency)
{
	add_measure(row, pbp_latency_avg_ns(latency) / 1e3);
	add_measure(row, pbp_latency_percentile_ns(latency, 0.50) / 1e3);
	add_measure(row, pbp_latency_percentile_ns(latency, 0.95) / 1e3);
	add_measure(row, pbp_latency_percentile_ns(latency, 0.99) / 1e3);
	add_measure(row, pbp_latency_max_ns(latency) / 1e3);
}

static void
add_name(Row *row, const char *name)
{
	if (name != NULL)
		add_datum(row, DirectFunctionCall1(namein, CStringGetDatum(name)));
	else
		add_null(row);
}

static void
emit_row(ReturnSetInfo *rsinfo, Row *row, int ncols PG_USED_FOR_ASSERTS_ONLY)
{
	CHECK_FOR_INTERRUPTS();
	Assert(row->ncols == ncols);
	Assert(rsinfo->setDesc->natts == ncols);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
						 row->values, row->nulls);
}

static double
buffers_per_gb(void)
{
	return 1024.0 * 1024.0 * 1024.0 / BLCKSZ;
}

/* ---- arguments ---- */

/* A name out of a list, or an error that gives the list. */
static int
parse_name(FunctionCallInfo fcinfo, int argno, const char *what,
		   const char *const *names, int nnames)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	StringInfoData valid;

	for (int i = 0; i < nnames; i++)
	{
		if (strcmp(name, names[i]) == 0)
			return i;
	}

	initStringInfo(&valid);
	for (int i = 0; i < nnames; i++)
		appendStringInfo(&valid, "%s\"%s\"",
						 i == 0 ? "" : i == nnames - 1 ? " and " : ", ", names[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized %s: \"%s\"", what, name),
			 errhint("Valid values are %s.", valid.data)));
	return -1;					/* keep compiler quiet */
}

/* An integer argument that must lie between 1 and a maximum. */
static int
positive_arg(FunctionCallInfo fcinfo, int argno, const char *what, int max)
{
	int			value;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("number of %s must not be null", what)));

	value = PG_GETARG_INT32(argno);
	if (value < 1 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of %s must be between 1 and %d", what, max),
				 errdetail("The given number is %d.", value)));
	return value;
}

static ForkNumber
fork_arg(FunctionCallInfo fcinfo, int argno)
{
	return forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(argno)));
}

/* ---- what it costs ---- */

/* Marks the scenarios that the caller asked for. */
static void
parse_scenario(FunctionCallInfo fcinfo, int argno, bool *wanted)
{
	if (PG_ARGISNULL(argno))
		wanted[PBP_CURRENT] = wanted[PBP_WORST] = true;
	else
		wanted[parse_name(fcinfo, argno, "scenario", scenario_names, PBP_SCENARIOS)] = true;
}

static void
emit_sweep_cost(ReturnSetInfo *rsinfo, PbpScenario scenario, int victims,
				const PbpSweepCost *cost)
{
	Row			row = {0};
	const PbpLatency *latency = &cost->latency;
	double		inspected = (double) cost->inspected;

	add_datum(&row, CStringGetTextDatum(scenario_names[scenario]));
	add_count(&row, victims);
	add_latency(&row, latency);
	add_measure(&row, inspected / victims);
	add_count(&row, cost->inspected_max);
	add_count(&row, cost->inspected);
	add_measure(&row, inspected / NBuffers);
	add_quotient(&row, cost->sweep_ns, inspected);
	add_quotient(&row, cost->sweep_ns * NBuffers / 1e6, inspected);
	add_quotient(&row, cost->sweep_ns * buffers_per_gb() / 1e6, inspected);
	add_count(&row, cost->from_freelist);
	add_count(&row, cost->skipped_pinned);
	add_count(&row, cost->dirty_victims);
	add_measure(&row, pbp_latency_sum_ns(latency) / 1e6);
	emit_row(rsinfo, &row, SWEEP_COST_COLS);
}

Datum
pgbufprobe_sweep_cost(PG_FUNCTION_ARGS)
{
	int			victims = positive_arg(fcinfo, 0, "victims", MAX_VICTIMS);
	bool		wanted[PBP_SCENARIOS] = {false};
	PbpSweepCost *cost;

	parse_scenario(fcinfo, 1, wanted);
	if (wanted[PBP_LIVE] && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to run the \"live\" scenario"),
				 errdetail("It moves the clock hand and ages usage counts for every session."),
				 errhint("The scenario \"current\" tells the same cost and changes nothing.")));

	InitMaterializedSRF(fcinfo, 0);
	cost = palloc(sizeof(*cost));
	for (int i = 0; i < PBP_SCENARIOS; i++)
	{
		if (!wanted[i])
			continue;
		pbp_sweep_cost((PbpScenario) i, victims, cost);
		emit_sweep_cost((ReturnSetInfo *) fcinfo->resultinfo,
						(PbpScenario) i, victims, cost);
	}
	pfree(cost);
	return (Datum) 0;
}

Datum
pgbufprobe_scan_cost(PG_FUNCTION_ARGS)
{
	int			rounds = positive_arg(fcinfo, 0, "rounds", MAX_ROUNDS);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_SCAN_METHODS; i++)
	{
		Row			row = {0};
		PbpScanCost cost;
		double		avg_ns;

		pbp_scan_cost((PbpScanMethod) i, rounds, &cost);
		avg_ns = (double) cost.sum_ns / rounds;

		add_datum(&row, CStringGetTextDatum(scan_methods[i].name));
		add_datum(&row, CStringGetTextDatum(scan_methods[i].models));
		add_measure(&row, avg_ns / 1e6);
		add_measure(&row, (double) cost.min_ns / 1e6);
		add_measure(&row, (double) cost.max_ns / 1e6);
		add_measure(&row, avg_ns / NBuffers * buffers_per_gb() / 1e6);
		add_measure(&row, avg_ns / NBuffers);
		add_count(&row, NBuffers);
		if (cost.matched >= 0)
			add_count(&row, cost.matched);
		else
			add_null(&row);
		add_count(&row, rounds);
		emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, SCAN_COST_COLS);
	}
	return (Datum) 0;
}

/* ---- what state it is in ---- */

static PbpLocator
class_locator(Form_pg_class form)
{
	Oid			relfilenode = form->relfilenode;

	if (!OidIsValid(relfilenode))
		relfilenode = pbp_mapped_relfilenode(form->oid, form->relisshared);
	return pbp_locator(OidIsValid(form->reltablespace) ?
					   form->reltablespace : MyDatabaseTableSpace,
					   form->relisshared ? InvalidOid : MyDatabaseId,
					   relfilenode);
}

static void
check_has_pages(Form_pg_class form)
{
	if (!RELKIND_HAS_STORAGE(form->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" has no storage", NameStr(form->relname)),
				 errdetail_relkind_not_supported(form->relkind),
				 form->relkind == RELKIND_PARTITIONED_TABLE ||
				 form->relkind == RELKIND_PARTITIONED_INDEX ?
				 errhint("Ask for its partitions, which pg_partition_tree() lists.") : 0));
	if (form->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is temporary", NameStr(form->relname)),
				 errdetail("Temporary relations are kept in the local buffers of their session, not in shared buffers.")));
}

/*
 * Where a relation's pages are found, or an error; false if there is no such
 * relation.
 *
 * Looks into the catalog only: neither descriptors nor files need the relation
 * to be opened, so this takes no lock and never waits for DDL.  A relation
 * that is rewritten meanwhile has the pages of its old file counted.
 */
static bool
find_relation(Oid relid, PbpLocator *locator)
{
	HeapTuple	tuple;

	AcceptInvalidationMessages();
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	check_has_pages((Form_pg_class) GETSTRUCT(tuple));
	*locator = class_locator((Form_pg_class) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);
	return true;
}

static void
report_no_relation(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relid)));
}

static PbpLocator
relation_locator(Oid relid)
{
	PbpLocator	locator;

	if (!find_relation(relid, &locator))
		report_no_relation(relid);
	return locator;
}

static void
emit_buffer_count(ReturnSetInfo *rsinfo, int usage,
				  const PbpBufferCount *count, int64 total)
{
	Row			row = {0};

	if (usage >= 0)
		add_datum(&row, Int32GetDatum(usage));
	else
		add_null(&row);
	add_count(&row, count->buffers);
	add_count(&row, count->buffers * BLCKSZ);
	add_count(&row, count->dirty);
	add_count(&row, count->pinned);
	add_share(&row, count->buffers, total);
	emit_row(rsinfo, &row, HISTOGRAM_COLS);
}

Datum
pgbufprobe_usagecount_histogram(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	PbpHistogram histogram;
	int64		total;

	if (PG_ARGISNULL(0))
		pbp_histogram(&histogram);
	else
	{
		PbpLocator	locator = relation_locator(PG_GETARG_OID(0));

		pbp_relation_histogram(&locator, &histogram);
	}

	total = histogram.unused.buffers;
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		total += histogram.usage[i].buffers;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		emit_buffer_count(rsinfo, i, &histogram.usage[i], total);
	emit_buffer_count(rsinfo, -1, &histogram.unused, total);
	return (Datum) 0;
}

static int64
relation_buffers(const PbpRelationCount *count)
{
	int64		buffers = 0;

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		buffers += count->usage[i];
	return buffers;
}

/* Largest first; then in the order of their names, so that output is stable. */
static int
compare_relations(const void *a, const void *b)
{
	const PbpRelationCount *one = a;
	const PbpRelationCount *other = b;
	int64		difference = relation_buffers(other) - relation_buffers(one);

	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return memcmp(one, other, offsetof(PbpRelationCount, dirty));
}

/* The relation that has these pages, as far as this database can tell. */
static Oid
relation_of(const PbpLocator *locator)
{
	Oid			database = pbp_locator_database(locator);

	if (OidIsValid(database) && database != MyDatabaseId)
		return InvalidOid;
	return pbp_relid_by_relfilenode(pbp_locator_tablespace(locator),
									pbp_locator_relfilenode(locator));
}

static Datum
usagecounts_array(const int64 *usage)
{
	Datum		elements[PBP_USAGE_LEVELS];

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		elements[i] = Int64GetDatum(usage[i]);
	return PointerGetDatum(construct_array(elements, PBP_USAGE_LEVELS, INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* database, tablespace, relfilenode, fork, relation, buffers, bytes */
static void
add_relation(Row *row, const PbpRelationCount *count)
{
	const PbpLocator *locator = &count->locator;
	Oid			relation = relation_of(locator);

	add_name(row, get_database_name(pbp_locator_database(locator)));
	add_name(row, get_tablespace_name(pbp_locator_tablespace(locator)));
	add_datum(row, ObjectIdGetDatum(pbp_locator_relfilenode(locator)));
	add_datum(row, CStringGetTextDatum(forkNames[count->fork]));
	if (OidIsValid(relation))
		add_datum(row, ObjectIdGetDatum(relation));
	else
		add_null(row);
	add_count(row, relation_buffers(count));
	add_count(row, relation_buffers(count) * BLCKSZ);
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
	add_count(&row, count->dirty);
	add_count(&row, count->pinned);
	add_quotient(&row, (double) usage_sum, (double) relation_buffers(count));
	add_datum(&row, usagecounts_array(count->usage));
	emit_row(rsinfo, &row, RELATIONS_COLS);
}

/* A row for each item of an array, each in memory that is given back after it. */
static void
emit_rows(FunctionCallInfo fcinfo, const void *items, int nitems, Size size,
		  void (*emit) (ReturnSetInfo *rsinfo, const void *item, void *arg), void *arg)
{
	MemoryContext row_context;

	InitMaterializedSRF(fcinfo, 0);
	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"pgbufprobe row", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < nitems; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		emit((ReturnSetInfo *) fcinfo->resultinfo, (const char *) items + i * size, arg);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	MemoryContextDelete(row_context);
}

/* A row for each relation and fork in the pool, largest first. */
static void
emit_relations(FunctionCallInfo fcinfo,
			   void (*emit) (ReturnSetInfo *rsinfo, const void *item, void *arg),
			   void *arg)
{
	int			nrelations;
	PbpRelationCount *counts = pbp_count_relations(&nrelations);

	qsort(counts, nrelations, sizeof(*counts), compare_relations);
	emit_rows(fcinfo, counts, nrelations, sizeof(*counts), emit, arg);
	pfree(counts);
}

Datum
pgbufprobe_relations(PG_FUNCTION_ARGS)
{
	emit_relations(fcinfo, emit_relation_count, NULL);
	return (Datum) 0;
}

Datum
pgbufprobe_clock(PG_FUNCTION_ARGS)
{
	Row			row = {0};
	TupleDesc	tupdesc;
	PbpClock	clock = pbp_read_clock();

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	add_datum(&row, TimestampTzGetDatum(GetCurrentTimestamp()));
	add_count(&row, NBuffers);
	add_count(&row, clock.hand);
	add_count(&row, clock.passes);
	add_count(&row, pbp_ticks(clock));
	add_count(&row, pbp_published_allocations());

	Assert(row.ncols == CLOCK_COLS);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, row.values, row.nulls));
}

/* An interval argument as milliseconds, or an error. */
static int64
duration_arg_ms(FunctionCallInfo fcinfo, int argno)
{
	Interval   *interval;
	double		ms;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("duration must not be null")));

	interval = PG_GETARG_INTERVAL_P(argno);
	ms = (double) interval->time / 1000 +
		((double) interval->month * DAYS_PER_MONTH + interval->day) * SECS_PER_DAY * 1000;
	if (!(ms >= 1 && ms <= MAX_CLOCK_RATE_MS))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("duration must be between 1 millisecond and 24 hours"),
				 errdetail("The given duration is %s.",
						   DatumGetCString(DirectFunctionCall1(interval_out,
															   IntervalPGetDatum(interval))))));
	return (int64) ms;
}

/* Sleep, but answer interrupts at once. */
static void
sleep_ms(int64 duration_ms)
{
	int64		end_ns = pbp_now_ns() + duration_ms * 1000000;
	int64		left_ns;

	while ((left_ns = end_ns - pbp_now_ns()) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 (long) (left_ns / 1000000 + 1), PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
}

Datum
pgbufprobe_clock_rate(PG_FUNCTION_ARGS)
{
	int64		duration_ms = duration_arg_ms(fcinfo, 0);
	Row			row = {0};
	TupleDesc	tupdesc;
	PbpClock	from;
	int64		from_ns;
	int64		from_allocations;
	double		seconds;
	double		ticks;
	double		allocations;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	from = pbp_read_clock();
	from_allocations = pbp_published_allocations();
	from_ns = pbp_now_ns();
	sleep_ms(duration_ms);
	seconds = (double) (pbp_now_ns() - from_ns) / 1e9;
	allocations = (double) (pbp_published_allocations() - from_allocations);
	ticks = (double) pbp_ticks_between(from, pbp_read_clock());

	add_measure(&row, seconds);
	add_count(&row, (int64) ticks);
	if (allocations >= 0)
		add_count(&row, (int64) allocations);
	else
		add_null(&row);			/* somebody has reset the statistics */
	add_measure(&row, ticks / seconds);
	add_quotient(&row, allocations, allocations >= 0 ? seconds : 0);
	add_quotient(&row, ticks, allocations);
	add_quotient(&row, NBuffers * seconds, ticks);

	Assert(row.ncols == CLOCK_RATE_COLS);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, row.values, row.nulls));
}

/* ---- which cache holds what ---- */

/*
 * Say why counts are NULL.  With several relations the first stands for all
 * that have the same reason.
 */
static void
report_reason(PbpOsTrust trust, Oid relid, int64 others)
{
	char	   *name = get_rel_name(relid);

	if (trust == PBP_OS_TRUSTED || name == NULL)
		return;
	if (others == 0)
		ereport(NOTICE,
				(errmsg("what the page cache holds of \"%s\" cannot be told and is NULL", name),
				 errdetail_internal("%s", pbp_os_reason(trust))));
	else
		ereport(NOTICE,
				(errmsg("what the page cache holds of \"%s\" and of " INT64_FORMAT
						" other forks cannot be told and is NULL", name, others),
				 errdetail_internal("%s", pbp_os_reason(trust))));
}

/* What the platform or the kernel does not offer at all is an error. */
static void
check_offered(PbpOsTrust trust)
{
	if (trust == PBP_OS_UNSUPPORTED || trust == PBP_OS_NO_CACHESTAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot ask the operating system what its page cache holds"),
				 errdetail_internal("%s", pbp_os_reason(trust)),
				 trust == PBP_OS_UNSUPPORTED ?
				 errhint("All that does not need the page cache works here too.") :
				 errhint("The methods \"mincore\" and \"auto\" do not need it.")));
}

/* A count of pages or blocks, NULL where it is not known. */
static void
add_known_count(Row *row, bool known, int64 count)
{
	if (known)
		add_count(row, count);
	else
		add_null(row);
}

static void
emit_os_cache(ReturnSetInfo *rsinfo, int segment, const PbpOsFile *file,
			  const PbpOsCounts *counts, double elapsed_ms)
{
	Row			row = {0};
	bool		known = counts->cached >= 0;

	add_datum(&row, Int32GetDatum(segment));
	add_datum(&row, CStringGetTextDatum(file->path));
	add_count(&row, file->bytes);
	add_count(&row, counts->pages);
	add_known_count(&row, known, counts->cached);
	add_known_count(&row, known, counts->cached * pbp_os_page_bytes());
	if (known)
		add_share(&row, counts->cached, counts->pages);
	else
		add_null(&row);
	add_known_count(&row, counts->dirty >= 0, counts->dirty);
	add_known_count(&row, counts->writeback >= 0, counts->writeback);
	add_known_count(&row, counts->evicted >= 0, counts->evicted);
	add_known_count(&row, counts->recently_evicted >= 0, counts->recently_evicted);
	add_datum(&row, CStringGetTextDatum(os_method_names[file->method]));
	add_datum(&row, BoolGetDatum(file->trust == PBP_OS_TRUSTED));
	add_measure(&row, elapsed_ms);
	emit_row(rsinfo, &row, OS_CACHE_COLS);
}

Datum
pgbufprobe_os_cache(PG_FUNCTION_ARGS)
{
	PbpLocator	locator = relation_locator(PG_GETARG_OID(0));
	ForkNumber	fork = fork_arg(fcinfo, 1);
	PbpOsMethod method = parse_name(fcinfo, 2, "method", os_method_names, PBP_OS_METHODS);
	PbpOsTrust	trust = PBP_OS_TRUSTED;
	int64		start = pbp_now_ns();
	PbpOsWalk	walk;

	InitMaterializedSRF(fcinfo, 0);
	pbp_os_walk(&walk, &locator, fork, method);
	while (pbp_os_next(&walk))
	{
		PbpOsCounts counts;

		check_offered(walk.file.trust);
		if (trust == PBP_OS_TRUSTED)
			trust = walk.file.trust;
		pbp_os_count(&walk.file, &counts);
		emit_os_cache((ReturnSetInfo *) fcinfo->resultinfo, walk.segment, &walk.file,
					  &counts, (double) (pbp_now_ns() - start) / 1e6);
		start = pbp_now_ns();
	}
	report_reason(trust, PG_GETARG_OID(0), 0);
	return (Datum) 0;
}

/* A relation to look at, and what was found of one of its forks. */
typedef struct Target
{
	Oid			relid;
	PbpLocator	locator;
	bool		forks[MAX_FORKNUM + 1]; /* that it may have */
} Target;

typedef struct ForkResidency
{
	Oid			relid;
	ForkNumber	fork;
	PbpResidency counts;
} ForkResidency;

/*
 * Looking for forks that are not there is a large part of the work in a
 * database of many relations.
 */
static void
add_target(List **targets, Form_pg_class form)
{
	Target	   *target;

	if (!RELKIND_HAS_STORAGE(form->relkind) || form->relpersistence == RELPERSISTENCE_TEMP)
		return;
	target = palloc(sizeof(*target));
	target->relid = form->oid;
	target->locator = class_locator(form);
	target->forks[MAIN_FORKNUM] = true;
	target->forks[FSM_FORKNUM] = form->relkind != RELKIND_SEQUENCE;
	target->forks[VISIBILITYMAP_FORKNUM] = RELKIND_HAS_TABLE_AM(form->relkind);
	target->forks[INIT_FORKNUM] = form->relpersistence == RELPERSISTENCE_UNLOGGED;
	*targets = lappend(*targets, target);
}

/* Every relation of this database that has pages. */
static List *
all_targets(void)
{
	List	   *targets = NIL;
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(pg_class, 0, NULL);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		add_target(&targets, (Form_pg_class) GETSTRUCT(tuple));
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return targets;
}

/* One relation, or the partitions of one that has no pages of its own. */
static List *
relation_targets(Oid relid)
{
	List	   *targets = NIL;
	char		relkind = get_rel_relkind(relid);
	ListCell   *lc;

	if (relkind != RELKIND_PARTITIONED_TABLE && relkind != RELKIND_PARTITIONED_INDEX)
	{
		Target	   *target = palloc(sizeof(*target));

		target->relid = relid;
		target->locator = relation_locator(relid);
		memset(target->forks, true, sizeof(target->forks));
		return list_make1(target);
	}

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;			/* dropped meanwhile */
		add_target(&targets, (Form_pg_class) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
	return targets;
}

/* Look at all forks of all targets; the descriptors are scanned once. */
static List *
look_at_targets(List *targets)
{
	List	   *found = NIL;
	PbpPoolIndex *index = pbp_pool_index(list_length(targets) == 1 ?
										 &((Target *) linitial(targets))->locator : NULL);
	ListCell   *lc;

	foreach(lc, targets)
	{
		Target	   *target = lfirst(lc);

		for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
		{
			ForkResidency residency = {.relid = target->relid,.fork = fork};

			CHECK_FOR_INTERRUPTS();
			if (target->forks[fork] &&
				pbp_residency(index, &target->locator, fork, &residency.counts))
			{
				ForkResidency *copy = palloc(sizeof(*copy));

				*copy = residency;
				found = lappend(found, copy);
			}
		}
	}
	pbp_pool_index_free(index);
	return found;
}

/*
 * Has a relation got other files since it was looked up?  Then it is looked
 * up again.
 */
static bool
was_rewritten(Target *target)
{
	PbpLocator	before = target->locator;

	return find_relation(target->relid, &target->locator) &&
		!pbp_locator_equals(&before, &target->locator);
}

/* Largest first; then in the order of the catalog. */
static int
compare_residency(const ListCell *a, const ListCell *b)
{
	const ForkResidency *one = lfirst(a);
	const ForkResidency *other = lfirst(b);

	if (one->counts.blocks != other->counts.blocks)
		return one->counts.blocks < other->counts.blocks ? 1 : -1;
	if (one->relid != other->relid)
		return one->relid > other->relid ? 1 : -1;
	return one->fork > other->fork ? 1 : -1;
}

static void
emit_residency(ReturnSetInfo *rsinfo, const ForkResidency *found)
{
	const PbpResidency *counts = &found->counts;
	bool		known = counts->trust == PBP_OS_TRUSTED;
	Row			row = {0};

	add_datum(&row, ObjectIdGetDatum(found->relid));
	add_datum(&row, CStringGetTextDatum(forkNames[found->fork]));
	add_count(&row, counts->blocks);
	add_count(&row, counts->shared);
	add_known_count(&row, known, counts->os);
	add_known_count(&row, known, counts->both);
	add_known_count(&row, known,
					counts->blocks - counts->shared - counts->os + counts->both);
	add_known_count(&row, known, counts->os_partial);
	add_count(&row, counts->shared_dirty);
	add_datum(&row, CStringGetTextDatum(os_method_names[counts->method]));
	add_datum(&row, BoolGetDatum(known));
	emit_row(rsinfo, &row, RESIDENCY_COLS);
}

Datum
pgbufprobe_residency(PG_FUNCTION_ARGS)
{
	List	   *targets;
	List	   *found;
	ListCell   *lc;
	Oid			first[PBP_OS_TRUSTS] = {InvalidOid};
	int64		forks[PBP_OS_TRUSTS] = {0};

	targets = PG_ARGISNULL(0) ? all_targets() : relation_targets(PG_GETARG_OID(0));
	found = look_at_targets(targets);
	for (int i = 1; i < MAX_LOOKS && list_length(targets) == 1 &&
		 was_rewritten(linitial(targets)); i++)
		found = look_at_targets(targets);
	list_sort(found, compare_residency);

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, found)
	{
		const ForkResidency *residency = lfirst(lc);
		PbpOsTrust	trust = residency->counts.trust;

		if (forks[trust]++ == 0)
			first[trust] = residency->relid;
		emit_residency((ReturnSetInfo *) fcinfo->resultinfo, residency);
	}
	for (int i = 0; i < PBP_OS_TRUSTS; i++)
	{
		if (forks[i] > 0)
			report_reason((PbpOsTrust) i, first[i], forks[i] - 1);
	}
	return (Datum) 0;
}

Datum
pgbufprobe_residency_map(PG_FUNCTION_ARGS)
{
	PbpLocator	locator = relation_locator(PG_GETARG_OID(0));
	int			nbuckets = positive_arg(fcinfo, 1, "buckets", MAX_BUCKETS);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	int64		nblocks = pbp_fork_blocks(&locator, fork);
	PbpResidencyBucket *buckets;
	PbpPoolIndex *index;
	PbpOsTrust	trust;

	InitMaterializedSRF(fcinfo, 0);
	if (nblocks == 0)
		return (Datum) 0;

	nbuckets = (int) Min(nbuckets, nblocks);
	buckets = palloc0(nbuckets * sizeof(*buckets));
	index = pbp_pool_index(&locator);
	trust = pbp_residency_map(index, &locator, fork, nblocks, nbuckets, buckets);
	pbp_pool_index_free(index);

	for (int i = 0; i < nbuckets; i++)
	{
		bool		known = trust == PBP_OS_TRUSTED;
		Row			row = {0};

		add_datum(&row, Int32GetDatum(i + 1));
		add_count(&row, pbp_bucket_start(i, nblocks, nbuckets));
		add_count(&row, pbp_bucket_start(i + 1, nblocks, nbuckets) - 1);
		add_count(&row, buckets[i].shared);
		add_known_count(&row, known, buckets[i].os);
		add_known_count(&row, known, buckets[i].both);
		emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, RESIDENCY_MAP_COLS);
	}
	report_reason(trust, PG_GETARG_OID(0), 0);
	return (Datum) 0;
}

Datum
pgbufprobe_read_cost(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int			samples = positive_arg(fcinfo, 1, "samples", MAX_SAMPLES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	Relation	relation = try_relation_open(relid, AccessShareLock);
	PbpReadCost *cost = palloc(sizeof(*cost));

	if (relation == NULL)
		report_no_relation(relid);
	check_has_pages(relation->rd_rel);
	if (!smgrexists(RelationGetSmgr(relation), fork))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" has no fork \"%s\"",
						RelationGetRelationName(relation), forkNames[fork])));

	InitMaterializedSRF(fcinfo, 0);
	pbp_read_cost(relation, fork, samples, cost);
	relation_close(relation, AccessShareLock);

	for (int i = 0; i < PBP_TIERS; i++)
	{
		const PbpLatency *latency = &cost->tiers[i];
		Row			row = {0};

		if (latency->count == 0)
			continue;
		if (tier_names[i] != NULL)
			add_datum(&row, CStringGetTextDatum(tier_names[i]));
		else
			add_null(&row);
		add_count(&row, latency->count);
		add_latency(&row, latency);
		emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, READ_COST_COLS);
	}
	report_reason(cost->trust, relid, 0);
	pfree(cost);
	return (Datum) 0;
}

Datum
pgbufprobe_os_advise(PG_FUNCTION_ARGS)
{
	PbpLocator	locator = relation_locator(PG_GETARG_OID(0));
	PbpOsAdvice advice = parse_name(fcinfo, 1, "advice", os_advice_names, PBP_OS_ADVICES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	int64		advised = 0;
	PbpOsWalk	walk;

	pbp_os_walk(&walk, &locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		check_offered(walk.file.trust);
		advised += pbp_os_advise(&walk.file, advice);
	}
	PG_RETURN_INT64(advised);
}

/* ---- what it did over time ---- */

/* A count that came from a double, rounded. */
static void
add_rounded(Row *row, double count)
{
	add_count(row, (int64) rint(count));
}

/* Something that may be unknown, which is then negative. */
static void
add_known_measure(Row *row, double value)
{
	if (value >= 0)
		add_measure(row, value);
	else
		add_null(row);
}

static void
check_sampler_is_loaded(void)
{
	if (!pbp_sampler_is_loaded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pgbufprobe must be loaded via shared_preload_libraries"),
				 errdetail("History is kept by a background worker that starts with the server."),
				 errhint("Add pgbufprobe to shared_preload_libraries and restart the server; pgbufprobe_snapshot() works without.")));
}

/* How fast the hand turns. */
typedef struct TurnRate
{
	double		seconds;		/* for which it was watched; 0: not at all */
	double		ticks;
} TurnRate;

/*
 * By the samples of the last RATE_SECONDS; one at least, if it is not too old.
 * Nor by more of them where somebody has put back the clock.
 */
static TurnRate
rate_by_history(void)
{
	TurnRate	rate = {0};
	int			nsamples;
	PbpSample  *samples = pbp_history(&nsamples);
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz oldest = now - RATE_SECONDS * USECS_PER_SEC;
	/* no sample for so long, and nobody is watching any more */
	TimestampTz awaited = now - (2 * pbp_sample_interval_ms + 1000) * INT64CONST(1000);

	if (nsamples > 0 && samples[nsamples - 1].taken_at < awaited)
		nsamples = 0;
	for (int i = nsamples - 1; i >= 0 && samples[i].taken_at >= oldest && rate.seconds < RATE_SECONDS; i--)
	{
		rate.seconds += (double) samples[i].elapsed_ns / 1e9;
		rate.ticks += (double) samples[i].new_ticks;
	}
	pfree(samples);
	return rate;
}

static TurnRate
rate_by_watching(int64 duration_ms)
{
	TurnRate	rate;
	PbpClock	from = pbp_read_clock();
	int64		from_ns = pbp_now_ns();

	sleep_ms(duration_ms);
	rate.seconds = (double) (pbp_now_ns() - from_ns) / 1e9;
	rate.ticks = (double) pbp_ticks_between(from, pbp_read_clock());
	return rate;
}

/* Seconds that the hand needs for some ticks, NULL if it stood still. */
static void
add_seconds(Row *row, const TurnRate *rate, double ticks)
{
	add_quotient(row, ticks * rate->seconds, rate->ticks);
}

static void
emit_residence(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationCount *count = item;
	const TurnRate *rate = arg;
	Row			row = {0};

	add_relation(&row, count);
	add_seconds(&row, rate, (double) count->stay_min);
	add_seconds(&row, rate, (double) count->stay_sum / (double) relation_buffers(count));
	add_seconds(&row, rate, (double) count->stay_max);
	add_seconds(&row, rate, NBuffers);
	add_measure(&row, rate->seconds);
	emit_row(rsinfo, &row, RESIDENCE_COLS);
}

Datum
pgbufprobe_residence(PG_FUNCTION_ARGS)
{
	int64		duration_ms = duration_arg_ms(fcinfo, 0);
	TurnRate	rate = {0};

	if (pbp_sampler_is_loaded() && pbp_sampler_on)
		rate = rate_by_history();
	if (rate.seconds == 0)
		rate = rate_by_watching(duration_ms);
	emit_relations(fcinfo, emit_residence, &rate);
	return (Datum) 0;
}

static void
emit_sample(ReturnSetInfo *rsinfo, const void *item,
			void *arg pg_attribute_unused())
{
	const PbpSample *sample = item;
	const PbpHistogram *histogram = &sample->histogram;
	double		seconds = (double) sample->elapsed_ns / 1e9;
	double		ticks = (double) sample->new_ticks;
	int64		usage[PBP_USAGE_LEVELS];
	int64		dirty = histogram->unused.dirty;
	int64		pinned = histogram->unused.pinned;
	Row			row = {0};

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
	{
		usage[i] = histogram->usage[i].buffers;
		dirty += histogram->usage[i].dirty;
		pinned += histogram->usage[i].pinned;
	}

	add_datum(&row, TimestampTzGetDatum(sample->taken_at));
	if (sample->elapsed_ns > 0)
		add_measure(&row, seconds);
	else
		add_null(&row);
	add_count(&row, sample->ticks);
	add_count(&row, sample->allocations);
	add_quotient(&row, ticks, seconds);
	add_quotient(&row, ticks, (double) sample->new_allocations);
	add_quotient(&row, NBuffers * seconds, ticks);
	add_datum(&row, usagecounts_array(usage));
	add_count(&row, histogram->unused.buffers);
	add_count(&row, dirty);
	add_count(&row, pinned);
	add_count(&row, sample->scans);
	add_measure(&row, (double) sample->cpu_ns / 1e6);
	add_quotient(&row, (double) sample->cpu_ns / 1e9, seconds);
	emit_row(rsinfo, &row, HISTORY_COLS);
}

Datum
pgbufprobe_history(PG_FUNCTION_ARGS)
{
	PbpSample  *samples;
	int			nsamples;

	check_sampler_is_loaded();
	samples = pbp_history(&nsamples);
	emit_rows(fcinfo, samples, nsamples, sizeof(*samples), emit_sample, NULL);
	pfree(samples);
	return (Datum) 0;
}

Datum
pgbufprobe_history_reset(PG_FUNCTION_ARGS pg_attribute_unused())
{
	check_sampler_is_loaded();
	pbp_history_reset();
	PG_RETURN_VOID();
}

/* Complains of a snapshot that is not there; for the SQL functions, which cannot. */
Datum
pgbufprobe_no_snapshot(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("there are not two snapshots to compare"),
				 errhint("SELECT pgbufprobe_snapshot() before and after what you want to watch.")));
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("snapshot " INT64_FORMAT " does not exist", PG_GETARG_INT64(0)),
			 errhint("The table pgbufprobe_snapshots lists those that do.")));
	PG_RETURN_NULL();
}

/* ---- what another size would do ---- */

/* Why a row's figures are unknown, NULL if they are not. */
static const char *
unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row)
{
	if (!pbp_sampler_is_loaded())
		return "pgbufprobe is not in shared_preload_libraries, so nobody has watched";
	if (!pbp_sampler_on)
		return "pgbufprobe.sampler is off";
	if (report->since == 0)
		return "the sampler has not begun to watch";
	if (!report->has_memory)
		return pbp_advice_memory_kb == 0 ? "pgbufprobe.advice_memory is 0" :
			pbp_advice_memory_kb < 0 ? "so small a pool shows nothing, or there was no memory to look" :
			"pgbufprobe.advice_memory is too small, or more than there is";

	switch (row->reason)
	{
		case PBP_ADVICE_KNOWN:
			return NULL;
		case PBP_ADVICE_NOTHING_EVICTED:
			return "the hand has not been round once, so nothing has shown yet what other sizes would do";
		case PBP_ADVICE_LEARNING:
			return "still learning: not enough pages were evicted and came back yet";
		case PBP_ADVICE_LITTLE_EVIDENCE:
			return "too few reads lately to tell";
		case PBP_ADVICE_RARE_SCANS:
			return "the hand turns faster than the sampler may scan; pgbufprobe.max_cpu_fraction allows more";
		case PBP_ADVICE_FAST_HAND:
			return "the hand of so small a pool would turn too often between two looks";
		case PBP_ADVICE_UNCOUNTED:
			return "more pages come back than the server counts as read: replay of WAL, or statistics not published yet";
		case PBP_ADVICE_SATURATED:
			return "more pages are in constant use than such a pool has room for, and their usage counts do not tell which of them most";
	}
	return "unknown";
}

/* What to keep in mind of a row that is known, NULL if nothing. */
static const char *
caveat_of_advice(const PbpAdviceReport *report, double factor)
{
	const PbpAdviceTotals *totals = &report->totals;

	if (fabs(totals->self_error) > LARGE_SELF_ERROR)
		return totals->self_error < 0 ?
			"many reads came and went between two looks: rings of large scans, or a hand too fast" :
			"more pages came in than the server counts as reads: new pages, or statistics not published yet";
	if (!PBP_KNOWS_RINGS)
		return "before PostgreSQL 16 reads of large scans count as others, and blocks of temporary tables";
	if (totals->ring_reads > totals->reads)
		return factor > 1 ?
			"large scans read even more through rings; repeated often, they would keep a part of a larger pool for themselves" :
			"large scans read even more through rings, which is not counted here";
	return NULL;
}

static void
add_advice_note(Row *row, const char *note)
{
	if (note != NULL)
		add_datum(row, CStringGetTextDatum(note));
	else
		add_null(row);
}

/* Milliseconds that reads take of which this share is served by the page cache; -1: unknown. */
static double
read_ms(const PbpAdviceReport *report, double reads, double os_share)
{
	double		ns = 0;

	if (os_share < 0 ||
		(os_share > 0 && report->os_read_ns < 0) || (os_share < 1 && report->storage_read_ns < 0))
		return -1;
	if (os_share > 0)
		ns += os_share * report->os_read_ns;
	if (os_share < 1)
		ns += (1 - os_share) * report->storage_read_ns;
	return reads * ns / 1e6;
}

static void
emit_advice(ReturnSetInfo *rsinfo, const PbpAdviceReport *report, int i)
{
	const PbpAdviceTotals *totals = &report->totals;
	const PbpAdviceRow *advice = &report->rows[i];
	double		factor = pbp_advice_factor(i);
	const char *unknown = unknown_advice(report, advice);
	double		os_share = report->os_cache_share[i];
	double		reads;
	double		ms;
	Row			row = {0};

	add_measure(&row, factor);
	add_rounded(&row, factor * NBuffers * BLCKSZ);
	if (unknown != NULL)
	{
		while (row.ncols < ADVICE_COLS - 1)
			add_null(&row);
		add_advice_note(&row, unknown);
		emit_row(rsinfo, &row, ADVICE_COLS);
		return;
	}

	reads = advice->miss_ratio * totals->accesses;
	ms = read_ms(report, fabs(totals->reads - reads), os_share);
	add_measure(&row, advice->miss_ratio);
	add_rounded(&row, reads);
	add_quotient(&row, reads, totals->reads);
	add_rounded(&row, totals->reads - reads);
	add_known_measure(&row, os_share);
	if (ms >= 0)
		add_measure(&row, reads <= totals->reads ? ms : -ms);
	else
		add_null(&row);
	add_count(&row, totals->sampled_loads);
	if (isnan(totals->self_error))
		add_null(&row);
	else
		add_measure(&row, totals->self_error);
	add_advice_note(&row, caveat_of_advice(report, factor));
	emit_row(rsinfo, &row, ADVICE_COLS);
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = palloc0(sizeof(*report));

	if (pbp_sampler_is_loaded())
		pbp_read_advice(report);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		emit_advice((ReturnSetInfo *) fcinfo->resultinfo, report, i);
	pfree(report);
	return (Datum) 0;
}

/* ---- loaded at server start ---- */

static shmem_request_hook_type previous_shmem_request_hook = NULL;
static shmem_startup_hook_type previous_shmem_startup_hook = NULL;

static void
request_shared_memory(void)
{
	if (previous_shmem_request_hook)
		previous_shmem_request_hook();
	pbp_sampler_request_shared();
}

static void
start_shared_memory(void)
{
	if (previous_shmem_startup_hook)
		previous_shmem_startup_hook();
	pbp_sampler_init_shared();
}

static void
define_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.sampler",
							 "Has a background worker watch the buffer pool.",
							 NULL, &pbp_sampler_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.sample_interval",
							"Time between two samples of the history.",
							"The worker looks more often where the hand of the clock sweep is fast.",
							&pbp_sample_interval_ms, 10000, 100, SECS_PER_HOUR * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("pgbufprobe.max_cpu_fraction",
							 "Share of one processor that the worker uses at most.",
							 NULL, &pbp_max_cpu_fraction, 0.01, 0.0001, 1,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_samples",
							"Samples that the history holds in shared memory.",
							NULL, &pbp_history_samples, 8640, 10, 1000000,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.advice_memory",
							"Memory that the worker uses at most to tell what other sizes would do.",
							"-1 means what is enough, at most a thousandth of shared_buffers; 0 means no advice.",
							&pbp_advice_memory_kb, -1, -1, MAX_KILOBYTES,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	MarkGUCPrefixReserved("pgbufprobe");
}

/*
 * All but history and advice works in a session that has loaded this library
 * on its own.
 */
void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;

	define_settings();
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;
	pbp_sampler_register();
}

/*-------------------------------------------------------------------------
 *
 * mapfuncs.c
 *	  SQL functions that take cache maps, and restore what they say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/args.h"
#include "base/relations.h"
#include "base/rows.h"
#include "base/worker.h"
#include "caches/cachefuncs.h"
#include "caches/cacherestore.h"
#include "caches/cachetake.h"

#define CACHE_MAP_COLS		3
#define CACHE_RESTORE_COLS	4

#define MAX_WAIT_MS			1000	/* then the rate is computed again */

PG_FUNCTION_INFO_V1(pgbufprobe_cache_map);
PG_FUNCTION_INFO_V1(pgbufprobe_cache_restore);

static const char *const target_names[PBP_RESTORE_TARGETS] = {
	[PBP_RESTORE_BOTH] = "both",
	[PBP_RESTORE_SHARED_BUFFERS] = "shared_buffers",
	[PBP_RESTORE_OS_CACHE] = "os_cache",
};

/* ---- maps ---- */

static bytea *
map_bytea(const PbpTakenMap *map)
{
	bytea	   *value = palloc(VARHDRSZ + map->bytes.len);

	SET_VARSIZE(value, VARHDRSZ + map->bytes.len);
	memcpy(VARDATA(value), map->bytes.data, map->bytes.len);
	return value;
}

static void
emit_map(ReturnSetInfo *rsinfo, Oid relid, ForkNumber fork, const PbpTakenMap *map)
{
	Row			row = {0};

	add_datum(&row, ObjectIdGetDatum(relid));
	add_text(&row, forkNames[fork]);
	add_datum(&row, PointerGetDatum(map_bytea(map)));
	emit_row(rsinfo, &row, CACHE_MAP_COLS);
}

/* One fork that the caller has named has a row at any rate, unless it is dropped meanwhile. */
static void
emit_one_map(FunctionCallInfo fcinfo, Oid relid, ForkNumber fork)
{
	RelationStorage relation = find_fork(relid, fork);
	int			attempts = 0;
	PbpTakenMap map;
	bool		found;

	do
	{
		PbpSegment	segment;

		pbp_segment_begin(&segment, &relation.locator);
		found = pbp_take_map(&segment, relid, &relation.locator, fork, &map);
		pbp_segment_end(&segment);
	} while (must_repeat(&relation, &attempts));
	check_found(found, relid, fork);
	InitMaterializedSRF(fcinfo, 0);
	if (!found)
		return;
	if (map.verdict.trust == PBP_OS_UNREADABLE)
		report_unreadable(ERROR, &map.verdict, 0);
	report_reason(map.verdict.trust, relid, 0);
	emit_map((ReturnSetInfo *) fcinfo->resultinfo, relid, fork, &map);
}

/* The relations of which something is unknown, for one message about all of them. */
typedef struct Unknown
{
	Oid			first[PBP_OS_TRUSTS];
	int64		number[PBP_OS_TRUSTS];
} Unknown;

/* A file that cannot be opened is reported at once; other forks have their maps. */
static void
note_unknown(Unknown *unknown, Oid relid, const PbpTakenMap *map)
{
	if (map->verdict.trust == PBP_OS_UNREADABLE)
		report_unreadable(WARNING, &map->verdict, 0);
	else if (unknown->number[map->verdict.trust]++ == 0)
		unknown->first[map->verdict.trust] = relid;
}

static void
report_all_unknown(const Unknown *unknown)
{
	for (int i = 0; i < PBP_OS_TRUSTS; i++)
	{
		if (unknown->number[i] > 0)
			report_reason((PbpOsTrust) i, unknown->first[i], unknown->number[i] - 1);
	}
}

typedef struct AllMaps
{
	PbpSegment	segment;
	Unknown		unknown;
	bool		forks[MAX_FORKNUM + 1]; /* of which maps are wanted */
} AllMaps;

/* A fork of which neither cache has a block has no row. */
static void
emit_maps(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const RelationStorage *relation = item;
	AllMaps    *maps = arg;

	for (ForkNumber fork = 0; fork <= MAX_FORKNUM; fork++)
	{
		PbpTakenMap map;

		CHECK_FOR_INTERRUPTS();
		if (!maps->forks[fork] || !relation->forks[fork] ||
			!pbp_take_map(&maps->segment, relation->relid, &relation->locator, fork, &map))
			continue;
		note_unknown(&maps->unknown, relation->relid, &map);
		if (map.verdict.trust != PBP_OS_UNREADABLE && (map.shared != 0 || map.os != 0))
			emit_map(rsinfo, relation->relid, fork, &map);
	}
}

Datum
pgbufprobe_cache_map(PG_FUNCTION_ARGS)
{
	RelationList relations;
	AllMaps		maps = {0};
	ForkNumber	only = PG_ARGISNULL(1) ? InvalidForkNumber : fork_arg(fcinfo, 1);

	if (!PG_ARGISNULL(0) && only != InvalidForkNumber)
	{
		emit_one_map(fcinfo, PG_GETARG_OID(0), only);
		return (Datum) 0;
	}
	for (ForkNumber fork = 0; fork <= MAX_FORKNUM; fork++)
		maps.forks[fork] = only == InvalidForkNumber || fork == only;
	if (PG_ARGISNULL(0))
		list_all_relations(&relations);
	else
		list_relation(&relations, PG_GETARG_OID(0));
	pbp_segment_begin(&maps.segment, relations.nrelations == 1 ? &relations.relations[0].locator : NULL);
	emit_rows(fcinfo, relations.relations, relations.nrelations, sizeof(RelationStorage),
			  emit_maps, &maps);
	pbp_segment_end(&maps.segment);
	report_all_unknown(&maps.unknown);
	return (Datum) 0;
}

/* ---- restore ---- */

/* Megabytes per second; 0 without a limit. */
static double
rate_arg(FunctionCallInfo fcinfo, int argno)
{
	double		rate;

	if (PG_ARGISNULL(argno))
		return 0;
	rate = PG_GETARG_FLOAT8(argno);
	if (!(rate > 0))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("mb_per_second must be greater than 0"),
				 errdetail("The given value is %g.", rate),
				 errhint("NULL sets no limit.")));
	return rate;
}

/* NULL: it was dropped. */
static char *
qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relid));

	return schema == NULL ? NULL : quote_qualified_identifier(schema, name);
}

/*
 * A map of this database belongs to its own relation, as long as that exists.  A
 * standby has the same identity.  In a clone with other OIDs, and after REINDEX
 * CONCURRENTLY, which replaces the index, the name that the caller gave decides.
 */
static void
check_relation(const PbpMapHeader *header, Relation relation)
{
	bool		here = header->system == GetSystemIdentifier() &&
		(header->database == MyDatabaseId || header->database == InvalidOid);
	char	   *taken_of;

	if (!here || header->relation == InvalidOid || header->relation == RelationGetRelid(relation))
		return;
	taken_of = qualified_name(header->relation);
	if (taken_of != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cache map does not belong to relation \"%s\"", RelationGetRelationName(relation)),
				 errdetail("It was taken of relation %s, which still exists.", taken_of),
				 errhint("Restore it to that relation.")));
}

static void
begin_restore(PbpRestore *restore, const bytea *map, ForkNumber fork, PbpRestoreTarget target)
{
	const char *reason = pbp_restore_begin(restore, (const uint8 *) VARDATA_ANY(map),
										   VARSIZE_ANY_EXHDR(map), target);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cache map"),
				 errdetail_internal("%s", reason),
				 errhint("Use the value that pgbufprobe_cache_map() returned.")));
	if (restore->header.fork != (uint32) fork)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cache map does not belong to fork \"%s\"", forkNames[fork]),
				 errdetail("It was taken of fork \"%s\".", forkNames[restore->header.fork])));
}

static void
wait_for_rate(const PbpRestore *restore, double rate)
{
	int64		ms;

	while (rate > 0 && (ms = pbp_restore_wait_ms(restore, rate)) > 0)
		pbp_worker_wait(Min(ms, MAX_WAIT_MS));
}

static Datum
form_counts(FunctionCallInfo fcinfo, const PbpRestoreCounts *counts)
{
	Row			row = {0};

	add_count(&row, counts->requested);
	add_count(&row, counts->present);
	add_count(&row, counts->read);
	add_count(&row, counts->skipped);
	return row_datum(fcinfo, &row, CACHE_RESTORE_COLS);
}

Datum
pgbufprobe_cache_restore(PG_FUNCTION_ARGS)
{
	PbpRestoreTarget target;
	ForkNumber	fork;
	double		rate;
	Relation	relation;
	PbpRestore	restore;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	fork = fork_arg(fcinfo, 2);
	target = parse_name(fcinfo, 3, "target", target_names, PBP_RESTORE_TARGETS);
	rate = rate_arg(fcinfo, 4);
	if (target == PBP_RESTORE_OS_CACHE)
		check_may_advise();
	relation = open_fork(PG_GETARG_OID(0), fork);
	begin_restore(&restore, PG_GETARG_BYTEA_PP(1), fork, target);
	check_relation(&restore.header, relation);
	while (pbp_restore_step(&restore, relation))
		wait_for_rate(&restore, rate);
	relation_close(relation, AccessShareLock);
	PG_RETURN_DATUM(form_counts(fcinfo, &restore.counts));
}

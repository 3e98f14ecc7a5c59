/*-------------------------------------------------------------------------
 *
 * cachefuncs.c
 *	  SQL functions that say which cache holds what, what reads from it take, and
 *	  that take cache maps and restore what they say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "base/sqlvalues.h"
#include "base/settings.h"
#include "caches/caches.h"
#include "pool/pool.h"

#define MAX_BUCKETS			1000000
#define MAX_SAMPLES			1000000
#define MAX_ATTEMPTS		3	/* to read a relation that others rewrite */

PG_FUNCTION_INFO_V1(pgbufprobe_os_cache);
PG_FUNCTION_INFO_V1(pgbufprobe_residency);
PG_FUNCTION_INFO_V1(pgbufprobe_os_advise);
PG_FUNCTION_INFO_V1(pgbufprobe_read_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_cache_map);
PG_FUNCTION_INFO_V1(pgbufprobe_cache_restore);

static const char *const os_method_names[] = {
	[PBP_OS_AUTO] = "auto",
	[PBP_OS_CACHESTAT] = "cachestat",
	[PBP_OS_MINCORE] = "mincore",
};

static const char *const os_advice_names[] = {
	[PBP_OS_WILLNEED] = "willneed",
	[PBP_OS_DONTNEED] = "dontneed",
};

static const char *const tier_names[PBP_TIERS] = {
	[PBP_SHARED_BUFFERS] = "shared_buffers",
	[PBP_OS_CACHE] = "os_cache",
	[PBP_STORAGE] = "storage",
	[PBP_UNKNOWN_TIER] = NULL,
};

static const char *const target_names[] = {
	[PBP_RESTORE_BOTH] = "both",
	[PBP_RESTORE_SHARED_BUFFERS] = "shared_buffers",
	[PBP_RESTORE_OS_CACHE] = "os_cache",
};

/* ---- what is unknown about the page cache ---- */

/* The first fork of which something is unknown for a reason, and the number of such forks. */
typedef struct Unknown
{
	Oid			relid;
	PbpOsVerdict verdict;
	int64		number;
} Unknown;

static void
note_unknown(Unknown *unknown, Oid relid, const PbpOsVerdict *verdict)
{
	Unknown    *reason = &unknown[verdict->trust];

	if (reason->number++ == 0)
	{
		reason->relid = relid;
		reason->verdict = *verdict;
	}
}

/* Says why counts of a relation, and of other forks, are NULL. */
static void
report_reason(PbpOsTrust trust, Oid relid, int64 others)
{
	char	   *name = get_rel_name(relid);

	if (trust == PBP_OS_TRUSTED || name == NULL)
		return;
	ereport(NOTICE,
			(others == 0 ? errmsg("page cache state of \"%s\" is unavailable", name) :
			 errmsg_plural("page cache state of \"%s\" and " INT64_FORMAT " other fork is unavailable",
						   "page cache state of \"%s\" and " INT64_FORMAT " other forks is unavailable",
						   (unsigned long) others, name, others),
			 errdetail_internal("%s", pbp_os_reason(trust))));
}

/*
 * A file that cannot be opened is an error if its relation was asked for, and
 * a warning if many were.
 */
static void
report_unreadable(int elevel, const char *path, int error, int64 others)
{
	errno = error;
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path),
			 others > 0 ?
			 errdetail("Files of " INT64_FORMAT " other relations could not be opened either.",
					   others) : 0));
}

/* One message for all forks that have something unknown for the same reason. */
static void
report_unknown(const Unknown *unknown)
{
	for (PbpOsTrust trust = PBP_OS_TRUSTED + 1; trust < PBP_OS_TRUSTS; trust++)
	{
		const Unknown *reason = &unknown[trust];

		if (reason->number > 0 && trust == PBP_OS_UNREADABLE)
			report_unreadable(WARNING, reason->verdict.path, reason->verdict.error,
							  reason->number - 1);
		else if (reason->number > 0)
			report_reason(trust, reason->relid, reason->number - 1);
	}
}

/* Raises an error for a file that cannot be asked about at all. */
static void
check_file(const PbpOsFile *file)
{
	if (file->trust == PBP_OS_UNREADABLE)
		report_unreadable(ERROR, file->path, file->error, 0);
	if (file->trust == PBP_OS_UNSUPPORTED || file->trust == PBP_OS_NO_CACHESTAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot determine page cache state"),
				 errdetail_internal("%s", pbp_os_reason(file->trust)),
				 file->trust == PBP_OS_UNSUPPORTED ?
				 errhint("Functions that do not need the page cache work on this platform, too.") :
				 errhint("Use the method \"mincore\" or \"auto\".")));
}

static void
check_may_advise(void)
{
	if (!pbp_os_cache_on)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot advise the kernel while \"pgbufprobe.os_cache\" is off")));
}

/* ---- relations that others drop or rewrite ---- */

static RelationStorage
find_fork(Oid relid, ForkNumber fork)
{
	RelationStorage relation;

	if (!find_relation(relid, &relation))
		report_no_relation(relid);
	if (!relation.forks[fork])
		report_no_fork(relid, fork);
	return relation;
}

/*
 * Opens a relation to read its pages into shared buffers.  An index that is being
 * built concurrently is refused: its build writes pages past shared buffers, which
 * would keep older ones.
 */
static Relation
open_fork(Oid relid, ForkNumber fork)
{
	Relation	relation = try_relation_open(relid, AccessShareLock);

	if (relation == NULL)
		report_no_relation(relid);
	check_has_pages(relation->rd_rel);
	if (relation->rd_index != NULL && !relation->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot read index \"%s\", because it is not valid",
						RelationGetRelationName(relation)),
				 errhint("Wait until it is built, or use REINDEX.")));
	if (!smgrexists(RelationGetSmgr(relation), fork))
		report_no_fork(relid, fork);
	return relation;
}

/*
 * True if the relation was rewritten, so that the caller has to read its other files
 * instead.  A relation without this fork is an error, one that was dropped meanwhile is not.
 */
static bool
must_repeat(RelationStorage *relation, ForkNumber fork, bool found, int *attempts)
{
	PbpLocator	before = relation->locator;
	bool		exists = find_relation(relation->relid, relation);

	if (++*attempts < MAX_ATTEMPTS && exists && !RelFileLocatorEquals(before, relation->locator))
		return true;
	if (!found && exists)
		report_no_fork(relation->relid, fork);
	return false;
}

/* ---- the page cache ---- */

Datum
pgbufprobe_os_cache(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ForkNumber	fork = fork_arg(fcinfo, 1);
	PbpOsMethod method = parse_name(fcinfo, 2, "method", os_method_names,
									lengthof(os_method_names));
	RelationStorage relation = find_fork(relid, fork);
	PbpOsTrust	trust;
	PbpOsWalk	walk;
	int			attempts = 0;
	bool		found;

	InitMaterializedSRF(fcinfo, 0);
	do
	{
		trust = PBP_OS_TRUSTED;
		found = false;
		tuplestore_clear(((ReturnSetInfo *) fcinfo->resultinfo)->setResult);
		pbp_os_walk(&walk, &relation.locator, fork, method);
		while (pbp_os_next(&walk))
		{
			const PbpOsFile *file = &walk.file;
			int64		cached = pbp_os_count(file);
			Row			row = {0};

			found = true;
			check_file(file);
			if (trust == PBP_OS_TRUSTED)
				trust = file->trust;
			add_datum(&row, Int32GetDatum((int32) walk.key.segment));
			add_count(&row, file->bytes);
			add_known_count(&row, cached >= 0, cached * pbp_os_page_bytes());
			/* NULL: none was used */
			add_text(&row, file->method != PBP_OS_AUTO ? os_method_names[file->method] : NULL);
			emit_row(fcinfo, &row);
		}
	} while (must_repeat(&relation, fork, found, &attempts));
	report_reason(trust, relid, 0);
	return (Datum) 0;
}

Datum
pgbufprobe_os_advise(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	PbpOsAdvice advice = parse_name(fcinfo, 1, "advice", os_advice_names,
									lengthof(os_advice_names));
	ForkNumber	fork = fork_arg(fcinfo, 2);
	RelationStorage relation;
	int			attempts = 0;
	int64		advised;
	bool		found;

	check_may_advise();
	relation = find_fork(relid, fork);
	do
	{
		PbpOsWalk	walk;

		advised = 0;
		found = false;
		pbp_os_walk(&walk, &relation.locator, fork, PBP_OS_AUTO);
		while (pbp_os_next(&walk))
		{
			found = true;
			check_file(&walk.file);
			pbp_os_advise(&walk.file, 0, walk.file.bytes, advice);
			advised += walk.file.bytes;
		}
	} while (must_repeat(&relation, fork, found, &attempts));
	PG_RETURN_INT64(advised);
}

/* ---- both caches ---- */

/*
 * What is in both caches first, then the largest, then in the order of the
 * catalog.  A million forks take a while to sort.
 */
static int
compare_residency(const void *a, const void *b)
{
	const PbpResidency *one = a;
	const PbpResidency *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->both != other->both)
		return one->both < other->both ? 1 : -1;
	if (one->blocks != other->blocks)
		return one->blocks < other->blocks ? 1 : -1;
	if (one->relid != other->relid)
		return one->relid > other->relid ? 1 : -1;
	return (int) one->fork - (int) other->fork;
}

static void
emit_residency(FunctionCallInfo fcinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpResidency *found = item;
	bool		readable = found->verdict.trust != PBP_OS_UNREADABLE;
	Row			row = {0};

	add_datum(&row, ObjectIdGetDatum(found->relid));
	add_text(&row, forkNames[found->fork]);
	add_count(&row, found->first);
	add_known_count(&row, readable, found->blocks);
	add_known_count(&row, readable, found->shared);
	if (found->verdict.trust == PBP_OS_TRUSTED)
	{
		add_count(&row, found->os);
		add_counted(&row, found->both,
					pbp_estimate_error(found->nread, found->blocks, found->both), found->blocks);
	}
	else
		add_nulls(&row, 4);
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_residency(PG_FUNCTION_ARGS)
{
	int			buckets = positive_arg(fcinfo, 1, "buckets", MAX_BUCKETS);
	double		fraction = fraction_arg(fcinfo, 2);
	RelationList relations;
	PbpResidencyList found;
	Unknown		unknown[PBP_OS_TRUSTS] = {0};
	int			attempts = 0;

	if (buckets > 1 && fraction < 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot estimate several buckets from a sample"),
				 errhint("Leave out \"buckets\" or \"sample_fraction\".")));
	if (PG_ARGISNULL(0))
		list_all_relations(&relations);
	else
		list_relation(&relations, PG_GETARG_OID(0));

	do
		pbp_residency(&relations, buckets, fraction, &found);
	while (relations.nrelations == 1 &&
		   must_repeat(&relations.relations[0], MAIN_FORKNUM, true, &attempts));
	if (buckets == 1)
		qsort(found.rows, found.nrows, sizeof(PbpResidency), compare_residency);

	emit_rows(fcinfo, found.rows, found.nrows, sizeof(PbpResidency), emit_residency, NULL);
	for (int64 i = 0; i < found.nrows; i++)
		if (found.rows[i].first == 0)
			note_unknown(unknown, found.rows[i].relid, &found.rows[i].verdict);
	report_unknown(unknown);
	return (Datum) 0;
}

Datum
pgbufprobe_read_cost(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int			samples = positive_arg(fcinfo, 1, "samples", MAX_SAMPLES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	Relation	relation = open_fork(relid, fork);
	PbpLatency *tiers = palloc(PBP_TIERS * sizeof(PbpLatency));
	PbpOsTrust	trust;

	InitMaterializedSRF(fcinfo, 0);
	trust = pbp_read_cost(relation, fork, samples, tiers);
	relation_close(relation, AccessShareLock);
	for (int i = 0; i < PBP_TIERS; i++)
	{
		Row			row = {0};

		if (tiers[i].count == 0)
			continue;
		add_text(&row, tier_names[i]);
		add_count(&row, tiers[i].count);
		add_latency(&row, &tiers[i]);
		emit_row(fcinfo, &row);
	}
	report_reason(trust, relid, 0);
	return (Datum) 0;
}

/* ---- cache maps ---- */

typedef struct Maps
{
	PbpSegment *segment;
	ForkNumber	fork;			/* InvalidForkNumber: all forks */
	bool		one;			/* the caller has named this fork of a relation */
	bool		found;			/* it has a file */
	Unknown		unknown[PBP_OS_TRUSTS];
} Maps;

/*
 * A fork of which neither cache has a block has no row, unless the caller has named it.
 * Of many forks, a file that cannot be opened is reported at once; others have their maps.
 */
static void
emit_maps(FunctionCallInfo fcinfo, const void *item, void *arg)
{
	const RelationStorage *relation = item;
	Maps	   *maps = arg;

	for (ForkNumber fork = 0; fork <= MAX_FORKNUM; fork++)
	{
		PbpFileKey	key = {relation->locator, fork, PBP_ALL_SEGMENTS};
		PbpTakenMap map;
		Row			row = {0};

		CHECK_FOR_INTERRUPTS();
		if (!relation->forks[fork] || (maps->fork != InvalidForkNumber && maps->fork != fork) ||
			!pbp_take_map(maps->segment, relation->relid, &key, NULL, &map))
			continue;
		maps->found = true;
		if (map.verdict.trust == PBP_OS_UNREADABLE)
		{
			report_unreadable(maps->one ? ERROR : WARNING, map.verdict.path, map.verdict.error, 0);
			continue;
		}
		note_unknown(maps->unknown, relation->relid, &map.verdict);
		if (!map.any && !maps->one)
			continue;
		add_datum(&row, ObjectIdGetDatum(relation->relid));
		add_text(&row, forkNames[fork]);
		/* a bytea has the form of a text */
		add_datum(&row, PointerGetDatum(cstring_to_text_with_len(map.bytes.data, map.bytes.len)));
		emit_row(fcinfo, &row);
	}
}

Datum
pgbufprobe_cache_map(PG_FUNCTION_ARGS)
{
	Maps		maps = {.fork = PG_ARGISNULL(1) ? InvalidForkNumber : fork_arg(fcinfo, 1)};
	RelationStorage relation;
	RelationList relations = {.relations = &relation,.nrelations = 1};
	int			attempts = 0;

	maps.one = !PG_ARGISNULL(0) && maps.fork != InvalidForkNumber;
	if (maps.one)
		relation = find_fork(PG_GETARG_OID(0), maps.fork);
	else if (PG_ARGISNULL(0))
		list_all_relations(&relations);
	else
		list_relation(&relations, PG_GETARG_OID(0));
	do
	{
		maps.found = false;
		memset(maps.unknown, 0, sizeof(maps.unknown));
		maps.segment = pbp_segment_begin(relations.nrelations == 1 ?
										 &relations.relations[0].locator : NULL);
		emit_rows(fcinfo, relations.relations, relations.nrelations, sizeof(RelationStorage),
				  emit_maps, &maps);
		pbp_segment_end(maps.segment);
	} while (maps.one && must_repeat(&relation, maps.fork, maps.found, &attempts));
	report_unknown(maps.unknown);
	return (Datum) 0;
}

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

/*
 * A map of this database belongs to its own relation, as long as that exists.  A
 * standby has the same identity.  In a clone with other OIDs, and after REINDEX
 * CONCURRENTLY, which replaces the index, the name that the caller gave decides.
 */
static void
check_relation(const PbpMapHeader *header, Relation relation)
{
	ObjectAddress taken_of = {.classId = RelationRelationId,.objectId = header->relation};
	bool		here = header->system == GetSystemIdentifier() &&
		(header->database == MyDatabaseId || header->database == InvalidOid);
	char	   *name;

	if (!here || header->relation == InvalidOid || header->relation == RelationGetRelid(relation))
		return;
	name = getObjectIdentity(&taken_of, true);
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cache map does not belong to relation \"%s\"",
						RelationGetRelationName(relation)),
				 errdetail("It was taken of relation %s, which still exists.", name),
				 errhint("Restore it to that relation.")));
}

static void
check_map(const uint8 *map, Size bytes, Relation relation, ForkNumber fork)
{
	PbpMapHeader header;
	const char *reason = pbp_verify_map(map, bytes, &header);

	if (reason == NULL && header.fork > MAX_FORKNUM)
		reason = "It is of a fork that does not exist.";
	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cache map"),
				 errdetail_internal("%s", reason),
				 errhint("Use the value that pgbufprobe_cache_map() returned.")));
	if (header.fork != (uint32) fork)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cache map does not belong to fork \"%s\"", forkNames[fork]),
				 errdetail("It was taken of fork \"%s\".", forkNames[header.fork])));
	check_relation(&header, relation);
}

Datum
pgbufprobe_cache_restore(PG_FUNCTION_ARGS)
{
	PbpRestoreTarget target;
	ForkNumber	fork;
	double		rate;
	Relation	relation;
	const bytea *value;
	const uint8 *map;
	PbpRestoreCounts counts;
	Row			row = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	fork = fork_arg(fcinfo, 2);
	target = parse_name(fcinfo, 3, "target", target_names, lengthof(target_names));
	rate = rate_arg(fcinfo, 4);
	if (target == PBP_RESTORE_OS_CACHE)
		check_may_advise();
	relation = open_fork(PG_GETARG_OID(0), fork);
	value = PG_GETARG_BYTEA_PP(1);
	map = (const uint8 *) VARDATA_ANY(value);
	check_map(map, VARSIZE_ANY_EXHDR(value), relation, fork);
	counts = pbp_restore_map(relation, fork, map, VARSIZE_ANY_EXHDR(value), target, rate);
	relation_close(relation, AccessShareLock);

	add_count(&row, counts.requested);
	add_count(&row, counts.present);
	add_count(&row, counts.read);
	add_count(&row, counts.skipped);
	PG_RETURN_DATUM(row_datum(fcinfo, &row));
}

/*-------------------------------------------------------------------------
 *
 * cachefuncs.c
 *	  SQL functions that say which cache holds what.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "args.h"
#include "cachefuncs.h"
#include "pgbufprobe.h"
#include "relations.h"
#include "rows.h"

#define MAX_BUCKETS			1000000
#define MAX_LOOKS			3	/* at a relation that is rewritten meanwhile */

#define OS_CACHE_COLS		14
#define RESIDENCY_COLS		11
#define RESIDENCY_MAP_COLS	6

PG_FUNCTION_INFO_V1(pgbufprobe_os_cache);
PG_FUNCTION_INFO_V1(pgbufprobe_residency);
PG_FUNCTION_INFO_V1(pgbufprobe_residency_map);
PG_FUNCTION_INFO_V1(pgbufprobe_os_advise);

static const char *const os_method_names[PBP_OS_METHODS] = {
	[PBP_OS_AUTO] = "auto",
	[PBP_OS_CACHESTAT] = "cachestat",
	[PBP_OS_MINCORE] = "mincore",
};

static const char *const os_advice_names[PBP_OS_ADVICES] = {
	[PBP_OS_WILLNEED] = "willneed",
	[PBP_OS_DONTNEED] = "dontneed",
};

/*
 * Say why counts are NULL.  With several relations the first stands for all
 * that have the same reason.
 */
void
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

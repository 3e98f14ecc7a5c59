/*-------------------------------------------------------------------------
 *
 * cachefuncs.c
 *	  SQL functions that say which cache holds what, and what reads from it take.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/lsyscache.h"

#include "base/args.h"
#include "base/relations.h"
#include "base/rows.h"
#include "base/settings.h"
#include "caches/cachefuncs.h"
#include "caches/residency.h"
#include "pool/estimate.h"

#define MAX_BUCKETS			1000000
#define MAX_SAMPLES			1000000
#define MAX_ATTEMPTS		3	/* to read a relation that others rewrite */

#define OS_CACHE_COLS		4
#define RESIDENCY_COLS		9
#define READ_COST_COLS		5

PG_FUNCTION_INFO_V1(pgbufprobe_os_cache);
PG_FUNCTION_INFO_V1(pgbufprobe_residency);
PG_FUNCTION_INFO_V1(pgbufprobe_os_advise);
PG_FUNCTION_INFO_V1(pgbufprobe_read_cost);

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

/*
 * Says why counts are NULL.  The first of several forks stands for all that
 * have the same reason.
 */
void
report_reason(PbpOsTrust trust, Oid relid, int64 others)
{
	char	   *name = get_rel_name(relid);

	if (trust == PBP_OS_TRUSTED || name == NULL)
		return;
	if (others == 0)
		ereport(NOTICE,
				(errmsg("page cache state of \"%s\" is unavailable", name),
				 errdetail_internal("%s", pbp_os_reason(trust))));
	else
		ereport(NOTICE,
				(errmsg_plural("page cache state of \"%s\" and " INT64_FORMAT " other fork is unavailable",
							   "page cache state of \"%s\" and " INT64_FORMAT " other forks is unavailable",
							   (unsigned long) others, name, others),
				 errdetail_internal("%s", pbp_os_reason(trust))));
}

/*
 * A file that cannot be opened is an error if its relation was asked for, and
 * a warning if many were.
 */
void
report_unreadable(int elevel, const PbpOsVerdict *verdict, int64 others)
{
	errno = verdict->error;
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", verdict->path),
			 others > 0 ?
			 errdetail("Files of " INT64_FORMAT " other relations could not be opened either.", others) : 0));
}

/* Raises an error for a file that cannot be asked about at all. */
static void
check_file(const PbpOsFile *file)
{
	PbpOsVerdict verdict = {0};

	if (!pbp_os_judge(&verdict, file))
		report_unreadable(ERROR, &verdict, 0);
	if (file->trust == PBP_OS_UNSUPPORTED || file->trust == PBP_OS_NO_CACHESTAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot determine page cache state"),
				 errdetail_internal("%s", pbp_os_reason(file->trust)),
				 file->trust == PBP_OS_UNSUPPORTED ?
				 errhint("Functions that do not need the page cache work on this platform, too.") :
				 errhint("Use the method \"mincore\" or \"auto\".")));
}

void
check_may_advise(void)
{
	if (!pbp_os_cache_on)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot advise the kernel while \"pgbufprobe.os_cache\" is off")));
}

/* ---- relations that others drop or rewrite ---- */

RelationStorage
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
Relation
open_fork(Oid relid, ForkNumber fork)
{
	Relation	relation = try_relation_open(relid, AccessShareLock);

	if (relation == NULL)
		report_no_relation(relid);
	check_has_pages(relation->rd_rel);
	if (relation->rd_index != NULL && !relation->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot read index \"%s\", because it is not valid", RelationGetRelationName(relation)),
				 errhint("Wait until it is built, or use REINDEX.")));
	if (!smgrexists(RelationGetSmgr(relation), fork))
		report_no_fork(relid, fork);
	return relation;
}

/* A rewritten relation has other files, which the caller has to read instead. */
bool
must_repeat(RelationStorage *relation, int *attempts)
{
	return ++*attempts < MAX_ATTEMPTS && was_rewritten(relation);
}

/* A relation without this fork is an error, one that was dropped meanwhile is not. */
void
check_found(bool found, Oid relid, ForkNumber fork)
{
	RelationStorage relation;

	if (!found && find_relation(relid, &relation))
		report_no_fork(relid, fork);
}

/* ---- SQL functions ---- */

static void
emit_os_cache(ReturnSetInfo *rsinfo, int number, const PbpOsSegment *segment)
{
	const PbpOsFile *file = &segment->file;
	Row			row = {0};

	add_datum(&row, Int32GetDatum(number));
	add_count(&row, file->bytes);
	add_known_count(&row, segment->cached >= 0, segment->cached * pbp_os_page_bytes());
	/* NULL: none was used */
	add_text(&row, file->method != PBP_OS_AUTO ? os_method_names[file->method] : NULL);
	emit_row(rsinfo, &row, OS_CACHE_COLS);
}

Datum
pgbufprobe_os_cache(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ForkNumber	fork = fork_arg(fcinfo, 1);
	PbpOsMethod method = parse_name(fcinfo, 2, "method", os_method_names, PBP_OS_METHODS);
	RelationStorage relation = find_fork(relid, fork);
	PbpOsTrust	trust = PBP_OS_TRUSTED;
	int			attempts = 0;
	List	   *segments;
	ListCell   *lc;

	do
		segments = pbp_os_count(&relation.locator, fork, method);
	while (must_repeat(&relation, &attempts));
	check_found(segments != NIL, relid, fork);

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, segments)
	{
		const PbpOsSegment *segment = lfirst(lc);

		check_file(&segment->file);
		if (trust == PBP_OS_TRUSTED)
			trust = segment->file.trust;
		emit_os_cache((ReturnSetInfo *) fcinfo->resultinfo, foreach_current_index(lc), segment);
	}
	report_reason(trust, relid, 0);
	return (Datum) 0;
}

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
emit_residency(ReturnSetInfo *rsinfo, const void *item, void *arg pg_attribute_unused())
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
		add_counted(&row, found->both, pbp_estimate_error(found->nread, found->blocks, found->both), found->blocks);
	}
	else
		add_nulls(&row, RESIDENCY_COLS);
	emit_row(rsinfo, &row, RESIDENCY_COLS);
}

/* One message for all forks that have something unknown for the same reason. */
static void
report_unknown(const PbpResidencyList *list)
{
	const PbpResidency *first[PBP_OS_TRUSTS] = {NULL};
	int64		number[PBP_OS_TRUSTS] = {0};

	for (int64 i = 0; i < list->nrows; i++)
	{
		const PbpResidency *row = &list->rows[i];
		PbpOsTrust	trust = row->verdict.trust;

		if (row->first == 0 && number[trust]++ == 0)
			first[trust] = row;
	}
	for (int i = 0; i < PBP_OS_TRUSTS; i++)
	{
		if (first[i] == NULL)
			continue;
		if (i == PBP_OS_UNREADABLE)
			report_unreadable(WARNING, &first[i]->verdict, number[i] - 1);
		else
			report_reason((PbpOsTrust) i, first[i]->relid, number[i] - 1);
	}
}

Datum
pgbufprobe_residency(PG_FUNCTION_ARGS)
{
	int			buckets = positive_arg(fcinfo, 1, "buckets", MAX_BUCKETS);
	double		fraction = fraction_arg(fcinfo, 2);
	RelationList relations;
	PbpResidencyList found;
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
	while (relations.nrelations == 1 && must_repeat(&relations.relations[0], &attempts));
	if (buckets == 1)
		qsort(found.rows, found.nrows, sizeof(PbpResidency), compare_residency);

	emit_rows(fcinfo, found.rows, found.nrows, sizeof(PbpResidency), emit_residency, NULL);
	report_unknown(&found);
	return (Datum) 0;
}

/* Returns false if the fork has no file. */
static bool
advise_fork(const PbpLocator *locator, ForkNumber fork, PbpOsAdvice advice, int64 *advised)
{
	PbpOsWalk	walk;
	bool		found = false;

	*advised = 0;
	pbp_os_walk(&walk, locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		found = true;
		check_file(&walk.file);
		pbp_os_advise(&walk.file, 0, walk.file.bytes, advice);
		*advised += walk.file.bytes;
	}
	return found;
}

Datum
pgbufprobe_os_advise(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	PbpOsAdvice advice = parse_name(fcinfo, 1, "advice", os_advice_names, PBP_OS_ADVICES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	RelationStorage relation;
	int			attempts = 0;
	int64		advised;
	bool		found;

	check_may_advise();
	relation = find_fork(relid, fork);
	do
		found = advise_fork(&relation.locator, fork, advice, &advised);
	while (must_repeat(&relation, &attempts));
	check_found(found, relid, fork);
	PG_RETURN_INT64(advised);
}

Datum
pgbufprobe_read_cost(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int			samples = positive_arg(fcinfo, 1, "samples", MAX_SAMPLES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	Relation	relation = open_fork(relid, fork);
	PbpReadCost *cost = palloc(sizeof(*cost));

	InitMaterializedSRF(fcinfo, 0);
	pbp_read_cost(relation, fork, samples, cost);
	relation_close(relation, AccessShareLock);

	for (int i = 0; i < PBP_TIERS; i++)
	{
		const PbpLatency *latency = &cost->tiers[i];
		Row			row = {0};

		if (latency->count == 0)
			continue;
		add_text(&row, tier_names[i]);
		add_count(&row, latency->count);
		add_latency(&row, latency);
		emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, READ_COST_COLS);
	}
	report_reason(cost->trust, relid, 0);
	pfree(cost);
	return (Datum) 0;
}

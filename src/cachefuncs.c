/*-------------------------------------------------------------------------
 *
 * cachefuncs.c
 *	  SQL functions that say which cache holds what.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "args.h"
#include "cachefuncs.h"
#include "estimate.h"
#include "relations.h"
#include "residency.h"
#include "rows.h"

#define MAX_BUCKETS			1000000
#define MAX_ATTEMPTS		3	/* to read a relation that others rewrite */

#define OS_CACHE_COLS		14
#define RESIDENCY_COLS		19
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
report_unreadable(int elevel, const char *path, int error, int64 others)
{
	errno = error;
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path),
			 others > 0 ?
			 errdetail("Files of " INT64_FORMAT " other relations could not be opened either.", others) : 0));
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

/* The method that was used, NULL if none was. */
static void
add_method(Row *row, PbpOsMethod method)
{
	add_text(row, method != PBP_OS_AUTO ? os_method_names[method] : NULL);
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
	const PbpOsCounts *counts = &segment->counts;
	bool		known = counts->cached >= 0;
	Row			row = {0};

	add_datum(&row, Int32GetDatum(number));
	add_text(&row, file->path);
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
	add_method(&row, file->method);
	add_datum(&row, BoolGetDatum(file->trust == PBP_OS_TRUSTED));
	add_measure(&row, (double) segment->elapsed_ns / 1e6);
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
	PbpOsSegments counted;

	do
		pbp_os_count(&relation.locator, fork, method, &counted);
	while (must_repeat(&relation, &attempts));
	check_found(counted.nsegments > 0, relid, fork);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < counted.nsegments; i++)
	{
		const PbpOsSegment *segment = &counted.segments[i];

		check_file(&segment->file);
		if (trust == PBP_OS_TRUSTED)
			trust = segment->file.trust;
		emit_os_cache((ReturnSetInfo *) fcinfo->resultinfo, i, segment);
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
add_block_error(Row *row, const PbpResidency *found, bool known, int64 blocks)
{
	add_known_count(row, known, pbp_estimate_error(found->nread, found->blocks, blocks));
}

static void
emit_residency(ReturnSetInfo *rsinfo, const void *item, void *arg pg_attribute_unused())
{
	const PbpResidency *found = item;
	bool		readable = found->trust != PBP_OS_UNREADABLE;
	bool		known = found->trust == PBP_OS_TRUSTED;
	int64		neither = found->blocks - found->shared - found->os + found->both;
	Row			row = {0};

	add_datum(&row, ObjectIdGetDatum(found->relid));
	add_text(&row, forkNames[found->fork]);
	add_known_count(&row, readable, found->blocks);
	add_known_count(&row, readable, found->blocks * BLCKSZ);
	add_known_count(&row, readable, found->shared);
	add_known_count(&row, known, found->os);
	add_known_count(&row, known, found->both);
	add_known_count(&row, known, found->both * BLCKSZ);
	add_known_count(&row, known, neither);
	add_known_count(&row, known, found->os_partial);
	add_known_count(&row, readable, found->shared_dirty);
	add_method(&row, found->method);
	add_datum(&row, BoolGetDatum(known));
	add_block_error(&row, found, readable, found->shared);
	add_block_error(&row, found, known, found->os);
	add_block_error(&row, found, known, found->both);
	add_block_error(&row, found, known, neither);
	add_block_error(&row, found, known, found->os_partial);
	add_block_error(&row, found, readable, found->shared_dirty);
	emit_row(rsinfo, &row, RESIDENCY_COLS);
}

/* One message for all forks that have something unknown for the same reason. */
static void
report_unknown(const PbpResidencyList *list)
{
	const PbpResidency *first[PBP_OS_TRUSTS] = {NULL};
	int64		number[PBP_OS_TRUSTS] = {0};

	for (int64 i = 0; i < list->nforks; i++)
	{
		PbpOsTrust	trust = list->forks[i].trust;

		if (number[trust]++ == 0)
			first[trust] = &list->forks[i];
	}
	for (int i = 0; i < PBP_OS_TRUSTS; i++)
	{
		if (first[i] == NULL)
			continue;
		if (i == PBP_OS_UNREADABLE)
			report_unreadable(WARNING, first[i]->unreadable, first[i]->error, number[i] - 1);
		else
			report_reason((PbpOsTrust) i, first[i]->relid, number[i] - 1);
	}
}

Datum
pgbufprobe_residency(PG_FUNCTION_ARGS)
{
	double		fraction = fraction_arg(fcinfo, 1);
	RelationList relations;
	PbpResidencyList found;
	int			attempts = 0;

	if (PG_ARGISNULL(0))
		list_all_relations(&relations);
	else
		list_relation(&relations, PG_GETARG_OID(0));

	do
		pbp_residency(&relations, fraction, &found);
	while (relations.nrelations == 1 && must_repeat(&relations.relations[0], &attempts));
	qsort(found.forks, found.nforks, sizeof(PbpResidency), compare_residency);

	emit_rows(fcinfo, found.forks, found.nforks, sizeof(PbpResidency), emit_residency, NULL);
	report_unknown(&found);
	return (Datum) 0;
}

static void
emit_bucket(ReturnSetInfo *rsinfo, const PbpResidencyMap *map, int i)
{
	const PbpResidencyBucket *bucket = &map->buckets[i];
	bool		known = map->trust == PBP_OS_TRUSTED;
	Row			row = {0};

	add_datum(&row, Int32GetDatum(i + 1));
	add_count(&row, pbp_bucket_start(i, map->nblocks, map->nbuckets));
	add_count(&row, pbp_bucket_start(i + 1, map->nblocks, map->nbuckets) - 1);
	add_count(&row, bucket->shared);
	add_known_count(&row, known, bucket->os);
	add_known_count(&row, known, bucket->both);
	emit_row(rsinfo, &row, RESIDENCY_MAP_COLS);
}

Datum
pgbufprobe_residency_map(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int			max_buckets = positive_arg(fcinfo, 1, "buckets", MAX_BUCKETS);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	RelationStorage relation = find_fork(relid, fork);
	int			attempts = 0;
	PbpResidencyMap map;
	bool		found;

	do
		found = pbp_residency_map(&relation.locator, fork, max_buckets, &map);
	while (must_repeat(&relation, &attempts));
	check_found(found, relid, fork);
	if (map.trust == PBP_OS_UNREADABLE)
		report_unreadable(ERROR, map.unreadable, map.error, 0);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < map.nbuckets; i++)
		emit_bucket((ReturnSetInfo *) fcinfo->resultinfo, &map, i);
	if (map.nbuckets > 0)
		report_reason(map.trust, relid, 0);
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
		*advised += pbp_os_advise(&walk.file, advice);
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

	if (!pbp_os_cache_on)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot advise the kernel while \"pgbufprobe.os_cache\" is off")));
	relation = find_fork(relid, fork);
	do
		found = advise_fork(&relation.locator, fork, advice, &advised);
	while (must_repeat(&relation, &attempts));
	check_found(found, relid, fork);
	PG_RETURN_INT64(advised);
}

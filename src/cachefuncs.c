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
#include "relations.h"
#include "residency.h"
#include "rows.h"

#define MAX_BUCKETS			1000000
#define MAX_LOOKS			3	/* at a relation that is rewritten meanwhile */

#define OS_CACHE_COLS		14
#define RESIDENCY_COLS		13
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

/*
 * A file that cannot be opened is an error for a function that was asked for
 * this relation alone, and a warning for one that was asked for many.
 */
static void
report_unreadable(int elevel, const char *path, int error, int64 others)
{
	errno = error;
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path),
			 others > 0 ?
			 errdetail("Files of " INT64_FORMAT " other relations could not be opened either.", others) : 0));
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

/* The method that was used, NULL if none was. */
static void
add_method(Row *row, PbpOsMethod method)
{
	add_text(row, method != PBP_OS_AUTO ? os_method_names[method] : NULL);
}

/*
 * Opens the first segment of a relation's fork; the others are opened by
 * pbp_os_next().  False if the relation was dropped meanwhile; if it was
 * rewritten, its new files are opened.
 */
static bool
open_fork(PbpOsWalk *walk, Oid relid, ForkNumber fork, PbpOsMethod method)
{
	PbpLocator	locator = relation_locator(relid);

	for (int i = 0; i < MAX_LOOKS; i++)
	{
		pbp_os_walk(walk, &locator, fork, method);
		if (pbp_os_next(walk))
			return true;
		if (!was_rewritten(relid, &locator))
			break;
	}
	if (find_relation(relid, &locator))
		report_no_fork(relid, fork);
	return false;
}

static void
check_readable(const PbpOsFile *file)
{
	if (file->trust == PBP_OS_UNREADABLE)
		report_unreadable(ERROR, file->path, file->error, 0);
}

static void
emit_os_cache(ReturnSetInfo *rsinfo, int segment, const PbpOsFile *file,
			  const PbpOsCounts *counts, double elapsed_ms)
{
	Row			row = {0};
	bool		known = counts->cached >= 0;

	add_datum(&row, Int32GetDatum(segment));
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
	add_measure(&row, elapsed_ms);
	emit_row(rsinfo, &row, OS_CACHE_COLS);
}

Datum
pgbufprobe_os_cache(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ForkNumber	fork = fork_arg(fcinfo, 1);
	PbpOsMethod method = parse_name(fcinfo, 2, "method", os_method_names, PBP_OS_METHODS);
	PbpOsTrust	trust = PBP_OS_TRUSTED;
	int64		start = pbp_now_ns();
	PbpOsWalk	walk;

	InitMaterializedSRF(fcinfo, 0);
	for (bool found = open_fork(&walk, relid, fork, method); found; found = pbp_os_next(&walk))
	{
		PbpOsCounts counts;

		check_readable(&walk.file);
		check_offered(walk.file.trust);
		if (trust == PBP_OS_TRUSTED)
			trust = walk.file.trust;
		pbp_os_count(&walk.file, &counts);
		emit_os_cache((ReturnSetInfo *) fcinfo->resultinfo, walk.segment, &walk.file,
					  &counts, (double) (pbp_now_ns() - start) / 1e6);
		start = pbp_now_ns();
	}
	report_reason(trust, relid, 0);
	return (Datum) 0;
}

/* What was found of a fork. */
typedef struct ForkResidency
{
	Oid			relid;
	ForkNumber	fork;
	PbpResidency counts;
} ForkResidency;

typedef struct ForkList
{
	ForkResidency *forks;
	int64		number;
	int64		max;
} ForkList;

static void
append_fork(ForkList *list, const ForkResidency *fork)
{
	if (list->number == list->max)
	{
		list->max *= 2;
		list->forks = repalloc_huge(list->forks, (Size) list->max * sizeof(*fork));
	}
	list->forks[list->number++] = *fork;
}

/*
 * Look at all forks of all relations; the descriptors are scanned once.  If
 * the main fork cannot be opened, another one that cannot be opened either may
 * not exist, so it is left out.
 */
static void
look_at_relations(ForkList *list, const RelationList *relations)
{
	PbpPoolIndex *index = pbp_pool_index(relations->number == 1 ?
										 &relations->relations[0].locator : NULL);

	list->number = 0;
	list->max = Max(relations->number, 1);
	list->forks = MemoryContextAllocHuge(CurrentMemoryContext,
										 (Size) list->max * sizeof(ForkResidency));
	for (int64 i = 0; i < relations->number; i++)
	{
		const RelationStorage *relation = &relations->relations[i];
		bool		readable = true;

		for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
		{
			ForkResidency found = {.relid = relation->relid,.fork = fork};

			CHECK_FOR_INTERRUPTS();
			if (!relation->forks[fork] ||
				!pbp_residency(index, &relation->locator, fork, &found.counts))
				continue;
			if (found.counts.trust == PBP_OS_UNREADABLE)
			{
				if (!readable)
					continue;
				readable = fork != MAIN_FORKNUM;
			}
			append_fork(list, &found);
		}
	}
	pbp_pool_index_free(index);
}

/*
 * What is in both caches first, then the largest, then in the order of the
 * catalog.  A million forks take a while to sort.
 */
static int
compare_residency(const void *a, const void *b)
{
	const ForkResidency *one = a;
	const ForkResidency *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->counts.both != other->counts.both)
		return one->counts.both < other->counts.both ? 1 : -1;
	if (one->counts.blocks != other->counts.blocks)
		return one->counts.blocks < other->counts.blocks ? 1 : -1;
	if (one->relid != other->relid)
		return one->relid > other->relid ? 1 : -1;
	return (int) one->fork - (int) other->fork;
}

static void
emit_residency(ReturnSetInfo *rsinfo, const void *item, void *arg pg_attribute_unused())
{
	const ForkResidency *found = item;
	const PbpResidency *counts = &found->counts;
	bool		readable = counts->trust != PBP_OS_UNREADABLE;
	bool		known = counts->trust == PBP_OS_TRUSTED;
	Row			row = {0};

	add_datum(&row, ObjectIdGetDatum(found->relid));
	add_text(&row, forkNames[found->fork]);
	add_known_count(&row, readable, counts->blocks);
	add_known_count(&row, readable, counts->blocks * BLCKSZ);
	add_known_count(&row, readable, counts->shared);
	add_known_count(&row, known, counts->os);
	add_known_count(&row, known, counts->both);
	add_known_count(&row, known, counts->both * BLCKSZ);
	add_known_count(&row, known,
					counts->blocks - counts->shared - counts->os + counts->both);
	add_known_count(&row, known, counts->os_partial);
	add_known_count(&row, readable, counts->shared_dirty);
	add_method(&row, counts->method);
	add_datum(&row, BoolGetDatum(known));
	emit_row(rsinfo, &row, RESIDENCY_COLS);
}

/* Of the forks that have something unknown for the same reason, the first stands for all. */
static void
report_unknown(const ForkList *list)
{
	const ForkResidency *first[PBP_OS_TRUSTS] = {NULL};
	int64		number[PBP_OS_TRUSTS] = {0};

	for (int64 i = 0; i < list->number; i++)
	{
		PbpOsTrust	trust = list->forks[i].counts.trust;

		if (number[trust]++ == 0)
			first[trust] = &list->forks[i];
	}
	for (int i = 0; i < PBP_OS_TRUSTS; i++)
	{
		if (number[i] == 0)
			continue;
		if (i == PBP_OS_UNREADABLE)
			report_unreadable(WARNING, first[i]->counts.unreadable, first[i]->counts.error, number[i] - 1);
		else
			report_reason((PbpOsTrust) i, first[i]->relid, number[i] - 1);
	}
}

Datum
pgbufprobe_residency(PG_FUNCTION_ARGS)
{
	RelationList relations;
	ForkList	list;

	if (PG_ARGISNULL(0))
		list_all_relations(&relations);
	else
		list_relation(&relations, PG_GETARG_OID(0));

	look_at_relations(&list, &relations);
	for (int i = 1; i < MAX_LOOKS && relations.number == 1 &&
		 was_rewritten(relations.relations[0].relid, &relations.relations[0].locator); i++)
		look_at_relations(&list, &relations);
	qsort(list.forks, list.number, sizeof(ForkResidency), compare_residency);

	emit_rows(fcinfo, list.forks, list.number, sizeof(ForkResidency), emit_residency, NULL);
	report_unknown(&list);
	return (Datum) 0;
}

/* Blocks of a fork, by the length of its files, and where they are. */
static int64
count_blocks(Oid relid, ForkNumber fork, PbpLocator *locator)
{
	int64		nblocks = 0;
	PbpOsWalk	walk;

	for (bool found = open_fork(&walk, relid, fork, PBP_OS_AUTO); found; found = pbp_os_next(&walk))
	{
		check_readable(&walk.file);
		nblocks += walk.file.bytes / BLCKSZ;
	}
	*locator = walk.locator;
	return nblocks;
}

Datum
pgbufprobe_residency_map(PG_FUNCTION_ARGS)
{
	int			nbuckets = positive_arg(fcinfo, 1, "buckets", MAX_BUCKETS);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	PbpLocator	locator;
	int64		nblocks = count_blocks(PG_GETARG_OID(0), fork, &locator);
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
	PbpOsAdvice advice = parse_name(fcinfo, 1, "advice", os_advice_names, PBP_OS_ADVICES);
	ForkNumber	fork = fork_arg(fcinfo, 2);
	int64		advised = 0;
	PbpOsWalk	walk;

	if (!pbp_os_cache_on)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot advise the kernel while \"pgbufprobe.os_cache\" is off")));
	for (bool found = open_fork(&walk, PG_GETARG_OID(0), fork, PBP_OS_AUTO); found; found = pbp_os_next(&walk))
	{
		check_readable(&walk.file);
		check_offered(walk.file.trust);
		advised += pbp_os_advise(&walk.file, advice);
	}
	PG_RETURN_INT64(advised);
}

/*-------------------------------------------------------------------------
 *
 * snapshotfuncs.c
 *	  SQL functions that take snapshots of the pool, and compare two of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "poolfuncs.h"
#include "snapshot.h"

#define DIFF_COLS			11
#define DIFF_RELATIONS_COLS	10

PG_FUNCTION_INFO_V1(pgbufprobe_snapshot);
PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_diff);
PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_diff_relations);

Datum
pgbufprobe_snapshot(PG_FUNCTION_ARGS pg_attribute_unused())
{
	PoolSnapshot *snapshot = palloc(sizeof(*snapshot));

	take_snapshot(snapshot);
	PG_RETURN_DATUM(snapshot_to_jsonb(snapshot));
}

/* The time and the events between two snapshots. */
typedef struct Between
{
	bool		has_seconds;
	double		seconds;
	bool		same_run;		/* of the server, with the same pool size */
	bool		same_statistics;
	int64		pool;
	int64		ticks;
	int64		allocations;
} Between;

static void
report_wrong_order(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("snapshot \"after\" is older than snapshot \"before\""),
			 errhint("Swap the two arguments.")));
}

/*
 * The system clock may have been set back.  Then the position of the clock
 * hand shows which snapshot is older.  The server's count of passes wraps at
 * 2^32.
 */
static Between
compare_snapshots(const PoolSnapshot *before, const PoolSnapshot *after)
{
	Between		between = {0};
	int32		passes = (int32) ((uint32) after->passes - (uint32) before->passes);

	between.seconds = ((double) after->taken_at - (double) before->taken_at) / USECS_PER_SEC;
	between.has_seconds = between.seconds >= 0;
	between.pool = after->shared_buffers;
	between.same_run = strcmp(before->run, after->run) == 0 &&
		before->shared_buffers == after->shared_buffers && after->shared_buffers > 0 &&
		after->shared_buffers <= INT_MAX && before->hand <= INT_MAX && after->hand <= INT_MAX;
	between.same_statistics = before->was_reset == after->was_reset &&
		before->reset_at == after->reset_at && after->allocations >= before->allocations;
	between.allocations = after->allocations - before->allocations;
	if (between.same_run)
		between.ticks = (int64) passes * between.pool + (after->hand - before->hand);
	if (between.ticks < 0 || (between.ticks == 0 && !between.has_seconds))
		report_wrong_order();
	return between;
}

static void
emit_level(ReturnSetInfo *rsinfo, int level, const PbpBufferCount *before,
		   const PbpBufferCount *after, const Between *between)
{
	Row			row = {0};

	if (level < PBP_USAGE_LEVELS)
		add_datum(&row, Int32GetDatum(level));
	else
		add_null(&row);
	add_count(&row, before->buffers);
	add_count(&row, after->buffers);
	add_count(&row, after->buffers - before->buffers);
	add_count(&row, before->dirty);
	add_count(&row, after->dirty);
	add_count(&row, after->dirty - before->dirty);
	add_known_measure(&row, between->has_seconds ? between->seconds : -1);
	add_known_count(&row, between->same_run, between->ticks);
	add_quotient(&row, (double) between->ticks, between->same_run ? (double) between->pool : 0);
	add_known_count(&row, between->same_run && between->same_statistics, between->allocations);
	emit_row(rsinfo, &row, DIFF_COLS);
}

Datum
pgbufprobe_snapshot_diff(PG_FUNCTION_ARGS)
{
	PoolSnapshot *before = snapshot_arg(fcinfo, 0, "before");
	PoolSnapshot *after = snapshot_arg(fcinfo, 1, "after");
	Between		between = compare_snapshots(before, after);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_SNAPSHOT_LEVELS; i++)
		emit_level((ReturnSetInfo *) fcinfo->resultinfo, i, &before->levels[i], &after->levels[i], &between);
	return (Datum) 0;
}

/* A relation in two snapshots; one of them may not name it. */
typedef struct RelationChange
{
	const SnapshotRelation *before;
	const SnapshotRelation *after;
	bool		known;			/* is the change known? */
	int64		change;			/* if unknown, the missing side counts as 0 */
} RelationChange;

static int
compare_names(const void *a, const void *b)
{
	const SnapshotRelation *one = a;
	const SnapshotRelation *other = b;

	if (one->relid != other->relid)
		return one->relid < other->relid ? -1 : 1;
	return strcmp(one->fork, other->fork);
}

static int64
magnitude(int64 change)
{
	return change >= 0 ? change : -change;
}

/* The side that names the relation, the later one if both do. */
static const SnapshotRelation *
named_side(const RelationChange *change)
{
	return change->after != NULL && change->after->name != NULL ? change->after : change->before;
}

/*
 * The largest change first, up or down.  For an unknown change, the missing
 * side counts as 0, since a snapshot omits only the smallest relations.
 */
static int
compare_changes(const void *a, const void *b)
{
	const RelationChange *one = a;
	const RelationChange *other = b;
	int64		difference = magnitude(other->change) - magnitude(one->change);

	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return compare_names(named_side(one), named_side(other));
}

/*
 * If a snapshot names all relations of its database, a missing relation had
 * no pages in the pool.  If not, its number of pages is unknown.
 */
static RelationChange
relation_change(const PoolSnapshot *before, const SnapshotRelation *from,
				const PoolSnapshot *after, const SnapshotRelation *to)
{
	static const SnapshotRelation none = {0};
	RelationChange change = {.before = from,.after = to};

	if (from == NULL && before->others.forks == 0)
		change.before = &none;
	if (to == NULL && after->others.forks == 0)
		change.after = &none;
	change.known = change.before != NULL && change.after != NULL;
	change.change = (to != NULL ? to->buffers : 0) - (from != NULL ? from->buffers : 0);
	return change;
}

/* The changes of all relations that either snapshot names.  Sorts both. */
static int
merge_relations(PoolSnapshot *before, PoolSnapshot *after, RelationChange *changes)
{
	int			nchanges = 0;
	int			i = 0;
	int			j = 0;

	qsort(before->relations, before->nrelations, sizeof(SnapshotRelation), compare_names);
	qsort(after->relations, after->nrelations, sizeof(SnapshotRelation), compare_names);
	while (i < before->nrelations || j < after->nrelations)
	{
		const SnapshotRelation *from = i < before->nrelations ? &before->relations[i] : NULL;
		const SnapshotRelation *to = j < after->nrelations ? &after->relations[j] : NULL;
		int			order = from == NULL ? 1 : to == NULL ? -1 : compare_names(from, to);

		changes[nchanges++] = relation_change(before, order <= 0 ? from : NULL, after, order >= 0 ? to : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	return nchanges;
}

static void
add_usagecounts(Row *row, const SnapshotRelation *relation)
{
	if (relation != NULL)
		add_datum(row, usagecounts_array(relation->usage));
	else
		add_null(row);
}

static void
emit_change(ReturnSetInfo *rsinfo, const char *name, const char *fork, const RelationChange *change)
{
	const SnapshotRelation *before = change->before;
	const SnapshotRelation *after = change->after;
	int64		new_dirty = before != NULL && after != NULL ? after->dirty - before->dirty : 0;
	Row			row = {0};

	add_text(&row, name);
	add_text(&row, fork);
	add_known_count(&row, before != NULL, before ? before->buffers : 0);
	add_known_count(&row, after != NULL, after ? after->buffers : 0);
	add_known_count(&row, change->known, change->change);
	add_known_count(&row, before != NULL, before ? before->dirty : 0);
	add_known_count(&row, after != NULL, after ? after->dirty : 0);
	add_known_count(&row, change->known, new_dirty);
	add_usagecounts(&row, before);
	add_usagecounts(&row, after);
	emit_row(rsinfo, &row, DIFF_RELATIONS_COLS);
}

Datum
pgbufprobe_snapshot_diff_relations(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	PoolSnapshot *before = snapshot_arg(fcinfo, 0, "before");
	PoolSnapshot *after = snapshot_arg(fcinfo, 1, "after");
	RelationChange *changes = palloc(2 * PBP_SNAPSHOT_RELATIONS * sizeof(*changes));
	RelationChange others = {.before = &before->others,.after = &after->others,.known = true};
	int			nchanges;

	(void) compare_snapshots(before, after);
	if (strcmp(before->database, after->database) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot compare the relations of different databases"),
				 errdetail("The snapshots were taken in \"%s\" and \"%s\".", before->database, after->database)));

	nchanges = merge_relations(before, after, changes);
	qsort(changes, nchanges, sizeof(*changes), compare_changes);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < nchanges; i++)
	{
		const SnapshotRelation *named = named_side(&changes[i]);

		emit_change(rsinfo, named->name, named->fork, &changes[i]);
	}
	others.change = after->others.buffers - before->others.buffers;
	if (before->others.forks > 0 || after->others.forks > 0)
		emit_change(rsinfo, NULL, NULL, &others);
	return (Datum) 0;
}

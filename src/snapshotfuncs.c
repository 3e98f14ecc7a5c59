/*-------------------------------------------------------------------------
 *
 * snapshotfuncs.c
 *	  SQL functions that take the state of the pool as one value, and compare
 *	  two of these.
 *
 * A snapshot is a jsonb value that its user keeps, and that may come back in
 * any shape: reading one trusts nothing in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "poolfuncs.h"

#define FORMAT				1

/* relations and forks that a snapshot names; the rest is a sum */
#define MAX_RELATIONS		200

/* usage counts, and unused buffers */
#define LEVELS				(PBP_USAGE_LEVELS + 1)

#define DIFF_COLS			11
#define DIFF_RELATIONS_COLS	10

PG_FUNCTION_INFO_V1(pgbufprobe_snapshot);
PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_diff);
PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_diff_relations);

/* A relation and fork, or the sum of those that are not named. */
typedef struct SnapshotRelation
{
	Oid			relid;
	char	   *name;			/* qualified; NULL: a sum */
	char	   *fork;
	int64		forks;			/* that were added up */
	int64		buffers;
	int64		dirty;
	int64		usage[PBP_USAGE_LEVELS];
} SnapshotRelation;

typedef struct PoolSnapshot
{
	char	   *run;			/* tells runs of a server from each other */
	TimestampTz taken_at;
	int64		shared_buffers;
	int64		hand;
	int64		passes;
	int64		ticks;
	int64		allocations;
	bool		was_reset;		/* have the statistics been, ever? */
	TimestampTz reset_at;
	PbpBufferCount levels[LEVELS];	/* the last one: unused */
	char	   *database;
	int			nrelations;
	SnapshotRelation relations[MAX_RELATIONS];
	SnapshotRelation others;
} PoolSnapshot;

/* ---- taking one ---- */

static char *
qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = get_namespace_name(get_rel_namespace(relid));

	return name != NULL && schema != NULL ? quote_qualified_identifier(schema, name) : NULL;
}

/* Pages of a relation that this database can name, or of the rest of it. */
static void
add_to_snapshot(PoolSnapshot *snapshot, const PbpRelationCount *count)
{
	SnapshotRelation *relation = &snapshot->others;

	if (snapshot->nrelations < MAX_RELATIONS)
	{
		Oid			relid = relation_of(&count->locator);
		char	   *name = OidIsValid(relid) ? qualified_name(relid) : NULL;

		if (name != NULL)
		{
			relation = &snapshot->relations[snapshot->nrelations++];
			relation->relid = relid;
			relation->name = name;
			relation->fork = pstrdup(forkNames[count->fork]);
		}
	}
	relation->forks++;
	relation->buffers += relation_buffers(count);
	relation->dirty += count->dirty;
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		relation->usage[i] += count->usage[i];
}

static void
take_relations(PoolSnapshot *snapshot)
{
	int			ncounts;
	PbpRelationCount *counts = sorted_relations(&ncounts);

	for (int i = 0; i < ncounts; i++)
	{
		Oid			database = pbp_locator_database(&counts[i].locator);

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(database) || database == MyDatabaseId)
			add_to_snapshot(snapshot, &counts[i]);
	}
	pfree(counts);
}

static void
take_snapshot(PoolSnapshot *snapshot)
{
	PbpClock	clock = pbp_read_clock();
	PbpPublished published = pbp_read_published();
	PbpHistogram histogram;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->run = psprintf(UINT64_FORMAT "-%08x", (uint64) PgStartTime, pbp_shared_memory_id());
	snapshot->taken_at = GetCurrentTimestamp();
	snapshot->shared_buffers = NBuffers;
	snapshot->hand = clock.hand;
	snapshot->passes = clock.passes;
	snapshot->ticks = pbp_ticks(clock);
	snapshot->allocations = published.allocations;
	snapshot->reset_at = published.reset_at;
	snapshot->was_reset = published.reset_at != 0;
	snapshot->database = get_database_name(MyDatabaseId);
	pbp_histogram(&histogram);
	memcpy(snapshot->levels, histogram.usage, sizeof(histogram.usage));
	snapshot->levels[LEVELS - 1] = histogram.unused;
	take_relations(snapshot);
}

/* ---- writing one ---- */

static void
write_name(StringInfo json, const char *name)
{
	appendStringInfo(json, "%s\"%s\": ", json->data[json->len - 1] == '{' ? "" : ", ", name);
}

static void
write_count(StringInfo json, const char *name, int64 count)
{
	write_name(json, name);
	appendStringInfo(json, INT64_FORMAT, count);
}

static void
write_string(StringInfo json, const char *name, const char *string)
{
	write_name(json, name);
	escape_json(json, string != NULL ? string : "");
}

static void
write_time(StringInfo json, const char *name, TimestampTz time)
{
	char		text[MAXDATELEN + 1];

	write_string(json, name, JsonEncodeDateTime(text, TimestampTzGetDatum(time), TIMESTAMPTZOID, NULL));
}

static void
write_levels(StringInfo json, const PoolSnapshot *snapshot)
{
	write_name(json, "usage_counts");
	for (int i = 0; i < LEVELS; i++)
	{
		const PbpBufferCount *level = &snapshot->levels[i];

		appendStringInfoString(json, i == 0 ? "[{" : ", {");
		if (i < PBP_USAGE_LEVELS)
			write_count(json, "usagecount", i);
		else
		{
			write_name(json, "usagecount");
			appendStringInfoString(json, "null");
		}
		write_count(json, "buffers", level->buffers);
		write_count(json, "dirty", level->dirty);
		write_count(json, "pinned", level->pinned);
		appendStringInfoChar(json, '}');
	}
	appendStringInfoChar(json, ']');
}

static void
write_relation(StringInfo json, const SnapshotRelation *relation)
{
	appendStringInfoChar(json, '{');
	if (relation->name != NULL)
	{
		write_string(json, "relation", relation->name);
		write_count(json, "oid", relation->relid);
		write_string(json, "fork", relation->fork);
	}
	else
		write_count(json, "forks", relation->forks);
	write_count(json, "buffers", relation->buffers);
	write_count(json, "dirty", relation->dirty);
	write_name(json, "usagecounts");
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		appendStringInfo(json, "%s" INT64_FORMAT, i == 0 ? "[" : ", ", relation->usage[i]);
	appendStringInfoString(json, "]}");
}

Datum
pgbufprobe_snapshot(PG_FUNCTION_ARGS)
{
	PoolSnapshot *snapshot = palloc(sizeof(*snapshot));
	StringInfoData json;

	take_snapshot(snapshot);
	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	write_count(&json, "format", FORMAT);
	write_string(&json, "run", snapshot->run);
	write_time(&json, "taken_at", snapshot->taken_at);
	write_count(&json, "shared_buffers", snapshot->shared_buffers);
	write_count(&json, "hand", snapshot->hand);
	write_count(&json, "passes", snapshot->passes);
	write_count(&json, "ticks", snapshot->ticks);
	write_count(&json, "allocations", snapshot->allocations);
	if (snapshot->was_reset)
		write_time(&json, "statistics_reset_at", snapshot->reset_at);
	write_levels(&json, snapshot);
	write_string(&json, "database", snapshot->database);
	write_name(&json, "relations");
	appendStringInfoChar(&json, '[');
	for (int i = 0; i < snapshot->nrelations; i++)
	{
		if (i > 0)
			appendStringInfoString(&json, ", ");
		write_relation(&json, &snapshot->relations[i]);
	}
	appendStringInfoChar(&json, ']');
	write_name(&json, "other_relations");
	write_relation(&json, &snapshot->others);
	appendStringInfoChar(&json, '}');
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

/* ---- reading one ---- */

/* Complains of a value that is no snapshot, or not a whole one. */
static void
report_bad_field(const char *argument, const char *field, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is not a complete snapshot", argument),
			 errdetail("Its field \"%s\" must be %s.", field, wanted),
			 errhint("Use a value that pgbufprobe_snapshot() returned.")));
}

static JsonbValue *
find_field(JsonbContainer *object, const char *field)
{
	return getKeyJsonValueFromContainer(object, field, strlen(field), NULL);
}

static int64
count_of(const char *argument, const char *field, const JsonbValue *value)
{
	int64		count = -1;

	if (value != NULL && value->type == jbvNumeric)
	{
		char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
		char	   *end;

		errno = 0;
		count = strtoll(text, &end, 10);
		if (errno != 0 || *end != '\0')
			count = -1;
		pfree(text);
	}
	if (count < 0)
		report_bad_field(argument, field, "a whole number, 0 or more");
	return count;
}

static int64
read_count(const char *argument, JsonbContainer *object, const char *field)
{
	return count_of(argument, field, find_field(object, field));
}

static char *
read_string(const char *argument, JsonbContainer *object, const char *field)
{
	JsonbValue *value = find_field(object, field);

	if (value == NULL || value->type != jbvString)
		report_bad_field(argument, field, "a string");
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* What is wrong with it is said by the type, and where it stands by this. */
static void
add_time_context(void *arg)
{
	errcontext("field \"%s\" of a snapshot", (const char *) arg);
}

static TimestampTz
read_time(const char *argument, JsonbContainer *object, const char *field)
{
	char	   *text = read_string(argument, object, field);
	TimestampTz time;
	ErrorContextCallback context = {
		.previous = error_context_stack,.callback = add_time_context,.arg = unconstify(char *, field)
	};

	error_context_stack = &context;
	time = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(text),
												   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	error_context_stack = context.previous;
	if (TIMESTAMP_NOT_FINITE(time))
		report_bad_field(argument, field, "a finite time");
	return time;
}

/* An array of that many elements, or of any number up to that. */
static JsonbContainer *
read_array(const char *argument, JsonbContainer *object, const char *field, bool exactly, int number)
{
	JsonbValue *value = find_field(object, field);
	JsonbContainer *array = value != NULL && value->type == jbvBinary ? value->val.binary.data : NULL;

	if (array == NULL || !JsonContainerIsArray(array))
		report_bad_field(argument, field, "an array");
	if ((int) JsonContainerSize(array) > number ||
		(exactly && (int) JsonContainerSize(array) != number))
		report_bad_field(argument, field, exactly ?
						 psprintf("an array of %d elements", number) :
						 psprintf("an array of at most %d elements", number));
	return array;
}

static JsonbContainer *
object_of(const char *argument, const char *field, const JsonbValue *value)
{
	if (value == NULL || value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		report_bad_field(argument, field, "made of objects");
	return value->val.binary.data;
}

/* A level says which one it is, so that one that is not in its place is noticed. */
static void
check_usagecount(const char *argument, const char *field, const JsonbValue *value, int level)
{
	if (level < PBP_USAGE_LEVELS ?
		value == NULL || value->type != jbvNumeric || count_of(argument, "usagecount", value) != level :
		value == NULL || value->type != jbvNull)
		report_bad_field(argument, field, "in the order of usage counts, with unused buffers last");
}

static void
read_levels(const char *argument, JsonbContainer *object, PoolSnapshot *snapshot)
{
	const char *field = "usage_counts";
	JsonbContainer *array = read_array(argument, object, field, true, LEVELS);

	for (int i = 0; i < LEVELS; i++)
	{
		JsonbContainer *level = object_of(argument, field, getIthJsonbValueFromContainer(array, i));

		check_usagecount(argument, field, find_field(level, "usagecount"), i);
		snapshot->levels[i].buffers = read_count(argument, level, "buffers");
		snapshot->levels[i].dirty = read_count(argument, level, "dirty");
		snapshot->levels[i].pinned = read_count(argument, level, "pinned");
	}
}

static void
read_relation(const char *argument, JsonbContainer *object, bool is_sum, SnapshotRelation *relation)
{
	JsonbContainer *array = read_array(argument, object, "usagecounts", true, PBP_USAGE_LEVELS);

	memset(relation, 0, sizeof(*relation));
	if (is_sum)
		relation->forks = read_count(argument, object, "forks");
	else
	{
		relation->name = read_string(argument, object, "relation");
		relation->relid = (Oid) read_count(argument, object, "oid");
		relation->fork = read_string(argument, object, "fork");
	}
	relation->buffers = read_count(argument, object, "buffers");
	relation->dirty = read_count(argument, object, "dirty");
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		relation->usage[i] = count_of(argument, "usagecounts", getIthJsonbValueFromContainer(array, i));
}

static void
read_relations(const char *argument, JsonbContainer *object, PoolSnapshot *snapshot)
{
	const char *field = "relations";
	JsonbContainer *array = read_array(argument, object, field, false, MAX_RELATIONS);

	snapshot->nrelations = (int) JsonContainerSize(array);
	for (int i = 0; i < snapshot->nrelations; i++)
		read_relation(argument, object_of(argument, field, getIthJsonbValueFromContainer(array, i)),
					  false, &snapshot->relations[i]);
	read_relation(argument, object_of(argument, "other_relations", find_field(object, "other_relations")),
				  true, &snapshot->others);
}

static void
check_format(const char *argument, JsonbContainer *object)
{
	int64		format;

	if (!JsonContainerIsObject(object) || find_field(object, "format") == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is not a snapshot", argument),
				 errdetail("It is not an object with a field \"format\"."),
				 errhint("Use a value that pgbufprobe_snapshot() returned.")));
	format = read_count(argument, object, "format");
	if (format != FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("snapshot \"%s\" has format " INT64_FORMAT ", which is not supported", argument, format),
				 errdetail("This version of pgbufprobe reads format %d.", FORMAT)));
}

static PoolSnapshot *
snapshot_arg(FunctionCallInfo fcinfo, int argno, const char *argument)
{
	PoolSnapshot *snapshot;
	JsonbContainer *object;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("snapshot \"%s\" must not be null", argument)));
	snapshot = palloc0(sizeof(*snapshot));
	object = &PG_GETARG_JSONB_P(argno)->root;
	check_format(argument, object);
	snapshot->run = read_string(argument, object, "run");
	snapshot->taken_at = read_time(argument, object, "taken_at");
	snapshot->shared_buffers = read_count(argument, object, "shared_buffers");
	snapshot->hand = read_count(argument, object, "hand");
	snapshot->passes = read_count(argument, object, "passes");
	snapshot->ticks = read_count(argument, object, "ticks");
	snapshot->allocations = read_count(argument, object, "allocations");
	snapshot->was_reset = find_field(object, "statistics_reset_at") != NULL;
	if (snapshot->was_reset)
		snapshot->reset_at = read_time(argument, object, "statistics_reset_at");
	snapshot->database = read_string(argument, object, "database");
	read_levels(argument, object, snapshot);
	read_relations(argument, object, snapshot);
	return snapshot;
}

/* ---- comparing two ---- */

/* What lies between two snapshots. */
typedef struct Between
{
	bool		has_seconds;
	double		seconds;
	bool		same_run;		/* and a pool of the same size */
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
			 errhint("Exchange the two arguments.")));
}

/*
 * The clock of the machine may have been put back; where the hand stood then
 * tells which snapshot is the older one.  The server's count of passes wraps
 * at 2^32.
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
	for (int i = 0; i < LEVELS; i++)
		emit_level((ReturnSetInfo *) fcinfo->resultinfo, i, &before->levels[i], &after->levels[i], &between);
	return (Datum) 0;
}

/* A relation in two snapshots; in one of them it may be missing. */
typedef struct RelationChange
{
	const SnapshotRelation *before;
	const SnapshotRelation *after;
	bool		known;			/* is the change? */
	int64		change;			/* from or to nothing, if it is not */
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

/* The side that says which relation it is: the later one, unless it has none of it. */
static const SnapshotRelation *
named_side(const RelationChange *change)
{
	return change->after != NULL && change->after->name != NULL ? change->after : change->before;
}

/*
 * The largest change first, up or down.  An unknown one counts as from or to
 * nothing: a snapshot leaves out only what it has the fewest pages of.
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
 * A snapshot that names all relations of its database says that it had no
 * page of the others; one that does not says nothing of them.
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

/* The changes of all relations of both snapshots, each of which is sorted on the way. */
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
	Row			row = {0};

	add_text(&row, name);
	add_text(&row, fork);
	add_known_count(&row, before != NULL, before ? before->buffers : 0);
	add_known_count(&row, after != NULL, after ? after->buffers : 0);
	add_known_count(&row, change->known, change->change);
	add_known_count(&row, before != NULL, before ? before->dirty : 0);
	add_known_count(&row, after != NULL, after ? after->dirty : 0);
	add_known_count(&row, change->known, change->known ? after->dirty - before->dirty : 0);
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
	RelationChange *changes = palloc(2 * MAX_RELATIONS * sizeof(*changes));
	RelationChange others = {.before = &before->others,.after = &after->others,.known = true};
	int			nchanges;

	(void) compare_snapshots(before, after);
	if (strcmp(before->database, after->database) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot compare the relations of different databases"),
				 errdetail("The snapshots are of \"%s\" and \"%s\".", before->database, after->database)));

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

/*-------------------------------------------------------------------------
 *
 * snapshotfuncs.c
 *	  SQL function that checks and orders two snapshots of the pool.
 *
 * Snapshots are taken and compared by functions in SQL.  Users store snapshots
 * and can change them, so this checks every field that those functions use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "pool/descriptors.h"

#define FORMAT				1

/* forks of relations that a snapshot names; it has the sum of all others */
#define MAX_RELATIONS		200

/* the usage counts, and unused buffers */
#define LEVELS				(PBP_USAGE_LEVELS + 1)

PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_ticks);

/* What decides where the clock hand was. */
typedef struct PoolSnapshot
{
	char	   *run;
	char	   *database;
	TimestampTz taken_at;
	int64		shared_buffers;
	int64		hand;
	int64		passes;
} PoolSnapshot;

pg_noreturn static void
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
		report_bad_field(argument, field, "a non-negative integer");
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

/* The error of the type's input function does not name the field. */
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

static JsonbContainer *
read_array(const char *argument, JsonbContainer *object, const char *field)
{
	JsonbValue *value = find_field(object, field);

	if (value == NULL || value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		report_bad_field(argument, field, "an array");
	return value->val.binary.data;
}

static JsonbContainer *
read_array_of(const char *argument, JsonbContainer *object, const char *field, int length)
{
	JsonbContainer *array = read_array(argument, object, field);

	if ((int) JsonContainerSize(array) != length)
		report_bad_field(argument, field, psprintf("an array of %d elements", length));
	return array;
}

static JsonbContainer *
object_of(const char *argument, const char *field, const char *wanted, const JsonbValue *value)
{
	if (value == NULL || value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		report_bad_field(argument, field, wanted);
	return value->val.binary.data;
}

/* Each element names its usage count, which must match its position. */
static void
check_usagecount(const char *argument, const JsonbValue *value, int level)
{
	bool		in_order = level < PBP_USAGE_LEVELS ?
		value != NULL && value->type == jbvNumeric && count_of(argument, "usagecount", value) == level :
		value != NULL && value->type == jbvNull;

	if (!in_order)
		report_bad_field(argument, "usagecounts", "in the order of usage counts, and end with unused buffers");
}

static void
check_levels(const char *argument, JsonbContainer *object)
{
	JsonbContainer *array = read_array_of(argument, object, "usagecounts", LEVELS);

	for (int i = 0; i < LEVELS; i++)
	{
		JsonbContainer *level = object_of(argument, "usagecounts", "an array of objects",
										  getIthJsonbValueFromContainer(array, i));

		check_usagecount(argument, find_field(level, "usagecount"), i);
		read_count(argument, level, "buffers");
		read_count(argument, level, "dirty");
		read_count(argument, level, "pinned");
	}
}

/* The counts of a relation, or of the sum of others. */
static void
check_counts(const char *argument, JsonbContainer *object)
{
	JsonbContainer *array = read_array_of(argument, object, "usagecounts", PBP_USAGE_LEVELS);

	read_count(argument, object, "buffers");
	read_count(argument, object, "dirty");
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		count_of(argument, "usagecounts", getIthJsonbValueFromContainer(array, i));
}

static void
check_relations(const char *argument, JsonbContainer *object)
{
	JsonbContainer *array = read_array(argument, object, "relations");
	int			nrelations = (int) JsonContainerSize(array);

	if (nrelations > MAX_RELATIONS)
		report_bad_field(argument, "relations", psprintf("an array of at most %d elements", MAX_RELATIONS));
	for (int i = 0; i < nrelations; i++)
	{
		JsonbContainer *relation = object_of(argument, "relations", "an array of objects",
											 getIthJsonbValueFromContainer(array, i));

		check_counts(argument, relation);
		read_string(argument, relation, "relation");
		if (read_count(argument, relation, "oid") > OID_MAX)
			report_bad_field(argument, "oid", "an OID");
		read_string(argument, relation, "fork");
	}
}

static void
check_others(const char *argument, JsonbContainer *object)
{
	JsonbContainer *others = object_of(argument, "other_relations", "an object",
									   find_field(object, "other_relations"));

	check_counts(argument, others);
	read_count(argument, others, "forks");
}

static void
check_format(const char *argument, JsonbContainer *object)
{
	int64		format;

	if (!JsonContainerIsObject(object) || find_field(object, "format") == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is not a snapshot", argument),
				 errdetail("It must be an object with a field \"format\"."),
				 errhint("Use a value that pgbufprobe_snapshot() returned.")));
	format = read_count(argument, object, "format");
	if (format != FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("snapshot \"%s\" has format " INT64_FORMAT ", which is not supported", argument, format),
				 errdetail("This version of pgbufprobe reads format %d.", FORMAT)));
}

static PoolSnapshot
snapshot_arg(FunctionCallInfo fcinfo, int argno, const char *argument)
{
	PoolSnapshot snapshot;
	JsonbContainer *object;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("snapshot \"%s\" must not be null", argument)));
	object = &PG_GETARG_JSONB_P(argno)->root;
	check_format(argument, object);
	snapshot.run = read_string(argument, object, "run");
	snapshot.taken_at = read_time(argument, object, "taken_at");
	snapshot.shared_buffers = read_count(argument, object, "shared_buffers");
	snapshot.hand = read_count(argument, object, "hand");
	snapshot.passes = read_count(argument, object, "passes");
	read_count(argument, object, "ticks");
	read_count(argument, object, "allocations");
	if (find_field(object, "statistics_reset_at") != NULL)
		read_time(argument, object, "statistics_reset_at");
	snapshot.database = read_string(argument, object, "database");
	check_levels(argument, object);
	check_relations(argument, object);
	check_others(argument, object);
	return snapshot;
}

/* True if both are of one run of a server, with one size of the pool. */
static bool
is_same_run(const PoolSnapshot *before, const PoolSnapshot *after)
{
	return strcmp(before->run, after->run) == 0 &&
		before->shared_buffers == after->shared_buffers && after->shared_buffers > 0 &&
		after->shared_buffers <= INT_MAX && before->hand <= INT_MAX && after->hand <= INT_MAX;
}

/*
 * Ticks of the clock hand from one snapshot to another, NULL if they are not
 * of the same run.
 *
 * The system clock may have been set back.  Then the position of the clock
 * hand shows which snapshot is older.  The server's count of passes wraps at
 * 2^32.
 */
Datum
pgbufprobe_snapshot_ticks(PG_FUNCTION_ARGS)
{
	PoolSnapshot before = snapshot_arg(fcinfo, 0, "before");
	PoolSnapshot after = snapshot_arg(fcinfo, 1, "after");
	bool		of_relations = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	bool		same_run = is_same_run(&before, &after);
	int32		passes = (int32) ((uint32) after.passes - (uint32) before.passes);
	int64		ticks = same_run ? passes * after.shared_buffers + (after.hand - before.hand) : 0;

	if (ticks < 0 || (ticks == 0 && after.taken_at < before.taken_at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("snapshot \"after\" is older than snapshot \"before\""),
				 errhint("Swap the two arguments.")));
	if (of_relations && strcmp(before.database, after.database) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot compare the relations of different databases"),
				 errdetail("The snapshots were taken in \"%s\" and \"%s\".", before.database, after.database)));
	if (!same_run)
		PG_RETURN_NULL();
	PG_RETURN_INT64(ticks);
}

/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  Snapshots of the pool: take one, write it as jsonb, and read it back.
 *
 * Users store snapshots and can change them, so the reading functions check
 * every field.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "poolfuncs.h"
#include "serverstats.h"
#include "snapshot.h"

#define FORMAT				1

/* ---- taking a snapshot ---- */

static char *
qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = get_namespace_name(get_rel_namespace(relid));

	return name != NULL && schema != NULL ? quote_qualified_identifier(schema, name) : NULL;
}

/* Adds to a relation of its own if this database can name it, or else to the others. */
static void
add_to_snapshot(PoolSnapshot *snapshot, const PbpRelationCount *count)
{
	SnapshotRelation *relation = &snapshot->others;

	if (snapshot->nrelations < PBP_SNAPSHOT_RELATIONS)
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
	relation->buffers += pbp_relation_buffers(count);
	relation->dirty += count->dirty;
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		relation->usage[i] += count->usage[i];
}

static void
take_relations(PoolSnapshot *snapshot)
{
	int			ncounts;
	PbpRelationCount *counts = sorted_relations(NBuffers, &ncounts);

	for (int i = 0; i < ncounts; i++)
	{
		Oid			database = pbp_locator_database(&counts[i].locator);

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(database) || database == MyDatabaseId)
			add_to_snapshot(snapshot, &counts[i]);
	}
	pfree(counts);
}

void
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
	pbp_histogram(NBuffers, &histogram);
	memcpy(snapshot->levels, histogram.usage, sizeof(histogram.usage));
	snapshot->levels[PBP_SNAPSHOT_LEVELS - 1] = histogram.unused;
	take_relations(snapshot);
}

/* ---- writing a snapshot ---- */

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
	for (int i = 0; i < PBP_SNAPSHOT_LEVELS; i++)
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
snapshot_to_jsonb(const PoolSnapshot *snapshot)
{
	StringInfoData json;

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
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* ---- reading a snapshot ---- */

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
		report_bad_field(argument, field, "a non-negative integer");
	return count;
}

static int64
read_count(const char *argument, JsonbContainer *object, const char *field)
{
	return count_of(argument, field, find_field(object, field));
}

static Oid
read_oid(const char *argument, JsonbContainer *object, const char *field)
{
	int64		oid = read_count(argument, object, field);

	if (oid > OID_MAX)
		report_bad_field(argument, field, "an OID");
	return (Oid) oid;
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

/* An array of this length, or of at most this length. */
static JsonbContainer *
read_array(const char *argument, JsonbContainer *object, const char *field, bool exact, int length)
{
	JsonbValue *value = find_field(object, field);
	JsonbContainer *array = value != NULL && value->type == jbvBinary ? value->val.binary.data : NULL;

	if (array == NULL || !JsonContainerIsArray(array))
		report_bad_field(argument, field, "an array");
	if ((int) JsonContainerSize(array) > length ||
		(exact && (int) JsonContainerSize(array) != length))
		report_bad_field(argument, field, exact ?
						 psprintf("an array of %d elements", length) :
						 psprintf("an array of at most %d elements", length));
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
check_usagecount(const char *argument, const char *field, const JsonbValue *value, int level)
{
	if (level < PBP_USAGE_LEVELS ?
		value == NULL || value->type != jbvNumeric || count_of(argument, "usagecount", value) != level :
		value == NULL || value->type != jbvNull)
		report_bad_field(argument, field, "in the order of usage counts, and end with unused buffers");
}

static void
read_levels(const char *argument, JsonbContainer *object, PoolSnapshot *snapshot)
{
	const char *field = "usage_counts";
	JsonbContainer *array = read_array(argument, object, field, true, PBP_SNAPSHOT_LEVELS);

	for (int i = 0; i < PBP_SNAPSHOT_LEVELS; i++)
	{
		JsonbContainer *level = object_of(argument, field, "an array of objects", getIthJsonbValueFromContainer(array, i));

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
		relation->relid = read_oid(argument, object, "oid");
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
	JsonbContainer *array = read_array(argument, object, field, false, PBP_SNAPSHOT_RELATIONS);

	snapshot->nrelations = (int) JsonContainerSize(array);
	for (int i = 0; i < snapshot->nrelations; i++)
		read_relation(argument, object_of(argument, field, "an array of objects", getIthJsonbValueFromContainer(array, i)),
					  false, &snapshot->relations[i]);
	read_relation(argument, object_of(argument, "other_relations", "an object", find_field(object, "other_relations")),
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
				 errdetail("It must be an object with a field \"format\"."),
				 errhint("Use a value that pgbufprobe_snapshot() returned.")));
	format = read_count(argument, object, "format");
	if (format != FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("snapshot \"%s\" has format " INT64_FORMAT ", which is not supported", argument, format),
				 errdetail("This version of pgbufprobe reads format %d.", FORMAT)));
}

PoolSnapshot *
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

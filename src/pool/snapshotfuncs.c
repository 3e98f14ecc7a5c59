/*-------------------------------------------------------------------------
 *
 * snapshotfuncs.c
 *	  The SQL function that compares two snapshots of the pool.
 *
 * A function in SQL takes snapshots.  Users store them and can change them, so
 * every field that is used here is checked first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "base/sqlvalues.h"
#include "pool/pool.h"

#define FORMAT				1

/* forks of relations that a snapshot names; it has the sum of all others */
#define MAX_RELATIONS		200

/* the usage counts, and unused buffers */
#define LEVELS				(PBP_USAGE_LEVELS + 1)

PG_FUNCTION_INFO_V1(pgbufprobe_snapshot_diff);

typedef struct Counts
{
	bool		known;
	int64		buffers;
	int64		dirty;
} Counts;

typedef struct PoolSnapshot
{
	char	   *run;
	char	   *database;
	TimestampTz taken_at;
	int64		shared_buffers;
	int64		hand;
	int64		passes;
	Counts		levels[LEVELS];
	int64		nothers;		/* forks that it does not name */
	Counts		others;
} PoolSnapshot;

/* A fork of a relation in both snapshots; without a name, all that a snapshot does not name. */
typedef struct Change
{
	char	   *name;
	char	   *fork;
	int64		oid;
	Counts		counts[2];		/* by the number of the snapshot's argument */
} Change;

typedef struct Changes
{
	int			nforks;
	Change		forks[2 * MAX_RELATIONS];
} Changes;

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
		Datum		number = NumericGetDatum(value->val.numeric);
		char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, number));
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
		.previous = error_context_stack,.callback = add_time_context,
		.arg = unconstify(char *, field)
	};

	error_context_stack = &context;
	time = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(text),
												   ObjectIdGetDatum(InvalidOid),
												   Int32GetDatum(-1)));
	error_context_stack = context.previous;
	if (TIMESTAMP_NOT_FINITE(time))
		report_bad_field(argument, field, "a finite time");
	return time;
}

/* JB_FARRAY or JB_FOBJECT; "wanted" names it in the error. */
static JsonbContainer *
container_of(const char *argument, const char *field, const JsonbValue *value, uint32 kind,
			 const char *wanted)
{
	if (value == NULL || value->type != jbvBinary || !(value->val.binary.data->header & kind))
		report_bad_field(argument, field, wanted);
	return value->val.binary.data;
}

static Counts
read_counts(const char *argument, JsonbContainer *object)
{
	return (Counts) {
		.known = true,
		.buffers = read_count(argument, object, "buffers"),
		.dirty = read_count(argument, object, "dirty")
	};
}

/* Each element names its usage count, which must match its position. */
static void
read_levels(const char *argument, JsonbContainer *object, Counts *levels)
{
	const char *field = "usagecounts";
	JsonbContainer *array = container_of(argument, field, find_field(object, field), JB_FARRAY,
										 "an array");

	if ((int) JsonContainerSize(array) != LEVELS)
		report_bad_field(argument, field, psprintf("an array of %d elements", LEVELS));
	for (int i = 0; i < LEVELS; i++)
	{
		JsonbContainer *level = container_of(argument, field,
											 getIthJsonbValueFromContainer(array, i),
											 JB_FOBJECT, "an array of objects");
		const JsonbValue *usage = find_field(level, "usagecount");
		enum jbvType type = i < PBP_USAGE_LEVELS ? jbvNumeric : jbvNull;

		if (usage == NULL || usage->type != type ||
			(type == jbvNumeric && count_of(argument, "usagecount", usage) != i))
			report_bad_field(argument, field,
							 "in the order of usage counts, and end with unused buffers");
		levels[i] = read_counts(argument, level);
	}
}

static void
read_relations(const char *argument, JsonbContainer *object, int argno, Changes *changes)
{
	const char *field = "relations";
	JsonbContainer *array = container_of(argument, field, find_field(object, field), JB_FARRAY,
										 "an array");
	int			nrelations = (int) JsonContainerSize(array);

	if (nrelations > MAX_RELATIONS)
		report_bad_field(argument, field,
						 psprintf("an array of at most %d elements", MAX_RELATIONS));
	for (int i = 0; i < nrelations; i++)
	{
		JsonbContainer *relation = container_of(argument, field,
												getIthJsonbValueFromContainer(array, i),
												JB_FOBJECT, "an array of objects");
		char	   *name = read_string(argument, relation, "relation");
		char	   *fork = read_string(argument, relation, "fork");
		int64		oid = read_count(argument, relation, "oid");
		Counts		counts = read_counts(argument, relation);
		int			j = 0;

		if (oid > OID_MAX)
			report_bad_field(argument, "oid", "an OID");
		while (j < changes->nforks &&
			   (changes->forks[j].oid != oid || strcmp(changes->forks[j].fork, fork) != 0))
			j++;
		if (j == changes->nforks)
			changes->forks[changes->nforks++] = (Change) {.fork = fork,.oid = oid};
		changes->forks[j].name = name;
		changes->forks[j].counts[argno] = counts;
	}
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
				 errmsg("snapshot \"%s\" has format " INT64_FORMAT ", which is not supported",
						argument, format),
				 errdetail("This version of pgbufprobe reads format %d.", FORMAT)));
}

static PoolSnapshot *
snapshot_arg(FunctionCallInfo fcinfo, int argno, const char *argument, Changes *changes)
{
	PoolSnapshot *snapshot = palloc(sizeof(PoolSnapshot));
	JsonbContainer *object;
	JsonbContainer *others;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("snapshot \"%s\" must not be null", argument)));
	object = &PG_GETARG_JSONB_P(argno)->root;
	check_format(argument, object);
	snapshot->run = read_string(argument, object, "run");
	snapshot->taken_at = read_time(argument, object, "taken_at");
	snapshot->shared_buffers = read_count(argument, object, "shared_buffers");
	snapshot->hand = read_count(argument, object, "hand");
	snapshot->passes = read_count(argument, object, "passes");
	snapshot->database = read_string(argument, object, "database");
	read_levels(argument, object, snapshot->levels);
	read_relations(argument, object, argno, changes);
	others = container_of(argument, "other_relations", find_field(object, "other_relations"),
						  JB_FOBJECT, "an object");
	snapshot->others = read_counts(argument, others);
	snapshot->nothers = read_count(argument, others, "forks");
	return snapshot;
}

/*
 * Passes of the clock hand from one snapshot to another, NaN if they are not of
 * one run of a server, with one size of the pool.
 *
 * The system clock may have been set back.  Then the position of the clock
 * hand shows which snapshot is older.  The server's count of passes wraps at
 * 2^32.
 */
static double
passes_between(const PoolSnapshot *before, const PoolSnapshot *after)
{
	bool		same_run = strcmp(before->run, after->run) == 0 &&
		before->shared_buffers == after->shared_buffers && after->shared_buffers > 0 &&
		after->shared_buffers <= INT_MAX && before->hand <= INT_MAX && after->hand <= INT_MAX;
	int32		passes = (int32) ((uint32) after->passes - (uint32) before->passes);
	int64		ticks = same_run ?
		passes * after->shared_buffers + (after->hand - before->hand) : 0;

	if (ticks < 0 || (ticks == 0 && after->taken_at < before->taken_at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("snapshot \"after\" is older than snapshot \"before\""),
				 errhint("Swap the two arguments.")));
	return same_run ? (double) ticks / (double) after->shared_buffers : NAN;
}

/* ---- rows ---- */

/* Of the pool if the change has no name, where -1 is no usage count. */
static void
emit_change(FunctionCallInfo fcinfo, const Change *change, int usagecount, double passes)
{
	Row			row = {0};

	add_text(&row, change->name);
	add_text(&row, change->fork);
	add_value(&row, usagecount >= 0, Int32GetDatum(usagecount));
	for (int i = 0; i < 2; i++)
		add_known_count(&row, change->counts[i].known, change->counts[i].buffers);
	for (int i = 0; i < 2; i++)
		add_known_count(&row, change->counts[i].known, change->counts[i].dirty);
	add_value(&row, !isnan(passes), Float8GetDatum(rint(passes * 1e6) / 1e6));
	emit_row(fcinfo, &row);
}

/* A snapshot omits only the smallest relations, so an unknown count is ordered like 0. */
static int64
size_of(const Change *change)
{
	return llabs(change->counts[1].buffers - change->counts[0].buffers);
}

static int
compare_changes(const void *a, const void *b)
{
	const Change *one = a;
	const Change *other = b;

	if (size_of(one) != size_of(other))
		return size_of(one) < size_of(other) ? 1 : -1;
	if (one->oid != other->oid)
		return one->oid > other->oid ? 1 : -1;
	return strcmp(one->fork, other->fork);
}

/* A snapshot that names all relations had no buffer of those that it does not name. */
static void
emit_changes(FunctionCallInfo fcinfo, Changes *changes, const PoolSnapshot *before,
			 const PoolSnapshot *after, double passes)
{
	qsort(changes->forks, changes->nforks, sizeof(Change), compare_changes);
	for (int i = 0; i < changes->nforks; i++)
	{
		Change	   *change = &changes->forks[i];

		change->counts[0].known |= before->nothers == 0;
		change->counts[1].known |= after->nothers == 0;
		emit_change(fcinfo, change, -1, passes);
	}
	if (before->nothers > 0 || after->nothers > 0)
		emit_change(fcinfo, &(Change) {.counts = {before->others, after->others}}, -1, passes);
}

Datum
pgbufprobe_snapshot_diff(PG_FUNCTION_ARGS)
{
	Changes    *changes = palloc0(sizeof(Changes));
	const PoolSnapshot *before = snapshot_arg(fcinfo, 0, "before", changes);
	const PoolSnapshot *after = snapshot_arg(fcinfo, 1, "after", changes);
	bool		by_relation = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	double		passes = passes_between(before, after);

	if (by_relation && strcmp(before->database, after->database) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot compare the relations of different databases"),
				 errdetail("The snapshots were taken in \"%s\" and \"%s\".",
						   before->database, after->database)));
	InitMaterializedSRF(fcinfo, 0);
	if (by_relation)
		emit_changes(fcinfo, changes, before, after, passes);
	for (int i = 0; i < LEVELS && !by_relation; i++)
		emit_change(fcinfo, &(Change) {.counts = {before->levels[i], after->levels[i]}},
					i < PBP_USAGE_LEVELS ? i : -1, passes);
	return (Datum) 0;
}

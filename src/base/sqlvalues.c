/*-------------------------------------------------------------------------
 *
 * sqlvalues.c
 *	  Arguments of SQL functions: each function returns a valid value or
 *	  raises an error that says which values are valid.  Their result rows,
 *	  filled column by column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/relations.h"
#include "base/sqlvalues.h"

#define MAX_DURATION_MS		(INT64CONST(24) * 3600 * 1000)

/* ---- arguments ---- */

static void
report_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", what)));
}

/* Index of the argument in a list of names; the error lists the valid ones. */
int
parse_name(FunctionCallInfo fcinfo, int argno, const char *what,
		   const char *const *names, int nnames)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	StringInfoData valid;

	for (int i = 0; i < nnames; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	initStringInfo(&valid);
	for (int i = 0; i < nnames; i++)
		appendStringInfo(&valid, "%s\"%s\"",
						 i == 0 ? "" : i == nnames - 1 ? " and " : ", ", names[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized %s: \"%s\"", what, name),
			 errhint("Valid values are %s.", valid.data)));
	return -1;					/* keep compiler quiet */
}

/* An integer argument between 1 and a maximum. */
int
positive_arg(FunctionCallInfo fcinfo, int argno, const char *what, int max)
{
	int			value;

	if (PG_ARGISNULL(argno))
		report_null(psprintf("number of %s", what));
	value = PG_GETARG_INT32(argno);
	if (value < 1 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of %s must be between 1 and %d", what, max),
				 errdetail("The given number is %d.", value)));
	return value;
}

/* An argument that says which share of all items to read. */
double
fraction_arg(FunctionCallInfo fcinfo, int argno)
{
	double		fraction;

	if (PG_ARGISNULL(argno))
		report_null("sample fraction");
	fraction = PG_GETARG_FLOAT8(argno);
	if (!(fraction > 0 && fraction <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("sample fraction must be greater than 0 and at most 1"),
				 errdetail("The given fraction is %g.", fraction),
				 errhint("1 reads all; 0.01 reads one in a hundred.")));
	return fraction;
}

/* The buffers of the pool that such an argument says to read. */
int
sample_arg(FunctionCallInfo fcinfo, int argno)
{
	return (int) ceil(fraction_arg(fcinfo, argno) * NBuffers);
}

ForkNumber
fork_arg(FunctionCallInfo fcinfo, int argno)
{
	return forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(argno)));
}

/* An interval argument in milliseconds. */
int64
duration_arg_ms(FunctionCallInfo fcinfo, int argno)
{
	Interval   *interval;
	double		ms;

	if (PG_ARGISNULL(argno))
		report_null("duration");
	interval = PG_GETARG_INTERVAL_P(argno);
	ms = (double) interval->time / 1000 +
		((double) interval->month * DAYS_PER_MONTH + interval->day) * SECS_PER_DAY * 1000;
	if (!(ms >= 1 && ms <= MAX_DURATION_MS))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("duration must be between 1 millisecond and 24 hours"),
				 errdetail("The given duration is %s.",
						   DatumGetCString(DirectFunctionCall1(interval_out,
															   IntervalPGetDatum(interval))))));
	return (int64) ms;
}

/* ---- rows ---- */

void
add_value(Row *row, bool known, Datum value)
{
	if (row->ncols >= MAX_COLS)
		elog(ERROR, "a row has more than %d columns", MAX_COLS);
	row->values[row->ncols] = value;
	row->nulls[row->ncols++] = !known;
}

void
add_null(Row *row)
{
	add_value(row, false, (Datum) 0);
}

void
add_nulls(Row *row, int count)
{
	while (count-- > 0)
		add_null(row);
}

/* NULL if there is none. */
void
add_text(Row *row, const char *text)
{
	add_value(row, text != NULL, text ? CStringGetTextDatum(text) : (Datum) 0);
}

/* NULL if it is 0. */
void
add_time(Row *row, TimestampTz time)
{
	add_value(row, time != 0, TimestampTzGetDatum(time));
}

void
add_count(Row *row, int64 count)
{
	add_value(row, true, Int64GetDatum(count));
}

void
add_known_count(Row *row, bool known, int64 count)
{
	add_value(row, known, Int64GetDatum(count));
}

/* A count that came from a double, rounded.  NaN: unknown. */
void
add_rounded(Row *row, double count)
{
	add_known_count(row, !isnan(count), isnan(count) ? 0 : (int64) rint(count));
}

/* A count of so many items at most, and its interval, which has whole items. */
void
add_counted(Row *row, int64 count, int64 error, int64 most)
{
	add_count(row, count);
	add_count(row, Max(count - error, 0));
	add_count(row, Min(count + error, most));
}

/*
 * Rounds to four significant digits, since no measurement is more precise, but
 * keeps all digits before the decimal point.  NaN and infinity: unknown.
 */
void
add_number(Row *row, double number)
{
	/* Without a limit, the scale of a tiny value is infinite, and the result no number. */
	double		decimals = Max(0, Min(3 - floor(log10(fabs(number))), DBL_MAX_10_EXP));
	double		scale = pow(10, decimals);

	add_value(row, isfinite(number), Float8GetDatum(rint(number * scale) / scale));
}

/* A figure and its interval, as far as that is between 0 and the most.  NaN: unknown. */
void
add_interval(Row *row, double value, double error, double most)
{
	bool		known = !isnan(value) && !isnan(error);

	add_number(row, value);
	add_number(row, known ? Max(value - error, 0) : NAN);
	add_number(row, known ? Min(value + error, most) : NAN);
}

/* A difference and its interval, which may begin below 0.  NaN: unknown. */
void
add_difference(Row *row, double value, double error)
{
	add_number(row, value);
	add_number(row, value - error);
	add_number(row, value + error);
}

/* A quotient; NULL if the divisor is zero. */
void
add_quotient(Row *row, double dividend, double divisor)
{
	add_number(row, divisor > 0 ? dividend / divisor : NAN);
}

/* A fraction.  1 means all of it, so nothing less is rounded up to 1. */
void
add_share(Row *row, int64 part, int64 whole)
{
	add_quotient(row, part < whole ? Min((double) part, 0.9999 * (double) whole) : (double) part,
				 (double) whole);
}

/* avg_us, p99_us, max_us */
void
add_latency(Row *row, const PbpLatency *latency)
{
	add_number(row, pbp_latency_avg_ns(latency) / 1e3);
	add_number(row, pbp_latency_percentile_ns(latency, 0.99) / 1e3);
	add_number(row, pbp_latency_max_ns(latency) / 1e3);
}

Datum
usagecounts_array(const int64 *usage)
{
	Datum		elements[BM_MAX_USAGE_COUNT + 1];

	for (int i = 0; i < (int) lengthof(elements); i++)
		elements[i] = Int64GetDatum(usage[i]);
	return PointerGetDatum(construct_array(elements, lengthof(elements), INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* database, relfilenode, fork, relation */
void
add_storage(Row *row, const PbpLocator *locator, ForkNumber fork)
{
	Oid			relation = relation_of(locator);
	char	   *database = get_database_name(locator->dbOid);

	add_value(row, database != NULL,
			  database ? DirectFunctionCall1(namein, CStringGetDatum(database)) : (Datum) 0);
	add_datum(row, ObjectIdGetDatum(locator->relNumber));
	add_text(row, forkNames[fork]);
	add_value(row, OidIsValid(relation), ObjectIdGetDatum(relation));
}

/* Functions that were created by another script may have other columns. */
static void
check_columns(const Row *row, TupleDesc tupdesc)
{
	if (row->ncols != tupdesc->natts)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function returns %d columns, but was created with %d",
						row->ncols, tupdesc->natts),
				 errhint("Create the extension again: it is not of this version of the library.")));
}

void
emit_row(FunctionCallInfo fcinfo, Row *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	CHECK_FOR_INTERRUPTS();
	check_columns(row, rsinfo->setDesc);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->nulls);
}

/* Of so many columns, the last is a note, and those that the row lacks before it are NULL. */
void
emit_noted(FunctionCallInfo fcinfo, Row *row, int ncols, const char *note)
{
	add_nulls(row, ncols - 1 - row->ncols);
	add_text(row, note);
	emit_row(fcinfo, row);
}

/* The only row of a function that returns no set. */
Datum
row_datum(FunctionCallInfo fcinfo, Row *row)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_columns(row, tupdesc);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, row->values, row->nulls));
}

/* One row per item of an array.  Frees each row's memory before the next one. */
void
emit_rows(FunctionCallInfo fcinfo, const void *items, int64 nitems, Size size,
		  RowEmitter emit, void *arg)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "pgbufprobe row",
													  ALLOCSET_SMALL_SIZES);

	InitMaterializedSRF(fcinfo, 0);
	for (int64 i = 0; i < nitems; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		emit(fcinfo, (const char *) items + i * size, arg);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	MemoryContextDelete(row_context);
}

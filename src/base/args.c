/*-------------------------------------------------------------------------
 *
 * args.c
 *	  Arguments of SQL functions: each function returns a valid value or
 *	  raises an error that says which values are valid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/args.h"

#define MAX_DURATION_MS		(INT64CONST(24) * 3600 * 1000)

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

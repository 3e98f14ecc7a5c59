/*-------------------------------------------------------------------------
 *
 * sqlvalues.h
 *	  Arguments of SQL functions: each function returns a valid value or
 *	  raises an error that says which values are valid.  Their result rows,
 *	  filled column by column.
 *
 * Each column of the script's OUT list has one call, in the same order.  Counts
 * are exact; quotients, shares and other measures are rounded to four
 * significant digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SQLVALUES_H
#define PBP_SQLVALUES_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "funcapi.h"

#include "base/compat.h"
#include "base/latency.h"

/* ---- arguments ---- */

extern int	parse_name(FunctionCallInfo fcinfo, int argno, const char *what,
					   const char *const *names, int nnames);
extern int	positive_arg(FunctionCallInfo fcinfo, int argno, const char *what, int max);
extern double fraction_arg(FunctionCallInfo fcinfo, int argno);
extern int	sample_arg(FunctionCallInfo fcinfo, int argno);
extern ForkNumber fork_arg(FunctionCallInfo fcinfo, int argno);
extern int64 duration_arg_ms(FunctionCallInfo fcinfo, int argno);

/* ---- rows ---- */

#define MAX_COLS			24

/* One row under construction. */
typedef struct Row
{
	int			ncols;
	Datum		values[MAX_COLS];
	bool		nulls[MAX_COLS];
} Row;

#define add_datum(row, value)	add_value(row, true, value)

/* Emits the row of one array item. */
typedef void (*RowEmitter) (FunctionCallInfo fcinfo, const void *item, void *arg);

extern void add_null(Row *row);
extern void add_nulls(Row *row, int count);
extern void add_value(Row *row, bool known, Datum value);
extern void add_count(Row *row, int64 count);
extern void add_known_count(Row *row, bool known, int64 count);
extern void add_rounded(Row *row, double count);
extern void add_number(Row *row, double number);
extern void add_interval(Row *row, double value, double error, double most);
extern void add_difference(Row *row, double value, double error);
extern void add_counted(Row *row, int64 count, int64 error, int64 most);
extern void add_quotient(Row *row, double dividend, double divisor);
extern void add_share(Row *row, int64 part, int64 whole);
extern void add_latency(Row *row, const PbpLatency *latency);
extern void add_text(Row *row, const char *text);
extern void add_time(Row *row, TimestampTz time);
extern void add_storage(Row *row, const PbpLocator *locator, ForkNumber fork);
extern Datum usagecounts_array(const int64 *usage);
extern Datum row_datum(FunctionCallInfo fcinfo, Row *row);
extern void emit_row(FunctionCallInfo fcinfo, Row *row);
extern void emit_noted(FunctionCallInfo fcinfo, Row *row, int ncols, const char *note);
extern void emit_rows(FunctionCallInfo fcinfo, const void *items, int64 nitems, Size size,
					  RowEmitter emit, void *arg);

#endif							/* PBP_SQLVALUES_H */

/*-------------------------------------------------------------------------
 *
 * rows.h
 *	  Result rows of SQL functions, filled column by column.
 *
 * Each column of the script's OUT list has one call, in the same order.  Counts
 * are exact; quotients, shares and other measures are rounded to four
 * significant digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ROWS_H
#define PBP_ROWS_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "funcapi.h"

#include "base/compat.h"
#include "base/latency.h"

#define MAX_COLS			16

/* One row under construction. */
typedef struct Row
{
	int			ncols;
	Datum		values[MAX_COLS];
	bool		nulls[MAX_COLS];
} Row;

/* Emits the row of one array item. */
typedef void (*RowEmitter) (ReturnSetInfo *rsinfo, const void *item, void *arg);

extern void add_null(Row *row);
extern void add_nulls(Row *row, int ncols);
extern void add_datum(Row *row, Datum value);
extern void add_count(Row *row, int64 count);
extern void add_known_count(Row *row, bool known, int64 count);
extern void add_rounded(Row *row, double count);
extern void add_number(Row *row, double number);
extern void add_interval(Row *row, double value, double error, double most);
extern void add_counted(Row *row, int64 count, int64 error, int64 most);
extern void add_quotient(Row *row, double dividend, double divisor);
extern void add_share(Row *row, int64 part, int64 whole);
extern void add_latency(Row *row, const PbpLatency *latency);
extern void add_name(Row *row, const char *name);
extern void add_text(Row *row, const char *text);
extern void add_time(Row *row, TimestampTz time);
extern Datum row_datum(FunctionCallInfo fcinfo, Row *row, int ncols);
extern void emit_row(ReturnSetInfo *rsinfo, Row *row, int ncols);
extern void emit_rows(FunctionCallInfo fcinfo, const void *items, int64 nitems, Size size,
					  RowEmitter emit, void *arg);

#endif							/* PBP_ROWS_H */

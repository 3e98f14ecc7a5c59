/*-------------------------------------------------------------------------
 *
 * poolfuncs.h
 *	  Helpers of poolfuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POOLFUNCS_H
#define PBP_POOLFUNCS_H

#include "base/rows.h"
#include "pool/descriptors.h"
#include "pool/sweep.h"

/* Columns of add_storage(). */
#define STORAGE_COLS		4

/* How far the clock hand moved in a time. */
typedef struct ClockRate
{
	double		seconds;
	double		ticks;
} ClockRate;

extern Oid	relation_of(const PbpLocator *locator);
extern Datum usagecounts_array(const int64 *usage);
extern void add_storage(Row *row, const PbpLocator *locator, ForkNumber fork);
extern ClockRate watch_clock(int64 duration_ms);

#endif							/* PBP_POOLFUNCS_H */

/*-------------------------------------------------------------------------
 *
 * poolfuncs.h
 *	  Helpers of poolfuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POOLFUNCS_H
#define PBP_POOLFUNCS_H

#include "base/sqlvalues.h"
#include "pool/pool.h"

/* Columns of add_storage(). */
#define STORAGE_COLS		4

extern Oid	relation_of(const PbpLocator *locator);
extern Datum usagecounts_array(const int64 *usage);
extern void add_storage(Row *row, const PbpLocator *locator, ForkNumber fork);

#endif							/* PBP_POOLFUNCS_H */

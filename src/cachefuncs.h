/*-------------------------------------------------------------------------
 *
 * cachefuncs.h
 *	  What the SQL functions about the page cache share with others: a notice
 *	  that says why counts of the page cache are NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHEFUNCS_H
#define PBP_CACHEFUNCS_H

#include "oscache.h"

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern void report_reason(PbpOsTrust trust, Oid relid, int64 others);

#pragma GCC visibility pop

#endif							/* PBP_CACHEFUNCS_H */

/*-------------------------------------------------------------------------
 *
 * readnames.h
 *	  Names of the relations with the most reads, in columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_READNAMES_H
#define PBP_READNAMES_H

#include "base/rows.h"
#include "sampler/topreads.h"

/* Names that were looked up, so that each is once. */
typedef struct HTAB ReadNames;

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern ReadNames *create_read_names(void);
extern void add_top_reads(Row *row, const PbpTopRead *top, ReadNames *names);

#pragma GCC visibility pop

#endif							/* PBP_READNAMES_H */

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

extern ReadNames *create_read_names(void);
extern void add_top_reads(Row *row, const PbpTopRead *top, ReadNames *names);

#endif							/* PBP_READNAMES_H */

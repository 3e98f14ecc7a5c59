/*-------------------------------------------------------------------------
 *
 * tablefiles.h
 *	  Which files the tables have that scans read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_TABLEFILES_H
#define PBP_TABLEFILES_H

#include "pool/pool.h"

/* May start a worker, so that some files are known only by the next call. */
extern void pbp_find_table_files(PbpCounted *counted);

extern PGDLLEXPORT void pbp_table_files_main(Datum arg);

#endif							/* PBP_TABLEFILES_H */

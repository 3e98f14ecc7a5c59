/*-------------------------------------------------------------------------
 *
 * carryload.h
 *	  A worker that restores extents of one database into both caches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYLOAD_H
#define PBP_CARRYLOAD_H

#include "postmaster/bgworker.h"

/* What a worker restores that is connected to a database. */
typedef struct PbpCarryJob
{
	Oid			database;		/* whose maps; InvalidOid: the shared ones */
	Oid			connect_to;
	int			band;			/* of the extents; see cachemap.h */
	int			border;			/* the lowest level of blocks for which shared
								 * buffers may have room */
	bool		may_fail;		/* by errors that may pass; otherwise these end no
								 * more than a map */
	int64		first;			/* part of the file that has the maps */
	int64		end;
	int64		skip;			/* extents of the first map, which are done */
	uint32		part_number;	/* as in PbpCarryProgress */
} PbpCarryJob;

StaticAssertDecl(sizeof(PbpCarryJob) <= BGW_EXTRALEN, "a worker must be able to get its job");

extern void pbp_carry_load_worker(BackgroundWorker *worker, const PbpCarryJob *job);
extern PGDLLEXPORT void pbp_carry_load_main(Datum arg);

#endif							/* PBP_CARRYLOAD_H */

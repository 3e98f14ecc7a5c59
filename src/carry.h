/*-------------------------------------------------------------------------
 *
 * carry.h
 *	  Carries both caches over a restart: settings and registration of the
 *	  worker, and what its parts share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRY_H
#define PBP_CARRY_H

#include "postmaster/bgworker.h"

#include "carryfile.h"

/* settings, which _PG_init() defines */
extern bool pbp_carry_over_on;
extern int	pbp_carry_over_interval_s;	/* 0: only when the server stops */
extern int	pbp_carry_over_rate_mb; /* 0: no limit */

extern void pbp_carry_register(void);
extern bool pbp_carry_has_no_slot(void);
extern PGDLLEXPORT void pbp_carry_main(Datum arg);

/* ---- for the parts of the worker ---- */

extern bool pbp_carry_goes_on(void);
extern void pbp_carry_wait(int64 ms);

/* Saves all; quickly when the server stops.  See carrysave.c. */
extern bool pbp_carry_save(bool quick);

/* Restores all; false if it was stopped.  See carryrestore.c. */
extern bool pbp_carry_restore(void);

/* What a worker restores that is connected to a database.  See carryload.c. */
typedef struct PbpCarryJob
{
	Oid			database;		/* whose maps; InvalidOid: the shared ones */
	Oid			connect_to;
	int			band;			/* of the extents; see carryextent.h */
	int			border;			/* the lowest level of blocks for which shared
								 * buffers may have room */
	int64		first;			/* part of the file that has the maps */
	int64		end;
	int64		skip;			/* extents of the first map, which are done */
} PbpCarryJob;

StaticAssertDecl(sizeof(PbpCarryJob) <= BGW_EXTRALEN, "a worker must be able to get its job");

extern void pbp_carry_load_worker(BackgroundWorker *worker, const PbpCarryJob *job);
extern PGDLLEXPORT void pbp_carry_load_main(Datum arg);

#endif							/* PBP_CARRY_H */

/*-------------------------------------------------------------------------
 *
 * carry.h
 *	  The workers that carry both caches over a restart: one that saves, and has
 *	  others restore what was saved, each of which is connected to a database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRY_H
#define PBP_CARRY_H

#include "postmaster/bgworker.h"

extern void pbp_carry_register(void);
extern void pbp_carry_launch(uint32 stops);
extern bool pbp_carry_has_no_slot(void);
extern PGDLLEXPORT void pbp_carry_main(Datum arg);

/* Returns false if nothing was saved.  A quick save does not sleep. */
extern bool pbp_carry_save(bool quick);

extern void pbp_carry_restore(void);

/* What a worker restores that is connected to a database, in its bgw_extra. */
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

extern PGDLLEXPORT void pbp_carry_load_main(Datum arg);

#endif							/* PBP_CARRY_H */

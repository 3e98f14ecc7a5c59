/*-------------------------------------------------------------------------
 *
 * carryprogress.h
 *	  How far the carry-over of both caches is, in shared memory: written by its
 *	  workers, read by any process; and whether it goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYPROGRESS_H
#define PBP_CARRYPROGRESS_H

#include "datatype/timestamp.h"

typedef enum PbpCarryPhase
{
	PBP_CARRY_OFF,
	PBP_CARRY_WAITING,			/* nothing was restored since the start */
	PBP_CARRY_SAVING,
	PBP_CARRY_RESTORING,
	PBP_CARRY_DONE
} PbpCarryPhase;

#define PBP_CARRY_PHASES	(PBP_CARRY_DONE + 1)

/* What the worker that restores a part of the file says of it, at its end. */
typedef enum PbpCarryPart
{
	PBP_PART_BEGUN,				/* nothing; if the worker is gone, it has failed */
	PBP_PART_FAILED,			/* by an error that may pass */
	PBP_PART_LEFT,				/* it had no more time */
	PBP_PART_DONE
} PbpCarryPart;

typedef struct PbpCarryProgress
{
	PbpCarryPhase phase;

	/* of the part that is being restored */
	uint32		part_number;	/* of all since the start; a worker knows its own */
	PbpCarryPart part;
	bool		is_lost;		/* something of it is, by an error */
	int64		resume;			/* place in the file where the next worker goes on */
	int64		resume_extents; /* to be left out of that map */

	int64		next_read_ns;	/* when the rate allows to read the next extent */

	/* blocks for which there is room */
	int64		border_room;	/* in shared buffers, for those of level "border" */
	int64		cache_room;		/* in the page cache */
	int64		spare_room;		/* in there, for gaps between what is wanted, and for
								 * what shared buffers have */

	/* of the restore after the start of the server */
	int			attempts;
	bool		settled;		/* it has ended, or there is none */
	bool		incomplete;		/* it has ended without a part of the blocks */
	int64		wanted_buffers; /* that were to be in use at its end */
	int64		wanted_ns;		/* when it was first tried; 0: not */
	int64		blocks;			/* to be restored */
	int64		done;			/* of these */
	int64		read;			/* from the kernel, or by it */
	int64		begun_ns;		/* 0: not */
	int64		ended_ns;		/* 0: not */

	/* of the last file that was saved, perhaps before the start */
	TimestampTz saved_at;		/* 0: none */

	bool		both_logged;	/* that autoprewarm is enabled as well */
} PbpCarryProgress;

/* Locks it for a few instructions. */
extern PbpCarryProgress *pbp_carry_lock(void);
extern void pbp_carry_unlock(void);

extern PbpCarryProgress pbp_carry_progress(void);

extern bool pbp_carry_goes_on(void);
extern void pbp_carry_sleep_until(int64 until_ns);

#endif							/* PBP_CARRYPROGRESS_H */

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

#include "pgstat.h"

#include "base/ownfile.h"
#include "caches/caches.h"

/* ---- how far they are, in shared memory: written by them, read by any process ---- */

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

/* Where a worker goes on in the file: at the map at this place, without some extents. */
typedef struct PbpCarryPlace
{
	int64		at;
	int64		extents;
} PbpCarryPlace;

typedef struct PbpCarryProgress
{
	PbpCarryPhase phase;

	/* of the part that is being restored */
	uint32		part_number;	/* of all since the start; a worker knows its own */
	PbpCarryPart part;
	bool		is_lost;		/* something of it is, by an error */
	PbpCarryPlace place;		/* where the next worker goes on */

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
} PbpCarryProgress;

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
	PbpCarryPlace from;			/* part of the file that has the maps */
	int64		end;
	uint32		part_number;	/* as in PbpCarryProgress */
} PbpCarryJob;

/* ---- in carry.c ---- */

/* No background worker slot was left for it; false in single-user mode. */
extern bool pbp_carry_has_no_slot;

extern void pbp_carry_register(void);
extern void pbp_carry_launch(uint32 stops);
extern PGDLLEXPORT void pbp_carry_main(Datum arg);

/* Locks the progress for a few instructions, until pbp_unlock_shared(). */
extern PbpCarryProgress *pbp_carry_lock(void);
extern PbpCarryProgress pbp_carry_progress(void);

extern bool pbp_carry_goes_on(void);
extern void pbp_carry_sleep_until(int64 until_ns);

/*
 * ---- in carryfile.c: the file pg_stat/pgbufprobe.maps ----
 *
 * A cache map for each file of each relation of which a cache has a block: entries,
 * each followed by its map.  A file is a segment, so that one map at a time fits into
 * little memory.  Nothing in it is trusted before it is checked.
 */

#define PBP_CARRY_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.maps"

/* Counts the restores that a crash has ended. */
#define PBP_CARRY_MARK		PBP_CARRY_FILE ".restoring"

/* Followed by the map. */
typedef struct PbpCarryEntry
{
	PbpFileKey	key;
	uint32		map_bytes;
} PbpCarryEntry;

typedef struct PbpCarryReader
{
	PbpOwnFile	file;
	bool		is_damaged;		/* it has something impossible */
	uint8	   *map;			/* room for one */
} PbpCarryReader;

extern const PbpFileKind pbp_carry_kind;

extern bool pbp_carry_open(PbpCarryReader *reader, bool verify);
extern bool pbp_carry_next(PbpCarryReader *reader, PbpCarryEntry *entry);
extern const uint8 *pbp_carry_map(PbpCarryReader *reader, const PbpCarryEntry *entry);
extern void pbp_carry_log_unreadable(const PbpCarryReader *reader);
extern void pbp_carry_close(PbpCarryReader *reader);

/* ---- in carrysave.c, carryrestore.c and carryload.c ---- */

/* Returns false if nothing was saved.  A quick save does not sleep. */
extern bool pbp_carry_save(bool quick);

extern void pbp_carry_restore(void);
extern PGDLLEXPORT void pbp_carry_load_main(Datum arg);

#endif							/* PBP_CARRY_H */

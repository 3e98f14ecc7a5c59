/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  What all background workers share: their registration, their start, waits,
 *	  and how they end: with the server, or alone.  What the processes of the
 *	  extension share: a header that any of them finds at any time, and the segment
 *	  in which the sampler publishes what it knows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WORKER_H
#define PBP_WORKER_H

#include "datatype/timestamp.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"

/* ---- in shared.c ---- */

/* The workers of which there is at most one. */
typedef enum PbpPlace
{
	PBP_SAMPLER,
	PBP_CARRY_OVER
} PbpPlace;

#define PBP_PLACES			(PBP_CARRY_OVER + 1)

#define PBP_HEADER_BYTES	512

/* Room for what only the carry-over knows. */
#define PBP_CARRY_BYTES		256

/* Tables whose files a worker finds at once. */
#define PBP_TABLE_FILES		10

/* The file of a table by the catalogs of its database; a table of 0 has none. */
typedef struct PbpTableFile
{
	Oid			database;
	Oid			table;
	Oid			tablespace;
	Oid			relfilenode;
} PbpTableFile;

/*
 * Processes may have loaded different versions of the library, so this is the
 * same in all versions.
 */
typedef struct PbpSharedHeader
{
	char		version[16];	/* of the library that has created the segment */
	uint64		segment_bytes;
	dsm_handle	segment;		/* DSM_HANDLE_INVALID: none */
	uint32		stops;			/* calls of pgbufprobe_stop(), which end the
								 * workers that were started before */
	int32		pids[PBP_PLACES];	/* 0: not running */
	TimestampTz since[PBP_PLACES];	/* when it began to run */
	bool		stopped;		/* and not started since */
	LWLock		lock;			/* protects all of this, and the segment */
	int64		carry[PBP_CARRY_BYTES / sizeof(int64)];
	PbpTableFile files[PBP_TABLE_FILES];	/* that a worker has found for the sampler */
} PbpSharedHeader;

StaticAssertDecl(sizeof(PbpSharedHeader) <= PBP_HEADER_BYTES, "the header has a fixed size");

extern PbpSharedHeader *pbp_shared_header(void);
extern PbpSharedHeader *pbp_lock_shared(LWLockMode mode);
extern void pbp_unlock_shared(void);
extern PbpSharedHeader pbp_read_shared_header(void);

/* for readers */
extern void *pbp_attach_segment(Size bytes);
extern void pbp_detach_segment(void);

/* for the sampler, and those who start and stop it */
extern void *pbp_keep_segment(Size bytes, void (*init) (void *));
extern void pbp_drop_segment(void);

/* ---- in worker.c ---- */

/* The argument of a worker that pgbufprobe_stop() does not end. */
#define PBP_PRELOADED		PG_UINT32_MAX

extern void pbp_describe_worker(BackgroundWorker *worker, const char *name, const char *function,
								int restart_s, uint32 arg);
extern bool pbp_register_worker(PbpPlace place);
extern bool pbp_launch_worker(PbpPlace place, uint32 stops, BackgroundWorkerHandle **handle);
extern bool pbp_worker_runs(BackgroundWorkerHandle *handle);
extern void pbp_start_worker(Oid database);
extern void pbp_take_place(PbpPlace place, Datum arg);
extern bool pbp_is_preloaded_worker(void);
extern void pbp_wake_worker(int pid);

extern void pbp_let_die(bool let);
extern bool pbp_reload_settings(void);
extern void pbp_worker_wait(int64 ms);

extern bool pbp_must_end(void);
extern int64 pbp_ending_ns(void);
extern void pbp_end_worker(void);
extern void pbp_check_interrupts_of_look(void);

#endif							/* PBP_WORKER_H */

/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  What all background workers share: their registration, their start, waits,
 *	  and how they end: with the server, or alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WORKER_H
#define PBP_WORKER_H

#include "postmaster/bgworker.h"

#include "base/shared.h"

/* The argument of a worker that pgbufprobe_stop() does not end. */
#define PBP_PRELOADED		PG_UINT32_MAX

extern void pbp_describe_worker(BackgroundWorker *worker, const char *name, const char *function,
								int restart_s, uint32 arg);
extern bool pbp_register_worker(const char *name, const char *function);
extern bool pbp_launch_worker(const char *name, const char *function, uint32 stops,
							  BackgroundWorkerHandle **handle);
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

/*-------------------------------------------------------------------------
 *
 * pgbufprobe.c
 *	  What the server loads: magic, settings, hooks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/guc.h"

#include "src/compat.h"
#include "src/oscache.h"
#include "src/sampler.h"

PBP_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static shmem_request_hook_type previous_shmem_request_hook = NULL;
static shmem_startup_hook_type previous_shmem_startup_hook = NULL;

static void
request_shared_memory(void)
{
	if (previous_shmem_request_hook)
		previous_shmem_request_hook();
	pbp_sampler_request_shared();
}

static void
start_shared_memory(void)
{
	if (previous_shmem_startup_hook)
		previous_shmem_startup_hook();
	pbp_sampler_init_shared();
}

/* The one that matters also where the library was not preloaded. */
static void
define_os_cache_setting(void)
{
	DefineCustomBoolVariable("pgbufprobe.os_cache",
							 "Allows asking the kernel what its page cache holds.",
							 "If off, the background worker and all functions do without the page cache and read no files.",
							 &pbp_os_cache_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
}

static void
define_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.sampler",
							 "Has a background worker watch the buffer pool.",
							 NULL, &pbp_sampler_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_interval",
							"Time between two samples of the history.",
							"The worker looks more often where the hand of the clock sweep is fast.",
							&pbp_history_interval_ms, 10000, 100, SECS_PER_HOUR * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("pgbufprobe.max_cpu_fraction",
							 "Share of one processor that the worker uses at most.",
							 NULL, &pbp_max_cpu_fraction, 0.01, 0.0001, 1,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_size",
							"Samples that the history holds in shared memory.",
							NULL, &pbp_history_size, 8640, 10, 1000000,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.advice_memory",
							"Memory that the worker uses at most to tell what other sizes would do.",
							"-1 means what is enough, at most a thousandth of shared_buffers; 0 means no advice.",
							&pbp_advice_memory_kb, -1, -1, 64 * 1024,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	MarkGUCPrefixReserved("pgbufprobe");
}

/*
 * All but history and advice works in a session that has loaded this library
 * on its own.
 */
void
_PG_init(void)
{
	define_os_cache_setting();
	if (!process_shared_preload_libraries_in_progress)
		return;

	define_settings();
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;
	pbp_sampler_register();
}

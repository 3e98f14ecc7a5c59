/*-------------------------------------------------------------------------
 *
 * pgbufprobe.c
 *	  Module entry point: magic block, shared memory hooks, background workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/compat.h"
#include "base/settings.h"
#include "carry/carry.h"
#include "carry/carryprogress.h"
#include "sampler/predictions.h"
#include "sampler/sampler.h"

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
	pbp_predictions_request_shared();
	pbp_carry_request_shared();
}

static void
start_shared_memory(void)
{
	if (previous_shmem_startup_hook)
		previous_shmem_startup_hook();
	pbp_sampler_init_shared();
	pbp_predictions_init_shared();
	pbp_carry_init_shared();
}

/*
 * A session that loads the library without preloading has all functions except
 * history and advice.
 */
void
_PG_init(void)
{
	pbp_define_session_settings();
	if (!process_shared_preload_libraries_in_progress)
		return;

	pbp_define_worker_settings();
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;
	pbp_sampler_register();
	pbp_carry_register();
}

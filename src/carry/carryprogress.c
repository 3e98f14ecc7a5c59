/*-------------------------------------------------------------------------
 *
 * carryprogress.c
 *	  How far the carry-over of both caches is, in shared memory, and whether it
 *	  goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "base/settings.h"
#include "base/worker.h"
#include "carry/carryprogress.h"

#define TRANCHE			"pgbufprobe carry-over"

typedef struct CarryShared
{
	LWLock	   *lock;
	PbpCarryProgress progress;
} CarryShared;

static CarryShared *shared = NULL;

void
pbp_carry_request_shared(void)
{
	RequestAddinShmemSpace(sizeof(CarryShared));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

void
pbp_carry_init_shared(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(TRANCHE, sizeof(CarryShared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(*shared));
		shared->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* Returns true if pgbufprobe is in shared_preload_libraries. */
bool
pbp_carry_is_loaded(void)
{
	return shared != NULL;
}

PbpCarryProgress *
pbp_carry_lock(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	return &shared->progress;
}

void
pbp_carry_unlock(void)
{
	LWLockRelease(shared->lock);
}

PbpCarryProgress
pbp_carry_progress(void)
{
	PbpCarryProgress progress;

	LWLockAcquire(shared->lock, LW_SHARED);
	progress = shared->progress;
	LWLockRelease(shared->lock);
	return progress;
}

/* Reloads settings; false if the worker must end or carry_over is off. */
bool
pbp_carry_goes_on(void)
{
	CHECK_FOR_INTERRUPTS();
	pbp_reload_settings();
	return !pbp_must_end() && pbp_carry_over_on;
}

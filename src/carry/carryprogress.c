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

#include "base/latency.h"
#include "base/settings.h"
#include "base/shared.h"
#include "base/worker.h"
#include "carry/carryprogress.h"

StaticAssertDecl(sizeof(PbpCarryProgress) <= PBP_CARRY_BYTES, "the header must have room for it");

PbpCarryProgress *
pbp_carry_lock(void)
{
	return (PbpCarryProgress *) pbp_lock_shared(LW_EXCLUSIVE)->carry;
}

void
pbp_carry_unlock(void)
{
	pbp_unlock_shared();
}

PbpCarryProgress
pbp_carry_progress(void)
{
	PbpSharedHeader header = pbp_read_shared_header();
	PbpCarryProgress progress;

	memcpy(&progress, header.carry, sizeof(progress));
	return progress;
}

/* Reloads settings; false if the worker must end or carry_over is off. */
bool
pbp_carry_goes_on(void)
{
	CHECK_FOR_INTERRUPTS();
	(void) pbp_reload_settings();
	return !pbp_must_end() && pbp_carry_over_on;
}

/* Sleeps until a time by pbp_now_ns(), unless the worker must end or carry_over is off. */
void
pbp_carry_sleep_until(int64 until_ns)
{
	int64		left_ns;

	while (pbp_carry_goes_on() && (left_ns = until_ns - pbp_now_ns()) > 0)
		pbp_worker_wait(left_ns / 1000000 + 1);
}

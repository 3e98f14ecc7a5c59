/*-------------------------------------------------------------------------
 *
 * carrywork.c
 *	  Whether work that takes long goes on, and its waits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/settings.h"
#include "base/worker.h"
#include "carry/carrywork.h"

/* Reloads settings; false if the worker must end or carry_over is off. */
bool
pbp_carry_goes_on(void)
{
	CHECK_FOR_INTERRUPTS();
	pbp_reload_settings();
	return !pbp_must_end() && pbp_carry_over_on;
}

/* Waits for this time, without limit if it is negative, or until a signal. */
void
pbp_carry_wait(int64 ms)
{
	pbp_worker_wait(ms);
	CHECK_FOR_INTERRUPTS();
}

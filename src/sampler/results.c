/*-------------------------------------------------------------------------
 *
 * results.c
 *	  The segment of shared memory in which the sampler publishes its results.
 *
 * The worker keeps it attached; other processes attach it to read from it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "sampler/results.h"

/* In the worker, always; in other processes, between open and close. */
static PbpResults *results = NULL;

static bool is_publisher = false;

/* The prediction of a size that was never predicted has no figure. */
static void
init_results(void *address)
{
	pbp_watch_new_size(&((PbpResults *) address)->predictions.watch, NAN);
}

/* To be called first by the worker. */
void
pbp_keep_results(void)
{
	results = pbp_keep_segment(sizeof(PbpResults), init_results);
	is_publisher = true;
}

/* Locks what is published until pbp_close_results(); NULL: nothing is, and nothing is locked. */
PbpResults *
pbp_open_results(LWLockMode mode)
{
	if (!is_publisher)
		results = pbp_attach_segment(sizeof(PbpResults));
	if (results != NULL)
		pbp_lock_shared(mode);
	return results;
}

void
pbp_close_results(void)
{
	pbp_unlock_shared();
	if (!is_publisher)
		pbp_detach_segment();
}

/* True if there is a sampler, or one that is being restarted. */
bool
pbp_sampler_has_results(void)
{
	return pbp_read_shared_header().segment != DSM_HANDLE_INVALID;
}

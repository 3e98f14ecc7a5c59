/*-------------------------------------------------------------------------
 *
 * history.c
 *	  What the sampler publishes in shared memory: rings of samples, hours, and
 *	  the latest advice.
 *
 * The worker keeps the segment attached; other processes attach it to read from it.
 * The lock of shared.c protects all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/latency.h"
#include "base/settings.h"
#include "sampler/history.h"

/* how far back the speed of the hand is averaged */
#define RATE_SECONDS	300

/* how late a sample may come on a busy machine */
#define GRACE_NS		INT64CONST(5000000000)

/* In the worker, always; in other processes, between open and close. */
static PbpResults *shared = NULL;

static bool is_publisher = false;

/* This worker has created it: what others left there would be newer than any file. */
bool		pbp_history_begins = false;

/* The worker adds nothing between a reset and the time when it notices that. */
uint32		pbp_noticed_resets;

/* The prediction of a size that was never predicted has no figure. */
static void
init_results(void *address)
{
	pbp_watch_new_size(&((PbpResults *) address)->predictions.watch, NAN);
	pbp_history_begins = true;
}

/* To be called first by the worker. */
void
pbp_keep_results(void)
{
	shared = pbp_keep_segment(sizeof(PbpResults), init_results);
	is_publisher = true;
}

/* Locks what is published until pbp_close_results(); NULL: nothing is, and nothing is locked. */
PbpResults *
pbp_open_results(LWLockMode mode)
{
	if (!is_publisher)
		shared = pbp_attach_segment(sizeof(PbpResults));
	if (shared != NULL)
		pbp_lock_shared(mode);
	return shared;
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

static int
ring_size(PbpHistory history)
{
	return history == PBP_FINE_HISTORY ? PBP_FINE_SAMPLES : PBP_COARSE_SAMPLES;
}

/* A sample by its number since the ring was emptied. */
PbpSample *
pbp_sample_at(PbpResults *results, PbpHistory history, int64 number)
{
	PbpSample  *ring = history == PBP_FINE_HISTORY ? results->fine : results->coarse;

	return &ring[number % ring_size(history)];
}

/* The number of the oldest sample. */
int64
pbp_oldest_sample(const PbpResults *results, PbpHistory history)
{
	return Max(0, results->nsamples[history] - ring_size(history));
}

/* ---- for readers ---- */

/*
 * Copies of the samples in the ring, oldest first; palloc'd.  The worker waits for the
 * lock meanwhile: less than a millisecond for a full ring of 1.3 MB.  That is why the
 * memory is cleared before: the first write to each of its pages takes longer.
 */
PbpSample *
pbp_history(PbpHistory history, int *nsamples)
{
	PbpSample  *samples = palloc0(ring_size(history) * sizeof(*samples));

	*nsamples = 0;
	if (pbp_open_results(LW_SHARED) == NULL)
		return samples;
	for (int64 i = pbp_oldest_sample(shared, history); i < shared->nsamples[history]; i++)
		samples[(*nsamples)++] = *pbp_sample_at(shared, history, i);
	pbp_close_results();
	return samples;
}

/*
 * By the newest samples and at least one.  0 seconds: the sampler takes none now, or
 * has taken only one.
 */
PbpClockRate
pbp_recent_history(void)
{
	PbpClockRate recent = {0};
	int64		newest;
	int64		oldest;
	bool		is_current;

	if (pbp_open_results(LW_SHARED) == NULL)
		return recent;
	/* none counts unless samples are being taken; by the settings, it may be an hour old */
	is_current = pbp_sampler_on && shared->next_sample_ns != 0 &&
		pbp_now_ns() <= shared->next_sample_ns + GRACE_NS;
	newest = shared->nsamples[PBP_FINE_HISTORY] - 1;
	oldest = is_current ? pbp_oldest_sample(shared, PBP_FINE_HISTORY) : newest + 1;
	for (int64 i = newest; i >= oldest && recent.seconds < RATE_SECONDS; i--)
	{
		const PbpSample *sample = pbp_sample_at(shared, PBP_FINE_HISTORY, i);

		if (sample->elapsed_ns == 0)
			break;
		recent.seconds += (double) sample->elapsed_ns / 1e9;
		recent.ticks += (double) sample->new_ticks;
		recent.cpu_seconds += (double) sample->cpu_ns / 1e9;
	}
	pbp_close_results();
	return recent;
}

/*
 * Empties all.  The worker starts over, too, when it wakes up.  The file that
 * would fill it again after a restart must be removed after that.
 */
void
pbp_history_reset(void)
{
	if (pbp_open_results(LW_EXCLUSIVE) == NULL)
		return;
	memset(shared->nsamples, 0, sizeof(shared->nsamples));
	shared->nhours = 0;
	shared->nresets++;
	memset(&shared->advice, 0, sizeof(shared->advice));
	memset(&shared->advice_before, 0, sizeof(shared->advice_before));
	pbp_close_results();
}

/*
 * The latest report; until it knows as much as that of before a restart, the
 * latter.  An empty one if there is no worker.  Palloc'd.
 */
PbpAdviceReport *
pbp_read_advice(void)
{
	PbpAdviceReport *report = palloc0(sizeof(*report));

	if (pbp_open_results(LW_SHARED) == NULL)
		return report;
	*report = pbp_knows_more(&shared->advice_before, &shared->advice) ?
		shared->advice_before : shared->advice;
	pbp_close_results();
	return report;
}

/* ---- for the worker ---- */

uint32
pbp_count_resets(void)
{
	uint32		nresets;

	(void) pbp_open_results(LW_SHARED);
	nresets = shared->nresets;
	pbp_close_results();
	return nresets;
}

/* All of before a restart, when there is nothing else yet. */
void
pbp_restore_results(const PbpResults *restored)
{
	(void) pbp_open_results(LW_EXCLUSIVE);
	if (shared->nresets == restored->nresets)
		*shared = *restored;
	pbp_close_results();
}

/* When the next sample will have been taken; 0: not before the settings change. */
void
pbp_announce_sample(int64 next_sample_ns)
{
	(void) pbp_open_results(LW_EXCLUSIVE);
	shared->next_sample_ns = next_sample_ns;
	pbp_close_results();
}

/* Discards a sample taken before a reset that the worker has not noticed. */
void
pbp_put_sample(PbpHistory history, const PbpSample *sample)
{
	(void) pbp_open_results(LW_EXCLUSIVE);
	if (shared->nresets == pbp_noticed_resets)
		*pbp_sample_at(shared, history, shared->nsamples[history]++) = *sample;
	pbp_close_results();
}

/* A report of before a restart does not come back once this knows as much. */
void
pbp_put_advice(const PbpAdviceReport *report)
{
	(void) pbp_open_results(LW_EXCLUSIVE);
	if (shared->nresets == pbp_noticed_resets)
	{
		shared->advice = *report;
		if (!pbp_knows_more(&shared->advice_before, report))
			shared->advice_before.has_memory = false;
	}
	pbp_close_results();
}

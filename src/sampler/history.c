/*-------------------------------------------------------------------------
 *
 * history.c
 *	  What the sampler publishes in shared memory: rings of samples, hours, and
 *	  the latest advice.
 *
 * One lock protects all.  Samples are copied a few at a time, since the worker
 * waits for the lock, and others wait for the worker.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/latency.h"
#include "base/settings.h"
#include "sampler/history.h"

#define TRANCHE			"pgbufprobe"

/* how far back the speed of the hand is averaged */
#define RATE_SECONDS	300

/* samples that are copied while the lock is held, in about 0.1 ms */
#define SAMPLES_AT_ONCE	1000

/* how late a sample may come on a busy machine */
#define GRACE_NS		INT64CONST(5000000000)

typedef struct SamplerShared
{
	pg_atomic_uint64 next_sample_ns;	/* when one will have been taken, by
										 * pbp_now_ns(); 0: never */
	LWLock	   *lock;			/* protects all below */
	int64		nsamples[PBP_HISTORIES];	/* since a ring was emptied */
	int			nhours;
	PbpHour		hours[PBP_HOURS];	/* in the order in which they were begun */
	uint32		nresets;
	bool		has_begun;		/* a worker has run since this was created */
	PbpAdviceReport advice;
	PbpAdviceReport advice_before;	/* the last one before a restart */
	PbpSample	rings[FLEXIBLE_ARRAY_MEMBER];	/* one after the other */
} SamplerShared;

static SamplerShared *shared = NULL;

static Size
shared_bytes(void)
{
	return add_size(offsetof(SamplerShared, rings),
					mul_size(pbp_history_size + PBP_COARSE_SAMPLES, sizeof(PbpSample)));
}

void
pbp_sampler_request_shared(void)
{
	RequestAddinShmemSpace(shared_bytes());
	RequestNamedLWLockTranche(TRANCHE, 1);
}

void
pbp_sampler_init_shared(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("pgbufprobe", shared_bytes(), &found);
	if (!found)
	{
		memset(shared, 0, offsetof(SamplerShared, rings));
		pg_atomic_init_u64(&shared->next_sample_ns, 0);
		shared->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* True if pgbufprobe is in shared_preload_libraries. */
bool
pbp_sampler_is_loaded(void)
{
	return shared != NULL;
}

static int
ring_size(PbpHistory history)
{
	return history == PBP_FINE_HISTORY ? pbp_history_size : PBP_COARSE_SAMPLES;
}

/* A sample by its number since the ring was emptied. */
static PbpSample *
sample_at(PbpHistory history, int64 number)
{
	PbpSample  *ring = history == PBP_FINE_HISTORY ? shared->rings : shared->rings + pbp_history_size;

	return &ring[number % ring_size(history)];
}

/* The number of the oldest sample. */
static int64
oldest_sample(PbpHistory history)
{
	return Max(0, shared->nsamples[history] - ring_size(history));
}

/* ---- for readers ---- */

/*
 * Copies the next samples, no more than there is room for, and counts them.  If
 * the ring has overwritten some of these since, all that were copied before are
 * discarded: they are older.  So are those of before a reset.  Returns false if
 * there are no more.
 */
static bool
copy_next_samples(PbpHistory history, PbpSample *samples, int room, int *nsamples,
				  int64 *next, uint32 *resets)
{
	int			most = Min(room, *nsamples + SAMPLES_AT_ONCE);
	bool		has_more;

	LWLockAcquire(shared->lock, LW_SHARED);
	if (*next < oldest_sample(history) || *resets != shared->nresets)
	{
		*nsamples = 0;
		*next = oldest_sample(history);
		*resets = shared->nresets;
	}
	while (*nsamples < most && *next < shared->nsamples[history])
		samples[(*nsamples)++] = *sample_at(history, (*next)++);
	has_more = *nsamples < room && *next < shared->nsamples[history];
	LWLockRelease(shared->lock);
	return has_more;
}

/* Copies of the samples in the ring, oldest first; palloc'd. */
PbpSample *
pbp_history(PbpHistory history, int *nsamples)
{
	int			room = ring_size(history);
	PbpSample  *samples = MemoryContextAllocHuge(CurrentMemoryContext,
												 mul_size(room, sizeof(*samples)));
	uint32		resets = 0;
	int64		next = -1;

	while (copy_next_samples(history, samples, room, nsamples, &next, &resets))
		CHECK_FOR_INTERRUPTS();
	return samples;
}

/* Copies of the hours that are kept, of any time; palloc'd.  None if there is no worker. */
PbpHour *
pbp_hours(int *nhours)
{
	PbpHour    *hours = palloc(PBP_HOURS * sizeof(*hours));

	*nhours = 0;
	if (shared == NULL)
		return hours;
	LWLockAcquire(shared->lock, LW_SHARED);
	*nhours = shared->nhours;
	memcpy(hours, shared->hours, shared->nhours * sizeof(*hours));
	LWLockRelease(shared->lock);
	return hours;
}

/* True if samples are being taken; by the settings, the newest may be an hour old. */
static bool
history_is_current(void)
{
	int64		next_ns = (int64) pg_atomic_read_u64(&shared->next_sample_ns);

	return pbp_sampler_on && next_ns != 0 && pbp_now_ns() <= next_ns + GRACE_NS;
}

/*
 * How far the hand went in the last minutes, by the newest samples and at least
 * one.  False: the worker takes no samples now, or has taken only one.
 */
bool
pbp_history_rate(double *seconds, double *ticks)
{
	int64		oldest;

	*seconds = *ticks = 0;
	if (shared == NULL || !history_is_current())
		return false;

	LWLockAcquire(shared->lock, LW_SHARED);
	oldest = oldest_sample(PBP_FINE_HISTORY);
	for (int64 i = shared->nsamples[PBP_FINE_HISTORY] - 1; i >= oldest && *seconds < RATE_SECONDS; i--)
	{
		const PbpSample *sample = sample_at(PBP_FINE_HISTORY, i);

		if (sample->elapsed_ns == 0)
			break;
		*seconds += (double) sample->elapsed_ns / 1e9;
		*ticks += (double) sample->new_ticks;
	}
	LWLockRelease(shared->lock);
	return *seconds > 0;
}

/*
 * Empties all.  The worker starts over, too, when it wakes up.  The file that
 * would fill it again after a restart must be removed after that.
 */
void
pbp_history_reset(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	memset(shared->nsamples, 0, sizeof(shared->nsamples));
	shared->nhours = 0;
	shared->nresets++;
	memset(&shared->advice, 0, sizeof(shared->advice));
	memset(&shared->advice_before, 0, sizeof(shared->advice_before));
	LWLockRelease(shared->lock);
}

/*
 * The latest report; until it knows as much as that of before a restart, the
 * latter.  An empty one if there is no worker.  Palloc'd.
 */
PbpAdviceReport *
pbp_read_advice(void)
{
	PbpAdviceReport *report = palloc0(sizeof(*report));
	PbpAdviceReport *before;

	if (shared == NULL)
		return report;
	before = palloc(sizeof(*before));
	LWLockAcquire(shared->lock, LW_SHARED);
	*report = shared->advice;
	*before = shared->advice_before;
	LWLockRelease(shared->lock);
	if (pbp_knows_more(before, report))
		*report = *before;
	pfree(before);
	return report;
}

/* ---- for the worker ---- */

uint32
pbp_count_resets(void)
{
	uint32		nresets;

	LWLockAcquire(shared->lock, LW_SHARED);
	nresets = shared->nresets;
	LWLockRelease(shared->lock);
	return nresets;
}

/* True for the first worker: what others left in shared memory is newer than any file. */
bool
pbp_history_begins(void)
{
	bool		begins;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	begins = !shared->has_begun;
	shared->has_begun = true;
	LWLockRelease(shared->lock);
	return begins;
}

/* How many samples there are, and the number of the oldest, which may change only by a reset. */
int
pbp_count_samples(PbpHistory history, int64 *oldest)
{
	int64		nsamples;

	LWLockAcquire(shared->lock, LW_SHARED);
	nsamples = shared->nsamples[history];
	*oldest = oldest_sample(history);
	LWLockRelease(shared->lock);
	return (int) (nsamples - *oldest);
}

/* Copies samples by their numbers; those that a reset has removed have no meaning. */
void
pbp_copy_samples(PbpHistory history, int64 first, int nsamples, PbpSample *samples)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < nsamples; i++)
		samples[i] = *sample_at(history, first + i);
	LWLockRelease(shared->lock);
}

/*
 * The newest of samples of before a restart, unless there was a reset since.  While
 * the ring is empty, nobody else reads it or writes to it.
 */
void
pbp_restore_samples(PbpHistory history, const PbpSample *samples, Size nsamples, uint32 resets)
{
	Size		room = Min(nsamples, (Size) ring_size(history));

	memcpy(sample_at(history, 0), samples + (nsamples - room), sizeof(PbpSample) * room);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets)
		shared->nsamples[history] = (int64) room;
	LWLockRelease(shared->lock);
}

/* Likewise. */
void
pbp_restore_hours(const PbpHour *hours, int nhours, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets && shared->nhours == 0)
	{
		memcpy(shared->hours, hours, nhours * sizeof(*hours));
		shared->nhours = nhours;
	}
	LWLockRelease(shared->lock);
}

/* Likewise. */
void
pbp_restore_report(const PbpAdviceReport *report, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets)
		shared->advice_before = *report;
	LWLockRelease(shared->lock);
}

/* When the next sample will have been taken; 0: not before the settings change. */
void
pbp_announce_sample(int64 next_sample_ns)
{
	pg_atomic_write_u64(&shared->next_sample_ns, (uint64) next_sample_ns);
}

/* Discards a sample taken before a reset that the worker has not noticed. */
void
pbp_put_sample(PbpHistory history, const PbpSample *sample, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets)
	{
		*sample_at(history, shared->nsamples[history]) = *sample;
		shared->nsamples[history]++;
	}
	LWLockRelease(shared->lock);
}

/* The place of an hour: its own, or that behind all, which may cost the one that was begun first. */
static PbpHour *
place_of_hour(TimestampTz begins_at)
{
	for (int i = shared->nhours - 1; i >= 0; i--)
		if (shared->hours[i].begins_at == begins_at)
			return &shared->hours[i];
	if (shared->nhours == PBP_HOURS)
		memmove(shared->hours, shared->hours + 1, --shared->nhours * sizeof(PbpHour));
	return &shared->hours[shared->nhours++];
}

/*
 * Likewise, in place of the same hour.  The machine's clock may have been set, for
 * some moments or for good, so no other is discarded because of its time.
 */
void
pbp_put_hour(const PbpHour *hour, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets)
		*place_of_hour(hour->begins_at) = *hour;
	LWLockRelease(shared->lock);
}

/* Likewise.  That of before a restart does not come back once this knows as much. */
void
pbp_put_advice(const PbpAdviceReport *report, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->nresets == resets)
	{
		shared->advice = *report;
		if (!pbp_knows_more(&shared->advice_before, report))
			shared->advice_before.has_memory = false;
	}
	LWLockRelease(shared->lock);
}

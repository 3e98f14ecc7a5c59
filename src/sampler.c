/*-------------------------------------------------------------------------
 *
 * sampler.c
 *	  The background worker that looks at the pool again and again, and what
 *	  it has seen: a ring of samples in shared memory, and the latest advice.
 *
 * Two things happen at different rates.  A scan of the descriptors, several
 * times a turn of the hand, feeds the advice, which must not miss a page that
 * comes and goes.  A sample, once in pgbufprobe.history_interval, goes into the
 * ring.  Between them the worker sleeps for as long as the hand needs to get
 * on, and always long enough to stay within its share of a processor.
 *
 * The method of the advice is advice.c's; it and the pages it remembers are
 * the worker's own, and only what came of it is published.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <time.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "readcost.h"
#include "residency.h"
#include "sampler.h"
#include "serverstats.h"
#include "sweep.h"

#define TRANCHE			"pgbufprobe"

/* four are needed for half the size, eight for a quarter; some are late */
#define SCANS_PER_TURN	10

/*
 * A sleep is at least so long.  It is at most as long as the second says, which
 * is how late the start of a load is noticed; unless the worker has to sleep
 * longer to stay within its share of a processor.
 */
#define MIN_SLEEP_NS	INT64CONST(1000000)
#define MAX_SLEEP_NS	INT64CONST(1000000000)

/* how often the server's counts of accesses are read; sessions publish theirs as often */
#define COUNT_NS		INT64CONST(1000000000)

/* how old published advice is at most while the worker is awake */
#define PUBLISH_NS		INT64CONST(1000000000)

/* how far back the history is asked how fast the hand turns */
#define RATE_SECONDS	300

/* how late a sample may come on a busy machine */
#define GRACE_NS		INT64CONST(5000000000)

/* of the pool; more in the sample would cost time and tell little more */
#define ENOUGH_PAGES	4000.0

/* for as many, and some more; by far the most of it stays untouched */
#define ENOUGH_BYTES	((Size) 4 * 1024 * 1024)

/*
 * Databases are looked for again after so many times what it took, which is
 * tenths of a second where there are millions of tables.
 */
#define FIND_DATABASES_RARELY	1000

/* pages whose names are remembered, to ask the page cache for them */
#define REMEMBERED		512
#define CONSIDERED		64		/* one page of so many, in each scan */
#define PROBES			8		/* at a time */
#define PROBE_HALVED	256		/* probes of a band after which older ones
								 * count half */
#define ENOUGH_PROBES	8		/* of a band */
#define READ_TIMES		31		/* so many reads of late are timed, and */
#define ENOUGH_TIMES	5		/* as few tell how long one takes */

/*
 * Between one lot and the next.  Of each, one block at most is read from
 * storage, and one from the page cache: to read keeps it there.
 */
#define PROBE_NS		INT64CONST(1000000000)
#define AFTER_ERROR_NS	(300 * PROBE_NS)

/* settings; see _PG_init */
bool		pbp_sampler_on = true;
int			pbp_history_interval_ms = 10000;
double		pbp_max_cpu_fraction = 0.01;
int			pbp_history_size = 8640;
int			pbp_advice_memory_kb = -1;

typedef struct SamplerShared
{
	pg_atomic_uint64 next_sample_ns;	/* when one will have been taken, by
										 * pbp_now_ns(); 0: nobody takes any */
	LWLock	   *lock;			/* protects all below */
	int64		ntaken;			/* samples since the ring was emptied */
	uint32		resets;			/* times that this was wanted */
	PbpAdviceReport advice;
	PbpSample	ring[FLEXIBLE_ARRAY_MEMBER];
} SamplerShared;

static SamplerShared *shared = NULL;

/* The postmaster had no room for the worker. */
static bool not_registered = false;

/* Has the postmaster asked the worker to end, which it does at shutdown only? */
static volatile sig_atomic_t server_is_stopping = false;

/* A page of the sample, by name. */
typedef struct RememberedPage
{
	bool		used;
	uint64		key;
	BufferTag	tag;
} RememberedPage;

/* The times that some reads of late took. */
typedef struct ReadTimes
{
	int64		ns[READ_TIMES];
	int64		count;			/* ever */
} ReadTimes;

/* A mean that forgets. */
typedef struct Mean
{
	double		sum;
	double		count;
} Mean;

/* What the worker knows. */
typedef struct Sampler
{
	PbpClock	clock;			/* when last looked at */
	int64		ticks;			/* the same, never wrapping; modulo the pool
								 * it is the hand */
	int64		work_ns;		/* when last awake */
	int64		work_ticks;
	double		ticks_per_ns;	/* not to be underestimated */

	int64		scan_ticks;		/* when last scanned */
	uint64		scans;			/* ever */
	PbpHistogram histogram;		/* then */

	PbpSample	interval;		/* since the last sample */
	int64		sample_ns;
	int64		sample_ticks;	/* -1: none yet */
	int64		sample_allocations;

	PbpDatabases databases;		/* whose accesses are counted */
	int64		find_databases_ns;	/* when to look for others */
	PbpAccessCounts accesses;	/* when last looked at */
	int64		accesses_ns;	/* 0: never */

	MemoryContext advice_context;
	PbpAdvice  *advice;			/* NULL: none is wanted, or there is no memory
								 * for it */
	int			advice_kb;		/* as it was when that was decided */
	TimestampTz advice_since;

	RememberedPage remembered[REMEMBERED];
	int			next_probe;
	int64		probe_ns;
	bool		may_read_storage;	/* in this lot of probes, still */
	bool		may_read_os;	/* likewise */
	int64		publish_ns;
	Mean		in_os_cache[PBP_ADVICE_FACTORS];	/* by band */
	ReadTimes	os_reads;
	ReadTimes	storage_reads;

	int64		cpu_ns;			/* used up to the last sleep */
	uint32		resets;			/* of which it knows */
} Sampler;

/* ---- shared memory ---- */

static Size
shared_bytes(void)
{
	return add_size(offsetof(SamplerShared, ring),
					mul_size(pbp_history_size, sizeof(PbpSample)));
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
		memset(shared, 0, offsetof(SamplerShared, ring));
		pg_atomic_init_u64(&shared->next_sample_ns, 0);
		shared->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
pbp_sampler_register(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "pgbufprobe", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pbp_sampler_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "pgbufprobe sampler", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pgbufprobe sampler", BGW_MAXLEN);
	not_registered = !pbp_register_worker(&worker);
}

/* Has the server no room for the worker?  False in single-user mode. */
bool
pbp_sampler_has_no_slot(void)
{
	return not_registered;
}

bool
pbp_sampler_is_loaded(void)
{
	return shared != NULL;
}

/* ---- what others read ---- */

/* A sample by its number since the ring was emptied. */
static PbpSample *
sample_at(int64 number)
{
	return &shared->ring[number % pbp_history_size];
}

/*
 * Copies of the samples in the ring, oldest first; palloc'd.  The worker waits
 * for that long, and nobody else.
 */
PbpSample *
pbp_history(int *nsamples)
{
	PbpSample  *samples = MemoryContextAllocHuge(CurrentMemoryContext,
												 mul_size(pbp_history_size, sizeof(*samples)));

	LWLockAcquire(shared->lock, LW_SHARED);
	*nsamples = (int) Min(shared->ntaken, pbp_history_size);
	for (int i = 0; i < *nsamples; i++)
		samples[i] = *sample_at(shared->ntaken - *nsamples + i);
	LWLockRelease(shared->lock);
	return samples;
}

/* Is the history about now?  It may be an hour old, by the settings. */
static bool
history_is_current(void)
{
	int64		next_ns = (int64) pg_atomic_read_u64(&shared->next_sample_ns);

	return pbp_sampler_on && next_ns != 0 && pbp_now_ns() <= next_ns + GRACE_NS;
}

/*
 * How far the hand went in the last minutes, by the newest samples and at least
 * one.  False if they do not tell: no worker takes any now, or the newest has
 * none before it.
 *
 * The worker waits for that long, and nobody else.
 */
bool
pbp_history_rate(double *seconds, double *ticks)
{
	int64		oldest;

	*seconds = *ticks = 0;
	if (shared == NULL || !history_is_current())
		return false;

	LWLockAcquire(shared->lock, LW_SHARED);
	oldest = Max(0, shared->ntaken - pbp_history_size);
	for (int64 i = shared->ntaken - 1; i >= oldest && *seconds < RATE_SECONDS; i--)
	{
		const PbpSample *sample = sample_at(i);

		if (sample->elapsed_ns == 0)
			break;
		*seconds += (double) sample->elapsed_ns / 1e9;
		*ticks += (double) sample->new_ticks;
	}
	LWLockRelease(shared->lock);
	return *seconds > 0;
}

/* Empties the ring; the worker begins anew, too, when it is awake next. */
void
pbp_history_reset(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->ntaken = 0;
	shared->resets++;
	memset(&shared->advice, 0, sizeof(shared->advice));
	LWLockRelease(shared->lock);
}

static uint32
count_resets(void)
{
	uint32		resets;

	LWLockAcquire(shared->lock, LW_SHARED);
	resets = shared->resets;
	LWLockRelease(shared->lock);
	return resets;
}

void
pbp_read_advice(PbpAdviceReport *report)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	*report = shared->advice;
	LWLockRelease(shared->lock);
}

/* What was seen before a reset of which the worker does not know yet is not put. */
static void
put_sample(const PbpSample *sample, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->resets == resets)
	{
		*sample_at(shared->ntaken) = *sample;
		shared->ntaken++;
	}
	LWLockRelease(shared->lock);
}

static void
put_advice(const PbpAdviceReport *report, uint32 resets)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (shared->resets == resets)
		shared->advice = *report;
	LWLockRelease(shared->lock);
}

/* ---- means that forget ---- */

static void
add_to_mean(Mean *mean, double value)
{
	if (mean->count >= PROBE_HALVED)
	{
		mean->sum /= 2;
		mean->count /= 2;
	}
	mean->sum += value;
	mean->count++;
}

/* ---- how long a read takes ---- */

static int
compare_times(const void *a, const void *b)
{
	int64		one = *(const int64 *) a;
	int64		other = *(const int64 *) b;

	return (one > other) - (one < other);
}

/*
 * The median, since the reader waits for a processor now and then, and one
 * such time may be longer than all others together.  -1: not known.
 */
static double
usual_time(const ReadTimes *reads)
{
	int			known = (int) Min(reads->count, READ_TIMES);
	int64		sorted[READ_TIMES];

	if (known < ENOUGH_TIMES)
		return -1;
	memcpy(sorted, reads->ns, known * sizeof(int64));
	qsort(sorted, known, sizeof(int64), compare_times);
	return (double) sorted[known / 2];
}

/* ---- the page cache under the pages that another pool would hold ---- */

/*
 * Remember the names of some pages of the sample, and keep them after the
 * pages have been evicted, for as long as it depends on the pool's size
 * whether they are there.  Each scan considers few, since that takes time.
 */
static void
remember_page(Sampler *sampler, uint64 key, const BufferTag *tag)
{
	RememberedPage *page = &sampler->remembered[(key >> 16) % REMEMBERED];

	if ((key + sampler->scans) % CONSIDERED != 0 ||
		(page->used && pbp_advice_band(sampler->advice, page->key) > 0))
		return;
	page->used = true;
	page->key = key;
	page->tag = *tag;
}

/* Time a read of the block, if none from where it is was timed in this lot. */
static void
time_read(Sampler *sampler, const PbpOsFile *file, BlockNumber block, bool cached)
{
	bool	   *may_read = cached ? &sampler->may_read_os : &sampler->may_read_storage;
	ReadTimes  *reads = cached ? &sampler->os_reads : &sampler->storage_reads;
	int64		read_ns;

	if (!*may_read || !pbp_os_time_read(file, block, &read_ns))
		return;
	reads->ns[reads->count++ % READ_TIMES] = read_ns;
	*may_read = false;
	if (!cached)
		pbp_os_drop_block(file, block);
}

/* Look up a page in the page cache.  One whose file does not open is forgotten. */
static void
probe_page(Sampler *sampler, RememberedPage *page)
{
	int			band = pbp_advice_band(sampler->advice, page->key);
	BlockNumber block = page->tag.blockNum % RELSEG_SIZE;
	PbpLocator	locator = pbp_tag_locator(&page->tag);
	PbpOsFile	file;

	page->used = false;
	if (band <= 0 ||
		!pbp_os_open(&locator, pbp_tag_fork(&page->tag),
					 page->tag.blockNum / RELSEG_SIZE, PBP_OS_AUTO, &file) ||
		file.fd < 0)
		return;
	page->used = true;
	if (file.trust == PBP_OS_TRUSTED && (int64) (block + 1) * BLCKSZ <= file.bytes)
	{
		uint8		bitmap[PBP_BITMAP_BYTES(1)];
		PbpOsBlocks blocks;
		bool		cached;

		pbp_os_map(&file, block, 1, bitmap, &blocks);
		cached = blocks.cached > 0;
		add_to_mean(&sampler->in_os_cache[band], cached);
		time_read(sampler, &file, block, cached);
	}
	pbp_os_close(&file);
}

/*
 * Look up some remembered pages in the page cache.  Should that fail, the
 * advice does without it for a while rather than not at all.
 *
 * This needs nothing of a transaction, and one would have the worker take part
 * in recovery conflicts: the replay of DROP TABLESPACE cancels all of them.
 */
static void
probe_pages(Sampler *sampler)
{
	MemoryContext context = CurrentMemoryContext;

	sampler->may_read_storage = sampler->may_read_os = true;
	sampler->probe_ns = pbp_now_ns();
	/* what is known of a file system is asked for again */
	SetCurrentStatementStartTimestamp();
	PG_TRY();
	{
		for (int i = 0; i < PROBES; i++)
		{
			RememberedPage *page = &sampler->remembered[sampler->next_probe];

			sampler->next_probe = (sampler->next_probe + 1) % REMEMBERED;
			if (page->used)
				probe_page(sampler, page);
		}
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		EmitErrorReport();
		FlushErrorState();
		/* closes what is open */
		AtEOXact_Files(false);
		sampler->probe_ns += AFTER_ERROR_NS;
	}
	PG_END_TRY();
}

/* All conditions of looking at the page cache and of reading from files. */
static bool
probe_is_due(const Sampler *sampler)
{
	return pbp_os_cache_on && pbp_now_ns() - sampler->probe_ns >= PROBE_NS;
}

/* ---- advice ---- */

static Size
advice_bytes(void)
{
	if (pbp_advice_memory_kb >= 0)
		return (Size) pbp_advice_memory_kb * 1024;
	return Min((Size) NBuffers * BLCKSZ / 1000, ENOUGH_BYTES);
}

/* Begin to learn, from nothing. */
static void
start_advice(Sampler *sampler)
{
	Size		bytes = advice_bytes();
	void	   *memory;

	MemoryContextReset(sampler->advice_context);
	sampler->advice = NULL;
	sampler->advice_kb = pbp_advice_memory_kb;
	sampler->advice_since = GetCurrentTimestamp();
	sampler->accesses_ns = 0;
	memset(sampler->remembered, 0, sizeof(sampler->remembered));
	memset(sampler->in_os_cache, 0, sizeof(sampler->in_os_cache));
	sampler->os_reads.count = sampler->storage_reads.count = 0;
	if (bytes > 0)
	{
		/* history goes on where there is no memory for that */
		memory = MemoryContextAllocExtended(sampler->advice_context, bytes,
											MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
		if (memory != NULL)
			sampler->advice = pbp_advice_init(memory, bytes, NBuffers,
											  pbp_advice_memory_kb < 0 ? ENOUGH_PAGES / NBuffers : 0,
											  PBP_COUNTS_APART);
		else
			ereport(WARNING,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory for the advice"),
					 errdetail("Failed on request of size %zu.", bytes),
					 errhint("Lower \"pgbufprobe.advice_memory\" and reload the settings.")));
	}
}

/*
 * Share of the reads between today's size and another that the page cache
 * would serve; -1 where that is not known of nine tenths of them: too few pages
 * were looked up of a band, a size between is unknown, or nothing is looked up
 * now.
 */
static double
os_cache_share(const Sampler *sampler, const PbpAdviceReport *report, int factor)
{
	int			from = Min(factor, PBP_ADVICE_TODAY);
	int			to = Max(factor, PBP_ADVICE_TODAY);
	double		reads = report->rows[from].miss_ratio - report->rows[to].miss_ratio;
	double		known = 0;
	double		cached = 0;

	/*
	 * a band holds the pages that its size would have, and the next smaller
	 * not
	 */
	for (int band = from + 1; band <= to; band++)
	{
		const Mean *in_os_cache = &sampler->in_os_cache[band];
		double		saved = report->rows[band - 1].miss_ratio - report->rows[band].miss_ratio;

		if (saved > 0 && in_os_cache->count >= ENOUGH_PROBES)
		{
			known += saved;
			cached += saved * in_os_cache->sum / in_os_cache->count;
		}
	}
	return pbp_os_cache_on && known > 0 && known >= 0.9 * reads ? cached / known : -1;
}

static void
publish_advice(Sampler *sampler)
{
	PbpAdviceReport report = {0};

	report.since = sampler->advice_since;
	report.has_memory = sampler->advice != NULL;
	report.os_read_ns = usual_time(&sampler->os_reads);
	report.storage_read_ns = usual_time(&sampler->storage_reads);
	if (sampler->advice != NULL)
	{
		pbp_advice_totals(sampler->advice, &report.totals);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			pbp_advice_row(sampler->advice, i, &report.rows[i]);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			report.os_cache_share[i] = os_cache_share(sampler, &report, i);
	}
	put_advice(&report, sampler->resets);
}

/* ---- looking ---- */

static int64
cpu_now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
		return 0;
	return (int64) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
look_at_clock(Sampler *sampler)
{
	PbpClock	clock = pbp_read_clock();

	sampler->ticks += pbp_ticks_between(sampler->clock, clock);
	sampler->clock = clock;
}

/*
 * The speed of the hand since the worker was last awake.  It is believed at
 * once when it rises, and by and by when it falls: to look too often is only
 * work, to look too late loses what happened.
 */
static void
estimate_speed(Sampler *sampler)
{
	int64		now_ns = pbp_now_ns();

	if (now_ns > sampler->work_ns)
		sampler->ticks_per_ns = Max(sampler->ticks_per_ns * 0.7,
									(double) (sampler->ticks - sampler->work_ticks) /
									(double) (now_ns - sampler->work_ns));
	sampler->work_ns = now_ns;
	sampler->work_ticks = sampler->ticks;
}

/* Has no count become less, as by a reset of statistics? */
static bool
have_grown(const PbpAdviceCounts *counts)
{
	return counts->hits >= 0 && counts->reads >= 0 && counts->extends >= 0 &&
		counts->ring_reads >= 0 && counts->ring_extends >= 0;
}

/* Pass on to the advice what was counted since the last look. */
static void
look_at_accesses(Sampler *sampler)
{
	int64		start = pbp_now_ns();
	const PbpAccessCounts *before = &sampler->accesses;
	PbpAccessCounts now;
	PbpAdviceCounts counts;

	if (start >= sampler->find_databases_ns)
	{
		pbp_find_databases(&sampler->databases);
		sampler->find_databases_ns = start + FIND_DATABASES_RARELY * (pbp_now_ns() - start);
	}
	now = pbp_access_counts(&sampler->databases);
	counts.hits = now.hits - before->hits;
	counts.reads = now.reads - before->reads;
	counts.extends = now.extends - before->extends;
	counts.ring_reads = now.ring_reads - before->ring_reads;
	counts.ring_extends = now.ring_extends - before->ring_extends;
	if (sampler->accesses_ns != 0 && have_grown(&counts))
		pbp_advice_accesses(sampler->advice, &counts);
	sampler->accesses = now;
	sampler->accesses_ns = pbp_now_ns();
}

static void
visit_page(void *arg, uint64 key, int buffer, int usage, const BufferTag *tag)
{
	Sampler    *sampler = arg;

	pbp_advice_page(sampler->advice, key, buffer, usage, BM_MAX_USAGE_COUNT);
	remember_page(sampler, key, tag);
}

static void
scan_pool(Sampler *sampler)
{
	if (sampler->advice != NULL)
		pbp_advice_begin(sampler->advice, sampler->ticks);
	pbp_sample_pool(&sampler->histogram, sampler->advice, visit_page, sampler);
	look_at_clock(sampler);
	if (sampler->advice != NULL)
		pbp_advice_end(sampler->advice, sampler->ticks);

	sampler->scan_ticks = sampler->ticks;
	sampler->scans++;
	sampler->interval.scans++;
}

/* The pool as the last scan saw it, and what happened since the sample before. */
static void
take_sample(Sampler *sampler)
{
	PbpSample  *sample = &sampler->interval;
	int64		now_ns = pbp_now_ns();
	int64		allocations = pbp_published_allocations();

	sample->taken_at = GetCurrentTimestamp();
	sample->ticks = pbp_ticks(sampler->clock);
	sample->allocations = allocations;
	sample->histogram = sampler->histogram;
	if (sampler->sample_ticks >= 0)
	{
		sample->elapsed_ns = now_ns - sampler->sample_ns;
		sample->new_ticks = sampler->ticks - sampler->sample_ticks;
		/* less than before if somebody has reset the statistics */
		sample->new_allocations = Max(0, allocations - sampler->sample_allocations);
	}
	put_sample(sample, sampler->resets);

	memset(sample, 0, sizeof(*sample));
	sampler->sample_ns = now_ns;
	sampler->sample_ticks = sampler->ticks;
	sampler->sample_allocations = allocations;
}

static int64
history_interval_ns(void)
{
	return (int64) pbp_history_interval_ms * 1000000;
}

/* Ticks between two scans under load. */
static int64
ticks_per_scan(void)
{
	return Max(NBuffers / SCANS_PER_TURN, 1);
}

static bool
sample_is_due(const Sampler *sampler)
{
	return sampler->sample_ticks < 0 ||
		pbp_now_ns() - sampler->sample_ns >= history_interval_ns();
}

/* Also when the hand stands still: a transaction publishes its accesses at its end. */
static bool
count_is_due(const Sampler *sampler)
{
	return sampler->advice != NULL &&
		(sampler->accesses_ns == 0 || pbp_now_ns() - sampler->accesses_ns >= COUNT_NS);
}

static bool
scan_is_due(const Sampler *sampler)
{
	return sampler->advice != NULL &&
		sampler->ticks - sampler->scan_ticks >= ticks_per_scan();
}

static bool
publication_is_due(const Sampler *sampler)
{
	return sampler->advice != NULL && pbp_now_ns() - sampler->publish_ns >= PUBLISH_NS;
}

/* Do what is due. */
static void
work(Sampler *sampler)
{
	bool		samples = sample_is_due(sampler);

	look_at_clock(sampler);
	estimate_speed(sampler);
	if (count_is_due(sampler))
		look_at_accesses(sampler);
	if (samples || scan_is_due(sampler))
		scan_pool(sampler);
	if (publication_is_due(sampler))
	{
		sampler->publish_ns = pbp_now_ns();
		if (probe_is_due(sampler))
			probe_pages(sampler);
		publish_advice(sampler);
	}
	if (samples)
		take_sample(sampler);
}

/*
 * How long to sleep: until the hand has moved on by ticks_per_scan(), if the
 * advice wants that, or a sample is due, and at least until what was used of
 * the processor since the last sleep is the allowed share.
 */
static int64
sleep_ns(Sampler *sampler)
{
	int64		cpu_ns = cpu_now_ns();
	int64		used_ns = cpu_ns - sampler->cpu_ns;
	double		left = (double) (ticks_per_scan() - (sampler->ticks - sampler->scan_ticks));
	int64		sleep = MAX_SLEEP_NS;

	sampler->cpu_ns = cpu_ns;
	sampler->interval.cpu_ns += used_ns;

	if (sampler->advice != NULL && sampler->ticks_per_ns > 0)
		sleep = (int64) Min((double) sleep, Max(left, 0) / sampler->ticks_per_ns);
	sleep = Min(sleep, sampler->sample_ns + history_interval_ns() - pbp_now_ns());
	sleep = Max(sleep, (int64) ((double) used_ns / pbp_max_cpu_fraction));
	return Max(sleep, MIN_SLEEP_NS);
}

/* ---- beginnings ---- */

static void
reload_settings(Sampler *sampler)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	if (sampler->advice_kb != pbp_advice_memory_kb)
	{
		start_advice(sampler);
		publish_advice(sampler);
	}
}

/* Nothing is known of the time before. */
static void
start_looking(Sampler *sampler)
{
	sampler->resets = count_resets();
	sampler->clock = pbp_read_clock();
	sampler->ticks = pbp_ticks(sampler->clock);
	sampler->work_ns = pbp_now_ns();
	sampler->work_ticks = sampler->ticks;
	sampler->ticks_per_ns = 0;
	sampler->sample_ticks = -1;
	sampler->cpu_ns = cpu_now_ns();
	memset(&sampler->interval, 0, sizeof(sampler->interval));
	start_advice(sampler);
	publish_advice(sampler);
}

/* ---- the worker ---- */

/*
 * SIGTERM comes from the postmaster when the server shuts down, and else from
 * somebody who wants this worker to end, such as pg_terminate_backend().
 */
static void
handle_termination(int signo pg_attribute_unused(), siginfo_t *info,
				   void *context pg_attribute_unused())
{
	int			save_errno = errno;

	if (info->si_pid == PostmasterPid)
		server_is_stopping = true;
	ShutdownRequestPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

static void
install_termination_handler(void)
{
	struct sigaction action = {.sa_sigaction = handle_termination,.sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGTERM, &action, NULL) != 0)
		elog(FATAL, "could not install signal handler: %m");
}

/*
 * To be called often, and by nobody who holds a lock.  The postmaster starts no
 * worker again that has ended by 0, and logs the end of one that has not.
 */
static void
check_interrupts(void)
{
	if (ShutdownRequestPending)
		proc_exit(server_is_stopping ? 0 : 1);
	CHECK_FOR_INTERRUPTS();
}

static void
wait_for_latch(int64 timeout_ns)
{
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (timeout_ns >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, (long) ((timeout_ns + 999999) / 1000000), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	check_interrupts();
}

/* Sleep through, but for a reload of the settings. */
static void
sleep_for(const Sampler *sampler, int64 duration_ns)
{
	int64		end_ns = pbp_now_ns() + duration_ns;
	int64		left_ns;

	pg_atomic_write_u64(&shared->next_sample_ns,
						(uint64) Max(end_ns, sampler->sample_ns + history_interval_ns()));
	while (!ConfigReloadPending && (left_ns = end_ns - pbp_now_ns()) > 0)
		wait_for_latch(left_ns);
}

/* Wait until the settings want a sampler. */
static void
wait_while_off(Sampler *sampler)
{
	pg_atomic_write_u64(&shared->next_sample_ns, 0);
	while (!pbp_sampler_on)
	{
		while (!ConfigReloadPending)
			wait_for_latch(-1);
		reload_settings(sampler);
	}
	start_looking(sampler);
}

static Sampler *
create_sampler(void)
{
	Sampler    *sampler = MemoryContextAllocZero(TopMemoryContext, sizeof(Sampler));

	sampler->advice_context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe advice",
													ALLOCSET_DEFAULT_SIZES);
	return sampler;
}

void
pbp_sampler_main(Datum arg pg_attribute_unused())
{
	Sampler    *sampler;
	MemoryContext round_context;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	install_termination_handler();
	/* a cancel would end it and lose what it has learned */
	pbp_ignore_signal(SIGINT);
	BackgroundWorkerUnblockSignals();
	/* to no database, so that none of them is kept from being dropped */
	BackgroundWorkerInitializeConnectionByOid(InvalidOid, InvalidOid, 0);
	/* whatever sessions want: a look at two counts must not copy all of them */
	SetConfigOption("stats_fetch_consistency", "none", PGC_SUSET, PGC_S_OVERRIDE);
	pbp_advice_check_interrupts = check_interrupts;

	sampler = create_sampler();
	round_context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe sampler",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);
	start_looking(sampler);
	for (;;)
	{
		check_interrupts();
		if (!pbp_sampler_on)
			wait_while_off(sampler);
		if (sampler->resets != count_resets())
			start_looking(sampler);
		work(sampler);
		MemoryContextReset(round_context);
		sleep_for(sampler, sleep_ns(sampler));
		if (ConfigReloadPending)
			reload_settings(sampler);
	}
}

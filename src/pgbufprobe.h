/*-------------------------------------------------------------------------
 *
 * pgbufprobe.h
 *	  What each engine offers, grouped by the file that defines it.
 *
 * Plain structs and functions only.  No engine sees fcinfo, a Datum or a
 * tuple; the SQL face, pgbufprobe.c, never touches a buffer descriptor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGBUFPROBE_H
#define PGBUFPROBE_H

#include "advice.h"
#include "compat.h"
#include "latency.h"
#include "oscache.h"

/* buffers between two checks for interrupts, a fraction of a millisecond */
#define PBP_BUFFERS_PER_CHECK	16384

/* usage counts 0 .. BM_MAX_USAGE_COUNT */
#define PBP_USAGE_LEVELS	(BM_MAX_USAGE_COUNT + 1)

/* ---- src/descriptors.c: full scans of the buffer descriptors ---- */

typedef struct PbpBufferCount
{
	int64		buffers;
	int64		dirty;
	int64		pinned;
} PbpBufferCount;

typedef struct PbpHistogram
{
	PbpBufferCount unused;		/* holds no valid page */
	PbpBufferCount usage[PBP_USAGE_LEVELS];
} PbpHistogram;

typedef struct PbpRelationCount
{
	PbpLocator	locator;
	ForkNumber	fork;
	int64		dirty;
	int64		pinned;
	int64		stay_sum;		/* ticks of the hand until each is taken */
	int64		stay_min;
	int64		stay_max;
	int64		usage[PBP_USAGE_LEVELS];	/* buffers at each usage count */
} PbpRelationCount;

typedef enum PbpScanMethod
{
	PBP_SCAN_READ,
	PBP_SCAN_LOCK,
	PBP_SCAN_MATCH
} PbpScanMethod;

#define PBP_SCAN_METHODS	(PBP_SCAN_MATCH + 1)

typedef struct PbpScanCost
{
	int64		matched;		/* of the last round; -1 if nothing is sought */
	int64		sum_ns;
	int64		min_ns;
	int64		max_ns;
} PbpScanCost;

static inline bool
pbp_holds_page(PbpBufState state)
{
	return (state & (BM_VALID | BM_TAG_VALID)) == (BM_VALID | BM_TAG_VALID);
}

/* Called for each page of a sample. */
typedef void (*PbpPageVisitor) (void *arg, uint64 key, int buffer, int usage,
								const BufferTag *tag);

extern bool pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag);
extern void pbp_histogram(PbpHistogram *histogram);
extern void pbp_sample_pool(PbpHistogram *histogram, const PbpAdvice *advice,
							PbpPageVisitor visit, void *arg);
extern void pbp_relation_histogram(const PbpLocator *locator,
								   PbpHistogram *histogram);
extern PbpRelationCount *pbp_count_relations(int *nrelations);
extern void pbp_scan_cost(PbpScanMethod method, int first, int end, int rounds,
						  PbpScanCost *cost);

/* ---- src/sweep.c: the clock sweep and its hand ---- */

typedef enum PbpScenario
{
	PBP_CURRENT,
	PBP_WORST,
	PBP_LIVE
} PbpScenario;

#define PBP_SCENARIOS		(PBP_LIVE + 1)

/* What to time. */
typedef struct PbpSweepPlan
{
	PbpScenario scenario;
	int			victims;
	int64		max_inspected;	/* buffers; a replay stops there */
	int			start;			/* a replay's hand begins so far ahead */
} PbpSweepPlan;

typedef struct PbpSweepCost
{
	PbpLatency	latency;		/* of every search */
	int64		victims;		/* that were found */
	bool		stopped;		/* by max_inspected, within a search */
	int64		sweeps;			/* searches that moved the hand */
	double		sweep_ns;		/* their time, that of the last one too */
	int64		inspected;		/* buffers the hand passed */
	int64		inspected_max;	/* by one search */
	int64		from_freelist;	/* victims taken without moving the hand */
	int64		skipped_pinned;
	int64		dirty_victims;
} PbpSweepCost;

typedef struct PbpClock
{
	uint32		passes;			/* the server's counter, which wraps */
	int			hand;			/* buffer that is inspected next */
} PbpClock;

extern void pbp_sweep_cost(const PbpSweepPlan *plan, PbpSweepCost *cost);
extern PbpClock pbp_read_clock(void);
extern int64 pbp_ticks(PbpClock clock);
extern int64 pbp_ticks_between(PbpClock from, PbpClock to);

/* ---- src/poolindex.c: which blocks of which files are in shared buffers ---- */

typedef struct PbpPoolIndex PbpPoolIndex;

extern PbpPoolIndex *pbp_pool_index(const PbpLocator *only);
extern int64 pbp_pool_blocks(const PbpPoolIndex *index,
							 const PbpLocator *locator, ForkNumber fork,
							 int segment, uint8 *bitmap, int64 nblocks);
extern void pbp_pool_index_free(PbpPoolIndex *index);

/* ---- src/residency.c: two caches compared block by block ---- */

typedef struct PbpResidency
{
	int64		blocks;
	int64		shared;			/* all that are in shared buffers */
	int64		shared_dirty;
	PbpOsMethod method;
	char	   *unreadable;		/* path of the first segment that could not be
								 * opened, NULL if all could; palloc'd */
	int			error;			/* why, an errno */
	PbpOsTrust	trust;			/* of the counts below */
	int64		os;				/* all that are in the page cache, whole */
	int64		os_partial;		/* in part */
	int64		both;
} PbpResidency;

typedef struct PbpResidencyBucket
{
	int64		shared;
	int64		os;
	int64		both;
} PbpResidencyBucket;

/* A sample of the pool's pages, looked up in the page cache. */
typedef struct PbpDuplicates
{
	int64		sampled;
	int64		cached;			/* of them, in the page cache, too */
	bool		complete;		/* each page of the pool was looked up */
	PbpOsTrust	trust;			/* of the last page that could not be */
} PbpDuplicates;

/* The range that a block is in, and the first block of a range. */
static inline int
pbp_bucket_of(int64 block, int64 nblocks, int nbuckets)
{
	return (int) (block * nbuckets / nblocks);
}

static inline int64
pbp_bucket_start(int bucket, int64 nblocks, int nbuckets)
{
	return (bucket * nblocks + nbuckets - 1) / nbuckets;
}

extern bool pbp_residency(const PbpPoolIndex *index, const PbpLocator *locator,
						  ForkNumber fork, PbpResidency *residency);
extern PbpOsTrust pbp_residency_map(const PbpPoolIndex *index,
									const PbpLocator *locator,
									ForkNumber fork, int64 nblocks,
									int nbuckets, PbpResidencyBucket *buckets);

extern void pbp_sample_duplicates(int npages, int64 max_ns, PbpDuplicates *duplicates);

/* ---- src/readcost.c: reads by the level of the cache that serves them ---- */

typedef enum PbpTier
{
	PBP_SHARED_BUFFERS,
	PBP_OS_CACHE,
	PBP_STORAGE,
	PBP_UNKNOWN_TIER			/* one of the last two, but who knows which */
} PbpTier;

#define PBP_TIERS			(PBP_UNKNOWN_TIER + 1)

typedef struct PbpReadCost
{
	PbpLatency	tiers[PBP_TIERS];
	PbpOsTrust	trust;
} PbpReadCost;

extern void pbp_read_cost(Relation relation, ForkNumber fork, int samples,
						  PbpReadCost *cost);

/* ---- src/sampler.c: the worker that looks again and again ---- */

/* The pool at one time, and what happened since the sample before. */
typedef struct PbpSample
{
	TimestampTz taken_at;
	int64		ticks;			/* where the hand stood, since server start */
	int64		allocations;	/* as published, since server start */
	PbpHistogram histogram;
	int64		elapsed_ns;		/* 0: there was no sample before */
	int64		new_ticks;
	int64		new_allocations;
	int64		scans;
	int64		cpu_ns;			/* that the worker used */
} PbpSample;

typedef struct PbpAdviceReport
{
	TimestampTz since;			/* when it began to learn; 0: it never did */
	bool		has_memory;		/* for the method */
	PbpAdviceTotals totals;
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];

	/*
	 * of reads more or fewer than today's, what the page cache serves; -1:
	 * unknown
	 */
	double		os_cache_share[PBP_ADVICE_FACTORS];
	double		os_read_ns;		/* -1 here and below: unknown */
	double		storage_read_ns;
} PbpAdviceReport;

/* settings, which _PG_init() defines */
extern bool pbp_sampler_on;
extern int	pbp_sample_interval_ms;
extern double pbp_max_cpu_fraction;
extern int	pbp_history_samples;
extern int	pbp_advice_memory_kb;	/* -1: a thousandth of the pool */

extern void pbp_sampler_request_shared(void);
extern void pbp_sampler_init_shared(void);
extern void pbp_sampler_register(void);
extern bool pbp_sampler_is_loaded(void);
extern bool pbp_sampler_has_no_slot(void);
extern PbpSample *pbp_history(int *nsamples);
extern bool pbp_history_rate(double *seconds, double *ticks);
extern void pbp_history_reset(void);
extern void pbp_read_advice(PbpAdviceReport *report);
extern PGDLLEXPORT void pbp_sampler_main(Datum arg);

#endif							/* PGBUFPROBE_H */

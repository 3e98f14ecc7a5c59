/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The buffer pool: scans of its descriptors, of all of them or of a random
 *	  sample; the clock sweep and its hand; and what the server's own statistics
 *	  count of it.
 *
 * "nread" is the size of a sample.  If it is the number of all items, every one
 * is read, the estimate is the count, and its error is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POOL_H
#define PBP_POOL_H

#include "datatype/timestamp.h"

#include "base/compat.h"
#include "base/latency.h"

/* ---- in descriptors.c ---- */

/* buffers between two checks for interrupts, a fraction of a millisecond */
#define PBP_BUFFERS_PER_CHECK	16384

/* The number of descriptors that are prefetched into the caches. */
#define PBP_FETCHED_AHEAD	16

/* Draws a random sample of some items, none of them twice. */
typedef struct PbpDraw
{
	int			nread;
	int			nitems;
	int			ndrawn;			/* so far */
	int			nlarger;		/* parts to come that have one item more */
	int			shift;			/* where the first part begins */
	int			start;			/* of the next part, behind that */
} PbpDraw;

/* Goes through a sample of the pool, range by range. */
typedef struct PbpWalk
{
	int			first;			/* the current range */
	int			end;			/* the buffer behind it */

	PbpDraw		draw;
	int			nwalked;
	int			drawn[PBP_FETCHED_AHEAD];
} PbpWalk;

/* Scales counts so that they add up to their scaled sum. */
typedef struct PbpScale
{
	int			nread;
	int64		nitems;
	int64		counted;		/* sum of the counts so far */
	int64		scaled;			/* sum of the results so far */
} PbpScale;

/* usage counts 0 .. BM_MAX_USAGE_COUNT */
#define PBP_USAGE_LEVELS	(BM_MAX_USAGE_COUNT + 1)

/* In one pool. */
typedef struct PbpBufferCount
{
	int			buffers;
	int			dirty;
	int			pinned;
} PbpBufferCount;

typedef struct PbpHistogram
{
	int			nread;			/* buffers; if not all, the counts are estimates */
	PbpBufferCount unused;		/* holds no valid page */
	PbpBufferCount usage[PBP_USAGE_LEVELS];
} PbpHistogram;

/* What a buffer held at one instant. */
typedef struct PbpPage
{
	int			buffer;
	PbpBufState state;
	BufferTag	tag;
} PbpPage;

/* What a count begins with identifies it. */
typedef struct PbpRelationCount
{
	PbpLocator	locator;
	ForkNumber	fork;
	int64		dirty;
	int64		usage[PBP_USAGE_LEVELS];	/* buffers at each usage count */
	int64		buffers;		/* their sum */
	int64		buffers_error;
	double		stay;			/* ticks of the hand until a page is evicted,
								 * on average */
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
	int64		matched;		/* by the last round; -1 if it does not search */
	int			nread;			/* buffers scanned in each round */
	double		min_ms;			/* of a scan of the whole pool, by the fastest round */
	double		max_ms;			/* and by the slowest */
} PbpScanCost;

static inline bool
pbp_holds_page(PbpBufState state)
{
	return (state & (BM_VALID | BM_TAG_VALID)) == (BM_VALID | BM_TAG_VALID);
}

extern void pbp_draw_begin(PbpDraw *draw, int nread, int nitems);
extern int	pbp_draw_next(PbpDraw *draw);
extern void pbp_walk_begin(PbpWalk *walk, int nread);
extern int64 pbp_scale_next(PbpScale *scale, int64 count);
extern int64 pbp_estimate_error(double nread, int64 nitems, int64 estimate);

extern bool pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag);
extern bool pbp_walk_page(PbpWalk *walk, const PbpLocator *only, PbpPage *page);
extern BufferDesc *pbp_pool_find(const BufferTag *tag, PbpBufState *state);
extern bool pbp_pool_lookup(const PbpLocator *locator, ForkNumber fork, BlockNumber block);
extern PbpHistogram pbp_histogram(const PbpLocator *only, int nread);
extern int64 pbp_histogram_buffers(const PbpHistogram *histogram);
extern PbpRelationCount *pbp_count_relations(int nread, int *nrelations);
extern PbpScanCost pbp_scan_cost(PbpScanMethod method, int nread, int rounds);

/* ---- in sweep.c ---- */

typedef enum PbpScenario
{
	PBP_CURRENT,
	PBP_WORST,
	PBP_LIVE
} PbpScenario;

#define PBP_SCENARIOS		(PBP_LIVE + 1)

/* The searches to time. */
typedef struct PbpSweepPlan
{
	PbpScenario scenario;
	int			victims;
	int64		max_inspected;	/* a replay stops after this number of buffers */
	int			start;			/* distance of a replay's hand ahead of the
								 * server's */
} PbpSweepPlan;

typedef struct PbpSweepCost
{
	PbpLatency	latency;		/* of every search that found a victim */
	int64		victims;		/* that were found */
	bool		stopped;		/* within a search, by max_inspected */
	int64		sweeps;			/* searches that moved the hand */
	double		sweep_ns;		/* their time, of a stopped one too */
	int64		inspected;		/* buffers that the hand passed */
	int64		from_freelist;	/* victims found without moving the hand */
	int64		dirty_victims;
} PbpSweepCost;

typedef struct PbpClock
{
	uint32		passes;			/* the server's counter, which wraps */
	int			hand;			/* the next buffer to be inspected */
} PbpClock;

/* How far the clock hand moved in a time. */
typedef struct PbpClockRate
{
	double		seconds;
	double		ticks;
	double		cpu_seconds;	/* that the sampler took meanwhile */
} PbpClockRate;

extern void pbp_sweep_cost(const PbpSweepPlan *plan, PbpSweepCost *cost);
extern PbpClock pbp_read_clock(void);
extern int64 pbp_ticks(PbpClock clock);
extern bool pbp_has_evicted(void);
extern int64 pbp_ticks_between(PbpClock from, PbpClock to);
extern PbpClockRate pbp_watch_clock(int64 duration_ms);
extern void pbp_map_descriptors(int first, int end);

/* ---- in serverstats.c ---- */

/* What the background writer has published since its statistics were reset. */
typedef struct PbpPublished
{
	int64		allocations;
	TimestampTz reset_at;		/* 0: never */
} PbpPublished;

/*
 * Accesses to blocks since the server started or its statistics were reset.
 * Without PBP_COUNTS_APART, "reads" has all of them but the hits.
 */
typedef struct PbpAccessCounts
{
	int64		hits;
	int64		reads;
	int64		extends;		/* blocks added to relations */
	int64		ring_reads;		/* through rings: scans, vacuum, COPY */
	int64		scan_reads;		/* of these, by large scans */
	int64		scan_hits;		/* by large scans; 0 without PBP_COUNTS_APART, like the next one */
	int64		scan_reuses;	/* buffers of rings that their scans used again */
	int64		ring_extends;
	int64		read_us;		/* that "reads" took; these three need track_io_timing */
	int64		scan_us;		/* that "scan_reads" took; 0 without PBP_COUNTS_APART */
	int64		write_us;		/* that sessions wrote; 0 without PBP_COUNTS_APART */
	int64		active_us;		/* that sessions were active; of a pipeline of
								 * statements, the last one */
} PbpAccessCounts;

/* A table of which scans have read much, by its statistics. */
typedef struct PbpScannedTable
{
	Oid			database;
	Oid			table;
	/* ever, when last counted */
	int64		fetched;		/* blocks */
	int64		hits;			/* of these */
	int64		by_index;		/* rows that a bitmap has found; some share blocks */
	int64		by_scans;		/* rows */
	int64		changed;		/* rows */

	double		npages;			/* that a scan reads; 0: unknown */
	int64		scanned;		/* blocks that scans have read since it was found */
	double		rows_lately;	/* or blocks, that scans did not ask for; decays */
	PbpLocator	file;			/* InvalidOid: unknown */
	BlockNumber most_pages;		/* of that file; 0: unknown */
	int64		asked_ns;		/* when its file was asked for; 0: never */
} PbpScannedTable;

#define PBP_SCANNED_TABLES	32

/* What has statistics of its own that are read again and again. */
typedef struct PbpCounted
{
	Oid		   *databases;		/* InvalidOid: relations shared by all databases */
	int			ndatabases;
	int			max_databases;
	double		reads_lately;	/* of what scans do not read, with new pages; decays as rows do */
	int			ntables;
	PbpScannedTable tables[PBP_SCANNED_TABLES]; /* of which scans have read the most, ever */
} PbpCounted;

/* Blocks of tables that scans have read through a ring. */
typedef struct PbpScannedBlocks
{
	int64		hits;
	int64		reads;
	int64		alone_hits;		/* of both, of tables that hardly anything else reads */
	int64		alone_reads;
	int64		skipped;		/* reads that were not simulated */
} PbpScannedBlocks;

extern PbpPublished pbp_read_published(void);
extern void pbp_find_counted(PbpCounted *counted);
extern PbpAccessCounts pbp_access_counts(const PbpCounted *counted);
extern PbpScannedBlocks pbp_count_scans(PbpScannedTable *table);
extern bool pbp_needs_ring(const PbpScannedTable *table);
extern void pbp_count_reads_beside_scans(PbpCounted *counted, double reads);
extern bool pbp_is_scanned_alone(const PbpCounted *counted, const PbpScannedTable *table);

#endif							/* PBP_POOL_H */

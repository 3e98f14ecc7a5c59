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

#include "compat.h"
#include "latency.h"

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

extern void pbp_histogram(PbpHistogram *histogram);
extern void pbp_relation_histogram(const PbpLocator *locator,
								   PbpHistogram *histogram);
extern PbpRelationCount *pbp_count_relations(int *nrelations);
extern void pbp_scan_cost(PbpScanMethod method, int rounds, PbpScanCost *cost);

/* ---- src/sweep.c: the clock sweep and its hand ---- */

typedef enum PbpScenario
{
	PBP_CURRENT,
	PBP_WORST,
	PBP_LIVE
} PbpScenario;

#define PBP_SCENARIOS		(PBP_LIVE + 1)

typedef struct PbpSweepCost
{
	PbpLatency	latency;		/* of every search */
	int64		sweep_ns;		/* time of the searches that moved the hand */
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

extern void pbp_sweep_cost(PbpScenario scenario, int victims,
						   PbpSweepCost *cost);
extern PbpClock pbp_read_clock(void);
extern int64 pbp_ticks(PbpClock clock);
extern int64 pbp_ticks_between(PbpClock from, PbpClock to);

#endif							/* PGBUFPROBE_H */

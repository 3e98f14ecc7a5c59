/*-------------------------------------------------------------------------
 *
 * descriptors.h
 *	  Scans of the buffer descriptors, of all of them or of a random sample.
 *
 * Offers histograms of usage counts, buffers of each relation, and the cost of
 * scans; and random samples of other items, with estimates and their errors.
 *
 * "nread" is the size of the sample.  If it is the number of all items, every
 * one is read, the estimate is the count, and its error is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DESCRIPTORS_H
#define PBP_DESCRIPTORS_H

#include "base/compat.h"

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
	int64		min_ns;
	int64		max_ns;
} PbpScanCost;

static inline bool
pbp_holds_page(PbpBufState state)
{
	return (state & (BM_VALID | BM_TAG_VALID)) == (BM_VALID | BM_TAG_VALID);
}

extern void pbp_draw_begin(PbpDraw *draw, int nread, int nitems);
extern int	pbp_draw_next(PbpDraw *draw);
extern void pbp_walk_begin(PbpWalk *walk, int nread);
extern bool pbp_walk_next(PbpWalk *walk);

extern int64 pbp_scaled(const PbpScale *scale, int64 count);
extern int64 pbp_scale_next(PbpScale *scale, int64 count);
extern int64 pbp_estimate_error(double nread, int64 nitems, int64 estimate);

extern bool pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag);
extern bool pbp_walk_page(PbpWalk *walk, const PbpLocator *only, PbpPage *page);
extern BufferDesc *pbp_pool_find(const BufferTag *tag, PbpBufState *state);
extern bool pbp_pool_lookup(const PbpLocator *locator, ForkNumber fork, BlockNumber block);
extern void pbp_histogram(const PbpLocator *only, int nread, PbpHistogram *histogram);
extern int64 pbp_histogram_buffers(const PbpHistogram *histogram);
extern PbpRelationCount *pbp_count_relations(int nread, int *nrelations);
extern void pbp_scan_cost(PbpScanMethod method, int nread, int rounds, PbpScanCost *cost);

#endif							/* PBP_DESCRIPTORS_H */

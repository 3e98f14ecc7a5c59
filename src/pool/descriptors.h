/*-------------------------------------------------------------------------
 *
 * descriptors.h
 *	  Scans of the buffer descriptors.
 *
 * Offers histograms of usage counts, buffers of each relation, and the cost of
 * scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DESCRIPTORS_H
#define PBP_DESCRIPTORS_H

#include "base/compat.h"
#include "pool/estimate.h"

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

extern bool pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag);
extern bool pbp_walk_page(PbpWalk *walk, const PbpLocator *only, PbpPage *page);
extern void pbp_histogram(const PbpLocator *only, int nread, PbpHistogram *histogram);
extern int64 pbp_histogram_buffers(const PbpHistogram *histogram);
extern PbpRelationCount *pbp_count_relations(int nread, int *nrelations);
extern void pbp_scan_cost(PbpScanMethod method, int nread, int rounds, PbpScanCost *cost);

#endif							/* PBP_DESCRIPTORS_H */

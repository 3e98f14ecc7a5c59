/*-------------------------------------------------------------------------
 *
 * descriptors.h
 *	  Full scans of the buffer descriptors.
 *
 * Offers histograms of usage counts, buffers of each relation, a sample of the
 * pool's pages for the advice, and the cost of scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DESCRIPTORS_H
#define PBP_DESCRIPTORS_H

#include "advice.h"
#include "compat.h"

/* buffers between two checks for interrupts, a fraction of a millisecond */
#define PBP_BUFFERS_PER_CHECK	16384

/* usage counts 0 .. BM_MAX_USAGE_COUNT */
#define PBP_USAGE_LEVELS	(BM_MAX_USAGE_COUNT + 1)

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
	int64		stay_sum;		/* ticks of the hand until each is evicted */
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
	int64		matched;		/* by the last round; -1 if it does not search */
	int64		sum_ns;
	int64		min_ns;
	int64		max_ns;
} PbpScanCost;

static inline bool
pbp_holds_page(PbpBufState state)
{
	return (state & (BM_VALID | BM_TAG_VALID)) == (BM_VALID | BM_TAG_VALID);
}

/* Receives each page of a sample. */
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

#endif							/* PBP_DESCRIPTORS_H */

/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  Miss ratio at other sizes of the buffer pool, from periodic scans of
 *	  what it holds.
 *
 * Pure arithmetic: needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ADVICE_H
#define PBP_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes that are told, as multiples of today's. */
#define PBP_ADVICE_FACTORS	11
#define PBP_ADVICE_TODAY	5	/* the one that is 1 */

/* Why a size's miss ratio is told, or not. */
typedef enum PbpAdviceReason
{
	PBP_ADVICE_KNOWN,
	PBP_ADVICE_NOTHING_EVICTED, /* the hand has not been round: nothing ages */
	PBP_ADVICE_LEARNING,		/* not yet seen enough of what such a size
								 * holds */
	PBP_ADVICE_LITTLE_EVIDENCE, /* the sample is too small for a figure */
	PBP_ADVICE_RARE_SCANS,		/* too much happens between two scans */
	PBP_ADVICE_FAST_HAND,		/* too much would, in so small a pool */
	PBP_ADVICE_UNPUBLISHED,		/* the server has counted no access */
	PBP_ADVICE_UNCOUNTED,		/* pages come that the server did not count as
								 * read */
	PBP_ADVICE_UNSEEN,			/* scans met hardly any of the pages that the
								 * server counted as read */
	PBP_ADVICE_SATURATED		/* most counts are at the maximum, which hides
								 * use */
} PbpAdviceReason;

typedef struct PbpAdviceRow
{
	double		factor;
	double		miss_ratio;		/* NaN where unknown */
	double		uncertainty;	/* half the width of a 95 % interval; NaN
								 * where unknown */
	PbpAdviceReason reason;
} PbpAdviceRow;

/*
 * Blocks that the server was asked for, by its own count.  Those that it was
 * asked for through rings are apart where it counts them apart, and else among
 * the others.
 */
typedef struct PbpAdviceCounts
{
	int64_t		hits;
	int64_t		reads;
	int64_t		extends;		/* new blocks, which are in the pool unread */
	int64_t		ring_reads;
	int64_t		ring_extends;
} PbpAdviceCounts;

/*
 * What was counted.  Those of type double decay; loads are of sampled pages, so
 * divide by the rate to compare them with the server's counts.
 */
typedef struct PbpAdviceTotals
{
	double		accesses;		/* hits and reads, not through rings */
	double		reads;
	double		extends;
	double		ring_reads;
	double		ring_extends;
	double		loads;			/* sampled pages that came into the pool */
	double		new_loads;		/* of these, never met before */
	double		self_error;		/* loads / rate / (reads + extends) - 1; NaN
								 * without any */
	double		scans_per_turn; /* NaN while the hand stands still */
	int64_t		sampled_loads;	/* loads since the beginning, not decayed */
	int64_t		scans;
	int64_t		gaps;			/* times that knowledge was lost */
	int64_t		dropped;		/* pages that found no room */
} PbpAdviceTotals;

/*
 * The beginning of the caller's block of memory, for the inline function; the
 * rest of the block is advice.c's.  Nothing in it points anywhere, so it may
 * lie in shared memory.
 */
typedef struct PbpAdvice
{
	uint64_t	threshold;		/* keys up to this one are sampled */
} PbpAdvice;

/*
 * Is this page in the sample?  The key is a well-mixed 64-bit hash of the
 * page's tag; this runs for each buffer of each scan.
 */
static inline bool
pbp_advice_sampled(const PbpAdvice *advice, uint64_t key)
{
	return key <= advice->threshold;
}

/* Called every few thousand pages, unless NULL; need not return. */
extern void (*pbp_advice_check_interrupts) (void);

extern double pbp_advice_factor(int i);
extern PbpAdvice *pbp_advice_init(void *memory, size_t bytes, int nbuffers, double rate_limit,
								  bool rings_apart);
extern double pbp_advice_rate(const PbpAdvice *advice);
extern void pbp_advice_begin(PbpAdvice *advice, int64_t ticks);
extern void pbp_advice_page(PbpAdvice *advice, uint64_t key, int buffer, int usage, int usage_max);
extern void pbp_advice_end(PbpAdvice *advice, int64_t ticks);
extern void pbp_advice_accesses(PbpAdvice *advice, const PbpAdviceCounts *counts);
extern void pbp_advice_gap(PbpAdvice *advice);
extern void pbp_advice_row(const PbpAdvice *advice, int i, PbpAdviceRow *row);
extern void pbp_advice_totals(const PbpAdvice *advice, PbpAdviceTotals *totals);
extern int	pbp_advice_band(const PbpAdvice *advice, uint64_t key);

#endif							/* PBP_ADVICE_H */

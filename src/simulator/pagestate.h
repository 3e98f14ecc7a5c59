/*-------------------------------------------------------------------------
 *
 * pagestate.h
 *	  What the advice remembers of one page, in 64 bits, and its accessors.
 *
 * Packed, the same memory holds a sample that is larger by a fifth, and one
 * addition raises the usage counts of all simulated pools.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PAGESTATE_H
#define PBP_PAGESTATE_H

#include "simulator/simulator.h"

#define COUNT_BITS			4
#define ABSENT				UINT64_C(15)	/* the page is not in that pool */
#define EVICTED				UINT64_C(8)	/* likewise: plus the phase of its eviction */
#define PHASES				7
#define USAGE_LIMIT			7	/* leaves the highest bit to ABSENT and sums */
#define ALL_ABSENT			((UINT64_C(1) << (COUNT_BITS * PBP_ADVICE_FACTORS)) - 1)
#define EACH_SIZE			(ALL_ABSENT / ABSENT)	/* 1 in each count */

#define LEVEL_BITS			6
#define LOOK_BITS			8

/*
 * The number of the look wraps around, so it is cleared when a look does not
 * meet the page any more.
 */
typedef struct PageState
{
	uint64_t	counts:COUNT_BITS * PBP_ADVICE_FACTORS; /* usage in each
														 * simulated pool */
	uint64_t	usage:COUNT_BITS;	/* in the real pool, at the last look */
	uint64_t	level:LEVEL_BITS;	/* of its uses in a pass of the hand */
	uint64_t	used:1;			/* since knowledge was lost */
	uint64_t	dirty:1;		/* in the real pool, when last observed */
	uint64_t	look:LOOK_BITS; /* the last one, if it met the page; or 0 */
} PageState;

_Static_assert(sizeof(PageState) == sizeof(uint64_t), "the state of a page has 64 bits");

static inline unsigned
count_in_pool(PageState state, int size)
{
	return (unsigned) ((uint64_t) state.counts >> (COUNT_BITS * size) & ABSENT);
}

static inline void
set_count_in_pool(PageState *state, int size, uint64_t count)
{
	uint64_t	counts = state->counts;

	counts &= ~(ABSENT << (COUNT_BITS * size));
	state->counts = counts | count << (COUNT_BITS * size);
}

/* The sizes whose pool is without the page: the lowest bit of each count. */
static inline uint64_t
absent_sizes(PageState state)
{
	return (uint64_t) state.counts >> (COUNT_BITS - 1) & EACH_SIZE;
}

static inline uint64_t
size_bit(int size)
{
	return UINT64_C(1) << (COUNT_BITS * size);
}

static inline bool
is_absent(uint64_t absent, int size)
{
	return absent >> (COUNT_BITS * size) & 1;
}

/* As if what happens at some sizes were what happens today. */
static inline uint64_t
as_today(uint64_t absent, uint64_t sizes)
{
	return is_absent(absent, PBP_ADVICE_BASELINE) ? absent | sizes : absent & ~sizes;
}

static inline bool
absent_everywhere(PageState state)
{
	return absent_sizes(state) == EACH_SIZE;
}

/*
 * How many phases of evictions have begun since this pool evicted the page, by
 * the number of the phase now; PHASES: it is not known to have done so.  Wraps
 * around.
 */
static inline unsigned
phases_absent(PageState state, int size, uint64_t phase)
{
	unsigned	count = count_in_pool(state, size);

	return count == ABSENT ? PHASES : (unsigned) ((phase + PHASES - (count - EVICTED)) % PHASES);
}

static inline unsigned
look_field(uint64_t look)
{
	return 1 + (unsigned) (look % ((1 << LOOK_BITS) - 1));
}

static inline bool
met_in_look(PageState state, uint64_t look)
{
	return state.look == look_field(look);
}

/*
 * Raise all counts at once, those of absent pages from 0.  No sum leaves its
 * bits, and one above the maximum shows in the highest bit after another
 * addition.
 */
static inline void
raise_counts(PageState *state, uint64_t absent, uint64_t amount, uint64_t usage_max)
{
	uint64_t	sums = (state->counts & ~(absent * ABSENT)) + amount * EACH_SIZE;
	uint64_t	raised = sums + (USAGE_LIMIT - usage_max) * EACH_SIZE;
	uint64_t	excess = raised >> (COUNT_BITS - 1) & EACH_SIZE;

	excess *= ABSENT;
	state->counts = (sums & ~excess) | (usage_max * EACH_SIZE & excess);
}

#endif							/* PBP_PAGESTATE_H */

/*-------------------------------------------------------------------------
 *
 * evicted.c
 *	  Pages that the real pool has evicted: how many of them were used once only,
 *	  and how many are read again soon.
 *
 * The record of a page that has left the pool keeps the phase of evictions in which
 * the hand evicted it.  A page that returns less than one pool of evictions later
 * would not have been read again if the pool had chosen better, or was larger.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

/* Phases in one pool of evictions. */
#define PHASES_PER_POOL		24

/* The phase of an eviction has the bits of the level of use, which absent pages do not need. */
#define PHASE_NUMBERS		LEVELS

/* In evictions. */
static double
phase_length(const Advice *advice)
{
	return share_of_pool(advice) * advice->nbuffers / PHASES_PER_POOL;
}

static unsigned
phases_since(const Advice *advice, PageState state)
{
	return (unsigned) ((advice->evicted.phase - state.level) % PHASE_NUMBERS);
}

/*
 * True if less than one pool of evictions has passed.  On average, the page was evicted in the
 * middle of a phase, and has returned in the middle between two looks.
 */
static bool
was_evicted_lately(const Advice *advice, PageState state)
{
	const EvictedPages *evicted = &advice->evicted;
	double		since_phase = (evicted->in_phase + evicted->at_last_look / 2.0) / phase_length(advice);

	return state.evicted && phases_since(advice, state) + since_phase - 0.5 < PHASES_PER_POOL;
}

/* Before the number of a phase returns, the pages of its first time are forgotten. */
static void
forget_old(Advice *advice)
{
	for (uint32_t i = 0; i < advice->table.npages; i++)
	{
		PageState  *state = &advice->table.pages[i].state;

		check_interrupts(i);
		if (state->evicted && phases_since(advice, *state) > PHASES_PER_POOL)
			state->evicted = false;
	}
}

/* Nothing is counted before one pool of evictions was seen: pages evicted earlier are unknown. */
static bool
counts_evicted(const Advice *advice)
{
	return advice->evicted.phase >= PHASES_PER_POOL;
}

static void
count_evicted(Advice *advice, uint32_t page)
{
	EvictedPages *evicted = &advice->evicted;
	PageState  *state = &advice->table.pages[page].state;

	state->evicted = true;
	state->level = (unsigned) (evicted->phase % PHASE_NUMBERS);
	if (counts_evicted(advice))
	{
		advice->fresh_evicted.pages++;
		advice->fresh_evicted.used_once += !state->used_again;
		if (advice->relations != NULL)
			counters_of_page(advice->relations, page)->evicted++;
	}
	if (++evicted->in_phase < phase_length(advice))
		return;
	evicted->in_phase = 0;
	evicted->phase++;
	if (evicted->phase % PHASES_PER_POOL == 0)
		forget_old(advice);
}

/* A page of the sample was loaded; "met" if the last look had met it in another buffer. */
void
pbp_follow_load(Advice *advice, uint32_t page, bool met)
{
	PageState  *state = &advice->table.pages[page].state;

	if (met)
		count_evicted(advice, page);
	if (counts_evicted(advice) && was_evicted_lately(advice, *state))
	{
		advice->fresh_evicted.read_again++;
		if (advice->relations != NULL)
			counters_of_page(advice->relations, page)->read_again++;
	}
	state->evicted = false;
}

/*
 * At the end of a look: pages that the last one met, and this one did not.  The hand evicts a page
 * at a usage count of 0, so it must have visited the buffer more often than the page was used.
 * Others left by DROP or TRUNCATE, or with the ring of a scan.
 */
void
pbp_follow_gone(Advice *advice)
{
	uint64_t	look = advice->look.number;
	const LookLists *last = lists_of(advice, look - 1);
	uint32_t	nevicted = 0;

	for (uint32_t i = 0; i < last->nmeetings; i++)
	{
		const Meeting *meeting = &last->meetings[i];
		PageState  *state = &advice->table.pages[meeting->page].state;

		check_interrupts(i);
		if (met_in_look(*state, look))
			continue;
		state->look = 0;
		if (advice->head.lost || new_visits(advice, meeting->buffer) <= (int64_t) state->usage)
			continue;
		count_evicted(advice, meeting->page);
		nevicted++;
	}
	advice->evicted.at_last_look = nevicted;
}

void
pbp_advice_take_evicted(PbpAdvice *advice, PbpEvicted *sum)
{
	sum->pages += advice->fresh_evicted.pages;
	sum->used_once += advice->fresh_evicted.used_once;
	sum->read_again += advice->fresh_evicted.read_again;
	advice->fresh_evicted = (PbpEvicted) {0};
}

/*-------------------------------------------------------------------------
 *
 * pools.c
 *	  Simulated pools, one for each size, and the events that they live
 *	  through.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

/* Share of its size by which a pool may err, since looks do not show the order of uses. */
#define UNSEEN_ORDER		0.05

/* A phase is a share of what the next size has more, in slots. */
static double
phase_length(const SimulatedPool *pool, int i)
{
	double		more = i + 1 < FACTORS ? pbp_advice_factor(i + 1) / pbp_advice_factor(i) - 1 : 1;

	return more * pool->nslots / PHASES_TO_NEXT;
}

/* How many phases chance in the sample and the order of unseen uses are worth. */
unsigned
pbp_near_phases(const Advice *advice, int i)
{
	const SimulatedPool *pool = &advice->pools[i];
	double		nslots = PBP_DEVIATIONS * sqrt(pool->nslots) + UNSEEN_ORDER * pool->nslots;
	double		phases = nslots / phase_length(pool, i);

	return phases < PHASES_TO_NEXT ? (unsigned) ceil(phases) : PHASES_TO_NEXT;
}

/* A slot for a page that is not in the pool, by the server's algorithm. */
static uint32_t
victim_slot(Advice *advice, int i, bool counts)
{
	SimulatedPool *pool = &advice->pools[i];

	if (pool->nfilled < pool->nslots)
		return pool->nfilled++;

	for (;;)
	{
		uint32_t	hand = pool->hand;
		PageState  *state = &advice->table.pages[pool->slots[hand]].state;
		unsigned	usage = count_in_pool(*state, i);

		pool->hand = hand + 1 < pool->nslots ? hand + 1 : 0;
		advice->counters.sizes[i].steps++;
		if (usage == 0)
		{
			if (++pool->evictions >= phase_length(pool, i))
			{
				pool->phase++;
				pool->evictions = 0;
			}
			set_count_in_pool(state, i, EVICTED + pool->phase % PHASES);
			advice->counters.sizes[i].dirty_evictions += counts && state->dirty &&
				!has_size(advice->refilling, i);
			if (state->dirty)
				pbp_play_write(advice, advice->table.pages[pool->slots[hand]].fingerprint, i);
			return hand;
		}
		set_count_in_pool(state, i, usage - 1);
	}
}

/* A page that only a larger pool still holds would be dirty until now, but has been written. */
void
pbp_advice_checkpoint(PbpAdvice *advice)
{
	for (uint32_t page = 0; page < advice->table.npages; page++)
		advice->table.pages[page].state.dirty = false;
	outdate_answers(advice);
}

/*
 * The share of a pool that holds pages which only scans read, of today's share.  Scans that run at
 * once find what others left, which so stays: of a table of 256 MB, they found 3 % in a pool of
 * 64 MB, 8 of its 64 MB, and 56 % in one of 256 MB.  No pool holds more of a table than there is,
 * and a larger one no less of other pages.
 */
static double
scanned_share(const Advice *advice, double factor)
{
	double		tables = (double) advice->facts.scanned_alone / advice->nbuffers;
	double		today = fmin(advice->averages.scanned_share, tables);
	double		share = fmin(factor * today, tables / factor);

	return factor <= 1 ? share : fmin(share, 1 - (1 - today) / factor);
}

/*
 * Give each pool as many slots as there are sampled pages in such a share of the real pool.
 * Chance puts more or fewer pages into the sample than its rate says.
 */
void
pbp_resize_pools(Advice *advice)
{
	for (int i = 0; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];
		double		factor = pbp_advice_factor(i);
		double		scanned = scanned_share(advice, factor);
		double		wanted = fmax(1, rint((1 - scanned) * factor * advice->averages.residents));
		bool		was_full = pool->nlearned == pool->nslots;

		pool->kept = advice->facts.scanned_alone <= 0 ? 0 :
			scanned * factor * advice->nbuffers / (double) advice->facts.scanned_alone;
		pool->nslots = wanted < pool->max_slots ? (uint32_t) wanted : pool->max_slots;
		while (pool->nfilled > pool->nslots)
			set_count_in_pool(&advice->table.pages[pool->slots[--pool->nfilled]].state, i, ABSENT);
		if (pool->hand >= pool->nslots)
			pool->hand = 0;
		if (was_full || pool->nlearned > pool->nslots)
			pool->nlearned = pool->nslots;
	}
}

/* Sizes whose pools do not hold a page that only scans read, by chance: each page leaves at times. */
uint64_t
pbp_not_kept(Advice *advice)
{
	double		place = next_share(advice);
	uint64_t	sizes = 0;

	for (int i = 0; i < FACTORS; i++)
		sizes |= place < advice->pools[i].kept ? 0 : size_bit(i);
	return sizes;
}

/* Such a share of the sampled pages remains, in their order. */
void
pbp_thin_pools(Advice *advice, double share)
{
	for (int i = 0; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];
		uint32_t	nkept = 0;
		uint32_t	hand = 0;

		for (uint32_t slot = 0; slot < pool->nfilled; slot++)
		{
			if (slot == pool->hand)
				hand = nkept;
			if (remains(advice, pool->slots[slot]))
				pool->slots[nkept++] = pool->slots[slot];
		}
		pool->nfilled = nkept;
		pool->hand = hand < nkept ? hand : 0;
		if (pool->nlearned < pool->nslots)
			pool->nlearned = (uint32_t) (share * pool->nlearned);
	}
}

static void
count_use(Advice *advice, int i, Event event, uint32_t fingerprint, PageState before,
		  uint64_t absent)
{
	SizeCounters *counters = &advice->counters.sizes[i];
	const SimulatedPool *pool = &advice->pools[i];
	bool		missed = has_size(absent, i);
	bool		baseline_missed = has_size(absent, BASELINE);
	bool		doubtful = missed && i > BASELINE && pool->nlearned < pool->nslots;

	advice->recent.doubtful_misses[i] += doubtful;
	if (has_size(advice->refilling, i))
		return;
	counters->baseline_misses[group_of(fingerprint)] += baseline_missed;
	counters->extra_misses[group_of(fingerprint)] += missed - baseline_missed;
	counters->misses_again += missed && event.again;
	if (missed && i + 1 < FACTORS && !has_size(absent, i + 1))
	{
		/* how much of the next size would have sufficed */
		unsigned	phases = phases_absent(before, i, pool->phase);
		unsigned	near = pbp_near_phases(advice, i);

		counters->to_next++;
		counters->near_this += phases < near;
		counters->near_next += phases >= PHASES_TO_NEXT - near;
	}
}

/* Play what a look found of one page to all pools. */
static void
play_event(Advice *advice, Event event, bool counts)
{
	PageState  *state = &advice->table.pages[event.page].state;
	uint32_t	fingerprint = advice->table.pages[event.page].fingerprint;
	PageState	before = *state;
	uint64_t	absent = absent_sizes(before);
	uint64_t	waits = 0;
	bool		is_new = !state->used;

	state->used = true;
	if (absent != 0)
		waits = pbp_play_misses(advice, fingerprint, absent, counts);
	if (advice->policies != NULL)
		pbp_play_policies(advice, fingerprint, event.amount, counts);
	if (advice->relations != NULL && counts && (event.load || absent != 0))
		pbp_count_event(advice->relations, event, as_today(absent, advice->refilling), waits);
	for (int i = 0; i < FACTORS; i++)
		if (has_size(absent, i))
			advice->pools[i].slots[victim_slot(advice, i, counts)] = event.page;
	raise_counts(state, absent, event.amount, (uint64_t) advice->usage_max);
	if (absent == 0 && !is_new)
		return;					/* nothing to count */

	for (int i = 0; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];

		if (counts)
			count_use(advice, i, event, fingerprint, before, absent);
		pool->nlearned += is_new && pool->nlearned < pool->nslots;
	}
}

static void
shuffle(Advice *advice, LookLists *list)
{
	for (uint32_t left = list->nevents; left > 0; left--)
	{
		uint32_t	chosen = (uint32_t) ((next_random(advice) >> 32) * left >> 32);
		Event		last = list->events[left - 1];

		check_interrupts(left);
		list->events[left - 1] = list->events[chosen];
		list->events[chosen] = last;
	}
}

/*
 * Play all events of a look, in random order.  Their true order is unknown,
 * and the order of buffers would favor those behind the hand.
 *
 * A look's events are played at the end of the next one.  A page that was
 * loaded and has left the pool by then was read through a ring, as by a large
 * scan or VACUUM.  It would not stay in any pool, and does not count.
 */
void
pbp_play_events(Advice *advice, uint64_t look, bool counts)
{
	LookLists  *list = lists_of(advice, look);

	shuffle(advice, list);
	for (uint32_t i = list->nevents; i-- > 0;)
	{
		Event		event = list->events[i];
		PageState	state = advice->table.pages[event.page].state;
		uint32_t	fingerprint = advice->table.pages[event.page].fingerprint;

		check_interrupts(i);
		if (event.load)
		{
			if (!met_in_look(state, advice->look.number))
				continue;
			advice->look.found.loads[group_of(fingerprint)] += counts;
			advice->look.found.new_loads += counts && absent_everywhere(state);
		}
		/* the last look's own events are played only where they are no uses */
		if (advice->relations != NULL && look != advice->look.number)
			pbp_report_use(&advice->relations->working_set, fingerprint,
						   advice->relations->of_page[event.page]);
		play_event(advice, event, counts);
	}
}

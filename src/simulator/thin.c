/*-------------------------------------------------------------------------
 *
 * thin.c
 *	  A smaller sample, where the worker has no time for the one it has, and a
 *	  larger one later.
 *
 * Pages whose fingerprint is above a threshold leave, and what was counted is
 * scaled to those that remain.  So figures stay as they are and as certain as they
 * are, and what is counted from now on adds the chance of the smaller sample.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <math.h>

/* Fewer pages in the pool than this have figures of no use. */
#define LEAST_PAGES			150.0

static inline bool
remains(const Advice *advice, uint32_t page)
{
	return advice->table.pages[page].fingerprint <= advice->base.kept;
}

/* What the last look found. */
static void
thin_lists(Advice *advice)
{
	MeetingList *meetings = meetings_of(advice, advice->look.number);
	EventList  *events = events_of(advice, advice->look.number);
	uint32_t	nmeetings = 0;
	uint32_t	nevents = 0;

	for (uint32_t i = 0; i < meetings->nmeetings; i++)
		if (remains(advice, meetings->meetings[i].page))
			meetings->meetings[nmeetings++] = meetings->meetings[i];
	meetings->nmeetings = nmeetings;
	for (uint32_t i = 0; i < events->nevents; i++)
		if (remains(advice, events->events[i].page))
			events->events[nevents++] = events->events[i];
	events->nevents = nevents;
}

/* A record that is of no page of the sample is reused when one is needed. */
static void
thin_records(Advice *advice)
{
	for (uint32_t page = 0; page < advice->table.npages; page++)
		if (!remains(advice, page))
			advice->table.pages[page].state = (PageState) {.counts = ALL_ABSENT};
}

static void
scale_sizes(Advice *advice, double share)
{
	for (int i = 0; i < FACTORS; i++)
	{
		SizeCounters *size = &advice->counters.sizes[i];
		double		accesses = size->accesses;
		double		skipped = size->skipped;

		scale_counters(size, sizeof(*size), share);
		size->accesses = accesses;
		size->skipped = skipped;
	}
}

/* The sample has so many times as many pages from now on. */
static void
scale_all(Advice *advice, double share)
{
	advice->sampling_rate *= share;
	advice->averages.residents *= share;
	scale_sizes(advice, share);
	scale_counters(advice->counters.loads, sizeof(advice->counters.loads), share);
	scale_counters(advice->counters.residents, sizeof(advice->counters.residents), share);
	advice->counters.new_loads *= share;
	scale_counters(advice->recent.doubtful_misses, sizeof(advice->recent.doubtful_misses), share);
	pbp_scale_relations(advice, share, pbp_scale_caches(advice, share));
	if (advice->averages.residents > 0)
		pbp_resize_pools(advice, advice->averages.residents);
	pbp_resize_caches(advice);
	outdate_answers(advice);
}

/* Keeps fingerprints up to this one.  Returns how many times as many pages these are. */
static double
keep(Advice *advice, double kept)
{
	uint32_t	before = advice->base.kept;

	advice->base.kept = kept < UINT32_MAX ? (uint32_t) kept : UINT32_MAX;
	return (double) advice->base.kept / before;
}

bool
pbp_advice_thin(PbpAdvice *base, double share)
{
	Advice	   *advice = (Advice *) base;
	double		least = LEAST_PAGES / (advice->sampling_rate * advice->nbuffers);

	share = fmax(share, least);
	if (advice->look.looking || share >= 1)
		return false;
	share = keep(advice, share * base->kept);
	thin_lists(advice);
	pbp_thin_pools(advice, share);
	thin_records(advice);
	scale_all(advice, share);
	return true;
}

/*
 * Pages that are in the sample from now on are in no simulated pool yet.  So this is
 * like a time without a look: nothing counts until the pools are in order.
 */
bool
pbp_advice_widen(PbpAdvice *base, double factor)
{
	Advice	   *advice = (Advice *) base;

	/* but for rounding, it is that of the beginning */
	if (advice->look.looking || base->kept >= 0.99 * UINT32_MAX)
		return false;
	scale_all(advice, keep(advice, factor * base->kept));
	advice->look.lost = true;
	return true;
}

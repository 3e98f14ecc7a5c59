/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Miss ratio at other sizes of the buffer pool: what is learned, look by
 *	  look at the real one.
 *
 * Looks at the pool see nearly every load, since a page that is loaded stays
 * for two passes of the clock hand.  A usage count that is higher than
 * the hand has left it shows uses.  These events, of a sample of pages chosen
 * by a hash of their tag, are replayed against a simulated clock sweep of each
 * size, with as many slots as the sample's share of such a pool.  The
 * difference of its misses from those of the simulated baseline, scaled back by
 * that share, is added to the measured miss ratio.  What sampling and looks
 * distort, they distort in both.  The caller decides when to look.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <string.h>

static const double factors[FACTORS] = {
	0.25, [HALF] = 0.5, 0.625, 0.75, 0.875, [BASELINE] = 1, 1.25, 1.5, [DOUBLE] = 2, 3, 4
};

/*
 * Memory for each resident page of the sample.  There are records for a little
 * more than the largest pool holds, since a small pool may hold a page that a
 * large one does not.  The slack covers chance in the number of sampled pages.
 */
#define PAGES_PER_RESIDENT	(factors[FACTORS - 1] + 1)
#define EVENTS_PER_RESIDENT	1.6
#define MEETINGS_PER_RESIDENT	1.1

/* Weight in the moving averages: of a pass of the hand, or of one look. */
#define AVERAGES_GAIN		0.1

/* Levels of use: from 2^-7 to 2^8.75 uses in a pass of the hand. */
#define LEVEL_OF_1			28

void		(*pbp_advice_check_interrupts) (void) = NULL;
uint64_t	pbp_advice_version = 0;

double
pbp_advice_factor(int i)
{
	return factors[i];
}

/* ---- memory ---- */

/* Divides the memory behind the struct for a sampling rate, and returns how much this takes. */
static size_t
place_lists(Advice *advice, double rate)
{
	double		residents = rate * advice->nbuffers;
	double		most = residents + SLACK_DEVIATIONS * sqrt(residents);
	PageTable  *table = &advice->table;
	uint32_t   *slots;

	if (PAGES_PER_RESIDENT * most >= INVALID_PAGE)
		return SIZE_MAX;		/* an event could not name all pages */
	table->max_pages = (uint32_t) (PAGES_PER_RESIDENT * most) + 1;
	table->nheads = table->max_pages / 2 + 1;
	advice->max_meetings = (uint32_t) (MEETINGS_PER_RESIDENT * most) + 1;
	advice->max_events = (uint32_t) (EVENTS_PER_RESIDENT * most) + 1;
	table->pages = (PageRecord *) (advice + 1);
	table->heads = (uint32_t *) (table->pages + table->max_pages);
	advice->lists[0].meetings = (Meeting *) (table->heads + table->nheads);
	advice->lists[1].meetings = advice->lists[0].meetings + advice->max_meetings;
	advice->lists[0].events = (Event *) (advice->lists[1].meetings + advice->max_meetings);
	advice->lists[1].events = advice->lists[0].events + advice->max_events;
	slots = (uint32_t *) (advice->lists[1].events + advice->max_events);
	for (int i = 0; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];

		pool->max_slots = pool->nslots = (uint32_t) (factors[i] * most + 1);
		pool->slots = slots;
		slots += pool->max_slots;
	}
	return (size_t) ((char *) slots - (char *) advice);
}

/* The highest rate, within a millionth, whose memory fits; 0 if none does. */
static double
fitting_rate(Advice *advice, size_t bytes, double limit)
{
	double		rate = 0;

	if (place_lists(advice, limit) <= bytes)
		return limit;
	for (double step = limit / 2; 2 * step > 1e-6 * (rate + 2 * step) && step > 1e-12; step /= 2)
		if (place_lists(advice, rate + step) <= bytes)
			rate += step;
	return rate;
}

PbpAdvice *
pbp_advice_init(void *memory, size_t bytes, int nbuffers, int usage_max,
				double rate_limit, bool rings_apart)
{
	Advice	   *advice = memory;
	double		rate;

	if (bytes < sizeof(Advice) || nbuffers < 1)
		return NULL;
	memset(advice, 0, sizeof(*advice));
	advice->nbuffers = nbuffers;
	advice->usage_max = usage_max < USAGE_LIMIT ? usage_max : USAGE_LIMIT;
	advice->rings_apart = rings_apart;
	advice->facts.data_pages = INFINITY;
	advice->facts.huge_pages = -1;
	rate = fitting_rate(advice, bytes, rate_limit > 0 && rate_limit < 1 ? rate_limit : 1);
	if (rate <= 0)
		return NULL;
	place_lists(advice, rate);
	for (uint32_t i = 0; i < advice->table.nheads; i++)
		advice->table.heads[i] = INVALID_PAGE;
	advice->sampling_rate = rate;
	advice->head.kept = UINT32_MAX;
	advice->head.threshold = rate >= 1 ? UINT64_MAX : (uint64_t) ldexp(rate, 64);
	advice->random = UINT64_C(0x9E3779B97F4A7C15);
	outdate_answers(advice);
	advice->look.lost = true;
	for (int i = 0; i < FACTORS; i++)
		advice->pools[i].learning = true;
	for (int i = 0; i < LEVELS; i++)
		advice->use_rates[i] = exp2((i - LEVEL_OF_1) / LEVELS_PER_OCTAVE);
	return advice;
}

double
pbp_advice_rate(const PbpAdvice *advice)
{
	return advice->sampling_rate;
}

PbpAdviceFacts *
pbp_advice_facts(PbpAdvice *advice)
{
	outdate_answers(advice);
	return &advice->facts;
}

/* ---- looks ---- */

void
pbp_advice_gap(PbpAdvice *advice)
{
	if (!advice->look.lost && advice->nlooks > 0)
		advice->ngaps++;
	advice->look.lost = true;
	outdate_answers(advice);
}

/* Larger pools must be filled again before anything is added to what was learned of them. */
static void
forget_past(Advice *advice)
{
	pbp_confirm_accesses(advice, false);
	for (uint32_t i = 0; i < advice->table.npages; i++)
	{
		check_interrupts(i);
		advice->table.pages[i].state.used = false;
		advice->table.pages[i].state.evicted = false;
	}
	for (int i = 0; i < FACTORS; i++)
	{
		advice->pools[i].nlearned = 0;
		if (i > BASELINE && !advice->pools[i].learning)
			advice->refilling |= size_bit(i);
	}
	/* it is unknown which pages return soon */
	advice->evicted = (EvictedPages) {0};
	memset(advice->progress, 0, sizeof(advice->progress));
	pbp_doubt_caches(advice);
	/* what was not in doubt before says nothing about what follows */
	memset(&advice->recent, 0, sizeof(advice->recent));
}

void
pbp_advice_begin(PbpAdvice *advice, int64_t ticks)
{
	LookState  *look = &advice->look;

	/* a page stays for two passes: after more, loads may have come and gone */
	if (ticks < look->last.ticks || ticks - look->last.ticks > 2 * (int64_t) advice->nbuffers)
		pbp_advice_gap(advice);
	look->now = (HandPosition){ticks, ticks / advice->nbuffers, (int) (ticks % advice->nbuffers)};
	advice->averages.lost_share += AVERAGES_GAIN * (look->lost - advice->averages.lost_share);
	if (look->lost)
	{
		look->first_ticks = ticks;
		forget_past(advice);
		if (advice->relations != NULL)
			pbp_forget_uses(&advice->relations->working_set);
	}
	advice->head.lost = look->lost;
	look->looking = true;
	look->number++;
	look->next_meeting = 0;
	memset(&look->found, 0, sizeof(look->found));
	advice->table.exhausted = false;
	lists_of(advice, look->number)->nevents = 0;
	lists_of(advice, look->number)->nmeetings = 0;
	outdate_answers(advice);
}

/*
 * Chance has put more or fewer pages into the sample than the rate says.  Follow
 * that slowly, within limits: few residents may also mean a dropped table.
 */
static void
follow_residents(Advice *advice)
{
	double	   *average = &advice->averages.residents;
	double		expected = advice->sampling_rate * advice->nbuffers;
	double		slack = SLACK_DEVIATIONS * sqrt(expected);
	double		passed = ticks_passed(advice) / advice->nbuffers;
	double		found = sum_of_groups(advice->look.found.residents);
	double		scanned = found > 0 ? advice->look.found.scanned / found : 0;
	double		gain = *average > 0 ? fmin(1, AVERAGES_GAIN * passed) : 1;

	if (advice->look.now.ticks < advice->nbuffers)
		return;					/* the pool may not have been full */
	*average += gain * (found - *average);
	*average = fmin(fmax(*average, fmax(1, expected - slack)), expected + slack);
	advice->averages.scanned_share += gain * (scanned - advice->averages.scanned_share);
	pbp_resize_pools(advice);
	pbp_resize_caches(advice);
	if (advice->policies != NULL)
		pbp_follow_policies(advice);
}

/*
 * Replay events, and count them if they and the accesses belong together.
 * Neither does so in the first pass after a loss, when the simulated pools are
 * not in order yet, nor between a loss and the next look.
 */
static void
replay(Advice *advice)
{
	LookState  *look = &advice->look;
	bool		counts = !look->lost && passes_watched(advice) >= 1;

	/* these are of the look before, whose reads must count, too */
	pbp_play_events(advice, look->number - 1, counts && look->counted);
	if (look->lost)
	{
		pbp_play_events(advice, look->number, false);
		lists_of(advice, look->number)->nevents = 0;
	}
	if (!advice->head.lost)
		pbp_confirm_accesses(advice, counts);
	if (counts)
		pbp_count_look(advice);
	if (counts && passes_watched(advice) >= IN_ORDER_PASSES)
		pbp_learn(advice);
	/* counts come much more rarely than looks */
	if (look->fresh.seconds > 0 || look->fresh.accesses > 0)
		pbp_follow_learning(advice);
	memset(&look->fresh, 0, sizeof(look->fresh));
}

bool
pbp_advice_end(PbpAdvice *advice, int64_t ticks)
{
	LookState  *look = &advice->look;
	bool		too_long = ticks - look->now.ticks > advice->nbuffers;

	if (!look->looking)
		return look->lost;
	if (too_long)
		pbp_advice_gap(advice);
	follow_residents(advice);
	replay(advice);
	pbp_follow_gone(advice);
	advice->nlooks++;
	look->last = look->now;
	look->lost = too_long;		/* the next one starts over */
	look->looking = false;
	outdate_answers(advice);
	return look->lost || lists_of(advice, look->number)->nmeetings == advice->max_meetings;
}

/* ---- another sample ---- */

/*
 * Where the worker has no time for the sample, pages whose fingerprint is above a threshold leave
 * it, and what was counted is scaled to those that remain.  So figures stay as they are and as
 * certain as they are, and what is counted from now on adds the chance of the smaller sample.
 */

/* Fewer pages in the pool than this have figures of no use. */
#define LEAST_PAGES			150.0

/* What the last look found. */
static void
thin_lists(Advice *advice)
{
	LookLists  *lists = lists_of(advice, advice->look.number);
	uint32_t	nmeetings = 0;
	uint32_t	nevents = 0;

	for (uint32_t i = 0; i < lists->nmeetings; i++)
		if (remains(advice, lists->meetings[i].page))
			lists->meetings[nmeetings++] = lists->meetings[i];
	lists->nmeetings = nmeetings;
	for (uint32_t i = 0; i < lists->nevents; i++)
		if (remains(advice, lists->events[i].page))
			lists->events[nevents++] = lists->events[i];
	lists->nevents = nevents;
}

/* The sample has so many times as many pages from now on. */
static void
scale_all(Advice *advice, double share)
{
	advice->sampling_rate *= share;
	advice->averages.residents *= share;
	for (int i = 0; i < FACTORS; i++)
	{
		SizeCounters *size = &advice->counters.sizes[i];
		const SizeCounters before = *size;

		pbp_scale_doubles(size, sizeof(*size), share);
		size->accesses = before.accesses;
		size->skipped = before.skipped;
	}
	pbp_scale_doubles(&advice->counters.found, sizeof(advice->counters.found), share);
	pbp_scale_doubles(advice->recent.doubtful_misses, sizeof(advice->recent.doubtful_misses),
					  share);
	pbp_scale_relations(advice, share, pbp_scale_caches(advice, share));
	if (advice->averages.residents > 0)
		pbp_resize_pools(advice);
	pbp_resize_caches(advice);
	outdate_answers(advice);
}

/* Keeps fingerprints up to this one.  Returns how many times as many pages these are. */
static double
keep(Advice *advice, double kept)
{
	uint32_t	before = advice->head.kept;

	advice->head.kept = kept < UINT32_MAX ? (uint32_t) kept : UINT32_MAX;
	return (double) advice->head.kept / before;
}

bool
pbp_advice_thin(PbpAdvice *advice, double share)
{
	double		least = LEAST_PAGES / (advice->sampling_rate * advice->nbuffers);

	share = fmax(share, least);
	if (advice->look.looking || share >= 1)
		return false;
	share = keep(advice, share * advice->head.kept);
	thin_lists(advice);
	pbp_thin_pools(advice, share);
	/* a record that is of no page of the sample is reused when one is needed */
	for (uint32_t page = 0; page < advice->table.npages; page++)
		if (!remains(advice, page))
			advice->table.pages[page].state = (PageState) {.counts = ALL_ABSENT};
	scale_all(advice, share);
	pbp_thin_policies(advice);
	return true;
}

/*
 * Pages that are in the sample from now on are in no simulated pool yet.  So this is
 * like a time without a look: nothing counts until the pools are in order.
 */
bool
pbp_advice_widen(PbpAdvice *advice, double factor)
{
	/* but for rounding, it is that of the beginning */
	if (advice->look.looking || advice->head.kept >= 0.99 * UINT32_MAX)
		return false;
	scale_all(advice, keep(advice, factor * advice->head.kept));
	advice->look.lost = true;
	return true;
}

/*-------------------------------------------------------------------------
 *
 * observe.c
 *	  From one observation of a sampled page to events: its load, and its uses
 *	  since it was last observed.
 *
 * Records of pages are in a hash table of fixed size that reuses the records of
 * forgotten pages.  Which buffers are read, and when, is not known here.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#define LOG2_E				1.4426950408889634

/* The level of a page that the last look has not met. */
#define LEVEL_UNKNOWN		36

/* Weight of one use against all before. */
#define LEVEL_GAIN			0.09

/* ---- records ---- */

/* Records that are needed so much later are fetched into the caches. */
#define FETCHED_AHEAD		8

static uint32_t
find_page(const PageTable *table, uint64_t key)
{
	uint32_t	fingerprint = (uint32_t) key;
	uint32_t	page = table->heads[chain_of(fingerprint, table->nheads)];

	while (page != INVALID_PAGE && table->pages[page].fingerprint != fingerprint)
		page = table->pages[page].next;
	return page;
}

/* Sizes whose pools do not hold this page. */
uint64_t
pbp_absent_from(const Advice *advice, uint64_t key)
{
	uint32_t	page = find_page(&advice->table, key);

	return page == INVALID_PAGE ? EACH_SIZE : absent_sizes(advice->table.pages[page].state);
}

bool
pbp_advice_holds(const PbpAdvice *advice, uint64_t key)
{
	uint32_t	page = find_page(&advice->table, key);

	return page != INVALID_PAGE &&
		met_in_look(advice->table.pages[page].state, advice->look.number);
}

/*
 * Finds a page during a look.  Nearly every page is still in the buffer where
 * the last look met it.  That look's list spares the hash table and names the
 * records to prefetch, which more than halves the time.  A page that the last
 * look met in another buffer has left the pool and returned.
 */
static uint32_t
find_page_at(Advice *advice, uint64_t key, int buffer, bool *moved)
{
	const LookLists *last = lists_of(advice, advice->look.number - 1);
	const Meeting *meetings = last->meetings;
	const PageRecord *pages = advice->table.pages;
	uint32_t	next = advice->look.next_meeting;

	while (next < last->nmeetings && meetings[next].buffer < buffer)
	{
		if (next + FETCHED_AHEAD < last->nmeetings)
			__builtin_prefetch(&pages[meetings[next + FETCHED_AHEAD].page]);
		next++;
	}
	advice->look.next_meeting = next;
	*moved = false;
	if (next < last->nmeetings && meetings[next].buffer == buffer &&
		pages[meetings[next].page].fingerprint == (uint32_t) key)
		return meetings[next].page;
	*moved = last->nmeetings < advice->max_meetings;
	return find_page(&advice->table, key);
}

static void
unlink_page(PageTable *table, uint32_t page)
{
	uint32_t   *link = &table->heads[chain_of(table->pages[page].fingerprint, table->nheads)];

	while (*link != page)
		link = &table->pages[*link].next;
	*link = table->pages[page].next;
}

/*
 * A record for one more page.  The search for one that is in no simulated pool, nor was in the
 * real one by two looks, continues where the last one stopped.  If it fails, it would fail for the
 * rest of the look: simulated pools change at the look's end only.
 */
static uint32_t
free_page(PageTable *table, uint64_t look)
{
	if (table->npages < table->max_pages)
		return table->npages++;
	if (table->exhausted)
		return INVALID_PAGE;

	for (uint32_t tried = 0; tried < table->max_pages; tried++)
	{
		uint32_t	page = table->reclaimer;
		PageState	state = table->pages[page].state;

		table->reclaimer = page + 1 < table->max_pages ? page + 1 : 0;
		if (absent_everywhere(state) && !met_in_look(state, look) && !met_in_look(state, look - 1))
		{
			unlink_page(table, page);
			return page;
		}
	}
	table->exhausted = true;
	return INVALID_PAGE;
}

/* A page that has no record yet. */
static uint32_t
add_page(Advice *advice, uint64_t key)
{
	PageTable  *table = &advice->table;
	uint32_t	page = free_page(table, advice->look.number);
	uint32_t   *head;

	if (page == INVALID_PAGE)
	{
		advice->ndropped++;
		return INVALID_PAGE;
	}
	head = &table->heads[chain_of((uint32_t) key, table->nheads)];
	table->pages[page] = (PageRecord) {(uint32_t) key, *head, {.counts = ALL_ABSENT}};
	*head = page;
	if (advice->relations != NULL)
		advice->relations->of_page[page] = 0;
	return page;
}

/* ---- events ---- */

/* Unlike fmin() and fmax(), this is no call. */
static inline double
within(double low, double high, double value)
{
	return value < low ? low : value > high ? high : value;
}

/* A random number of independent events (Poisson), at most this many. */
static int
some_events(Advice *advice, double mean, int most)
{
	double		limit;
	double		product;
	int			nevents = 0;

	if (mean <= 0)
		return 0;
	if (mean > 2 * most)
		return most;
	product = next_share(advice);
	if (product <= 1 - mean)
		return 0;				/* as it would be below, without exp() */
	limit = exp(-mean);
	for (; product > limit && nevents < most; product *= next_share(advice))
		nevents++;
	return nevents;
}

/* The share of the time between the looks in which uses raised the count. */
static double
visible_share(const Advice *advice, int before, int usage, int seen, int buffer)
{
	const LookState *look = &advice->look;
	double		share = 1;

	if (before == advice->usage_max)
	{
		int64_t		nvisits = visits(look->now, buffer);
		int64_t		last_visit = (nvisits - 1) * advice->nbuffers + buffer;

		share = nvisits == visits(look->last, buffer) ? 0 :
			within(0, 1, (double) (look->now.ticks - last_visit) / ticks_passed(advice));
	}
	if (usage == advice->usage_max && seen > 0)
		share /= 2;				/* until it reached the maximum */
	return share;
}

/*
 * Uses of a page that stayed since the last look.  Each visit of the hand took
 * one from its usage count, and would have evicted it at 0.
 *
 * Uses do not show while the count is at the maximum.  They are assumed to
 * continue at the rate that was learned while they showed.
 */
static int
estimate_uses(Advice *advice, PageState *state, int buffer, int usage)
{
	int			before = (int) state->usage;
	int			seen = usage - before + (int) new_visits(advice, buffer);
	double		passed = ticks_passed(advice) / advice->nbuffers;
	double		uses = advice->use_rates[state->level] * passed;
	double		visible;

	if (seen < 0)
		return 0;
	visible = visible_share(advice, before, usage, seen, buffer);
	if (visible > 0)
	{
		double		level = (double) state->level +
			LEVEL_GAIN * LEVELS_PER_OCTAVE * LOG2_E * (seen - visible * uses);

		state->level = (unsigned) within(0, LEVELS - 1, rounded(advice, level));
		uses = advice->use_rates[state->level] * passed;
	}
	return seen + some_events(advice, (1 - visible) * uses, usage);
}

/* Uses at separate times become separate events, but for constant use and uses after a load. */
static void
add_events(Advice *advice, uint32_t page, bool load, int amount)
{
	LookLists  *list = lists_of(advice, advice->look.number);
	uint32_t	room = advice->max_events - list->nevents;
	int			usage_max = advice->usage_max;

	if (amount <= 0)
		return;
	if (room == 0)
		advice->ndropped++;
	else if (!load && amount < usage_max && (uint32_t) amount <= room / 4)
	{
		for (int i = 0; i < amount; i++)
			list->events[list->nevents++] = (Event){page, false, i > 0, 1};
	}
	else
	{
		unsigned	most = (unsigned) (amount < usage_max ? amount : usage_max);

		list->events[list->nevents++] = (Event){page, load, false, most};
	}
}

/* Where relations have found no room, not only new records need one. */
static void
ask_for_relation(Advice *advice, uint32_t page)
{
	if (advice->relations == NULL || page == INVALID_PAGE)
		return;
	__builtin_prefetch(&advice->relations->of_page[page], 1);
	advice->relations->observed = page;
	advice->head.wants_relation = true;
}

/*
 * Learns from a page that this look has not met yet.  Returns true if it was loaded.  What only
 * large scans read takes its place, but no simulated pool has it.
 */
static bool
learn(Advice *advice, uint32_t page, int buffer, bool moved, int usage, bool scanned)
{
	PageState  *state = &advice->table.pages[page].state;
	uint64_t	look = advice->look.number;
	LookLists  *list = lists_of(advice, look);
	bool		known = met_in_look(*state, look - 1);
	bool		load = advice->look.lost || moved || !known;
	int			amount = 0;

	if (list->nmeetings < advice->max_meetings)
		list->meetings[list->nmeetings++] = (Meeting){buffer, page};
	advice->look.found.scanned += scanned;
	if (load)
	{
		if (!advice->look.lost)
			pbp_follow_load(advice, page, known);
		if (!advice->look.lost || !known)
			state->level = LEVEL_UNKNOWN;
		if (advice->relations_crowded)
			ask_for_relation(advice, page);
		amount = usage > 0 ? usage : 1;
		state->used_again = amount > 1;
	}
	else if (!scanned)
	{
		amount = estimate_uses(advice, state, buffer, usage);
		state->used_again |= amount > 0;
	}
	state->usage = (unsigned) usage;
	state->look = look_field(look);
	if (scanned)
		return false;
	add_events(advice, page, load, amount);
	return load && !advice->look.lost;
}

/* A page that moves during the look may come twice. */
bool
pbp_advice_observe(PbpAdvice *advice, uint64_t key, int buffer, int usage, bool dirty,
				   bool scanned)
{
	bool		moved;
	uint32_t	page = find_page_at(advice, key, buffer, &moved);

	advice->head.wants_relation = false;
	if (usage > advice->usage_max)
		usage = advice->usage_max;
	advice->look.found.residents[group_of((uint32_t) key)]++;
	advice->look.found.saturated += usage == advice->usage_max;
	if (page == INVALID_PAGE)
	{
		page = add_page(advice, key);
		ask_for_relation(advice, page);
	}
	else if (advice->all_relations_wanted)
		ask_for_relation(advice, page);
	if (page == INVALID_PAGE)
		return false;
	advice->table.pages[page].state.dirty = dirty;
	return !met_in_look(advice->table.pages[page].state, advice->look.number) &&
		learn(advice, page, buffer, moved, usage, scanned);
}

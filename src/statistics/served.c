/*-------------------------------------------------------------------------
 *
 * served.c
 *	  Which loads the page cache serves, and which the simulated one does.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/served.h"

/*
 * A page that the pool has not loaded for a day makes room for others: where one load runs by day
 * and another one at night, most loads have an answer.  Each load searches for such pages in so
 * many places.
 */
#define FORGOTTEN_NS		(INT64_C(86400) * 1000000000)

/* No page leaves a page cache in so short a time, about two rounds of questions. */
#define SOON_NS				2000000000
#define CHECKED_BY_LOAD		2

/*
 * A page has answers if it is asked about more often than it is loaded, but for loads that come
 * soon.  If a round of questions takes long, and this share of the pages are loaded in it, fewer
 * are remembered, and all loads are forgotten.  Busy queries come again, so that there are more
 * only if hardly any page has been loaded for hours.
 */
#define MOST_RETURNS		0.06
#define FEW_RETURNS			(MOST_RETURNS / 8)
#define HALF_LIFE_RETURNS_NS	3600e9
#define MOST_HALVINGS		4

/* At this number of loads, the counts are halved. */
#define COUNTS_HALVED		4096.0

bool
pbp_served_has_page(const PbpServed *served, int page)
{
	return served->precedence[page] != 0;
}

/* It makes room for others. */
void
pbp_served_forget_page(PbpServed *served, int page)
{
	served->precedence[page] = 0;
}

static void
scale(PbpServedCounts *counts, float weight)
{
	counts->loads *= weight;
	counts->served *= weight;
	counts->served_more *= weight;
	counts->differing *= weight;
}

static void
scale_loads(PbpServed *served, float weight)
{
	served->known_loads *= weight;
	served->unknown_loads *= weight;
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		scale(&served->pages[i].cached, weight);
		scale(&served->pages[i].recent, weight);
	}
}

static void
count_answers(PbpServedCounts *counts, float kernel, float simulated)
{
	if (isnan(kernel - simulated))
		return;
	counts->loads++;
	counts->served += kernel;
	counts->served_more += kernel - simulated;
	counts->differing += fabsf(kernel - simulated);
}

static void
count_load(PbpServed *served, PbpServedPage *page)
{
	float		served_more = page->kernel.cached - page->simulated.cached;

	if (served->known_loads + served->unknown_loads >= COUNTS_HALVED)
		scale_loads(served, 0.5f);
	if (!page->known)
		served->unknown_loads++;
	if (!page->known || isnan(served_more))
		return;
	served->known_loads++;
	served->fresh_loads++;
	served->fresh_served_more += served_more;
	count_answers(&page->cached, page->kernel.cached, page->simulated.cached);
	count_answers(&page->recent, page->kernel.recent, page->simulated.recent);
}

/* What is unknown remains so. */
static PbpCacheAnswer
answer_if_cached(const PbpCacheAnswer *last)
{
	return (PbpCacheAnswer) {isnan(last->cached) ? NAN : 1, isnan(last->recent) ? NAN : 1};
}

/* In a few places, with each load. */
static void
forget_old_pages(PbpServed *served, int64_t now_ns)
{
	for (int i = 0; i < CHECKED_BY_LOAD; i++)
	{
		if (now_ns - served->pages[served->checked].loaded_ns >= FORGOTTEN_NS)
			pbp_served_forget_page(served, served->checked);
		served->checked = (served->checked + 1) % PBP_SERVED_PAGES;
	}
}

static int
used_places(const PbpServed *served)
{
	return PBP_SERVED_PAGES >> served->halvings;
}

/*
 * The pool has loaded a page.  Returns its number if it is to be remembered from now on, otherwise
 * -1.  Of all pages that belong at the same place, the one of the highest precedence stays.
 */
int
pbp_served_load(PbpServed *served, uint64_t key, int64_t now_ns)
{
	int			number = (int) (key % PBP_SERVED_PAGES);
	PbpServedPage *page = &served->pages[number];
	/* keys of the sample are small numbers, whose low bits choose the place */
	uint32_t	precedence = ~(uint32_t) ((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
	bool		is_new;

	forget_old_pages(served, now_ns);
	if (number >= used_places(served) || precedence < served->precedence[number])
		return -1;
	is_new = served->precedence[number] == 0 || page->key != key;
	served->returns += !is_new && now_ns - page->loaded_ns >= SOON_NS;
	if (is_new)
	{
		*page = (PbpServedPage) {.key = key};
		served->precedence[number] = precedence;
	}
	/* either cache still has what it has just read, if they are asked at all */
	if (page->asked && !page->known && now_ns - page->loaded_ns < SOON_NS)
	{
		page->known = true;
		page->kernel = answer_if_cached(&page->kernel);
		page->simulated = answer_if_cached(&page->simulated);
	}
	count_load(served, page);
	page->known = false;
	page->loaded_ns = now_ns;
	return is_new ? number : -1;
}

/* What the kernel and the simulation say about a page that is remembered. */
void
pbp_served_answer(PbpServed *served, int page, PbpCacheAnswer kernel, PbpCacheAnswer simulated)
{
	PbpServedPage *asked = &served->pages[page];

	asked->known = asked->asked = true;
	asked->kernel = kernel;
	asked->simulated = simulated;
}

/* While the kernel is not asked, anything may happen. */
void
pbp_served_forget_answers(PbpServed *served)
{
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		served->pages[i].known = served->pages[i].asked = false;
}

/* What was loaded until now says nothing about the time to come. */
void
pbp_served_forget_loads(PbpServed *served)
{
	scale_loads(served, 0);
	served->fresh_loads = served->fresh_served_more = 0;
}

/* All remembered pages were asked about, which has taken so long. */
void
pbp_served_end_round(PbpServed *served, int64_t round_ns)
{
	int			npages = 0;
	double		share;

	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		npages += pbp_served_has_page(served, i);
	share = npages > 0 ? served->returns / npages : 0;
	served->returns = 0;
	served->most_returns = fmax(share, served->most_returns *
								exp2(-(double) round_ns / HALF_LIFE_RETURNS_NS));
	/* an answer is half a round old on average */
	served->late_share = fmin(1, share / 2);
	if (round_ns > SOON_NS && share > MOST_RETURNS && served->halvings < MOST_HALVINGS)
	{
		served->halvings++;
		for (int i = used_places(served); i < PBP_SERVED_PAGES; i++)
			pbp_served_forget_page(served, i);
		pbp_served_forget_loads(served);
	}
	else if (served->most_returns < FEW_RETURNS && served->halvings > 0)
		served->halvings--;
}

static inline const PbpServedCounts *
counts_of(const PbpServed *served, int page, bool recent)
{
	return recent ? &served->pages[page].recent : &served->pages[page].cached;
}

/*
 * Variance of the difference, by the pages: loads of one page are not independent.
 * It is not 0 where all agree.
 */
static double
variance(const PbpServed *served, bool recent, double loads, double mean)
{
	double		squares = 1;

	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		const PbpServedCounts *counts = counts_of(served, i, recent);
		double		difference = counts->served_more - mean * counts->loads;

		squares += difference * difference;
	}
	return squares / (loads * loads);
}

/*
 * Of the loads, new_share is of pages that were not read because they are new.  Loads without an
 * answer are most often those of pages that the pool has never held before.  Both caches differ on
 * these as often as on others, but perhaps always in the same way.  Returns the share that the
 * kernel has served, and sets what that is more than the simulation.  NaN: too little is known.
 */
static double
compare(const PbpServed *served, bool recent, double new_share, PbpFigure *more)
{
	double		loads = 0;
	double		share = 0;
	double		served_more = 0;
	double		differing = 0;
	double		unknown;

	*more = PBP_NO_FIGURE;
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		const PbpServedCounts *counts = counts_of(served, i, recent);

		loads += counts->loads;
		share += counts->served;
		served_more += counts->served_more;
		differing += counts->differing;
	}
	if (loads < PBP_ENOUGH_EVENTS)
		return NAN;
	share /= loads;
	unknown = fmax(0, served->unknown_loads - new_share * (loads + served->unknown_loads));
	unknown /= loads + unknown;
	more->value = served_more / loads;
	more->error = PBP_DEVIATIONS * sqrt(variance(served, recent, loads, more->value)) +
		unknown * (differing / loads + fabs(more->value));
	if (more->error > PBP_SERVED_LARGEST_ERROR)
		return NAN;
	more->error += served->late_share * (1 - share);
	return share;
}

/* The share of misses that the page cache serves more than the simulated one. */
PbpFigure
pbp_served_more(const PbpServed *served, double new_share)
{
	PbpFigure	more;

	return isnan(compare(served, false, new_share, &more)) ? PBP_NO_FIGURE : more;
}

/* The shares of misses that the page cache has served, or has evicted recently. */
PbpRecentShares
pbp_served_recent(const PbpServed *served, double new_share)
{
	PbpFigure	more;
	double		share = compare(served, true, new_share, &more);

	return isnan(share) ? (PbpRecentShares) {NAN, NAN, NAN} :
		(PbpRecentShares) {share, share - more.value, more.error};
}

/*
 * The simulated page caches must serve what the real one does.  While they are
 * filled, that may be, too, and serves less than it will.
 */
void
pbp_served_calibrate(PbpServed *served, PbpAdvice *advice, bool asked)
{
	PbpAdviceTotals totals = pbp_advice_totals(advice);
	double		loads = totals.reads + totals.extends;
	double		new_share = totals.extends / loads;
	double		lately = NAN;
	bool		known = asked && loads > 0;

	if (pbp_advice_storage_row(advice, PBP_ADVICE_BASELINE).reason != PBP_STORAGE_KNOWN)
		pbp_served_forget_loads(served);
	if (served->fresh_loads >= PBP_ENOUGH_EVENTS)
	{
		lately = served->fresh_served_more / served->fresh_loads;
		served->fresh_loads = served->fresh_served_more = 0;
	}
	pbp_advice_calibrate(advice, known ? pbp_served_more(served, new_share) : PBP_NO_FIGURE,
						 lately);
	pbp_advice_set_recent(advice, known ? pbp_served_recent(served, new_share) :
						  (PbpRecentShares) {NAN, NAN, NAN});
}

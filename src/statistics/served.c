/*-------------------------------------------------------------------------
 *
 * served.c
 *	  The share of the pool's misses that the page cache serves.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/served.h"

#include <math.h>

/*
 * A page that the pool has not loaded for an hour makes room for others.  Each load
 * searches for such pages in so many places.
 */
#define FORGOTTEN_NS		(INT64_C(3600) * 1000000000)
#define CHECKED_BY_LOAD		2

/* At this number of loads or answers, the counts are halved. */
#define COUNTS_HALVED		4096.0

/*
 * Of the loads that were corrected for what was evicted since the answer, this share is uncertain.
 */
#define DOUBTFUL_SHARE		0.5

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

/* Keys of the sample are small numbers, whose low bits choose the place. */
static inline uint32_t
precedence_of(uint64_t key)
{
	return ~(uint32_t) ((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static void
scale_loads(PbpServed *served, float weight)
{
	served->known_loads *= weight;
	served->unknown_loads *= weight;
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		served->pages[i].loads *= weight;
		served->pages[i].served *= weight;
		served->pages[i].doubtful *= weight;
	}
}

/*
 * The pool has loaded the page.  If it was cached when last asked about, it may
 * have been evicted since.
 */
static void
count_load(PbpServed *served, PbpServedPage *page, int64_t now_ns)
{
	double		age = (double) (now_ns - page->asked_ns);
	double		served_share = 0;

	if (served->known_loads + served->unknown_loads >= COUNTS_HALVED)
		scale_loads(served, 0.5f);
	if (!page->known ||
		(page->cached && !(served->answers >= PBP_ENOUGH_EVENTS && served->cached_ns > 0)))
	{
		served->unknown_loads++;
		return;
	}
	if (page->cached)
	{
		served_share = exp(-fmax(0, age) * served->evictions / served->cached_ns);
		page->doubtful += (float) (1 - served_share);
	}
	served->known_loads++;
	page->loads++;
	page->served += (float) served_share;
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

/*
 * The pool has loaded a page.  Returns its number if it is to be remembered from now on, otherwise
 * -1.  Of all pages that belong at the same place, the one of the highest precedence stays.
 */
int
pbp_served_load(PbpServed *served, uint64_t key, int64_t now_ns)
{
	int			number = (int) (key % PBP_SERVED_PAGES);
	PbpServedPage *page = &served->pages[number];
	uint32_t	precedence = precedence_of(key);
	bool		is_new;

	forget_old_pages(served, now_ns);
	if (precedence < served->precedence[number])
		return -1;
	is_new = served->precedence[number] == 0 || page->key != key;
	if (is_new)
	{
		*page = (PbpServedPage) {.key = key};
		served->precedence[number] = precedence;
	}
	count_load(served, page, now_ns);
	page->known = page->cached = true;
	page->asked_ns = page->loaded_ns = now_ns;
	return is_new ? number : -1;
}

/*
 * What the kernel says about a page that is remembered.  Pages that are loaded
 * often are evicted more rarely, so each counts as often as it was loaded.
 */
void
pbp_served_answer(PbpServed *served, int page, bool cached, int64_t now_ns)
{
	PbpServedPage *asked = &served->pages[page];
	double		age = (double) (now_ns - asked->asked_ns);

	if (asked->known && asked->cached && age > 0)
	{
		if (served->answers >= COUNTS_HALVED)
		{
			served->answers /= 2;
			served->evictions /= 2;
			served->cached_ns /= 2;
		}
		served->answers++;
		served->evictions += cached ? 0 : asked->loads;
		served->cached_ns += asked->loads * (cached ? age : age / 2);
	}
	asked->known = true;
	asked->cached = cached;
	asked->asked_ns = now_ns;
}

/* While the kernel is not asked, anything may happen. */
void
pbp_served_forget_answers(PbpServed *served)
{
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		served->pages[i].known = false;
}

/* What was loaded until now says nothing about the time to come. */
void
pbp_served_forget_loads(PbpServed *served)
{
	scale_loads(served, 0);
}

/*
 * Variance of the share, by the pages: loads of one page are not independent.
 * It is not 0 where all agree.
 */
static double
variance(const PbpServed *served, double loads, double served_loads)
{
	double		share = served_loads / loads;
	double		corrected = (served_loads + 1) / (loads + 2);
	double		squares = 0;

	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		double		difference = served->pages[i].served - share * served->pages[i].loads;

		squares += difference * difference;
	}
	return fmax(squares / (loads * loads), corrected * (1 - corrected) / loads);
}

/*
 * The share of misses that the page cache serves.  Of the loads, new_share is of pages that were
 * not read because they are new.  Loads without an answer are most often those of pages that the
 * pool has never held before.  Returns false if too little is known.
 */
bool
pbp_served_share(const PbpServed *served, double new_share, PbpFigure *result)
{
	double		loads = 0;
	double		served_loads = 0;
	double		doubtful = 0;
	double		unknown;

	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		loads += served->pages[i].loads;
		served_loads += served->pages[i].served;
		doubtful += served->pages[i].doubtful;
	}
	if (loads < PBP_ENOUGH_EVENTS)
		return false;
	unknown = fmax(0, served->unknown_loads - new_share * (loads + served->unknown_loads));
	unknown /= loads + unknown;
	result->value = served_loads / loads;
	result->error = PBP_DEVIATIONS * sqrt(variance(served, loads, served_loads)) +
		DOUBTFUL_SHARE * doubtful / loads +
		unknown * fmax(result->value, 1 - result->value);
	return result->error <= PBP_SERVED_LARGEST_ERROR;
}

/*
 * The simulated page caches must serve what the real one does.  While they are
 * filled, that may be, too, and serves less than it will.
 */
void
pbp_served_calibrate(PbpServed *served, PbpAdvice *advice, bool asked)
{
	PbpAdviceTotals totals;
	PbpAdviceStorageRow today;
	PbpFigure	share;
	double		loads;

	pbp_advice_totals(advice, &totals);
	pbp_advice_storage_row(advice, PBP_ADVICE_BASELINE, &today);
	if (today.reason != PBP_STORAGE_KNOWN)
		pbp_served_forget_loads(served);
	loads = totals.reads + totals.extends;
	if (!asked || loads <= 0 || !pbp_served_share(served, totals.extends / loads, &share))
		share = (PbpFigure) {NAN, NAN};
	pbp_advice_calibrate(advice, share.value, share.error);
}

/*
 * exact_mglru.c
 *	  An exact model of the kernel's page cache with MGLRU, for exact_caches.c.
 *
 * This follows mm/vmscan.c of Linux 6.12 or 7.2 with its batches and priorities, for a cgroup
 * without mapped pages, swap and writeback.  It shares no code with src/simulator, which
 * evicts page by page.
 */
#include <stdlib.h>

#include "exact_caches.h"

#define TIERS			4
#define FOLIOS			(BLOCK_BYTES / 4096)	/* in a page */
#define BATCH			(64 / FOLIOS)
#define NEEDED			(32 / FOLIOS)
#define DEF_PRIORITY	12

/* PG_workingset, and the number of accesses, of which PG_referenced is the first. */
#define WORKINGSET		8
#define ACCESSES		7

static int
tier(int flags)
{
	int			accesses = flags & ACCESSES;

	if (flags & WORKINGSET || accesses == 5)
		return 3;
	return accesses >= 3 ? 2 : accesses == 2;
}

static bool
is_full(const KernelCache *cache, int flags)
{
	return cache->new_mglru ? flags == (4 | WORKINGSET) : flags == 5;
}

static void
mark_accessed(const KernelCache *cache, KernelPage *page)
{
	int			accesses = page->flags & ACCESSES;

	if (accesses < (cache->new_mglru ? 4 : 5))
		page->flags++;
	else if (cache->new_mglru)
		page->flags |= WORKINGSET;
}

/* get_tier_idx() and positive_ctrl_err() */
static int
tier_idx(const KernelCache *cache)
{
	const TierCounts *t = cache->tiers;

	for (int i = 1; i < TIERS; i++)
	{
		double		refaulted = t[i].refaulted + t[i].avg_refaulted;
		double		total = t[i].total + t[i].avg_total;
		double		gain = cache->new_mglru ? 1.5 : 2;

		if (refaulted >= BATCH && refaulted * (t[0].total + t[0].avg_total + BATCH) >
			(t[0].refaulted + t[0].avg_refaulted + 1.0 / FOLIOS) * total * gain)
			return i - 1;
	}
	return TIERS - 1;
}

/* try_to_inc_min_seq() and reset_ctrl_pos() */
static void
inc_min_seq(KernelCache *cache)
{
	while (cache->min_seq + 2 <= cache->max_seq && cache->lists[cache->min_seq % 4].npages == 0)
	{
		cache->min_seq++;
		for (int i = 0; i < TIERS; i++)
		{
			TierCounts *t = &cache->tiers[i];

			t->avg_refaulted = (t->avg_refaulted + t->refaulted) / 2;
			t->avg_total = (t->avg_total + t->total) / 2;
			t->refaulted = t->total = 0;
		}
	}
}

/* scan_folios(): returns how many pages were evicted, of at most so many that are scanned. */
static int
scan(KernelCache *cache, int most, int *nscanned)
{
	KernelList *oldest = &cache->lists[cache->min_seq % 4];
	int			highest = tier_idx(cache);
	int			nevicted = 0;

	for (*nscanned = 0; *nscanned < most && nevicted < BATCH && oldest->npages > 0; ++*nscanned)
	{
		int			page = oldest->oldest;
		KernelPage *record = &cache->pages[page];
		TierCounts *t = &cache->tiers[tier(record->flags)];

		cache_take_out(cache, page);
		if (tier(record->flags) > highest || is_full(cache, record->flags))
		{
			t->total += !cache->new_mglru || !is_full(cache, record->flags);
			record->flags &= WORKINGSET;
			if (cache->new_mglru)
				cache_put_in(cache, page, (int) ((cache->min_seq + 1) % 4));
			else
				cache_put_in_last(cache, page, (int) ((cache->min_seq + 1) % 4));
			continue;
		}
		t->total++;
		record->evicted_at = cache->min_seq;
		nevicted++;
	}
	return nevicted;
}

static int
npages(const KernelCache *cache)
{
	return cache->lists[0].npages + cache->lists[1].npages + cache->lists[2].npages + cache->lists[3].npages;
}

/* try_to_shrink_lruvec() of 6.12, at a priority */
static int
shrink_old(KernelCache *cache, int priority)
{
	bool		needs_aging = cache->min_seq + 2 == cache->max_seq &&
		cache->lists[cache->min_seq % 4].npages * 4 < npages(cache);
	int			ignored;
	int			nevicted;

	if (cache->min_seq + 2 > cache->max_seq || (needs_aging && priority < DEF_PRIORITY))
	{
		cache->max_seq++;
		return 0;
	}
	nevicted = scan(cache, 64 * BATCH, &ignored);
	inc_min_seq(cache);
	return nevicted;
}

/* ... and of 7.2 */
static int
shrink_new(KernelCache *cache, int priority)
{
	int			nevicted = 0;
	int			nscanned = 1;

	for (int left = npages(cache) * FOLIOS >> priority; left > 0 && nscanned > 0 && nevicted < NEEDED; left -= nscanned * FOLIOS)
	{
		int			most = left < 64 ? left / FOLIOS : BATCH;

		if (cache->min_seq + 2 > cache->max_seq || (priority < DEF_PRIORITY && cache->min_seq + 2 == cache->max_seq))
			cache->max_seq++;
		inc_min_seq(cache);
		nevicted += scan(cache, most > 0 ? most : 1, &nscanned);
		inc_min_seq(cache);
	}
	return nevicted;
}

void
mglru_reclaim(KernelCache *cache)
{
	int			nevicted = 0;

	for (int priority = DEF_PRIORITY; priority >= 0 && nevicted < NEEDED; priority--)
		nevicted += cache->new_mglru ? shrink_new(cache, priority) : shrink_old(cache, priority);
}

/* lru_gen_refault() */
static void
refault(KernelCache *cache, KernelPage *page)
{
	int			evicted = page->flags;
	bool		recent = cache->new_mglru ? llabs(cache->max_seq - page->evicted_at) < 4 : page->evicted_at == cache->min_seq;

	page->flags = 0;
	if (!recent || page->evicted_at < 0)
		return;
	cache->tiers[tier(evicted)].refaulted++;
	if (cache->new_mglru)
		page->flags = evicted & WORKINGSET;
	else if (evicted >= 4)
		page->flags = 4;
}

static void
add(KernelCache *cache, int page)
{
	int64_t		seq = cache->min_seq + 2 < cache->max_seq ? cache->min_seq + 1 : cache->min_seq;

	cache_put_in(cache, page, (int) (seq % 4));
}

/* True if the read waits for storage. */
bool
mglru_read(KernelCache *cache, int page)
{
	KernelPage *record = &cache->pages[page];
	bool		waits = record->list == NONE;

	if (waits && cache->capacity <= 0)
		return true;
	if (waits)
	{
		while (npages(cache) >= cache->capacity)
			mglru_reclaim(cache);
		refault(cache, record);
		add(cache, page);
	}
	mark_accessed(cache, record);
	return waits;
}

void
mglru_write(KernelCache *cache, int page)
{
	if (cache->pages[page].list != NONE || cache->capacity <= 0)
		return;
	while (npages(cache) >= cache->capacity)
		mglru_reclaim(cache);
	cache->pages[page].flags = 0;
	add(cache, page);
}

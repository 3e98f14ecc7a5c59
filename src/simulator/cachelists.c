/*-------------------------------------------------------------------------
 *
 * cachelists.c
 *	  The two lists of a simulated page cache, which each policy uses in its
 *	  own way.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

/* Takes a page out of its list.  It stays resident. */
void
pbp_unlink_cached_page(CacheSet *set, int cache, uint16_t page)
{
	CachedPage *record = cached_page(set, page);
	CacheEntry	entry = record->entries[cache];

	cached_page(set, entry.newer)->entries[cache].older = entry.older;
	cached_page(set, entry.older)->entries[cache].newer = entry.newer;
	set->caches[cache].npages[in_set(record->active, cache)]--;
	record->active &= (uint16_t) ~(1 << cache);
}

/* Makes it the newest page of a list, or the oldest. */
void
pbp_link_cached_page(CacheSet *set, int cache, uint16_t page, bool active, bool as_oldest)
{
	CachedPage *record = cached_page(set, page);
	uint16_t	newer = as_oldest ? oldest_page(set, cache, active) : end_of(set, active);
	CacheEntry *neighbor = &cached_page(set, newer)->entries[cache];

	record->entries[cache].newer = newer;
	record->entries[cache].older = neighbor->older;
	cached_page(set, neighbor->older)->entries[cache].newer = page;
	neighbor->older = page;
	set->caches[cache].npages[active]++;
	record->active |= (uint16_t) (active << cache);
}

/* Evicts a page. */
void
pbp_drop_cached_page(CacheSet *set, int cache, uint16_t page, uint32_t evicted_at)
{
	CachedPage *record = cached_page(set, page);

	pbp_unlink_cached_page(set, cache, page);
	record->resident &= (uint16_t) ~(1 << cache);
	record->evicted |= (uint16_t) (1 << cache);
	record->entries[cache].evicted_at = evicted_at;
}

/* Makes room for npages more pages. */
void
pbp_make_room(CacheSet *set, int cache, uint32_t npages)
{
	SimulatedCache *simulated = &set->caches[cache];

	while (all_pages(simulated) + npages > simulated->capacity && all_pages(simulated) > 0)
	{
		simulated->was_full = true;
		set->policy->evict(set, cache);
	}
}

/* Adds a page that is not resident, and for which there is room. */
void
pbp_keep_cached_page(CacheSet *set, int cache, uint16_t page, bool active)
{
	CachedPage *record = cached_page(set, page);

	record->evicted &= (uint16_t) ~(1 << cache);
	record->resident |= (uint16_t) (1 << cache);
	pbp_link_cached_page(set, cache, page, active, false);
}

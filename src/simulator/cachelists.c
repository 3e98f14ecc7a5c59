/*-------------------------------------------------------------------------
 *
 * cachelists.c
 *	  The two lists of a simulated page cache, which each policy uses in its
 *	  own way.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

static inline CacheList *
list_of(SimulatedCache *simulated, bool active)
{
	return active ? &simulated->active : &simulated->inactive;
}

/* Takes a page out of its list.  It stays resident. */
void
pbp_unlink_cached_page(CacheSet *set, int cache, uint16_t page)
{
	CacheEntry	entry = cached_page(set, page)->entries[cache];
	CacheList  *list = list_of(&set->caches[cache], in_set(cached_page(set, page)->active, cache));

	if (entry.newer == NO_RECORD)
		list->newest = entry.older;
	else
		cached_page(set, entry.newer)->entries[cache].older = entry.older;
	if (entry.older == NO_RECORD)
		list->oldest = entry.newer;
	else
		cached_page(set, entry.older)->entries[cache].newer = entry.newer;
	list->npages--;
	cached_page(set, page)->active &= (uint16_t) ~(1 << cache);
}

/* Makes it the newest page of a list. */
void
pbp_link_cached_page(CacheSet *set, int cache, uint16_t page, bool active)
{
	CachedPage *record = cached_page(set, page);
	CacheList  *list = list_of(&set->caches[cache], active);

	record->entries[cache].newer = NO_RECORD;
	record->entries[cache].older = list->newest;
	if (list->newest == NO_RECORD)
		list->oldest = page;
	else
		cached_page(set, list->newest)->entries[cache].newer = page;
	list->newest = page;
	list->npages++;
	record->active |= (uint16_t) (active << cache);
}

/* Makes it the oldest page of a list. */
void
pbp_link_oldest_cached_page(CacheSet *set, int cache, uint16_t page, bool active)
{
	CachedPage *record = cached_page(set, page);
	CacheList  *list = list_of(&set->caches[cache], active);

	record->entries[cache].older = NO_RECORD;
	record->entries[cache].newer = list->oldest;
	if (list->oldest == NO_RECORD)
		list->newest = page;
	else
		cached_page(set, list->oldest)->entries[cache].older = page;
	list->oldest = page;
	list->npages++;
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

	while (simulated->inactive.npages + simulated->active.npages + npages > simulated->capacity &&
		   simulated->inactive.npages + simulated->active.npages > 0)
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
	pbp_link_cached_page(set, cache, page, active);
}

void
pbp_resize_cache(CacheSet *set, int cache, uint32_t capacity)
{
	set->caches[cache].capacity = capacity;
	pbp_make_room(set, cache, 0);
}

/*-------------------------------------------------------------------------
 *
 * kernellists.c
 *	  Which pages the page cache keeps: the policy of Linux without MGLRU.
 *
 * The kernel has two lists.  A page that is read for the first time enters the
 * inactive one, and the active one when it is read again.  The oldest inactive
 * page is evicted; when too few pages are inactive, the oldest active ones
 * become so.  A page that returns soon after its eviction becomes active at
 * once: soon is within as many evictions and activations as there are active
 * pages.
 *
 * Another policy has another file with these functions.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

/* Refaults at which little decides, relative to the active list: just evicted, or nearly soon. */
#define JUST_EVICTED		0.2
#define LEAST_NEAR_SOON		0.85
#define MOST_NEAR_SOON		1.2

void
pbp_begin_cache(SimulatedCache *simulated)
{
	*simulated = (SimulatedCache)
	{
		.learning = true,
		.inactive = {0, NO_RECORD, NO_RECORD},
		.active = {0, NO_RECORD, NO_RECORD},
	};
}

static inline bool
in_set(uint16_t set, int cache)
{
	return set >> cache & 1;
}

static void
unlink_from_list(CacheSet *set, CacheList *list, int cache, uint16_t page)
{
	CacheEntry	entry = cached_page(set, page)->entries[cache];

	if (entry.newer == NO_RECORD)
		list->newest = entry.older;
	else
		cached_page(set, entry.newer)->entries[cache].older = entry.older;
	if (entry.older == NO_RECORD)
		list->oldest = entry.newer;
	else
		cached_page(set, entry.older)->entries[cache].newer = entry.newer;
	list->npages--;
}

static void
add_to_list(CacheSet *set, CacheList *list, int cache, uint16_t page)
{
	CacheEntry *entry = &cached_page(set, page)->entries[cache];

	entry->newer = NO_RECORD;
	entry->older = list->newest;
	if (list->newest == NO_RECORD)
		list->oldest = page;
	else
		cached_page(set, list->newest)->entries[cache].newer = page;
	list->newest = page;
	list->npages++;
}

static void
activate(CacheSet *set, int cache, uint16_t page)
{
	SimulatedCache *simulated = &set->caches[cache];

	unlink_from_list(set, &simulated->inactive, cache, page);
	add_to_list(set, &simulated->active, cache, page);
	cached_page(set, page)->active |= (uint16_t) (1 << cache);
	simulated->age++;
}

/* The kernel restores the ratio of the lists only when it evicts. */
static void
evict(CacheSet *set, int cache)
{
	SimulatedCache *simulated = &set->caches[cache];
	uint16_t	bit = (uint16_t) (1 << cache);
	uint16_t	page;

	simulated->was_full = true;
	while (simulated->inactive.npages * simulated->ratio < simulated->active.npages)
	{
		page = simulated->active.oldest;
		unlink_from_list(set, &simulated->active, cache, page);
		add_to_list(set, &simulated->inactive, cache, page);
		cached_page(set, page)->active &= (uint16_t) ~bit;
	}
	page = simulated->inactive.oldest;
	unlink_from_list(set, &simulated->inactive, cache, page);
	cached_page(set, page)->resident &= (uint16_t) ~bit;
	cached_page(set, page)->evicted |= bit;
	cached_page(set, page)->entries[cache].evicted_at = simulated->age++;
}

/* Makes room for npages more pages. */
static void
make_room(CacheSet *set, int cache, uint32_t npages)
{
	SimulatedCache *simulated = &set->caches[cache];

	while (simulated->inactive.npages + simulated->active.npages + npages > simulated->capacity &&
		   simulated->inactive.npages + simulated->active.npages > 0)
		evict(set, cache);
}

/* How much the cache has aged since it evicted the page.  UINT32_MAX: it never did. */
static inline uint32_t
refault_distance(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return in_set(page->evicted, cache) ?
		simulated->age - page->entries[cache].evicted_at : UINT32_MAX;
}

/* Add a page that is not resident. */
static void
insert(CacheSet *set, int cache, uint16_t page, bool active)
{
	CachedPage *record = cached_page(set, page);

	if (set->caches[cache].capacity == 0)
		return;
	make_room(set, cache, 1);
	record->evicted &= (uint16_t) ~(1 << cache);
	record->resident |= (uint16_t) (1 << cache);
	add_to_list(set, &set->caches[cache].inactive, cache, page);
	if (active)
		activate(set, cache, page);
}

CacheRead
pbp_read_cached_page(CacheSet *set, int cache, uint16_t page)
{
	const SimulatedCache *simulated = &set->caches[cache];
	const CachedPage *record = cached_page(set, page);
	uint32_t	nactive = simulated->active.npages;
	uint32_t	distance;

	if (in_set(record->resident, cache))
	{
		if (!in_set(record->active, cache))
			activate(set, cache, page);
		return CACHE_HIT;
	}
	distance = refault_distance(simulated, record, cache);
	insert(set, cache, page, distance <= nactive);
	return distance < JUST_EVICTED * nactive ||
		(distance > LEAST_NEAR_SOON * nactive && distance < MOST_NEAR_SOON * nactive) ?
		CACHE_CLOSE_CALL : CACHE_MISS;
}

/* Unlike a read, a write activates no page, not even one that returns soon. */
void
pbp_write_cached_page(CacheSet *set, int cache, uint16_t page)
{
	if (!in_set(cached_page(set, page)->resident, cache))
		insert(set, cache, page, false);
}

void
pbp_resize_cache(CacheSet *set, int cache, uint32_t capacity)
{
	set->caches[cache].capacity = capacity;
	make_room(set, cache, 0);
}

/* Forgets a page, evicted or not. */
void
pbp_remove_cached_page(CacheSet *set, int cache, uint16_t page)
{
	SimulatedCache *simulated = &set->caches[cache];
	const CachedPage *record = cached_page(set, page);

	if (in_set(record->resident, cache))
		unlink_from_list(set, in_set(record->active, cache) ?
						 &simulated->active : &simulated->inactive, cache, page);
}

/* True if the return of a page may matter, even if the active list grows by then. */
bool
pbp_may_return_soon(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return refault_distance(simulated, page, cache) <= simulated->capacity;
}

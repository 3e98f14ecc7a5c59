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
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

/* Refaults at which little decides, relative to the active list: just evicted, or nearly soon. */
#define JUST_EVICTED		0.2
#define LEAST_NEAR_SOON		0.85
#define MOST_NEAR_SOON		1.2

/* The kernel restores the ratio of the lists only when it evicts. */
static void
evict(CacheSet *set, int cache)
{
	SimulatedCache *simulated = &set->caches[cache];

	while (simulated->npages[false] * simulated->ratio < simulated->npages[true])
	{
		uint16_t	page = oldest_page(set, cache, true);

		pbp_unlink_cached_page(set, cache, page);
		pbp_link_cached_page(set, cache, page, false, false);
	}
	pbp_drop_cached_page(set, cache, oldest_page(set, cache, false), simulated->age++);
}

/* How much the cache has aged since it evicted the page.  UINT32_MAX: it never did. */
static inline uint32_t
refault_distance(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return in_set(page->evicted, cache) ?
		simulated->age - page->entries[cache].evicted_at : UINT32_MAX;
}

static void
insert(CacheSet *set, int cache, uint16_t page, unsigned uses)
{
	pbp_make_room(set, cache, 1);
	pbp_keep_cached_page(set, cache, page, uses > 0);
	set->caches[cache].age += uses;
}

static CacheRead
read(CacheSet *set, int cache, uint16_t page)
{
	SimulatedCache *simulated = &set->caches[cache];
	const CachedPage *record = cached_page(set, page);
	uint32_t	nactive = simulated->npages[true];
	uint32_t	distance;

	if (in_set(record->resident, cache))
	{
		if (!in_set(record->active, cache))
		{
			pbp_unlink_cached_page(set, cache, page);
			pbp_link_cached_page(set, cache, page, true, false);
			simulated->age++;
		}
		return CACHE_HIT;
	}
	distance = refault_distance(simulated, record, cache);
	if (simulated->capacity > 0)
		insert(set, cache, page, distance <= nactive);
	return distance < JUST_EVICTED * nactive ||
		(distance > LEAST_NEAR_SOON * nactive && distance < MOST_NEAR_SOON * nactive) ?
		CACHE_CLOSE_CALL : CACHE_MISS;
}

/* True if the return of a page may matter, even if the active list grows by then. */
static bool
may_return_soon(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return refault_distance(simulated, page, cache) <= simulated->capacity;
}

/* workingset_test_recent() of mm/workingset.c */
static bool
evicted_recently(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return refault_distance(simulated, page, cache) <= simulated->npages[true];
}

const CachePolicy pbp_kernel_lists = {
	.records_per_page = 1.7,
	.evict = evict,
	.read = read,
	.insert = insert,
	.may_return_soon = may_return_soon,
	.evicted_recently = evicted_recently,
};

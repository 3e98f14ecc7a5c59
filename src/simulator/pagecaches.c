/*-------------------------------------------------------------------------
 *
 * pagecaches.c
 *	  Simulated page caches, by the kernel's algorithm, and the records of
 *	  their pages.
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

/* Records that are tried before one is taken that may be needed. */
#define ENOUGH_TRIES		64

/*
 * Distances of refaults at which little decides, relative to the active list:
 * the page was evicted just before, or nearly became active or inactive.
 */
#define JUST_EVICTED		0.2
#define LEAST_NEAR_SOON		0.85
#define MOST_NEAR_SOON		1.2

/* ---- lists ---- */

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

static bool
is_close_call(uint32_t distance, uint32_t nactive)
{
	return distance < JUST_EVICTED * nactive ||
		(distance > LEAST_NEAR_SOON * nactive && distance < MOST_NEAR_SOON * nactive);
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
	return is_close_call(distance, nactive) ? CACHE_CLOSE_CALL : CACHE_MISS;
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

/* ---- records ---- */

void
pbp_forget_cached_pages(CacheSet *set)
{
	set->npages = set->reclaimer = 0;
	for (uint32_t i = 0; i < set->nheads; i++)
		set->heads[i] = NO_RECORD;
	for (int cache = 0; cache < set->ncaches; cache++)
		set->caches[cache] = (SimulatedCache)
		{
			.learning = true,
			.inactive = {0, NO_RECORD, NO_RECORD},
			.active = {0, NO_RECORD, NO_RECORD},
		};
}

static inline uint16_t *
head_of(const CacheSet *set, uint32_t fingerprint)
{
	uint64_t	mixed = (fingerprint * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

	return &set->heads[mixed * set->nheads >> 32];
}

static void
unlink_from_chain(CacheSet *set, uint16_t page)
{
	uint16_t   *link = head_of(set, cached_page(set, page)->fingerprint);

	while (*link != page)
		link = &cached_page(set, *link)->next;
	*link = cached_page(set, page)->next;
}

static void
add_to_chain(CacheSet *set, uint16_t page)
{
	uint16_t   *head = head_of(set, cached_page(set, page)->fingerprint);

	cached_page(set, page)->next = *head;
	*head = page;
}

/* True if its return may matter to a cache, whose active list may grow by then. */
static bool
may_return_soon(const CacheSet *set, const CachedPage *page)
{
	for (int cache = 0; cache < set->ncaches; cache++)
	{
		const SimulatedCache *simulated = &set->caches[cache];

		if (refault_distance(simulated, page, cache) <= simulated->capacity)
			return true;
	}
	return false;
}

/* Returns a record for one more page; NO_RECORD if all are of resident pages. */
static uint16_t
free_record(CacheSet *set)
{
	uint16_t	found = NO_RECORD;

	if (set->npages < set->max_pages)
		return (uint16_t) set->npages++;
	for (uint32_t tried = 0; tried < set->max_pages; tried++)
	{
		const CachedPage *page = cached_page(set, set->reclaimer);

		if (page->resident == 0)
		{
			found = (uint16_t) set->reclaimer;
			if (!may_return_soon(set, page))
				break;
		}
		set->reclaimer = (set->reclaimer + 1) % set->max_pages;
		if (found != NO_RECORD && tried >= ENOUGH_TRIES)
		{
			set->ndropped++;
			break;
		}
	}
	if (found != NO_RECORD)
		unlink_from_chain(set, found);
	return found;
}

/* Find the record of a page, or add one. */
uint16_t
pbp_find_cached_page(CacheSet *set, uint32_t fingerprint)
{
	uint16_t	page = *head_of(set, fingerprint);

	while (page != NO_RECORD && cached_page(set, page)->fingerprint != fingerprint)
		page = cached_page(set, page)->next;
	if (page != NO_RECORD)
		return page;

	page = free_record(set);
	if (page == NO_RECORD)
	{
		set->ndropped++;
		return NO_RECORD;
	}
	*cached_page(set, page) = (CachedPage) {.fingerprint = fingerprint};
	add_to_chain(set, page);
	return page;
}

/* Forget the pages above a lower threshold.  Their records become free. */
void
pbp_thin_out_records(CacheSet *set)
{
	for (uint32_t i = 0; i < set->npages; i++)
	{
		CachedPage *page = cached_page(set, i);

		check_interrupts(i);
		if (page->fingerprint <= set->threshold)
			continue;
		for (int cache = 0; cache < set->ncaches; cache++)
		{
			SimulatedCache *simulated = &set->caches[cache];
			bool		is_active = in_set(page->active, cache);

			if (in_set(page->resident, cache))
				unlink_from_list(set, is_active ? &simulated->active : &simulated->inactive,
								 cache, (uint16_t) i);
		}
		page->resident = page->active = page->evicted = 0;
	}
}

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
#include "simulator/storage.h"

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
unlink_from_list(Storage *storage, CacheList *list, int cache, uint16_t page)
{
	CacheEntry	entry = cached_page(storage, page)->entries[cache];

	if (entry.newer == NO_RECORD)
		list->newest = entry.older;
	else
		cached_page(storage, entry.newer)->entries[cache].older = entry.older;
	if (entry.older == NO_RECORD)
		list->oldest = entry.newer;
	else
		cached_page(storage, entry.older)->entries[cache].newer = entry.newer;
	list->npages--;
}

static void
add_to_list(Storage *storage, CacheList *list, int cache, uint16_t page)
{
	CacheEntry *entry = &cached_page(storage, page)->entries[cache];

	entry->newer = NO_RECORD;
	entry->older = list->newest;
	if (list->newest == NO_RECORD)
		list->oldest = page;
	else
		cached_page(storage, list->newest)->entries[cache].newer = page;
	list->newest = page;
	list->npages++;
}

static void
activate(Storage *storage, int cache, uint16_t page)
{
	SimulatedCache *simulated = &storage->caches[cache];

	unlink_from_list(storage, &simulated->inactive, cache, page);
	add_to_list(storage, &simulated->active, cache, page);
	cached_page(storage, page)->active |= (uint16_t) (1 << cache);
	simulated->age++;
}

/* The kernel restores the ratio of the lists only when it evicts. */
static void
evict(Storage *storage, int cache)
{
	SimulatedCache *simulated = &storage->caches[cache];
	uint16_t	bit = (uint16_t) (1 << cache);
	uint16_t	page;

	simulated->was_full = true;
	while (simulated->inactive.npages * simulated->ratio < simulated->active.npages)
	{
		page = simulated->active.oldest;
		unlink_from_list(storage, &simulated->active, cache, page);
		add_to_list(storage, &simulated->inactive, cache, page);
		cached_page(storage, page)->active &= (uint16_t) ~bit;
	}
	page = simulated->inactive.oldest;
	unlink_from_list(storage, &simulated->inactive, cache, page);
	cached_page(storage, page)->resident &= (uint16_t) ~bit;
	cached_page(storage, page)->evicted |= bit;
	cached_page(storage, page)->entries[cache].evicted_at = simulated->age++;
}

/* Makes room for npages more pages. */
static void
make_room(Storage *storage, int cache, uint32_t npages)
{
	SimulatedCache *simulated = &storage->caches[cache];

	while (simulated->inactive.npages + simulated->active.npages + npages > simulated->capacity &&
		   simulated->inactive.npages + simulated->active.npages > 0)
		evict(storage, cache);
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
insert(Storage *storage, int cache, uint16_t page, bool active)
{
	CachedPage *record = cached_page(storage, page);

	if (storage->caches[cache].capacity == 0)
		return;
	make_room(storage, cache, 1);
	record->evicted &= (uint16_t) ~(1 << cache);
	record->resident |= (uint16_t) (1 << cache);
	add_to_list(storage, &storage->caches[cache].inactive, cache, page);
	if (active)
		activate(storage, cache, page);
}

static bool
is_close_call(uint32_t distance, uint32_t nactive)
{
	return distance < JUST_EVICTED * nactive ||
		(distance > LEAST_NEAR_SOON * nactive && distance < MOST_NEAR_SOON * nactive);
}

CacheRead
pbp_read_cached_page(Storage *storage, int cache, uint16_t page)
{
	const SimulatedCache *simulated = &storage->caches[cache];
	const CachedPage *record = cached_page(storage, page);
	uint32_t	nactive = simulated->active.npages;
	uint32_t	distance;

	if (in_set(record->resident, cache))
	{
		if (!in_set(record->active, cache))
			activate(storage, cache, page);
		return CACHE_HIT;
	}
	distance = refault_distance(simulated, record, cache);
	insert(storage, cache, page, distance <= nactive);
	return is_close_call(distance, nactive) ? CACHE_CLOSE_CALL : CACHE_MISS;
}

/* Unlike a read, a write activates no page, not even one that returns soon. */
void
pbp_write_cached_page(Storage *storage, int cache, uint16_t page)
{
	if (!in_set(cached_page(storage, page)->resident, cache))
		insert(storage, cache, page, false);
}

void
pbp_resize_cache(Storage *storage, int cache, uint32_t capacity)
{
	storage->caches[cache].capacity = capacity;
	make_room(storage, cache, 0);
}

/* ---- records ---- */

void
pbp_forget_cached_pages(Storage *storage)
{
	storage->npages = storage->reclaimer = 0;
	for (uint32_t i = 0; i < storage->nheads; i++)
		storage->heads[i] = NO_RECORD;
	for (int cache = 0; cache < storage->ncaches; cache++)
		storage->caches[cache] = (SimulatedCache)
		{
			.learning = true,
			.inactive = {0, NO_RECORD, NO_RECORD},
			.active = {0, NO_RECORD, NO_RECORD},
		};
}

static inline uint16_t *
head_of(const Storage *storage, uint32_t fingerprint)
{
	uint64_t	mixed = (fingerprint * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

	return &storage->heads[mixed * storage->nheads >> 32];
}

static void
unlink_from_chain(Storage *storage, uint16_t page)
{
	uint16_t   *link = head_of(storage, cached_page(storage, page)->fingerprint);

	while (*link != page)
		link = &cached_page(storage, *link)->next;
	*link = cached_page(storage, page)->next;
}

static void
add_to_chain(Storage *storage, uint16_t page)
{
	uint16_t   *head = head_of(storage, cached_page(storage, page)->fingerprint);

	cached_page(storage, page)->next = *head;
	*head = page;
}

/* True if its return may matter to a cache, whose active list may grow by then. */
static bool
may_return_soon(const Storage *storage, const CachedPage *page)
{
	for (int cache = 0; cache < storage->ncaches; cache++)
	{
		const SimulatedCache *simulated = &storage->caches[cache];

		if (refault_distance(simulated, page, cache) <= simulated->capacity)
			return true;
	}
	return false;
}

/* Returns a record for one more page; NO_RECORD if all are of resident pages. */
static uint16_t
free_record(Storage *storage)
{
	uint16_t	found = NO_RECORD;

	if (storage->npages < storage->max_pages)
		return (uint16_t) storage->npages++;
	for (uint32_t tried = 0; tried < storage->max_pages; tried++)
	{
		const CachedPage *page = cached_page(storage, storage->reclaimer);

		if (page->resident == 0)
		{
			found = (uint16_t) storage->reclaimer;
			if (!may_return_soon(storage, page))
				break;
		}
		storage->reclaimer = (storage->reclaimer + 1) % storage->max_pages;
		if (found != NO_RECORD && tried >= ENOUGH_TRIES)
		{
			storage->ndropped++;
			break;
		}
	}
	if (found != NO_RECORD)
		unlink_from_chain(storage, found);
	return found;
}

/* Find the record of a page, or add one. */
uint16_t
pbp_find_cached_page(Storage *storage, uint32_t fingerprint)
{
	uint16_t	page = *head_of(storage, fingerprint);

	while (page != NO_RECORD && cached_page(storage, page)->fingerprint != fingerprint)
		page = cached_page(storage, page)->next;
	if (page != NO_RECORD)
		return page;

	page = free_record(storage);
	if (page == NO_RECORD)
	{
		storage->ndropped++;
		return NO_RECORD;
	}
	*cached_page(storage, page) = (CachedPage) {.fingerprint = fingerprint};
	add_to_chain(storage, page);
	return page;
}

/* Forget the pages above a lower threshold.  Their records become free. */
void
pbp_thin_out_records(Storage *storage)
{
	for (uint32_t i = 0; i < storage->npages; i++)
	{
		CachedPage *page = cached_page(storage, i);

		check_interrupts(i);
		if (page->fingerprint <= storage->threshold)
			continue;
		for (int cache = 0; cache < storage->ncaches; cache++)
		{
			SimulatedCache *simulated = &storage->caches[cache];
			bool		is_active = in_set(page->active, cache);

			if (in_set(page->resident, cache))
				unlink_from_list(storage, is_active ? &simulated->active : &simulated->inactive,
								 cache, (uint16_t) i);
		}
		page->resident = page->active = page->evicted = 0;
	}
}

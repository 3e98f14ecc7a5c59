/*-------------------------------------------------------------------------
 *
 * kernelgenerations.c
 *	  Which pages the page cache keeps: the policy of Linux with MGLRU, for
 *	  pages that are read and written, but not mapped.
 *
 * Pages are in generations.  One that is read enters the oldest generation, or
 * the next one if there are four.  The kernel goes through the oldest one, and
 * evicts pages, but keeps those of which a read again is more likely: it moves
 * them to the next generation, and counts their uses from 0 on.  How many uses a
 * page needs to be kept depends on feedback.  The number of uses makes a tier.
 * Of each tier, the share of evicted pages that returned, while the generation
 * was the oldest, is compared with that of the lowest tier.
 *
 * No page that is not mapped is in a generation beyond the next one, so two
 * lists suffice.  When the oldest generation is empty, the next one becomes the
 * oldest.  Then there are three, until one more begins.  With three, what is
 * read enters the oldest generation and what was kept waits in the next one,
 * for as long as the kernel finds enough to evict.  So the cache changes slowly.
 *
 * This follows mm/vmscan.c and mm/workingset.c of Linux 6.12, whose policy has
 * been the same from 6.8 on, and of 7.2, whose policy begins with 6.14.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

/* At least; GENERATIONS at most. */
#define LEAST_GENERATIONS	2

/* Pages to evict, until the kernel looks whether it had to read too many for that. */
#define LEAST_WANTED		8

/* Capacities that are evicted until a page need not be remembered. */
#define REMEMBERED			1.5

/* What was evicted after so small a share of the cache, chance could have kept. */
#define JUST_EVICTED		0.1

/* Uses of a page, in a byte.  To 6.13, a use more than COUNTED_USES keeps a page in any case. */
#define COUNTED_USES		4
#define USES_MASK			7
#define IN_WORKING_SET		8	/* from 6.14 on: used more often than that */

/* Until evicted, the uses of a page are in the lower bits of what remains of it. */
#define USES_BITS			4
#define AGE_MASK			(UINT32_MAX >> USES_BITS)

static inline bool
is_since_6_14(const CacheSet *set)
{
	return set->policy == &pbp_kernel_generations_6_14;
}

/* ---- tiers ---- */

static inline int
tier_of(uint8_t uses)
{
	static const int tiers[] = {0, 0, 1, 2, 2, 3};

	return uses & IN_WORKING_SET ? TIERS - 1 : tiers[uses & USES_MASK];
}

/* A page with so many uses is kept whatever its tier. */
static inline bool
is_always_kept(const CacheSet *set, uint8_t uses)
{
	return uses == (is_since_6_14(set) ? COUNTED_USES | IN_WORKING_SET : COUNTED_USES + 1);
}

static void
count_use(CacheSet *set, int cache, CachedPage *page)
{
	uint8_t    *uses = uses_of(set, page, cache);

	if ((*uses & USES_MASK) < COUNTED_USES + !is_since_6_14(set))
		(*uses)++;
	else if (is_since_6_14(set))
		*uses |= IN_WORKING_SET;
}

/* The highest tier of evicted pages.  Those above return too often, by a margin against chance. */
static int
highest_evicted_tier(const CacheSet *set, const Generations *generations)
{
	const double margin = is_since_6_14(set) ? 1.5 : 2;
	const double batch = generations->batch;
	const Tier *lowest = &generations->tiers[0];
	double		lowest_refaulted = lowest->mean_refaulted + lowest->refaulted + batch / 64;
	double		lowest_total = lowest->mean_total + lowest->total + batch;
	int			tier;

	for (tier = 1; tier < TIERS; tier++)
	{
		const Tier *t = &generations->tiers[tier];
		double		refaulted = t->mean_refaulted + t->refaulted;
		double		total = t->mean_total + t->total;

		if (refaulted >= batch && refaulted * lowest_total > lowest_refaulted * total * margin)
			break;
	}
	return tier - 1;
}

/* ---- generations ---- */

/* Pages in the oldest generation. */
static inline uint32_t
noldest(const SimulatedCache *simulated)
{
	return simulated->npages[simulated->generations.active_is_oldest];
}

static inline uint32_t
number_of_generations(const Generations *generations)
{
	return generations->youngest - generations->oldest + 1;
}

static void
begin_next_generation(SimulatedCache *simulated)
{
	Generations *generations = &simulated->generations;

	generations->active_is_oldest = !generations->active_is_oldest;
	generations->oldest++;
	generations->began[generations->oldest % GENERATIONS] = simulated->age;
	for (int i = 0; i < TIERS; i++)
	{
		Tier	   *tier = &generations->tiers[i];

		tier->mean_refaulted = (tier->mean_refaulted + tier->refaulted) / 2;
		tier->mean_total = (tier->mean_total + tier->total) / 2;
		tier->refaulted = tier->total = 0;
	}
}

/*
 * True if the kernel begins a generation, because it finds too little to evict.  To 6.13, it did so
 * only if few pages were in the oldest one.
 */
static bool
needs_generation(const CacheSet *set, SimulatedCache *simulated)
{
	Generations *generations = &simulated->generations;
	const double wanted = fmax(generations->batch / 2, LEAST_WANTED);
	bool		found = generations->nevicted >= wanted;
	bool		impatient = generations->nread > generations->patience * wanted;

	if (number_of_generations(generations) >= GENERATIONS)
		return false;
	if (!is_since_6_14(set) && noldest(simulated) < generations->batch / 2)
		return true;
	if (!found && !impatient)
		return false;
	generations->nread = generations->nevicted = 0;
	return !found && (is_since_6_14(set) ||
					  4 * noldest(simulated) < all_pages(simulated));
}

/* Moves the page to the next generation, and counts its uses from 0 on. */
static void
keep(CacheSet *set, int cache, uint16_t page)
{
	Generations *generations = &set->caches[cache].generations;
	uint8_t    *uses = uses_of(set, cached_page(set, page), cache);
	bool		next = !generations->active_is_oldest;

	pbp_unlink_cached_page(set, cache, page);
	pbp_link_cached_page(set, cache, page, next, !is_since_6_14(set));
	if (!is_since_6_14(set) || !is_always_kept(set, *uses))
		generations->tiers[tier_of(*uses)].total++;
	*uses &= IN_WORKING_SET;
}

static void
evict(CacheSet *set, int cache)
{
	SimulatedCache *simulated = &set->caches[cache];
	Generations *generations = &simulated->generations;
	int			highest = highest_evicted_tier(set, generations);

	/* Where all tiers but the lowest are kept, this ends after two generations. */
	for (uint32_t most = 2 * all_pages(simulated);; most--)
	{
		uint16_t	page;
		uint8_t		uses;

		if (needs_generation(set, simulated) ||
			(noldest(simulated) == 0 &&
			 number_of_generations(generations) == LEAST_GENERATIONS))
			generations->youngest++;
		if (noldest(simulated) == 0)
			begin_next_generation(simulated);
		if (noldest(simulated) == 0)
			continue;
		page = oldest_page(set, cache, generations->active_is_oldest);
		uses = *uses_of(set, cached_page(set, page), cache);
		generations->nread++;
		if (most > 0 && (tier_of(uses) > highest || is_always_kept(set, uses)))
		{
			keep(set, cache, page);
			continue;
		}
		generations->nevicted++;
		generations->tiers[tier_of(uses)].total++;
		pbp_drop_cached_page(set, cache, page, simulated->age++ << USES_BITS | uses);
		return;
	}
}

/* How much the cache has aged since it evicted the page.  UINT32_MAX: it never did. */
static inline uint32_t
refault_distance(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return in_set(page->evicted, cache) ?
		(simulated->age - (page->entries[cache].evicted_at >> USES_BITS)) & AGE_MASK : UINT32_MAX;
}

/* The uses of a page that returns, if it was evicted from a generation that is not long ago. */
static uint8_t
uses_of_refault(const CacheSet *set, SimulatedCache *simulated, const CachedPage *page, int cache)
{
	Generations *generations = &simulated->generations;
	uint32_t	recent = is_since_6_14(set) ? generations->youngest - (GENERATIONS - 1) :
		generations->oldest;
	uint8_t		uses = page->entries[cache].evicted_at & ((1 << USES_BITS) - 1);

	if (refault_distance(simulated, page, cache) >
		simulated->age - generations->began[recent % GENERATIONS])
		return 0;
	generations->tiers[tier_of(uses)].refaulted++;
	if (is_since_6_14(set))
		return uses & IN_WORKING_SET;
	return uses >= COUNTED_USES ? COUNTED_USES : 0;
}

static void
insert(CacheSet *set, int cache, uint16_t page, unsigned uses)
{
	SimulatedCache *simulated = &set->caches[cache];
	const Generations *generations = &simulated->generations;
	bool		next;

	pbp_make_room(set, cache, 1);
	next = number_of_generations(generations) == GENERATIONS;
	pbp_keep_cached_page(set, cache, page, next != generations->active_is_oldest);
	*uses_of(set, cached_page(set, page), cache) = (uint8_t) uses;
}

static CacheRead
read(CacheSet *set, int cache, uint16_t page)
{
	SimulatedCache *simulated = &set->caches[cache];
	CachedPage *record = cached_page(set, page);
	uint32_t	distance;
	uint8_t		uses;

	if (in_set(record->resident, cache))
	{
		count_use(set, cache, record);
		return CACHE_HIT;
	}
	distance = refault_distance(simulated, record, cache);
	if (simulated->capacity > 0)
	{
		uses = distance == UINT32_MAX ? 0 : uses_of_refault(set, simulated, record, cache);
		insert(set, cache, page, uses);
		count_use(set, cache, record);
	}
	return distance < JUST_EVICTED * simulated->capacity ? CACHE_CLOSE_CALL : CACHE_MISS;
}

/* True if the return of a page is likely to count as a refault. */
static bool
may_return_soon(const SimulatedCache *simulated, const CachedPage *page, int cache)
{
	return refault_distance(simulated, page, cache) <= REMEMBERED * simulated->capacity;
}

/*
 * The oldest generation remains the oldest for so long that all refaults count.  With 1.7 records
 * for each page, and ten times as much data, up to 0.02 more of the reads would be hits.
 */
const CachePolicy pbp_kernel_generations_6_8 = {
	.counts_uses = true,
	.records_per_page = 2.5,
	.evict = evict,
	.read = read,
	.insert = insert,
	.may_return_soon = may_return_soon,
};

const CachePolicy pbp_kernel_generations_6_14 = {
	.counts_uses = true,
	.records_per_page = 1.7,
	.evict = evict,
	.read = read,
	.insert = insert,
	.may_return_soon = may_return_soon,
};

/*-------------------------------------------------------------------------
 *
 * cachesets.h
 *	  Simulated page caches below the simulated pools: what pagecaches.c
 *	  and cachesizes.c offer each other and the statistics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHESETS_H
#define PBP_CACHESETS_H

#include "simulator/internal.h"

/*
 * The grid of caches.  The first set has today's memory: one cache below each pool, by size.
 * The others have less memory, and more: the splits of each total, and a reference of today's
 * memory below today's pool, which they are compared with.  Each set has a sampling rate of its
 * own, so that small caches are not too small.
 *
 * A cache is numbered through all sets, and by its slot in its own.
 */
#define REFERENCE			(PBP_TOTAL_TODAY * PBP_SPLITS)
#define MOST_CACHES			(REFERENCE + 1)
#define ALL_CACHES			(FACTORS + (CACHE_SETS - 1) * MOST_CACHES)

_Static_assert((PBP_TOTALS - 1 - PBP_TOTAL_TODAY) * PBP_SPLITS == REFERENCE,
			   "as many caches of more memory as of less");

/* Records are named by 16 bits, which halves their size. */
#define NO_RECORD			UINT16_MAX
#define MOST_RECORDS		(NO_RECORD - LISTS)

/* While resident, its neighbors in its list, or its end; then the cache's age, by the policy. */
typedef union CacheEntry
{
	struct
	{
		uint16_t	newer;
		uint16_t	older;
	};
	uint32_t	evicted_at;
} CacheEntry;

/* A page in all caches: one bit of each set, and one entry, for each cache. */
typedef struct CachedPage
{
	uint32_t	fingerprint;	/* that of its PageRecord */
	uint16_t	next;			/* in its chain */
	uint16_t	resident;
	uint16_t	active;			/* of these, in the active list */
	uint16_t	evicted;		/* not resident, but was */
	CacheEntry	entries[];	/* of each cache of the set; behind them a byte for
							 * each, if the policy counts uses */
} CachedPage;

_Static_assert(FACTORS <= 16 && MOST_CACHES <= 16, "the sets of caches have 16 bits");

/* The lists of a cache: inactive and active. */
#define LISTS				2

/* Of MGLRU, at most. */
#define GENERATIONS			4

/* Pages by their number of uses, for MGLRU. */
#define TIERS				4

typedef struct Tier
{
	double		refaulted;		/* in this generation, and averaged over those before */
	double		mean_refaulted;
	double		total;			/* evicted or kept */
	double		mean_total;
} Tier;

/* The state of MGLRU.  The lists are the oldest generation and the next one, by turns. */
typedef struct Generations
{
	bool		active_is_oldest;
	uint32_t	oldest;			/* numbers of generations */
	uint32_t	youngest;
	uint32_t	began[GENERATIONS];		/* ages at which a generation became the oldest, by number */
	double		batch;			/* of pages that the kernel evicts at once */
	double		patience;		/* pages it reads for each of them before it begins a
								 * generation */
	double		nread;			/* since it was patient */
	double		nevicted;
	Tier		tiers[TIERS];
} Generations;

/* The sample's share of the kernel's page cache. */
typedef struct SimulatedCache
{
	uint32_t	capacity;
	uint32_t	ratio;			/* active pages for each inactive one, at most */
	uint32_t	age;			/* evictions and activations, ever */
	uint32_t	nlearned;		/* pages read since knowledge was lost, at most
								 * SETTLED_SHARE of its capacity */
	bool		learning;		/* never full yet: there is no figure */
	bool		refilling;		/* full before time without looks: its figure stays, and waits */
	bool		settled;		/* it has read so much that its lists stay as long */
	bool		was_full;		/* ever: it has evicted a page */
	Progress	progress;
	uint32_t	npages[LISTS];
	Generations generations;
} SimulatedCache;

/* What decays of one cache; nothing but doubles. */
typedef struct CacheCounters
{
	double		baseline_misses;	/* of the pool of today's size */
	double		skipped;		/* more of these, while it was filled again */
	double		misses[GROUPS]; /* of the pool above */
	double		storage_reads[GROUPS];	/* misses of both */
	double		close_calls;	/* of these, pages that chance could have kept */
	double		scan_reads;		/* by large scans past the pool, with today's size */
	double		scan_storage_reads; /* by them, with this one */
} CacheCounters;

/* What a read of a simulated cache finds. */
typedef enum CacheRead
{
	CACHE_HIT,
	CACHE_MISS,
	CACHE_CLOSE_CALL			/* a miss of a page that chance could have kept */
} CacheRead;

typedef struct CacheSet CacheSet;

/*
 * Which pages the page cache keeps.  A page that is not evicted by now may not return soon.  What
 * evict() does is to drop one page.  A capacity may be 0.  A policy with one list links its pages
 * as those that are not active.
 */
typedef struct CachePolicy
{
	bool		counts_uses;
	double		records_per_page;	/* of the largest cache: caches differ, and remember
									 * evicted pages */
	CacheRead	(*read) (CacheSet *set, int cache, uint16_t page);
	/* a page that is not resident, as by a write, which is no use */
	void		(*insert) (CacheSet *set, int cache, uint16_t page, unsigned uses);
	void		(*evict) (CacheSet *set, int cache);
	bool		(*may_return_soon) (const SimulatedCache *simulated, const CachedPage *page,
									int cache);
	/* as the kernel says it without swap space; NULL: this test is not simulated */
	bool		(*evicted_recently) (const SimulatedCache *simulated, const CachedPage *page,
									 int cache);
} CachePolicy;

/* Memory of its own, behind which are the records. */
struct CacheSet
{
	size_t		bytes;			/* with the records */
	const CachePolicy *policy;
	uint32_t	max_pages;
	uint32_t	npages;			/* records that were ever in use */
	uint32_t	nheads;
	uint32_t	reclaimer;		/* where the search for a free record stands */
	uint32_t	threshold;		/* fingerprints up to this one have records */
	int			ncaches;
	uint8_t		sizes[MOST_CACHES]; /* of the pools above */
	char	   *pages;			/* records of page_bytes each; behind them those of no page, in
								 * which each list begins and ends */
	size_t		page_bytes;
	uint16_t   *heads;

	double		share;			/* of the sampled pages, those that have records */
	double		block_bytes;
	double		os_cache;		/* pages, as the caller says; NaN: unknown */
	double		correction;		/* factor by calibration */
	double		uncalibrated_misses;	/* of the baseline, since the last calibration */
	double		served_more;	/* share of today's misses that the real cache serves more than
								 * the simulated one; NaN: unknown */
	double		measuring_error;	/* of this share */
	PbpRecentShares recent;
	SimulatedCache caches[MOST_CACHES];
	CacheCounters counters[MOST_CACHES];
	double		doubtful_reads[MOST_CACHES];	/* perhaps warm-up artifacts; decay sooner */
	int64_t		ndropped;		/* pages that were forgotten too early */
};

/* The share of its capacity that a cache must have read. */
#define LEARNED_SHARE		0.9

/* Capacities that it must have read until its lists stay as long, by the exact model. */
#define SETTLED_SHARE		2.5

static inline CachedPage *
cached_page(const CacheSet *set, uint32_t i)
{
	return (CachedPage *) (set->pages + i * set->page_bytes);
}

/* Newer than the newest page of a list, and older than the oldest. */
static inline uint16_t
end_of(const CacheSet *set, bool active)
{
	return (uint16_t) (set->max_pages + active);
}

/* The end of the list if it is empty. */
static inline uint16_t
oldest_page(const CacheSet *set, int cache, bool active)
{
	return cached_page(set, end_of(set, active))->entries[cache].newer;
}

static inline uint32_t
all_pages(const SimulatedCache *simulated)
{
	return simulated->npages[false] + simulated->npages[true];
}

static inline bool
in_set(uint16_t set, int cache)
{
	return set >> cache & 1;
}

/* Its number of uses in a cache, if the policy counts them. */
static inline uint8_t *
uses_of(const CacheSet *set, CachedPage *page, int cache)
{
	return (uint8_t *) (page->entries + set->ncaches) + cache;
}

static inline bool
has_todays_memory(int cache)
{
	return cache < FACTORS;
}

static inline CacheSet *
set_of(const Advice *advice, int cache)
{
	return advice->cache_sets[has_todays_memory(cache) ? 0 : 1 + (cache - FACTORS) / MOST_CACHES];
}

/* Its number in its storage. */
static inline int
slot_of(int cache)
{
	return has_todays_memory(cache) ? cache : (cache - FACTORS) % MOST_CACHES;
}

static inline SimulatedCache *
simulated_cache(const Advice *advice, int cache)
{
	return &set_of(advice, cache)->caches[slot_of(cache)];
}

static inline CacheCounters *
cache_counters(const Advice *advice, int cache)
{
	return &set_of(advice, cache)->counters[slot_of(cache)];
}

/* The size of the pool above the cache. */
static inline int
size_above(const Advice *advice, int cache)
{
	return set_of(advice, cache)->sizes[slot_of(cache)];
}

/* The cache of the same sample below today's pool, with today's memory. */
static inline int
reference_of(int cache)
{
	return has_todays_memory(cache) ? BASELINE : cache - slot_of(cache) + REFERENCE;
}

/* The first cache of a total of memory that is not today's. */
static inline int
first_cache(int total)
{
	return FACTORS + (total < PBP_TOTAL_TODAY ? total * PBP_SPLITS :
					  MOST_CACHES + (total - PBP_TOTAL_TODAY - 1) * PBP_SPLITS);
}

/* The memory of both caches, as a total of today's. */
static inline int
total_of(int cache)
{
	if (has_todays_memory(cache) || slot_of(cache) == REFERENCE)
		return PBP_TOTAL_TODAY;
	return slot_of(cache) / PBP_SPLITS + (cache < FACTORS + MOST_CACHES ? 0 : PBP_TOTAL_TODAY + 1);
}

static inline bool
is_full(const SimulatedCache *simulated)
{
	return simulated->nlearned >= LEARNED_SHARE * simulated->capacity;
}

static inline void
must_learn(SimulatedCache *simulated)
{
	simulated->learning = true;
	simulated->settled = simulated->refilling = false;
}

/* It does not hold what the real one may. */
static inline void
must_refill(SimulatedCache *simulated)
{
	simulated->nlearned = 0;
	simulated->progress = (Progress) {0};
	simulated->refilling = !simulated->learning;
}

/* cachelists.c */
extern void pbp_unlink_cached_page(CacheSet *set, int cache, uint16_t page);
extern void pbp_link_cached_page(CacheSet *set, int cache, uint16_t page, bool active,
								 bool as_oldest);
extern void pbp_drop_cached_page(CacheSet *set, int cache, uint16_t page, uint32_t evicted_at);
extern void pbp_make_room(CacheSet *set, int cache, uint32_t npages);
extern void pbp_keep_cached_page(CacheSet *set, int cache, uint16_t page, bool active);

/* kernellists.c and kernelgenerations.c */
extern const CachePolicy pbp_kernel_lists;
extern const CachePolicy pbp_kernel_generations_6_8;
extern const CachePolicy pbp_kernel_generations_6_14;

/* cachesizes.c */
extern double pbp_pages_left(const Advice *advice, int cache, double os_cache);
extern void pbp_correct_caches(Advice *advice, double factor);

/* learning.c */
extern double pbp_doubtful_reads_share(const Advice *advice, int cache);

#endif							/* PBP_CACHESETS_H */

/*-------------------------------------------------------------------------
 *
 * simulator.h
 *	  Simulated buffer pools and page caches of other sizes, which learn from
 *	  periodic looks at what the real pool holds.
 *
 * A look is pbp_advice_begin(), pbp_advice_observe() for each resident page of
 * the sample, pbp_advice_end().  Nothing in this folder needs PostgreSQL, so
 * that tests and simulators can compile it alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SIMULATOR_H
#define PBP_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/osmemory.h"

/*
 * Estimated sizes, as multiples of the size that runs: factors[] of advice.c, in ascending order;
 * at most 12.  The larger the last one, the fewer pages have room in the sample.  Sizes of half and
 * of double are also compared with today's for each relation.
 */
enum
{
	PBP_ADVICE_HALF = 1,
	PBP_ADVICE_BASELINE = 5,
	PBP_ADVICE_DOUBLE = 8,
	PBP_ADVICE_FACTORS = 11
};

/*
 * Memory of both caches together, as multiples of today's, and how many splits of
 * each are simulated: with the smallest pool, with the largest that leaves enough
 * to the page cache, and with one between them, which is today's if it can be.
 */
#define PBP_TOTALS			11
#define PBP_TOTAL_TODAY		5	/* is not among those simulated */
#define PBP_SPLITS			3

/*
 * Less than this share of the usual accesses is no part of the load: who monitors an idle server
 * makes only hits.
 */
#define PBP_QUIET_SHARE		0.1

/* Below this miss ratio, no other size matters. */
#define PBP_FEW_MISSES		0.001

/* Share of learning that is reported at most before it ends. */
#define PBP_MOST_PROGRESS	0.99

/* Pages of the sample that the pool has evicted. */
typedef struct PbpEvicted
{
	int64_t		pages;
	int64_t		used_once;		/* of these, not again after their load */
	int64_t		read_again;		/* before as many pages as the pool has were evicted */
} PbpEvicted;

/* A fork of a relation.  The numbers mean nothing here. */
typedef struct PbpRelationKey
{
	uint32_t	database;
	uint32_t	tablespace;
	uint32_t	relfilenode;
	uint32_t	fork;
} PbpRelationKey;

/* Counted by the server, perhaps with requests through rings among others; nothing but doubles. */
typedef struct PbpAdviceCounts
{
	double		accesses;		/* hits and reads */
	double		reads;
	double		extends;		/* new blocks, which enter the pool unread */
	double		ring_reads;
	double		scan_reads;		/* of these, by large scans */
	double		scan_hits;		/* blocks that these have found in the pool */
	double		scan_reuses;	/* reads of these for which their rings had a buffer */
	double		alone_reads;	/* of both, of tables that hardly anything but large scans reads */
	double		alone_hits;
	double		scan_skipped;	/* reads of these that pbp_advice_scan() was not told */
	double		ring_extends;
	double		seconds;		/* in which all this happened */
	double		refaults;		/* blocks that the kernel had evicted, and has read again for
								 * this server or others */
	double		refault_seconds;	/* in which these are known */
} PbpAdviceCounts;

/* What was learned, in the caller's block of memory.  It points into itself, so it cannot move. */
typedef struct Advice PbpAdvice;

/* How it begins, for the inline functions. */
typedef struct PbpAdviceHead
{
	uint64_t	threshold;		/* keys up to this one are sampled */
	uint32_t	kept;			/* if their lower half is not above this */
	uint64_t	salt;			/* for the caller's hash: another sample */
	bool		wants_relation; /* of the page that was just observed */
	bool		lost;			/* what happened before this look is unknown */
} PbpAdviceHead;

static inline PbpAdviceHead *
pbp_advice_head(PbpAdvice *advice)
{
	return (PbpAdviceHead *) advice;
}

/* True if the page of this key, a well-mixed 64-bit hash of its tag, is in the sample. */
static inline bool
pbp_advice_sampled(const PbpAdvice *advice, uint64_t key)
{
	const PbpAdviceHead *head = (const PbpAdviceHead *) advice;

	return key <= head->threshold && (uint32_t) key <= head->kept;
}

/* Called every few thousand pages if it is not NULL; need not return. */
extern void (*pbp_advice_check_interrupts) (void);

extern double pbp_advice_factor(int i);
extern double pbp_total_factor(int total);

/*
 * Begins to learn in a block of memory aligned for any type.  The sampling rate is the highest
 * that fits, and at most rate_limit if that is not 0.  Returns NULL if no page fits.
 */
extern PbpAdvice *pbp_advice_init(void *memory, size_t bytes, int nbuffers, int usage_max,
								  double rate_limit, bool rings_apart);
extern double pbp_advice_rate(const PbpAdvice *advice);

/*
 * Between two looks: keeps at most this share of the sampled pages, and what was
 * learned of them, but for the least that is of use.  Figures remain, with the
 * error of a smaller sample.  Returns false if none leaves.
 */
extern bool pbp_advice_thin(PbpAdvice *advice, double share);

/* The opposite, up to the first sample.  If true, the next look must read all buffers. */
extern bool pbp_advice_widen(PbpAdvice *advice, double factor);

/*
 * Learns from a look, which need not read all buffers, but all where the last one observed
 * pages.  Ticks are buffers that the hand has passed, ever.  Pages are observed in the order of
 * buffers, with whether hardly anything but large scans reads them.  pbp_advice_observe() returns
 * true if the page was loaded since the last look, otherwise, and pbp_advice_end() if the next look
 * must read all buffers.
 */
extern void pbp_advice_begin(PbpAdvice *advice, int64_t ticks);
extern bool pbp_advice_observe(PbpAdvice *advice, uint64_t key, int buffer, int usage, bool dirty,
							   bool scanned);
extern bool pbp_advice_end(PbpAdvice *advice, int64_t ticks);

/*
 * Adds what the pool has evicted since the last call, as looks found it.  None before as many pages
 * as the pool has were evicted since looks began, or began again.
 */
extern void pbp_advice_take_evicted(PbpAdvice *advice, PbpEvicted *sum);

/* True if the last look met this page. */
extern bool pbp_advice_holds(const PbpAdvice *advice, uint64_t key);

/* What a page cache has of a page: 1 or 0; NaN: unknown. */
typedef struct PbpCacheAnswer
{
	float		cached;
	float		recent;			/* cached, or evicted recently, as cachestat(2) has it */
} PbpCacheAnswer;

/*
 * Shares of today's misses that the page cache has served, or had evicted recently: what a larger
 * one would serve.  NaN: unknown.
 */
typedef struct PbpRecentShares
{
	double		kernel;
	double		simulated;
	double		error;			/* of the difference: half the width of a 95 % interval */
} PbpRecentShares;

/*
 * Whether page caches are simulated with this page of the sample, and if so, what that of today's
 * size has of it, by the last look.  NaN: it does not hold what a real one may, or the kernel says
 * by another test whether it has evicted a page recently.
 */
extern bool pbp_advice_simulates(const PbpAdvice *advice, uint64_t key);
extern PbpCacheAnswer pbp_advice_caches(const PbpAdvice *advice, uint64_t key);

/* What the server has counted since the last call, at any time. */
extern void pbp_advice_accesses(PbpAdvice *advice, const PbpAdviceCounts *counts);

/*
 * Of what was counted last, accesses that are no part of the load that the figures
 * are about: those of a light load, or of who monitors an idle server, but for as
 * many as the load has for so many reads.
 */
extern double pbp_advice_accesses_apart(const PbpAdvice *advice, const PbpAdviceCounts *counts);

/* A checkpoint has begun: it writes all dirty pages of the pool. */
extern void pbp_advice_checkpoint(PbpAdvice *advice);

/* What the caller knows of the server and the machine.  It may change this at any time. */
typedef struct PbpAdviceFacts
{
	int64_t		smallest_scanned;	/* pages of the smallest relation that is scanned through a
									 * ring; INT64_MAX: none; 0: unknown */
	int64_t		scanned_alone;	/* pages of all these relations that hardly anything else reads; 0:
								 * there are none, or unknown */
	double		other_mix;		/* share of what is read now that is of other relations than were
								 * learned */
	double		data_pages;		/* all blocks that the server has; INFINITY: unknown */
	double		huge_pages;		/* blocks that fit into free huge pages, if the pool is in huge
								 * pages: they stay reserved with a smaller pool, and a larger one
								 * takes them before anything of the page cache; negative: it is
								 * in normal pages */
	bool		swaps;			/* there is free swap space: then the kernel takes more evicted
								 * pages for recent */
} PbpAdviceFacts;

extern PbpAdviceFacts *pbp_advice_facts(PbpAdvice *advice);

/* What happened since the last look is unknown.  Larger sizes must be learned again. */
extern void pbp_advice_gap(PbpAdvice *advice);

/*
 * Simulates page caches below the pools, in a block of memory of their own that
 * is aligned for any type.  At most 65533 pages are simulated; larger caches have a
 * lower sampling rate.  Returns false if no page fits.
 */
extern bool pbp_advice_init_storage(PbpAdvice *advice, void *memory, size_t bytes, int block_bytes);

/* Simulates page caches of other totals of memory; to be called after it. */
extern bool pbp_advice_init_totals(PbpAdvice *advice, void *memory, size_t bytes);

/*
 * How the kernel evicts pages, and whether a cgroup limits the page cache, rather than the
 * machine.  To be called before pbp_advice_set_os_cache(), which must follow.  If the former
 * changes, page caches are learned again.
 */
extern void pbp_advice_set_eviction(PbpAdvice *advice, PbpEviction eviction, bool limited);

/* The size of the page cache today, in blocks, whenever it changes.  Negative: unknown. */
extern void pbp_advice_set_os_cache(PbpAdvice *advice, int64_t pages);

/*
 * A large scan has come to this page, which hardly anything else reads if it is alone.  Unless the
 * pool holds it, it is read through the page cache and stays in no pool.  Counted apart.
 */
extern void pbp_advice_scan(PbpAdvice *advice, uint64_t key, bool alone);

/* WAL was written between these positions, in bytes, to files of this size together. */
extern void pbp_advice_write_wal(PbpAdvice *advice, uint64_t from, uint64_t to,
								 uint64_t file_bytes);

/* Counts by relation and distinct pages in use, too.  False if the aligned memory is too small. */
extern bool pbp_advice_watch_relations(PbpAdvice *advice, void *memory, size_t bytes);

/* The size of the advice that policies have as PBP_POLICY_HALF or another of these. */
extern int	pbp_size_of_policies(int size);

/*
 * Other replacement policies, in pools of half of today's size, of it and of twice of it, in
 * aligned memory of which pbp_advice_policies_bytes() is enough.  With less, they run for a part
 * of the sample.  False if it is too small.  NULL: none run any more.
 */
extern size_t pbp_advice_policies_bytes(const PbpAdvice *advice);
extern bool pbp_advice_watch_policies(PbpAdvice *advice, void *memory, size_t bytes);

/* To be called before each look: a time that only moves forward. */
extern void pbp_advice_look_time(PbpAdvice *advice, int64_t second);

/* The relation of the page that was just observed, if the advice wants it. */
extern void pbp_advice_set_relation(PbpAdvice *advice, const PbpRelationKey *key);

#endif							/* PBP_SIMULATOR_H */

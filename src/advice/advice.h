/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  Miss ratio at other sizes of the buffer pool, learned from periodic
 *	  looks at what it holds.
 *
 * A look is pbp_advice_begin(), pbp_advice_observe() for each resident page of
 * the sample, pbp_advice_end().  Nothing in this folder needs PostgreSQL, so
 * that tests and simulators can compile it alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ADVICE_H
#define PBP_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Estimated sizes, as multiples of the size that runs. */
#define PBP_ADVICE_FACTORS	11
#define PBP_ADVICE_BASELINE	5	/* the one that is 1 */

/* Why a size's miss ratio is known or not. */
typedef enum PbpAdviceReason
{
	PBP_ADVICE_KNOWN,
	PBP_ADVICE_NOTHING_EVICTED, /* the hand has not completed a pass yet */
	PBP_ADVICE_LEARNING,		/* too little seen of what such a pool holds */
	PBP_ADVICE_LITTLE_EVIDENCE, /* the sample is too small for a figure */
	PBP_ADVICE_RARE_LOOKS,		/* too much happens between two looks */
	PBP_ADVICE_UNPUBLISHED,		/* the server has counted no access */
	PBP_ADVICE_UNCOUNTED,		/* more pages were loaded than the server
								 * counted as read */
	PBP_ADVICE_UNSEEN,			/* looks saw too few of the pages that the
								 * server counted as read */
	PBP_ADVICE_SATURATED,		/* most usage counts are at the maximum, which
								 * hides uses */
	PBP_ADVICE_SCANS,			/* may hold tables that scans read past the
								 * pool today */
	PBP_ADVICE_CLIFF,			/* slightly more or less memory would change
								 * much */
	PBP_ADVICE_CHANGED,			/* the load is another one than was learned */
	PBP_LAST_ADVICE_REASON = PBP_ADVICE_CHANGED
} PbpAdviceReason;

typedef struct PbpAdviceRow
{
	double		factor;
	double		miss_ratio;		/* NaN: unknown */
	double		uncertainty;	/* half the width of a 95 % interval; NaN:
								 * unknown */
	double		change_error;	/* half the width of a 95 % interval of the
								 * difference to today's; NaN: unknown */
	double		write_ratio;	/* dirty pages that are evicted, per access; NaN:
								 * unknown */
	double		learned_share;	/* of what must be seen before it is known, or
								 * of reads that were seen; 1 unless that is
								 * the reason */
	double		seconds_left;	/* of learning, at the pace until now; NaN:
								 * unknown, or it has ended */
	PbpAdviceReason reason;
} PbpAdviceRow;

/* Why the share of accesses that wait for storage is known or not. */
typedef enum PbpStorageReason
{
	PBP_STORAGE_KNOWN,
	PBP_STORAGE_NO_CAPACITY,	/* the size of the page cache is unknown */
	PBP_STORAGE_NO_ROOM,		/* the pool would take more than all of it */
	PBP_STORAGE_NO_MISS_RATIO,	/* for the reason that PbpAdviceRow has */
	PBP_STORAGE_LEARNING,		/* too little seen of what it would hold */
	PBP_STORAGE_LITTLE_EVIDENCE,	/* too few recent misses for a figure */
	PBP_LAST_STORAGE_REASON = PBP_STORAGE_LITTLE_EVIDENCE
} PbpStorageReason;

typedef struct PbpAdviceStorageRow
{
	int64_t		os_cache_pages; /* left to the page cache; negative: too few */
	double		storage_ratio;	/* accesses that wait for storage; NaN: unknown */
	double		uncertainty;	/* half the width of a 95 % interval; NaN:
								 * unknown */
	double		change_error;	/* half the width of a 95 % interval of the
								 * difference to today's; NaN: unknown */
	double		learned_share;	/* of what must be seen before it is known */
	double		seconds_left;	/* of learning, likewise */
	PbpStorageReason reason;
} PbpAdviceStorageRow;

/*
 * Memory of both caches together, as multiples of today's, and how many splits of
 * each are simulated: with the smallest pool, with the largest that leaves enough
 * to the page cache, and with one between them, which is today's if it can be.
 */
#define PBP_TOTALS			11
#define PBP_TOTAL_TODAY		5	/* is not among those simulated */
#define PBP_SPLITS			3

typedef struct PbpAdviceSplit
{
	int			size;			/* of the pool */
	bool		fits;			/* set by the caller */
	PbpAdviceStorageRow storage;
} PbpAdviceSplit;

typedef struct PbpAdviceStorageTotals
{
	double		sampling_rate;	/* of pages in the simulated page caches */
	double		correction;		/* of their size, by calibration */
	double		self_error;		/* of the storage ratio today: simulated less
								 * measured; NaN: unknown */
	double		measuring_error;	/* of this, what may be the measurement's:
									 * half the width of a 95 % interval */
	int64_t		dropped;		/* pages that were forgotten too early */
} PbpAdviceStorageTotals;

/*
 * Requests for blocks, as counted by the server.  Where it does not count
 * requests through rings apart, they are among the others.
 */
typedef struct PbpAdviceCounts
{
	int64_t		hits;
	int64_t		reads;
	int64_t		extends;		/* new blocks, which enter the pool unread */
	int64_t		ring_reads;
	int64_t		scan_reads;		/* of these, by large scans */
	int64_t		ring_extends;
	double		seconds;		/* in which all this happened */
} PbpAdviceCounts;

static inline void
pbp_add_counts(PbpAdviceCounts *sum, const PbpAdviceCounts *counts)
{
	sum->hits += counts->hits;
	sum->reads += counts->reads;
	sum->extends += counts->extends;
	sum->ring_reads += counts->ring_reads;
	sum->scan_reads += counts->scan_reads;
	sum->ring_extends += counts->ring_extends;
	sum->seconds += counts->seconds;
}

/* How the load differs from what was learned. */
typedef enum PbpAdviceChange
{
	PBP_NO_CHANGE,
	PBP_OTHER_MISSES,			/* its miss ratio */
	PBP_OTHER_RELATIONS,		/* which relations are read */
	PBP_LIGHT_LOAD,				/* it is at a small share of the pace, and not
								 * learned unless that lasts */
	PBP_LAST_ADVICE_CHANGE = PBP_LIGHT_LOAD
} PbpAdviceChange;

/*
 * What was counted.  Counts of type double decay.  Loads are of sampled pages;
 * divide by the sampling rate to compare them with the server's counts.
 */
typedef struct PbpAdviceTotals
{
	double		accesses;		/* hits and reads, not through rings */
	double		reads;
	double		extends;
	double		ring_reads;
	double		ring_extends;
	double		seconds;		/* that these took */
	double		loads;			/* sampled pages that entered the pool */
	double		new_loads;		/* of these, never met before */
	double		dirty_evictions;	/* of sampled pages, from a pool of today's
									 * size */
	double		self_error;		/* loads / rate / (reads + extends) - 1; NaN
								 * without any */
	double		looks_per_pass; /* NaN while the hand stands still */
	double		sampling_rate;	/* share of all pages that are in the sample */
	double		lately;			/* miss ratio of the last seconds; NaN: unknown */
	PbpAdviceChange change;		/* figures follow it, but for a light load */
	int64_t		sampled_loads;	/* loads since the beginning, not decayed */
	int64_t		looks;
	int64_t		gaps;			/* times that knowledge was lost */
	int64_t		dropped;		/* pages and events that found no room */
} PbpAdviceTotals;

/*
 * The beginning of the caller's block of memory, for the inline function.  The
 * rest of the block is private and points into itself, so it cannot move.
 */
typedef struct PbpAdvice
{
	uint64_t	threshold;		/* keys up to this one are sampled */
	uint32_t	kept;			/* if their lower half is not above this */
	uint64_t	salt;			/* for the caller's hash: another sample */
	bool		wants_relation; /* of the page that was just observed */
	bool		lost;			/* what happened before this look is unknown */
} PbpAdvice;

/*
 * True if this page is in the sample.  The key is a well-mixed 64-bit hash of
 * the page's tag.
 */
static inline bool
pbp_advice_sampled(const PbpAdvice *advice, uint64_t key)
{
	return key <= advice->threshold && (uint32_t) key <= advice->kept;
}

/* Called every few thousand pages if it is not NULL; need not return. */
extern void (*pbp_advice_check_interrupts) (void);

extern double pbp_advice_factor(int i);
extern double pbp_total_factor(int total);

/*
 * Begins to learn in a block of memory aligned for any type.  The sampling rate
 * is the highest that fits, and at most rate_limit if that is not 0.  Returns
 * NULL if no page fits.
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

/*
 * The opposite, up to the sample at the beginning.  If it returns true, the next
 * look must read all buffers.
 */
extern bool pbp_advice_widen(PbpAdvice *advice, double factor);

/*
 * Learns from a look, which need not read all buffers, but all where the last
 * one observed pages.  Ticks are buffers that the hand has passed, ever.
 * Pages are observed in the order of buffers.  pbp_advice_observe() returns true
 * if the page was loaded since the last look, and pbp_advice_end() if the next
 * look must read all buffers.
 */
extern void pbp_advice_begin(PbpAdvice *advice, int64_t ticks);
extern bool pbp_advice_observe(PbpAdvice *advice, uint64_t key, int buffer, int usage, bool dirty);
extern bool pbp_advice_end(PbpAdvice *advice, int64_t ticks);

/* True if the last look met this page. */
extern bool pbp_advice_holds(const PbpAdvice *advice, uint64_t key);

/* The i-th buffer where the last look observed a page; -1: there are fewer. */
extern int	pbp_advice_known_buffer(const PbpAdvice *advice, uint32_t i);

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

/*
 * The smallest relation that a scan reads through a ring, in pages.  INT64_MAX:
 * none.  As long as it is unknown, it may be any.
 */
extern void pbp_advice_set_smallest_scanned(PbpAdvice *advice, int64_t pages);

/*
 * So much of what is read now is of other relations than what was learned; 0: it
 * is the same load.
 */
extern void pbp_advice_set_other_mix(PbpAdvice *advice, double share);

/*
 * What happened since the last look is unknown: nothing that the next look finds
 * may count, and larger sizes must be learned again.
 */
extern void pbp_advice_gap(PbpAdvice *advice);

/* Answers: what a pool of the i-th size would miss, and what was counted. */
extern void pbp_advice_row(const PbpAdvice *advice, int i, PbpAdviceRow *row);
extern void pbp_advice_totals(const PbpAdvice *advice, PbpAdviceTotals *totals);

/*
 * Simulates page caches below the pools, in a block of memory of their own that
 * is aligned for any type.  At most 65535 pages are simulated; larger caches have a
 * lower sampling rate.  Returns false if no page fits.
 */
extern bool pbp_advice_init_storage(PbpAdvice *advice, void *memory, size_t bytes, int block_bytes);

/* The same for other totals of memory, after it. */
extern bool pbp_advice_init_totals(PbpAdvice *advice, void *memory, size_t bytes);

/*
 * The size of the page cache today, in blocks, whenever it changes.  Negative:
 * unknown.
 */
extern void pbp_advice_set_os_cache(PbpAdvice *advice, int64_t pages);

/* All blocks that the server has; negative: unknown. */
extern void pbp_advice_set_data(PbpAdvice *advice, int64_t pages);

/*
 * Blocks that fit into free huge pages, if the pool is in huge pages: they stay
 * reserved with a smaller pool, and a larger one takes them before it takes
 * anything of the page cache.  Negative: it is in normal pages.  To be called
 * before pbp_advice_set_os_cache().
 */
extern void pbp_advice_set_huge_pages(PbpAdvice *advice, int64_t free_blocks);

/* WAL was written between these positions, to files of this size together. */
extern void pbp_advice_write_wal(PbpAdvice *advice, uint64_t from, uint64_t to, uint64_t file_bytes);

/*
 * The share of today's misses that the page cache serves, as measured, and half
 * the width of its 95 % interval.  NaN: unknown.
 */
extern void pbp_advice_calibrate(PbpAdvice *advice, double served_share, double error);

extern void pbp_advice_storage_row(const PbpAdvice *advice, int i, PbpAdviceStorageRow *row);
extern void pbp_advice_split(const PbpAdvice *advice, int total, int i, PbpAdviceSplit *split);
extern void pbp_advice_storage_totals(const PbpAdvice *advice, PbpAdviceStorageTotals *totals);

#endif							/* PBP_ADVICE_H */

/*-------------------------------------------------------------------------
 *
 * figures.h
 *	  What is known of other sizes: miss ratio and storage reads with their
 *	  errors, or why they are unknown.
 *
 * Nothing in this folder needs PostgreSQL, so that tests can compile it alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_FIGURES_H
#define PBP_FIGURES_H

#include "base/stats.h"
#include "simulator/policies.h"
#include "simulator/simulator.h"
#include "simulator/workingset.h"

/* Why a size's miss ratio is known or not. */
typedef enum PbpAdviceReason
{
	PBP_ADVICE_KNOWN,
	PBP_ADVICE_NOTHING_EVICTED, /* the hand has not completed a pass yet */
	PBP_ADVICE_LEARNING,		/* too little seen of what such a pool holds */
	PBP_ADVICE_LITTLE_EVIDENCE, /* the sample is too small for a figure */
	PBP_ADVICE_RARE_LOOKS,		/* too much happens between two looks */
	PBP_ADVICE_UNPUBLISHED,		/* the server has counted no access */
	PBP_ADVICE_UNCOUNTED,		/* more pages were loaded than the server counted as read */
	PBP_ADVICE_UNSEEN,			/* looks saw too few of the pages that the server counted as read */
	PBP_ADVICE_SATURATED,		/* most usage counts are at the maximum, which hides uses */
	PBP_ADVICE_SCANS,			/* may hold tables that scans read past the pool today */
	PBP_ADVICE_CLIFF,			/* slightly more or less memory would change much */
	PBP_ADVICE_CHANGED,			/* the load is another one than was learned */
	PBP_LAST_ADVICE_REASON = PBP_ADVICE_CHANGED
} PbpAdviceReason;

typedef struct PbpAdviceRow
{
	double		factor;
	PbpCompared ratio;			/* misses per access */
	double		write_ratio;	/* dirty pages that are evicted, per access; NaN: unknown */
	double		learned_share;	/* of what must be seen before it is known, or of reads that were
								 * seen; 1 unless that is the reason */
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
	PbpCompared ratio;			/* share of accesses that wait for storage */
	PbpCompared scans;			/* for each access, storage reads of large scans, which are no
								 * accesses */
	double		learned_share;	/* of what must be seen before it is known */
	double		seconds_left;	/* until it is known */
	PbpStorageReason reason;
} PbpAdviceStorageRow;

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
	PbpRecentShares recent;
	int64_t		dropped;		/* pages that were forgotten too early */
} PbpAdviceStorageTotals;

/* Why the miss ratio of another policy is known or not. */
typedef enum PbpPolicyReason
{
	PBP_POLICY_KNOWN,
	PBP_POLICY_NO_MISS_RATIO,	/* of that size, for the reason that PbpAdviceRow has */
	PBP_POLICY_LEARNING,		/* its pool has not been filled yet */
	PBP_POLICY_LITTLE_EVIDENCE, /* too few recent misses for a figure */
	PBP_POLICY_HIDDEN,			/* the server's own usage counts hide what it needs */
} PbpPolicyReason;

/* What another replacement policy would miss, compared with the server's at the same size. */
typedef struct PbpPolicyRow
{
	PbpCompared ratio;			/* misses per access, compared with the server's policy */
	double		learned_share;	/* of what must be seen before it is known */
	bool		too_fine;		/* for the sample, which plays it as the server's policy */
	PbpPolicyReason reason;
} PbpPolicyRow;

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
	double		scan_reads;		/* of these, by large scans */
	double		seconds;		/* that these took */
	double		refaults;		/* blocks in a second that the kernel had evicted, and has read
								 * again for this server or others; NaN: unknown */
	double		dirty_evictions;	/* of sampled pages, from a pool of today's size */
	double		self_error;		/* reads and new pages that looks found, by those counted, less 1;
								 * NaN without any */
	double		sampling_rate;	/* share of all pages that are in the sample */
	double		lately;			/* miss ratio of the last seconds; NaN: unknown */
	double		varies;			/* half a 95 % interval of the mean of a load that varies, as a share
								 * of the miss ratio, at most 1; NaN: unknown */
	PbpAdviceChange change;		/* figures follow it, but for a light load */
	int64_t		sampled_loads;	/* loads since the beginning, not decayed */
	int64_t		gaps;			/* times that knowledge was lost */
	int64_t		dropped;		/* pages and events that found no room */
} PbpAdviceTotals;

/* Relations that are reported, and one row for all others. */
#define PBP_TOP_RELATIONS		50
#define PBP_RELATION_ROWS		(PBP_TOP_RELATIONS + 1)

/* More or fewer reads at another size; NaN: unknown. */
typedef struct PbpChange
{
	double		reads;
	double		error;
} PbpChange;

/* Figures of one relation; each error is half the width of a 95 % interval. */
typedef struct PbpRelationRow
{
	PbpRelationKey key;
	bool		others;			/* all relations that have no row */
	double		read_share;		/* NaN, here and below: unknown, by the reason of that size */
	double		read_share_error;
	double		loads;			/* reads and new pages */
	PbpChange	saved;			/* at twice the size */
	PbpChange	added;			/* at half the size */
	PbpChange	storage_saved;	/* of the storage reads, while memory is fixed */
	PbpChange	storage_added;
	double		pages;			/* in use, in PBP_WINDOW_OF_RELATIONS */
	double		pages_error;
	double		sampled_loads;
	double		read_again;		/* share of its evicted pages that are read again soon */
} PbpRelationRow;

typedef struct PbpRelationsReport
{
	bool		has_memory;
	PbpWindow	windows[PBP_WINDOWS];
	int			nrows;
	PbpRelationRow rows[PBP_RELATION_ROWS];
} PbpRelationsReport;

/* Answers: what a pool of the i-th size would miss, and what was counted. */
extern PbpAdviceRow pbp_advice_row(const PbpAdvice *advice, int i);
extern PbpAdviceTotals pbp_advice_totals(const PbpAdvice *advice);

/* Only while policies are watched.  The size is PBP_POLICY_HALF or another of these. */
extern PbpPolicyRow pbp_advice_policy_row(const PbpAdvice *advice, int policy, int size);

/*
 * The share of today's misses that the page cache serves more than the simulated one, as measured
 * for as long as is remembered, and since the last call that had the latter.  NaN: unknown, or too
 * few misses yet.
 */
extern void pbp_advice_calibrate(PbpAdvice *advice, PbpFigure served_more, double lately);

/* Compares the simulated page cache with the kernel's at a second size. */
extern void pbp_advice_set_recent(PbpAdvice *advice, PbpRecentShares recent);

extern PbpAdviceStorageRow pbp_advice_storage_row(const PbpAdvice *advice, int i);
extern PbpAdviceSplit pbp_advice_split(const PbpAdvice *advice, int total, int i);
extern PbpAdviceStorageTotals pbp_advice_storage_totals(const PbpAdvice *advice);

extern void pbp_advice_report_relations(const PbpAdvice *advice, PbpRelationsReport *report);

#endif							/* PBP_FIGURES_H */

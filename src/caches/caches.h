/*-------------------------------------------------------------------------
 *
 * caches.h
 *	  Shared buffers and page cache compared block by block, and restored from what a
 *	  map of both says.
 *
 * Offers counts for each fork of a list of relations, perhaps by ranges of blocks; cache
 * maps; a sample of the whole pool; times of reads by the cache that serves them; and
 * the restore of a map, or of an extent of one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHES_H
#define PBP_CACHES_H

#include "lib/stringinfo.h"

#include "base/latency.h"
#include "base/relations.h"
#include "caches/cachemap.h"
#include "os/oscache.h"

/* ---- in residency.c ---- */

/* What both caches hold of a segment, and an index of the pool for all segments. */
typedef struct PbpSegment PbpSegment;

/* A fork's blocks in both caches, or those of one range of blocks. */
typedef struct PbpResidency
{
	Oid			relid;
	ForkNumber	fork;
	int64		first;			/* block */
	int64		blocks;
	int64		shared;			/* in shared buffers */
	PbpOsVerdict verdict;		/* on the counts below */
	int64		os;				/* in the page cache, with all pages */
	int64		both;
	double		nread;			/* size of the sample, if all of its blocks counted
								 * the same; INFINITY: all were looked up */
} PbpResidency;

typedef struct PbpResidencyList
{
	PbpResidency *rows;
	int64		nrows;
	int64		max_rows;
} PbpResidencyList;

#define PBP_ALL_SEGMENTS	PG_UINT32_MAX

typedef struct PbpTakenMap
{
	StringInfoData bytes;
	bool		any;			/* one of the caches has a block */
	PbpOsVerdict verdict;		/* on the page cache; if unreadable, there is no map */
} PbpTakenMap;

/* How many pages of a sample of the pool are in the page cache. */
typedef struct PbpDuplicates
{
	int64		sampled;
	int64		cached;			/* of these, in the page cache */
	bool		complete;		/* the sample is the whole pool */
	PbpOsTrust	trust;			/* of the last page whose state is unknown */
} PbpDuplicates;

typedef enum PbpTier
{
	PBP_SHARED_BUFFERS,
	PBP_OS_CACHE,
	PBP_STORAGE,
	PBP_UNKNOWN_TIER			/* page cache or storage */
} PbpTier;

#define PBP_TIERS			(PBP_UNKNOWN_TIER + 1)

extern PbpSegment *pbp_segment_begin(const PbpLocator *only);
extern void pbp_segment_end(PbpSegment *segment);
extern void pbp_residency(const RelationList *relations, int buckets, double fraction,
						  PbpResidencyList *result);
extern bool pbp_take_map(PbpSegment *segment, Oid relid, const PbpFileKey *key,
						 const bool *os_before, PbpTakenMap *map);
extern const char *pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header);
extern PbpDuplicates pbp_sample_duplicates(int64 used);
extern PbpOsTrust pbp_read_cost(Relation relation, ForkNumber fork, int samples,
								PbpLatency *tiers);

/* ---- in cacherestore.c ---- */

typedef struct PbpExtentRestore
{
	/* set by the caller */
	PbpExtent	extent;			/* "first" counts within the segment */
	PbpFileKey	key;
	int			max_gap;		/* blocks between two that are read with them */
	int64		spare_room;		/* blocks that may stay in the page cache, although they
								 * are such gaps, or in shared buffers */
	int64		until_ns;		/* reads begin only before; 0: no limit */

	/* results */
	bool		is_left;		/* there was no more time */
	bool		has_page_cache; /* advice to the kernel is of use */
	int			nfound;			/* in shared buffers already */
	int			nfilled;		/* read into shared buffers */
	int			nread;			/* read from the page cache or storage */
	int			nkept;			/* of these, to be kept by the page cache */
	bool		is_shared[PBP_EXTENT_BLOCKS];	/* found or filled */
	bool		cached[PBP_EXTENT_BLOCKS];	/* by the kernel, before */

	PbpOsFile	file;
	bool		wants_buffer[PBP_EXTENT_BLOCKS];
	uint8		was_read[PBP_EXTENT_BLOCKS];	/* into the page cache */
} PbpExtentRestore;

typedef enum PbpRestoreTarget
{
	PBP_RESTORE_BOTH,
	PBP_RESTORE_SHARED_BUFFERS,
	PBP_RESTORE_OS_CACHE
} PbpRestoreTarget;

/* Each block that was requested counts once among the others. */
typedef struct PbpRestoreCounts
{
	int64		requested;
	int64		present;		/* cached already */
	int64		read;			/* into shared buffers, or by the kernel */
	int64		skipped;		/* past the end, no free buffer, or no page cache */
} PbpRestoreCounts;

/*
 * The steps of an extent in their order.  Only the first, and pbp_os_close() at the
 * end, are always needed.
 */
extern bool pbp_extent_open(PbpExtentRestore *restore);
extern bool pbp_extent_want_buffer(PbpExtentRestore *restore, int block);
extern void pbp_extent_read(PbpExtentRestore *restore);
extern void pbp_extent_wait(PbpExtentRestore *restore);
extern bool pbp_extent_fill(PbpExtentRestore *restore, Relation relation, int64 until_ns);
extern void pbp_extent_settle(PbpExtentRestore *restore);

extern PbpRestoreCounts pbp_restore_map(Relation relation, ForkNumber fork, const uint8 *map,
										Size bytes, PbpRestoreTarget target, double mb_per_second);

#endif							/* PBP_CACHES_H */

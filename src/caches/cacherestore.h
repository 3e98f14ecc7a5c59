/*-------------------------------------------------------------------------
 *
 * cacherestore.h
 *	  Restores a cache map, or an extent of one: into free buffers, and into the
 *	  page cache.
 *
 * The steps of an extent in their order: pbp_extent_open(), pbp_extent_want_buffer()
 * for some blocks, pbp_extent_read(), pbp_extent_wait(), pbp_extent_fill(),
 * pbp_extent_settle(), and pbp_os_close().  Only the first and the last one are always needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHERESTORE_H
#define PBP_CACHERESTORE_H

#include "caches/cachemap.h"
#include "os/oscache.h"

typedef struct PbpExtentRestore
{
	/* set by the caller */
	PbpExtent	extent;			/* "first" counts within the segment */
	PbpLocator	locator;
	ForkNumber	fork;
	int			segment;
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

extern bool pbp_extent_open(PbpExtentRestore *restore);
extern bool pbp_extent_want_buffer(PbpExtentRestore *restore, int block);
extern void pbp_extent_read(PbpExtentRestore *restore);
extern void pbp_extent_wait(PbpExtentRestore *restore);
extern bool pbp_extent_fill(PbpExtentRestore *restore, Relation relation, int64 until_ns);
extern void pbp_extent_settle(PbpExtentRestore *restore);

extern void pbp_restore_map(Relation relation, ForkNumber fork, const uint8 *map, Size bytes,
							PbpRestoreTarget target, double mb_per_second,
							PbpRestoreCounts *counts);

#endif							/* PBP_CACHERESTORE_H */

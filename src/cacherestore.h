/*-------------------------------------------------------------------------
 *
 * cacherestore.h
 *	  Restores what a cache map says, in small steps, into free buffers and into
 *	  the page cache.
 *
 * The caller opens and locks the relation for each step, or for all of them,
 * and sleeps between steps as long as pbp_restore_wait_ms() says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHERESTORE_H
#define PBP_CACHERESTORE_H

#include "cachemap.h"
#include "osfile.h"

typedef enum PbpRestoreTarget
{
	PBP_RESTORE_BOTH,
	PBP_RESTORE_SHARED_BUFFERS,
	PBP_RESTORE_OS_CACHE
} PbpRestoreTarget;

#define PBP_RESTORE_TARGETS	(PBP_RESTORE_OS_CACHE + 1)

/* Each block that was requested counts once among the others. */
typedef struct PbpRestoreCounts
{
	int64		requested;
	int64		present;		/* cached already */
	int64		read;			/* into shared buffers, or by the kernel */
	int64		skipped;		/* past the end, no free buffer, or no page cache */
} PbpRestoreCounts;

typedef struct PbpRestore
{
	const uint8 *map;
	Size		bytes;
	PbpMapHeader header;
	PbpRestoreTarget target;
	PbpRestoreCounts counts;
	int64		start_ns;

	/* the next block */
	int			level;			/* 0: of the page cache */
	bool		done;
	PbpMapReader reader;
	PbpMapRun	run;			/* what is left of the current run */
	int64		block;			/* its first block */
} PbpRestore;

extern const char *pbp_restore_begin(PbpRestore *restore, const uint8 *map, Size bytes,
									 PbpRestoreTarget target);
extern bool pbp_restore_step(PbpRestore *restore, Relation relation);
extern int64 pbp_restore_wait_ms(const PbpRestore *restore, double mb_per_second);

/* One block, in carryload.c's order. */
extern bool pbp_can_advise(const PbpOsFile *file);
extern bool pbp_restore_usage(const PbpLocator *locator, ForkNumber fork, BlockNumber block,
							  int usage);
extern bool pbp_restore_block(Relation relation, ForkNumber fork, BlockNumber block, int usage);

#endif							/* PBP_CACHERESTORE_H */

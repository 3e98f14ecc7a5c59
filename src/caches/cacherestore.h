/*-------------------------------------------------------------------------
 *
 * cacherestore.h
 *	  Restores the cache map of a relation, extent by extent.
 *
 * The caller opens and locks the relation, and sleeps between steps as long as
 * pbp_restore_wait_ms() says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHERESTORE_H
#define PBP_CACHERESTORE_H

#include "base/compat.h"
#include "caches/cachemap.h"

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
	int			level;			/* of the next blocks; 0: of the page cache */
	PbpExtentReader reader;
} PbpRestore;

extern const char *pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header);
extern const char *pbp_restore_begin(PbpRestore *restore, const uint8 *map, Size bytes,
									 PbpRestoreTarget target);
extern bool pbp_restore_step(PbpRestore *restore, Relation relation);
extern int64 pbp_restore_wait_ms(const PbpRestore *restore, double mb_per_second);

#endif							/* PBP_CACHERESTORE_H */

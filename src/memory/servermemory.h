/*-------------------------------------------------------------------------
 *
 * servermemory.h
 *	  The memory of this server: what it can have, what it uses itself, and
 *	  whether the kernel's page cache serves its reads as the advice models it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SERVERMEMORY_H
#define PBP_SERVERMEMORY_H

#include "memory/capacity.h"
#include "memory/memoryplan.h"

typedef struct PbpOwnBytes
{
	int64		cached;			/* in the page cache */
	int64		all_cached;		/* beside files of others, at that time */
	int64		data;			/* files of relations */
	int64		wal;			/* and of WAL */
	int64		smallest_scanned;	/* relation that scans read through a ring;
								 * PG_INT64_MAX: none */
} PbpOwnBytes;

extern void pbp_read_memory_facts(PbpMemoryFacts *facts);
extern int64 pbp_page_cache_room(void);
extern int	pbp_count_working(void);
extern PbpCapacity *pbp_create_capacity(void);

/* in ownfiles.c: the size of this server's files, and what the page cache holds of them */
extern void pbp_count_own_files(void);
extern PbpOwnBytes pbp_own_bytes(void);

#endif							/* PBP_SERVERMEMORY_H */

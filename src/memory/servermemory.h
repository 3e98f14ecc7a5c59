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

/* Who takes memory, and what the kernel says of it. */
typedef struct PbpMemoryFacts
{
	PbpMemorySettings settings;
	PbpProcesses processes;
	PbpOsMemory memory;
} PbpMemoryFacts;

extern void pbp_read_memory_facts(PbpMemoryFacts *facts);
extern PbpCapacity *pbp_create_capacity(void);
extern int64 pbp_page_cache_room(void);

#endif							/* PBP_SERVERMEMORY_H */

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

#include "osmemory.h"

/* Why there are no figures about reads from storage. */
typedef enum PbpStorageModel
{
	PBP_STORAGE_MODELLED,
	PBP_STORAGE_UNPROVEN,		/* MGLRU evicts: figures need a note */
	PBP_STORAGE_SWITCHED_OFF,	/* by pgbufprobe.os_cache */
	PBP_STORAGE_DIRECT_IO,		/* the server bypasses the page cache */
	PBP_STORAGE_FILE_SYSTEM,	/* has a cache of its own, or is in memory */
	PBP_STORAGE_NO_INFORMATION	/* the kernel does not report its memory */
} PbpStorageModel;

extern void pbp_server_memory(int64 own_file_bytes, PbpOsMemory *memory);
extern PbpStorageModel pbp_storage_model(const PbpOsMemory *memory);

#endif							/* PBP_SERVERMEMORY_H */

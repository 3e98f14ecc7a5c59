/*-------------------------------------------------------------------------
 *
 * capacity.h
 *	  For the advice: how much the page cache can hold.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CAPACITY_H
#define PBP_CAPACITY_H

#include "simulator/simulator.h"
#include "os/osmemory.h"

/* How often the capacity is read. */
#define PBP_CAPACITY_NS		(INT64_C(5) * 1000000000)

/* Why there are no figures about storage reads. */
typedef enum PbpStorageModel
{
	PBP_STORAGE_MODELLED,
	PBP_STORAGE_UNPROVEN,		/* MGLRU evicts: figures need a note */
	PBP_STORAGE_SWITCHED_OFF,	/* by pgbufprobe.os_cache */
	PBP_STORAGE_DIRECT_IO,		/* the server bypasses the page cache */
	PBP_STORAGE_FILE_SYSTEM,	/* has a cache of its own, or is in memory */
	PBP_STORAGE_NO_INFORMATION, /* the kernel does not report its memory */
	PBP_LAST_STORAGE_MODEL = PBP_STORAGE_NO_INFORMATION
} PbpStorageModel;

typedef PbpStorageModel (*PbpMemoryReader) (PbpOsMemory *memory);

typedef struct PbpCapacity
{
	PbpMemoryReader read;
	int64_t		read_ns;		/* 0: never */
	PbpOsMemory memory;			/* when last read */
	PbpStorageModel model;
	double		cache_bytes;	/* its capacity, averaged; 0: unknown */
} PbpCapacity;

extern void pbp_reset_capacity(PbpCapacity *capacity);
extern void pbp_follow_capacity(PbpCapacity *capacity, PbpAdvice *advice, int block_bytes);

#endif							/* PBP_CAPACITY_H */

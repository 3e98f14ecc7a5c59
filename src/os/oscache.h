/*-------------------------------------------------------------------------
 *
 * oscache.h
 *	  What the kernel's page cache holds of a relation's files.
 *
 * Offers counts of a fork's cached pages, a bitmap of a file's cached blocks,
 * timed reads of single blocks, and advice to the kernel.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSCACHE_H
#define PBP_OSCACHE_H

#include "nodes/pg_list.h"

#include "base/bitmap.h"
#include "os/osfile.h"
#include "os/oskernel.h"

/* A segment that was counted. */
typedef struct PbpOsSegment
{
	PbpOsFile	file;			/* closed */
	int64		cached;			/* pages of the operating system; -1: unknown */
} PbpOsSegment;

extern List *pbp_os_count(const PbpLocator *locator, ForkNumber fork, PbpOsMethod wanted);
extern int64 pbp_os_map(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks, uint8 *bitmap);
extern bool pbp_os_block(const PbpOsFile *file, BlockNumber block);
extern bool pbp_os_time_read(const PbpOsFile *file, BlockNumber block, int64 *ns);
extern void pbp_os_drop_blocks(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks);
extern void pbp_os_advise(const PbpOsFile *file, int64 offset, int64 bytes, PbpOsAdvice advice);
extern void pbp_os_use(const PbpOsFile *file, BlockNumber block);

#endif							/* PBP_OSCACHE_H */

/*-------------------------------------------------------------------------
 *
 * oscache.h
 *	  What the kernel's page cache holds of a relation's files.
 *
 * A segment is opened, asked, and closed.  An answer is worth something only
 * while the file's trust is PBP_OS_TRUSTED; otherwise the counts are all -1
 * and pbp_os_reason() says why.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSCACHE_H
#define PBP_OSCACHE_H

#include "bitmap.h"
#include "compat.h"

typedef enum PbpOsMethod
{
	PBP_OS_AUTO,				/* cachestat where it tells the truth */
	PBP_OS_CACHESTAT,
	PBP_OS_MINCORE
} PbpOsMethod;

#define PBP_OS_METHODS		(PBP_OS_MINCORE + 1)

/* Why an answer cannot be trusted. */
typedef enum PbpOsTrust
{
	PBP_OS_TRUSTED,
	PBP_OS_UNSUPPORTED,			/* this is not Linux */
	PBP_OS_NO_CACHESTAT,		/* the kernel is too old */
	PBP_OS_FILTERED,			/* a container's filter forbids cachestat */
	PBP_OS_STACKED,				/* cachestat looks at the wrong file */
	PBP_OS_DENIED,				/* neither the owner nor allowed to write */
	PBP_OS_UNMAPPABLE,			/* mincore needs a mapping */
	PBP_OS_OTHER_CACHE,			/* cached, but not in the page cache */
	PBP_OS_DIRECT_IO,			/* the server reads past the page cache */
	PBP_OS_SWITCHED_OFF,		/* by a setting */
	PBP_OS_UNREADABLE			/* the file could not be opened */
} PbpOsTrust;

#define PBP_OS_TRUSTS		(PBP_OS_UNREADABLE + 1)

/* An open file: a segment of a fork. */
typedef struct PbpOsFile
{
	int			fd;				/* -1 if it is PBP_OS_UNREADABLE */
	int			error;			/* why, an errno */
	char	   *path;			/* as the server names it */
	int64		bytes;			/* when it was opened; 0 if it was not */
	PbpOsMethod method;			/* PBP_OS_AUTO: none, nothing was asked */
	PbpOsTrust	trust;
} PbpOsFile;

/* In pages of the operating system; -1 where the method cannot know. */
typedef struct PbpOsCounts
{
	int64		pages;			/* of the whole file, always known */
	int64		cached;
	int64		dirty;
	int64		writeback;
	int64		evicted;
	int64		recently_evicted;
} PbpOsCounts;

/* In blocks of PostgreSQL. */
typedef struct PbpOsBlocks
{
	int64		cached;			/* all pages of the block are */
	int64		partial;		/* some are */
} PbpOsBlocks;

typedef enum PbpOsAdvice
{
	PBP_OS_WILLNEED,
	PBP_OS_DONTNEED
} PbpOsAdvice;

#define PBP_OS_ADVICES		(PBP_OS_DONTNEED + 1)

/* The segments of a fork, one open after the other. */
typedef struct PbpOsWalk
{
	PbpLocator	locator;
	ForkNumber	fork;
	PbpOsMethod method;
	int			segment;		/* the one that is open */
	PbpOsFile	file;
} PbpOsWalk;

/* Only a relation's last segment is smaller. */
#define PBP_SEGMENT_BYTES	((int64) RELSEG_SIZE * BLCKSZ)

/* setting, which _PG_init() defines: may the kernel be asked about its cache? */
extern bool pbp_os_cache_on;

extern int64 pbp_os_page_bytes(void);
extern const char *pbp_os_reason(PbpOsTrust trust);
extern bool pbp_os_open(const PbpLocator *locator, ForkNumber fork, int segment,
						PbpOsMethod wanted, PbpOsFile *file);
extern void pbp_os_close(PbpOsFile *file);
extern void pbp_os_walk(PbpOsWalk *walk, const PbpLocator *locator,
						ForkNumber fork, PbpOsMethod wanted);
extern bool pbp_os_next(PbpOsWalk *walk);
extern void pbp_os_count(const PbpOsFile *file, PbpOsCounts *counts);
extern void pbp_os_map(const PbpOsFile *file, BlockNumber first,
					   BlockNumber nblocks, uint8 *bitmap, PbpOsBlocks *blocks);
extern bool pbp_os_time_read(const PbpOsFile *file, BlockNumber block, int64 *ns);
extern void pbp_os_drop_block(const PbpOsFile *file, BlockNumber block);
extern int64 pbp_os_advise(const PbpOsFile *file, PbpOsAdvice advice);

#endif							/* PBP_OSCACHE_H */

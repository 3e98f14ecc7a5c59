/*-------------------------------------------------------------------------
 *
 * oscache.h
 *	  What the kernel's page cache holds of a relation's files.
 *
 * Offers a relation's files, opened one at a time; counts of their cached pages,
 * and which of their blocks are cached; timed reads, and advice to the kernel.
 *
 * Opening a file determines how to ask, and whether the answer can be trusted:
 * only if the file's trust is PBP_OS_TRUSTED.  Otherwise pbp_os_reason() says
 * why not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSCACHE_H
#define PBP_OSCACHE_H

#include <sys/stat.h>

#include "base/compat.h"

typedef enum PbpOsMethod
{
	PBP_OS_AUTO,				/* cachestat if it can be trusted */
	PBP_OS_CACHESTAT,
	PBP_OS_MINCORE
} PbpOsMethod;

typedef enum PbpOsAdvice
{
	PBP_OS_WILLNEED,
	PBP_OS_DONTNEED,
	PBP_OS_RANDOM				/* no readahead; not for users */
} PbpOsAdvice;

/* Why an answer cannot be trusted. */
typedef enum PbpOsTrust
{
	PBP_OS_TRUSTED,
	PBP_OS_UNSUPPORTED,			/* this is not Linux */
	PBP_OS_NO_CACHESTAT,		/* the kernel is too old */
	PBP_OS_FILTERED,			/* a container's filter forbids cachestat */
	PBP_OS_MINCORE_FILTERED,	/* a filter forbids mincore */
	PBP_OS_STACKED,				/* cachestat inspects the wrong file */
	PBP_OS_DENIED,				/* neither the owner nor allowed to write */
	PBP_OS_UNMAPPABLE,			/* mincore needs a mapping */
	PBP_OS_OTHER_CACHE,			/* cached, but not in the page cache */
	PBP_OS_DIRECT_IO,			/* the server bypasses the page cache */
	PBP_OS_SWITCHED_OFF,		/* by pgbufprobe.os_cache */
	PBP_OS_UNREADABLE			/* the file could not be opened */
} PbpOsTrust;

#define PBP_OS_TRUSTS		(PBP_OS_UNREADABLE + 1)

/* An open segment of a fork. */
typedef struct PbpOsFile
{
	int			fd;				/* -1 if PBP_OS_UNREADABLE */
	int			error;			/* why, an errno */
	char	   *path;			/* relative to the data directory; NULL: closed */
	int64		bytes;			/* when it was opened; 0 if unreadable */
	PbpOsMethod method;			/* PBP_OS_AUTO: none was chosen */
	PbpOsTrust	trust;
} PbpOsFile;

/* What is true of all files of a fork: one that is not trusted makes all untrusted. */
typedef struct PbpOsVerdict
{
	PbpOsTrust	trust;
	char	   *path;			/* of a file that is unreadable; NULL if none is.
								 * Palloc'd. */
	int			error;			/* why, an errno */
} PbpOsVerdict;

/* A segment of a fork.  It is hashed, compared and saved as bytes, so it must have no padding. */
typedef struct PbpFileKey
{
	PbpLocator	locator;
	ForkNumber	fork;
	uint32		segment;
} PbpFileKey;

StaticAssertDecl(sizeof(PbpFileKey) == sizeof(PbpLocator) + 2 * sizeof(uint32), "no padding");

/* The segments of a fork, one of them open at a time. */
typedef struct PbpOsWalk
{
	PbpFileKey	key;			/* of the open one */
	PbpOsMethod method;
	uint32		last;			/* segment; or before, if one is not full */
	PbpOsFile	file;
} PbpOsWalk;

/* In pages, as cachestat(2) returns them. */
typedef struct PbpCachestat
{
	uint64		cached;
	uint64		dirty;
	uint64		writeback;
	uint64		evicted;
	uint64		recently_evicted;
} PbpCachestat;

/* Only a relation's last segment is smaller. */
#define PBP_SEGMENT_BYTES	((int64) RELSEG_SIZE * BLCKSZ)

/* in oskernel.c: one request each, which fails with errno set */
extern int64 pbp_os_page_bytes(void);
extern bool pbp_kernel_cachestat(int fd, int64 offset, int64 bytes, PbpCachestat *answer);
extern bool pbp_kernel_mincore(int fd, int64 offset, int64 bytes, uint8 *pages);
extern bool pbp_kernel_write_back(int fd, int64 offset, int64 bytes, bool wait);
extern bool pbp_kernel_advise(int fd, int64 offset, int64 bytes, PbpOsAdvice advice);
extern bool pbp_kernel_file_system(int fd, uint32 *type);

#ifndef __linux__
#define pbp_kernel_cachestat(...)	pbp_unsupported()
#define pbp_kernel_mincore(...)		pbp_unsupported()
#define pbp_kernel_write_back(...)	pbp_unsupported()
#define pbp_kernel_advise(...)		pbp_unsupported()
#define pbp_kernel_file_system(...) pbp_unsupported()

static inline bool
pbp_unsupported(void)
{
	errno = ENOSYS;
	return false;
}
#endif

/* in osfile.c: files, and whether the kernel's answers about them can be trusted */
extern const char *pbp_os_reason(PbpOsTrust trust);
extern PbpOsTrust pbp_os_file_system_trust(int fd);
extern int	pbp_open_regular_file(const char *path, struct stat *status);
extern bool pbp_os_open(const PbpFileKey *key, PbpOsMethod wanted, PbpOsFile *file);
extern void pbp_os_close(PbpOsFile *file);
extern bool pbp_os_judge(PbpOsVerdict *verdict, const PbpOsFile *file);
extern void pbp_os_walk(PbpOsWalk *walk, const PbpLocator *locator, ForkNumber fork,
						PbpOsMethod wanted);
extern bool pbp_os_next(PbpOsWalk *walk);
extern int64 pbp_os_fork_blocks(const PbpLocator *locator, ForkNumber fork, int64 before);

/* in oscache.c: what is cached of a file, reads, and advice */
extern int64 pbp_os_count(const PbpOsFile *file);
extern int64 pbp_os_map(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks,
						bool *is_cached);
extern bool pbp_os_block(const PbpOsFile *file, BlockNumber block);
extern bool pbp_os_recent_block(const PbpOsFile *file, BlockNumber block);
extern bool pbp_os_time_read(const PbpOsFile *file, BlockNumber block, int64 *ns);
extern void pbp_os_drop_blocks(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks);
extern void pbp_os_advise(const PbpOsFile *file, int64 offset, int64 bytes, PbpOsAdvice advice);
extern void pbp_os_use(const PbpOsFile *file, BlockNumber block);

#endif							/* PBP_OSCACHE_H */

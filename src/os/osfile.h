/*-------------------------------------------------------------------------
 *
 * osfile.h
 *	  A relation's files, opened one at a time to ask the kernel which of
 *	  their pages are cached.
 *
 * Opening a file determines how to ask, and whether the answer can be trusted:
 * only if the file's trust is PBP_OS_TRUSTED.  Otherwise pbp_os_reason() says
 * why not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSFILE_H
#define PBP_OSFILE_H

#include "base/compat.h"

typedef enum PbpOsMethod
{
	PBP_OS_AUTO,				/* cachestat if it can be trusted */
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
	PBP_OS_MINCORE_FILTERED,	/* ... or mincore */
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
	char	   *path;			/* relative to the data directory */
	int64		bytes;			/* when it was opened; 0 if unreadable */
	PbpOsMethod method;			/* PBP_OS_AUTO: none was chosen */
	PbpOsTrust	trust;
} PbpOsFile;

/* What is true of all files of a fork: one that is not trusted makes all untrusted. */
typedef struct PbpOsVerdict
{
	PbpOsMethod method;
	PbpOsTrust	trust;
	char	   *path;			/* of a file that is unreadable; NULL if none is.
								 * Palloc'd. */
	int			error;			/* why, an errno */
} PbpOsVerdict;

/* The segments of a fork, one of them open at a time. */
typedef struct PbpOsWalk
{
	PbpLocator	locator;
	ForkNumber	fork;
	PbpOsMethod method;
	int			segment;		/* the open one */
	PbpOsFile	file;
} PbpOsWalk;

/* Only a relation's last segment is smaller. */
#define PBP_SEGMENT_BYTES	((int64) RELSEG_SIZE * BLCKSZ)

extern const char *pbp_os_reason(PbpOsTrust trust);
extern PbpOsTrust pbp_os_file_system_trust(int fd);
extern bool pbp_os_open(const PbpLocator *locator, ForkNumber fork, int segment,
						PbpOsMethod wanted, PbpOsFile *file);
extern void pbp_os_close(PbpOsFile *file);
extern bool pbp_os_judge(PbpOsVerdict *verdict, const PbpOsFile *file);
extern void pbp_os_walk(PbpOsWalk *walk, const PbpLocator *locator,
						ForkNumber fork, PbpOsMethod wanted);
extern bool pbp_os_next(PbpOsWalk *walk);
extern int64 pbp_os_fork_blocks(const PbpLocator *locator, ForkNumber fork);

#endif							/* PBP_OSFILE_H */

/*-------------------------------------------------------------------------
 *
 * cgroup.h
 *	  The memory cgroups, v1 or v2, that this process is in: its own and the
 *	  ancestors that can be seen from here.
 *
 * What the figures mean for the page cache belongs in osmemory.c.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CGROUP_H
#define PBP_CGROUP_H

#include "os/procfile.h"

/* Of the machine, or of a cgroup with all descendants, in bytes. */
typedef struct PbpMemoryUse
{
	int64_t		limit;			/* without one, beyond any memory */
	int64_t		used;			/* by memory of any kind; PBP_UNKNOWN possible */
	int64_t		file;			/* page cache that can be dropped, so no shared
								 * memory; PBP_UNKNOWN possible */
	int64_t		active_file;	/* of this, used more than once */
	int64_t		anon;			/* private memory; PBP_UNKNOWN possible */
} PbpMemoryUse;

typedef struct PbpCgroupWalk
{
	const char *root;
	bool		v2;
	bool		at_end;
	size_t		top;			/* length of the topmost folder */
	int64_t		tightest;		/* limit so far */
	int64_t		inherited;		/* tightest limit of all ancestors, by v1 */
	char		folder[PBP_PATH_BYTES];
} PbpCgroupWalk;

extern void pbp_cgroup_walk(PbpCgroupWalk *walk, const char *root);
extern bool pbp_next_cgroup(PbpCgroupWalk *walk, PbpMemoryUse *group);

#endif							/* PBP_CGROUP_H */

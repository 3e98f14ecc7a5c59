/*-------------------------------------------------------------------------
 *
 * osmemory.h
 *	  The page cache that this server can have, and the sizes of shared_buffers
 *	  that fit into its memory.
 *
 * The capacity of the page cache is what the page cache of the server's files
 * can grow to at today's shared_buffers: free memory plus the page cache, minus
 * what other files hold of the active list, minus the kernel's own reserve of
 * free memory, and minus the part of the server's shared memory that no session
 * has used yet, since that will be taken later.  All other memory counts as
 * taken: private memory as much as there is now (swap space changes nothing),
 * shared memory of this server and of others, huge pages, the kernel's own.
 * Since it is neither free nor page cache, none of it is added up, and none is
 * counted twice.
 *
 * It is the smallest of such capacities: of the machine, and of each memory
 * cgroup of this process, its own and its ancestors.  In a group, its limit
 * minus its memory in use counts as free.  Limits of ancestors that cannot be
 * seen from inside a container are unknown, but for v1's smallest one.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSMEMORY_H
#define PBP_OSMEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PBP_PATH_BYTES		4096
#define PBP_LINE_BYTES		8192

/* Numbers are at least 0. */
#define PBP_UNKNOWN			INT64_C(-1)
#define PBP_NO_LIMIT		INT64_MAX

/* A number to be found by its name. */
typedef struct PbpNamedNumber
{
	const char *name;
	int64_t		value;
} PbpNamedNumber;

/*
 * What a size that fits must leave of the capacity: this share of all memory or
 * of the cgroup's limit, and half of the private memory that is in use there,
 * for more of it and for a page cache that reads and writes can go through; or
 * what the server's processes may need beyond today's memory, if that is more.
 */
#define PBP_RESERVE_SHARE		(1.0 / 16)
#define PBP_RESERVE_OF_PRIVATE	0.5

/* No figure is larger, so that sums of a few cannot overflow. */
#define PBP_MAX_MEMORY			(INT64_C(1) << 56)

/* Of the machine, or of a cgroup with all descendants, in bytes. */
typedef struct PbpMemoryUse
{
	int64_t		limit;			/* without one, beyond any memory */
	int64_t		used;			/* by memory of any kind; PBP_UNKNOWN possible */
	int64_t		file;			/* page cache that can be dropped, so no shared
								 * memory; PBP_UNKNOWN possible */
	int64_t		active_file;	/* of this, used more than once */
	int64_t		anon;			/* private memory; PBP_UNKNOWN possible */
	int64_t		refaults;		/* pages that were read into the page cache again, ever; only of
								 * a cgroup; PBP_UNKNOWN possible */
	/* only of the machine: */
	bool		swaps;			/* there is free swap space */
	int64_t		promise;		/* what the kernel may still promise; PBP_NO_LIMIT possible */
	int64_t		huge_bytes;		/* of all huge pages; PBP_UNKNOWN possible */
} PbpMemoryUse;

/* From a group up to its ancestors, as far as they can be seen from here. */
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

/* What the server's processes may need beyond what they have, in bytes. */
typedef struct PbpMemoryNeeds
{
	int64_t		processes;		/* for more of them */
	int64_t		queries;		/* to sort and to hash */
	int64_t		vacuum;
	int64_t		decoding;		/* of WAL */
} PbpMemoryNeeds;

/* What is known about the server. */
typedef struct PbpServerMemory
{
	int64_t		pool_bytes;		/* shared_buffers */
	int64_t		unused_bytes;	/* of its shared memory: takes no memory yet */
	int64_t		huge_page_bytes;	/* size of the pages of its shared memory;
									 * 0: no huge pages */
	double		page_tables;	/* that a byte of shared memory may take, if
								 * all processes use it; not with huge pages */
	int64_t		page_table_bytes;	/* that are in use */
	int64_t		least_pool_bytes;	/* for the pins of all sessions */
	PbpMemoryNeeds needs;		/* what sizes that fit leave, if it is more
								 * than the usual reserve */
	int64_t		own_file_bytes; /* page cache of its files, when counted;
								 * PBP_UNKNOWN: other files hold none */
	int64_t		all_file_bytes; /* at that time, of all files, as
								 * pbp_file_bytes() told */
} PbpServerMemory;

typedef enum PbpMemoryHolder
{
	PBP_HELD_BY_MACHINE,
	PBP_HELD_BY_CGROUP
} PbpMemoryHolder;

/* What shared memory can grow by; PBP_NO_LIMIT possible. */
typedef struct PbpMemoryRoom
{
	int64_t		available;
	int64_t		less_reserve;	/* without the usual reserve */
} PbpMemoryRoom;

/* By which policy the kernel evicts pages; MGLRU has changed with its versions. */
typedef enum PbpEviction
{
	PBP_EVICTS_BY_LISTS,
	PBP_EVICTS_BY_OLD_MGLRU,	/* of a kernel before 6.8, or of an unknown one */
	PBP_EVICTS_BY_MGLRU_6_8,
	PBP_EVICTS_BY_MGLRU_6_14
} PbpEviction;

typedef struct PbpOsMemory
{
	bool		known;			/* false: the kernel gives no information */
	PbpEviction eviction;
	bool		swaps;			/* there is free swap space */
	PbpMemoryHolder holder;		/* what makes the capacity as small as it is */
	int64_t		limit_bytes;	/* all memory of this holder */
	int64_t		private_bytes;	/* of this, private memory in use */
	int64_t		huge_bytes;		/* huge pages of the machine, in use or not;
								 * PBP_UNKNOWN possible */
	int64_t		cache_bytes;	/* capacity of the page cache */
	PbpMemoryRoom rooms[PBP_HELD_BY_CGROUP + 1];
	int64_t		huge_page_room;
	PbpServerMemory server;
} PbpOsMemory;

/* Whether a size fits, or what the obstacle is. */
typedef enum PbpFit
{
	PBP_FITS,
	PBP_FIT_UNKNOWN,
	PBP_EXCEEDS_MACHINE,
	PBP_EXCEEDS_CGROUP,
	PBP_EXCEEDS_HUGE_PAGES,
	PBP_BELOW_CONNECTIONS,		/* smaller than today's, and too small for the
								 * pins of all sessions */
	PBP_LAST_FIT = PBP_BELOW_CONNECTIONS
} PbpFit;

/*
 * in procfile.c: small text files of the kernel, as in /proc and /sys.  Paths are
 * relative to a root folder, which is "" but for tests.  What is missing, unreadable or
 * no number is unknown: nothing fails.
 */
extern FILE *pbp_open_lines(const char *root, const char *path);
extern bool pbp_next_line(FILE *file, char *line);
extern void pbp_read_line(const char *root, const char *path, char *line);
extern int64_t pbp_parse_number(const char *text);
extern int64_t pbp_read_number(const char *root, const char *path);
extern void pbp_read_named_numbers(const char *root, const char *path, PbpNamedNumber *numbers,
								   int nnumbers);

/* in cgroup.c: the memory cgroups, v1 or v2, that this process is in */
extern void pbp_cgroup_walk(PbpCgroupWalk *walk, const char *root);
extern bool pbp_next_cgroup(PbpCgroupWalk *walk, PbpMemoryUse *group);

/* in osmemory.c */
extern int64_t pbp_pool_bytes(int64_t shared_buffers);
extern int64_t pbp_file_bytes(const char *root);
extern int64_t pbp_refaults(const char *root);
extern void pbp_os_memory_read(const char *root, const PbpServerMemory *server,
							   PbpOsMemory *memory);
extern int64_t pbp_usual_reserve(int64_t limit_bytes, int64_t private_bytes);
extern int64_t pbp_page_tables(const PbpServerMemory *server, int64_t pool_bytes);
extern PbpFit pbp_size_fits(const PbpOsMemory *memory, int64_t pool_bytes);
extern bool pbp_fits_other_memory(const PbpOsMemory *memory, int64_t more_bytes,
								  int64_t pool_bytes);
extern bool pbp_in_huge_pages(const char *root, const void *address);

#endif							/* PBP_OSMEMORY_H */

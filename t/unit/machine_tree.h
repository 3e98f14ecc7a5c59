/*
 * machine_tree.h
 *	  Folders with the files in which a kernel shows its memory.
 */
#ifndef MACHINE_TREE_H
#define MACHINE_TREE_H

#include "os/osmemory.h"
#include "random.h"
#include "tap.h"

#define KB				INT64_C(1024)
#define MB				(1024 * KB)
#define GB				(1024 * MB)

#define TOTAL			(16 * GB)
#define FREE			(1 * GB)
#define FILES			(10 * GB)
#define ACTIVE			(4 * GB)
#define ANON			(2 * GB)
#define POOL			(1 * GB)

/* min_free_kbytes is 64 MB, and 10 / 10000 of the memory is the larger step */
#define KEPT_FREE		(64 * MB + 2 * (TOTAL / 10000 * 10))
#define MACHINE_CACHE	(FREE + FILES - KEPT_FREE)

#define V1_NONE			"9223372036854771712\n"

#define V2_MOUNT	"30 21 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
#define V1_MOUNT	"31 21 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" \
	"32 21 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory"

extern char tree[128];
extern const PbpServerMemory plain;
extern PbpOsMemory memory;		/* as read last */

extern void begin_tests(const char *name);
extern int	end_tests(void);
extern int	open_files(void);
extern void is(int64_t got, int64_t expected, const char *what);
extern void remove_tree(void);
extern void put_bytes(const char *path, const char *content, size_t bytes);
extern void put(const char *path, const char *format,...);
extern void put_number(const char *folder, const char *file, int64_t number);
extern void put_machine(void);
extern void put_v2_group(const char *folder, const char *max, int64_t used, int64_t file, int64_t anon);
extern void put_v1_group(const char *folder, const char *limit, int64_t used, int64_t file, int64_t anon,
			 const char *inherited);
extern void put_mounts(const char *line);
extern void put_v2(const char *db, const char *leaf);
extern void put_v1(const char *db, const char *leaf, const char *inherited);
extern void read_as(const PbpServerMemory *server);
extern void is_machine(const char *what);
extern void is_cgroup(int64_t limit, int64_t cache, const char *what);
extern void is_largest(int64_t room, PbpFit obstacle, const char *what);
extern int64_t growth(int64_t pool);

#endif							/* MACHINE_TREE_H */

/*
 * machine_tree.c
 *	  Folders with the files in which a kernel shows its memory, and what
 *	  src/os/osmemory.c should make of them.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_tree.h"

char		tree[128];
const PbpServerMemory plain = {.pool_bytes = POOL,.own_file_bytes = PBP_UNKNOWN,.all_file_bytes = PBP_UNKNOWN};
PbpOsMemory memory;
static int	open_before;

void
is(int64_t got, int64_t expected, const char *what)
{
	ok(got == expected, what);
	if (got != expected)
		printf("# got %lld, expected %lld\n", (long long) got, (long long) expected);
}

/* ---- folders ---- */

static int
remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void) info;
	(void) kind;
	(void) walk;
	return remove(path);
}

void
remove_tree(void)
{
	(void) nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void
put_bytes(const char *path, const char *content, size_t bytes)
{
	char		full[512];
	FILE	   *file;

	snprintf(full, sizeof(full), "%s%s", tree, path);
	for (char *slash = full + strlen(tree); (slash = strchr(slash, '/')) != NULL; slash++)
	{
		*slash = '\0';
		(void) mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	if (!file || fwrite(content, 1, bytes, file) != bytes || fclose(file) != 0)
		abort();
}

void
put(const char *path, const char *format,...)
{
	char		content[32768];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(content, sizeof(content), format, arguments);
	va_end(arguments);
	put_bytes(path, content, strlen(content));
}

void
put_number(const char *folder, const char *file, int64_t number)
{
	char		path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	put(path, "%lld\n", (long long) number);
}

/* A machine whose processes are in no group. */
void
put_machine(void)
{
	remove_tree();
	(void) mkdir(tree, 0700);
	put("/proc/meminfo",
		"MemTotal:       %8lld kB\nMemFree:        %8lld kB\nMemAvailable:   1 kB\n"
		"Cached:   1 kB\nActive(file):   %8lld kB\nInactive(file): %8lld kB\n"
		"AnonPages:      %8lld kB\nShmem: 5 kB\nCommitLimit:    %8lld kB\nCommitted_AS:   %8lld kB\n"
		"HugePages_Total:  0\nHugepagesize:       2048 kB\n",
		(long long) (TOTAL / KB), (long long) (FREE / KB), (long long) (ACTIVE / KB),
		(long long) ((FILES - ACTIVE) / KB), (long long) (ANON / KB), (long long) (12 * GB / KB), (long long) (4 * GB / KB));
	put("/proc/sys/vm/min_free_kbytes", "65536\n");
	put("/proc/sys/vm/watermark_scale_factor", "10\n");
	put("/proc/sys/vm/overcommit_memory", "0\n");
}

void
put_v2_group(const char *folder, const char *max, int64_t used, int64_t file, int64_t anon)
{
	char		path[256];

	snprintf(path, sizeof(path), "%s/memory.max", folder);
	put(path, "%s\n", max);
	put_number(folder, "memory.current", used);
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	put(path, "anon %lld\nfile 77\nshmem 88\ninactive_anon 1\nactive_anon 2\ninactive_file %lld\nactive_file %lld\nunevictable 0\n"
		"workingset_refault_anon 3\nworkingset_refault_file %lld\n",
		(long long) anon, (long long) (file / 4), (long long) (file - file / 4), (long long) (file / MB));
}

/* The figures without "total_" are of the group alone, without its descendants. */
void
put_v1_group(const char *folder, const char *limit, int64_t used, int64_t file, int64_t anon,
			 const char *inherited)
{
	char		path[256];

	snprintf(path, sizeof(path), "%s/memory.limit_in_bytes", folder);
	put(path, "%s\n", limit);
	put_number(folder, "memory.usage_in_bytes", used);
	put_number(folder, "memory.use_hierarchy", 1);
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	put(path, "cache 1\nrss 2\ninactive_file 3\nactive_file 4\nhierarchical_memory_limit %s\n"
		"workingset_refault_file 6\n"
		"total_cache 5\ntotal_rss %lld\ntotal_inactive_file %lld\ntotal_active_file %lld\ntotal_workingset_refault_file %lld\n",
		inherited, (long long) anon, (long long) (file / 4), (long long) (file - file / 4), (long long) (file / MB));
}

void
put_mounts(const char *line)
{
	put("/proc/self/mountinfo",
		"21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		"22 21 0:20 / /proc rw shared:5 master:1 - proc proc rw\n%s\n"
		"99 21 0:50 / /tmp rw - tmpfs tmpfs rw\n", line);
}

/* The server's group /db/main in a group /db, v2. */
void
put_v2(const char *db, const char *leaf)
{
	put_machine();
	put("/proc/self/cgroup", "0::/db/main\n");
	put_mounts(V2_MOUNT);
	put("/sys/fs/cgroup/memory.stat", "anon 1\n");
	put_v2_group("/sys/fs/cgroup/db", db, 6 * GB, 4 * GB, GB);
	put_v2_group("/sys/fs/cgroup/db/main", leaf, 3 * GB, 2 * GB, 512 * MB);
}

void
put_v1(const char *db, const char *leaf, const char *inherited)
{
	put_machine();
	put("/proc/self/cgroup", "9:name=systemd:/x\n4:blkio,memory:/db/main\n2:cpu,cpuacct:/y\n0::/z\n");
	put_mounts(V1_MOUNT);
	put_v1_group("/sys/fs/cgroup/memory", V1_NONE, 10 * GB, 8 * GB, 3 * GB, V1_NONE);
	put_v1_group("/sys/fs/cgroup/memory/db", db, 6 * GB, 4 * GB, GB, V1_NONE);
	put_v1_group("/sys/fs/cgroup/memory/db/main", leaf, 3 * GB, 2 * GB, 512 * MB, inherited);
}

/* ---- comparisons ---- */

void
read_as(const PbpServerMemory *server)
{
	pbp_os_memory_read(tree, server, &memory);
}

void
is_machine(const char *what)
{
	read_as(&plain);
	ok(memory.known && memory.holder == PBP_HELD_BY_MACHINE && memory.limit_bytes == TOTAL &&
	   memory.cache_bytes == MACHINE_CACHE && memory.rooms[PBP_HELD_BY_CGROUP].available == PBP_NO_LIMIT, what);
}

void
is_cgroup(int64_t limit, int64_t cache, const char *what)
{
	read_as(&plain);
	ok(memory.known && memory.holder == PBP_HELD_BY_CGROUP && memory.limit_bytes == limit &&
	   memory.cache_bytes == cache, what);
	if (memory.limit_bytes != limit || memory.cache_bytes != cache)
		printf("# limit %lld, cache %lld\n", (long long) memory.limit_bytes, (long long) memory.cache_bytes);
}

/* The largest size that fits, in MB. */
static int64_t
largest(PbpFit *obstacle)
{
	int64_t		fits = 0;
	int64_t		exceeds = 64 * GB / MB;

	while (exceeds - fits > 1)
	{
		int64_t		middle = (fits + exceeds) / 2;

		if (pbp_size_fits(&memory, middle * MB) == PBP_FITS)
			fits = middle;
		else
			exceeds = middle;
	}
	*obstacle = pbp_size_fits(&memory, exceeds * MB);
	return fits;
}

/* What shared memory grows by, from POOL, as shared_memory_size shows it. */
int64_t
growth(int64_t pool)
{
	return (int64_t) (1.023 * (double) (pool - POOL)) + (pool < 4 * GB ? 3 * (pool - POOL) / 512 : 18 * MB);
}

void
is_largest(int64_t room, PbpFit obstacle, const char *what)
{
	PbpFit		found;
	int64_t		expected = POOL / MB;

	while (growth((expected + 1) * MB) <= room)
		expected++;
	is(largest(&found), expected, what);
	is(found, obstacle, "... for the right reason");
}

/* ---- begin and end ---- */

int
open_files(void)
{
	DIR		   *folder = opendir("/proc/self/fd");
	int			count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

void
begin_tests(const char *name)
{
	const char *temporary = getenv("TMPDIR");

	open_before = open_files();
	snprintf(tree, sizeof(tree), "%s/%s.%d", temporary ? temporary : "/tmp", name, (int) getpid());
}

/* Returns the status with which the program should exit. */
int
end_tests(void)
{
	is(open_files(), open_before, "no descriptor is left open");
	remove_tree();
	return end_of_tests();
}

/*
 * osmemory.c
 *	  Which memory does the server have, on many kinds of machines?
 *
 * Writes folders with files as kernels show them and compares what
 * src/osmemory.c makes of them.  Prints TAP; t/312_reads_memory.pl compiles it
 * with src/osmemory.c, src/cgroup.c and src/procfile.c.
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

#include "../../src/osmemory.h"

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

static char tree[128];
static const PbpServerMemory plain = {.pool_bytes = POOL,.own_file_bytes = PBP_UNKNOWN};
static PbpOsMemory memory;
static int	tests;

static void
ok(bool passed, const char *what)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, what);
}

static void
is(int64_t got, int64_t expected, const char *what)
{
	ok(got == expected, what);
	if (got != expected)
		printf("# got %lld, expected %lld\n", (long long) got, (long long) expected);
}

static unsigned
below(unsigned limit)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned) ((state >> 32) * limit >> 32);
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

static void
remove_tree(void)
{
	(void) nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void
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

static void
put(const char *path, const char *format,...)
{
	char		content[32768];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(content, sizeof(content), format, arguments);
	va_end(arguments);
	put_bytes(path, content, strlen(content));
}

static void
put_number(const char *folder, const char *file, int64_t number)
{
	char		path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	put(path, "%lld\n", (long long) number);
}

/* A machine whose processes are in no group. */
static void
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

static void
put_v2_group(const char *folder, const char *max, int64_t used, int64_t file, int64_t anon)
{
	char		path[256];

	snprintf(path, sizeof(path), "%s/memory.max", folder);
	put(path, "%s\n", max);
	put_number(folder, "memory.current", used);
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	put(path, "anon %lld\nfile 77\nshmem 88\ninactive_anon 1\nactive_anon 2\ninactive_file %lld\nactive_file %lld\nunevictable 0\n",
		(long long) anon, (long long) (file / 4), (long long) (file - file / 4));
}

/* The figures without "total_" are of the group alone, without its descendants. */
static void
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
		"total_cache 5\ntotal_rss %lld\ntotal_inactive_file %lld\ntotal_active_file %lld\n",
		inherited, (long long) anon, (long long) (file / 4), (long long) (file - file / 4));
}

static void
put_mounts(const char *line)
{
	put("/proc/self/mountinfo",
		"21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		"22 21 0:20 / /proc rw shared:5 master:1 - proc proc rw\n%s\n"
		"99 21 0:50 / /tmp rw - tmpfs tmpfs rw\n", line);
}

#define V2_MOUNT	"30 21 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
#define V1_MOUNT	"31 21 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" \
	"32 21 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory"

/* The server's group /db/main in a group /db, v2. */
static void
put_v2(const char *db, const char *leaf)
{
	put_machine();
	put("/proc/self/cgroup", "0::/db/main\n");
	put_mounts(V2_MOUNT);
	put("/sys/fs/cgroup/memory.stat", "anon 1\n");
	put_v2_group("/sys/fs/cgroup/db", db, 6 * GB, 4 * GB, GB);
	put_v2_group("/sys/fs/cgroup/db/main", leaf, 3 * GB, 2 * GB, 512 * MB);
}

static void
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

static void
read_as(const PbpServerMemory *server)
{
	pbp_os_memory_read(tree, server, &memory);
}

static void
is_machine(const char *what)
{
	read_as(&plain);
	ok(memory.known && memory.holder == PBP_HELD_BY_MACHINE && memory.limit_bytes == TOTAL &&
	   memory.cache_bytes == MACHINE_CACHE && memory.cgroup_room == PBP_NO_LIMIT, what);
}

static void
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
static int64_t
growth(int64_t pool)
{
	return (int64_t) (1.023 * (double) (pool - POOL)) + (pool < 4 * GB ? 3 * (pool - POOL) / 512 : 18 * MB);
}

static void
is_largest(int64_t room, PbpFit obstacle, const char *what)
{
	PbpFit		found;
	int64_t		expected = POOL / MB;

	while (growth((expected + 1) * MB) <= room)
		expected++;
	is(largest(&found), expected, what);
	is(found, obstacle, "... for the right reason");
}

/* ---- tests ---- */

static void
test_numbers(void)
{
	static const struct
	{
		const char *text;
		int64_t		number;
	}			cases[] = {
		{"0", 0}, {"  42\n", 42}, {"7 kB", 7 * KB}, {"0x1f", 31}, {"max\n", PBP_NO_LIMIT},
		{"99999999999999999999", PBP_NO_LIMIT}, {"9223372036854775807 kB", PBP_NO_LIMIT},
		{"", PBP_UNKNOWN}, {"-1", PBP_UNKNOWN}, {"12a", PBP_UNKNOWN}, {"maximum", PBP_UNKNOWN}, {"kB", PBP_UNKNOWN}
	};
	PbpNamedNumber numbers[] = {{"anon", 0}, {"file", 0}, {"shmem", 0}};
	int			wrong = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		wrong += pbp_parse_number(cases[i].text) != cases[i].number;
	is(wrong, 0, "numbers, and what is none");
	put("/stat", "file_mapped 1\nfil 2\nanon oops\nfile 3\nfile 4\nshmem:\t5 kB");
	pbp_read_named_numbers(tree, "/stat", numbers, 3);
	ok(numbers[0].value == PBP_UNKNOWN && numbers[1].value == 3 && numbers[2].value == 5 * KB,
	   "numbers are found by their whole names, the first of several");
}

static void
test_lines(void)
{
	char		content[3 * PBP_LINE_BYTES];
	PbpLines	lines;
	const char *line;

	memset(content, 'x', sizeof(content));
	strcpy(content + sizeof(content) - 10, "\nnext\n\nz");
	put("/lines", "first\n%s", content);
	ok(pbp_open_lines(&lines, tree, "/lines") && strcmp(pbp_next_line(&lines), "first") == 0, "a line");
	line = pbp_next_line(&lines);
	ok(line && strcmp(line, "next") == 0, "a line that is too long is left out to its end");
	line = pbp_next_line(&lines);
	ok(line && *line == '\0', "an empty line is one");
	line = pbp_next_line(&lines);
	ok(line && strcmp(line, "z") == 0, "so is a last line without an end");
	ok(!pbp_next_line(&lines) && lines.fd < 0 && !pbp_next_line(&lines), "after it there is none");
}

static void
test_machine(void)
{
	PbpServerMemory server = plain;

	put_machine();
	is_machine("a machine without cgroups: free memory, and the page cache");
	is_largest(MACHINE_CACHE - TOTAL / 16 - ANON / 2, PBP_EXCEEDS_MACHINE, "... and the largest size leaves the reserve");

	server.unused_bytes = 300 * MB;
	read_as(&server);
	is(memory.cache_bytes, MACHINE_CACHE - 300 * MB, "shared memory that is not used yet will be");

	server.own_file_bytes = 7 * GB;
	read_as(&server);
	is(memory.cache_bytes, MACHINE_CACHE - 3 * GB - 300 * MB, "what other files hold is not the server's");
	server.own_file_bytes = 0;
	read_as(&server);
	is(memory.cache_bytes, MACHINE_CACHE - ACTIVE - 300 * MB, "... but other files hold only pages that were used twice");
	is_largest(MACHINE_CACHE - 300 * MB - TOTAL / 16 - ANON / 2, PBP_EXCEEDS_MACHINE, "... and shared memory may take those");

	server = plain;
	server.page_tables = 0.2;
	read_as(&server);
	is_largest((int64_t) ((MACHINE_CACHE - TOTAL / 16 - ANON / 2) / 1.2), PBP_EXCEEDS_MACHINE, "page tables take their part");

	server.page_tables = 600;
	read_as(&server);
	is(pbp_size_fits(&memory, INT64_MAX), PBP_EXCEEDS_MACHINE, "... also for any number of processes");

	server = plain;
	server.own_file_bytes = 40 * GB;
	read_as(&server);
	is(memory.cache_bytes, MACHINE_CACHE, "no more of the page cache is the server's than there is");

	put("/proc/sys/vm/watermark_scale_factor", "1000\n");
	read_as(&plain);
	is(memory.cache_bytes, FREE + FILES - 64 * MB - 2 * (TOTAL / 10000 * 1000), "a kernel that keeps more memory free");
}

static void
test_strict_overcommit(void)
{
	put_machine();
	put("/proc/sys/vm/overcommit_memory", "2\n");
	read_as(&plain);
	is(memory.cache_bytes, MACHINE_CACHE, "strict overcommit does not limit the page cache");
	put("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nActive(file): 10485760 kB\n"
		"Inactive(file): 0 kB\nAnonPages: 2097152 kB\nCommitLimit: 8388608 kB\nCommitted_AS: 4194304 kB\n");
	read_as(&plain);
	is_largest(4 * GB - TOTAL / 16 - ANON / 2, PBP_EXCEEDS_MACHINE, "... but shared memory");
}

static void
test_nothing(void)
{
	remove_tree();
	read_as(&plain);
	ok(!memory.known, "without /proc nothing is known");
	is(pbp_size_fits(&memory, POOL + MB), PBP_FIT_UNKNOWN, "... nor what fits");
	is(pbp_size_fits(&memory, POOL), PBP_FITS, "... but today's size does");
	put("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: lots\nActive(file): 1 kB\nInactive(file): 1 kB\n");
	read_as(&plain);
	ok(!memory.known, "a figure that is no number is unknown");
}

static void
test_v2(void)
{
	put_v2("max", "max");
	is_machine("v2 without limits");
	put_v2("max", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v2, a limit of its own: unused memory, and the page cache");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... and the largest size leaves the reserve");
	put_v2("7516192768", "max");
	is_cgroup(7 * GB, 5 * GB, "v2, a limit of the parent");
	put_v2("7516192768", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v2, both: its own leaves less");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... also to the largest size");
	put_v2("6442450944", "10737418240");
	is_cgroup(6 * GB, 4 * GB, "v2, both: the parent leaves less");
	put_v2("max", "max");
	put("/sys/fs/cgroup/db/memory.high", "7516192768\n");
	is_cgroup(7 * GB, 5 * GB, "v2, memory.high");
	put_v2("5368709120", "max");
	is_cgroup(5 * GB, 3 * GB, "v2, a limit below the memory in use");
	put_v2("17179869184", "max");
	is_machine("v2, a limit as large as the machine");
}

static void
test_v1(void)
{
	put_v1(V1_NONE, V1_NONE, V1_NONE);
	is_machine("v1 without limits");
	put_v1(V1_NONE, "4294967296", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a limit of its own");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... and the largest size leaves the reserve");
	put_v1("7516192768", V1_NONE, "7516192768");
	is_cgroup(7 * GB, 5 * GB, "v1, a limit of the parent");
	put_v1("6442450944", "10737418240", "6442450944");
	is_cgroup(6 * GB, 4 * GB, "v1, both: the parent leaves less");
	put_number("/sys/fs/cgroup/memory/db", "memory.use_hierarchy", 0);
	is_cgroup(10 * GB, 9 * GB, "v1, a parent that does not limit its children");
	put_v1(V1_NONE, "18446744073709551615", "99999999999999999999999");
	is_machine("v1, limits larger than any number");
}

static void
test_hybrid(void)
{
	put_v1(V1_NONE, "4294967296", "4294967296");
	put_mounts(V1_MOUNT "\n40 21 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
	put("/sys/fs/cgroup/unified/z/cgroup.procs", "1\n");
	is_cgroup(4 * GB, 3 * GB, "both versions mounted, memory in v1");
	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "1:name=systemd:/x\n0::/db/main\n");
	is_cgroup(4 * GB, 3 * GB, "both versions mounted, memory in v2");
}

static void
test_containers(void)
{
	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "0::/\n");
	put_v2_group("/sys/fs/cgroup", "5368709120", 3 * GB, 2 * GB, 0);
	is_cgroup(5 * GB, 4 * GB, "v2, a namespace whose root is the container's group");

	put_machine();
	put("/proc/self/cgroup", "4:memory:/docker/abc\n");
	put_mounts("32 21 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	put_v1_group("/sys/fs/cgroup/memory", "4294967296", 3 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a mount of the container's group");
	put_v1_group("/sys/fs/cgroup/memory", "5368709120", 3 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a limit of an ancestor that cannot be seen");
	put("/proc/self/cgroup", "4:memory:/docker/abc/pg\n");
	put_v1_group("/sys/fs/cgroup/memory/pg", V1_NONE, 2 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "... from a group within the container");
	put("/proc/self/cgroup", "4:memory:/docker/abcd\n");
	put_v1_group("/sys/fs/cgroup/memoryd", "4294967296", 2 * GB, 2 * GB, 0, "4294967296");
	is_machine("v1, a mount of another group whose name begins alike");
	put("/proc/self/cgroup", "4:memory:/my group/a\n");
	put_mounts("32 21 0:28 /my\\040group/a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	is_cgroup(4 * GB, 3 * GB, "v1, a mount of a group with a blank in its name");
	put_mounts("32 21 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	put("/proc/self/cgroup", "4:memory:/docker\n");
	is_machine("v1, a mount of a descendant");

	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "0::/../main\n");
	put_v2_group("/sys/fs/main", "2147483648", GB, GB, 0);
	is_machine("v2, a process outside the root of its namespace");
	put("/proc/self/cgroup", "0::/main\n");
	put_mounts("30 21 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
	is_machine("v2, a mount from outside the namespace");
	put("/proc/self/cgroup", "0::/../db/main\n");
	is_cgroup(4 * GB, 3 * GB, "v2, a process and a mount outside the namespace");
	put_mounts("");
	is_machine("v2, not mounted");
	put("/proc/self/cgroup", "0::/db/gone (deleted)\n");
	put_mounts(V2_MOUNT);
	is_machine("v2, a group that was removed");
}

static void
test_mounts(void)
{
	char		lines[20000];

	put_v2("max", "4294967296");
	put_mounts("30 21 0:26 / /my\\040groups\\134 rw shared:1 master:2 propagate_from:3 - cgroup2  rw");
	put_v2_group("/my groups\\/db/main", "2147483648", GB, GB / 2, 0);
	is_cgroup(2 * GB, GB + GB / 2, "a folder with a blank, and a mount without a source");

	put_v2("7516192768", "max");
	put_mounts("29 21 0:26 /db/main /narrow rw - cgroup2 c rw\n" V2_MOUNT "\n31 21 0:26 /db /wide rw - cgroup2 c rw");
	put_v2_group("/narrow", "max", 3 * GB, 2 * GB, 0);
	is_cgroup(7 * GB, 5 * GB, "of several mounts, the one with most ancestors counts");

	memset(lines, 'x', sizeof(lines));
	memcpy(lines + sizeof(lines) - sizeof("\n" V2_MOUNT), "\n" V2_MOUNT, sizeof("\n" V2_MOUNT));
	put_v2("max", "4294967296");
	put_mounts(lines);
	is_cgroup(4 * GB, 3 * GB, "a line longer than the buffer is left out");
	put("/proc/self/mountinfo", "%s", V2_MOUNT);
	is_cgroup(4 * GB, 3 * GB, "a last line without an end counts");
}

static void
test_extremes(void)
{
	put_v2("max", "1048576");
	read_as(&plain);
	is(memory.cache_bytes, 0, "a tiny limit leaves nothing");
	is(pbp_size_fits(&memory, POOL + MB), PBP_EXCEEDS_CGROUP, "... and no larger size fits");
	is(pbp_size_fits(&memory, POOL), PBP_FITS, "... but today's does");
	put_v2("max", "0");
	is_cgroup(0, 0, "a limit of 0");
	put_v2("max", "4294967296");
	put("/sys/fs/cgroup/db/main/memory.current", "9223372036854775807\n");
	is_cgroup(4 * GB, 0, "a group with more in use than there can be");
	put("/sys/fs/cgroup/db/main/memory.current", "oops\n");
	read_as(&plain);
	ok(!memory.known, "a limited group that does not show what is in use");
	put_v2("max", "4294967296");
	put("/sys/fs/cgroup/db/main/memory.stat", "anon 5\n");
	read_as(&plain);
	ok(!memory.known, "a limited group that does not show its page cache");
	put("/sys/fs/cgroup/db/main/memory.stat", "active_file 9223372036854775807\ninactive_file 5\n");
	read_as(&plain);
	ok(!memory.known, "... or one that is larger than any number");
	put_v2("max", "max");
	put("/sys/fs/cgroup/db/main/memory.stat", "anon 5\n");
	is_machine("a group without a limit need not");
}

static void
test_huge_pages(void)
{
	PbpServerMemory server = plain;
	const char *folder = "/sys/kernel/mm/hugepages/hugepages-2048kB";

	server.huge_page_bytes = 2 * MB;
	put_v2("max", "4294967296");
	put_number(folder, "free_hugepages", 700);
	put_number(folder, "resv_hugepages", 188);
	read_as(&server);
	is(memory.huge_page_room, GB, "huge pages that are free and not promised");
	is_largest(GB, PBP_EXCEEDS_HUGE_PAGES, "a size fits if there are enough of them");
	is(memory.cache_bytes, 3 * GB, "the page cache is as without");
	put_number(folder, "resv_hugepages", 700);
	read_as(&server);
	is(pbp_size_fits(&memory, POOL + 8192), PBP_EXCEEDS_HUGE_PAGES, "without any, no block more fits");
	is(pbp_size_fits(&memory, POOL - 8192), PBP_FITS, "... but one less");
	server.huge_page_bytes = GB;
	read_as(&server);
	is(pbp_size_fits(&memory, POOL + 8192), PBP_EXCEEDS_HUGE_PAGES, "of another size there are none");
	put_number("/sys/kernel/mm/hugepages/hugepages-1048576kB", "free_hugepages", 1);
	put_number("/sys/kernel/mm/hugepages/hugepages-1048576kB", "resv_hugepages", 0);
	read_as(&server);
	is(pbp_size_fits(&memory, POOL + 8192), PBP_FITS, "of another size there is one");
	is(pbp_size_fits(&memory, 3 * GB), PBP_EXCEEDS_HUGE_PAGES, "... and not more");
}

static void
test_mapping(void)
{
	put("/proc/self/maps",
		"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/postgres\n"
		"7f0000000000-7f0000200000 rw-s 00000000 00:0f 12  /anon_hugepage (deleted)\n"
		"7f0000200000-7f0000400000 rw-s 00000000 00:01 13  /dev/zero (deleted)\n");
	ok(pbp_in_huge_pages(tree, (void *) UINT64_C(0x7f0000000000)), "an address in huge pages");
	ok(pbp_in_huge_pages(tree, (void *) UINT64_C(0x7f00001fffff)), "... to the end");
	ok(!pbp_in_huge_pages(tree, (void *) UINT64_C(0x7f0000200000)), "... and not behind");
	ok(!pbp_in_huge_pages(tree, (void *) UINT64_C(0x10)), "an address in no mapping");
}

static void
test_lru_gen(void)
{
	static const char *const values[] = {"0x0000\n", "0x0007\n", "0x0006\n", "1", "oops", ""};
	static const bool expected[] = {false, true, false, true, false, false};

	put_machine();
	read_as(&plain);
	ok(!memory.lru_gen, "a kernel without MGLRU");
	for (int i = 0; i < 6; i++)
	{
		put("/sys/kernel/mm/lru_gen/enabled", "%s", values[i]);
		read_as(&plain);
		ok(memory.lru_gen == expected[i], "MGLRU is enabled or not");
	}
}

static bool
within(int64_t got, int64_t expected, int64_t error)
{
	return got >= expected - error && got <= expected + error;
}

/* shared_memory_size of servers with all defaults */
static void
test_shared_memory(void)
{
	static const struct
	{
		int64_t		pool;
		int64_t		in_15;
		int64_t		in_18;
	}			sizes[] = {{128, 143, 150}, {1024, 1074, 1086}, {4096, 4213, 4253}, {16384, 16771, 16823}};
	int			wrong = 0;

	put_machine();
	for (int i = 0; i < 3; i++)
	{
		PbpServerMemory server = {.pool_bytes = sizes[i + 1].pool * MB,.own_file_bytes = PBP_UNKNOWN};
		int64_t		gained;

		/* The page cache gains so much in 16 GB, if today's pool has the larger size. */
		put("/proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 33554432 kB\nActive(file): 0 kB\n"
			"Inactive(file): 0 kB\nAnonPages: 0 kB\n");
		read_as(&server);
		gained = (pbp_cache_beside(&memory, sizes[i].pool * MB) - memory.cache_bytes) / MB;
		wrong += !within(gained, sizes[i + 1].in_15 - sizes[i].in_15, 40);
		wrong += !within(gained, sizes[i + 1].in_18 - sizes[i].in_18, 10);
		printf("# from %lld MB to %lld: %lld\n", (long long) sizes[i].pool, (long long) sizes[i + 1].pool, (long long) gained);
	}
	is(wrong, 0, "shared memory grows as that of servers does");
}

static void
test_other_sizes(void)
{
	int			wrong = 0;
	bool		fitted = true;

	put_v2("max", "4294967296");
	read_as(&plain);
	is(pbp_cache_beside(&memory, POOL), 3 * GB, "beside today's size, the capacity");
	ok(within(pbp_cache_beside(&memory, POOL + GB), 3 * GB - growth(2 * GB), MB), "a larger pool takes its size, and its descriptors");
	ok(within(pbp_cache_beside(&memory, POOL - 100 * MB), 3 * GB - growth(POOL - 100 * MB), MB), "a smaller one gives it");
	is(pbp_cache_beside(&memory, INT64_MAX), 0, "a pool of any size leaves at least nothing");
	for (int64_t size = 0; size < 8 * GB; size += 16 * MB)
	{
		bool		fits = pbp_size_fits(&memory, size) == PBP_FITS;

		wrong += fits && !fitted;
		wrong += pbp_cache_beside(&memory, size) < pbp_cache_beside(&memory, size + 16 * MB);
		wrong += fits && size > POOL && pbp_cache_beside(&memory, size) < memory.limit_bytes / 16;
		fitted = fits;
	}
	is(wrong, 0, "what fits leaves the reserve, and all that is smaller fits too");
	is(pbp_size_fits(&memory, INT64_MAX), PBP_EXCEEDS_CGROUP, "a size beyond any number does not fit");
}

/* ---- odd contents ---- */

static const char *const files[] = {
	"/proc/meminfo", "/proc/self/cgroup", "/proc/self/mountinfo", "/proc/sys/vm/min_free_kbytes",
	"/proc/sys/vm/watermark_scale_factor", "/sys/fs/cgroup/db/memory.max", "/sys/fs/cgroup/db/memory.current",
	"/sys/fs/cgroup/db/memory.stat", "/sys/fs/cgroup/db/main/memory.max", "/sys/fs/cgroup/db/main/memory.stat",
	"/sys/fs/cgroup/memory/db/memory.limit_in_bytes", "/sys/fs/cgroup/memory/db/main/memory.usage_in_bytes",
	"/sys/fs/cgroup/memory/db/main/memory.stat", "/sys/fs/cgroup/memory/db/main/memory.use_hierarchy"
};

#define FILE_COUNT		((int) (sizeof(files) / sizeof(files[0])))

static int
open_files(void)
{
	DIR		   *folder = opendir("/proc/self/fd");
	int			count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static bool
is_consistent(void)
{
	PbpServerMemory server = plain;

	server.unused_bytes = below(2) ? GB : INT64_MAX;
	server.own_file_bytes = below(2) ? GB : PBP_UNKNOWN;
	read_as(&server);
	return !memory.known ||
		(memory.cache_bytes >= 0 && memory.cache_bytes <= memory.limit_bytes &&
		 pbp_size_fits(&memory, POOL) == PBP_FITS &&
		 pbp_cache_beside(&memory, 2 * POOL) <= memory.cache_bytes &&
		 (memory.holder == PBP_HELD_BY_MACHINE) >= (memory.cgroup_room == PBP_NO_LIMIT));
}

static size_t
content_of(const char *path, char *content, size_t room)
{
	char		full[512];
	FILE	   *file;
	size_t		bytes;

	snprintf(full, sizeof(full), "%s%s", tree, path);
	file = fopen(full, "r");
	if (!file)
		return 0;
	bytes = fread(content, 1, room, file);
	fclose(file);
	return bytes;
}

static void
test_truncated(bool v2)
{
	char		content[4096];
	int			wrong = 0;
	int			cuts = 0;

	if (v2)
		put_v2("7516192768", "4294967296");
	else
		put_v1("7516192768", "4294967296", "4294967296");
	for (int i = 0; i < FILE_COUNT; i++)
	{
		size_t		bytes = content_of(files[i], content, sizeof(content));

		for (size_t cut = 0; cut < bytes; cut++, cuts++)
		{
			put_bytes(files[i], content, cut);
			wrong += !is_consistent();
		}
		if (bytes > 0)
			put_bytes(files[i], content, bytes);
	}
	printf("# %d files cut short\n", cuts);
	ok(wrong == 0 && cuts > 500, v2 ? "v2, each file cut at each byte" : "v1, each file cut at each byte");
}

static void
test_garbage(void)
{
	static const char *const pieces[] = {
		"0", "max", "-1", "9223372036854771712", "18446744073709551615", " ", "\n", ":", "kB", " - ", "/", "/db",
		"MemTotal:", "MemFree: ", "Active(file): ", "active_file ", "cgroup2", "memory", "\\040", "\\", "4096", ",", "::"
	};
	char		content[4096];
	int			wrong = 0;
	int			known = 0;

	for (int i = 0; i < 2000; i++)
	{
		const char *path = files[below(FILE_COUNT)];
		size_t		bytes;

		if (i % 40 == 0)
			(i % 80 ? put_v2("7516192768", "4294967296") : put_v1("7516192768", "4294967296", "4294967296"));
		bytes = content_of(path, content, sizeof(content) - 64);
		for (int change = 0; change < 4; change++)
		{
			const char *piece = pieces[below(sizeof(pieces) / sizeof(pieces[0]))];

			if (below(2))
				memcpy(content + below((unsigned) bytes + 1), piece, strlen(piece));
			else if (bytes > 0)
				content[below((unsigned) bytes)] = (char) below(256);
		}
		put_bytes(path, content, bytes);
		wrong += !is_consistent();
		known += memory.known;
	}
	printf("# %d of 2000 known\n", known);
	ok(wrong == 0 && known > 500, "files with garbage in them");
}

int
main(void)
{
	int			before = open_files();
	const char *temporary = getenv("TMPDIR");

	snprintf(tree, sizeof(tree), "%s/osmemory.%d", temporary ? temporary : "/tmp", (int) getpid());
	remove_tree();
	test_numbers();
	test_lines();
	test_machine();
	test_strict_overcommit();
	test_nothing();
	test_v2();
	test_v1();
	test_hybrid();
	test_containers();
	test_mounts();
	test_extremes();
	test_huge_pages();
	test_mapping();
	test_lru_gen();
	test_shared_memory();
	test_other_sizes();
	test_truncated(true);
	test_truncated(false);
	test_garbage();
	is(open_files(), before, "no descriptor is left open");
	remove_tree();
	printf("1..%d\n", tests);
	return 0;
}

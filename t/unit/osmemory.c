/*
 * osmemory.c
 *	  The memory that the server has, and the sizes that fit.
 *
 * Writes folders with files as kernels show them and compares what
 * src/os/osmemory.c makes of them.  Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include "machine_tree.h"

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
	char		line[PBP_LINE_BYTES];
	FILE	   *file;

	memset(content, 'x', sizeof(content));
	strcpy(content + sizeof(content) - 10, "\nnext\n\nz");
	put("/lines", "first\n%s", content);
	file = pbp_open_lines(tree, "/lines");
	ok(file && pbp_next_line(file, line) && strcmp(line, "first") == 0, "a line");
	ok(pbp_next_line(file, line) && strcmp(line, "next") == 0, "a line that is too long is left out to its end");
	ok(pbp_next_line(file, line) && *line == '\0', "an empty line is one");
	ok(pbp_next_line(file, line) && strcmp(line, "z") == 0, "so is a last line without an end");
	ok(!pbp_next_line(file, line) && !pbp_next_line(file, line), "after it there is none");
	fclose(file);
}

static void
is_cache(const PbpServerMemory *server, int64_t bytes, const char *what)
{
	read_as(server);
	is(memory.cache_bytes, bytes, what);
}

/* Beyond the usual reserve, which is 2 GB here. */
static void
test_needs(void)
{
	PbpServerMemory server = plain;

	server.needs = (PbpMemoryNeeds) {.processes = GB / 2,.queries = GB / 2,.vacuum = GB / 2,.decoding = GB / 2 - 1};
	read_as(&server);
	is_largest(MACHINE_CACHE - 2 * GB, PBP_EXCEEDS_MACHINE, "what processes may need, if less than the usual reserve");
	server.needs.queries += 3 * GB;
	read_as(&server);
	is_largest(MACHINE_CACHE - 5 * GB, PBP_EXCEEDS_MACHINE, "... or more");
	for (int i = 0; i < 4; i++)
	{
		server.needs = (PbpMemoryNeeds) {.processes = i == 0 ? 3 * GB : 0,.queries = i == 1 ? 3 * GB : 0,
		.vacuum = i == 2 ? 3 * GB : 0,.decoding = i == 3 ? 3 * GB : 0};
		read_as(&server);
		is_largest(MACHINE_CACHE - 3 * GB, PBP_EXCEEDS_MACHINE, "... each of them counts");
	}
	server.needs = (PbpMemoryNeeds) {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	read_as(&server);
	is(pbp_size_fits(&memory, POOL + MB), PBP_EXCEEDS_MACHINE, "... if it is more than there is, no larger size fits");
	is(pbp_size_fits(&memory, POOL), PBP_FITS, "... but today's does");
}

static void
test_connections(void)
{
	PbpServerMemory server = plain;

	server.least_pool_bytes = POOL / 2;
	read_as(&server);
	is(pbp_size_fits(&memory, POOL / 2), PBP_FITS, "a smaller pool that has buffers for all sessions");
	is(pbp_size_fits(&memory, POOL / 2 - 8192), PBP_BELOW_CONNECTIONS, "... and one that has not");
	server.least_pool_bytes = 2 * POOL;
	read_as(&server);
	is(pbp_size_fits(&memory, POOL), PBP_FITS, "today's size is not judged by that");
	is(pbp_size_fits(&memory, POOL + 8192), PBP_FITS, "... nor a larger one");
}

static void
test_machine(void)
{
	PbpServerMemory server = plain;

	put_machine();
	is_machine("a machine without cgroups: free memory, and the page cache");
	is_largest(MACHINE_CACHE - TOTAL / 16 - ANON / 2, PBP_EXCEEDS_MACHINE, "... and the largest size leaves the reserve");

	server.unused_bytes = 300 * MB;
	is_cache(&server, MACHINE_CACHE - 300 * MB, "shared memory that is not used yet will be");

	server.own_file_bytes = 7 * GB;
	is_cache(&server, MACHINE_CACHE - 3 * GB - 300 * MB, "what other files hold is not the server's");
	server.own_file_bytes = 0;
	is_cache(&server, MACHINE_CACHE - ACTIVE - 300 * MB, "... but other files hold only pages that were used twice");
	is_largest(MACHINE_CACHE - 300 * MB - TOTAL / 16 - ANON / 2, PBP_EXCEEDS_MACHINE, "... and shared memory may take those");

	server = plain;
	server.page_tables = 0.2;
	server.page_table_bytes = (int64_t) (0.2 * (double) pbp_pool_bytes(POOL));
	read_as(&server);
	is_largest((int64_t) ((MACHINE_CACHE - TOTAL / 16 - ANON / 2) / 1.2), PBP_EXCEEDS_MACHINE, "page tables take their part");
	server.page_table_bytes = 0;
	read_as(&server);
	is_largest((int64_t) ((MACHINE_CACHE - TOTAL / 16 - ANON / 2 - 0.2 * (double) pbp_pool_bytes(POOL)) / 1.2),
			   PBP_EXCEEDS_MACHINE, "... also those of today's size that are still to come");

	server.page_tables = 600;
	read_as(&server);
	is(pbp_size_fits(&memory, INT64_MAX), PBP_EXCEEDS_MACHINE, "... also for any number of processes");

	test_needs();
	test_connections();

	server = plain;
	server.own_file_bytes = 40 * GB;
	is_cache(&server, MACHINE_CACHE, "no more of the page cache is the server's than there is");

	put("/proc/sys/vm/watermark_scale_factor", "1000\n");
	is_cache(&plain, FREE + FILES - 64 * MB - 2 * (TOTAL / 10000 * 1000), "a kernel that keeps more memory free");
}

/* The group holds 2 GB of files, 1.5 GB of them used more than once. */
static void
test_growing_cache(void)
{
	PbpServerMemory server = plain;

	put_v2("max", "4294967296");
	server.own_file_bytes = GB / 2;
	server.all_file_bytes = GB / 2;
	is_cache(&server, 3 * GB, "what the cache of a group grew by since files were counted is the server's");
	put_v2_group("/sys/fs/cgroup/db/main", "4294967296", 7 * GB / 2, 5 * GB / 2, 512 * MB);
	is_cache(&server, 3 * GB, "... however much that is");
	server.all_file_bytes = GB;
	is_cache(&server, 5 * GB / 2, "... and what others held then is still theirs");
	put_v2_group("/sys/fs/cgroup/db/main", "4294967296", 5 * GB / 2, 3 * GB / 4, 512 * MB);
	is_cache(&server, 7 * GB / 4, "... also when the cache has become smaller");

	put_machine();
	server.own_file_bytes = 4 * GB;
	server.all_file_bytes = 5 * GB;
	is_cache(&server, MACHINE_CACHE - GB, "without groups, it is what the cache of the machine grew by");
	server.all_file_bytes = PBP_UNKNOWN;
	is_cache(&server, MACHINE_CACHE - ACTIVE, "... and where that is unknown, it grew by nothing");
	remove_tree();
	is(pbp_file_bytes(tree), PBP_UNKNOWN, "without /proc, the size of the cache is unknown");
}

static void
test_strict_overcommit(void)
{
	put_machine();
	put("/proc/sys/vm/overcommit_memory", "2\n");
	is_cache(&plain, MACHINE_CACHE, "strict overcommit does not limit the page cache");
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
	is(memory.huge_bytes, PBP_UNKNOWN, "an old kernel does not report the sum of all sizes");
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
	static const struct
	{
		const char *release;
		PbpEviction eviction;
	}			kernels[] = {
		{"6.1.0-40-amd64\n", PBP_EVICTS_BY_OLD_MGLRU},
		{"6.7.12\n", PBP_EVICTS_BY_OLD_MGLRU},
		{"6.8.0-31-generic\n", PBP_EVICTS_BY_MGLRU_6_8},
		{"6.13.12-200.fc41.x86_64\n", PBP_EVICTS_BY_MGLRU_6_8},
		{"6.14.0-15-generic\n", PBP_EVICTS_BY_MGLRU_6_14},
		{"7.2.12+deb14-amd64\n", PBP_EVICTS_BY_MGLRU_6_14},
		{"oops\n", PBP_EVICTS_BY_OLD_MGLRU},
		{"", PBP_EVICTS_BY_OLD_MGLRU}
	};

	put_machine();
	read_as(&plain);
	is(memory.eviction, PBP_EVICTS_BY_LISTS, "a kernel without MGLRU");
	for (int i = 0; i < 6; i++)
	{
		put("/sys/kernel/mm/lru_gen/enabled", "%s", values[i]);
		read_as(&plain);
		ok((memory.eviction != PBP_EVICTS_BY_LISTS) == expected[i], "MGLRU is enabled or not");
	}
	put("/sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	for (int i = 0; i < 8; i++)
	{
		put("/proc/sys/kernel/osrelease", "%s", kernels[i].release);
		read_as(&plain);
		okf(memory.eviction == kernels[i].eviction, "MGLRU of Linux %.6s", kernels[i].release);
	}
}

/* What the kernel evicts, and takes for recent. */
static void
test_evicted(void)
{
	put_machine();
	is(pbp_refaults(tree), PBP_UNKNOWN, "a kernel that does not show refaults");
	put("/proc/vmstat", "workingset_nodes 5\nworkingset_refault_anon 6\nworkingset_refault_file 7\n");
	is(pbp_refaults(tree), 7, "refaults of the machine, where there is no group");
	put("/proc/meminfo", "SwapTotal: 8 kB\nSwapFree: 0 kB\n");
	read_as(&plain);
	ok(!memory.swaps, "without free swap space, nothing is swapped");
	put("/proc/meminfo", "SwapTotal: 8 kB\nSwapFree: 4 kB\n");
	read_as(&plain);
	ok(memory.swaps, "with it, the kernel swaps");
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

	for (int i = 0; i < 3; i++)
	{
		int64_t		gained = (pbp_pool_bytes(sizes[i + 1].pool * MB) - pbp_pool_bytes(sizes[i].pool * MB)) / MB;

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
	ok(within(pbp_pool_bytes(POOL + GB) - pbp_pool_bytes(POOL), growth(2 * GB), MB), "a larger pool takes its size, and its descriptors");
	ok(within(pbp_pool_bytes(POOL - 100 * MB) - pbp_pool_bytes(POOL), growth(POOL - 100 * MB), MB), "a smaller one gives it");
	for (int64_t size = 0; size < 8 * GB; size += 16 * MB)
	{
		bool		fits = pbp_size_fits(&memory, size) == PBP_FITS;

		wrong += fits && !fitted;
		wrong += pbp_pool_bytes(size) >= pbp_pool_bytes(size + 16 * MB);
		wrong += fits && size > POOL &&
			memory.cache_bytes + pbp_pool_bytes(POOL) - pbp_pool_bytes(size) < memory.limit_bytes / 16;
		fitted = fits;
	}
	is(wrong, 0, "what fits leaves the reserve, and all that is smaller fits too");
	is(pbp_size_fits(&memory, INT64_MAX), PBP_EXCEEDS_CGROUP, "a size beyond any number does not fit");
}

int
main(void)
{
	begin_tests("osmemory");
	test_numbers();
	test_lines();
	test_machine();
	test_growing_cache();
	test_strict_overcommit();
	test_nothing();
	test_huge_pages();
	test_mapping();
	test_lru_gen();
	test_evicted();
	test_shared_memory();
	test_other_sizes();
	return end_tests();
}

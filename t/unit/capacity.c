/*
 * capacity.c
 *	  How the advice follows the memory of machines and cgroups, whose limits
 *	  change while a server runs.  Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "memory/servermemory.h"
#include "statistics/figures.h"
#include "base/latency.h"
#include "machine_tree.h"

#define BLOCK			8192
#define SECOND			INT64_C(1000000000)
#define ADVICE_BYTES	(256 * 1024)

static int64_t now = SECOND;
static int	reads;
static PbpStorageModel model;
static PbpServerMemory server;
static PbpCapacity capacity;
static PbpAdvice *advice;

int64_t
pbp_now_ns(void)
{
	return now;
}

/* As the server reads it, which does not ask the kernel when it is switched off. */
static PbpStorageModel
read_tree(PbpOsMemory *result)
{
	reads++;
	*result = (PbpOsMemory) {.known = false};
	if (model == PBP_STORAGE_SWITCHED_OFF)
		return model;
	pbp_os_memory_read(tree, &server, result);
	return result->known ? model : PBP_STORAGE_NO_INFORMATION;
}

/* Learning begins: a pool of 1 GB. */
static void
begin_learning(void)
{
	free(advice);
	advice = pbp_advice_init(malloc(ADVICE_BYTES), ADVICE_BYTES, (int) (POOL / BLOCK), 5, 0, true);
	pbp_advice_init_storage(advice, malloc(ADVICE_BYTES), ADVICE_BYTES, BLOCK);
	capacity = (PbpCapacity) {.read_ns = 0};
	model = PBP_STORAGE_MODELLED;
	pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
}

static void
follow(int times)
{
	for (int i = 0; i < times; i++)
	{
		now += PBP_CAPACITY_NS;
		pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
	}
}

static PbpAdviceStorageRow
row_of(double factor)
{
	int			size = 0;

	while (pbp_advice_factor(size) < factor)
		size++;
	return pbp_advice_storage_row(advice, size);
}

/* What the advice makes of it, in bytes; -1: nothing. */
static int64_t
advised(double factor)
{
	PbpAdviceStorageRow row = row_of(factor);

	return row.reason == PBP_STORAGE_NO_CAPACITY ? -1 : row.os_cache_pages * BLOCK;
}

static bool
about(int64_t one, int64_t other)
{
	bool		close = llabs(one - other) <= 2 * BLOCK;

	if (!close)
		printf("# got %lld, expected %lld\n", (long long) one, (long long) other);
	return close;
}

/* After the next reading, today's pool has this page cache. */
static void
becomes(int64_t bytes, const char *what)
{
	follow(1);
	ok(about(advised(1), bytes), what);
}

static void
test_limits(void)
{
	put_v2("max", "4294967296");
	begin_learning();
	ok(about(advised(1), 3 * GB), "the page cache of a cgroup is known at once");
	ok(about(advised(2), 3 * GB - growth(2 * GB)), "twice the pool takes its memory from it");
	ok(about(advised(0.5), 3 * GB - growth(POOL / 2)), "half the pool leaves it more");
	is(row_of(4).reason, PBP_STORAGE_NO_ROOM, "four times the pool takes more than there is");

	put_v2("max", "3758096384");
	now += PBP_CAPACITY_NS - 1;
	pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
	ok(about(advised(1), 3 * GB), "a limit that was lowered is not noticed at once");
	now++;
	pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
	ok(about(advised(1), 3 * GB - 512 * MB), "but after a few seconds");
	put_v2("max", "3690987520");
	becomes(3 * GB - 576 * MB, "nor is one that was lowered a little averaged with that of before");
	put_v2("max", "max");
	becomes(MACHINE_CACHE, "without a limit, it is that of the machine");
	put_v2("5368709120", "max");
	becomes(5 * GB - 6 * GB + 4 * GB, "a limit of the group's parent counts");
	put_v1("max", V1_NONE, V1_NONE);
	put_v1_group("/sys/fs/cgroup/memory/db/main", "4294967296", 3 * GB, 2 * GB, 512 * MB, "4294967296");
	becomes(3 * GB, "so does one of version 1");
	put_machine();
	becomes(MACHINE_CACHE, "a server that is in no cgroup has the machine");
}

/* Private memory comes and goes. */
static void
test_small_changes(void)
{
	put_v2("max", "4294967296");
	begin_learning();
	put_v2_group("/sys/fs/cgroup/db/main", "4294967296", 3 * GB + 200 * MB, 2 * GB, 712 * MB);
	becomes(3 * GB - 25 * MB, "an eighth of a small change counts at once");
	follow(40);
	ok(llabs(advised(1) - (3 * GB - 200 * MB)) < 2 * MB, "and later all of it");
}

static void
test_extremes(void)
{
	put_v2("max", "1048576");
	begin_learning();
	is(advised(1), 0, "a tiny limit leaves no page cache");
	is(row_of(1.25).reason, PBP_STORAGE_NO_ROOM, "... and no room for a larger pool");
	put_v2("max", "0");
	follow(1);
	is(advised(1), 0, "nor does a limit of 0");
	put_v2("max", "9223372036854775807");
	becomes(MACHINE_CACHE, "the largest number is no limit");

	/* all numbers of a machine that cannot be */
	put("/proc/meminfo", "MemTotal: 9223372036854775807 kB\nMemFree: 9223372036854775807 kB\n"
		"Active(file): 0 kB\nInactive(file): 9223372036854775807 kB\nAnonPages: 0 kB\n");
	follow(1);
	ok(advised(1) > 1024 * 1024 * GB && advised(2) < advised(1), "numbers beyond any memory do not overflow");
	put_v2("max", "4294967296");
	becomes(3 * GB, "and are forgotten when they are over");
}

static void
test_unknown(void)
{
	int			before;

	put_v2("max", "4294967296");
	begin_learning();
	model = PBP_STORAGE_SWITCHED_OFF;
	put_v2("max", "3221225472");
	follow(1);
	is(advised(1), -1, "switched off, nothing is known");
	is(capacity.model, PBP_STORAGE_SWITCHED_OFF, "and why");
	ok(pbp_size_fits(&capacity.memory, 2 * POOL) == PBP_FIT_UNKNOWN, "nor whether a larger size fits");
	model = PBP_STORAGE_MODELLED;
	becomes(2 * GB, "switched on, the limit that was set meanwhile counts, all of it");

	model = PBP_STORAGE_UNPROVEN;
	becomes(2 * GB, "where the model is unproven, it is used");
	model = PBP_STORAGE_DIRECT_IO;
	follow(1);
	is(advised(1), -1, "where the server bypasses the page cache, nothing is known");
	model = PBP_STORAGE_MODELLED;
	put_bytes("/proc/meminfo", "", 0);
	follow(1);
	ok(advised(1) == -1 && capacity.model == PBP_STORAGE_NO_INFORMATION, "nor where the kernel reports nothing");

	put_v2("max", "4294967296");
	before = reads;
	capacity = (PbpCapacity) {.read_ns = 0};
	pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
	pbp_follow_capacity(&capacity, read_tree, advice, BLOCK);
	is(reads - before, 1, "after a reset it is read at once, and once");
	ok(about(advised(1), 3 * GB), "and counts");
}

/* They stay reserved, however large the pool is. */
static void
test_huge_pages(void)
{
	const char *folder = "/sys/kernel/mm/hugepages/hugepages-2048kB";

	put_v2("max", "4294967296");
	put_number(folder, "free_hugepages", 300);
	put_number(folder, "resv_hugepages", 0);
	server.huge_page_bytes = 2 * MB;
	begin_learning();
	ok(about(advised(1), 3 * GB), "with huge pages, the page cache is as without");
	ok(about(advised(0.5), 3 * GB), "a smaller pool leaves it nothing more");
	ok(about(advised(0.25), 3 * GB), "... however small");
	ok(about(advised(1.5), 3 * GB), "a larger one in huge pages that are free takes nothing of it");
	ok(about(advised(2), 3 * GB - (growth(2 * GB) - 600 * MB)), "... and beyond these, what they lack");
	server.huge_page_bytes = 0;
	follow(1);
	ok(about(advised(0.5), 3 * GB - growth(POOL / 2)), "in normal pages, a smaller pool leaves what it had");
}

int
main(void)
{
	begin_tests("capacity");
	server = plain;
	test_limits();
	test_small_changes();
	test_extremes();
	test_unknown();
	test_huge_pages();
	return end_tests();
}

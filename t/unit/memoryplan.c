/*
 * memoryplan.c
 *	  Who takes memory: that the rows add up, that the most is at least what is,
 *	  and that sizes that fit leave what is reserved.  Prints TAP.
 */
#include <limits.h>

#include "machine_tree.h"
#include "memory/servermemory.h"

#define PAGE		4096
#define PROCESSES	20

static PbpMemoryFacts facts;
static PbpMemoryPlan plan;

/* A server with 100 sessions at most, of which few are there. */
static void
begin_server(void)
{
	facts.settings = (PbpMemorySettings) {
		.pool_bytes = POOL,.shared_bytes = POOL + 48 * MB,.wal_buffers_bytes = 16 * MB,
			.query_bytes = 8 * MB,.temp_bytes = 8 * MB,.vacuum_bytes = 32 * MB,.maintenance_bytes = 64 * MB,
			.decoding_bytes = 64 * MB,.pinned_bytes = 8 * 8192,.os_page_bytes = PAGE,
			.max_processes = 130,.max_sessions = 100,.max_parallel_workers = 8,.max_vacuum_workers = 3,.max_decoders = 10,
	};
	facts.processes = (PbpProcesses) {
		.now = {.processes = PROCESSES,.sessions = 10,.active = 2},
			.private_bytes = 100 * MB,.page_table_bytes = 5 * MB,
	};
	facts.processes.peak = facts.processes.now;
}

static void
make_plan(const PbpServerMemory *reserved)
{
	facts.memory = memory;
	pbp_plan_memory(&facts, reserved, &plan);
}

/* What the kernel shows, with the needs that follow. */
static void
read_server(void)
{
	pbp_os_memory_read(tree, &plain, &memory);
	facts.memory = memory;
	pbp_expect_needs(&facts);
	memory = facts.memory;
	make_plan(&memory.server);
}

static int64_t
sum_of_today(void)
{
	int64_t		sum = 0;

	for (int i = 0; i < PBP_ALL_MEMORY; i++)
		if (plan.rows[i].today != PBP_UNKNOWN)
			sum += plan.rows[i].today;
	return sum;
}

/* Rows where the most is less than what is. */
static int
wrong_rows(void)
{
	int			wrong = 0;

	for (int i = 0; i < PBP_OTHERS; i++)
		wrong += plan.rows[i].most < plan.rows[i].today;
	return wrong + (plan.rows[PBP_PAGE_CACHE].most > plan.rows[PBP_PAGE_CACHE].today);
}

static void
test_rows(void)
{
	put_machine();
	begin_server();
	read_server();
	is(sum_of_today(), TOTAL, "today's rows add up to all memory");
	is(plan.rows[PBP_ALL_MEMORY].today, TOTAL, "... which is the last row");
	is(plan.rows[PBP_PAGE_CACHE].today, MACHINE_CACHE, "the page cache has what is free, and files");
	is(wrong_rows(), 0, "the most is at least what is, and leaves no more to the page cache");
	is(plan.rows[PBP_QUERIES].most, 108 * 8 * MB, "a hash table for each session and each parallel worker");
	is(plan.rows[PBP_TEMP_BUFFERS].most, 800 * MB, "temporary buffers for each session");
	is(plan.rows[PBP_AUTOVACUUM].most, 96 * MB, "memory for each worker of autovacuum");
	is(plan.rows[PBP_DECODING].most, 640 * MB, "memory for each decoder");
	is(plan.rows[PBP_PROCESSES].most, 100 * MB / PROCESSES * 130, "other processes are as large as today's");
	is(plan.rows[PBP_PAGE_TABLES].most, (POOL + 48 * MB) / 512 * 130, "page tables: 8 bytes for each 4 kB in each process");
	is(plan.rows[PBP_OTHERS].most, PBP_UNKNOWN, "what others may take is unknown");
	is(plan.missing, 0, "this machine has the most");

	facts.settings.query_bytes = GB;
	read_server();
	ok(plan.rows[PBP_PAGE_CACHE].most == 0 && plan.missing > 90 * GB, "more than there is is missing");
	is(sum_of_today(), TOTAL, "... and today's rows add up all the same");

	facts.settings.pool_bytes = facts.settings.shared_bytes = 32 * GB;
	read_server();
	ok(plan.rows[PBP_OTHERS].today == 0 && plan.rows[PBP_PAGE_CACHE].today == 0, "nothing is negative, even if memory was counted elsewhere");
}

static void
test_cgroup(void)
{
	put_v2("max", "4294967296");
	begin_server();
	read_server();
	is(plan.rows[PBP_ALL_MEMORY].today, 4 * GB, "in a cgroup, all memory is its limit");
	is(sum_of_today(), 4 * GB, "... to which the rows add up");
	is(plan.rows[PBP_FREE_HUGE_PAGES].today, 0, "... without huge pages");
	memory.server.huge_page_bytes = 2 * MB;
	make_plan(&memory.server);
	is(sum_of_today(), 4 * GB + POOL + 48 * MB, "... but those of its own shared memory");
	is(sum_of_today(), plan.rows[PBP_ALL_MEMORY].today, "... to which the rows add up");
	is(plan.rows[PBP_PAGE_TABLES].most, facts.processes.page_table_bytes, "huge pages need hardly any page tables");
}

static void
test_huge_pages(void)
{
	put_machine();
	put("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nActive(file): 10485760 kB\n"
		"Inactive(file): 0 kB\nAnonPages: 1048576 kB\nHugetlb: 2097152 kB\n");
	begin_server();
	read_server();
	is(plan.rows[PBP_FREE_HUGE_PAGES].today, 2 * GB, "huge pages that this server does not use");
	is(sum_of_today(), TOTAL, "... are a part of all memory");
	memory.server.huge_page_bytes = 2 * MB;
	make_plan(&memory.server);
	is(plan.rows[PBP_FREE_HUGE_PAGES].today, 2 * GB - POOL - 48 * MB, "... and what it leaves of those that it uses");
	is(sum_of_today(), TOTAL, "... and nothing is counted twice");
}

static void
test_unknown(void)
{
	int			known = 0;

	remove_tree();
	begin_server();
	facts.processes.private_bytes = facts.processes.page_table_bytes = PBP_UNKNOWN;
	read_server();
	for (int i = 0; i < PBP_CONSUMERS; i++)
		known += (plan.rows[i].today != PBP_UNKNOWN && i != PBP_OTHER_SHARED) || plan.rows[i].reserved != PBP_UNKNOWN;
	is(known, 0, "without /proc, nothing is known of today");
	is(plan.rows[PBP_QUERIES].most, 108 * 8 * MB, "... but what settings allow");
	put_machine();
	read_server();
	is(sum_of_today(), TOTAL, "if processes cannot be read, their memory is that of others");
	make_plan(NULL);
	is(plan.rows[PBP_QUERIES].reserved, PBP_UNKNOWN, "what is reserved is known to the worker alone");
}

/* ---- what is reserved ---- */

static int64_t
sum_of_reserved(void)
{
	int64_t		sum = 0;

	for (int i = 0; i < PBP_ALL_MEMORY; i++)
		sum += plan.rows[i].reserved;
	return sum;
}

static void
test_expectations(void)
{
	const PbpServerMemory *server = &facts.memory.server;

	begin_server();
	facts.memory.server = plain;
	pbp_expect_needs(&facts);
	is(server->needs.queries, 4 * 8 * MB, "a few queries may come, even if fewer were seen");
	is(server->needs.processes, 100 * MB / PROCESSES * 10, "as many sessions may come as there were");
	facts.processes.peak.active = 30;
	facts.processes.peak.sessions = 0;
	pbp_expect_needs(&facts);
	is(server->needs.queries, 30 * 8 * MB, "as many queries as were seen at once");
	is(server->needs.processes, 100 * MB / PROCESSES * 4, "... or a few sessions");
	facts.processes.peak.active = 1000;
	facts.processes.peak.sessions = 10000;
	pbp_expect_needs(&facts);
	is(server->needs.queries, 108 * 8 * MB, "no more queries than are allowed");
	is(server->needs.processes, 100 * MB / PROCESSES * (130 - PROCESSES), "... nor sessions");
	is(server->needs.vacuum, 3 * 32 * MB + 64 * MB, "all workers of autovacuum may come at once, beside who creates an index");
	facts.settings.max_vacuum_workers = 0;
	pbp_expect_needs(&facts);
	is(server->needs.vacuum, 64 * MB, "... or that one alone, if autovacuum is off");
	is((int64_t) (server->page_tables * PAGE), 130 * 8, "all processes that may exist may use all shared memory");
	is(server->least_pool_bytes, 100 * 8 * 8192, "each session pins a few buffers");
}

/* For any server: the largest size that fits leaves what is reserved, and the next one does not. */
static void
test_reserves(void)
{
	int			wrong = 0;

	for (int i = 0; i < 300; i++)
	{
		int64_t		size = POOL;

		put_v2("max", "5368709120");
		begin_server();
		facts.processes.peak.active = (int) draw(80);
		facts.settings.max_vacuum_workers = (int) draw(4);
		facts.processes.peak.decoders = (int) draw(4);
		facts.processes.peak.sessions = 10 + (int) draw(100);
		facts.settings.query_bytes = (int64_t) draw(32) * MB;
		read_server();
		wrong += sum_of_reserved() != plan.rows[PBP_ALL_MEMORY].reserved;
		for (int j = 0; j < PBP_CONSUMERS; j++)
			wrong += plan.rows[j].reserved < 0;
		while (pbp_size_fits(&memory, size + MB) == PBP_FITS)
			size += MB;
		if (size == POOL)
			continue;
		/* page tables are reserved for the size itself */
		for (int j = 0; j < 2; j++)
		{
			int64_t		taken = pbp_pool_bytes(size + j * MB) - pbp_pool_bytes(POOL) +
				pbp_page_tables(&memory.server, size + j * MB) - plan.rows[PBP_PAGE_TABLES].reserved;

			wrong += (memory.cache_bytes - taken >= sum_of_reserved()) != (j == 0);
		}
	}
	is(wrong, 0, "the largest size that fits leaves what is reserved");
}

static void
test_extremes(void)
{
	put_v2("max", "4294967296");
	begin_server();
	facts.settings = (PbpMemorySettings) {
		INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
		INT64_MAX, PAGE, INT_MAX, INT_MAX / 2, INT_MAX / 2, INT_MAX, INT_MAX
	};
	facts.settings.pool_bytes = POOL;
	facts.processes.peak = (PbpProcessCounts) {INT_MAX / 2, INT_MAX / 2, INT_MAX, INT_MAX};
	read_server();
	is(plan.rows[PBP_QUERIES].most, PBP_MAX_MEMORY, "numbers beyond any memory do not overflow");
	is(pbp_size_fits(&memory, POOL + MB), PBP_EXCEEDS_CGROUP, "... and leave no room");
	ok(plan.missing > 0 && plan.rows[PBP_PAGE_CACHE].most == 0, "... nor page cache");
	memory.server.huge_page_bytes = 2 * MB;
	make_plan(&memory.server);
	is(plan.rows[PBP_ALL_MEMORY].today, PBP_MAX_MEMORY, "... nor do they in huge pages, beside the limit of the cgroup");
}

int
main(void)
{
	begin_tests("memoryplan");
	test_rows();
	test_cgroup();
	test_huge_pages();
	test_unknown();
	test_expectations();
	test_reserves();
	test_extremes();
	return end_tests();
}

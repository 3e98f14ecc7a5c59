/*-------------------------------------------------------------------------
 *
 * memoryplan.c
 *	  Who takes memory: what each consumer takes today, may take at most, and
 *	  what the advice leaves for it.
 *
 * The most is what settings allow.  Hardly any server ever takes all of it, so a
 * size that fits need not leave it.  Page tables and maintenance are expected as
 * settings allow; of processes and queries, the most that was seen at once, with a
 * least number where nothing was seen yet.
 *
 * What settings and processes there are belongs in memoryfacts.c.
 *
 *-------------------------------------------------------------------------
 */
#include "memory/memoryplan.h"

/* Sessions, and queries, that may come at once, even if fewer were seen. */
#define LEAST_SESSIONS			4

static inline int64_t
less(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static inline int64_t
more(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

int64_t
pbp_multiple(double number, int64_t bytes)
{
	double		product = number * (double) bytes;

	return product < (double) PBP_MAX_MEMORY ? (int64_t) product : PBP_MAX_MEMORY;
}

/* ---- what is expected ---- */

/* As many sessions may come as there were. */
int
pbp_expected_processes(const PbpMemorySettings *settings, const PbpProcesses *processes)
{
	return (int) less(processes->peak.processes + more(processes->peak.sessions, LEAST_SESSIONS),
					  settings->max_processes);
}

int
pbp_expected_queries(const PbpMemorySettings *settings, const PbpProcesses *processes)
{
	return (int) less(more(processes->peak.active, LEAST_SESSIONS),
					  settings->max_sessions + settings->max_parallel_workers);
}

/* Private memory of these processes, if they are as large as today's on average. */
static int64_t
usual_private(const PbpProcesses *processes, int nprocesses)
{
	if (processes->private_bytes == PBP_UNKNOWN || processes->now.processes < 1 || nprocesses < 1)
		return 0;
	return pbp_multiple((double) nprocesses / processes->now.processes, processes->private_bytes);
}

/* What page tables take of each byte of shared memory that all these processes use. */
static double
table_share(int nprocesses, int64_t page_bytes)
{
	return (double) nprocesses * sizeof(void *) / (double) page_bytes;
}

/*
 * Each session must find a buffer to read into while all others have pinned as
 * many as they may need.
 */
int64_t
pbp_least_pool_bytes(const PbpMemorySettings *settings)
{
	return pbp_multiple((double) settings->max_sessions * settings->session_pins, settings->block_bytes);
}

/*
 * Sets what sizes that fit must leave.  The size of huge pages must be set.  Page
 * tables are those of all processes that settings allow: each only grows.
 */
void
pbp_expect_needs(const PbpMemorySettings *settings, const PbpProcesses *processes,
				 int64_t os_page_bytes, PbpServerMemory *server)
{
	int			nprocesses = pbp_expected_processes(settings, processes);

	server->least_pool_bytes = pbp_least_pool_bytes(settings);
	server->page_tables = server->huge_page_bytes > 0 ? 0 : table_share(settings->max_processes, os_page_bytes);
	server->page_table_bytes = more(processes->page_table_bytes, 0);
	server->needs = (PbpMemoryNeeds) {
		.processes = usual_private(processes, nprocesses - processes->now.processes),
			.queries = pbp_multiple(pbp_expected_queries(settings, processes), settings->query_bytes),
	/* All workers of autovacuum may come at once, and somebody may create an index beside them. */
			.vacuum = pbp_multiple(settings->max_vacuum_workers, settings->vacuum_bytes) +
			pbp_multiple(1, settings->maintenance_bytes),
			.decoding = pbp_multiple(processes->peak.decoders, settings->decoding_bytes),
	};
}

/* ---- the plan ---- */

/*
 * Where it is unknown what a consumer takes today, the most is what it is allowed.
 * Both are bounded, so that sums of all consumers cannot overflow.
 */
static PbpConsumption
consumption(int64_t today, int64_t most)
{
	return (PbpConsumption) {.today = pbp_multiple(1, today),.most = pbp_multiple(1, more(today, most)),.reserved = 0};
}

/* For which purpose processes take private memory today is unknown. */
static void
plan_server(const PbpMemorySettings *settings, const PbpProcesses *processes,
			const PbpOsMemory *memory, int64_t os_page_bytes, PbpConsumption *rows)
{
	int64_t		shared_page_bytes = more(memory->server.huge_page_bytes, os_page_bytes);
	int64_t		other_shared = more(settings->shared_bytes - settings->pool_bytes, 0);
	int64_t		private = processes->private_bytes;
	int64_t		to_come = usual_private(processes, settings->max_processes - processes->now.processes);
	int			max_queries = settings->max_sessions + settings->max_parallel_workers;

	rows[PBP_POOL] = consumption(memory->known ? settings->pool_bytes - memory->server.unused_bytes : PBP_UNKNOWN,
								 settings->pool_bytes);
	rows[PBP_OTHER_SHARED] = consumption(other_shared, other_shared);
	rows[PBP_PAGE_TABLES] = consumption(processes->page_table_bytes,
										pbp_multiple(table_share(settings->max_processes, shared_page_bytes),
													 settings->shared_bytes));
	rows[PBP_PROCESSES] = consumption(private, private == PBP_UNKNOWN ? PBP_UNKNOWN : private + to_come);
	rows[PBP_QUERIES] = consumption(PBP_UNKNOWN, pbp_multiple(max_queries, settings->query_bytes));
	rows[PBP_TEMP_BUFFERS] = consumption(PBP_UNKNOWN, pbp_multiple(settings->max_sessions, settings->temp_bytes));
	rows[PBP_AUTOVACUUM] = consumption(PBP_UNKNOWN, pbp_multiple(settings->max_vacuum_workers, settings->vacuum_bytes));
	rows[PBP_MAINTENANCE] = consumption(PBP_UNKNOWN, settings->maintenance_bytes);
	rows[PBP_DECODING] = consumption(PBP_UNKNOWN, pbp_multiple(settings->max_decoders, settings->decoding_bytes));
}

/* What the server leaves: of the machine, or of a cgroup, which does not limit huge pages. */
static void
plan_rest(const PbpMemorySettings *settings, const PbpOsMemory *memory, PbpMemoryPlan *plan)
{
	PbpConsumption *rows = plan->rows;
	bool		huge = memory->server.huge_page_bytes > 0;
	bool		in_cgroup = memory->holder == PBP_HELD_BY_CGROUP;
	int64_t		shared_huge = huge ? pbp_multiple(1, settings->shared_bytes) : 0;
	int64_t		limit = memory->limit_bytes + (in_cgroup ? shared_huge : 0);
	int64_t		free_huge = in_cgroup ? 0 : memory->huge_bytes == PBP_UNKNOWN ? PBP_UNKNOWN :
		more(memory->huge_bytes - shared_huge, 0);
	int64_t		today = 0;
	int64_t		most = 0;

	rows[PBP_FREE_HUGE_PAGES] = consumption(free_huge, free_huge);
	for (int i = PBP_POOL; i < PBP_OTHERS; i++)
	{
		today += more(rows[i].today, 0);
		most += more(rows[i].most, 0);
	}
	rows[PBP_OTHERS].today = more(limit - today - memory->cache_bytes - memory->server.unused_bytes, 0);
	rows[PBP_OTHERS].most = PBP_UNKNOWN;
	most += rows[PBP_OTHERS].today;
	rows[PBP_PAGE_CACHE].today = more(limit - today - rows[PBP_OTHERS].today, 0);
	rows[PBP_PAGE_CACHE].most = more(limit - most, 0);
	rows[PBP_ALL_MEMORY] = consumption(limit, limit);
	plan->missing = more(most - limit, 0);
}

/* What sizes that fit leave for each: as pbp_size_fits() sees it, at today's size. */
static void
plan_reserves(const PbpOsMemory *memory, const PbpServerMemory *reserved, int64_t pool_bytes,
			  int64_t maintenance, PbpConsumption *rows)
{
	int64_t		usual = pbp_usual_reserve(memory->limit_bytes, memory->private_bytes);
	int64_t		sum = 0;

	rows[PBP_PROCESSES].reserved = reserved->needs.processes;
	rows[PBP_QUERIES].reserved = reserved->needs.queries;
	rows[PBP_MAINTENANCE].reserved = less(reserved->needs.vacuum, maintenance);
	rows[PBP_AUTOVACUUM].reserved = reserved->needs.vacuum - rows[PBP_MAINTENANCE].reserved;
	rows[PBP_DECODING].reserved = reserved->needs.decoding;
	for (int i = PBP_POOL; i < PBP_PAGE_CACHE; i++)
		sum += rows[i].reserved;
	rows[PBP_PAGE_CACHE].reserved = more(usual - sum, 0);
	rows[PBP_PAGE_TABLES].reserved = pbp_page_tables(reserved, pool_bytes);
	rows[PBP_ALL_MEMORY].reserved = more(usual, sum) + rows[PBP_PAGE_TABLES].reserved;
}

/*
 * Makes the plan.  Rows but those of the whole page cache add up to all memory.
 * Where the kernel says nothing, what depends on it is unknown; so is what is
 * reserved if that is NULL.
 */
void
pbp_plan_memory(const PbpMemorySettings *settings, const PbpProcesses *processes,
				const PbpOsMemory *memory, const PbpServerMemory *reserved,
				int64_t os_page_bytes, PbpMemoryPlan *plan)
{
	*plan = (PbpMemoryPlan) {.missing = 0};
	plan_server(settings, processes, memory, os_page_bytes, plan->rows);
	if (memory->known)
		plan_rest(settings, memory, plan);
	else
		for (int i = PBP_FREE_HUGE_PAGES; i < PBP_CONSUMERS; i++)
			plan->rows[i] = (PbpConsumption) {PBP_UNKNOWN, PBP_UNKNOWN, PBP_UNKNOWN};
	if (memory->known && reserved)
		plan_reserves(memory, reserved, settings->pool_bytes, settings->maintenance_bytes, plan->rows);
	else
		for (int i = 0; i < PBP_CONSUMERS; i++)
			plan->rows[i].reserved = PBP_UNKNOWN;
}

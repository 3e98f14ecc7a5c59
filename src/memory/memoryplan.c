/*-------------------------------------------------------------------------
 *
 * memoryplan.c
 *	  Who takes memory: what each consumer takes today, may take at most, and
 *	  what the advice leaves for it.  For the advice: how much the page cache can
 *	  hold.
 *
 * The most is what settings allow.  Hardly any server ever takes all of it, so a
 * size that fits need not leave it.  Page tables and maintenance are expected as
 * settings allow; of processes and queries, the most that was seen at once, with a
 * least number where nothing was seen yet.
 *
 * What settings and processes there are belongs in servermemory.c.
 *
 *-------------------------------------------------------------------------
 */
#include "memory/servermemory.h"

#include <math.h>

#include "base/latency.h"

/* Sessions, and queries, that may come at once, even if fewer were seen. */
#define LEAST_SESSIONS			4

/*
 * Private memory comes and goes with queries, so small changes of the capacity
 * are averaged.  A change by a larger share is other servers.
 */
#define SMALL_CHANGE			0.1
#define CHANGE_GAIN			0.125

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

/* Private memory of these processes, if they are as large as today's on average. */
static int64_t
usual_private(const PbpProcesses *processes, int nprocesses)
{
	if (processes->private_bytes == PBP_UNKNOWN || processes->now.processes < 1 || nprocesses < 1)
		return 0;
	return pbp_multiple((double) nprocesses / processes->now.processes, processes->private_bytes);
}

/* What page tables take of each byte of shared memory if all processes that may exist use it. */
static double
page_tables(const PbpMemorySettings *settings, int64_t page_bytes)
{
	return (double) settings->max_processes * sizeof(void *) / (double) page_bytes;
}

/*
 * Sets what sizes that fit must leave.  As many sessions may come as there were.  Page
 * tables are those of all processes that settings allow: each only grows.  Each session
 * must find a buffer to read into while all others have pinned as many as they may need.
 */
void
pbp_expect_needs(PbpMemoryFacts *facts)
{
	const PbpMemorySettings *settings = &facts->settings;
	const PbpProcesses *processes = &facts->processes;
	const PbpProcessCounts *peak = &processes->peak;
	PbpServerMemory *server = &facts->memory.server;
	int64_t		expected = less(peak->processes + more(peak->sessions, LEAST_SESSIONS),
								settings->max_processes);
	int64_t		queries = less(more(peak->active, LEAST_SESSIONS),
							   settings->max_sessions + settings->max_parallel_workers);

	server->least_pool_bytes = pbp_multiple(settings->max_sessions, settings->pinned_bytes);
	server->page_tables = server->huge_page_bytes > 0 ? 0 :
		page_tables(settings, settings->os_page_bytes);
	server->page_table_bytes = more(processes->page_table_bytes, 0);
	server->needs.processes = usual_private(processes, (int) expected - processes->now.processes);
	server->needs.queries = pbp_multiple((double) queries, settings->query_bytes);
	/* All workers of autovacuum may come at once, and somebody may create an index beside them. */
	server->needs.vacuum = pbp_multiple(settings->max_vacuum_workers, settings->vacuum_bytes) +
		pbp_multiple(1, settings->maintenance_bytes);
	server->needs.decoding = pbp_multiple(peak->decoders, settings->decoding_bytes);
}

/* ---- the plan ---- */

/*
 * Where it is unknown what a consumer takes today, the most is what it is allowed.
 * Both are bounded, so that sums of all consumers cannot overflow.
 */
static PbpConsumption
consumption(int64_t today, int64_t most)
{
	return (PbpConsumption) {pbp_multiple(1, today), pbp_multiple(1, more(today, most)), 0};
}

/* For which purpose processes take private memory today is unknown. */
static PbpConsumption
multiple_of_unknown(int number, int64_t bytes)
{
	return consumption(PBP_UNKNOWN, pbp_multiple(number, bytes));
}

static void
plan_server(const PbpMemoryFacts *facts, PbpConsumption *rows)
{
	const PbpMemorySettings *settings = &facts->settings;
	const PbpProcesses *processes = &facts->processes;
	const PbpServerMemory *server = &facts->memory.server;
	int64_t		other_shared = more(settings->shared_bytes - settings->pool_bytes, 0);
	int64_t		page_bytes = more(server->huge_page_bytes, settings->os_page_bytes);
	int64_t		private = processes->private_bytes;
	int			to_come = settings->max_processes - processes->now.processes;

	rows[PBP_POOL] = consumption(facts->memory.known ?
								 settings->pool_bytes - server->unused_bytes : PBP_UNKNOWN,
								 settings->pool_bytes);
	rows[PBP_OTHER_SHARED] = consumption(other_shared, other_shared);
	rows[PBP_PAGE_TABLES] = consumption(processes->page_table_bytes,
										pbp_multiple(page_tables(settings, page_bytes),
													 settings->shared_bytes));
	rows[PBP_PROCESSES] = consumption(private, private == PBP_UNKNOWN ? private :
									  private + usual_private(processes, to_come));
	rows[PBP_QUERIES] = multiple_of_unknown(settings->max_sessions + settings->max_parallel_workers,
											settings->query_bytes);
	rows[PBP_TEMP_BUFFERS] = multiple_of_unknown(settings->max_sessions, settings->temp_bytes);
	rows[PBP_AUTOVACUUM] = multiple_of_unknown(settings->max_vacuum_workers,
											   settings->vacuum_bytes);
	rows[PBP_MAINTENANCE] = multiple_of_unknown(1, settings->maintenance_bytes);
	rows[PBP_DECODING] = multiple_of_unknown(settings->max_decoders, settings->decoding_bytes);
}

/* What the server leaves: of the machine, or of a cgroup, which does not limit huge pages. */
static void
plan_rest(const PbpMemoryFacts *facts, PbpMemoryPlan *plan)
{
	const PbpOsMemory *memory = &facts->memory;
	PbpConsumption *rows = plan->rows;
	bool		in_cgroup = memory->holder == PBP_HELD_BY_CGROUP;
	int64_t		shared_huge = memory->server.huge_page_bytes > 0 ?
		pbp_multiple(1, facts->settings.shared_bytes) : 0;
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
	rows[PBP_OTHERS].today = more(limit - today - memory->cache_bytes -
								  memory->server.unused_bytes, 0);
	rows[PBP_OTHERS].most = PBP_UNKNOWN;
	most += rows[PBP_OTHERS].today;
	rows[PBP_PAGE_CACHE].today = more(limit - today - rows[PBP_OTHERS].today, 0);
	rows[PBP_PAGE_CACHE].most = more(limit - most, 0);
	rows[PBP_ALL_MEMORY] = consumption(limit, limit);
	plan->missing = more(most - limit, 0);
}

/* What sizes that fit leave for each: as pbp_size_fits() sees it, at today's size. */
static void
plan_reserves(const PbpMemoryFacts *facts, const PbpServerMemory *reserved, PbpConsumption *rows)
{
	int64_t		usual = pbp_usual_reserve(facts->memory.limit_bytes, facts->memory.private_bytes);
	int64_t		maintenance = less(reserved->needs.vacuum, facts->settings.maintenance_bytes);
	int64_t		sum = 0;

	rows[PBP_PROCESSES].reserved = reserved->needs.processes;
	rows[PBP_QUERIES].reserved = reserved->needs.queries;
	rows[PBP_MAINTENANCE].reserved = maintenance;
	rows[PBP_AUTOVACUUM].reserved = reserved->needs.vacuum - maintenance;
	rows[PBP_DECODING].reserved = reserved->needs.decoding;
	for (int i = PBP_POOL; i < PBP_PAGE_CACHE; i++)
		sum += rows[i].reserved;
	rows[PBP_PAGE_CACHE].reserved = more(usual - sum, 0);
	rows[PBP_PAGE_TABLES].reserved = pbp_page_tables(reserved, facts->settings.pool_bytes);
	rows[PBP_ALL_MEMORY].reserved = more(usual, sum) + rows[PBP_PAGE_TABLES].reserved;
}

/*
 * Makes the plan.  Rows but those of the whole page cache add up to all memory.
 * Where the kernel says nothing, what depends on it is unknown; so is what is
 * reserved if that is NULL.
 */
void
pbp_plan_memory(const PbpMemoryFacts *facts, const PbpServerMemory *reserved, PbpMemoryPlan *plan)
{
	bool		known = facts->memory.known;

	*plan = (PbpMemoryPlan) {.missing = 0};
	plan_server(facts, plan->rows);
	if (known)
		plan_rest(facts, plan);
	for (int i = PBP_FREE_HUGE_PAGES; i < PBP_CONSUMERS && !known; i++)
		plan->rows[i].today = plan->rows[i].most = PBP_UNKNOWN;
	if (known && reserved)
		plan_reserves(facts, reserved, plan->rows);
	else
		for (int i = 0; i < PBP_CONSUMERS; i++)
			plan->rows[i].reserved = PBP_UNKNOWN;
}

/* ---- the capacity of the page cache ---- */

/*
 * Reads it, since limits of cgroups may change at any time, unless that was done a few
 * seconds ago: 0.5 to 3 ms.
 */
void
pbp_follow_capacity(PbpCapacity *capacity, PbpMemoryReader read, PbpAdvice *advice,
					int block_bytes)
{
	int64_t		now_ns = pbp_now_ns();
	int64_t		limit = capacity->memory.limit_bytes;
	double		change;
	bool		known;

	if (capacity->read_ns != 0 && now_ns - capacity->read_ns < PBP_CAPACITY_NS)
		return;
	capacity->read_ns = now_ns;
	capacity->model = read(&capacity->memory);
	known = pbp_is_modelled(capacity->model);
	change = (double) capacity->memory.cache_bytes - capacity->cache_bytes;
	/* With a new limit, an average would be of memory that may not exist. */
	if (!known || capacity->memory.limit_bytes != limit ||
		fabs(change) > SMALL_CHANGE * capacity->cache_bytes)
		capacity->cache_bytes = known ? (double) capacity->memory.cache_bytes : 0;
	else
		capacity->cache_bytes += CHANGE_GAIN * change;
	pbp_advice_facts(advice)->huge_pages = capacity->memory.server.huge_page_bytes > 0 ?
		(double) (capacity->memory.huge_page_room / block_bytes) : -1;
	pbp_advice_facts(advice)->swaps = capacity->memory.swaps;
	pbp_advice_set_eviction(advice, capacity->memory.eviction,
							capacity->memory.holder == PBP_HELD_BY_CGROUP);
	pbp_advice_set_os_cache(advice, known ? (int64_t) (capacity->cache_bytes / block_bytes) : -1);
}

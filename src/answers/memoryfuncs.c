/*-------------------------------------------------------------------------
 *
 * memoryfuncs.c
 *	  The SQL function about who takes memory, and what the advice leaves for
 *	  each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"


#include "answers/reasons.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/words.h"
#include "os/oskernel.h"
#include "sampler/sampler.h"

#define MEMORY_PLAN_COLS	5

PG_FUNCTION_INFO_V1(pgbufprobe_memory_plan);

/* What the notes are about. */
typedef struct MemoryPlan
{
	const PbpAdviceReport *report;
	PbpMemoryFacts facts;
	PbpMemoryPlan plan;
} MemoryPlan;

/* in the order of PbpConsumer */
static const char *const consumer_names[] = {
	"shared_buffers", "other shared memory", "page tables", "processes", "work_mem", "temp_buffers", "autovacuum",
	"maintenance_work_mem", "logical decoding", "free huge pages", "others", "page cache", "total"
};

StaticAssertDecl(lengthof(consumer_names) == PBP_CONSUMERS, "each consumer has a name");

static char *
pretty_bytes(int64 bytes)
{
	return pretty_size(bytes / BLCKSZ);
}

/* ---- notes ---- */

/* Why nothing is known that only the kernel knows. */
static const char *
unknown_memory(void)
{
	return pbp_os_cache_on ? "the kernel does not report its memory" : "pgbufprobe.os_cache is off";
}

static const char *
note_of_pool(const MemoryPlan *plan)
{
	int64		unused = plan->facts.memory.server.unused_bytes;

	if (plan->facts.memory.server.huge_page_bytes > 0)
		return "in huge pages";
	return unused > 0 ? psprintf("%s of it have not been used since the server started", pretty_bytes(unused)) : NULL;
}

static const char *
note_of_page_tables(const MemoryPlan *plan)
{
	int64		huge_page_bytes = plan->facts.memory.server.huge_page_bytes;
	int64		page_bytes = huge_page_bytes > 0 ? huge_page_bytes : pbp_os_page_bytes();

	return psprintf("8 bytes for each page of " INT64_FORMAT " kB of shared memory that a process has used; at most %d processes%s",
					page_bytes / 1024, plan->facts.settings.max_processes,
					huge_page_bytes > 0 ? "" : "; hardly any with huge pages");
}

static const char *
note_of_processes(const MemoryPlan *plan)
{
	return psprintf("private memory of %d processes, today with the next five rows; at most %d processes of today's average",
					plan->facts.processes.now.processes, plan->facts.settings.max_processes);
}

static const char *
note_of_queries(const MemoryPlan *plan)
{
	const PbpMemorySettings *settings = &plan->facts.settings;

	return psprintf("at most a hash table of %s (work_mem times hash_mem_multiplier) in each of %d sessions and %d parallel workers; "
					"a query with several takes more",
					pretty_bytes(settings->query_bytes), settings->max_sessions, settings->max_parallel_workers);
}

static const char *
note_of_vacuum(const MemoryPlan *plan)
{
	const PbpMemorySettings *settings = &plan->facts.settings;

	return settings->max_vacuum_workers == 0 ? "autovacuum is off" :
		psprintf("at most %s in each of %d workers", pretty_bytes(settings->vacuum_bytes), settings->max_vacuum_workers);
}

static const char *
note_of_decoding(const MemoryPlan *plan)
{
	const PbpMemorySettings *settings = &plan->facts.settings;

	return settings->max_decoders == 0 ? "wal_level is not logical" :
		psprintf("at most %s in each of %d walsenders", pretty_bytes(settings->decoding_bytes), settings->max_decoders);
}

static const char *
note_of_huge_pages(const MemoryPlan *plan)
{
	const PbpOsMemory *memory = &plan->facts.memory;

	if (memory->holder == PBP_HELD_BY_CGROUP)
		return "the limit of the cgroup does not include huge pages";
	if (memory->huge_bytes == PBP_UNKNOWN)
		return "the kernel does not report them";
	if (memory->server.huge_page_bytes > 0)
		return "nothing else can use them; a smaller shared_buffers leaves more of them free, until vm.nr_hugepages is lowered";
	return plan->plan.rows[PBP_FREE_HUGE_PAGES].today > 0 ?
		"not in use by this server, and of no use for other memory" : NULL;
}

static const char *
note_of_page_cache(const MemoryPlan *plan)
{
	return plan->plan.missing == 0 ? "what the others leave, today and if all take the most at once" :
		psprintf("what the others leave; if all take the most at once, %s are missing", pretty_bytes(plan->plan.missing));
}

/* Why nothing is reserved, or unknown. */
static const char *
unknown_reserve(const MemoryPlan *plan)
{
	const char *missing = missing_advice(plan->report);

	if (plan->plan.rows[PBP_ALL_MEMORY].reserved != PBP_UNKNOWN)
		return NULL;
	return psprintf("what is reserved is unknown: %s", missing ? missing : "the advice is not of this server yet");
}

static const char *
note_of_total(const MemoryPlan *plan)
{
	const PbpOsMemory *memory = &plan->facts.memory;
	const char *of = memory->holder == PBP_HELD_BY_MACHINE ? "memory of the machine" :
		memory->server.huge_page_bytes > 0 ? "limit of the memory cgroup, and shared memory, which is in huge pages" :
		"limit of the memory cgroup";

	return join_notes(of, unknown_reserve(plan));
}

static const char *
note_of(const MemoryPlan *plan, PbpConsumer consumer)
{
	switch (consumer)
	{
		case PBP_POOL:
			return note_of_pool(plan);
		case PBP_OTHER_SHARED:
			return psprintf("allocated at the start; %s of it for WAL", pretty_bytes(plan->facts.settings.wal_buffers_bytes));
		case PBP_PAGE_TABLES:
			return note_of_page_tables(plan);
		case PBP_PROCESSES:
			return note_of_processes(plan);
		case PBP_QUERIES:
			return note_of_queries(plan);
		case PBP_TEMP_BUFFERS:
			return psprintf("at most %s in each of %d sessions", pretty_bytes(plan->facts.settings.temp_bytes),
							plan->facts.settings.max_sessions);
		case PBP_AUTOVACUUM:
			return note_of_vacuum(plan);
		case PBP_MAINTENANCE:
			return "one session that creates an index or vacuums; each further one takes as much";
		case PBP_DECODING:
			return note_of_decoding(plan);
		case PBP_FREE_HUGE_PAGES:
			return note_of_huge_pages(plan);
		case PBP_OTHERS:
			return "the kernel, other programs, and dynamic shared memory; what they may take is unknown";
		case PBP_PAGE_CACHE:
			return note_of_page_cache(plan);
		case PBP_ALL_MEMORY:
			return note_of_total(plan);
	}
	return NULL;
}

/* ---- rows ---- */

static void
add_bytes(Row *row, int64 bytes)
{
	add_known_count(row, bytes != PBP_UNKNOWN, bytes);
}

/* True if only the kernel knows what this consumer has. */
static bool
needs_kernel(PbpConsumer consumer)
{
	return consumer == PBP_POOL || consumer == PBP_PAGE_TABLES || consumer == PBP_PROCESSES || consumer >= PBP_FREE_HUGE_PAGES;
}

static void
emit_consumer(ReturnSetInfo *rsinfo, const MemoryPlan *plan, PbpConsumer consumer)
{
	const PbpConsumption *consumption = &plan->plan.rows[consumer];
	bool		unknown = !plan->facts.memory.known && needs_kernel(consumer) && consumption->today == PBP_UNKNOWN;
	const char *note = unknown && consumer >= PBP_FREE_HUGE_PAGES ? NULL : note_of(plan, consumer);
	Row			row = {0};

	add_text(&row, consumer_names[consumer]);
	add_bytes(&row, consumption->today);
	add_bytes(&row, consumption->most);
	add_bytes(&row, consumption->reserved);
	add_text(&row, join_notes(unknown ? unknown_memory() : NULL, note));
	emit_row(rsinfo, &row, MEMORY_PLAN_COLS);
}

/* Bounded: at most 64 processes are read, and 256 pages of the pool. */
Datum
pgbufprobe_memory_plan(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = palloc(sizeof(*report));
	MemoryPlan	   *plan = palloc0(sizeof(*plan));
	const PbpServerMemory *reserved = &report->storage.server;

	pbp_read_advice(report);
	plan->report = report;
	pbp_read_memory_facts(&plan->facts);
	pbp_plan_memory(&plan->facts.settings, &plan->facts.processes, &plan->facts.memory,
					missing_advice(report) == NULL && reserved->pool_bytes > 0 ? reserved : NULL,
					pbp_os_page_bytes(), &plan->plan);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_CONSUMERS; i++)
		emit_consumer((ReturnSetInfo *) fcinfo->resultinfo, plan, i);
	return (Datum) 0;
}

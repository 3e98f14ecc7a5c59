/*-------------------------------------------------------------------------
 *
 * memoryfuncs.c
 *	  SQL functions about who takes memory, what the advice leaves for each, and
 *	  how much memory the load needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "answers/memoryneed.h"
#include "answers/reasons.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/words.h"
#include "os/oskernel.h"
#include "sampler/sampler.h"

#define CONSUMERS_COLS		5
#define MEMORY_COLS			11

PG_FUNCTION_INFO_V1(pgbufprobe_memory_consumers);
PG_FUNCTION_INFO_V1(pgbufprobe_memory);

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
	emit_row(rsinfo, &row, CONSUMERS_COLS);
}

/* Bounded: at most 64 processes are read, and 256 pages of the pool. */
Datum
pgbufprobe_memory_consumers(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	MemoryPlan	   *plan = palloc0(sizeof(*plan));
	const PbpServerMemory *reserved = &report->storage.memory.server;

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

/* ---- how much memory ---- */

/* What is shown: the total that meets the target, if there is one. */
typedef struct MemoryTotals
{
	MemoryNeed	need;
	const char *target;			/* NULL: none was named */
	PbpTargetResult result;
	PbpTotal	found;
	int			knee;
} MemoryTotals;

static void
parse_target(FunctionCallInfo fcinfo, MemoryTotals *totals, PbpTarget *target)
{
	if (PG_ARGISNULL(0))
		return;
	totals->target = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!pbp_parse_target(totals->target, target))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid target \"%s\"", totals->target),
				 errhint("Valid targets are like \"storage 0.5 %%\" (0 to 100), \"50 ms/s\", \"today\", and \"-20 %% time\" (-99 to 0).")));
}

/* Two marks in one. */
static const char *
also(const char *mark, bool applies, const char *other)
{
	return !applies ? mark : mark ? psprintf("%s, %s", mark, other) : other;
}

/* What the total that was found says about the target. */
static const char *
note_of_result(const MemoryTotals *totals)
{
	switch (totals->result)
	{
		case PBP_TARGET_UNKNOWN:
			return "no known size meets the target, but others are unknown; this is the best that is known";
		case PBP_TARGET_MISSED:
			return "no size meets the target; this is the best that can be had";
		case PBP_TARGET_MET:
			return NULL;
		case PBP_TARGET_MET_BELOW:
			return "less memory may do, too, but is not known";
	}
	return NULL;
}

/* What takes memory beside both caches, and will on another machine. */
static const char *
note_of_rest(const MemoryNeed *need)
{
	const PbpConsumption *rows = need->plan.rows;
	int64		server = 0;

	for (int i = PBP_OTHER_SHARED; i < PBP_OTHERS; i++)
		server += Max(rows[i].today, 0);
	return join_notes(psprintf("the server's own memory takes %s more, %s of it for WAL, others and the kernel %s", pretty_bytes(server),
							   pretty_bytes(need->facts.settings.wal_buffers_bytes), pretty_bytes(rows[PBP_OTHERS].today)),
					  load_of_need(need));
}

static const char *
note_of_target(const MemoryTotals *totals)
{
	return join_notes(note_of_result(totals), note_of_rest(&totals->need));
}

static const char *
note_of_times(const MemoryNeed *need, const PbpTotal *total)
{
	return isnan(total->waiting.value) ? "times are unknown, because too few reads have been timed" :
		!(need->input.active_ms > 0) ? "it is unknown how long sessions work" :
		need->report->storage.model == PBP_STORAGE_UNPROVEN ?
		"storage reads are those of the kernel's classic lists, but this kernel evicts by MGLRU" : NULL;
}

static void
emit_total(ReturnSetInfo *rsinfo, const MemoryTotals *totals, const PbpTotal *total, const char *mark, const char *note)
{
	const MemoryNeed *need = &totals->need;
	bool		known = !isnan(total->pool);
	Row			row = {0};

	add_count(&row, machine_bytes(need, total->factor));
	add_known_count(&row, known, known ? pool_bytes_of(need, total) : 0);
	add_known_count(&row, known, known ? cache_bytes_of(need, total) : 0);
	add_text(&row, mark);
	add_interval(&row, total->storage.value, total->storage.error, 1);
	add_interval(&row, total->waiting.value, total->waiting.error, INFINITY);
	add_text(&row, known ? join_notes(note, join_notes(note_of_times(need, total), need->input.hours ? NULL : caveat_of_advice(need->report))) : note);
	emit_row(rsinfo, &row, MEMORY_COLS);
}

/* A row of its own, unless it is one of the totals. */
static bool
is_found(const MemoryTotals *totals, const PbpTotal *total)
{
	return totals->target && totals->found.factor == total->factor && totals->found.pool == total->pool;
}

/* One total, and before it what lies between the last one and this. */
static void
emit_step(ReturnSetInfo *rsinfo, const MemoryTotals *totals, int i)
{
	const MemoryNeed *need = &totals->need;
	const PbpTotal *total = &need->totals[i];
	bool		is_today = i == PBP_TOTAL_TODAY;
	bool		found = is_found(totals, total);
	const char *what = totals->result >= PBP_TARGET_MET ? "target" : "best";
	double		before = i > 0 ? pbp_total_factor(i - 1) : 0;
	const char *mark;

	if (totals->target && !found && totals->found.factor > before && totals->found.factor <= total->factor)
		emit_total(rsinfo, totals, &totals->found, what, note_of_target(totals));
	if (is_today && total->size != PBP_ADVICE_BASELINE)
	{
		PbpTotal	today = pbp_today_total(&need->input);

		emit_total(rsinfo, totals, &today, "today", note_of_rest(need));
	}
	mark = !is_today ? NULL : total->size != PBP_ADVICE_BASELINE ? "advised" : "today";
	mark = also(also(mark, i == totals->knee, "knee"), found, what);
	emit_total(rsinfo, totals, total, mark,
			   join_notes(isnan(total->pool) ? unknown_total(need, i) : NULL,
						  found ? note_of_target(totals) : is_today && total->size == PBP_ADVICE_BASELINE ? note_of_rest(need) : NULL));
}

/* One row that says why nothing is known. */
static void
emit_unknown(ReturnSetInfo *rsinfo, const MemoryNeed *need)
{
	const PbpConsumption *all = &need->plan.rows[PBP_ALL_MEMORY];
	Row			row = {0};

	add_known_count(&row, all->today != PBP_UNKNOWN, all->today);
	add_count(&row, (int64) NBuffers * BLCKSZ);
	add_null(&row);
	add_text(&row, "today");
	add_nulls(&row, MEMORY_COLS - 1);
	add_text(&row, need->unknown);
	emit_row(rsinfo, &row, MEMORY_COLS);
}

/* Bounded like pgbufprobe_memory_consumers(). */
Datum
pgbufprobe_memory(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	PbpAdviceReport *report = pbp_read_advice();
	MemoryTotals *totals = palloc0(sizeof(*totals));
	PbpTarget	target = {PBP_TARGET_TODAY, 0};

	parse_target(fcinfo, totals, &target);
	find_memory_need(report, &totals->need);
	InitMaterializedSRF(fcinfo, 0);
	if (totals->need.unknown != NULL)
	{
		emit_unknown(rsinfo, &totals->need);
		return (Datum) 0;
	}
	totals->knee = pbp_knee_of_totals(totals->need.totals);
	if (totals->target)
		totals->result = pbp_least_total(&totals->need.input, &target, &totals->found);
	for (int i = 0; i < PBP_TOTALS; i++)
		emit_step(rsinfo, totals, i);
	return (Datum) 0;
}

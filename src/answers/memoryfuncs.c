/*-------------------------------------------------------------------------
 *
 * memoryfuncs.c
 *	  SQL functions about who takes memory, what the advice leaves for each, and
 *	  how much memory the load needs; and the checkup's answer about that.
 *
 * The advice knows both caches.  All else that takes memory stays as it is: a
 * machine with so much more memory has so much more for both caches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "answers/answers.h"
#include "base/settings.h"

/* Less memory than this share of today's is worth a word if it is no worse. */
#define MUCH_LESS			0.67

/* More is worth a word if it saves this share of the time that sessions work, or else wait. */
#define MUCH_TIME			0.1
#define MUCH_WAITING		0.3

/* Share of what the most memory saves that is enough. */
#define NEARLY_ALL_SAVED	0.8

PG_FUNCTION_INFO_V1(pgbufprobe_memory_consumers);
PG_FUNCTION_INFO_V1(pgbufprobe_memory);

typedef struct MemoryNeed
{
	const PbpAdviceReport *report;
	PbpMemoryFacts facts;
	PbpMemoryPlan plan;

	/* how much the load needs */
	const char *unknown;		/* why nothing is known; NULL if something is */
	PbpTotalsInput input;
	PbpHoursSum hours;			/* if these count, as in the input */
	PbpTotal	totals[PBP_TOTALS];
} MemoryNeed;

/* in the order of PbpConsumer */
static const char *const consumer_names[] = {
	"shared_buffers", "other shared memory", "page tables", "processes", "work_mem", "temp_buffers",
	"autovacuum", "maintenance_work_mem", "logical decoding", "free huge pages", "others",
	"page cache", "total"
};

StaticAssertDecl(lengthof(consumer_names) == PBP_CONSUMERS, "each consumer has a name");

/* what the total that was found says about the target */
static const char *const notes_of_results[] = {
	[PBP_TARGET_UNKNOWN] = "no known size meets the target, but others are unknown; "
		"this is the best that is known",
	[PBP_TARGET_MISSED] = "no size meets the target; this is the best that can be had",
	[PBP_TARGET_MET] = NULL,
	[PBP_TARGET_MET_BELOW] = "less memory may do, too, but is not known",
};

/* ---- consumers ---- */

static const char *
note_of_huge_pages(const MemoryNeed *need)
{
	const PbpOsMemory *memory = &need->facts.memory;

	if (memory->holder == PBP_HELD_BY_CGROUP)
		return "the limit of the cgroup does not include huge pages";
	if (memory->huge_bytes == PBP_UNKNOWN)
		return "the kernel does not report them";
	if (memory->server.huge_page_bytes > 0)
		return "nothing else can use them; a smaller shared_buffers leaves more of them free, "
			"until vm.nr_hugepages is lowered";
	return need->plan.rows[PBP_FREE_HUGE_PAGES].today > 0 ?
		"not in use by this server, and of no use for other memory" : NULL;
}

/* Of what it is the total, and why nothing is reserved. */
static const char *
note_of_total(const MemoryNeed *need)
{
	const char *missing = missing_advice(need->report);

	return join_notes(
		need->facts.memory.holder == PBP_HELD_BY_MACHINE ? "memory of the machine" :
		need->facts.memory.server.huge_page_bytes > 0 ?
		"limit of the memory cgroup, and shared memory, which is in huge pages" :
		"limit of the memory cgroup",
		need->plan.rows[PBP_ALL_MEMORY].reserved != PBP_UNKNOWN ? NULL :
		psprintf("what is reserved is unknown: %s",
				 missing ? missing : "the advice is not of this server yet"));
}

/* Of 80 lines, since each consumer has its own words. */
static const char *
note_of(const MemoryNeed *need, PbpConsumer consumer)
{
	const PbpMemorySettings *settings = &need->facts.settings;
	const PbpServerMemory *server = &need->facts.memory.server;
	bool		huge = server->huge_page_bytes > 0;
	int64		page_bytes = huge ? server->huge_page_bytes : pbp_os_page_bytes();

	switch (consumer)
	{
		case PBP_POOL:
			return huge ? "in huge pages" : server->unused_bytes <= 0 ? NULL :
				psprintf("%s of it have not been used since the server started",
						 pretty_bytes(server->unused_bytes));
		case PBP_OTHER_SHARED:
			return psprintf("allocated at the start; %s of it for WAL",
							pretty_bytes(settings->wal_buffers_bytes));
		case PBP_PAGE_TABLES:
			return psprintf("8 bytes for each page of " INT64_FORMAT " kB of shared memory that a "
							"process has used; at most %d processes%s", page_bytes / 1024,
							settings->max_processes,
							huge ? "" : "; hardly any with huge pages");
		case PBP_PROCESSES:
			return psprintf("private memory of %d processes, today with the next five rows; "
							"at most %d processes of today's average",
							need->facts.processes.now.processes, settings->max_processes);
		case PBP_QUERIES:
			return psprintf("at most a hash table of %s (work_mem times hash_mem_multiplier) in "
							"each of %d sessions and %d parallel workers; "
							"a query with several takes more",
							pretty_bytes(settings->query_bytes), settings->max_sessions,
							settings->max_parallel_workers);
		case PBP_TEMP_BUFFERS:
			return psprintf("at most %s in each of %d sessions",
							pretty_bytes(settings->temp_bytes), settings->max_sessions);
		case PBP_AUTOVACUUM:
			return settings->max_vacuum_workers == 0 ? "autovacuum is off" :
				psprintf("at most %s in each of %d workers",
						 pretty_bytes(settings->vacuum_bytes), settings->max_vacuum_workers);
		case PBP_MAINTENANCE:
			return "one session that creates an index or vacuums; each further one takes as much";
		case PBP_DECODING:
			return settings->max_decoders == 0 ? "wal_level is not logical" :
				psprintf("at most %s in each of %d walsenders",
						 pretty_bytes(settings->decoding_bytes), settings->max_decoders);
		case PBP_FREE_HUGE_PAGES:
			return note_of_huge_pages(need);
		case PBP_OTHERS:
			return "the kernel, other programs, and dynamic shared memory; "
				"what they may take is unknown";
		case PBP_PAGE_CACHE:
			return need->plan.missing == 0 ?
				"what the others leave, today and if all take the most at once" :
				psprintf("what the others leave; if all take the most at once, %s are missing",
						 pretty_bytes(need->plan.missing));
		case PBP_ALL_MEMORY:
			return note_of_total(need);
	}
	return NULL;
}

static void
add_bytes(Row *row, int64 bytes)
{
	add_known_count(row, bytes != PBP_UNKNOWN, bytes);
}

static void
emit_consumer(FunctionCallInfo fcinfo, const MemoryNeed *need, PbpConsumer consumer)
{
	const PbpConsumption *consumption = &need->plan.rows[consumer];
	bool		is_kernels = consumer >= PBP_FREE_HUGE_PAGES;	/* nobody else knows about it */
	bool		unknown = consumption->today == PBP_UNKNOWN && !need->facts.memory.known &&
		(is_kernels || consumer == PBP_POOL || consumer == PBP_PAGE_TABLES ||
		 consumer == PBP_PROCESSES);
	Row			row = {0};

	add_text(&row, consumer_names[consumer]);
	add_bytes(&row, consumption->today);
	add_bytes(&row, consumption->most);
	add_bytes(&row, consumption->reserved);
	add_text(&row, join_notes(!unknown ? NULL : pbp_os_cache_on ?
							  "the kernel does not report its memory" :
							  "pgbufprobe.os_cache is off",
							  unknown && is_kernels ? NULL : note_of(need, consumer)));
	emit_row(fcinfo, &row);
}

/* Bounded: at most 64 processes are read, and 256 pages of the pool. */
Datum
pgbufprobe_memory_consumers(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	const PbpServerMemory *reserved = &report->storage.memory.server;
	MemoryNeed *need = palloc0(sizeof(*need));

	need->report = report;
	need->facts = pbp_read_memory_facts(PBP_UNKNOWN, PBP_UNKNOWN);
	pbp_plan_memory(&need->facts, missing_advice(report) == NULL && reserved->pool_bytes > 0 ?
					reserved : NULL, &need->plan);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_CONSUMERS; i++)
		emit_consumer(fcinfo, need, i);
	return (Datum) 0;
}

/* ---- how much memory ---- */

/* All memory, so that both caches have this factor of today's. */
static int64
machine_bytes(const MemoryNeed *need, double factor)
{
	return need->plan.rows[PBP_ALL_MEMORY].today +
		(int64) ((factor - 1) * (double) pbp_both_caches(need->report));
}

/* Of a split that was interpolated, in whole megabytes. */
static int64
pool_bytes_of(const MemoryNeed *need, const PbpTotal *total)
{
	int64		bytes = (int64) (total->pool * (double) need->report->nbuffers) * BLCKSZ;

	return total->size >= 0 || bytes < 1024 * 1024 ? bytes : bytes - bytes % (1024 * 1024);
}

/* With today's memory, free huge pages may hold what another pool takes. */
static int64
cache_bytes_of(const MemoryNeed *need, const PbpTotal *total)
{
	if (total->factor == 1 && total->size >= 0)
		return need->report->storage.fixed[total->size].os_cache_pages * BLCKSZ;
	return (int64) (total->factor * (double) pbp_both_caches(need->report)) -
		pbp_pool_bytes(pool_bytes_of(need, total));
}

/* Why no total of memory is known; NULL if some are, or may be. */
static const char *
unknown_need(const PbpAdviceReport *report)
{
	const char *unknown = missing_advice(report);

	if (unknown != NULL)
		return unknown;
	if (report->is_from_before || report->nbuffers != NBuffers)
		return "the advice is from before the restart";
	unknown = unknown_storage_model(report);
	if (unknown != NULL)
		return unknown;
	if (!report->storage.has_totals)
		return "memory to simulate other page caches could not be allocated";
	return report->storage.fixed[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_NO_CAPACITY ||
		!report->storage.memory.known ? "the size of the page cache is unknown" : NULL;
}

static void
set_totals(MemoryNeed *need)
{
	double		waiting = pbp_today_total(&need->input).waiting.value;

	need->input.active_ms = pbp_working_beside(need->input.active_ms, waiting);
	pbp_totals(&need->input, need->totals);
}

/*
 * By the hours of the verdict in which both caches had as much memory as now.
 * False: the verdict has none, or too little of them is known: some total, and
 * today's memory as it is divided and as is advised.
 */
static bool
use_hours(MemoryNeed *need)
{
	const PbpAdviceReport *report = need->report;
	bool		known = false;

	need->input = pbp_totals_input(report);
	if (report->decision.basis != PBP_BY_HOURS || !pbp_sum_decision_hours(report, &need->hours) ||
		need->hours.seconds < PBP_SECONDS_PER_HOUR)
		return false;
	need->input.hours = &need->hours;
	need->input.active_ms = pbp_working_of_sum(&need->hours);
	set_totals(need);
	for (int i = 0; i < PBP_TOTALS; i++)
		known |= i != PBP_TOTAL_TODAY && !isnan(need->totals[i].pool);
	return known && !isnan(need->totals[PBP_TOTAL_TODAY].pool) &&
		!isnan(pbp_today_total(&need->input).pool);
}

static MemoryNeed *
find_memory_need(const PbpAdviceReport *report)
{
	MemoryNeed *need = palloc0(sizeof(*need));

	need->report = report;
	need->unknown = unknown_need(report);
	need->facts = pbp_read_memory_facts(PBP_UNKNOWN, PBP_UNKNOWN);
	/* The limit that the report's caches were found with: one of now may be less than these. */
	if (need->unknown == NULL)
		need->facts.memory = report->storage.memory;
	pbp_plan_memory(&need->facts, NULL, &need->plan);
	if (need->unknown == NULL && machine_bytes(need, pbp_total_factor(0)) <= 0)
		need->unknown = "both caches are larger than all memory";
	if (need->unknown != NULL || use_hours(need))
		return need;

	/* by the load now */
	need->input = pbp_totals_input(report);
	need->unknown = unknown_advice(report, &report->rows[PBP_ADVICE_BASELINE]);
	if (need->unknown == NULL)
		need->unknown = unknown_waits_of(report, &report->storage.fixed[PBP_ADVICE_BASELINE]);
	if (need->unknown == NULL)
		set_totals(need);
	return need;
}

/* Why a total is unknown: of a split that is. */
static const char *
unknown_total(const MemoryNeed *need, int i)
{
	const PbpAdviceReport *report = need->report;
	const char *unknown = "too little memory is left beside both caches";

	if (i == PBP_TOTAL_TODAY)
		return unknown_waits(report, need->input.advised);
	for (int kind = 0; kind < PBP_SPLITS; kind++)
	{
		const PbpAdviceSplit *split = &report->storage.splits[i][kind];

		if (!split->fits)
			continue;
		if (split->storage.reason == PBP_STORAGE_KNOWN)
		{
			if (need->input.hours)
				return "known in too little of these hours";
			continue;
		}
		unknown = unknown_advice(report, &report->rows[split->size]);
		if (unknown == NULL)
			unknown = unknown_waits_of(report, &split->storage);
	}
	return unknown;
}

/* What takes memory beside both caches, and will on another machine; and what load this is. */
static const char *
note_of_rest(const MemoryNeed *need)
{
	const PbpConsumption *rows = need->plan.rows;
	const PbpHoursSum *hours = need->input.hours;
	int64		server = 0;

	for (int i = PBP_OTHER_SHARED; i < PBP_OTHERS; i++)
		server += Max(rows[i].today, 0);
	return join_notes(
		psprintf("the server's own memory takes %s more, %s of it for WAL, "
				 "others and the kernel %s", pretty_bytes(server),
				 pretty_bytes(need->facts.settings.wal_buffers_bytes),
				 pretty_bytes(rows[PBP_OTHERS].today)),
		!hours ? "by the load now" :
		psprintf("seen: %s", pretty_hours(hours->seconds, hours->wanted_seconds)));
}

static const char *
note_of_times(const MemoryNeed *need, const PbpTotal *total)
{
	return isnan(total->waiting.value) ?
		"times are unknown, because too few reads have been timed" :
		!(need->input.active_ms > 0) ? "it is unknown how long sessions work" :
		need->report->storage.model == PBP_STORAGE_UNPROVEN ?
		"storage reads are those of MGLRU from Linux 6.8 on, but this kernel has an older one" :
		NULL;
}

static void
emit_total(FunctionCallInfo fcinfo, const MemoryNeed *need, const PbpTotal *total,
		   const char *mark, const char *note)
{
	bool		known = !isnan(total->pool);
	Row			row = {0};

	add_count(&row, machine_bytes(need, total->factor));
	add_known_count(&row, known, known ? pool_bytes_of(need, total) : 0);
	add_known_count(&row, known, known ? cache_bytes_of(need, total) : 0);
	add_text(&row, mark);
	add_interval(&row, total->storage.value, total->storage.error, 1);
	add_interval(&row, total->waiting.value, total->waiting.error, INFINITY);
	add_text(&row, !known ? note :
			 join_notes(note, note_of_times(need, total),
						need->input.hours ? NULL : caveat_of_advice(need->report)));
	emit_row(fcinfo, &row);
}

/* What meets the target, if there is one, has a row of its own between two totals, or is one. */
static void
emit_totals(FunctionCallInfo fcinfo, const MemoryNeed *need, const PbpTarget *target)
{
	int			knee = pbp_knee_of_totals(need->totals);
	const char *rest = note_of_rest(need);
	const char *found_mark = NULL;
	const char *found_note = NULL;
	PbpTotal	found = {.factor = NAN};
	double		before = 0;

	if (target != NULL)
	{
		PbpTargetResult result = pbp_least_total(&need->input, target, &found);

		found_mark = result >= PBP_TARGET_MET ? "target" : "best";
		found_note = join_notes(notes_of_results[result], rest);
	}
	for (int i = 0; i < PBP_TOTALS; i++)
	{
		const PbpTotal *total = &need->totals[i];
		bool		is_found = found.factor == total->factor && found.pool == total->pool;
		bool		is_advised = i == PBP_TOTAL_TODAY && total->size != PBP_ADVICE_BASELINE;
		bool		is_today = i == PBP_TOTAL_TODAY && !is_advised;

		if (!is_found && found.factor > before && found.factor <= total->factor)
			emit_total(fcinfo, need, &found, found_mark, found_note);
		if (is_advised)
		{
			PbpTotal	today = pbp_today_total(&need->input);

			emit_total(fcinfo, need, &today, "today", rest);
		}
		emit_total(fcinfo, need, total,
				   join(", ", is_advised ? "advised" : is_today ? "today" : NULL,
						i == knee ? "knee" : NULL, is_found ? found_mark : NULL),
				   join_notes(isnan(total->pool) ? unknown_total(need, i) : NULL,
							  is_found ? found_note : is_today ? rest : NULL));
		before = pbp_total_factor(i);
	}
}

/* Bounded like pgbufprobe_memory_consumers(). */
Datum
pgbufprobe_memory(PG_FUNCTION_ARGS)
{
	const char *wanted = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	PbpTarget	target;
	MemoryNeed *need;

	if (wanted != NULL && !pbp_parse_target(wanted, &target))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid target \"%s\"", wanted),
				 errhint("Valid targets are like \"storage 0.5 %%\" (0 to 100), \"50 ms/s\", "
						 "\"today\", and \"-20 %% time\" (-99 to 0).")));
	need = find_memory_need(pbp_read_advice());
	InitMaterializedSRF(fcinfo, 0);
	if (need->unknown == NULL)
		emit_totals(fcinfo, need, wanted ? &target : NULL);
	else
	{
		/* one row, which says why */
		Row			row = {0};

		add_bytes(&row, need->plan.rows[PBP_ALL_MEMORY].today);
		add_count(&row, (int64) NBuffers * BLCKSZ);
		add_null(&row);
		add_text(&row, "today");
		emit_noted(fcinfo, &row, 11, need->unknown);
	}
	return (Datum) 0;
}

/* ---- the checkup ---- */

/* What is saved, as a share of the time that sessions work or wait. */
static double
saved_share(const MemoryNeed *need, double saved)
{
	double		time = need->input.active_ms > 0 ? need->input.active_ms :
		need->totals[PBP_TOTAL_TODAY].waiting.value;

	return time > 0 ? saved / time : 0;
}

/* The least memory that saves nearly as much as the most; NULL: it saves too little for certain. */
static const PbpTotal *
worth_more(const MemoryNeed *need)
{
	double		today = need->totals[PBP_TOTAL_TODAY].waiting.value;
	double		enough = need->input.active_ms > 0 ? MUCH_TIME : MUCH_WAITING;
	double		most = 0;
	const PbpTotal *least = NULL;

	for (int i = PBP_TOTAL_TODAY + 1; i < PBP_TOTALS; i++)
		most = fmax(most, today - need->totals[i].waiting.value);
	for (int i = PBP_TOTALS - 1; i > PBP_TOTAL_TODAY; i--)
	{
		double		saved = today - need->totals[i].waiting.value;

		if (saved >= NEARLY_ALL_SAVED * most &&
			saved_share(need, saved - need->totals[i].waiting.change_error) >= enough)
			least = &need->totals[i];
	}
	return least;
}

/* "a container of 6 GB with shared_buffers = 1536 MB" */
static const char *
pretty_machine(const MemoryNeed *need, const PbpTotal *total)
{
	return psprintf("a %s of %s with shared_buffers = %s",
					need->facts.memory.holder == PBP_HELD_BY_CGROUP ? "container" : "machine",
					pretty_bytes(machine_bytes(need, total->factor)),
					exact_size(pool_bytes_of(need, total) / BLCKSZ));
}

static void
answer_more(const MemoryNeed *need, const PbpTotal *more, Answer *answer)
{
	const PbpCompared *today = &need->totals[PBP_TOTAL_TODAY].waiting;
	double		saved = today->value - more->waiting.value;

	answer->text =
		psprintf("%s more would save %s of the %s time.",
				 pretty_bytes(machine_bytes(need, more->factor) - machine_bytes(need, 1)),
				 pretty_interval(100 * saved_share(need, saved),
								 100 * saved_share(need, more->waiting.change_error), -INFINITY,
								 100, "%"),
				 need->input.active_ms > 0 ? "working" : "waiting");
	answer->detail = psprintf("No split of today's memory helps as much: sessions would wait %s "
							  "for reads in each second instead of %s.",
							  pretty_waiting(&more->waiting), pretty_waiting(today));
	judge(answer, PBP_VERDICT_CONSIDER, psprintf("Consider %s.", pretty_machine(need, more)));
}

/* Neither more nor less is worth a word, as far as it is known. */
static void
answer_same(const MemoryNeed *need, Answer *answer)
{
	int			i = PBP_TOTAL_TODAY + 1;

	while (i < PBP_TOTALS && !isnan(need->totals[i].waiting.value))
		i++;
	answer->text = "Right: much less memory would cost time, and more would save little.";
	answer->detail = join_sentences(
		psprintf("Both caches have %s.", pretty_bytes(pbp_both_caches(need->report))),
		i == PBP_TOTALS ? NULL :
		psprintf("What a total of %s would do is unknown: %s.",
				 pretty_bytes(machine_bytes(need, need->totals[i].factor)),
				 unknown_total(need, i)));
}

/* What was not simulated for long enough does not count. */
void
answer_memory(const Checkup *checkup, Answer *answer)
{
	MemoryNeed *need = find_memory_need(checkup->advice);
	const PbpCompared *today = &need->totals[PBP_TOTAL_TODAY].waiting;
	PbpTarget	no_worse = {PBP_TARGET_TODAY, 0};
	PbpTotal	less;
	const PbpTotal *more;

	if (need->unknown != NULL)
	{
		answer_unknown(answer, need->unknown);
		answer->action = start_action(checkup->function);
		return;
	}
	if (checkup->advice->decision.kind < PBP_DECIDE_UNSURE)
	{
		answer_unknown(answer, "it is unknown yet which size of the pool is best");
		return;
	}
	more = worth_more(need);
	if (isnan(today->value))
		answer_unknown(answer, "it is unknown how long sessions wait for reads");
	else if (more != NULL)
		answer_more(need, more, answer);
	else if (pbp_least_total(&need->input, &no_worse, &less) >= PBP_TARGET_MET &&
			 less.factor <= MUCH_LESS && !isnan(less.waiting.value))
	{
		answer->text = psprintf("Less would do: %s.", pretty_machine(need, &less));
		answer->detail =
			psprintf("That leaves %.0f %% of the memory that both caches have today; sessions "
					 "would wait %s for reads in each second instead of %s.",
					 100 * less.factor, pretty_waiting(&less.waiting), pretty_waiting(today));
		judge(answer, PBP_VERDICT_CONSIDER,
			  "If the memory is needed elsewhere, "
			  "lower the limit in steps and ask again after each.");
	}
	else
		answer_same(need, answer);
	if (need->input.hours)
		answer->detail = join_sentences(answer->detail,
										psprintf("Seen: %s.",
												 pretty_hours(need->hours.seconds,
															  need->hours.wanted_seconds)));
}

/*-------------------------------------------------------------------------
 *
 * checkupsize.c
 *	  Which size shared_buffers should have: the first answer of the checkup, with
 *	  its figures, how certain they are, and the statements that set it; and the SQL
 *	  function that has the verdict in figures alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "answers/answers.h"
#include "base/settings.h"

/* Share of block accesses that half the pool may add where it is enough. */
#define ADDED_ACCESSES		0.001

/* Share of the reads that twice the pool saves where that is worth a word. */
#define SAVED_READS			0.1

#define THEN_ASK \
	"-- The server's own times are more precise than those of probes:\n" \
	"ALTER SYSTEM SET track_io_timing = on;\nSELECT pg_reload_conf();\n" \
	"-- Let the real workload run, and ask again."

#define TODAY_TIME	"Today sessions wait %s for reads in each second."
#define LESS_TIME	"Take %s: sessions would work %s less time."

PG_FUNCTION_INFO_V1(pgbufprobe_verdict);

/* What sizes were compared by, in the order of PbpDecisionBasis. */
static const struct
{
	const char *name;
	const char *saved;			/* by a better size */
	const char *today;			/* sentences about it */
	const char *take;
}			bases[] = {
	{"misses", "reads", "Today %s of block accesses are reads.",
		"Perhaps take %s: %s fewer accesses are reads."},
	{"storage reads", "storage reads", "Today %s of block accesses wait for storage.",
		"Take %s: %s fewer accesses wait for storage."},
	{"waiting now", "waiting", TODAY_TIME, LESS_TIME},
	{"waiting in hours", "waiting", TODAY_TIME, LESS_TIME},
};

/* ---- figures ---- */

static double
bytes_of(const PbpAdviceReport *report, int size)
{
	return pbp_advice_factor(size) * (double) report->nbuffers * BLCKSZ;
}

static char *
size_of(const PbpAdviceReport *report, int size)
{
	return exact_size((int64) (bytes_of(report, size) / BLCKSZ));
}

/* The figure by which sizes were compared, with its interval. */
static char *
figure_of(const PbpDecision *decision, int size)
{
	const PbpCompared *choice = &decision->choices[size];

	if (decision->basis > PBP_BY_STORAGE)
		return pretty_waiting(choice);
	return pretty_interval(100 * choice->value, 100 * choice->error, 0, 100, "%");
}

/* What there is today, of that by which sizes were compared. */
static char *
today_is(const PbpDecision *decision)
{
	return psprintf(bases[decision->basis].today, figure_of(decision, PBP_ADVICE_BASELINE));
}

/* How much of the waiting no size of the pool avoids, by the load now; NULL: hardly any. */
static const char *
about_scans(const PbpAdviceReport *report)
{
	PbpWaitingInput input = pbp_waiting_input(report);
	PbpCompared now = pbp_waiting(&input, input.misses, input.storage);
	double		share = pbp_share_of_scans(&input, input.storage, now.value);

	return report->decision.basis < PBP_BY_WAITING || !(share >= NOTABLE_SCANS) ? NULL :
		psprintf("Now, %.0f %% of the waiting is for large scans, which read past shared buffers.",
				 100 * share);
}

/* On what the figures stand. */
static const char *
evidence(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;
	const PbpDecision *decision = &report->decision;
	const char *probed = decision->basis >= PBP_BY_WAITING && !report->times.measured ?
		"Times are those of probes, and less certain than the server's own with track_io_timing." :
		NULL;
	const char *caveat = NULL;

	if (decision->basis == PBP_BY_HOURS)
		return join_sentences(about_scans(report),
							  psprintf("Ranges are 95 %% intervals. Seen: %s.",
									   pretty_hours(decision->seen_seconds,
													decision->wanted_seconds)), probed);
	if (totals->change != PBP_NO_CHANGE || fabs(totals->self_error) > LARGE_SELF_ERROR)
		caveat = caveat_of_advice(report);
	return join_sentences(
		about_scans(report),
		psprintf("Ranges are 95 %% intervals, from %.0f reads in %s and %.2g %% of the pages.",
				 totals->reads, pretty_duration(totals->seconds), 100 * totals->sampling_rate),
		probed, caveat ? psprintf("They are uncertain: %s.", caveat) : NULL);
}

/* Reads from storage are unknown, or their model is unproven; NULL: they are known. */
static const char *
doubt_about_storage(const PbpAdviceReport *report)
{
	const char *unknown = unknown_storage_model(report);

	if (report->decision.basis == PBP_BY_MISSES)
		return psprintf("It is unknown which reads wait for storage%s%s.",
						unknown ? ", because " : "", unknown ? unknown : "");
	return report->storage.model != PBP_STORAGE_UNPROVEN ? NULL :
		"This kernel evicts by MGLRU of before Linux 6.8, for which the simulation of the page cache is unproven.";
}

static const char *
doubts(const PbpAdviceReport *report)
{
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	const char *about_twice = NULL;

	if (report->decision.basis == PBP_BY_HOURS)
	{
		if (report->may_fit[PBP_ADVICE_DOUBLE] &&
			isnan(report->decision.choices[PBP_ADVICE_DOUBLE].value))
			about_twice = psprintf("%s was known in too little of these hours.",
								   size_of(report, PBP_ADVICE_DOUBLE));
	}
	else if (twice->reason == PBP_ADVICE_SCANS)
		about_twice = psprintf("Larger sizes are unknown: %s.", unknown_advice(report, twice));
	return join_sentences(doubt_about_storage(report), about_twice);
}

/* What a smaller pool would cost now, if nearly nothing. */
static const char *
smaller_is_enough(const PbpAdviceReport *report)
{
	const PbpAdviceRow *half = &report->rows[PBP_ADVICE_HALF];
	PbpCompared now = pbp_compared_now(half->ratio, report->totals.varies);

	if (report->decision.basis == PBP_BY_HOURS || !report->may_fit[PBP_ADVICE_HALF] ||
		half->reason != PBP_ADVICE_KNOWN || now.change + now.change_error > ADDED_ACCESSES)
		return NULL;
	return psprintf("If the memory is needed elsewhere, %s is enough.",
					size_of(report, PBP_ADVICE_HALF));
}

/* What twice the pool would avoid now, if that is much but does not decide. */
static const char *
avoided_reads(const PbpAdviceReport *report, const char *but)
{
	double		today = report->rows[PBP_ADVICE_BASELINE].ratio.value;
	const PbpAdviceRow *twice = &report->rows[PBP_ADVICE_DOUBLE];
	double		avoided = today > 0 ? 1 - twice->ratio.value / today : 0;

	if (report->decision.basis == PBP_BY_HOURS || twice->reason != PBP_ADVICE_KNOWN ||
		!(avoided > SAVED_READS))
		return NULL;
	return psprintf("%s would avoid %.0f %% of the reads, but %s.",
					size_of(report, PBP_ADVICE_DOUBLE), 100 * avoided, but);
}

/* ---- statements that set another size ---- */

/*
 * What ALTER SYSTEM would have no effect on, or who would undo it: managers of
 * clusters, such as Patroni and CloudNativePG, write files of these names.
 */
static const char *const origin_query =
	"SELECT CASE WHEN EXISTS (SELECT FROM pg_settings"
	"                          WHERE name IN ('shared_buffers', 'shared_preload_libraries')"
	"                            AND source IN ('command line', 'environment variable'))"
	"            THEN 'the command line'"
	"            WHEN EXISTS (SELECT FROM pg_settings"
	"                          WHERE (name = 'allow_alter_system' AND setting = 'off')"
	"                             OR sourcefile"
	"                                ~ '/(postgresql\\.base|custom|override|patroni.*)\\.conf$')"
	"            THEN 'the manager of this server'"
	"            WHEN NOT has_table_privilege('pg_file_settings', 'SELECT')"
	"              OR NOT has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')"
	"            THEN 'the configuration'"
	"       END";

/* The last one counts, also if the server has not been restarted since. */
static const char *const libraries_query =
	"SELECT setting FROM pg_file_settings WHERE name = 'shared_preload_libraries'"
	" ORDER BY seqno DESC LIMIT 1";

/* The only value of a query, which is resolved in pg_catalog; NULL: none, or null. */
static char *
value_of(const char *query)
{
	MemoryContext caller = CurrentMemoryContext;
	int			nesting = NewGUCNestLevel();
	char	   *value = NULL;

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(query, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read the settings");
	if (SPI_processed > 0)
		value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (value != NULL)
		value = MemoryContextStrdup(caller, value);
	SPI_finish();
	AtEOXact_GUC(false, nesting);
	return value;
}

/* Each library as a string of its own: in one string, they are the name of one. */
static char *
libraries_with_ours(const char *configured)
{
	List	   *libraries = NIL;
	ListCell   *cell;
	StringInfoData list;

	initStringInfo(&list);
	if (!SplitDirectoriesString(pstrdup(configured), ',', &libraries))
		return NULL;
	foreach(cell, libraries)
	{
		const char *library = lfirst(cell);
		const char *name = last_dir_separator(library);

		if (strcmp(name ? name + 1 : library, "pgbufprobe") == 0)
			return NULL;
		appendStringInfo(&list, "%s, ", quote_literal_cstr(library));
	}
	appendStringInfoString(&list, "'pgbufprobe'");
	return list.data;
}

/*
 * What to do to give the pool another size, and to prepare the restart: the sampler
 * starts with the server then, and both caches are carried over.
 */
static char *
resize_action(int64 buffers)
{
	const char *origin = value_of(origin_query);
	char	   *size = exact_size(buffers);
	char	   *space = strchr(size, ' ');
	const char *configured;
	const char *libraries;
	StringInfoData lines;

	/* as SHOW has it, without a space */
	memmove(space, space + 1, strlen(space));
	if (origin != NULL)
		return psprintf("In %s, set shared_buffers to %s%s%s, and restart the server.", origin,
						size, pbp_sampler_is_preloaded ? "" :
						", add pgbufprobe to shared_preload_libraries",
						pbp_carry_over_on ? "" : ", set pgbufprobe.carry_over to on");
	configured = value_of(libraries_query);
	libraries = libraries_with_ours(configured ? configured : "");
	initStringInfo(&lines);
	if (PBP_SERVER_MAJOR < 17 && !pbp_carry_over_on)
		appendStringInfoString(&lines, "LOAD 'pgbufprobe';\n");
	appendStringInfo(&lines, "ALTER SYSTEM SET shared_buffers = '%s';\n", size);
	if (libraries != NULL)
		appendStringInfo(&lines, "ALTER SYSTEM SET shared_preload_libraries = %s;\n", libraries);
	if (!pbp_carry_over_on)
		appendStringInfoString(&lines, "ALTER SYSTEM SET pgbufprobe.carry_over = on;\n");
	appendStringInfo(&lines, "SELECT pg_reload_conf();\n-- Then restart the server on port %d.",
					 PostPortNumber);
	return lines.data;
}

/* ---- another size ---- */

static char *
say_take(const PbpDecision *decision, const char *size)
{
	const PbpCompared *choice = &decision->choices[decision->size];
	bool		by_time = decision->basis >= PBP_BY_WAITING;
	double		whole = by_time ? decision->active_ms :
		decision->choices[PBP_ADVICE_BASELINE].value;

	if (by_time && !(whole > 0))
		return psprintf("Take %s: sessions would wait %s less for reads.", size,
						pretty_interval(-choice->change, choice->change_error, -INFINITY, INFINITY,
										"ms/s"));
	return psprintf(bases[decision->basis].take, size,
					pretty_interval(-100 * choice->change / whole,
									100 * choice->change_error / whole, -INFINITY, 100, "%"));
}

/* What to do before that if it is not certain enough, as a comment above the statements. */
static const char *
what_first(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (decision->basis == PBP_BY_MISSES)
		return "-- Check with pgbufprobe_read_cost() whether reads wait for storage.\n"
			   "-- If they do, and the machine has the memory:";
	if (decision->times_decide)
		return THEN_ASK "  If the answer remains:";
	if (decision->confidence == PBP_SURE)
		return "-- The page cache could hold all data, so the pool need not give memory back.\n"
			   "-- If the memory is needed elsewhere:";
	if (decision->seen_seconds < pbp_decision_hours * PBP_SECONDS_PER_HOUR)
		return psprintf("-- Let the real workload run until %d hours have been seen\n"
						"-- (pgbufprobe.decision_hours). If the answer remains:",
						pbp_decision_hours);
	return "-- Let the real workload run longer and ask again. If the answer remains:";
}

/* Whether some sizes cannot be told apart; false: only one is best, or none is known. */
static bool
has_equals(const PbpDecision *decision, bool with_today)
{
	return decision->equal_from < decision->equal_to &&
		with_today == (decision->equal_from <= PBP_ADVICE_BASELINE &&
					   decision->equal_to >= PBP_ADVICE_BASELINE);
}

static void
take(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	const char *then = figure_of(decision, decision->size);
	const char *today = figure_of(decision, PBP_ADVICE_BASELINE);
	int64		os_cache = report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages;
	char	   *action = resize_action((int64) rint(bytes_of(report, decision->size) / BLCKSZ));

	answer->text = say_take(decision, size_of(report, decision->size));
	answer->detail = join_sentences(
		decision->basis >= PBP_BY_WAITING ?
		psprintf("Sessions would wait %s for reads in each second instead of %s.", then, today) :
		psprintf("%s of block accesses would %s instead of %s.", then,
				 decision->basis == PBP_BY_STORAGE ? "wait for storage" : "be reads", today),
		decision->basis == PBP_BY_MISSES ? NULL :
		psprintf("Of the %s that the pool and the page cache have.",
				 pretty_size(report->nbuffers + os_cache)),
		!has_equals(decision, false) ? NULL :
		psprintf("%s to %s cannot be told apart.", size_of(report, decision->equal_from),
				 size_of(report, decision->equal_to)),
		doubts(report), evidence(report));
	answer->action = decision->verdict == PBP_VERDICT_CHANGE ? action :
		psprintf("%s\n%s", what_first(report), action);
}

/* ---- today's size ---- */

/* Why today's size is kept although there are reads. */
static char *
say_keep(const PbpAdviceReport *report, const char *today)
{
	const PbpDecision *decision = &report->decision;

	if (decision->best < 0)
		return psprintf("Keep %s: no other size has an estimate.", today);
	if (has_equals(decision, true))
		return psprintf("Keep %s: %s to %s cannot be told apart.", today,
						size_of(report, decision->equal_from), size_of(report, decision->equal_to));
	return psprintf(decision->matters_too_little ?
					"Keep %s: no size that fits saves enough %s to matter." :
					"Keep %s: no size saves more %s than the error.",
					today, bases[decision->basis].saved);
}

static void
keep(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const PbpDecision *decision = &report->decision;
	const char *today = exact_size(report->nbuffers);

	if (decision->kind == PBP_KEEP_UNUSED)
	{
		answer->text = psprintf("Keep %s so far: no page has been evicted yet.", today);
		answer->detail =
			psprintf("%s are in use; only large scans have evicted pages, from their ring buffers.",
					 pretty_size(checkup->used));
	}
	else if (decision->kind == PBP_KEEP_FEW_READS)
	{
		double		miss_ratio = report->rows[PBP_ADVICE_BASELINE].ratio.value;

		answer->text = psprintf("Keep %s: hardly anything is read.", today);
		answer->detail = decision->basis == PBP_BY_HOURS ?
			join_sentences(today_is(decision), evidence(report)) :
			join_sentences(psprintf("Only %s of block accesses are reads.",
									pretty_percent(miss_ratio)), smaller_is_enough(report));
	}
	else if (decision->kind == PBP_KEEP_CACHED)
	{
		answer->text = psprintf(decision->basis == PBP_BY_STORAGE ?
								"Keep %s: the page cache serves nearly all reads already." :
								"Keep %s: sessions hardly wait for reads.", today);
		answer->detail = join_sentences(
			today_is(decision), avoided_reads(report, "sessions would hardly wait less"),
			smaller_is_enough(report), doubt_about_storage(report), evidence(report));
	}
	else
	{
		answer->text = say_keep(report, today);
		answer->detail = join_sentences(
			today_is(decision), decision->best < 0 ? NULL :
			psprintf("With %s it would be %s.", size_of(report, decision->best),
					 figure_of(decision, decision->best)),
			smaller_is_enough(report), doubts(report), evidence(report));
	}
}

/* ---- no decision ---- */

static void
too_early(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	int			watched = (int) Min(report->watched_seconds, PBP_ENOUGH_SECONDS - 1);
	double		left = seconds_left(report);

	answer->action = ASK_AGAIN;
	if (decision->kind == PBP_DECIDE_SHORT)
	{
		/* in whole seconds, of which at least one is left */
		answer->text =
			psprintf("Too early: watched for %d s of at least %d.", watched, PBP_ENOUGH_SECONDS);
		answer->action = psprintf("Ask again in %d s.", PBP_ENOUGH_SECONDS - watched);
	}
	else if (decision->kind == PBP_DECIDE_IDLE)
		answer->text = "Too early: hardly any load yet, and no page has been evicted.";
	else
	{
		answer->text = psprintf("Too early: %.0f %% of the reads needed have been seen.",
								floor(100 * decision->learned_share));
		answer->detail =
			avoided_reads(report, "it is unknown yet how many of these wait for storage");
		if (!report->is_from_before && left > 0)
			answer->action = psprintf("Ask again in about %s.", pretty_duration(left));
	}
}

/* The best size would save enough to matter, but not for certain. */
static void
not_certain(const PbpAdviceReport *report, Answer *answer)
{
	const PbpDecision *decision = &report->decision;
	const PbpCompared *best = &decision->choices[decision->best];
	double		share = 100 / decision->choices[PBP_ADVICE_BASELINE].value;

	answer->text =
		psprintf("Not certain enough to change: keep %s for now.", exact_size(report->nbuffers));
	answer->detail = join_sentences(
		psprintf("With %s, there would be %s as much %s as today%s.",
				 size_of(report, decision->best),
				 pretty_interval(100 + best->change * share, best->change_error * share, 0,
								 INFINITY, "%"),
				 bases[decision->basis].saved, best->change_error < -best->change ?
				 ", but chance favors the best of many sizes" : ""),
		today_is(decision), doubts(report), evidence(report));
	answer->action = !decision->times_decide ? ASK_AGAIN : THEN_ASK;
}

/* Why nothing is decided, now or by the hours. */
static const char *
why_unknown(const PbpAdviceReport *report)
{
	const PbpAdviceRow *today = &report->rows[PBP_ADVICE_BASELINE];
	const char *unknown = unknown_advice(report, today->reason != PBP_ADVICE_KNOWN ? today :
										 &report->rows[PBP_ADVICE_DOUBLE]);

	if (report->decision.basis == PBP_BY_HOURS)
		return "other sizes were known in too little of the hours";
	return unknown != NULL ? unknown : "no other size that fits has an estimate";
}

/* What it was before a restart says nothing for certain about the server now. */
PbpVerdict
verdict_of_size(const PbpAdviceReport *report)
{
	PbpVerdict	verdict = report->decision.verdict;

	if (missing_advice(report) != NULL)
		return PBP_VERDICT_UNKNOWN;
	if (!report->is_from_before)
		return verdict;
	return report->nbuffers == NBuffers ? Min(verdict, PBP_VERDICT_CONSIDER) : PBP_VERDICT_UNKNOWN;
}

/*
 * Only sizes that fit are advised.  Errors of the advice make the verdict
 * milder; where they are larger than what is saved, today's size is kept.
 */
void
answer_size(const Checkup *checkup, Answer *answer)
{
	const PbpAdviceReport *report = checkup->advice;
	const char *missing = missing_advice(report);
	PbpDecisionKind kind = report->decision.kind;

	if (missing != NULL)
	{
		answer_unknown(answer, missing);
		answer->action = start_action(checkup->function);
		return;
	}
	if (kind == PBP_DECIDE_UNKNOWN)
		answer_unknown(answer, why_unknown(report));
	else if (kind < PBP_DECIDE_UNSURE)
		too_early(report, answer);
	else if (kind == PBP_DECIDE_UNSURE)
		not_certain(report, answer);
	else if (kind == PBP_TAKE)
		take(report, answer);
	else
		keep(checkup, answer);
	answer->verdict = verdict_of_size(report);
	if (!report->is_from_before)
		return;
	answer->detail = join_sentences(
		psprintf("The answer %s: %s", origin_of_report(report), answer->text), answer->detail);
	answer->text = "Too early after the restart; the detail has the answer before it.";
	if (report->nbuffers != NBuffers || kind == PBP_TAKE)
		answer->action = ASK_AGAIN;
}

/* ---- the verdict in figures ---- */

/* As pgbufprobe_advice() has it; NULL: unknown. */
static void
add_bytes(Row *row, const PbpAdviceReport *report, bool known, int size)
{
	add_rounded(row, known && size >= 0 ? bytes_of(report, size) : NAN);
}

Datum
pgbufprobe_verdict(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	const PbpDecision *decision = &report->decision;
	const PbpCompared *choice = &decision->choices[decision->size];
	const char *missing = missing_advice(report);
	PbpVerdict	verdict = verdict_of_size(report);
	bool		known = verdict != PBP_VERDICT_UNKNOWN;
	bool		compared = known || (missing == NULL && decision->kind == PBP_DECIDE_UNSURE);
	bool		by_time = compared && decision->basis >= PBP_BY_WAITING;
	bool		saves_time = known && by_time && decision->kind == PBP_TAKE;
	Row			row = {0};

	add_text(&row, verdict_names[verdict]);
	add_text(&row, compared ? bases[decision->basis].name : NULL);
	add_count(&row, (int64) NBuffers * BLCKSZ);
	add_bytes(&row, report, known, decision->size);
	add_bytes(&row, report, known, decision->equal_from);
	add_bytes(&row, report, known, decision->equal_to);
	add_number(&row, by_time ? decision->choices[PBP_ADVICE_BASELINE].value : NAN);
	/* what the advised size saves, at least and at most */
	add_difference(&row, saves_time ? -choice->change : NAN, choice->change_error);
	add_number(&row, compared && decision->active_ms > 0 ? decision->active_ms : NAN);
	add_number(&row, decision->seen_seconds);
	/* what the load does now says nothing about hours */
	add_text(&row, missing ? missing :
			 join_notes(origin_of_report(report), decision->basis == PBP_BY_HOURS ? NULL :
						caveat_of_advice(report)));
	return row_datum(fcinfo, &row);
}

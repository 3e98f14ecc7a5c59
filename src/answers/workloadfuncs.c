/*-------------------------------------------------------------------------
 *
 * workloadfuncs.c
 *	  SQL functions about who uses the pool: how many distinct pages, and which
 *	  relations would gain or lose by another size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/dbcommands.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "answers/reasons.h"
#include "base/rows.h"
#include "base/words.h"
#include "pool/poolfuncs.h"

#define WORKING_SET_COLS	5
#define ADVICE_RELATIONS_COLS	15

/* of the reads of a relation, which are then the same at any size; a change whose error is larger than both says nothing */
#define SMALL_CHANGE		0.1

PG_FUNCTION_INFO_V1(pgbufprobe_working_set);
PG_FUNCTION_INFO_V1(pgbufprobe_advice_relations);

/* ---- working set ---- */

/* NULL: usage counts show most uses. */
static const char *
hidden_uses(const PbpWindow *window)
{
	if (window->hidden <= Max(window->pages, window->error))
		return NULL;
	return psprintf("most usage counts are at the maximum, which hides uses, so %s more may be in use",
					pretty_size((int64) rint(window->hidden)));
}

/* An estimate and its interval; all NULL if unknown. */
static void
add_estimate(Row *row, double value, double error)
{
	add_rounded(row, value);
	add_rounded(row, floor(value - error));
	add_rounded(row, ceil(value + error));
}

/* In bytes, and never less than none. */
static void
add_bytes_in_use(Row *row, double pages, double error)
{
	add_rounded(row, pages * BLCKSZ);
	add_rounded(row, isnan(pages) ? NAN : fmax(pages - error, 0) * BLCKSZ);
	add_rounded(row, (pages + error) * BLCKSZ);
}

static void
emit_window(ReturnSetInfo *rsinfo, const PbpAdviceReport *report, int i)
{
	const PbpWindow *window = &report->relations.windows[i];
	const char *unknown = unknown_window(report, window);
	Row			row = {0};

	add_datum(&row, Int32GetDatum(pbp_window_seconds(i) / 60));
	if (unknown != NULL)
	{
		add_nulls(&row, WORKING_SET_COLS - 1);
		add_text(&row, join_notes(origin_of_report(report), unknown));
	}
	else
	{
		add_bytes_in_use(&row, window->pages, window->error);
		add_text(&row, join_notes(origin_of_report(report), hidden_uses(window)));
	}
	emit_row(rsinfo, &row, WORKING_SET_COLS);
}

Datum
pgbufprobe_working_set(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_WINDOWS; i++)
		emit_window((ReturnSetInfo *) fcinfo->resultinfo, report, i);
	pfree(report);
	return (Datum) 0;
}

/* ---- relations ---- */

/* NULL: there is no reason. */
static const char *
reason_of(const char *of_what, const char *reason)
{
	return reason != NULL ? psprintf("%s: %s", of_what, reason) : NULL;
}

/* What is asked of all relations. */
typedef struct Question
{
	const PbpAdviceReport *report;
	int			size;			/* twice or half of today's */
} Question;

/* What a reader must know about all rows; NULL: nothing. */
static const char *
reasons_of_all(const Question *question)
{
	const PbpAdviceReport *report = question->report;
	const char *reads = unknown_advice(report, &report->rows[question->size]);
	const char *waits = unknown_waits(report, question->size);
	const char *window = unknown_window(report, &report->relations.windows[PBP_WINDOW_OF_RELATIONS]);

	return join_notes(join_notes(reads, waits), reason_of("working set", window));
}

/* What is saved; at half the size, that is negative. */
static PbpChange
saved_of(const Question *question, PbpChange at_double, PbpChange at_half)
{
	return question->size == PBP_ADVICE_DOUBLE ? at_double : (PbpChange) {-at_half.reads, at_half.error};
}

/* True if the change may be nothing or a lot. */
static bool
is_noise(PbpChange change, double reads)
{
	return fabs(change.reads) < change.error && change.error > SMALL_CHANGE * reads;
}

/* True if the change of its reads is less than this share of them, as far as is known. */
static bool
is_small(PbpChange change, double reads)
{
	return fabs(change.reads) + change.error < SMALL_CHANGE * reads;
}

/* database, relfilenode, fork, relation; NULL for other relations */
static void
add_key(Row *row, const PbpRelationRow *relation)
{
	const PbpRelationKey *key = &relation->key;
	PbpLocator	locator = pbp_locator(key->tablespace, key->database, key->relfilenode);

	if (!relation->others)
		add_storage(row, &locator, (ForkNumber) key->fork);
	else
		add_nulls(row, STORAGE_COLS);
}

/* Why a relation has no name. */
static const char *
missing_name(const PbpRelationKey *key)
{
	if (!OidIsValid(key->database) || key->database == MyDatabaseId)
		return "its file was dropped, truncated or rewritten, or its transaction has not been committed";
	return get_database_name(key->database) != NULL ? "of another database" : "its database was dropped";
}

/* What the figures of one relation mean; NULL: no more than they say. */
static const char *
meaning_of(const PbpRelationRow *relation)
{
	return is_small(relation->saved, relation->loads) && is_small(relation->added, relation->loads) ?
		"neither size changes its reads much: its pages are evicted before they are used again" : NULL;
}

/* What a reader must know about one relation, and about all, after the age of both; NULL: nothing. */
static const char *
note_of_relation(const PbpRelationRow *relation, bool has_name, bool is_noisy, const Question *question)
{
	const PbpAdviceReport *report = question->report;
	bool		is_hidden = isnan(relation->pages) &&
		unknown_window(report, &report->relations.windows[PBP_WINDOW_OF_RELATIONS]) == NULL;
	const char *of_all = reasons_of_all(question);
	const char *note = origin_of_report(report);

	if (relation->others)
		note = join_notes(note, "all other relations");
	else
		note = join_notes(note, join_notes(has_name ? NULL : missing_name(&relation->key), meaning_of(relation)));
	if (is_noisy)
		note = join_notes(note, "storage reads: the change is smaller than its error");
	if (is_hidden)
		note = join_notes(note, "working set: no use shows, but usage counts at the maximum hide uses");
	if (of_all != NULL && relation != report->relations.rows)
		of_all = "for what is unknown of all relations, see the first row";
	return join_notes(note, of_all);
}

static void
emit_relation(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationRow *relation = item;
	const Question *question = arg;
	PbpChange	saved = saved_of(question, relation->saved, relation->added);
	PbpChange	storage_saved = saved_of(question, relation->storage_saved, relation->storage_added);
	bool		is_noisy = is_noise(storage_saved, relation->loads);
	bool		has_name;
	Row			row = {0};

	add_key(&row, relation);
	has_name = !row.nulls[row.ncols - 1];
	add_number(&row, relation->read_share);
	add_estimate(&row, saved.reads, saved.error);
	add_estimate(&row, is_noisy ? NAN : storage_saved.reads, storage_saved.error);
	add_bytes_in_use(&row, relation->pages, relation->pages_error);
	add_text(&row, note_of_relation(relation, has_name, is_noisy, question));
	emit_row(rsinfo, &row, ADVICE_RELATIONS_COLS);
}

/* A row without figures, which says why there are no others. */
static void
emit_missing(FunctionCallInfo fcinfo, const char *why)
{
	Row			row = {0};

	InitMaterializedSRF(fcinfo, 0);
	add_nulls(&row, ADVICE_RELATIONS_COLS - 1);
	add_text(&row, why);
	emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, ADVICE_RELATIONS_COLS);
}

static int
size_arg(FunctionCallInfo fcinfo)
{
	double		factor = PG_GETARG_FLOAT8(0);

	if (factor != 2 && factor != 0.5)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid size_factor %g", factor),
				 errhint("Valid factors are 2 and 0.5.")));
	return factor == 2 ? PBP_ADVICE_DOUBLE : PBP_ADVICE_HALF;
}

Datum
pgbufprobe_advice_relations(PG_FUNCTION_ARGS)
{
	int			size = size_arg(fcinfo);
	PbpAdviceReport *report = pbp_read_advice();
	const PbpRelationsReport *relations = &report->relations;
	const char *missing = missing_relations(report);

	if (missing == NULL && relations->nrows == 0)
		missing = "no page of the sample has been read or used yet";
	if (missing != NULL)
		emit_missing(fcinfo, missing);
	else
		emit_rows(fcinfo, relations->rows, relations->nrows, sizeof(PbpRelationRow), emit_relation, &(Question) {report, size});
	pfree(report);
	return (Datum) 0;
}

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

#define WORKING_SET_COLS	4
#define ADVICE_RELATIONS_COLS	19

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
		add_rounded(&row, window->pages * BLCKSZ);
		add_rounded(&row, window->error * BLCKSZ);
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

/* Reasons of both sizes, once if they are the same. */
static const char *
reasons_of_sizes(const char *of_double, const char *of_half)
{
	if (of_double != NULL && of_half != NULL && strcmp(of_double, of_half) == 0)
		return reason_of("twice and half the size", of_double);
	return join_notes(reason_of("twice the size", of_double), reason_of("half the size", of_half));
}

/* What a reader must know about all rows; NULL: nothing. */
static const char *
reasons_of_all(const PbpAdviceReport *report)
{
	const char *reads = reasons_of_sizes(unknown_advice(report, &report->rows[PBP_ADVICE_DOUBLE]),
										 unknown_advice(report, &report->rows[PBP_ADVICE_HALF]));
	const char *waits = reasons_of_sizes(unknown_waits(report, PBP_ADVICE_DOUBLE), unknown_waits(report, PBP_ADVICE_HALF));
	const char *window = unknown_window(report, &report->relations.windows[PBP_WINDOW_OF_RELATIONS]);

	return join_notes(reads, join_notes(waits, reason_of("working set", window)));
}

/* An estimate and its error; both NULL if unknown. */
static void
add_estimate(Row *row, double value, double error)
{
	add_rounded(row, value);
	add_rounded(row, isnan(value) ? NAN : ceil(error));
}

/* True if the change may be nothing or a lot. */
static bool
is_noise(PbpChange change, double reads)
{
	return fabs(change.reads) < change.error && change.error > SMALL_CHANGE * reads;
}

static void
add_certain_change(Row *row, PbpChange change, double reads)
{
	add_estimate(row, is_noise(change, reads) ? NAN : change.reads, change.error);
}

/* database, tablespace, relfilenode, fork, relation; NULL for other relations */
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

/* True if the change of its reads is less than this share of them, as far as is known. */
static bool
is_small(PbpChange change, double reads)
{
	return fabs(change.reads) + change.error < SMALL_CHANGE * reads;
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

/* Why figures of one relation are NULL although they are known of others. */
static const char *
reasons_of_one(const PbpRelationRow *relation, const PbpAdviceReport *report)
{
	bool		is_noisy = is_noise(relation->storage_saved, relation->loads) || is_noise(relation->storage_added, relation->loads);
	bool		is_hidden = isnan(relation->pages) &&
		unknown_window(report, &report->relations.windows[PBP_WINDOW_OF_RELATIONS]) == NULL;

	return join_notes(is_noisy ? "storage reads: the change is smaller than its error" : NULL,
					  is_hidden ? "working set: no use shows, but usage counts at the maximum hide uses" : NULL);
}

/* What a reader must know about one relation, and about all, after the age of both; NULL: nothing. */
static const char *
note_of_relation(const PbpRelationRow *relation, bool has_name, const PbpAdviceReport *report)
{
	const char *of_all = reasons_of_all(report);
	const char *note = origin_of_report(report);

	if (relation->others)
		note = join_notes(note, "all other relations");
	else
		note = join_notes(note, join_notes(has_name ? NULL : missing_name(&relation->key), meaning_of(relation)));
	if (of_all != NULL && relation != report->relations.rows)
		of_all = "for what is unknown of all relations, see the first row";
	return join_notes(note, join_notes(reasons_of_one(relation, report), of_all));
}

static void
emit_relation(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationRow *relation = item;
	bool		has_name;
	Row			row = {0};

	add_key(&row, relation);
	has_name = !row.nulls[row.ncols - 1];
	add_number(&row, relation->read_share);
	add_number(&row, isnan(relation->read_share) ? NAN : relation->read_share_error);
	add_rounded(&row, relation->loads);
	add_estimate(&row, relation->saved.reads, relation->saved.error);
	add_estimate(&row, relation->added.reads, relation->added.error);
	add_certain_change(&row, relation->storage_saved, relation->loads);
	add_certain_change(&row, relation->storage_added, relation->loads);
	add_estimate(&row, relation->pages * BLCKSZ, relation->pages_error * BLCKSZ);
	add_text(&row, note_of_relation(relation, has_name, arg));
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

Datum
pgbufprobe_advice_relations(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	const PbpRelationsReport *relations = &report->relations;
	const char *missing = missing_relations(report);

	if (missing == NULL && relations->nrows == 0)
		missing = "no page of the sample has been read or used yet";
	if (missing != NULL)
		emit_missing(fcinfo, missing);
	else
		emit_rows(fcinfo, relations->rows, relations->nrows, sizeof(PbpRelationRow), emit_relation, report);
	pfree(report);
	return (Datum) 0;
}

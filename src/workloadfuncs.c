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
#include "commands/tablespace.h"
#include "common/relpath.h"
#include "utils/builtins.h"

#include "decisionfuncs.h"
#include "poolfuncs.h"
#include "rows.h"

#define WORKING_SET_COLS	6
#define ADVICE_RELATIONS_COLS	15

PG_FUNCTION_INFO_V1(pgbufprobe_working_set);
PG_FUNCTION_INFO_V1(pgbufprobe_advice_relations);

static PbpAdviceReport *
read_report(void)
{
	PbpAdviceReport *report = palloc0(sizeof(*report));

	if (pbp_sampler_is_loaded())
		pbp_read_advice(report);
	return report;
}

/* Why nothing is known of any relation; NULL if something is. */
static const char *
missing_relations(const PbpAdviceReport *report)
{
	const char *missing = missing_advice(report);

	if (missing == NULL && !report->relations.has_memory)
		return "pgbufprobe.advice_memory is too small";
	return missing;
}

/* ---- working set ---- */

/* Why the pages in use are unknown in this time; NULL if they are known. */
static const char *
unknown_window(const PbpAdviceReport *report, const PbpWindow *window)
{
	const char *missing = missing_relations(report);

	if (missing != NULL || window->known)
		return missing;
	return psprintf("the sampler has looked at the pool without a gap for %d s", window->watched_seconds);
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
		while (row.ncols < WORKING_SET_COLS - 1)
			add_null(&row);
		add_text(&row, unknown);
	}
	else
	{
		add_rounded(&row, window->pages * BLCKSZ);
		add_rounded(&row, window->error * BLCKSZ);
		add_rounded(&row, window->hidden * BLCKSZ);
		add_count(&row, window->nsampled);
		add_text(&row, window->hidden > Max(window->pages, window->error) ?
				 "most usage counts are at the maximum, which hides uses, so pages of hidden_bytes may be in use, too" : NULL);
	}
	emit_row(rsinfo, &row, WORKING_SET_COLS);
}

Datum
pgbufprobe_working_set(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = read_report();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_WINDOWS; i++)
		emit_window((ReturnSetInfo *) fcinfo->resultinfo, report, i);
	pfree(report);
	return (Datum) 0;
}

/* ---- relations ---- */

/* What a reader must know about all rows; NULL if nothing. */
static const char *
note_of_relations(const PbpAdviceReport *report)
{
	const char *of_double = unknown_advice(report, &report->rows[PBP_ADVICE_DOUBLE]);
	const char *of_half = unknown_advice(report, &report->rows[PBP_ADVICE_HALF]);
	const char *of_pages = unknown_window(report, &report->relations.windows[PBP_WINDOW_OF_RELATIONS]);
	StringInfoData note;

	initStringInfo(&note);
	if (of_double != NULL && of_half != NULL && strcmp(of_double, of_half) == 0)
	{
		appendStringInfo(&note, "twice and half the size: %s", of_double);
		of_double = of_half = NULL;
	}
	if (of_double != NULL)
		appendStringInfo(&note, "twice the size: %s", of_double);
	if (of_half != NULL)
		appendStringInfo(&note, "%shalf the size: %s", note.len > 0 ? "; " : "", of_half);
	if (of_pages != NULL)
		appendStringInfo(&note, "%sworking set: %s", note.len > 0 ? "; " : "", of_pages);
	return note.len > 0 ? note.data : NULL;
}

/* An estimate and its error; both NULL if unknown. */
static void
add_estimate(Row *row, double value, double error)
{
	add_known_count(row, !isnan(value), isnan(value) ? 0 : (int64) rint(value));
	add_known_count(row, !isnan(value), isnan(value) ? 0 : (int64) ceil(error));
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
		while (row->ncols < STORAGE_COLS)
			add_null(row);
}

static void
emit_relation(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationRow *relation = item;
	const char *note = arg;
	Row			row = {0};

	add_key(&row, relation);
	add_known_measure(&row, isnan(relation->read_share) ? -1 : relation->read_share);
	add_known_measure(&row, isnan(relation->read_share) ? -1 : relation->read_share_error);
	add_estimate(&row, relation->saved, relation->saved_error);
	add_estimate(&row, relation->added, relation->added_error);
	add_estimate(&row, relation->pages * BLCKSZ, relation->pages_error * BLCKSZ);
	add_rounded(&row, relation->sampled_loads);
	if (relation->others)
		add_text(&row, note != NULL ? psprintf("all other relations; %s", note) : "all other relations");
	else
		add_text(&row, note);
	emit_row(rsinfo, &row, ADVICE_RELATIONS_COLS);
}

/* A row without figures, which says why there are no others. */
static void
emit_missing(FunctionCallInfo fcinfo, const char *why)
{
	Row			row = {0};

	InitMaterializedSRF(fcinfo, 0);
	while (row.ncols < ADVICE_RELATIONS_COLS - 1)
		add_null(&row);
	add_text(&row, why);
	emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, ADVICE_RELATIONS_COLS);
}

Datum
pgbufprobe_advice_relations(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = read_report();
	const PbpRelationsReport *relations = &report->relations;
	const char *missing = missing_relations(report);

	if (missing == NULL && relations->nrows == 0)
		missing = "no page of the sample has been read or used yet";
	if (missing != NULL)
		emit_missing(fcinfo, missing);
	else
		emit_rows(fcinfo, relations->rows, relations->nrows, sizeof(PbpRelationRow), emit_relation,
				  unconstify(char *, note_of_relations(report)));
	pfree(report);
	return (Datum) 0;
}

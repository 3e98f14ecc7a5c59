/*-------------------------------------------------------------------------
 *
 * report.c
 *	  A report of the advice: what is saved of it, and the size that it advises.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "sampler/report.h"

/* ---- what is saved ---- */

#define MAX_BLOCKS			(PBP_MAX_BYTES / BLCKSZ)

static const PbpField row_fields[] = {
	PBP_FIELD(PBP_REAL, PbpAdviceRow, factor, 0, 100),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, miss_ratio, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, uncertainty, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, change_error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, write_ratio, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, learned_share, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceRow, seconds_left, 0, PBP_MANY),
	PBP_FIELD(PBP_UNSIGNED, PbpAdviceRow, reason, 0, PBP_LAST_ADVICE_REASON),
	PBP_END_OF_FIELDS
};

static const PbpField totals_fields[] = {
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, accesses, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, extends, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, ring_reads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, ring_extends, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, seconds, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, loads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, new_loads, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, dirty_evictions, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceTotals, self_error, -1, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceTotals, looks_per_pass, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpAdviceTotals, sampling_rate, 0, 1),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceTotals, lately, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_UNSIGNED, PbpAdviceTotals, change, 0, PBP_LAST_ADVICE_CHANGE),
	PBP_FIELD(PBP_SIGNED, PbpAdviceTotals, sampled_loads, 0, PBP_MANY),
	PBP_FIELD(PBP_SIGNED, PbpAdviceTotals, looks, 0, PBP_MANY),
	PBP_FIELD(PBP_SIGNED, PbpAdviceTotals, gaps, 0, PBP_MANY),
	PBP_FIELD(PBP_SIGNED, PbpAdviceTotals, dropped, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField storage_row_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpAdviceStorageRow, os_cache_pages, -MAX_BLOCKS, MAX_BLOCKS),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageRow, storage_ratio, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageRow, uncertainty, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageRow, change_error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageRow, learned_share, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageRow, seconds_left, 0, PBP_MANY),
	PBP_FIELD(PBP_UNSIGNED, PbpAdviceStorageRow, reason, 0, PBP_LAST_STORAGE_REASON),
	PBP_END_OF_FIELDS
};

static const PbpField storage_totals_fields[] = {
	PBP_FIELD(PBP_REAL, PbpAdviceStorageTotals, sampling_rate, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageTotals, correction, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageTotals, self_error, -PBP_MAX_RATIO, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceStorageTotals, measuring_error, 0, PBP_MANY),
	PBP_FIELD(PBP_SIGNED, PbpAdviceStorageTotals, dropped, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField storage_fields[] = {
	PBP_FIELD(PBP_UNSIGNED, PbpStorageReport, has_memory, 0, 1),
	PBP_FIELD(PBP_UNSIGNED, PbpStorageReport, model, 0, PBP_LAST_STORAGE_MODEL),
	PBP_FIELD(PBP_SIGNED, PbpStorageReport, data_bytes, -1, PBP_MAX_BYTES),
	PBP_STRUCT_FIELD(PbpStorageReport, totals, storage_totals_fields),
	PBP_ARRAY_FIELD(PBP_UNSIGNED, PbpStorageReport, fits, 0, PBP_LAST_FIT, NULL),
	PBP_FIELD(PBP_UNSIGNED, PbpStorageReport, data_fit, 0, PBP_LAST_FIT),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpStorageReport, fixed, 0, 0, storage_row_fields),
	PBP_END_OF_FIELDS
};

static const PbpField time_fields[] = {
	PBP_FIELD(PBP_REAL_OR_NAN, PbpFigure, value, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpFigure, error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField times_fields[] = {
	PBP_STRUCT_FIELD(PbpReadTimes, os, time_fields),
	PBP_STRUCT_FIELD(PbpReadTimes, storage, time_fields),
	PBP_FIELD(PBP_UNSIGNED, PbpReadTimes, measured, 0, 1),
	PBP_STRUCT_FIELD(PbpReadTimes, write, time_fields),
	PBP_STRUCT_FIELD(PbpReadTimes, held_up, time_fields),
	PBP_END_OF_FIELDS
};

static const PbpField window_fields[] = {
	PBP_FIELD(PBP_UNSIGNED, PbpWindow, known, 0, 1),
	PBP_FIELD(PBP_SIGNED, PbpWindow, watched_seconds, 0, INT_MAX),
	PBP_FIELD(PBP_SIGNED, PbpWindow, halvings, 0, PBP_MAX_HALVINGS),
	PBP_FIELD(PBP_UNSIGNED, PbpWindow, nsampled, 0, UINT_MAX),
	PBP_FIELD(PBP_REAL, PbpWindow, pages, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpWindow, error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpWindow, hidden, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

const PbpField pbp_relation_key_fields[] = {
	PBP_FIELD(PBP_UNSIGNED, PbpRelationKey, database, 0, UINT_MAX),
	PBP_FIELD(PBP_UNSIGNED, PbpRelationKey, tablespace, 0, UINT_MAX),
	PBP_FIELD(PBP_UNSIGNED, PbpRelationKey, relfilenode, 0, UINT_MAX),
	PBP_FIELD(PBP_UNSIGNED, PbpRelationKey, fork, 0, MAX_FORKNUM),
	PBP_END_OF_FIELDS
};

static const PbpField change_fields[] = {
	PBP_FIELD(PBP_REAL_OR_NAN, PbpChange, reads, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpChange, error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField relation_fields[] = {
	PBP_STRUCT_FIELD(PbpRelationRow, key, pbp_relation_key_fields),
	PBP_FIELD(PBP_UNSIGNED, PbpRelationRow, others, 0, 1),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpRelationRow, read_share, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpRelationRow, read_share_error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpRelationRow, loads, 0, PBP_MANY),
	PBP_STRUCT_FIELD(PbpRelationRow, saved, change_fields),
	PBP_STRUCT_FIELD(PbpRelationRow, added, change_fields),
	PBP_STRUCT_FIELD(PbpRelationRow, storage_saved, change_fields),
	PBP_STRUCT_FIELD(PbpRelationRow, storage_added, change_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpRelationRow, pages, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpRelationRow, pages_error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpRelationRow, sampled_loads, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField relations_fields[] = {
	PBP_FIELD(PBP_UNSIGNED, PbpRelationsReport, has_memory, 0, 1),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpRelationsReport, windows, 0, 0, window_fields),
	PBP_FIELD(PBP_SIGNED, PbpRelationsReport, nrows, 0, PBP_RELATION_ROWS),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpRelationsReport, rows, 0, 0, relation_fields),
	PBP_END_OF_FIELDS
};

static const PbpField choice_fields[] = {
	PBP_FIELD(PBP_REAL_OR_NAN, PbpCompared, value, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpCompared, error, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpCompared, change, -PBP_MANY, PBP_MANY),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpCompared, change_error, 0, PBP_MANY),
	PBP_END_OF_FIELDS
};

static const PbpField decision_fields[] = {
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, kind, 0, PBP_LAST_DECISION_KIND),
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, basis, 0, PBP_LAST_DECISION_BASIS),
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, confidence, 0, PBP_LAST_CONFIDENCE),
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, verdict, 0, PBP_LAST_VERDICT),
	PBP_FIELD(PBP_SIGNED, PbpDecision, size, 0, PBP_ADVICE_FACTORS - 1),
	PBP_FIELD(PBP_SIGNED, PbpDecision, best, -1, PBP_ADVICE_FACTORS - 1),
	PBP_FIELD(PBP_SIGNED, PbpDecision, equal_from, -1, PBP_ADVICE_FACTORS - 1),
	PBP_FIELD(PBP_SIGNED, PbpDecision, equal_to, -1, PBP_ADVICE_FACTORS - 1),
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, times_decide, 0, 1),
	PBP_FIELD(PBP_UNSIGNED, PbpDecision, matters_too_little, 0, 1),
	PBP_FIELD(PBP_REAL, PbpDecision, learned_share, 0, PBP_MAX_RATIO),
	PBP_FIELD(PBP_REAL, PbpDecision, seen_seconds, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpDecision, wanted_seconds, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpDecision, active_ms, 0, PBP_MANY),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpDecision, choices, 0, 0, choice_fields),
	PBP_END_OF_FIELDS
};

const PbpField pbp_report_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpAdviceReport, made_at, PBP_FIRST_TIME, PBP_LAST_TIME),
	PBP_FIELD(PBP_SIGNED, PbpAdviceReport, nbuffers, 0, INT_MAX / 2),
	PBP_FIELD(PBP_REAL, PbpAdviceReport, watched_seconds, 0, PBP_MANY),
	PBP_FIELD(PBP_UNSIGNED, PbpAdviceReport, has_memory, 0, 1),
	PBP_STRUCT_FIELD(PbpAdviceReport, totals, totals_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceReport, missed_loads, 0, PBP_MAX_RATIO),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpAdviceReport, rows, 0, 0, row_fields),
	PBP_STRUCT_FIELD(PbpAdviceReport, times, times_fields),
	PBP_FIELD(PBP_REAL_OR_NAN, PbpAdviceReport, active_ms, 0, PBP_MANY),
	PBP_STRUCT_FIELD(PbpAdviceReport, relations, relations_fields),
	PBP_STRUCT_FIELD(PbpAdviceReport, storage, storage_fields),
	PBP_STRUCT_FIELD(PbpAdviceReport, decision, decision_fields),
	PBP_END_OF_FIELDS
};

bool
pbp_is_possible_key(const PbpRelationKey *key)
{
	return key->relfilenode != 0 && key->tablespace != 0 &&
		(key->database == 0) == (key->tablespace == GLOBALTABLESPACE_OID);
}

/* An answer names the figures of these sizes: today's, the advised and the best one. */
static const char *
check_decision(const PbpDecision *decision)
{
	const PbpCompared *choices = decision->choices;
	bool		compares = decision->kind == PBP_DECIDE_UNSURE || decision->kind >= PBP_KEEP_CACHED;

	if (decision->equal_from > decision->equal_to ||
		(decision->equal_from < 0) != (decision->equal_to < 0))
		return "decision.equal_from";
	if (decision->best < 0 ? decision->kind == PBP_DECIDE_UNSURE :
		isnan(choices[decision->best].change))
		return "decision.best";
	if ((decision->kind == PBP_TAKE) != (decision->size != PBP_ADVICE_BASELINE))
		return "decision.size";
	if (compares && isnan(choices[PBP_ADVICE_BASELINE].value + choices[decision->size].change))
		return "decision.choices";
	return decision->kind == PBP_DECIDE_UNSURE && choices[PBP_ADVICE_BASELINE].value == 0 ?
		"decision.choices" : NULL;
}

/* Of each size. */
static const char *
check_rows(const PbpAdviceReport *report)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		if (report->rows[i].factor != pbp_advice_factor(i))
			return "rows.factor";
		if (isnan(report->rows[i].miss_ratio) == (report->rows[i].reason == PBP_ADVICE_KNOWN))
			return "rows.reason";
	}
	return NULL;
}

/*
 * Returns the field that contradicts another one in a report whose values are
 * possible; NULL if there is none.
 */
const char *
pbp_check_report(const PbpAdviceReport *report)
{
	const PbpRelationsReport *relations = &report->relations;
	const PbpAdviceTotals *totals = &report->totals;
	const char *wrong;

	if (!report->has_memory)
		return NULL;
	if (report->nbuffers == 0)
		return "nbuffers";
	if (totals->accesses > PBP_MANY * totals->seconds)
		return "totals.accesses";
	if (totals->change == PBP_OTHER_MISSES && isnan(totals->lately))
		return "totals.change";
	for (int i = 0; i < relations->nrows; i++)
		if (!relations->rows[i].others && !pbp_is_possible_key(&relations->rows[i].key))
			return "relations.rows.key";
	wrong = check_rows(report);
	return wrong != NULL ? wrong : check_decision(&report->decision);
}

/* ---- waiting ---- */

/* For a second of the recent workload. */
PbpWaitingInput
pbp_waiting_input(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	return (PbpWaitingInput)
	{
		.accesses = totals->seconds > 0 ? totals->accesses / totals->seconds : NAN,
		.times = report->times,
		.misses = &report->rows[PBP_ADVICE_BASELINE],
		.storage = &report->storage.fixed[PBP_ADVICE_BASELINE],
	};
}

/* In bytes, with what is allocated beside the pool. */
int64
pbp_both_caches(const PbpAdviceReport *report)
{
	return pbp_pool_bytes(report->nbuffers * BLCKSZ) + report->storage.fixed[PBP_ADVICE_BASELINE].os_cache_pages * BLCKSZ;
}

/* Which sizes fit is set in an array of the caller. */
PbpTotalsInput
pbp_totals_input(const PbpAdviceReport *report, bool *fits)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		fits[i] = pbp_may_fit(report, i);
	return (PbpTotalsInput)
	{
		.misses = report->rows,
		.fixed = report->storage.fixed,
		.fits = fits,
		.splits = report->storage.splits,
		.waiting = pbp_waiting_input(report),
		.active_ms = report->active_ms,
		.advised = report->decision.size,
	};
}

/* ---- decisions ---- */

/* Returns true if this size fits, as far as known. */
bool
pbp_may_fit(const PbpAdviceReport *report, int size)
{
	PbpFit		fit = report->storage.fits[size];

	return size == PBP_ADVICE_BASELINE || !report->storage.has_memory || fit == PBP_FITS || fit == PBP_FIT_UNKNOWN;
}

/* Returns true if storage reads are, or will become, known. */
bool
pbp_knows_storage(const PbpAdviceReport *report)
{
	return report->storage.has_memory && pbp_os_cache_on &&
		(report->storage.model == PBP_STORAGE_MODELLED || report->storage.model == PBP_STORAGE_UNPROVEN);
}

/* 0: nothing; 1: today's miss ratio; 2: enough for a decision */
static int
knowledge_of(const PbpAdviceReport *report)
{
	PbpDecisionKind kind;

	if (!report->has_memory)
		return 0;
	kind = report->decision.kind;
	if (kind == PBP_DECIDE_UNKNOWN || kind == PBP_DECIDE_IDLE || kind == PBP_KEEP_UNUSED)
		return 0;
	if (kind == PBP_DECIDE_SHORT)
		return report->rows[PBP_ADVICE_BASELINE].reason == PBP_ADVICE_KNOWN;
	return kind == PBP_DECIDE_EARLY ? 1 : 2;
}

/*
 * Returns true if a report of before a restart knows more than the latest one.
 * One that was published without memory says why there is no advice.
 */
bool
pbp_knows_more(const PbpAdviceReport *before, const PbpAdviceReport *latest)
{
	if (latest->made_at != 0 && !latest->has_memory)
		return false;
	return knowledge_of(before) > knowledge_of(latest);
}

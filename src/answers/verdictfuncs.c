/*-------------------------------------------------------------------------
 *
 * verdictfuncs.c
 *	  The SQL function with the verdict about the size of the pool in figures,
 *	  for programs.  The checkup has the same in words.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "answers/answer.h"
#include "answers/reasons.h"
#include "base/rows.h"

#define VERDICT_COLS		13

PG_FUNCTION_INFO_V1(pgbufprobe_verdict);

/* in the order of PbpDecisionBasis */
static const char *const basis_names[] = {"misses", "storage reads", "waiting now", "waiting in hours"};

/* In the same order as the checkup.  The decision may be of before a restart. */
PbpVerdict
verdict_of_size(const PbpAdviceReport *report)
{
	const PbpDecision *decision = &report->decision;

	if (missing_advice(report) != NULL)
		return PBP_VERDICT_UNKNOWN;
	if (report->is_from_before)
		return report->nbuffers == NBuffers ? Min(decision->verdict, PBP_VERDICT_CONSIDER) : PBP_VERDICT_UNKNOWN;
	return decision->verdict;
}

/* A size in bytes, as pgbufprobe_advice() has it; NULL: unknown. */
static void
add_bytes_of(Row *row, const PbpAdviceReport *report, bool known, int size)
{
	add_rounded(row, known && size >= 0 ? pbp_advice_factor(size) * (double) report->nbuffers * BLCKSZ : NAN);
}

/* What the advised size saves, at least and at most, in milliseconds per second. */
static void
add_saving(Row *row, const PbpDecision *decision)
{
	const PbpCompared *choice = &decision->choices[decision->size];
	bool		is_time = decision->basis >= PBP_BY_WAITING && decision->kind == PBP_TAKE;

	add_number(row, is_time ? -choice->change : NAN);
	add_number(row, is_time ? -choice->change - choice->change_error : NAN);
	add_number(row, is_time ? -choice->change + choice->change_error : NAN);
}

/* What the load now does says nothing about hours. */
static const char *
note_of(const PbpAdviceReport *report)
{
	const char *missing = missing_advice(report);

	if (missing != NULL)
		return missing;
	return join_notes(origin_of_report(report), report->decision.basis == PBP_BY_HOURS ? NULL : caveat_of_advice(report));
}

Datum
pgbufprobe_verdict(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	const PbpDecision *decision = &report->decision;
	PbpVerdict	verdict;
	bool		known;
	bool		compared;
	bool		by_time;
	Row			row = {0};

	if (report->nbuffers == 0)
		report->nbuffers = NBuffers;
	verdict = verdict_of_size(report);
	known = verdict != PBP_VERDICT_UNKNOWN && missing_advice(report) == NULL;
	compared = known || (missing_advice(report) == NULL && decision->kind == PBP_DECIDE_UNSURE);
	by_time = compared && decision->basis >= PBP_BY_WAITING;
	add_text(&row, name_of_verdict(verdict));
	add_text(&row, compared ? basis_names[decision->basis] : NULL);
	add_count(&row, (int64) NBuffers * BLCKSZ);
	add_bytes_of(&row, report, verdict != PBP_VERDICT_UNKNOWN, known ? decision->size : PBP_ADVICE_BASELINE);
	add_bytes_of(&row, report, known, decision->equal_from);
	add_bytes_of(&row, report, known, decision->equal_to);
	add_number(&row, by_time ? decision->choices[PBP_ADVICE_BASELINE].value : NAN);
	add_saving(&row, known ? decision : &(PbpDecision) {0});
	add_number(&row, compared && decision->active_ms > 0 ? decision->active_ms : NAN);
	add_measure(&row, decision->seen_seconds);
	add_text(&row, note_of(report));
	return row_datum(fcinfo, &row, VERDICT_COLS);
}

/*-------------------------------------------------------------------------
 *
 * costfuncs.c
 *	  SQL functions that time the buffer manager's work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/args.h"
#include "base/rows.h"
#include "pool/descriptors.h"
#include "pool/sweep.h"

#define MAX_VICTIMS			100000000
#define MAX_ROUNDS			10000

/*
 * Limits what one call inspects, unless a superuser makes it: passes over the
 * pool or, in a small pool, descriptors.  The defaults of all
 * functions stay below the limit.
 */
#define MAX_PASSES			20
#define SMALL_TOTAL			INT64CONST(100000000)

#define SWEEP_COST_COLS		8
#define SCAN_COST_COLS		4

PG_FUNCTION_INFO_V1(pgbufprobe_sweep_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_scan_cost);

static const char *const scenario_names[PBP_SCENARIOS] = {
	[PBP_CURRENT] = "current",
	[PBP_WORST] = "worst",
	[PBP_LIVE] = "live",
};

static const char *const scan_methods[PBP_SCAN_METHODS] = {
	[PBP_SCAN_READ] = "read",	/* each state, as a histogram does */
	[PBP_SCAN_LOCK] = "lock",	/* a checkpoint's search for dirty buffers */
	[PBP_SCAN_MATCH] = "match", /* the search of each DROP or TRUNCATE */
};

/* Marks the scenarios to run. */
static void
parse_scenario(FunctionCallInfo fcinfo, int argno, bool *wanted)
{
	if (PG_ARGISNULL(argno))
		wanted[PBP_CURRENT] = wanted[PBP_WORST] = true;
	else
		wanted[parse_name(fcinfo, argno, "scenario", scenario_names, PBP_SCENARIOS)] = true;
}

static void
emit_sweep_cost(ReturnSetInfo *rsinfo, PbpScenario scenario, const PbpSweepCost *cost)
{
	Row			row = {0};

	add_text(&row, scenario_names[scenario]);
	add_latency(&row, &cost->latency);
	add_count(&row, cost->inspected);
	add_quotient(&row, cost->sweep_ns * NBuffers / 1e6, (double) cost->inspected);
	add_count(&row, cost->from_freelist);
	add_count(&row, cost->dirty_victims);
	emit_row(rsinfo, &row, SWEEP_COST_COLS);
}

static int64
max_inspected(void)
{
	return Max((int64) NBuffers * MAX_PASSES, SMALL_TOTAL);
}

static void
report_too_much(const char *what, int64 most)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("cannot inspect more than " INT64_FORMAT " buffer descriptors in one call", max_inspected()),
			 most > 0 ?
			 errhint("With %d shared buffers, the number of %s can be at most " INT64_FORMAT
					 ". Superusers are not limited.", NBuffers, what, most) :
			 errhint("Superusers are not limited.")));
}

/*
 * The search for the first victim takes at most one pass more than the highest
 * usage count; each other search inspects a few buffers, unless many are
 * pinned.  In that case the replay stops at its limit.
 */
static int64
allowed_victims(int64 inspected_each)
{
	return inspected_each - (int64) NBuffers * (BM_MAX_USAGE_COUNT + 1);
}

static void
report_live_denied(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be superuser to run the \"live\" scenario"),
			 errdetail("It moves the clock hand and ages usage counts for every session."),
			 errhint("The scenario \"current\" measures the same cost and changes nothing.")));
}

Datum
pgbufprobe_sweep_cost(PG_FUNCTION_ARGS)
{
	int			victims = positive_arg(fcinfo, 0, "victims", MAX_VICTIMS);
	bool		wanted[PBP_SCENARIOS] = {false};
	bool		limited = !superuser();
	int64		max_each = PG_INT64_MAX;
	PbpSweepCost *cost;

	parse_scenario(fcinfo, 1, wanted);
	if (limited)
	{
		if (wanted[PBP_LIVE])
			report_live_denied();
		max_each = max_inspected() / (wanted[PBP_CURRENT] + wanted[PBP_WORST]);
		if (victims > allowed_victims(max_each))
			report_too_much("victims", allowed_victims(max_each));
	}

	InitMaterializedSRF(fcinfo, 0);
	cost = palloc(sizeof(*cost));
	for (int i = 0; i < PBP_SCENARIOS; i++)
	{
		PbpSweepPlan plan = {
			.scenario = (PbpScenario) i,.victims = victims,.max_inspected = max_each
		};

		if (!wanted[i])
			continue;
		pbp_sweep_cost(&plan, cost);
		if (cost->stopped)
			report_too_much("victims", 0);
		emit_sweep_cost((ReturnSetInfo *) fcinfo->resultinfo, (PbpScenario) i, cost);
	}
	pfree(cost);
	return (Datum) 0;
}

Datum
pgbufprobe_scan_cost(PG_FUNCTION_ARGS)
{
	int			rounds = positive_arg(fcinfo, 0, "rounds", MAX_ROUNDS);
	int			nread = sample_arg(fcinfo, 1);
	int64		most = max_inspected() / PBP_SCAN_METHODS / nread;

	if (rounds > most && !superuser())
		report_too_much("rounds", most);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_SCAN_METHODS; i++)
	{
		Row			row = {0};
		PbpScanCost cost;
		double		parts;

		pbp_scan_cost((PbpScanMethod) i, nread, rounds, &cost);
		parts = (double) NBuffers / cost.nread;

		add_text(&row, scan_methods[i]);
		add_measure(&row, (double) cost.min_ns / 1e6 * parts);
		add_measure(&row, (double) cost.max_ns / 1e6 * parts);
		add_known_count(&row, cost.matched >= 0 && cost.nread == NBuffers, cost.matched);
		emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row, SCAN_COST_COLS);
	}
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * poolfuncs.c
 *	  SQL functions about the state of the buffer pool, and about the time that
 *	  the buffer manager's work takes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/relations.h"
#include "base/sqlvalues.h"
#include "pool/pool.h"

#define MAX_VICTIMS			100000000
#define MAX_ROUNDS			10000

/*
 * Limits what one call inspects, unless a superuser makes it: passes over the
 * pool or, in a small pool, descriptors.  The defaults of all
 * functions stay below the limit.
 */
#define MAX_PASSES			20
#define SMALL_TOTAL			INT64CONST(100000000)

PG_FUNCTION_INFO_V1(pgbufprobe_usagecount_histogram);
PG_FUNCTION_INFO_V1(pgbufprobe_clock);
PG_FUNCTION_INFO_V1(pgbufprobe_sweep_cost);
PG_FUNCTION_INFO_V1(pgbufprobe_scan_cost);

/* ---- its state ---- */

static void
emit_buffer_count(FunctionCallInfo fcinfo, int usage, const PbpBufferCount *count, int nread)
{
	Row			row = {0};

	add_value(&row, usage >= 0, Int32GetDatum(usage));
	add_counted(&row, count->buffers, pbp_estimate_error(nread, NBuffers, count->buffers),
				NBuffers);
	add_count(&row, count->dirty);
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_usagecount_histogram(PG_FUNCTION_ARGS)
{
	int			nread = sample_arg(fcinfo, 1);
	RelationStorage relation;
	PbpHistogram histogram;

	if (!PG_ARGISNULL(0) && !find_relation(PG_GETARG_OID(0), &relation))
		report_no_relation(PG_GETARG_OID(0));
	histogram = pbp_histogram(PG_ARGISNULL(0) ? NULL : &relation.locator, nread);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		emit_buffer_count(fcinfo, i, &histogram.usage[i], nread);
	emit_buffer_count(fcinfo, -1, &histogram.unused, nread);
	return (Datum) 0;
}

/* Where the hand is at the end of the watch, if there is one. */
Datum
pgbufprobe_clock(PG_FUNCTION_ARGS)
{
	bool		watches = !PG_ARGISNULL(0);
	int64		from_allocations = pbp_read_published().allocations;
	PbpClockRate rate = {0};
	PbpClock	clock;
	PbpPublished published;
	Row			row = {0};

	if (watches)
		rate = pbp_watch_clock(duration_arg_ms(fcinfo, 0));
	clock = pbp_read_clock();
	published = pbp_read_published();
	add_text(&row, psprintf(UINT64_FORMAT "-%08x", (uint64) PgStartTime, pbp_shared_memory_id()));
	add_count(&row, NBuffers);
	add_count(&row, clock.hand);
	add_count(&row, clock.passes);
	add_count(&row, published.allocations);
	add_time(&row, published.reset_at);
	/* fewer allocations than before: the statistics were reset */
	add_quotient(&row, rate.ticks,
				 watches ? (double) (published.allocations - from_allocations) : 0);
	add_quotient(&row, NBuffers * rate.seconds, rate.ticks);
	return row_datum(fcinfo, &row);
}

/* ---- the cost of its work ---- */

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
			 errmsg("cannot inspect more than " INT64_FORMAT " buffer descriptors in one call",
					max_inspected()),
			 most > 0 ?
			 errhint("With %d shared buffers, the number of %s can be at most " INT64_FORMAT
					 ". Superusers are not limited.", NBuffers, what, most) :
			 errhint("Superusers are not limited.")));
}

Datum
pgbufprobe_sweep_cost(PG_FUNCTION_ARGS)
{
	int			victims = positive_arg(fcinfo, 0, "victims", MAX_VICTIMS);
	bool		wanted[PBP_SCENARIOS] = {false};
	int64		max_each = PG_INT64_MAX;
	PbpSweepCost *cost = palloc(sizeof(*cost));

	if (PG_ARGISNULL(1))
		wanted[PBP_CURRENT] = wanted[PBP_WORST] = true;
	else
		wanted[parse_name(fcinfo, 1, "scenario", scenario_names, PBP_SCENARIOS)] = true;
	if (!superuser())
	{
		int64		most;

		if (wanted[PBP_LIVE])
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be superuser to run the \"live\" scenario"),
					 errdetail("It moves the clock hand and ages usage counts for every session."),
					 errhint("The scenario \"current\" measures the same cost and changes nothing.")));
		max_each = max_inspected() / (wanted[PBP_CURRENT] + wanted[PBP_WORST]);

		/*
		 * The search for the first victim takes at most one pass more than the highest
		 * usage count; each other search inspects a few buffers, unless many are
		 * pinned.  In that case the replay stops at its limit.
		 */
		most = max_each - (int64) NBuffers * (BM_MAX_USAGE_COUNT + 1);
		if (victims > most)
			report_too_much("victims", most);
	}

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_SCENARIOS; i++)
	{
		PbpSweepPlan plan = {
			.scenario = (PbpScenario) i,.victims = victims,.max_inspected = max_each
		};
		Row			row = {0};

		if (!wanted[i])
			continue;
		pbp_sweep_cost(&plan, cost);
		if (cost->stopped)
			report_too_much("victims", 0);
		add_text(&row, scenario_names[i]);
		add_latency(&row, &cost->latency);
		add_count(&row, cost->inspected);
		add_quotient(&row, cost->sweep_ns * NBuffers / 1e6, (double) cost->inspected);
		add_count(&row, cost->from_freelist);
		add_count(&row, cost->dirty_victims);
		emit_row(fcinfo, &row);
	}
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
		PbpScanCost cost = pbp_scan_cost((PbpScanMethod) i, nread, rounds);

		add_text(&row, scan_methods[i]);
		add_number(&row, cost.min_ms);
		add_number(&row, cost.max_ms);
		add_known_count(&row, cost.matched >= 0 && cost.nread == NBuffers, cost.matched);
		emit_row(fcinfo, &row);
	}
	return (Datum) 0;
}

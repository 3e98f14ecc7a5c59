/*-------------------------------------------------------------------------
 *
 * policyfuncs.c
 *	  The SQL function about other replacement policies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "answers/answers.h"
#include "base/settings.h"

PG_FUNCTION_INFO_V1(pgbufprobe_policies);

#define TODAY				"clock " CppAsString2(BM_MAX_USAGE_COUNT)

static const char *const policy_names[] = {
	TODAY, "clock 1", "clock 2", "clock 15", TODAY ", 2 hands", TODAY ", 4 hands",
	TODAY ", batches of " CppAsString2(PBP_BATCH_BUFFERS), "LRU", "S3-FIFO", "optimum"
};

StaticAssertDecl(lengthof(policy_names) == PBP_POLICY_COUNT, "policy_names");

/* Why all policies are unknown, or this one; NULL if it is known. */
static const char *
unknown_policy(const PbpAdviceReport *report, const PbpPolicyRow *row, int size)
{
	const char *missing = missing_advice(report);

	if (missing != NULL)
		return missing;
	if (!pbp_policies_on)
		return "pgbufprobe.policies is off";
	if (report->is_from_before)
		return "still learning: no policy is known from before the restart";
	if (!report->has_policies)
		return "the sampler has not begun to simulate policies, "
			"or memory for them is not available";
	switch (row->reason)
	{
		case PBP_POLICY_NO_MISS_RATIO:
			return unknown_advice(report, &report->rows[pbp_size_of_policies(size)]);
		case PBP_POLICY_LEARNING:
			return psprintf("still learning: %.0f %% of a pool of this size have been filled",
							floor(100 * row->learned_share));
		case PBP_POLICY_LITTLE_EVIDENCE:
			return words_of_reason(PBP_ADVICE_LITTLE_EVIDENCE, NAN);
		case PBP_POLICY_HIDDEN:
			return "most usage counts are at the server's maximum, "
				"which hides uses that this policy counts";
		case PBP_POLICY_KNOWN:
			break;
	}
	return NULL;
}

static PbpFigure
saved_ms(const PbpAdviceReport *report, const PbpPolicyRow *row, int policy, int size)
{
	PbpWaitingInput input = pbp_waiting_input(report);
	const PbpAdviceRow *misses = &report->rows[pbp_size_of_policies(size)];
	const PbpAdviceStorageRow *storage = &report->storage.fixed[pbp_size_of_policies(size)];

	if (policy == PBP_CLOCK_TODAY)
		return (PbpFigure) {0, 0};
	if (unknown_storage_model(report) != NULL || storage->reason != PBP_STORAGE_KNOWN)
		return PBP_NO_FIGURE;
	return pbp_saved_by_policy(&input, misses, storage, row);
}

static void
emit_policy(FunctionCallInfo fcinfo, const PbpAdviceReport *report, int policy, int size)
{
	const PbpPolicyRow *policy_row = &report->policies[policy][size];
	const char *unknown = unknown_policy(report, policy_row, size);
	Row			row = {0};

	add_number(&row, pbp_advice_factor(pbp_size_of_policies(size)));
	add_text(&row, policy_names[policy]);
	if (unknown != NULL)
		emit_noted(fcinfo, &row, 12, unknown);
	else
	{
		PbpFigure	saved = saved_ms(report, policy_row, policy, size);

		add_interval(&row, policy_row->ratio.value, policy_row->ratio.error, 1);
		add_difference(&row, policy_row->ratio.change, policy_row->ratio.change_error);
		add_difference(&row, saved.value, saved.error);
		add_text(&row, join_notes(
			policy == PBP_CLOCK_TODAY && pbp_size_of_policies(size) == PBP_ADVICE_BASELINE ?
			caveat_of_advice(report) : NULL,
			policy == PBP_OPTIMUM ? "a bound in hindsight: no policy can know what comes" :
			policy_row->too_fine ?
			"simulated as the server's policy, because a batch is less than one "
			"page of the sample" :
			NULL,
			isnan(saved.value) ?
			"the time is unknown; see the notes of pgbufprobe_advice()" : NULL));
		emit_row(fcinfo, &row);
	}
}

Datum
pgbufprobe_policies(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();

	InitMaterializedSRF(fcinfo, 0);
	for (int size = 0; size < PBP_POLICY_SIZES; size++)
		for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
			emit_policy(fcinfo, report, policy, size);
	return (Datum) 0;
}

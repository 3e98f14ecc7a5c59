/*-------------------------------------------------------------------------
 *
 * restart.c
 *	  What survives a restart of the server: the history, the latest advice,
 *	  what the worker has learned, and predictions.
 *
 * How the file is written and checked is in statefile.c, and what is done with
 * its parts where they belong.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "predictions.h"
#include "restart.h"
#include "statefile.h"

/* Copied at a time, so that a long history needs no memory. */
#define SAMPLES_AT_ONCE		64

#define SAMPLES				"history"
#define REPORT				"advice"
#define LEARNER				"learner"
#define PREDICTIONS			"predictions"

/* Another version of the extension may mean something else by the same bytes. */
static uint32
layout(void)
{
	const char *version = PBP_VERSION;
	uint32		sum = pbp_advice_layout();

	sum = sum * 31 + (uint32) sizeof(PbpSample);
	sum = sum * 31 + (uint32) sizeof(PbpAdviceReport);
	while (*version != '\0')
		sum = sum * 31 + (unsigned char) *version++;
	return sum;
}

/* ----------------------------------------------------------------
 *		Saving
 * ----------------------------------------------------------------
 */

static void
save_samples(PbpStateWriter *writer)
{
	PbpSample	samples[SAMPLES_AT_ONCE];
	int64		next;
	int			left = pbp_count_samples(&next);

	pbp_begin_section(writer, SAMPLES, mul_size(left, sizeof(PbpSample)));
	while (left > 0)
	{
		int			n = Min(left, SAMPLES_AT_ONCE);

		pbp_copy_samples(next, n, samples);
		pbp_put_state(writer, samples, sizeof(PbpSample) * n);
		next += n;
		left -= n;
	}
}

static void
save_report(PbpStateWriter *writer)
{
	PbpAdviceReport report;

	pbp_read_advice(&report);
	pbp_begin_section(writer, REPORT, sizeof(report));
	pbp_put_state(writer, &report, sizeof(report));
}

static void
save_predictions(PbpStateWriter *writer)
{
	Size		bytes = pbp_predictions_bytes();
	void	   *predictions = bytes > 0 ? palloc_extended(bytes, MCXT_ALLOC_NO_OOM) : NULL;

	if (predictions == NULL)
		return;
	pbp_copy_predictions(predictions);
	pbp_begin_section(writer, PREDICTIONS, bytes);
	pbp_put_state(writer, predictions, bytes);
	pfree(predictions);
}

/*
 * Saves all, what was learned only if there is a learner, and not what a reset
 * has discarded of which the worker does not know yet.  A reset meanwhile removes
 * the file.  For the meaning of may_wait, see pbp_finish_new_file().
 */
bool
pbp_save_all(const PbpLearner *learner, uint32 resets, bool may_wait)
{
	PbpStateWriter writer;
	uint32		resets_before = pbp_count_resets();
	Size		bytes = learner != NULL && resets == resets_before ? pbp_learner_saved_bytes(learner) : 0;
	bool		saved;

	pbp_begin_state(&writer, layout());
	save_samples(&writer);
	save_report(&writer);
	if (bytes > 0)
	{
		pbp_begin_section(&writer, LEARNER, bytes);
		pbp_save_learner(learner, pbp_put_state, &writer);
	}
	save_predictions(&writer);
	saved = pbp_finish_state(&writer, may_wait);
	if (pbp_count_resets() != resets_before)
		pbp_remove_state_file();
	return saved;
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

static const void *
find_section(const PbpState *state, const char *name, Size *bytes)
{
	*bytes = 0;
	return pbp_find_section(state->header, state->bytes, name, bytes);
}

static void
restore_samples(const PbpState *state, uint32 resets)
{
	Size		bytes;
	const PbpSample *samples = find_section(state, SAMPLES, &bytes);

	if (samples != NULL)
		pbp_restore_samples(samples, bytes / sizeof(PbpSample), resets);
}

static void
resume_learner(PbpLearner *learner, const PbpState *state, uint32 resets)
{
	PbpSavedState saved = {
		.seconds_ago = Max((double) (GetCurrentTimestamp() - state->header->written_at) / 1e6, 0),
		.same_boot = state->same_boot,
	};

	saved.learner = find_section(state, LEARNER, &saved.bytes);
	pbp_resume_learner(learner, &saved, resets);
}

/* What was predicted stays, and the last advice for this size is a prediction. */
static void
restore_predictions(const PbpState *state)
{
	Size		bytes;
	const void *predictions = find_section(state, PREDICTIONS, &bytes);
	Size		report_bytes;
	const PbpAdviceReport *report = find_section(state, REPORT, &report_bytes);

	if (predictions != NULL)
		pbp_restore_predictions(predictions, bytes);
	if (state->header->nbuffers != NBuffers && report_bytes == sizeof(*report))
		pbp_predict_after_restart(report, state->header->nbuffers, state->header->written_at);
}

/*
 * To be called once in the life of a server, before any sample is taken.  Is the
 * file one of another size, so that it must be replaced soon?  Otherwise, a
 * crash before that would predict a second time.
 */
bool
pbp_resume_all(PbpLearner *learner, uint32 resets)
{
	PbpState	state;
	bool		other_size;

	pbp_read_state_file(&state, layout());
	if (state.header == NULL)
	{
		pbp_restart_learner(learner, resets);
		return false;
	}
	restore_samples(&state, resets);
	resume_learner(learner, &state, resets);
	restore_predictions(&state);
	other_size = state.header->nbuffers != NBuffers;
	pfree(state.header);
	return other_size;
}

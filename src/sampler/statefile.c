/*-------------------------------------------------------------------------
 *
 * statefile.c
 *	  The file that survives a restart: the history, the latest report of the
 *	  advice, and predictions.
 *
 * All values are checked before any is used.  How the file is written and
 * recognized is in newfile.c and ownfile.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/ownfile.h"
#include "sampler/history.h"
#include "sampler/predictions.h"
#include "sampler/statefile.h"

#define STATE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.stat"
#define NEW_STATE_FILE	STATE_FILE ".tmp"

#define MAGIC			UINT64CONST(0x7062707374617465)
#define VERSION			2

/* Copied at a time, so that a long history needs no memory. */
#define SAMPLES_AT_ONCE 64

/* What comes first; the samples come last. */
typedef struct StateSizes
{
	int64		nbuffers;		/* of the server that wrote the file */
	int64		nsamples;
} StateSizes;

/* All that is in a file. */
typedef struct State
{
	StateSizes	sizes;
	PbpAdviceReport report;
	void	   *predictions;
	PbpSample  *samples;
} State;

static const PbpField sizes_fields[] = {
	PBP_FIELD(PBP_SIGNED, StateSizes, nbuffers, 1, INT_MAX / 2),
	PBP_FIELD(PBP_SIGNED, StateSizes, nsamples, 0, INT_MAX),
	PBP_END_OF_FIELDS
};

static const PbpField count_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpBufferCount, buffers, 0, INT_MAX),
	PBP_FIELD(PBP_SIGNED, PbpBufferCount, dirty, 0, INT_MAX),
	PBP_FIELD(PBP_SIGNED, PbpBufferCount, pinned, 0, INT_MAX),
	PBP_END_OF_FIELDS
};

static const PbpField histogram_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpHistogram, nread, 1, INT_MAX / 2),
	PBP_STRUCT_FIELD(PbpHistogram, unused, count_fields),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpHistogram, usage, 0, 0, count_fields),
	PBP_END_OF_FIELDS
};

static const PbpField sample_fields[] = {
	PBP_FIELD(PBP_SIGNED, PbpSample, taken_at, 0, PBP_LAST_TIME),
	PBP_FIELD(PBP_SIGNED, PbpSample, ticks, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_SIGNED, PbpSample, allocations, 0, PBP_MAX_BYTES),
	PBP_STRUCT_FIELD(PbpSample, histogram, histogram_fields),
	PBP_FIELD(PBP_SIGNED, PbpSample, elapsed_ns, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_SIGNED, PbpSample, new_ticks, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_SIGNED, PbpSample, new_allocations, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_SIGNED, PbpSample, looks, 0, PBP_MANY),
	PBP_FIELD(PBP_SIGNED, PbpSample, cpu_ns, 0, PBP_MAX_BYTES),
	PBP_END_OF_FIELDS
};

/* Another version of the extension may mean something else by the same fields. */
static PbpFileStamp
own_stamp(void)
{
	uint32		layout = pbp_fields_layout(pbp_report_fields);

	layout = layout * 31 + pbp_predictions_layout();
	layout = layout * 31 + pbp_fields_layout(sample_fields);
	for (const char *version = PBP_VERSION; *version != '\0'; version++)
		layout = layout * 31 + (unsigned char) *version;
	return pbp_own_stamp(MAGIC, VERSION, layout);
}

/* ---- saving ---- */

static Size
state_bytes(int nsamples)
{
	return sizeof(PbpFileStamp) + pbp_fields_bytes(sizes_fields) + pbp_fields_bytes(pbp_report_fields) +
		pbp_predictions_bytes() + mul_size(nsamples, pbp_fields_bytes(sample_fields)) + sizeof(pg_crc32c);
}

static const char *
put_samples(PbpNewFile *file, int64 next, int left)
{
	PbpSample	samples[SAMPLES_AT_ONCE];
	const char *wrong = NULL;

	while (wrong == NULL && left > 0)
	{
		int			n = Min(left, SAMPLES_AT_ONCE);

		pbp_copy_samples(next, n, samples);
		for (int i = 0; wrong == NULL && i < n; i++)
			wrong = pbp_put_fields(file, sample_fields, &samples[i]);
		next += n;
		left -= n;
	}
	return wrong;
}

/* Returns the field whose value is impossible; NULL: none is. */
static const char *
put_state(PbpNewFile *file)
{
	PbpAdviceReport *report = palloc(sizeof(*report));
	int64		oldest;
	int			nsamples = pbp_count_samples(&oldest);
	StateSizes	sizes = {NBuffers, nsamples};
	PbpFileStamp stamp = own_stamp();
	const char *wrong;

	stamp.file_bytes = (int64) state_bytes(nsamples);
	pbp_put_in_new_file(file, &stamp, sizeof(stamp));
	pbp_read_advice(report);
	wrong = pbp_put_fields(file, sizes_fields, &sizes);
	if (wrong == NULL)
		wrong = pbp_put_fields(file, pbp_report_fields, report);
	if (wrong == NULL)
		wrong = pbp_put_predictions(file);
	if (wrong == NULL)
		wrong = put_samples(file, oldest, nsamples);
	pfree(report);
	return wrong;
}

/* Saves all.  A reset meanwhile removes the file. */
void
pbp_save_state(void)
{
	PbpNewFile	file;
	uint32		resets = pbp_count_resets();
	const char *wrong;

	pbp_begin_new_file(&file, STATE_FILE, NEW_STATE_FILE);
	wrong = put_state(&file);
	(void) pbp_end_new_file(&file);
	if (pbp_count_resets() != resets)
	{
		pbp_discard_new_file(&file);
		pbp_remove_state_file();
	}
	else if (wrong != NULL)
	{
		pbp_discard_new_file(&file);
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not save to file \"%s\", because \"%s\" has an impossible value", STATE_FILE, wrong)));
	}
	else if (pbp_replace_by_new_file(&file))
		pbp_unguard_file(STATE_FILE);
	if (pbp_count_resets() != resets)
		pbp_remove_state_file();
}

/* ---- restoring ---- */

static const char *
get_samples(PbpFieldReader *reader, State *state)
{
	Size		sample_bytes = pbp_fields_bytes(sample_fields);
	const char *wrong = NULL;

	if ((Size) state->sizes.nsamples * sample_bytes != (Size) (reader->end - reader->next))
		return "nsamples";
	state->samples = MemoryContextAllocHuge(CurrentMemoryContext, mul_size(state->sizes.nsamples + 1, sizeof(PbpSample)));
	for (int64 i = 0; wrong == NULL && i < state->sizes.nsamples; i++)
		wrong = pbp_get_fields(reader, sample_fields, &state->samples[i]);
	return wrong;
}

/* Returns the field whose value is impossible; NULL: none is. */
static const char *
get_state(PbpFieldReader *reader, State *state)
{
	const char *wrong = pbp_get_fields(reader, sizes_fields, &state->sizes);

	if (wrong == NULL)
		wrong = pbp_get_fields(reader, pbp_report_fields, &state->report);
	if (wrong == NULL)
		wrong = pbp_check_report(&state->report);
	if (wrong == NULL)
		wrong = pbp_get_predictions(reader, &state->predictions);
	return wrong != NULL ? wrong : get_samples(reader, state);
}

/* The last report is a prediction for the size that runs now. */
static void
predict(State *state)
{
	if (state->report.nbuffers != state->sizes.nbuffers)
	{
		memset(&state->report, 0, sizeof(state->report));
		state->report.made_at = GetCurrentTimestamp();
		state->report.nbuffers = state->sizes.nbuffers;
	}
	pbp_predict_after_restart(&state->report);
}

/* Returns true if the file was written with another size of the pool. */
static bool
restore(const char *contents, Size bytes, uint32 resets)
{
	State	   *state = palloc0(sizeof(*state));
	PbpFieldReader reader = {contents, contents + bytes};
	const char *wrong = get_state(&reader, state);

	if (wrong != NULL)
	{
		pbp_log_ignored_file(STATE_FILE, psprintf("the value of \"%s\" is impossible", wrong));
		return false;
	}
	pbp_restore_samples(state->samples, (Size) state->sizes.nsamples, resets);
	pbp_restore_predictions(state->predictions);
	state->report.is_from_before = true;
	pbp_restore_report(&state->report, resets);
	if (state->sizes.nbuffers != NBuffers)
		predict(state);
	return state->sizes.nbuffers != NBuffers;
}

/* A worker that ends in order has not crashed, unless the postmaster has. */
static void
end_use(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	if (PostmasterIsAlive())
		pbp_unguard_file(STATE_FILE);
}

/*
 * To be called once in the life of a server, before any sample is taken.  Returns
 * true if the file must be replaced soon, since a crash before that would make a
 * prediction a second time.
 */
bool
pbp_restore_state(uint32 resets)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "pgbufprobe state", ALLOCSET_DEFAULT_SIZES);
	PbpFileStamp expected = own_stamp();
	bool		other_size = false;
	uint64		crashes;
	char	   *contents;
	Size		bytes;

	MemoryContextSwitchTo(context);
	pbp_remove_own_file(NEW_STATE_FILE);
	if (pbp_guard_reading(STATE_FILE, &crashes))
	{
		on_proc_exit(end_use, 0);
		contents = pbp_read_own_file(STATE_FILE, &expected, &bytes);
		if (contents != NULL)
			other_size = restore(contents, bytes, resets);
		pbp_guard_use(STATE_FILE, crashes);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return other_size;
}

/* A file that cannot be removed would undo a reset, which is logged. */
void
pbp_remove_state_file(void)
{
	pbp_remove_own_file(STATE_FILE);
}

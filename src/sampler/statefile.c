/*-------------------------------------------------------------------------
 *
 * statefile.c
 *	  The file that survives a restart: the history, hours, the latest report of
 *	  the advice, and predictions.
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
#include "sampler/hours.h"
#include "sampler/predictions.h"
#include "sampler/statefile.h"

#define STATE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.stat"
#define NEW_STATE_FILE	STATE_FILE ".tmp"

#define MAGIC			UINT64CONST(0x7062707374617465)
#define VERSION			3

/* Copied at a time, so that a long history needs no memory. */
#define SAMPLES_AT_ONCE 64

/* What comes first; the samples come last. */
typedef struct StateSizes
{
	int64		nbuffers;		/* of the server that wrote the file */
	int64		nhours;
	int64		nsamples[PBP_HISTORIES];
} StateSizes;

/* All that is in a file. */
typedef struct State
{
	StateSizes	sizes;
	PbpAdviceReport report;
	void	   *predictions;
	PbpHour    *hours;
	PbpSample  *samples[PBP_HISTORIES];
} State;

static const PbpField sizes_fields[] = {
	PBP_FIELD(PBP_SIGNED, StateSizes, nbuffers, 1, INT_MAX / 2),
	PBP_FIELD(PBP_SIGNED, StateSizes, nhours, 0, PBP_HOURS),
	PBP_ARRAY_FIELD(PBP_SIGNED, StateSizes, nsamples, 0, INT_MAX, NULL),
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

static const PbpField top_read_fields[] = {
	PBP_STRUCT_FIELD(PbpTopRead, key, pbp_relation_key_fields),
	PBP_FIELD(PBP_REAL, PbpTopRead, read_share, 0, PBP_MAX_RATIO),
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
	PBP_FIELD(PBP_SIGNED, PbpSample, accesses, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_SIGNED, PbpSample, reads, 0, PBP_MAX_BYTES),
	PBP_FIELD(PBP_REAL, PbpSample, read_ms, 0, PBP_MANY),
	PBP_FIELD(PBP_REAL, PbpSample, read_ms_seconds, 0, PBP_MANY),
	PBP_ARRAY_FIELD(PBP_STRUCT, PbpSample, top_reads, 0, 0, top_read_fields),
	PBP_END_OF_FIELDS
};

/* Another version of the extension may mean something else by the same fields. */
static PbpFileStamp
own_stamp(void)
{
	uint32		layout = pbp_fields_layout(pbp_report_fields);

	layout = layout * 31 + pbp_predictions_layout();
	layout = layout * 31 + pbp_fields_layout(pbp_hour_fields);
	layout = layout * 31 + pbp_fields_layout(sample_fields);
	for (const char *version = PBP_VERSION; *version != '\0'; version++)
		layout = layout * 31 + (unsigned char) *version;
	return pbp_own_stamp(MAGIC, VERSION, layout);
}

/* ---- saving ---- */

/* What comes last: the hours, and the samples of each history. */
static Size
arrays_bytes(const StateSizes *sizes)
{
	Size		nsamples = 0;

	for (int i = 0; i < PBP_HISTORIES; i++)
		nsamples = add_size(nsamples, (Size) sizes->nsamples[i]);
	return add_size(mul_size((Size) sizes->nhours, pbp_fields_bytes(pbp_hour_fields)),
					mul_size(nsamples, pbp_fields_bytes(sample_fields)));
}

static Size
state_bytes(const StateSizes *sizes)
{
	return sizeof(PbpFileStamp) + pbp_fields_bytes(sizes_fields) + pbp_fields_bytes(pbp_report_fields) +
		pbp_predictions_bytes() + arrays_bytes(sizes) + sizeof(pg_crc32c);
}

static const char *
put_hours(PbpNewFile *file, const PbpHour *hours, int nhours)
{
	const char *wrong = NULL;

	for (int i = 0; wrong == NULL && i < nhours; i++)
		wrong = pbp_put_fields(file, pbp_hour_fields, &hours[i]);
	return wrong;
}

static const char *
put_samples(PbpNewFile *file, PbpHistory history, int64 next, int64 left)
{
	PbpSample	samples[SAMPLES_AT_ONCE];
	const char *wrong = NULL;

	while (wrong == NULL && left > 0)
	{
		int			n = (int) Min(left, SAMPLES_AT_ONCE);

		pbp_copy_samples(history, next, n, samples);
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
	PbpAdviceReport *report = pbp_read_advice();
	int			nhours;
	PbpHour    *hours = pbp_hours(&nhours);
	int64		oldest[PBP_HISTORIES];
	StateSizes	sizes = {.nbuffers = NBuffers,.nhours = nhours};
	PbpFileStamp stamp = own_stamp();
	const char *wrong;

	for (int i = 0; i < PBP_HISTORIES; i++)
		sizes.nsamples[i] = pbp_count_samples(i, &oldest[i]);
	stamp.file_bytes = (int64) state_bytes(&sizes);
	pbp_put_in_new_file(file, &stamp, sizeof(stamp));
	wrong = pbp_put_fields(file, sizes_fields, &sizes);
	if (wrong == NULL)
		wrong = pbp_put_fields(file, pbp_report_fields, report);
	if (wrong == NULL)
		wrong = pbp_put_predictions(file);
	if (wrong == NULL)
		wrong = put_hours(file, hours, nhours);
	for (int i = 0; wrong == NULL && i < PBP_HISTORIES; i++)
		wrong = put_samples(file, i, oldest[i], sizes.nsamples[i]);
	pfree(hours);
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
get_hours(PbpFieldReader *reader, State *state)
{
	int			nhours = (int) state->sizes.nhours;
	const char *wrong = NULL;

	state->hours = palloc0((nhours + 1) * sizeof(PbpHour));
	for (int i = 0; wrong == NULL && i < nhours; i++)
		wrong = pbp_get_fields(reader, pbp_hour_fields, &state->hours[i]);
	return wrong != NULL ? wrong : pbp_check_hours(state->hours, nhours);
}

static const char *
get_samples(PbpFieldReader *reader, State *state, PbpHistory history)
{
	int64		nsamples = state->sizes.nsamples[history];
	PbpSample  *samples = MemoryContextAllocHuge(CurrentMemoryContext, mul_size(nsamples + 1, sizeof(PbpSample)));
	const char *wrong = NULL;

	for (int64 i = 0; wrong == NULL && i < nsamples; i++)
		wrong = pbp_get_fields(reader, sample_fields, &samples[i]);
	state->samples[history] = samples;
	return wrong;
}

static const char *
get_arrays(PbpFieldReader *reader, State *state)
{
	const char *wrong;

	if (arrays_bytes(&state->sizes) != (Size) (reader->end - reader->next))
		return "nsamples";
	wrong = get_hours(reader, state);
	for (int i = 0; wrong == NULL && i < PBP_HISTORIES; i++)
		wrong = get_samples(reader, state, i);
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
	return wrong != NULL ? wrong : get_arrays(reader, state);
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
	pbp_restore_hours(state->hours, (int) state->sizes.nhours, resets);
	for (int i = 0; i < PBP_HISTORIES; i++)
		pbp_restore_samples(i, state->samples[i], (Size) state->sizes.nsamples[i], resets);
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

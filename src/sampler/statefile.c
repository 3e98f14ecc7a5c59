/*-------------------------------------------------------------------------
 *
 * statefile.c
 *	  The file that survives a restart: the history, hours, the latest report of
 *	  the advice, and predictions.
 *
 * Values are checked when they are read, before any is used.  An impossible one
 * costs the sample, hour, prediction or report that it is in, and nothing else.
 * How the file is written and recognized is in newfile.c and ownfile.c.
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
#include "base/worker.h"
#include "sampler/hours.h"
#include "sampler/predictions.h"
#include "sampler/statefile.h"

#define STATE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.stat"
#define NEW_STATE_FILE	STATE_FILE ".tmp"

#define MAGIC			UINT64CONST(0x7062707374617465)
#define VERSION			5

/* Copied at a time, so that a long history needs no memory. */
#define SAMPLES_AT_ONCE 64

/*
 * A stop waits for no save after this time, which is enough for some hundred
 * thousand samples.  Without a limit, those who stop a server would kill it.
 */
#define STOP_NS			INT64CONST(2000000000)

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
	int			nhours;			/* that can be used */
	PbpSample  *samples[PBP_HISTORIES];
	Size		nsamples[PBP_HISTORIES];	/* likewise */
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
	PBP_FIELD(PBP_SIGNED, PbpSample, taken_at, PBP_FIRST_TIME, PBP_LAST_TIME),
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

/* True if a save that goes on would delay a stop for too long. */
static bool
is_late(void)
{
	return pbp_ending_ns() >= STOP_NS;
}

/* Returns false if it is late. */
static bool
put_samples(PbpNewFile *file, PbpHistory history, int64 next, int64 left)
{
	PbpSample	samples[SAMPLES_AT_ONCE];

	while (left > 0)
	{
		int			n = (int) Min(left, SAMPLES_AT_ONCE);

		CHECK_FOR_INTERRUPTS();
		if (is_late())
			return false;
		pbp_copy_samples(history, next, n, samples);
		for (int i = 0; i < n; i++)
			pbp_put_fields(file, sample_fields, &samples[i]);
		next += n;
		left -= n;
	}
	return true;
}

/* Likewise. */
static bool
put_state(PbpNewFile *file)
{
	PbpAdviceReport *report = pbp_read_advice();
	int			nhours;
	PbpHour    *hours = pbp_hours(&nhours);
	int64		oldest[PBP_HISTORIES];
	StateSizes	sizes = {.nbuffers = NBuffers,.nhours = nhours};
	PbpFileStamp stamp = own_stamp();
	bool		in_time = true;

	for (int i = 0; i < PBP_HISTORIES; i++)
		sizes.nsamples[i] = pbp_count_samples(i, &oldest[i]);
	stamp.file_bytes = (int64) state_bytes(&sizes);
	pbp_put_in_new_file(file, &stamp, sizeof(stamp));
	pbp_put_fields(file, sizes_fields, &sizes);
	pbp_put_fields(file, pbp_report_fields, report);
	pbp_put_predictions(file);
	for (int i = 0; i < nhours; i++)
		pbp_put_fields(file, pbp_hour_fields, &hours[i]);
	for (int i = 0; in_time && i < PBP_HISTORIES; i++)
		in_time = put_samples(file, i, oldest[i], sizes.nsamples[i]);
	pfree(hours);
	pfree(report);
	return in_time;
}

/* Saves all.  A reset meanwhile removes the file. */
void
pbp_save_state(void)
{
	PbpNewFile	file;
	uint32		resets = pbp_count_resets();
	bool		in_time;

	pbp_begin_new_file(&file, STATE_FILE, NEW_STATE_FILE);
	in_time = !is_late() && put_state(&file);
	(void) pbp_end_new_file(&file);
	if (pbp_count_resets() != resets)
	{
		pbp_discard_new_file(&file);
		pbp_remove_state_file();
	}
	else if (!in_time)
	{
		pbp_discard_new_file(&file);
		ereport(LOG,
				(errmsg("could not save to file \"%s\" before the server stops", STATE_FILE),
				 errdetail("It remains as it was saved before.")));
	}
	else if (pbp_replace_by_new_file(&file))
		pbp_unguard_file(STATE_FILE);
	if (pbp_count_resets() != resets)
		pbp_remove_state_file();
}

/* ---- restoring ---- */

/* Of parts of one kind that are left out, the first is logged.  NULL: there is none. */
static void
log_wrong_part(const char *kind, const char *wrong)
{
	if (wrong != NULL)
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring part of file \"%s\", because the value of \"%s\" is impossible",
						STATE_FILE, psprintf("%s.%s", kind, wrong))));
}

static void
get_report(PbpFieldReader *reader, PbpAdviceReport *report)
{
	const char *wrong = pbp_get_fields(reader, pbp_report_fields, report);

	if (wrong == NULL)
		wrong = pbp_check_report(report);
	if (wrong != NULL)
		memset(report, 0, sizeof(*report));
	log_wrong_part("report", wrong);
}

static void
get_hours(PbpFieldReader *reader, State *state)
{
	const char *first_wrong = NULL;

	state->hours = palloc0((state->sizes.nhours + 1) * sizeof(PbpHour));
	for (int64 i = 0; i < state->sizes.nhours; i++)
	{
		PbpHour    *hour = &state->hours[state->nhours];
		const char *wrong = pbp_get_fields(reader, pbp_hour_fields, hour);

		if (wrong == NULL)
			wrong = pbp_check_hour(hour);
		if (wrong == NULL)
			state->nhours++;
		else if (first_wrong == NULL)
			first_wrong = wrong;
	}
	log_wrong_part("hours", first_wrong);
}

static bool
is_possible_count(const PbpBufferCount *count)
{
	return count->dirty <= count->buffers && count->pinned <= count->buffers;
}

/*
 * Returns the field that contradicts another one in a sample whose values are
 * possible; NULL if there is none.
 */
static const char *
check_sample(const PbpSample *sample)
{
	const PbpHistogram *histogram = &sample->histogram;
	bool		is_possible = is_possible_count(&histogram->unused);

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		is_possible = is_possible && is_possible_count(&histogram->usage[i]);
	if (!is_possible || pbp_histogram_buffers(histogram) < histogram->nread)
		return "histogram";
	if (sample->reads > sample->accesses)
		return "reads";
	if (sample->read_ms > PBP_MANY * sample->read_ms_seconds)
		return "read_ms";
	for (int i = 0; i < PBP_TOP_READS && sample->top_reads[i].key.relfilenode != 0; i++)
		if (!pbp_is_possible_key(&sample->top_reads[i].key))
			return "top_reads.key";
	return NULL;
}

static void
get_samples(PbpFieldReader *reader, State *state, PbpHistory history)
{
	int64		nsamples = state->sizes.nsamples[history];
	PbpSample  *samples = MemoryContextAllocExtended(CurrentMemoryContext,
													 mul_size(nsamples + 1, sizeof(PbpSample)),
													 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	const char *first_wrong = NULL;

	for (int64 i = 0; i < nsamples; i++)
	{
		PbpSample  *sample = &samples[state->nsamples[history]];
		const char *wrong = pbp_get_fields(reader, sample_fields, sample);

		CHECK_FOR_INTERRUPTS();
		if (wrong == NULL)
			wrong = check_sample(sample);
		if (wrong == NULL)
			state->nsamples[history]++;
		else if (first_wrong == NULL)
			first_wrong = wrong;
	}
	state->samples[history] = samples;
	log_wrong_part("samples", first_wrong);
}

/* Returns the field that says nothing of what follows it; NULL: none does. */
static const char *
get_state(PbpFieldReader *reader, State *state, Size bytes)
{
	const char *wrong = pbp_get_fields(reader, sizes_fields, &state->sizes);

	bytes += sizeof(PbpFileStamp) + sizeof(pg_crc32c);
	if (wrong == NULL && state_bytes(&state->sizes) != bytes)
		wrong = "nsamples";
	if (wrong != NULL)
		return wrong;
	get_report(reader, &state->report);
	log_wrong_part("predictions", pbp_get_predictions(reader, &state->predictions));
	get_hours(reader, state);
	for (int i = 0; i < PBP_HISTORIES; i++)
		get_samples(reader, state, i);
	return NULL;
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
	const char *wrong = get_state(&reader, state, bytes);

	if (wrong != NULL)
	{
		pbp_log_ignored_file(STATE_FILE, psprintf("the value of \"%s\" is impossible", wrong));
		return false;
	}
	pbp_restore_hours(state->hours, state->nhours, resets);
	for (int i = 0; i < PBP_HISTORIES; i++)
		pbp_restore_samples(i, state->samples[i], state->nsamples[i], resets);
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

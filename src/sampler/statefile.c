/*-------------------------------------------------------------------------
 *
 * statefile.c
 *	  The file that survives a restart: the history, hours, the latest report of
 *	  the advice, and predictions.
 *
 * Structs are saved as they are in memory, and checked when they are read, before
 * any value is used (savedvalues.c).  An impossible one costs the sample, hour,
 * prediction or report that it is in, and nothing else.  How the file is written and
 * recognized is in ownfile.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "utils/timestamp.h"

#include "base/ownfile.h"
#include "sampler/history.h"

#define STATE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.stat"
#define MARK_FILE		STATE_FILE ".reading"
#define BAD_FILE		STATE_FILE ".bad"

#define MAGIC			UINT64CONST(0x7062707374617465)
#define VERSION			11

/* Crashes in a row while the file was in use; or one while it was read. */
#define MAX_CRASHES		2

/* Written or read at a time. */
#define SAMPLES_AT_ONCE 64

/*
 * A stop waits for no save after this time, which is enough for some hundred
 * thousand samples.  Without a limit, those who stop a server would kill it.
 */
#define STOP_NS			INT64CONST(2000000000)

/*
 * Another version of the extension may mean something else by the same structs.  A
 * change of their meaning that leaves their sizes needs another VERSION.
 */
static PbpFileKind
state_kind(void)
{
	static const uint32 sizes[] = {sizeof(PbpSavedState), sizeof(PbpHour), sizeof(PbpSample)};
	PbpFileKind kind = {
		.path = STATE_FILE,.temporary = STATE_FILE ".tmp",.magic = MAGIC,.version = VERSION
	};

	kind.layout = hash_combine(hash_bytes((const unsigned char *) PBP_VERSION, sizeof(PBP_VERSION)),
							   hash_bytes((const unsigned char *) sizes, sizeof(sizes)));
	return kind;
}

/* ---- saving ---- */

/* Returns false if a save that goes on would delay a stop for too long. */
static bool
put_samples(PbpNewFile *file, const PbpSample *samples, int nsamples)
{
	for (int i = 0; i < nsamples; i += SAMPLES_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		if (pbp_ending_ns() >= STOP_NS)
			return false;
		pbp_put_in_new_file(file, samples + i,
							Min(nsamples - i, SAMPLES_AT_ONCE) * sizeof(PbpSample));
	}
	return true;
}

/*
 * Copies all before it writes anything, so that the counts at the beginning are those of
 * what follows.  Returns false if it is late.
 */
static bool
put_state(PbpNewFile *file)
{
	PbpSavedState *state = palloc0(sizeof(*state));
	PbpAdviceReport *report = pbp_read_advice();
	int			nhours;
	int			nsamples[PBP_HISTORIES];
	PbpHour    *hours = pbp_hours(&nhours);
	PbpSample  *samples[PBP_HISTORIES];
	bool		in_time = true;

	state->nhours = nhours;
	state->report = *report;
	state->predictions = pbp_open_results(LW_SHARED)->predictions;
	pbp_close_results();
	for (int i = 0; i < PBP_HISTORIES; i++)
	{
		samples[i] = pbp_history(i, &nsamples[i]);
		state->nsamples[i] = nsamples[i];
	}
	pbp_put_in_new_file(file, state, sizeof(*state));
	pbp_put_in_new_file(file, hours, nhours * sizeof(PbpHour));
	for (int i = 0; i < PBP_HISTORIES; i++)
	{
		in_time = in_time && put_samples(file, samples[i], nsamples[i]);
		pfree(samples[i]);
	}
	pfree(hours);
	pfree(report);
	pfree(state);
	return in_time;
}

/* Saves all.  A reset meanwhile removes the file. */
void
pbp_save_state(void)
{
	PbpFileKind kind = state_kind();
	PbpNewFile	file;
	uint32		resets = pbp_count_resets();
	bool		in_time;

	pbp_begin_new_file(&file, &kind, GetCurrentTimestamp());
	in_time = pbp_ending_ns() < STOP_NS && put_state(&file);
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
		(void) unlink(MARK_FILE);
	if (pbp_count_resets() != resets)
		pbp_remove_state_file();
}

/* ---- restoring ---- */

/*
 * Returns true if no value is wrong.  Of parts of one kind that have one, and are left
 * out, the first is logged.
 */
bool
pbp_is_possible(const char *wrong, bool *logged)
{
	if (wrong != NULL && !*logged)
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring part of file \"%s\", because the value of \"%s\" is impossible",
						STATE_FILE, wrong)));
	*logged |= wrong != NULL;
	return wrong == NULL;
}

/* The file is whole, so that it cannot be shorter than what is read of it. */
static bool
read_next(PbpOwnFile *file, void *bytes, Size nbytes)
{
	int64		at = file->next;

	file->next += (int64) nbytes;
	if (pbp_read_own_file(file, bytes, nbytes, at))
		return true;
	if (file->error == 0)
		file->error = EIO;
	return false;
}

/* Returns the count that does not agree with the length of the file; NULL: all do. */
static const char *
check_counts(const PbpOwnFile *file, const PbpSavedState *state)
{
	int64		nsamples = 0;

	if (state->nhours < 0 || state->nhours > PBP_HOURS)
		return "nhours";
	for (int i = 0; i < PBP_HISTORIES; i++)
	{
		if (state->nsamples[i] < 0 || state->nsamples[i] > INT_MAX)
			return "nsamples";
		nsamples += state->nsamples[i];
	}
	return file->end - file->next == state->nhours * (int64) sizeof(PbpHour) +
		nsamples * (int64) sizeof(PbpSample) ? NULL : "nsamples";
}

/* What is about the memory and the counts of now has no meaning after a restart. */
static void
restore_report(PbpAdviceReport *report)
{
	bool		logged = false;

	if (!pbp_is_possible(pbp_check_report(report), &logged))
		memset(report, 0, sizeof(*report));
	memset(&report->storage.memory, 0, sizeof(report->storage.memory));
	memset(report->policies, 0, sizeof(report->policies));
	report->has_policies = false;
	report->storage.has_totals = false;
	memset(report->storage.splits, 0, sizeof(report->storage.splits));
	report->is_from_before = true;
	pbp_restore_report(report);
}

static void
restore_hours(PbpOwnFile *file, int nhours)
{
	PbpHour    *hours = palloc(nhours * sizeof(PbpHour));
	bool		logged = false;

	if (!read_next(file, hours, nhours * sizeof(PbpHour)))
		return;
	for (int i = 0; i < nhours; i++)
		if (pbp_is_possible(pbp_check_hour(&hours[i]), &logged))
			pbp_restore_hour(&hours[i]);
}

/* Of more than there is room for, the newest remain. */
static void
restore_samples(PbpOwnFile *file, PbpHistory history, int64 left)
{
	PbpSample	samples[SAMPLES_AT_ONCE];
	bool		logged = false;

	while (left > 0)
	{
		int			n = (int) Min(left, SAMPLES_AT_ONCE);

		CHECK_FOR_INTERRUPTS();
		if (!read_next(file, samples, n * sizeof(PbpSample)))
			return;
		for (int i = 0; i < n; i++)
		{
			samples[i].taken_ns = 0;
			if (pbp_is_possible(pbp_check_sample(&samples[i]), &logged))
				pbp_put_sample(history, &samples[i]);
		}
		left -= n;
	}
}

/* Returns true if the file was written with another size of the pool. */
static bool
restore(PbpOwnFile *file)
{
	PbpSavedState *state = palloc(sizeof(*state));
	const char *wrong;

	if (!read_next(file, state, sizeof(*state)))
		return false;
	wrong = check_counts(file, state);
	if (wrong != NULL)
	{
		pbp_log_ignored_file(STATE_FILE, psprintf("the value of \"%s\" is impossible", wrong));
		return false;
	}
	restore_report(&state->report);
	pbp_restore_predictions(&state->predictions);
	restore_hours(file, (int) state->nhours);
	for (int i = 0; i < PBP_HISTORIES; i++)
		restore_samples(file, i, state->nsamples[i]);
	if (file->stamp.nbuffers != NBuffers)
		pbp_predict_after_restart(&state->report, file->stamp.nbuffers);
	return file->stamp.nbuffers != NBuffers;
}

static void
set_aside(const char *why)
{
	if (rename(STATE_FILE, BAD_FILE) == 0)
	{
		(void) unlink(MARK_FILE);
		ereport(LOG,
				(errmsg("renamed file \"%s\" to \"%s\", because %s", STATE_FILE, BAD_FILE, why)));
	}
	else
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not rename file \"%s\" to \"%s\": %m", STATE_FILE, BAD_FILE)));
}

/* A worker that ends in order has not crashed, unless the postmaster has. */
static void
end_use(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	if (PostmasterIsAlive())
		(void) unlink(MARK_FILE);
}

/*
 * To be called once in the life of a server, before any sample is taken.  Returns
 * true if the file must be replaced soon, since a crash before that would make a
 * prediction a second time.
 *
 * Most crashes while what was read is in use have other causes, so the first one does
 * not set the file aside.  One that cannot be read may be good, so it is set aside
 * before another one replaces it.
 */
bool
pbp_restore_state(void)
{
	PbpFileKind kind = state_kind();
	PbpOwnFile	file;
	struct stat status;
	uint64		crashes;
	bool		other_size = false;

	pbp_remove_own_file(kind.temporary);
	if (lstat(STATE_FILE, &status) != 0)
		return false;
	crashes = pbp_count_crashes(MARK_FILE);
	if (crashes >= MAX_CRASHES)
	{
		set_aside("the server crashed while the file was in use");
		return false;
	}
	on_proc_exit(end_use, 0);
	pbp_write_mark(MARK_FILE, MAX_CRASHES);
	if (pbp_open_own_file(&file, &kind, true))
	{
		other_size = restore(&file);
		FileClose(file.file);
	}
	if (file.error != 0)
	{
		errno = file.error;
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", STATE_FILE)));
		set_aside("it could not be read");
	}
	pbp_write_mark(MARK_FILE, crashes + 1);
	return other_size;
}

/* A file that cannot be removed would undo a reset, which is logged. */
void
pbp_remove_state_file(void)
{
	pbp_remove_own_file(STATE_FILE);
}

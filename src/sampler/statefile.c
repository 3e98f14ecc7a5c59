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
#define VERSION			16

/* Crashes in a row while the file was in use; or one while it was read. */
#define MAX_CRASHES		2

/* Written between two checks of the time. */
#define BYTES_AT_ONCE	65536

/*
 * A stop waits for no save after this time, which is enough on any healthy disk.  Without
 * a limit, those who stop a server would kill it.
 */
#define STOP_NS			INT64CONST(2000000000)

/* A change of the structs, or of their meaning, that leaves their size needs another VERSION. */
static const PbpFileKind state_kind = {
	.path = STATE_FILE,.temporary = STATE_FILE ".tmp",.magic = MAGIC,.version = VERSION,
	.layout = sizeof(PbpResults)
};

/* ---- saving ---- */

/* Returns false if a save that goes on would delay a stop for too long. */
static bool
put_results(PbpNewFile *file, const PbpResults *results)
{
	for (Size at = 0; at < sizeof(*results); at += BYTES_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		if (pbp_ending_ns() >= STOP_NS)
			return false;
		pbp_put_in_new_file(file, (const char *) results + at,
							Min(sizeof(*results) - at, BYTES_AT_ONCE));
	}
	return true;
}

/*
 * Saves all, with the better one of both reports.  A reset meanwhile removes the file.
 * Memory is cleared before the lock, since the first write to each of its pages takes longer.
 */
void
pbp_save_state(void)
{
	PbpNewFile	file;
	PbpResults *results = palloc0(sizeof(*results));
	uint32		resets;
	bool		in_time;

	memcpy(results, pbp_open_results(LW_SHARED), sizeof(*results));
	pbp_close_results();
	resets = results->nresets;
	if (pbp_knows_more(&results->advice_before, &results->advice))
		results->advice = results->advice_before;
	pbp_begin_new_file(&file, &state_kind, GetCurrentTimestamp());
	in_time = put_results(&file, results);
	pfree(results);
	(void) pbp_end_new_file(&file);
	if (!in_time || pbp_count_resets() != resets)
		pbp_discard_new_file(&file);
	else if (pbp_replace_by_new_file(&file))
		(void) unlink(MARK_FILE);
	if (!in_time)
		ereport(LOG,
				(errmsg("could not save to file \"%s\" before the server stops", STATE_FILE),
				 errdetail("It remains as it was saved before.")));
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
}

static void
restore_samples(PbpResults *good, PbpResults *saved, PbpHistory history)
{
	bool		logged = false;

	for (int64 i = pbp_oldest_sample(saved, history); i < saved->nsamples[history]; i++)
	{
		PbpSample  *sample = pbp_sample_at(saved, history, i);

		sample->taken_ns = 0;
		if (pbp_is_possible(pbp_check_sample(sample), &logged))
			*pbp_sample_at(good, history, good->nsamples[history]++) = *sample;
	}
}

/* Returns true if the file was written with another size of the pool. */
static bool
restore(PbpOwnFile *file)
{
	PbpResults *saved = palloc(sizeof(*saved));
	PbpResults *good = palloc0(sizeof(*good));
	bool		other_size = file->stamp.nbuffers != NBuffers;
	bool		logged = false;
	const char *why = NULL;

	if (file->end - file->next != (int64) sizeof(*saved))
		why = "it is damaged";
	else if (!pbp_read_own_file(file, saved, sizeof(*saved), file->next))
		return false;
	else if (saved->nhours < 0 || saved->nhours > PBP_HOURS)
		why = "the value of \"nhours\" is impossible";
	else if (saved->nsamples[PBP_FINE_HISTORY] < 0 || saved->nsamples[PBP_COARSE_HISTORY] < 0)
		why = "the value of \"nsamples\" is impossible";
	if (why != NULL)
	{
		pbp_log_ignored_file(STATE_FILE, why);
		return false;
	}
	good->nresets = pbp_noticed_resets;
	good->advice_before = saved->advice;
	restore_report(&good->advice_before);
	pbp_restore_predictions(&good->predictions, &saved->predictions);
	for (int i = 0; i < saved->nhours; i++)
		if (pbp_is_possible(pbp_check_hour(&saved->hours[i]), &logged))
			good->hours[good->nhours++] = saved->hours[i];
	restore_samples(good, saved, PBP_FINE_HISTORY);
	restore_samples(good, saved, PBP_COARSE_HISTORY);
	if (other_size)
		pbp_predict_after_restart(&good->predictions, &good->advice_before, file->stamp.nbuffers);
	pbp_restore_results(good);
	return other_size;
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
	PbpOwnFile	file;
	struct stat status;
	uint64		crashes;
	bool		other_size = false;

	pbp_remove_own_file(state_kind.temporary);
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
	if (pbp_open_own_file(&file, &state_kind, true))
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

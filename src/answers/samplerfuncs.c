/*-------------------------------------------------------------------------
 *
 * samplerfuncs.c
 *	  SQL functions that start the sampler on a running server, stop it, and say
 *	  what it and the carry-over do; and whom to ask where no sampler is running.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "answers/answers.h"
#include "base/settings.h"
#include "carry/carry.h"

/* how long those who ask wait for a preloaded sampler, and how often any state is asked for */
#define STARTS_WITHIN_MS	5000
#define POLL_MS				10

/* An advisory lock that no SQL function can take. */
#define START_LOCK_KEY		0x70627073
#define START_LOCK_CLASS	3

PG_FUNCTION_INFO_V1(pgbufprobe_start);
PG_FUNCTION_INFO_V1(pgbufprobe_stop);
PG_FUNCTION_INFO_V1(pgbufprobe_status);

/*
 * What the sampler records is in shared memory as long as it runs.  One that is
 * preloaded starts just after the server accepts connections.
 */
void
check_sampler_runs(void)
{
	for (int ms = 0; ms < STARTS_WITHIN_MS && pbp_sampler_is_preloaded &&
		 !pbp_sampler_has_results(); ms += POLL_MS)
		pbp_worker_wait(POLL_MS);
	if (!pbp_sampler_has_results())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(NO_SAMPLER),
				 errhint(HOW_TO_START ".")));
}

/* ---- start ---- */

static void
check_can_start(void)
{
	if (!IsUnderPostmaster || IsBinaryUpgrade)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot start or stop the sampler in %s",
						IsBinaryUpgrade ? "binary upgrade mode" : "single-user mode")));
}

/* One starts or stops it at a time. */
static LOCKTAG
lock_starts(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, START_LOCK_KEY, 0, START_LOCK_CLASS);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return tag;
}

/* The background workers that run, by type. */
static char *
holders_of_slots(void)
{
	StringInfoData list;
	int			nbackends = pgstat_fetch_stat_numbackends();

	initStringInfo(&list);
	for (int i = 1; i <= nbackends; i++)
	{
		const LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);
		const char *type = local && local->backendStatus.st_backendType == B_BG_WORKER ?
			GetBackgroundWorkerTypeByPid(local->backendStatus.st_procpid) : NULL;

		if (type != NULL)
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", type);
	}
	return list.len > 0 ? list.data : "none";
}

/* True if a sampler runs and has published something. */
static bool
is_running(void)
{
	PbpSharedHeader header = pbp_read_shared_header();

	return header.pids[PBP_SAMPLER] != 0 && header.segment != DSM_HANDLE_INVALID;
}

/* It runs when this returns, even if another worker was faster. */
static void
start_sampler(void)
{
	BackgroundWorkerHandle *handle;

	/* raises an error that has the size if there is no room for a segment */
	dsm_detach(dsm_create(sizeof(PbpResults), 0));
	if (!pbp_launch_worker(PBP_SAMPLER, pbp_read_shared_header().stops, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start the sampler, because no background worker slot is free"),
				 errdetail("max_worker_processes is %d. Running background workers: %s.",
						   max_worker_processes, holders_of_slots()),
				 errhint("Without a restart, try again when parallel workers have ended, "
						 "or disable something that holds a slot, such as a subscription. "
						 "A higher max_worker_processes needs a restart.")));
	while (!is_running())
	{
		pid_t		pid;
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if ((status == BGWH_STOPPED && !is_running()) || status == BGWH_POSTMASTER_DIED)
		{
			/* not tried again when nobody waits for it */
			TerminateBackgroundWorker(handle);
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("could not start the sampler"),
					 errhint("The server log has the reason.")));
		}
		pbp_worker_wait(POLL_MS);
	}
}

Datum
pgbufprobe_start(PG_FUNCTION_ARGS pg_attribute_unused())
{
	const char *result;
	LOCKTAG		lock;

	check_can_start();
	lock = lock_starts();
	if (pbp_read_shared_header().pids[PBP_SAMPLER] != 0)
		result = !pbp_sampler_on ? "A sampler is running already, but pgbufprobe.sampler is off, "
			"so it waits until that is on." :
			pbp_sampler_is_preloaded ?
			"The sampler is running already. It starts with the server." :
			"The sampler is running already, until the server stops.";
	else if (!pbp_sampler_on)
		result = "Nothing was started, because pgbufprobe.sampler is off. "
			"Set it to on, reload the settings, and start again.";
	else
	{
		start_sampler();
		result = "The sampler runs until the server stops. "
			"Ask pgbufprobe_checkup() in some minutes.";
	}
	LockRelease(&lock, ExclusiveLock, false);
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* ---- stop ---- */

Datum
pgbufprobe_stop(PG_FUNCTION_ARGS pg_attribute_unused())
{
	PbpSharedHeader before;
	PbpSharedHeader *header;
	LOCKTAG		lock;

	check_can_start();
	if (pbp_sampler_is_preloaded)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot stop a sampler that starts with the server"),
				 errdetail("pgbufprobe is in shared_preload_libraries."),
				 errhint("Set pgbufprobe.sampler to off and reload the settings.")));
	lock = lock_starts();
	header = pbp_lock_shared(LW_EXCLUSIVE);
	before = *header;
	header->stops++;
	header->stopped = true;
	pbp_unlock_shared();
	for (int place = 0; place < PBP_PLACES; place++)
		if (before.pids[place] != 0)
			pbp_wake_worker(before.pids[place]);
	for (int place = 0; place < PBP_PLACES; place++)
	{
		int			pid = before.pids[place];

		/* until it has left its place, and its process has left the server */
		while (pid != 0 &&
			   (pbp_read_shared_header().pids[place] == pid || BackendPidGetProc(pid) != NULL))
			pbp_worker_wait(POLL_MS);
	}
	pbp_drop_segment();
	LockRelease(&lock, ExclusiveLock, false);
	PG_RETURN_TEXT_P(cstring_to_text(
		before.segment == DSM_HANDLE_INVALID ? "No sampler was running." :
		"The sampler has stopped. What it has learned is saved for the next start."));
}

/* ---- status ---- */

/* Without the settings, the state of a sampler is that of its process. */
static const char *
state_of_sampler(const PbpSharedHeader *header)
{
	if (header->pids[PBP_SAMPLER] != 0)
		return pbp_sampler_on ? "running" : "off";
	if (header->stopped)
		return "stopped";
	return header->segment != DSM_HANDLE_INVALID || pbp_sampler_is_preloaded ?
		"ended" : "not started";
}

/* What the worker does; none is needed while pgbufprobe.carry_over is off. */
static const char *
phase_of(const PbpSharedHeader *header, const PbpCarryProgress *progress)
{
	static const char *const names[PBP_CARRY_PHASES] = {
		[PBP_CARRY_OFF] = "off",
		[PBP_CARRY_WAITING] = "waiting",
		[PBP_CARRY_SAVING] = "saving",
		[PBP_CARRY_RESTORING] = "restoring",
		[PBP_CARRY_DONE] = "done",
	};

	if (header->pids[PBP_CARRY_OVER] != 0)
		return names[progress->phase];
	return pbp_carry_has_no_slot ? "no background worker slot" :
		pbp_carry_over_on ? "no worker" : "off";
}

/* restored_fraction, restore_seconds_left */
static void
add_restore(Row *row, const PbpCarryProgress *progress)
{
	int64		until_ns = progress->ended_ns != 0 ? progress->ended_ns : pbp_now_ns();
	double		seconds = (double) (until_ns - progress->begun_ns) / 1e9;
	int64		remaining = progress->blocks - progress->done;

	if (progress->begun_ns == 0)
		add_nulls(row, 2);
	else if (remaining == 0)
	{
		add_number(row, 1);
		add_number(row, 0);
	}
	else
	{
		add_share(row, progress->done, progress->blocks);
		add_quotient(row, (double) remaining * seconds, (double) progress->done);
	}
}

/* recent_fraction, recent_fraction_low, recent_fraction_high */
static void
add_recent(Row *row, const PbpStorageReport *storage)
{
	const PbpRecentShares *recent = &storage->totals.recent;
	bool		known = storage->has_memory && !isnan(recent->kernel);

	add_number(row, known ? recent->kernel : NAN);
	add_number(row, known ? fmax(0, recent->simulated - recent->error) : NAN);
	add_number(row, known ? fmin(1, recent->simulated + recent->error) : NAN);
}

Datum
pgbufprobe_status(PG_FUNCTION_ARGS)
{
	PbpSharedHeader header = pbp_read_shared_header();
	PbpCarryProgress progress = pbp_carry_progress();
	bool		runs = header.pids[PBP_SAMPLER] != 0;
	const PbpAdviceReport *report = runs && pbp_sampler_on ? pbp_read_advice() : NULL;
	PbpClockRate recent = pbp_recent_history();
	Row			row = {0};

	add_text(&row, state_of_sampler(&header));
	add_time(&row, runs ? header.since[PBP_SAMPLER] : 0);
	add_datum(&row, BoolGetDatum(pbp_sampler_is_preloaded));
	add_quotient(&row, recent.cpu_seconds, recent.seconds);
	if (report != NULL && report->has_memory && !report->is_from_before)
	{
		const PbpStorageReport *storage = &report->storage;
		const PbpAdviceStorageRow *today = &storage->fixed[PBP_ADVICE_BASELINE];
		double		storage_ratio = storage->has_memory ?
			today->ratio.value + today->scans.value : NAN;
		PbpAdviceReason reason = report->rows[PBP_ADVICE_BASELINE].reason;
		double		learned = reason == PBP_ADVICE_NOTHING_EVICTED ? 0 :
			fmin(report->decision.learned_share, 1);

		add_number(&row, report->totals.sampling_rate);
		add_number(&row, learned);
		add_number(&row, learned < 1 ? seconds_left(report) : 0);
		add_rounded(&row, report->totals.reads);
		add_number(&row, report->totals.self_error);
		add_number(&row, storage->has_memory ? storage->totals.self_error : NAN);
		add_recent(&row, storage);
		add_number(&row, report->totals.refaults);
		add_quotient(&row, storage_ratio * report->totals.accesses, report->totals.seconds);
		add_number(&row, report->missed_loads);
	}
	else
		add_nulls(&row, 12);
	add_text(&row, phase_of(&header, &progress));
	add_restore(&row, &progress);
	add_time(&row, progress.saved_at);
	return row_datum(fcinfo, &row);
}

/* ---- whom to ask ---- */

/*
 * What to do where something is unknown.  If no sampler is running: to call
 * pgbufprobe_start(), which is in the schema of the function that asks, unless it was
 * dropped.
 */
const char *
start_action(Oid neighbor)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	const char *call;
	const char *owner;
	bool		allowed;

	if (!pbp_sampler_on)
		return "Set pgbufprobe.sampler to on and reload the settings.";
	if (pbp_sampler_has_results())
		return ASK_AGAIN;
	tuple = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum("pgbufprobe_start"),
							PointerGetDatum(buildoidvector(NULL, 0)),
							ObjectIdGetDatum(get_func_namespace(neighbor)));
	if (!HeapTupleIsValid(tuple))
		return "Start the sampler by pgbufprobe_start(), which needs no restart.";
	form = (Form_pg_proc) GETSTRUCT(tuple);
	call = psprintf("SELECT %s();",
					quote_qualified_identifier(FunctionIsVisible(form->oid) ? NULL :
											   get_namespace_name(form->pronamespace),
											   "pgbufprobe_start"));
	owner = GetUserNameFromId(form->proowner, true);
	allowed = object_aclcheck(ProcedureRelationId, form->oid, GetUserId(),
							  ACL_EXECUTE) == ACLCHECK_OK;
	ReleaseSysCache(tuple);
	if (allowed)
		return call;
	return psprintf("%s starts the sampler without a restart. A superuser may call it, or a role "
					"to which %s has granted EXECUTE.",
					call, owner ? psprintf("\"%s\"", owner) : "its owner");
}

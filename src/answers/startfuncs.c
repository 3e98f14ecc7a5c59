/*-------------------------------------------------------------------------
 *
 * startfuncs.c
 *	  SQL functions that start the sampler on a running server, and stop it; and
 *	  whom to ask for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

#include "answers/startfuncs.h"
#include "base/compat.h"
#include "base/settings.h"
#include "base/worker.h"
#include "sampler/results.h"
#include "sampler/sampler.h"

/* how often those who wait for a worker ask whether it runs, or is gone */
#define POLL_MS				10

/* An advisory lock that no SQL function can take. */
#define START_LOCK_KEY		0x70627073
#define START_LOCK_CLASS	3

PG_FUNCTION_INFO_V1(pgbufprobe_start);
PG_FUNCTION_INFO_V1(pgbufprobe_stop);

/* ---- one at a time ---- */

static LOCKTAG
start_lock(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, START_LOCK_KEY, 0, START_LOCK_CLASS);
	return tag;
}

static void
lock_starts(void)
{
	LOCKTAG		tag = start_lock();

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

static void
unlock_starts(void)
{
	LOCKTAG		tag = start_lock();

	LockRelease(&tag, ExclusiveLock, false);
}

static void
check_can_start(void)
{
	if (!IsUnderPostmaster || IsBinaryUpgrade)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot start or stop the sampler in %s", IsBinaryUpgrade ? "binary upgrade mode" : "single-user mode")));
}

/* ---- start ---- */

/* The background workers that run, by type. */
static char *
holders_of_slots(void)
{
	StringInfoData list;
	int			nbackends = pgstat_fetch_stat_numbackends();

	initStringInfo(&list);
	for (int i = 1; i <= nbackends; i++)
	{
		const PgBackendStatus *status = pbp_backend_status(i);
		const char *type = status && status->st_backendType == B_BG_WORKER ? GetBackgroundWorkerTypeByPid(status->st_procpid) : NULL;

		if (type != NULL)
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", type);
	}
	return list.len > 0 ? list.data : "none";
}

static void
raise_no_slot(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start the sampler, because no background worker slot is free"),
			 errdetail("max_worker_processes is %d. Running background workers: %s.", max_worker_processes, holders_of_slots()),
			 errhint("Without a restart, try again when parallel workers have ended, or disable something that holds a slot, such as a subscription. A higher max_worker_processes needs a restart.")));
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
wait_for_start(BackgroundWorkerHandle *handle)
{
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

static void
start_sampler(void)
{
	BackgroundWorkerHandle *handle;

	pbp_try_segment(sizeof(PbpResults));
	if (!pbp_sampler_launch(pbp_read_shared_header().stops, &handle))
		raise_no_slot();
	wait_for_start(handle);
}

Datum
pgbufprobe_start(PG_FUNCTION_ARGS pg_attribute_unused())
{
	const char *result;

	check_can_start();
	lock_starts();
	if (pbp_read_shared_header().pids[PBP_SAMPLER] != 0)
		result = !pbp_sampler_on ?
			"A sampler is running already, but pgbufprobe.sampler is off, so it waits until that is on." :
			pbp_sampler_is_preloaded() ? "The sampler is running already. It starts with the server." :
			"The sampler is running already, until the server stops.";
	else if (!pbp_sampler_on)
		result = "Nothing was started, because pgbufprobe.sampler is off. Set it to on, reload the settings, and start again.";
	else
	{
		start_sampler();
		result = "The sampler runs until the server stops. Ask pgbufprobe_checkup() in some minutes.";
	}
	unlock_starts();
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* ---- stop ---- */

/* Until it has left its place, and its process has left the server. */
static void
wait_for_end(PbpPlace place, int pid)
{
	while (pid != 0 && (pbp_read_shared_header().pids[place] == pid || BackendPidGetProc(pid) != NULL))
		pbp_worker_wait(POLL_MS);
}

Datum
pgbufprobe_stop(PG_FUNCTION_ARGS pg_attribute_unused())
{
	PbpSharedHeader before;
	PbpSharedHeader *header;

	check_can_start();
	if (pbp_sampler_is_preloaded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot stop a sampler that starts with the server"),
				 errdetail("pgbufprobe is in shared_preload_libraries."),
				 errhint("Set pgbufprobe.sampler to off and reload the settings.")));
	lock_starts();
	header = pbp_lock_shared(LW_EXCLUSIVE);
	before = *header;
	header->stops++;
	header->stopped = true;
	pbp_unlock_shared();
	for (int place = 0; place < PBP_PLACES; place++)
		if (before.pids[place] != 0)
			pbp_wake_worker(before.pids[place]);
	for (int place = 0; place < PBP_PLACES; place++)
		wait_for_end(place, before.pids[place]);
	pbp_drop_segment();
	unlock_starts();
	PG_RETURN_TEXT_P(cstring_to_text(before.segment == DSM_HANDLE_INVALID ? "No sampler was running." :
									 "The sampler has stopped. What it has learned is saved for the next start."));
}

/* ---- whom to ask ---- */

/* pgbufprobe_start() beside the function that asks, in the same schema; InvalidOid: it was dropped. */
static HeapTuple
start_function(Oid neighbor)
{
	oidvector  *no_arguments = buildoidvector(NULL, 0);

	return SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum("pgbufprobe_start"), PointerGetDatum(no_arguments),
						   ObjectIdGetDatum(get_func_namespace(neighbor)));
}

/* What to do where no sampler is running, or otherwise. */
const char *
start_action(Oid neighbor, const char *otherwise)
{
	HeapTuple	tuple;
	const char *call;
	const char *owner;
	bool		allowed;

	if (!pbp_sampler_on)
		return "Set pgbufprobe.sampler to on and reload the settings.";
	if (pbp_sampler_has_results())
		return otherwise;
	tuple = start_function(neighbor);
	if (!HeapTupleIsValid(tuple))
		return "Start the sampler by pgbufprobe_start(), which needs no restart.";
	call = psprintf("SELECT %s();", quote_qualified_identifier(FunctionIsVisible(((Form_pg_proc) GETSTRUCT(tuple))->oid) ? NULL :
															   get_namespace_name(((Form_pg_proc) GETSTRUCT(tuple))->pronamespace),
															   "pgbufprobe_start"));
	owner = GetUserNameFromId(((Form_pg_proc) GETSTRUCT(tuple))->proowner, true);
	allowed = pbp_may_execute(((Form_pg_proc) GETSTRUCT(tuple))->oid);
	ReleaseSysCache(tuple);
	if (allowed)
		return call;
	return psprintf("%s starts the sampler without a restart. A superuser may call it, or a role to which %s has granted EXECUTE.",
					call, owner ? psprintf("\"%s\"", owner) : "its owner");
}

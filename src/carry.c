/*-------------------------------------------------------------------------
 *
 * carry.c
 *	  The worker that carries both caches over a restart: when to save, when to
 *	  restore, and how long to sleep.
 *
 * It saves once per pgbufprobe.carry_over_interval and when the server stops.
 * After a start of the server, it first restores what was saved; until that is
 * complete, the old file remains.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "carry.h"
#include "carryprogress.h"
#include "compat.h"
#include "latency.h"
#include "shutdown.h"

#define NS_PER_S		INT64CONST(1000000000)

/* After so many errors, the restore is given up. */
#define MAX_ATTEMPTS	3

/* settings; see _PG_init */
bool		pbp_carry_over_on = false;
int			pbp_carry_over_interval_s = 300;
int			pbp_carry_over_rate_mb = 0;

/* Was no background worker slot left? */
static bool not_registered = false;

void
pbp_carry_register(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "pgbufprobe", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pbp_carry_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "pgbufprobe carry-over", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pgbufprobe carry-over", BGW_MAXLEN);
	not_registered = !pbp_register_worker(&worker);
}

/* Was no background worker slot left?  False in single-user mode. */
bool
pbp_carry_has_no_slot(void)
{
	return not_registered;
}

/* ---- for the parts of the worker ---- */

/* Reloads settings; false if the worker must end or carry_over is off. */
bool
pbp_carry_goes_on(void)
{
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return !pbp_must_end() && pbp_carry_over_on;
}

/* Waits for so long, without an end if that is negative, or until a signal. */
void
pbp_carry_wait(int64 ms)
{
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (ms >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, (long) ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* ---- the schedule ---- */

/*
 * Both restore into free buffers only, and count what the other has read as
 * present, so neither disturbs the other.
 */
static void
log_autoprewarm(void)
{
	const char *autoprewarm = GetConfigOption("pg_prewarm.autoprewarm", true, false);
	const char *libraries = GetConfigOption("shared_preload_libraries", false, false);
	PbpCarryProgress *progress;
	bool		logged;

	if (!pbp_carry_over_on || autoprewarm == NULL || strcmp(autoprewarm, "on") != 0 ||
		strstr(libraries, "pg_prewarm") == NULL)
		return;
	progress = pbp_carry_lock();
	logged = progress->both_logged;
	progress->both_logged = true;
	pbp_carry_unlock();
	if (!logged)
		ereport(LOG,
				(errmsg("both \"pgbufprobe.carry_over\" and \"pg_prewarm.autoprewarm\" are enabled"),
				 errhint("\"pgbufprobe.carry_over\" also restores usage counts and the page cache, so \"pg_prewarm.autoprewarm\" is not needed.")));
}

/* Restores what was saved, once after a start of the server. */
static void
restore(void)
{
	PbpCarryProgress *progress = pbp_carry_lock();
	bool		wanted = pbp_carry_over_on && !progress->settled && progress->attempts++ < MAX_ATTEMPTS;

	pbp_carry_unlock();
	if (wanted)
		(void) pbp_carry_restore();
	progress = pbp_carry_lock();
	progress->settled = progress->settled || !pbp_must_end();
	/* given up after errors */
	if (progress->ended_ns == 0)
		progress->begun_ns = 0;
	pbp_carry_unlock();
}

/* When the next save is due; negative: not before the settings change. */
static int64
next_save_ns(int64 last_ns)
{
	if (!pbp_carry_over_on || pbp_carry_over_interval_s == 0)
		return -1;
	return last_ns == 0 ? 0 : last_ns + pbp_carry_over_interval_s * NS_PER_S;
}

static void
enter_idle_phase(void)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->phase = !pbp_carry_over_on ? PBP_CARRY_OFF :
		progress->ended_ns != 0 ? PBP_CARRY_DONE : PBP_CARRY_WAITING;
	pbp_carry_unlock();
}

/* A restore that is not complete keeps its file, so that the next start begins it again. */
static void
end_worker(void)
{
	if (pbp_server_is_stopping() && pbp_carry_over_on && pbp_carry_progress().settled)
		(void) pbp_carry_save(true);
	pbp_end_worker();
}

/* Saves when that is due, and sleeps in between. */
static void
run(MemoryContext round_context)
{
	int64		last_ns = pbp_now_ns();

	for (;;)
	{
		int64		next_ns;
		int64		left_ns;

		(void) pbp_carry_goes_on();
		if (pbp_must_end())
			end_worker();
		log_autoprewarm();
		/* turned on: save at once */
		if (!pbp_carry_over_on)
			last_ns = 0;
		next_ns = next_save_ns(last_ns);
		left_ns = next_ns - pbp_now_ns();
		if (next_ns >= 0 && left_ns <= 0)
		{
			(void) pbp_carry_save(false);
			MemoryContextReset(round_context);
			last_ns = pbp_now_ns();
			continue;
		}
		enter_idle_phase();
		pbp_carry_wait(next_ns < 0 ? -1 : left_ns / 1000000 + 1);
	}
}

void
pbp_carry_main(Datum arg pg_attribute_unused())
{
	MemoryContext round_context;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pbp_expect_shutdown();
	pbp_ignore_signal(SIGINT);
	BackgroundWorkerUnblockSignals();
	/* to no database, so that any of them can be dropped */
	BackgroundWorkerInitializeConnectionByOid(InvalidOid, InvalidOid, 0);

	round_context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe carry-over",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);
	log_autoprewarm();
	restore();
	MemoryContextSwitchTo(round_context);
	MemoryContextReset(round_context);
	run(round_context);
}

/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  What all background workers share: their registration, their start, waits,
 *	  and how they end: with the server, or alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <sys/time.h>

#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"

/* Until the postmaster restarts a worker that has failed. */
#define RESTART_S		5

/*
 * A look goes on for this time after a termination, so that what it learns can be
 * saved.  After that, what was saved before remains.
 */
#define FINISH_NS		INT64CONST(200000000)

/*
 * After a termination, a call that waits is interrupted after this time, and then
 * once per second, since the next one may wait, too.  A save that is not held up
 * takes less, so it is not disturbed; together they must end within 10 s.
 */
#define INTERRUPT_S		5

/*
 * Reloads take at most this share of the allowed processor time, so that as much is left
 * for the worker's own work.
 */
#define RELOAD_SHARE	0.5

/* No lock of a database or catalog is awaited for longer. */
#define MAX_LOCK_WAIT	"1s"

/* Not before. */
static int64 next_reload_ns = 0;

/* True if the postmaster has terminated the worker, which it does only at shutdown. */
static volatile sig_atomic_t server_is_stopping = false;

static const char *const names[PBP_PLACES] = {"pgbufprobe sampler", "pgbufprobe carry-over"};
static const char *const functions[PBP_PLACES] = {"pbp_sampler_main", "pbp_carry_main"};

/* The place of this worker, and calls of pgbufprobe_stop() before it was started. */
static PbpPlace own_place;
static uint32 stops_before = PBP_PRELOADED;

/* True if a termination ends the worker at the next check for interrupts. */
static volatile sig_atomic_t may_die = false;

/* ---- registration ---- */

/* One that a session or another worker registers lets that know when it starts and ends. */
void
pbp_describe_worker(BackgroundWorker *worker, const char *name, const char *function,
					int restart_s, uint32 arg)
{
	*worker = (BackgroundWorker) {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,.bgw_restart_time = restart_s,
		.bgw_main_arg = UInt32GetDatum(arg),.bgw_notify_pid = IsUnderPostmaster ? MyProcPid : 0
	};
	strlcpy(worker->bgw_library_name, "pgbufprobe", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	strlcpy(worker->bgw_name, name, BGW_MAXLEN);
	strlcpy(worker->bgw_type, name, BGW_MAXLEN);
}

/*
 * Registers a worker of the server, which restarts it when it fails.  Returns
 * false if no background worker slot is left, which otherwise only the log
 * reports; true in single-user mode.  The servers that pg_upgrade runs have none,
 * because their reads are not those of a workload.
 */
bool
pbp_register_worker(PbpPlace place)
{
	const void *last = BackgroundWorkerList.head.next;
	BackgroundWorker worker;

	if (IsBinaryUpgrade)
		return true;
	pbp_describe_worker(&worker, names[place], functions[place], RESTART_S, PBP_PRELOADED);
	RegisterBackgroundWorker(&worker);
	return BackgroundWorkerList.head.next != last || IsUnderPostmaster || !IsPostmasterEnvironment;
}

/*
 * Starts a worker on a running server, which restarts it when it fails until it is
 * stopped.  Returns false if no background worker slot is left.
 */
bool
pbp_launch_worker(PbpPlace place, uint32 stops, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	pbp_describe_worker(&worker, names[place], functions[place], RESTART_S, stops);
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/* True until the worker has ended, also before the postmaster has started it. */
bool
pbp_worker_runs(BackgroundWorkerHandle *handle)
{
	pid_t		pid;
	BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

	return status == BGWH_STARTED || status == BGWH_NOT_YET_STARTED;
}

/* ---- its place ---- */

static void
leave_place(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	pbp_lock_shared(LW_EXCLUSIVE)->pids[own_place] = 0;
	pbp_unlock_shared();
}

/*
 * The worker ends here if another one has its place, or if it was stopped while it
 * waited to be restarted.  A crash of the server resets the count of stops, but
 * not what its workers were started with.
 */
void
pbp_take_place(PbpPlace place, Datum arg)
{
	uint32		stops = DatumGetUInt32(arg);
	PbpSharedHeader *header = pbp_lock_shared(LW_EXCLUSIVE);
	bool		is_free = header->pids[place] == 0;

	if (stops != PBP_PRELOADED)
	{
		header->stops = Max(header->stops, stops);
		is_free = is_free && header->stops == stops;
	}
	if (is_free)
	{
		header->pids[place] = MyProcPid;
		header->since[place] = MyStartTimestamp;
		header->stopped = false;
	}
	pbp_unlock_shared();
	if (!is_free)
		proc_exit(0);
	own_place = place;
	stops_before = stops;
	before_shmem_exit(leave_place, 0);
}

bool
pbp_is_preloaded_worker(void)
{
	return stops_before == PBP_PRELOADED;
}

/* True if pgbufprobe_stop() was called since this worker was started. */
static bool
is_stopped(void)
{
	return stops_before != PBP_PRELOADED &&
		((volatile PbpSharedHeader *) pbp_shared_header())->stops != stops_before;
}

/* It may have ended already. */
void
pbp_wake_worker(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);

	if (proc != NULL)
		SetLatch(&proc->procLatch);
}

/* ---- signals and waits ---- */

/* The signal itself interrupts a call. */
static void
handle_alarm(int signo pg_attribute_unused())
{
}

/*
 * The postmaster sends SIGTERM when the server shuts down.  Others may send it to
 * this worker alone, as pg_terminate_backend() does, or to all processes; of two
 * signals, only one may arrive.  So the sender decides no more than the exit code.
 */
static void
handle_termination(int signo pg_attribute_unused(), siginfo_t *info,
				   void *context pg_attribute_unused())
{
	const struct sigaction action = {.sa_handler = handle_alarm};
	const struct itimerval timer = {.it_value.tv_sec = INTERRUPT_S,.it_interval.tv_sec = 1};
	int			save_errno = errno;

	if (info->si_pid == PostmasterPid)
		server_is_stopping = true;
	if (!ShutdownRequestPending)
	{
		(void) sigaction(SIGALRM, &action, NULL);
		(void) setitimer(ITIMER_REAL, &timer, NULL);
	}
	ShutdownRequestPending = true;
	if (may_die)
		ProcDiePending = InterruptPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/*
 * Lets a termination and lock_timeout, which sends SIGINT, end calls that may wait
 * for a lock.  These do not check pbp_must_end().
 */
void
pbp_let_die(bool let)
{
	may_die = let;
	pqsignal(SIGINT, let ? StatementCancelHandler : PG_SIG_IGN);
	if (!let)
		QueryCancelPending = false;
	if (let && ShutdownRequestPending)
		ProcDiePending = InterruptPending = true;
}

/*
 * To be called first.  A cancel does not end a worker.  One that is connected to
 * no database (InvalidOid) does not keep any of them from being dropped.
 */
void
pbp_start_worker(Oid database)
{
	/* Without SA_RESTART, so that calls that wait return. */
	struct sigaction action = {.sa_sigaction = handle_termination,.sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGTERM, &action, NULL) != 0)
		elog(FATAL, "could not install signal handler: %m");
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	if (OidIsValid(database))
		SetConfigOption("lock_timeout", MAX_LOCK_WAIT, PGC_SUSET, PGC_S_OVERRIDE);
	pbp_let_die(OidIsValid(database));
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	pbp_let_die(false);
}

/*
 * Reloads the settings if the server was asked to, and then returns true.  Reloads that
 * follow each other quickly become one, after a delay.  What a worker does at its end goes
 * by the last settings.
 */
bool
pbp_reload_settings(void)
{
	int64		start_cpu_ns = pbp_cpu_now_ns();

	if (!ConfigReloadPending || (pbp_now_ns() < next_reload_ns && !ShutdownRequestPending))
		return false;
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	next_reload_ns = pbp_now_ns() +
		(int64) ((pbp_cpu_now_ns() - start_cpu_ns) / (RELOAD_SHARE * pbp_max_cpu_fraction));
	return true;
}

/*
 * Waits for this time, without limit if it is negative, or until a signal, or until a reload
 * that was asked for is possible.  Sessions may call it, too.
 */
void
pbp_worker_wait(int64 ms)
{
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;
	int64		reload_ms = (next_reload_ns - pbp_now_ns()) / 1000000 + 1;

	if (ConfigReloadPending && next_reload_ns != 0 && (ms < 0 || reload_ms < ms))
		ms = Max(0, reload_ms);
	if (ms >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, (long) ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* ---- the end ---- */

bool
pbp_must_end(void)
{
	return ShutdownRequestPending || is_stopped();
}

/* For how long the worker has known that it must end; 0: it need not. */
int64
pbp_ending_ns(void)
{
	static int64 since_ns = 0;

	if (pbp_must_end() && since_ns == 0)
		since_ns = pbp_now_ns();
	return since_ns == 0 ? 0 : pbp_now_ns() - since_ns;
}

/*
 * The postmaster does not restart a worker that exits with 0, and logs the end of
 * any other, which it restarts unless the server stops.
 */
void
pbp_end_worker(void)
{
	proc_exit(server_is_stopping || is_stopped() ? 0 : 1);
}

/* Not to be called while holding a lock. */
void
pbp_check_interrupts_of_look(void)
{
	if (pbp_ending_ns() >= FINISH_NS)
		pbp_end_worker();
	CHECK_FOR_INTERRUPTS();
}

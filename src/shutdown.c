/*-------------------------------------------------------------------------
 *
 * shutdown.c
 *	  How the background worker ends: with the server, or alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"

#include "latency.h"
#include "shutdown.h"

/*
 * A look goes on for so long while the server stops, so that what it learns can
 * be saved.  After that, what was saved before remains.
 */
#define FINISH_NS		INT64CONST(200000000)

/* Has the postmaster terminated the worker, which it does only at shutdown? */
static volatile sig_atomic_t server_is_stopping = false;

/* Does a termination end the worker at the next check for interrupts? */
static volatile sig_atomic_t may_die = false;

/*
 * The postmaster sends SIGTERM when the server shuts down.  Otherwise this
 * worker alone is to end, as by pg_terminate_backend().
 */
static void
handle_termination(int signo pg_attribute_unused(), siginfo_t *info,
				   void *context pg_attribute_unused())
{
	int			save_errno = errno;

	if (info->si_pid == PostmasterPid)
		server_is_stopping = true;
	ShutdownRequestPending = true;
	if (may_die)
		ProcDiePending = InterruptPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

void
pbp_expect_shutdown(void)
{
	struct sigaction action = {.sa_sigaction = handle_termination,.sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGTERM, &action, NULL) != 0)
		elog(FATAL, "could not install signal handler: %m");
}

/* To be let around calls that may wait for a lock, which do not ask pbp_must_end(). */
void
pbp_let_die(bool let)
{
	may_die = let;
	if (let && ShutdownRequestPending)
		ProcDiePending = InterruptPending = true;
}

bool
pbp_must_end(void)
{
	return ShutdownRequestPending;
}

bool
pbp_server_is_stopping(void)
{
	return server_is_stopping;
}

/*
 * The postmaster does not restart a worker that exits with 0, and logs the end
 * of any other.
 */
void
pbp_end_worker(void)
{
	proc_exit(server_is_stopping ? 0 : 1);
}

/* Not to be called while holding a lock. */
void
pbp_check_interrupts_of_look(void)
{
	static int64 stop_ns = 0;

	if (ShutdownRequestPending)
	{
		if (stop_ns == 0)
			stop_ns = pbp_now_ns();
		if (!server_is_stopping || pbp_now_ns() - stop_ns >= FINISH_NS)
			pbp_end_worker();
	}
	CHECK_FOR_INTERRUPTS();
}

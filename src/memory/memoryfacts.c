/*-------------------------------------------------------------------------
 *
 * memoryfacts.c
 *	  The settings and the processes of this server: how much memory they may
 *	  take, and how many of them work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"
#include "replication/walsender.h"

#include "base/compat.h"
#include "memory/memoryfacts.h"

/* Processes whose memory is read; more of them are taken for as large. */
#define MAX_READ				64

/* A join of four tables by their indexes pins a page of each. */
#define USUAL_PINS				8

#define KILOBYTE				INT64CONST(1024)

/* The part of a wait event that is its class. */
#define WAIT_CLASS				0xFF000000U

/* ---- settings ---- */

static int
slots_for_decoding(void)
{
	int			nslots = 0;

	for (int i = 0; i < max_replication_slots; i++)
	{
		const ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		nslots += slot->in_use && SlotIsLogical(slot);
	}
	return nslots;
}

/* As they are in this process: a role or a database may have others. */
PbpMemorySettings
pbp_memory_settings(void)
{
	int			vacuum_kb = autovacuum_work_mem >= 0 ? autovacuum_work_mem : maintenance_work_mem;

	return (PbpMemorySettings) {
		.pool_bytes = (int64) NBuffers * BLCKSZ,
			.shared_bytes = pbp_shared_memory_bytes(),
			.wal_buffers_bytes = (int64) XLOGbuffers * XLOG_BLCKSZ,
			.query_bytes = pbp_multiple(Max(hash_mem_multiplier, 1), work_mem * KILOBYTE),
			.temp_bytes = (int64) num_temp_buffers * BLCKSZ,
			.vacuum_bytes = vacuum_kb * KILOBYTE,
			.maintenance_bytes = maintenance_work_mem * KILOBYTE,
			.decoding_bytes = logical_decoding_work_mem * KILOBYTE,
			.block_bytes = BLCKSZ,
			.session_pins = USUAL_PINS + pbp_stream_pins(),
			.max_processes = MaxBackends + NUM_AUXILIARY_PROCS,
			.max_sessions = MaxConnections,
			.max_parallel_workers = Min(max_parallel_workers, max_worker_processes),
			.max_vacuum_workers = autovacuum_start_daemon ? autovacuum_max_workers : 0,
			.max_decoders = wal_level >= WAL_LEVEL_LOGICAL || slots_for_decoding() > 0 ? max_wal_senders : 0,
	};
}

/* ---- processes ---- */

/* What one process has, in bytes. */
typedef struct ProcessMemory
{
	int64		private;
	int64		page_tables;
} ProcessMemory;

/* Without the pages of files and of shared memory.  Returns false if it has ended. */
static bool
read_process(int pid, ProcessMemory *memory)
{
	PbpNamedNumber numbers[] = {{"RssAnon", 0}, {"VmPTE", 0}};
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	pbp_read_named_numbers("", path, numbers, lengthof(numbers));
	*memory = (ProcessMemory) {numbers[0].value, numbers[1].value};
	return memory->private != PBP_UNKNOWN && memory->page_tables != PBP_UNKNOWN;
}

/* 0: no process has it.  Before 17, its pid remains after the end of a session. */
static inline int
pid_of(const PGPROC *proc)
{
	return proc->procLatch.owner_pid;
}

/*
 * Adds up the memory of all processes, from at most MAX_READ that are spread
 * evenly over the list.
 */
static void
read_processes(PbpProcesses *processes)
{
	int			step = processes->now.processes / MAX_READ + 1;
	int			place = 0;
	int			nread = 0;
	ProcessMemory sum = {0};

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		int			pid = pid_of(&ProcGlobal->allProcs[i]);
		ProcessMemory memory;

		if (pid == 0 || place++ % step != 0 || !read_process(pid, &memory))
			continue;
		sum.private += memory.private;
		sum.page_tables += memory.page_tables;
		nread++;
	}
	if (nread == 0)
		return;
	processes->private_bytes = pbp_multiple((double) processes->now.processes / nread, sum.private);
	processes->page_table_bytes = pbp_multiple((double) processes->now.processes / nread, sum.page_tables);
}

static void
raise_peak(PbpProcessCounts *peak, const PbpProcessCounts *now)
{
	peak->processes = Max(peak->processes, now->processes);
	peak->sessions = Max(peak->sessions, now->sessions);
	peak->active = Max(peak->active, now->active);
	peak->decoders = Max(peak->decoders, now->decoders);
}

/*
 * Counts the processes, and reads the memory of at most 64 of them: 20 us each.
 * Takes no lock, so processes that begin or end meanwhile may be missing.  One
 * that has a snapshot executes a query.
 */
PbpProcesses
pbp_count_processes(bool ask_kernel)
{
	static PbpProcessCounts peak = {0};
	PbpProcesses processes = {.private_bytes = PBP_UNKNOWN,.page_table_bytes = PBP_UNKNOWN};

	processes.now.decoders = slots_for_decoding();
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = &ProcGlobal->allProcs[i];

		if (pid_of(proc) == 0)
			continue;
		processes.now.processes++;
		if (proc->databaseId == InvalidOid || (proc->statusFlags & PROC_IS_AUTOVACUUM) != 0)
			continue;
		processes.now.sessions++;
		processes.now.active += TransactionIdIsValid(proc->xmin);
	}
	raise_peak(&peak, &processes.now);
	processes.peak = peak;
	if (ask_kernel)
		read_processes(&processes);
	return processes;
}

static bool
is_idle(BackendState state)
{
	return state == STATE_IDLE || state == STATE_IDLEINTRANSACTION || state == STATE_IDLEINTRANSACTION_ABORTED;
}

/* True if a process sleeps until somebody else has done something, which takes as long as they like. */
static bool
waits_for_others(uint32 wait_event)
{
	switch (wait_event & WAIT_CLASS)
	{
		case PG_WAIT_ACTIVITY:
		case PG_WAIT_CLIENT:
		case PG_WAIT_EXTENSION:
		case PG_WAIT_LOCK:
		case PG_WAIT_TIMEOUT:
			return true;
	}
	return false;
}

/*
 * True of a session that executes something, and of each parallel worker of one.
 * Within a pipeline of statements, a session may wait for its client before it is
 * idle; and when it is, it may be long until it waits.  One in pg_sleep() or behind
 * a lock does nothing that another size would shorten.
 */
static bool
works(const PGPROC *proc)
{
	uint32		wait_event = *(const volatile uint32 *) &proc->wait_event_info;
	const volatile PgBackendStatus *status = pbp_status_of(proc);
	bool		in_parallel = proc->lockGroupLeader != NULL && proc->lockGroupLeader != proc;

	return pid_of(proc) != 0 && proc->databaseId != InvalidOid && status != NULL &&
		(in_parallel || status->st_backendType == B_BACKEND) &&
		!is_idle(status->st_state) && !waits_for_others(wait_event);
}

/* Counts who works now, for pbp_working_ms().  Takes no lock. */
int
pbp_count_working(void)
{
	int			working = 0;

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
		working += works(&ProcGlobal->allProcs[i]);
	return working;
}

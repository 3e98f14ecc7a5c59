/*-------------------------------------------------------------------------
 *
 * servermemory.c
 *	  The memory of this server: its settings, its processes, its pool, and what
 *	  the kernel leaves for its page cache.
 *
 * What the kernel reports of memory is read in osmemory.c, which needs to know
 * what is here; what follows from all of it is planned in memoryplan.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"
#include "replication/walsender.h"

#include "base/compat.h"
#include "base/settings.h"
#include "base/worker.h"
#include "memory/servermemory.h"
#include "os/oscache.h"

/* Processes whose memory is read; more of them are taken for as large. */
#define MAX_READ			64

/* A join of four tables by their indexes pins a page of each. */
#define USUAL_PINS			8

#define KILOBYTE			INT64CONST(1024)

/* What is read in a longer transaction is published much later than it was waited for. */
#define LATE_MS				10000

/* The part of a wait event that is its class. */
#define WAIT_CLASS			0xFF000000U

/* Pages of the pool that are asked about. */
#define POOL_PROBES			256

/* Tablespaces whose file systems are asked about. */
#define MAX_TABLESPACES		64

/* File systems, as statfs(2) numbers them. */
#define TMPFS				0x01021994
#define RAMFS				0x858458f6

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

/* Those of this process: a role or a database may have others. */
static PbpMemorySettings
memory_settings(void)
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
			.pinned_bytes = (USUAL_PINS + pbp_stream_pins()) * BLCKSZ,
			.os_page_bytes = (int) pbp_os_page_bytes(),
			.max_processes = MaxBackends + NUM_AUXILIARY_PROCS,
			.max_sessions = MaxConnections,
			.max_parallel_workers = Min(max_parallel_workers, max_worker_processes),
			.max_vacuum_workers = autovacuum_start_daemon ? autovacuum_max_workers : 0,
			.max_decoders = wal_level >= WAL_LEVEL_LOGICAL || slots_for_decoding() > 0 ?
			max_wal_senders : 0,
	};
}

/* ---- processes ---- */

/* 0: no process has it.  Before 17, its pid remains after the end of a session. */
static inline int
pid_of(const PGPROC *proc)
{
	return proc->procLatch.owner_pid;
}

/*
 * Adds up the private memory and the page tables of all processes, from at most
 * MAX_READ that are spread evenly over the list.
 */
static void
read_processes(PbpProcesses *processes)
{
	int			nprocesses = processes->now.processes;
	int			place = 0;
	int			nread = 0;
	int64		private = 0;
	int64		page_tables = 0;

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		int			pid = pid_of(&ProcGlobal->allProcs[i]);
		PbpNamedNumber numbers[] = {{"RssAnon", 0}, {"VmPTE", 0}};
		char		path[64];

		if (pid == 0 || place++ % (nprocesses / MAX_READ + 1) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
		pbp_read_named_numbers("", path, numbers, lengthof(numbers));
		/* It may have ended. */
		if (numbers[0].value == PBP_UNKNOWN || numbers[1].value == PBP_UNKNOWN)
			continue;
		private += numbers[0].value;
		page_tables += numbers[1].value;
		nread++;
	}
	if (nread == 0)
		return;
	processes->private_bytes = pbp_multiple((double) nprocesses / nread, private);
	processes->page_table_bytes = pbp_multiple((double) nprocesses / nread, page_tables);
}

/*
 * Counts the processes, and reads the memory of at most 64 of them: 20 us each.
 * Takes no lock, so processes that begin or end meanwhile may be missing.  One
 * that has a snapshot executes a query.
 */
static PbpProcesses
count_processes(void)
{
	static PbpProcessCounts peak = {0};
	PbpProcesses processes = {.private_bytes = PBP_UNKNOWN,.page_table_bytes = PBP_UNKNOWN};
	PbpProcessCounts *now = &processes.now;

	now->decoders = slots_for_decoding();
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = &ProcGlobal->allProcs[i];

		if (pid_of(proc) == 0)
			continue;
		now->processes++;
		if (proc->databaseId == InvalidOid || (proc->statusFlags & PROC_IS_AUTOVACUUM) != 0)
			continue;
		now->sessions++;
		now->active += TransactionIdIsValid(proc->xmin);
	}
	peak.processes = Max(peak.processes, now->processes);
	peak.sessions = Max(peak.sessions, now->sessions);
	peak.active = Max(peak.active, now->active);
	peak.decoders = Max(peak.decoders, now->decoders);
	processes.peak = peak;
	if (pbp_os_cache_on)
		read_processes(&processes);
	return processes;
}

/* True if a process sleeps until somebody else has done something, for as long as they like. */
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
 * True if what a process of this type reads is among the reads that the server counts.  Where these
 * are not counted apart from those through a ring, autovacuum's are.
 */
static bool
reads_count(BackendType type)
{
	return type == B_BACKEND || type == B_BG_WORKER || type == B_WAL_SENDER ||
		(type == B_AUTOVAC_WORKER && !PBP_COUNTS_APART);
}

/*
 * Counts who works now, for pbp_working_ms(): sessions that execute something, and each
 * parallel worker of one; and who waits for a read.  Takes no lock.
 *
 * Within a pipeline of statements, a session may wait for its client before it is
 * idle; and when it is, it may be long until it waits.  One in pg_sleep() or behind
 * a lock does nothing that another size would shorten.
 */
PbpWorking
pbp_count_working(void)
{
	PbpWorking	now = {0};

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = &ProcGlobal->allProcs[i];
		uint32		wait_event = *(const volatile uint32 *) &proc->wait_event_info;
		const volatile PgBackendStatus *status = pbp_status_of(proc);
		bool		in_parallel = proc->lockGroupLeader != NULL && proc->lockGroupLeader != proc;
		bool		active;

		if (pid_of(proc) == 0 || proc->databaseId == InvalidOid || status == NULL)
			continue;
		active = status->st_state != STATE_IDLE && status->st_state != STATE_IDLEINTRANSACTION &&
			status->st_state != STATE_IDLEINTRANSACTION_ABORTED;
		now.active += active && status->st_backendType == B_BACKEND;
		now.working += active && (in_parallel || status->st_backendType == B_BACKEND) &&
			!waits_for_others(wait_event);
		if (reads_count(status->st_backendType) && pbp_waits_for_read(wait_event))
		{
			TimestampTz start = status->st_xact_start_timestamp;

			/* what it reads is published after its transaction */
			now.reading++;
			now.late += start != 0 &&
				TimestampDifferenceExceeds(start, GetCurrentTimestamp(), LATE_MS);
		}
	}
	return now;
}

/* ---- the pool ---- */

/*
 * True if the page of this block in the pool takes memory.  The kernel answers
 * without accessing the page.
 */
static bool
takes_memory(int buffer)
{
#ifdef __linux__
	uintptr_t	address = (uintptr_t) BufferBlocks + (uintptr_t) buffer * BLCKSZ;
	unsigned char resident = 1;

	address -= address % (uintptr_t) pbp_os_page_bytes();
	return mincore((void *) address, 1, &resident) != 0 || (resident & 1) != 0;
#else
	return true;
#endif
}

/*
 * Bytes of the pool that no session has used since the server started.  They
 * are at the end of the pool, so that probes at regular distances miss by one
 * distance.  About 0.3 us per probe, and nothing once the pool is full.
 */
static int64
unused_pool_bytes(void)
{
	static bool full = false;
	int			nprobes = Min(NBuffers, POOL_PROBES);
	int			unused = 0;

	if (full)
		return 0;
	for (int i = 0; i < nprobes; i++)
		unused += !takes_memory((int) ((int64) i * NBuffers / nprobes));
	full = unused == 0;
	return (int64) NBuffers * BLCKSZ / nprobes * unused;
}

/* Size of the huge pages of shared memory; 0: it is in normal pages. */
static int64
huge_page_bytes(void)
{
	static int64 bytes = -1;

	if (bytes < 0)
	{
		Size		size = 0;
		int			flags;

		if (pbp_in_huge_pages("", BufferBlocks))
			GetHugePageSize(&size, &flags);
		bytes = (int64) size;
	}
	return bytes;
}

/* ---- all of it ---- */

/*
 * Reads all about the memory of this server; the page cache of its files and of
 * all files is as counted in ownfiles.c, or PBP_UNKNOWN.  With pgbufprobe.os_cache
 * off, the kernel is not asked about anything.  Takes no lock; 0.3 to 2 ms of
 * processor time.
 */
PbpMemoryFacts
pbp_read_memory_facts(int64 own_file_bytes, int64 all_file_bytes)
{
	PbpMemoryFacts facts = {.settings = memory_settings(),.processes = count_processes()};
	PbpServerMemory server;

	if (!pbp_os_cache_on)
		return facts;
	server = (PbpServerMemory) {
		.pool_bytes = facts.settings.pool_bytes,
			.huge_page_bytes = huge_page_bytes(),
			.own_file_bytes = own_file_bytes,
			.all_file_bytes = all_file_bytes,
	};
	/* Huge pages are taken from the memory when they are reserved. */
	if (server.huge_page_bytes == 0)
		server.unused_bytes = unused_pool_bytes();
	pbp_os_memory_read("", &server, &facts.memory);
	/* What processes share since they were forked was counted for each. */
	if (facts.memory.known)
		facts.processes.private_bytes = Min(facts.processes.private_bytes,
											facts.memory.private_bytes);
	pbp_expect_needs(&facts);
	return facts;
}

/* ---- file systems ---- */

/*
 * True if the page cache lies between this folder's files and storage.  A file
 * system in memory has no storage; one that is stacked on another uses the page
 * cache of that.
 */
static bool
has_page_cache(const char *folder)
{
	PbpOsTrust	trust;
	uint32		type;
	bool		in_memory;
	int			fd = OpenTransientFile(folder, O_RDONLY | O_DIRECTORY);

	/* A folder that was dropped meanwhile has no files, nor has what is none. */
	if (fd < 0)
		return true;
	trust = pbp_os_file_system_trust(fd);
	in_memory = pbp_kernel_file_system(fd, &type) && (type == TMPFS || type == RAMFS);
	(void) CloseTransientFile(fd);
	return (trust == PBP_OS_TRUSTED || trust == PBP_OS_STACKED) && !in_memory;
}

static bool
all_have_page_cache(void)
{
	bool		all = has_page_cache("base");
	DIR		   *folder = AllocateDir("pg_tblspc");
	struct dirent *entry;

	for (int i = 0; all && i < MAX_TABLESPACES + 2 && !pbp_must_end() &&
		 (entry = ReadDirExtended(folder, "pg_tblspc", LOG)) != NULL; i++)
	{
		char		path[MAXPGPATH];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "pg_tblspc/%s", entry->d_name);
		all = has_page_cache(path);
	}
	if (folder)
		FreeDir(folder);
	return all;
}

/* ---- for the advice ---- */

/*
 * A PbpMemoryReader, which also goes on counting this server's files.  Returns whether the
 * advice's model of the page cache applies to this server: a few system calls for each of
 * the first tablespaces.
 */
PbpStorageModel
pbp_read_capacity(PbpOsMemory *memory)
{
	if (pbp_os_cache_on)
		pbp_count_own_files();
	*memory = pbp_read_memory_facts(pbp_own_bytes().cached, pbp_own_bytes().all_cached).memory;
	if (!pbp_os_cache_on)
		return PBP_STORAGE_SWITCHED_OFF;
	if (pbp_direct_io())
		return PBP_STORAGE_DIRECT_IO;
	if (!memory->known)
		return PBP_STORAGE_NO_INFORMATION;
	if (!all_have_page_cache())
		return PBP_STORAGE_FILE_SYSTEM;
	return memory->eviction == PBP_EVICTS_BY_OLD_MGLRU ?
		PBP_STORAGE_UNPROVEN : PBP_STORAGE_MODELLED;
}

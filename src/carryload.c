/*-------------------------------------------------------------------------
 *
 * carryload.c
 *	  A worker that is connected to one database, and reads the blocks of one
 *	  level into free buffers, or into the page cache if there are none.
 *
 * Each few blocks have a transaction of their own, so that no lock is held for
 * long, and none while the worker sleeps.  A relation that is locked, or gone,
 * is left out.  The worker ends after some seconds, and another one goes on.
 * Which worker runs when is decided in carryrestore.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

#include "cacherestore.h"
#include "carry.h"
#include "carryfile.h"
#include "carryprogress.h"
#include "latency.h"
#include "shutdown.h"

/* DROP DATABASE, among others, waits five seconds for others to leave the database. */
#define CONNECTED_NS		INT64CONST(4000000000)

typedef struct Load
{
	PbpCarryJob job;
	PbpCarryPace pace;
	int64		nread;
	int64		until_ns;		/* end this worker */
} Load;

void
pbp_carry_load_worker(BackgroundWorker *worker, const PbpCarryJob *job)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker->bgw_library_name, "pgbufprobe", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, "pbp_carry_load_main", BGW_MAXLEN);
	strlcpy(worker->bgw_name, "pgbufprobe carry-over restore", BGW_MAXLEN);
	strlcpy(worker->bgw_type, "pgbufprobe carry-over", BGW_MAXLEN);
	memcpy(worker->bgw_extra, job, sizeof(*job));
	worker->bgw_notify_pid = MyProcPid;
}

/* ---- steps ---- */

/* In a transaction. */
static bool
restore_next_blocks(const PbpCarryEntry *entry, PbpRestore *restore)
{
	PbpLocator	locator = pbp_locator(entry->tablespace, entry->database, entry->relfilenode);
	Oid			relid = pbp_relid_by_relfilenode(entry->tablespace, entry->relfilenode);
	Relation	relation;
	PbpLocator	found;
	bool		more = false;

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	relation = try_relation_open(relid, NoLock);
	if (relation == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		return false;
	}
	found = pbp_relation_locator(relation);
	if (pbp_locator_equals(&found, &locator) &&
		smgrexists(RelationGetSmgr(relation), (ForkNumber) entry->fork))
		more = pbp_restore_step(restore, relation);
	relation_close(relation, AccessShareLock);
	return more;
}

/* An error, such as that of a page that is damaged, ends no more than the map. */
static bool
step(const PbpCarryEntry *entry, PbpRestore *restore)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool more = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PG_TRY();
	{
		more = restore_next_blocks(entry, restore);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		more = false;
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return more;
}

static void
count(Load *load, const PbpRestoreCounts *before, const PbpRestoreCounts *after)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->read += after->read - before->read;
	if (load->job.level > 0)
		progress->done += after->requested - before->requested;
	pbp_carry_unlock();
	load->nread += after->read - before->read;
}

static bool
has_time(const Load *load)
{
	return pbp_carry_goes_on() && pbp_now_ns() < load->until_ns;
}

/* Another worker is to go on, unless the restore was stopped or somebody has ended this one. */
static void
leave_rest(int64 entry_at, int64 blocks_done)
{
	PbpCarryProgress *progress;

	if (!pbp_carry_goes_on())
		return;
	progress = pbp_carry_lock();
	progress->resume = entry_at;
	progress->resume_blocks = blocks_done;
	pbp_carry_unlock();
}

/*
 * Blocks for which there is no room come into the page cache.  Returns the number
 * of blocks that are done, or -1 if all are.
 */
static int64
restore_map(Load *load, const PbpCarryEntry *entry, const uint8 *map, int64 skip)
{
	PbpRestoreTarget target = load->job.level > 0 ? PBP_RESTORE_BOTH : PBP_RESTORE_SHARED_BUFFERS;
	PbpRestore	restore;
	bool		more = true;

	if (pbp_restore_begin_level(&restore, map, entry->map_bytes, target, load->job.level,
								(int64) entry->segment * RELSEG_SIZE) != NULL ||
		restore.header.fork != entry->fork)
		return -1;
	pbp_restore_skip(&restore, skip);
	while (more && load->nread < load->job.limit && has_time(load))
	{
		PbpRestoreCounts before = restore.counts;

		more = step(entry, &restore);
		count(load, &before, &restore.counts);
		pbp_carry_keep_pace(&load->pace, restore.counts.read - before.read);
	}
	return more ? skip + restore.counts.requested : -1;
}

/* ---- the worker ---- */

static bool
is_wanted(const PbpCarryJob *job, const PbpCarryEntry *entry)
{
	return entry->database == job->database && entry->levels[job->level] > 0 &&
		(job->level > 0 || pbp_carry_share(entry) >= job->min_share);
}

static void
restore_maps(Load *load, PbpCarryReader *reader)
{
	PbpCarryEntry entry;
	int64		at = load->job.first;
	int64		done = load->job.skip;

	reader->next = at;
	reader->end = Min(reader->end, load->job.end);
	while (load->nread < load->job.limit && has_time(load))
	{
		const uint8 *map;

		if (!pbp_carry_next(reader, &entry))
			return;
		map = is_wanted(&load->job, &entry) ? pbp_carry_map(reader, &entry) : NULL;
		done = map == NULL ? -1 : restore_map(load, &entry, map, done);
		if (done < 0)
		{
			at = reader->next;
			done = 0;
		}
	}
	if (load->nread < load->job.limit)
		leave_rest(at, done);
}

void
pbp_carry_load_main(Datum arg pg_attribute_unused())
{
	Load		load = {0};
	PbpCarryReader reader;

	memcpy(&load.job, MyBgworkerEntry->bgw_extra, sizeof(load.job));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pbp_expect_shutdown();
	pbp_ignore_signal(SIGINT);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(load.job.connect_to, InvalidOid, 0);
	/* counted from here, so that each worker gets some blocks read */
	load.until_ns = pbp_now_ns() + CONNECTED_NS;
	if (pbp_carry_open(&reader, false))
	{
		restore_maps(&load, &reader);
		pbp_carry_close(&reader);
	}
	proc_exit(0);
}

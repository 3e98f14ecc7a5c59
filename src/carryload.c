/*-------------------------------------------------------------------------
 *
 * carryload.c
 *	  A worker that is connected to one database, and restores the extents of one
 *	  band: reads them into the page cache, and from there what was in shared
 *	  buffers into free buffers.
 *
 * Requests are large, and each extent waits for the one before, so that reads of
 * sessions need not wait for long.  An extent has a transaction of its own, so
 * that no lock is held for long, and none while the worker sleeps.  Of a relation
 * that is locked, only the page cache is restored.  The worker ends after some
 * seconds, and another one goes on.  Which worker runs when is decided in
 * carryrestore.c.
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
#include "utils/guc.h"

#include "cacherestore.h"
#include "carry.h"
#include "carryextent.h"
#include "carryfile.h"
#include "carryprogress.h"
#include "latency.h"
#include "oscache.h"
#include "shutdown.h"

/* DROP DATABASE, among others, waits five seconds for others to leave the database. */
#define CONNECTED_NS		INT64CONST(4000000000)

/* The last band is read in this share of the time, to leave the disk to sessions. */
#define LAST_BAND_SHARE		0.1

/* An extent that is being restored. */
typedef struct Part
{
	PbpExtent	extent;
	PbpOsFile	file;
	bool		has_page_cache; /* may the kernel be asked for the file? */
	int64		border_room;	/* as in PbpCarryProgress, at present */
	int64		gap_room;		/* likewise */
	int64		nread;			/* blocks */
	int64		nkept;			/* by the page cache */
	uint8		cached[PBP_BITMAP_BYTES(PBP_EXTENT_BLOCKS)];	/* by the kernel, before */
	bool		was_read[PBP_EXTENT_BLOCKS];	/* into the page cache */
	bool		is_shared[PBP_EXTENT_BLOCKS];	/* is it in shared buffers? */
} Part;

typedef struct Load
{
	PbpCarryJob job;
	int64		until_ns;		/* end this worker */
	PbpCarryEntry entry;		/* of the present map */
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

/* ---- what is wanted of an extent ---- */

static bool
wants_buffer(const Load *load, const Part *part, int block)
{
	int			state = part->extent.states[block];
	int			level = pbp_map_level(state);

	return state != 0 &&
		(level > load->job.border || (level == load->job.border && part->border_room > 0));
}

/*
 * Leaves out what is past the end of the file by now, and what neither cache has
 * room for.  Is any of the others for shared buffers?
 */
static bool
leave_out(const Load *load, Part *part)
{
	bool		has_cache_room = part->has_page_cache && pbp_carry_progress().cache_room > 0;
	bool		any = false;

	if (part->has_page_cache)
	{
		int64		left = part->file.bytes / BLCKSZ - part->extent.first;

		part->extent.nblocks = (int) Max(Min(part->extent.nblocks, left), 0);
	}
	for (int i = 0; i < part->extent.nblocks; i++)
	{
		bool		wants = wants_buffer(load, part, i);

		any = any || wants;
		if (!wants && !has_cache_room)
			part->extent.states[i] = 0;
	}
	return any;
}

/* ---- the page cache ---- */

/* Finds the next run of blocks that are marked, from *end on, which is 0 at first. */
static bool
next_marked(const bool *marks, int *first, int *end)
{
	*first = *end;
	while (*first < PBP_EXTENT_BLOCKS && !marks[*first])
		(*first)++;
	*end = *first;
	while (*end < PBP_EXTENT_BLOCKS && marks[*end])
		(*end)++;
	return *first < *end;
}

/*
 * Marks what is to be read: each block that is missing, and small gaps between
 * them.  A block that the page cache has divides requests in any case.
 */
static void
mark_reads(Part *part)
{
	int			end = -1;		/* of the last request */

	for (int i = 0; i < part->extent.nblocks; i++)
	{
		if (pbp_bit_is_set(part->cached, i))
			end = -1;
		else if (part->extent.states[i] != 0)
		{
			if (end < 0 || i - end >= PBP_REQUEST_BLOCKS)
				end = i;
			memset(part->was_read + end, true, i + 1 - end);
			part->nread += i + 1 - end;
			end = i + 1;
		}
	}
}

/* Has the kernel read all at the same time, and waits for it. */
static void
read_into_page_cache(Part *part)
{
	BlockNumber start = part->extent.first;
	PbpOsBlocks blocks = {0};

	if (part->file.trust == PBP_OS_TRUSTED)
		pbp_os_map(&part->file, start, part->extent.nblocks, part->cached, &blocks);
	mark_reads(part);
	for (int first, end = 0; next_marked(part->was_read, &first, &end);)
		pbp_os_want(&part->file, start + first, end - first);
	for (int first, end = 0; next_marked(part->was_read, &first, &end);)
		pbp_os_use(&part->file, start + end - 1);
}

/*
 * Is the page cache to keep a block?  Not one that is not wanted, nor one that is
 * in shared buffers now and was not also kept by the page cache before.
 */
static bool
is_to_be_kept(const Part *part, int block)
{
	int			state = part->extent.states[block];

	return state != 0 && (!part->is_shared[block] ||
						  (pbp_map_os(state) == PBP_MAP_OS_KEPT && pbp_map_level(state) > 0));
}

/*
 * Leaves the room of the page cache to what it held before, if it is known what
 * we have read.  Gaps may stay where nothing else needs the room.
 */
static void
drop_from_page_cache(Part *part)
{
	bool		drops[PBP_EXTENT_BLOCKS] = {0};
	bool		known = part->file.trust == PBP_OS_TRUSTED;

	for (int i = 0; i < part->extent.nblocks; i++)
	{
		bool		keep = is_to_be_kept(part, i);
		bool		gap = part->was_read[i] && part->extent.states[i] == 0 && part->gap_room > 0;

		drops[i] = known && part->was_read[i] && !keep && !gap;
		part->nkept += keep;
		part->gap_room -= gap;
	}
	for (int first, end = 0; next_marked(drops, &first, &end);)
		pbp_os_drop_blocks(&part->file, part->extent.first + first, end - first);
}

/* The kernel keeps pages that were used twice longer than others. */
static void
use_twice(const Part *part)
{
	for (int times = 0; times < 2; times++)
	{
		for (int i = 0; i < part->extent.nblocks; i++)
		{
			if (is_to_be_kept(part, i) && pbp_map_os(part->extent.states[i]) == PBP_MAP_OS_KEPT)
				pbp_os_use(&part->file, part->extent.first + i);
		}
	}
}

/* ---- shared buffers ---- */

static void
fill_buffers(const Load *load, Part *part, Relation relation)
{
	ForkNumber	fork = (ForkNumber) load->entry.file.fork;
	PbpLocator	locator = pbp_relation_locator(relation);
	int64		start = (int64) load->entry.file.segment * RELSEG_SIZE + part->extent.first;
	int64		end = smgrnblocks(RelationGetSmgr(relation), fork) - start;
	bool		has_room = true;

	for (int i = 0; i < Min(part->extent.nblocks, end); i++)
	{
		int			level = pbp_map_level(part->extent.states[i]);
		BlockNumber block = (BlockNumber) (start + i);

		if (!wants_buffer(load, part, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		part->is_shared[i] = pbp_restore_usage(&locator, fork, block, Max(level - 1, 0));
		if (part->is_shared[i] || !has_room)
			continue;
		has_room = part->is_shared[i] = pbp_restore_block(relation, fork, block, Max(level - 1, 0));
		part->border_room -= has_room && level == load->job.border;
		part->nread += has_room && !part->was_read[i];
	}
}

static Relation
open_if_unlocked(Oid relid)
{
	Relation	relation;

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	relation = try_relation_open(relid, NoLock);
	if (relation == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return relation;
}

/* In a transaction. */
static void
lock_and_fill_buffers(const Load *load, Part *part)
{
	const PbpCarryFile *file = &load->entry.file;
	PbpLocator	locator = pbp_locator(file->tablespace, file->database, file->relfilenode);
	Relation	relation;
	PbpLocator	found;

	/* catalogs may be locked */
	pbp_let_die(true);
	relation = open_if_unlocked(pbp_relid_by_relfilenode(file->tablespace, file->relfilenode));
	pbp_let_die(false);
	if (relation == NULL)
		return;
	found = pbp_relation_locator(relation);
	if (pbp_locator_equals(&found, &locator) &&
		smgrexists(RelationGetSmgr(relation), (ForkNumber) file->fork))
		fill_buffers(load, part, relation);
	relation_close(relation, AccessShareLock);
}

/* ---- extents ---- */

static void
restore_caches(const Load *load, Part *part)
{
	bool		wants_buffers = leave_out(load, part);

	if (part->extent.nblocks == 0)
		return;
	if (part->has_page_cache)
		read_into_page_cache(part);
	if (wants_buffers)
		lock_and_fill_buffers(load, part);
	if (part->has_page_cache)
	{
		drop_from_page_cache(part);
		use_twice(part);
	}
}

/* In a transaction.  The file may be gone. */
static void
open_and_restore_caches(const Load *load, Part *part)
{
	const PbpCarryFile *file = &load->entry.file;
	PbpLocator	locator = pbp_locator(file->tablespace, file->database, file->relfilenode);

	if (!pbp_os_open(&locator, (ForkNumber) file->fork, (int) file->segment, PBP_OS_AUTO, &part->file))
		return;
	part->has_page_cache = pbp_can_advise(&part->file);
	restore_caches(load, part);
	pbp_os_close(&part->file);
}

/* False: an error, such as that of a page that is damaged, which ends no more than the map. */
static bool
try_extent(const Load *load, Part *part)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PG_TRY();
	{
		open_and_restore_caches(load, part);
		CommitTransactionCommand();
		done = true;
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return done;
}

/* When the next extent may be read, if so many blocks were read since then. */
static int64
next_read_ns(const Load *load, int64 begun_ns, int64 blocks)
{
	double		share = load->job.band == PBP_LAST_BAND ? LAST_BAND_SHARE : 1;
	double		ns = (double) (pbp_now_ns() - begun_ns) / share;

	if (blocks == 0)
		return 0;
	if (pbp_carry_over_rate_mb != 0)
		ns = Max(ns, (double) blocks * BLCKSZ / (1024 * 1024) / pbp_carry_over_rate_mb * 1e9);
	return begun_ns + (int64) ns;
}

static bool
restore_extent(Load *load, const PbpExtent *extent)
{
	PbpCarryProgress before = pbp_carry_progress();
	Part		part = {
		.extent = *extent,.border_room = before.border_room,.gap_room = before.gap_room
	};
	int64		begun_ns = pbp_now_ns();
	bool		done = try_extent(load, &part);
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->done += extent->nwanted;
	progress->read += part.nread;
	progress->next_read_ns = next_read_ns(load, begun_ns, part.nread);
	progress->border_room -= before.border_room - part.border_room;
	progress->cache_room -= part.nkept;
	progress->gap_room -= before.gap_room - part.gap_room;
	pbp_carry_unlock();
	return done;
}

/* ---- maps ---- */

static bool
has_time(const Load *load)
{
	return pbp_carry_goes_on() && pbp_now_ns() < load->until_ns;
}

/* Waits until the next extent may be read; false: there is no time for that. */
static bool
wait_for_turn(const Load *load)
{
	int64		left_ns;

	while (has_time(load) && (left_ns = pbp_carry_progress().next_read_ns - pbp_now_ns()) > 0)
		pbp_carry_wait(left_ns / 1000000 + 1);
	return has_time(load);
}

/* Returns the number of extents that are done, or -1 if the map is. */
static int64
restore_map(Load *load, const uint8 *map, int64 skip)
{
	PbpExtentReader reader;
	PbpExtent	extent;
	int64		nextents = 0;
	bool		last = load->job.band == PBP_LAST_BAND;

	pbp_extents_read(&reader, map, load->entry.map_bytes, last);
	for (; pbp_extent_next(&reader, &extent); nextents++)
	{
		if (nextents < skip || pbp_extent_band(&extent, last) != load->job.band)
			continue;
		if (!wait_for_turn(load))
			return nextents;
		if (!restore_extent(load, &extent))
			break;
	}
	return -1;
}

/* Another worker is to go on, unless the restore was stopped or somebody has ended this one. */
static void
leave_rest(int64 entry_at, int64 extents_done)
{
	PbpCarryProgress *progress;

	if (!pbp_carry_goes_on())
		return;
	progress = pbp_carry_lock();
	progress->resume = entry_at;
	progress->resume_extents = extents_done;
	pbp_carry_unlock();
}

static void
restore_maps(Load *load, PbpCarryReader *reader)
{
	int64		at = load->job.first;
	int64		done = load->job.skip;

	reader->next = at;
	reader->end = Min(reader->end, load->job.end);
	while (has_time(load))
	{
		const uint8 *map = NULL;

		if (!pbp_carry_next(reader, &load->entry))
			return;
		if (load->entry.file.database == load->job.database)
			map = pbp_carry_map(reader, &load->entry);
		done = map == NULL ? -1 : restore_map(load, map, done);
		if (done >= 0)
			break;
		at = reader->next;
		done = 0;
	}
	leave_rest(at, done);
}

/* A database may have settings that are meant for its sessions. */
static void
override_settings(void)
{
	SetConfigOption("zero_damaged_pages", "false", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("ignore_checksum_failure", "false", PGC_SUSET, PGC_S_OVERRIDE);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
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
	override_settings();
	/* the database may be locked */
	pbp_let_die(true);
	BackgroundWorkerInitializeConnectionByOid(load.job.connect_to, InvalidOid, 0);
	pbp_let_die(false);
	/* counted from here, so that each worker gets some blocks read */
	load.until_ns = pbp_now_ns() + CONNECTED_NS;
	if (pbp_carry_open(&reader, false))
	{
		restore_maps(&load, &reader);
		pbp_carry_close(&reader);
	}
	proc_exit(0);
}

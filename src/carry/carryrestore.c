/*-------------------------------------------------------------------------
 *
 * carryrestore.c
 *	  Restores both caches after a start of the server, the most useful extents
 *	  of all databases first.
 *
 * For each band of extents from the highest down, one worker after the other
 * connects to a database and restores its extents of that band (carryload.c).
 * If the pool is smaller than it was, shared buffers get only blocks with a high
 * usage count, and the page cache gets the others; if it is larger, they also
 * get blocks that only the page cache held.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

#include "base/latency.h"
#include "base/relations.h"
#include "base/worker.h"
#include "carry/carry.h"
#include "memory/servermemory.h"

/* Restores in a row that a crash has ended before no other one is tried. */
#define MAX_CRASHES			3

/* Between two checks for the end of a worker, for a slot, or for a lock. */
#define WAIT_MS				1000
#define MAX_SLOT_WAITS		10

/* A database whose worker fails, or waits too long for a lock, is tried again in the next round. */
#define BETWEEN_ROUNDS_NS	INT64CONST(5000000000)
#define MAX_ROUNDS			12

/* In later rounds, an error of storage, for example, ends no more than a map. */
#define ROUNDS_THAT_FAIL	3

/* Others who wait until a database is free look ten times per second. */
#define BETWEEN_WORKERS_MS	150

/* The part of the file that has the maps of a database. */
typedef struct DatabaseMaps
{
	Oid			database;
	bool		accepts;		/* it exists, and accepts connections */
	int64		first;
	int64		end;
	int64		bands[PBP_EXTENT_BANDS];	/* blocks by the band of their extent */
	int64		levels[PBP_MAP_LEVELS]; /* the same blocks by their level */

	/* of the band that is being restored, the highest that has blocks */
	PbpCarryPlace place;		/* where the next worker goes on */
	bool		has_failed;		/* in this round */
	bool		is_lost;		/* a part is, by an error that did not pass */
} DatabaseMaps;

typedef struct Plan
{
	PbpCarryReader reader;
	DatabaseMaps *databases;
	int			ndatabases;
	int			max_databases;
	int			border;			/* as in PbpCarryJob */
	int64		done;			/* blocks whose turn is over */
	int			round;
	bool		no_slot;		/* for a background worker */
	bool		failure_logged;
	bool		lock_logged;
} Plan;

/* The worker that is running, if any; to be ended with this process. */
static BackgroundWorkerHandle *running = NULL;

/* ---- what there is to restore ---- */

/*
 * Of the entry at this place of the file.  Entries of a complete save follow each other by
 * database, those of an interrupted one do not.
 */
static DatabaseMaps *
database_maps(Plan *plan, Oid database, int64 at)
{
	DatabaseMaps *maps;

	for (int i = plan->ndatabases - 1; i >= 0; i--)
		if (plan->databases[i].database == database)
			return &plan->databases[i];
	if (plan->ndatabases == plan->max_databases)
	{
		plan->max_databases = Max(16, 2 * plan->max_databases);
		plan->databases = plan->databases == NULL ?
			palloc(plan->max_databases * sizeof(DatabaseMaps)) :
			repalloc(plan->databases, plan->max_databases * sizeof(DatabaseMaps));
	}
	maps = &plan->databases[plan->ndatabases++];
	*maps = (DatabaseMaps) {.database = database,.first = at,.place.at = at};
	return maps;
}

/* Returns the number of blocks. */
static int64
count_blocks(DatabaseMaps *maps, const uint8 *map, Size map_bytes)
{
	PbpExtentReader reader;
	PbpExtent	extent;
	int64		blocks = 0;

	for (int last = 0; last <= 1; last++)
	{
		pbp_extents_read(&reader, map, map_bytes,
						 last ? PBP_STATES_LAST_BAND : PBP_STATES_OTHER_BANDS);
		while (pbp_extent_next(&reader, &extent))
		{
			if (extent.nwanted == 0)
				continue;
			maps->bands[pbp_extent_band(&extent, last)] += extent.nwanted;
			for (int i = 0; i < extent.nblocks; i++)
				maps->levels[pbp_map_level(extent.states[i])] += extent.states[i] != 0;
			blocks += extent.nwanted;
		}
	}
	return blocks;
}

/* Returns false if the restore was stopped, or if the file has something impossible. */
static bool
read_plan(Plan *plan)
{
	PbpCarryEntry entry;
	int64		at = plan->reader.file.next;
	int64		blocks = 0;

	for (; pbp_carry_next(&plan->reader, &entry); at = plan->reader.file.next)
	{
		DatabaseMaps *maps = database_maps(plan, entry.key.locator.dbOid, at);
		const uint8 *map = pbp_carry_map(&plan->reader, &entry);

		if (!pbp_carry_goes_on())
			return false;
		maps->end = plan->reader.file.next;
		if (map != NULL)
			blocks += count_blocks(maps, map, entry.map_bytes);
	}
	if (plan->reader.is_damaged)
		pbp_log_ignored_file(PBP_CARRY_FILE, "it has an impossible entry");
	if (plan->reader.is_damaged || plan->reader.file.error != 0)
		return false;
	pbp_carry_lock()->blocks = blocks;
	pbp_unlock_shared();
	return true;
}

/*
 * Begins a transaction with a lock on pg_database, for which nobody has to wait
 * behind this process.  Returns false if the restore was stopped before.
 */
static bool
begin_with_pg_database(Plan *plan)
{
	for (;;)
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		if (ConditionalLockRelationOid(DatabaseRelationId, AccessShareLock))
			return true;
		CommitTransactionCommand();
		if (!plan->lock_logged)
			ereport(LOG,
					(errmsg("the restore of both caches waits until \"pg_database\" is not locked")));
		plan->lock_logged = true;
		if (!pbp_carry_goes_on())
			return false;
		pbp_worker_wait(WAIT_MS);
	}
}

/* Finds the databases that a worker can connect to. */
static void
find_databases(Plan *plan)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *databases;

	if (begin_with_pg_database(plan))
	{
		databases = list_open_databases();
		for (int i = 0; i < plan->ndatabases; i++)
			plan->databases[i].accepts = list_member_oid(databases, plan->databases[i].database);
		CommitTransactionCommand();
	}
	MemoryContextSwitchTo(context);
}

/* Shared relations are there in each database. */
static Oid
database_to_connect(const Plan *plan, const DatabaseMaps *maps)
{
	if (OidIsValid(maps->database))
		return maps->accepts ? maps->database : InvalidOid;
	for (int i = 0; i < plan->ndatabases; i++)
	{
		if (plan->databases[i].accepts)
			return plan->databases[i].database;
	}
	return InvalidOid;
}

/*
 * Decides which blocks shared buffers get.  Blocks that only the page cache held
 * get what the pool has more than when it was saved.
 *
 * The page cache gets no more than it can hold, so that the last extents do not push out
 * the first, and without what others use.  What neither cache needs for anything else is
 * spare.
 */
static void
find_room(Plan *plan)
{
	int64		room = NBuffers;
	int64		levels[PBP_MAP_LEVELS] = {0};
	PbpMemoryFacts facts = pbp_read_memory_facts(0, PBP_UNKNOWN);
	PbpCarryProgress *progress;

	for (int i = 0; i < plan->ndatabases; i++)
	{
		if (!OidIsValid(database_to_connect(plan, &plan->databases[i])))
			continue;
		for (int level = 0; level < PBP_MAP_LEVELS; level++)
			levels[level] += plan->databases[i].levels[level];
	}
	plan->border = PBP_MAP_LEVELS - 1;
	for (; plan->border > 0 && levels[plan->border] <= room; plan->border--)
		room -= levels[plan->border];
	progress = pbp_carry_lock();
	progress->wanted_buffers = plan->border > 0 ? NBuffers : NBuffers - room;
	if (plan->border == 0)
		room = Min(room, Max(NBuffers - plan->reader.file.stamp.nbuffers, 0));
	progress->border_room = room;
	progress->cache_room = facts.memory.known ? facts.memory.cache_bytes / BLCKSZ : PG_INT64_MAX;
	progress->spare_room = facts.memory.known ?
		progress->cache_room - Max(progress->blocks - NBuffers, 0) : 0;
	pbp_unlock_shared();
}

/* ---- by workers ---- */

/* At the end of this process, also by an error, but not in a crash. */
static void
end_running(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	(void) unlink(PBP_CARRY_MARK);
	if (running != NULL)
		TerminateBackgroundWorker(running);
}

static bool
register_worker(Plan *plan, const PbpCarryJob *job)
{
	BackgroundWorker worker;

	pbp_describe_worker(&worker, "pgbufprobe carry-over restore", "pbp_carry_load_main",
						BGW_NEVER_RESTART, 0);
	memcpy(worker.bgw_extra, job, sizeof(*job));
	for (int waits = 0; pbp_carry_goes_on() && !plan->no_slot; waits++)
	{
		if (RegisterDynamicBackgroundWorker(&worker, &running))
			return true;
		if (waits == 0 && !plan->failure_logged)
			ereport(LOG,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("the restore of both caches waits for a background worker slot"),
					 errhint("You may need to increase max_worker_processes.")));
		plan->failure_logged = true;
		plan->no_slot = waits >= MAX_SLOT_WAITS;
		pbp_worker_wait(WAIT_MS);
	}
	return false;
}

/* Waits until the worker has ended; ends it if the restore is stopped. */
static void
wait_for_worker(void)
{
	bool		stopped = false;

	while (pbp_worker_runs(running))
	{
		if (!stopped && !pbp_carry_goes_on())
		{
			TerminateBackgroundWorker(running);
			stopped = true;
		}
		if (stopped && pbp_must_end())
			break;
		pbp_worker_wait(WAIT_MS);
	}
	pfree(running);
	running = NULL;
}

/*
 * Runs one worker after the other, so that none is connected for long.  Returns what the
 * last one has reported at its end.
 */
static PbpCarryPart
restore_database(Plan *plan, DatabaseMaps *maps, int band)
{
	PbpCarryJob job = {
		.database = maps->database,.band = band,.border = plan->border,.end = maps->end,
		.may_fail = plan->round < ROUNDS_THAT_FAIL
	};
	PbpCarryPart part = PBP_PART_LEFT;

	while (part == PBP_PART_LEFT && pbp_carry_goes_on())
	{
		PbpCarryProgress *progress;

		find_databases(plan);
		job.connect_to = database_to_connect(plan, maps);
		if (!OidIsValid(job.connect_to))
			return PBP_PART_DONE;
		progress = pbp_carry_lock();
		job.part_number = ++progress->part_number;
		job.from = progress->place = maps->place;
		progress->part = PBP_PART_BEGUN;
		progress->is_lost = false;
		pbp_unlock_shared();
		if (register_worker(plan, &job))
			wait_for_worker();
		progress = pbp_carry_lock();
		maps->place = progress->place;
		maps->is_lost = maps->is_lost || progress->is_lost;
		part = progress->part;
		pbp_unlock_shared();
		if (part == PBP_PART_LEFT)
			pbp_worker_wait(BETWEEN_WORKERS_MS);
	}
	return part;
}

/* Tries databases that fail again in the next round.  Returns false if the restore was stopped. */
static bool
restore_round(Plan *plan)
{
	for (int i = 0; i < plan->ndatabases; i++)
		plan->databases[i].has_failed = false;
	for (int band = PBP_EXTENT_BANDS - 1; band >= 0; band--)
	{
		for (int i = 0; i < plan->ndatabases; i++)
		{
			DatabaseMaps *maps = &plan->databases[i];
			PbpCarryPart part = PBP_PART_DONE;

			if (maps->bands[band] == 0 || maps->has_failed)
				continue;
			if (OidIsValid(database_to_connect(plan, maps)))
				part = restore_database(plan, maps, band);
			if (!pbp_carry_goes_on())
				return false;
			if (part == PBP_PART_DONE)
			{
				/* with what the last worker has left out */
				plan->done += maps->bands[band];
				pbp_carry_lock()->done = plan->done;
				pbp_unlock_shared();
				maps->bands[band] = 0;
				maps->place = (PbpCarryPlace) {.at = maps->first};
				continue;
			}
			maps->has_failed = true;
			if (!plan->failure_logged)
				ereport(LOG,
						(errmsg("could not restore a part of both caches in database with OID %u, will try again",
								maps->database),
						 errdetail("A background worker failed, ended early, or waited too long for a lock.")));
			plan->failure_logged = true;
		}
	}
	return true;
}

/* Databases that have failed in this round, or lack a part for another reason. */
static int
count_failed(const Plan *plan, bool or_lost)
{
	int			nfailed = 0;

	for (int i = 0; i < plan->ndatabases; i++)
		nfailed += plan->databases[i].has_failed || (or_lost && plan->databases[i].is_lost);
	return nfailed;
}

/* Returns false if the restore was stopped. */
static bool
restore_all(Plan *plan)
{
	for (; plan->round < MAX_ROUNDS && !plan->no_slot; plan->round++)
	{
		if (plan->round > 0)
			pbp_carry_sleep_until(pbp_now_ns() + BETWEEN_ROUNDS_NS);
		if (!restore_round(plan))
			return false;
		if (count_failed(plan, false) == 0)
			break;
	}
	return pbp_carry_goes_on();
}

/* ---- all of it ---- */

/* If it has ended, the restore was not stopped; in some databases, a part may have failed. */
static void
end_progress(bool ended, int nfailed)
{
	PbpCarryProgress *progress = pbp_carry_lock();
	int64		end_ns = pbp_now_ns();
	double		seconds = (double) (end_ns - progress->begun_ns) / 1e9;
	double		mb = (double) progress->read * BLCKSZ / (1024 * 1024);

	progress->incomplete = ended && nfailed > 0;
	if (ended)
		progress->ended_ns = end_ns;
	else
		progress->begun_ns = 0;
	pbp_unlock_shared();
	if (ended && nfailed == 0)
		ereport(LOG,
				(errmsg("restored both caches: %.0f MB read in %.1f s", mb, seconds)));
	else if (ended)
		ereport(LOG,
				(errmsg_plural("restored both caches without a part of %d database: %.0f MB read in %.1f s",
							   "restored both caches without a part of %d databases: %.0f MB read in %.1f s",
							   (unsigned long) nfailed, nfailed, mb, seconds),
				 errdetail("What was saved remains until shared buffers hold as many pages as it has, or for a day.")));
}

/* The file may be better than what can be saved now. */
static void
keep_unreadable(const PbpCarryReader *reader)
{
	if (reader->file.error == 0)
		return;
	pbp_carry_lock()->incomplete = true;
	pbp_unlock_shared();
	pbp_carry_log_unreadable(reader);
}

/* Reads the file once to verify it, once to make a plan, and once per band. */
void
pbp_carry_restore(void)
{
	Plan		plan = {0};
	uint64		crashes = pbp_count_crashes(PBP_CARRY_MARK);
	PbpCarryProgress *progress;
	bool		ended;

	if (!pbp_carry_open(&plan.reader, true))
	{
		keep_unreadable(&plan.reader);
		return;
	}
	/* one that crashes the server, for lack of memory, must not do so at each start */
	if (crashes >= MAX_CRASHES)
	{
		pbp_log_ignored_file(PBP_CARRY_FILE, "a crash or an immediate shutdown has ended each"
							 " of its last restores");
		pbp_carry_close(&plan.reader);
		return;
	}
	pbp_write_mark(PBP_CARRY_MARK, crashes + 1);
	before_shmem_exit(end_running, PointerGetDatum(NULL));
	progress = pbp_carry_lock();
	progress->phase = PBP_CARRY_RESTORING;
	progress->saved_at = plan.reader.file.stamp.written_at;
	progress->done = progress->read = progress->next_read_ns = progress->ended_ns = 0;
	progress->begun_ns = pbp_now_ns();
	pbp_unlock_shared();
	ended = read_plan(&plan);
	if (ended)
	{
		find_databases(&plan);
		find_room(&plan);
		ended = restore_all(&plan);
	}
	end_progress(ended, count_failed(&plan, true));
	keep_unreadable(&plan.reader);
	(void) unlink(PBP_CARRY_MARK);
	pbp_carry_close(&plan.reader);
}

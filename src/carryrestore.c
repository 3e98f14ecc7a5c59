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

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "carry.h"
#include "carryextent.h"
#include "carryfile.h"
#include "carryprogress.h"
#include "latency.h"
#include "relations.h"
#include "servermemory.h"
#include "shutdown.h"

#define WAIT_FOR_WORKER_MS	1000
#define WAIT_FOR_SLOT_MS	1000

/* Others who wait until a database is free look ten times per second. */
#define BETWEEN_WORKERS_MS	150

/* The part of the file that has the maps of a database. */
typedef struct DatabaseMaps
{
	Oid			database;
	bool		accepts;		/* does it exist, and accept connections? */
	int64		first;
	int64		end;
	int64		bands[PBP_EXTENT_BANDS];	/* blocks by the band of their extent */
	int64		levels[PBP_MAP_LEVELS]; /* the same blocks by their level */
} DatabaseMaps;

typedef struct Plan
{
	PbpCarryReader reader;
	DatabaseMaps *databases;
	int			ndatabases;
	int			max_databases;
	int			border;			/* as in PbpCarryJob */
	int64		done;			/* blocks whose turn is over */
	bool		slot_logged;
} Plan;

/* The worker that is running, if any; to be ended with this process. */
static BackgroundWorkerHandle *running = NULL;

/* ---- what there is to restore ---- */

/* The maps of a database are mostly neighbors. */
static DatabaseMaps *
database_maps(Plan *plan, Oid database)
{
	DatabaseMaps *maps;

	for (int i = plan->ndatabases - 1; i >= 0; i--)
	{
		if (plan->databases[i].database == database)
			return &plan->databases[i];
	}
	if (plan->ndatabases == plan->max_databases)
	{
		plan->max_databases = Max(16, 2 * plan->max_databases);
		plan->databases = plan->databases == NULL ?
			palloc(plan->max_databases * sizeof(DatabaseMaps)) :
			repalloc(plan->databases, plan->max_databases * sizeof(DatabaseMaps));
	}
	maps = &plan->databases[plan->ndatabases++];
	memset(maps, 0, sizeof(*maps));
	maps->database = database;
	maps->first = -1;
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
		pbp_extents_read(&reader, map, map_bytes, last);
		while (pbp_extent_next(&reader, &extent))
		{
			maps->bands[pbp_extent_band(&extent, last)] += extent.nwanted;
			for (int i = 0; i < extent.nblocks; i++)
				maps->levels[pbp_map_level(extent.states[i])] += extent.states[i] != 0;
			blocks += extent.nwanted;
		}
	}
	return blocks;
}

/* False: the file has something impossible, and nothing was restored. */
static bool
read_plan(Plan *plan)
{
	PbpCarryEntry entry;
	int64		at = plan->reader.next;
	int64		blocks = 0;

	for (; pbp_carry_next(&plan->reader, &entry); at = plan->reader.next)
	{
		DatabaseMaps *maps = database_maps(plan, entry.file.database);
		const uint8 *map = pbp_carry_map(&plan->reader, &entry);

		CHECK_FOR_INTERRUPTS();
		if (maps->first < 0)
			maps->first = at;
		maps->end = plan->reader.next;
		if (map != NULL)
			blocks += count_blocks(maps, map, entry.map_bytes);
	}
	if (plan->reader.is_damaged)
	{
		pbp_carry_log_ignored("it has an impossible entry");
		return false;
	}
	pbp_carry_lock()->blocks = blocks;
	pbp_carry_unlock();
	return true;
}

/* Finds the databases that a worker can connect to. */
static void
find_databases(Plan *plan)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *databases;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	databases = list_open_databases();
	for (int i = 0; i < plan->ndatabases; i++)
		plan->databases[i].accepts = list_member_oid(databases, plan->databases[i].database);
	CommitTransactionCommand();
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
 */
static void
find_border(Plan *plan)
{
	int64		room = NBuffers;
	int64		levels[PBP_MAP_LEVELS] = {0};

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
	if (plan->border == 0)
		room = Min(room, Max(NBuffers - plan->reader.header.nbuffers, 0));
	pbp_carry_lock()->border_room = room;
	pbp_carry_unlock();
}

/*
 * No more than the page cache can hold, so that the last extents do not push out
 * the first.  Gaps get what neither cache needs for anything else.
 */
static void
find_cache_room(void)
{
	int64		bytes = pbp_page_cache_bytes();
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->cache_room = bytes == PBP_UNKNOWN ? PG_INT64_MAX : bytes / BLCKSZ;
	progress->gap_room = bytes == PBP_UNKNOWN ? 0 :
		progress->cache_room - Max(progress->blocks - NBuffers, 0);
	pbp_carry_unlock();
}

/* ---- by workers ---- */

/* At the end of this process, also by an error, but not in a crash. */
static void
end_running(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	pbp_carry_unmark_restore();
	if (running != NULL)
		TerminateBackgroundWorker(running);
}

/* Waits until there is a slot.  False: the restore was stopped. */
static bool
start_worker(Plan *plan, const PbpCarryJob *job)
{
	BackgroundWorker worker;

	pbp_carry_load_worker(&worker, job);
	while (pbp_carry_goes_on())
	{
		if (RegisterDynamicBackgroundWorker(&worker, &running))
			return true;
		if (!plan->slot_logged)
			ereport(LOG,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("the restore of both caches waits for a background worker slot"),
					 errhint("You may need to increase max_worker_processes.")));
		plan->slot_logged = true;
		pbp_carry_wait(WAIT_FOR_SLOT_MS);
	}
	return false;
}

/* Runs a worker to its end, or ends it if the restore is stopped. */
static bool
run_worker(Plan *plan, const PbpCarryJob *job)
{
	BgwHandleStatus status;
	pid_t		pid;
	bool		stopped = false;

	if (!start_worker(plan, job))
		return false;
	while ((status = GetBackgroundWorkerPid(running, &pid)) == BGWH_STARTED ||
		   status == BGWH_NOT_YET_STARTED)
	{
		if (!stopped && !pbp_carry_goes_on())
		{
			TerminateBackgroundWorker(running);
			stopped = true;
		}
		if (stopped && pbp_must_end())
			break;
		pbp_carry_wait(WAIT_FOR_WORKER_MS);
	}
	pfree(running);
	running = NULL;
	return !stopped && pbp_carry_goes_on();
}

/* Runs one worker; sets where the next one goes on. */
static bool
restore_part(Plan *plan, PbpCarryJob *job)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->database = job->connect_to;
	progress->resume = 0;
	pbp_carry_unlock();
	if (!run_worker(plan, job))
		return false;
	progress = pbp_carry_lock();
	job->first = progress->resume;
	job->skip = progress->resume_extents;
	pbp_carry_unlock();
	return true;
}

/* One worker after the other, so that none is connected for long. */
static bool
restore_database(Plan *plan, const DatabaseMaps *maps, int band)
{
	PbpCarryJob job = {
		.database = maps->database,.band = band,.border = plan->border,
		.first = maps->first,.end = maps->end
	};

	if (maps->bands[band] == 0)
		return true;
	for (;;)
	{
		find_databases(plan);
		job.connect_to = database_to_connect(plan, maps);
		if (!OidIsValid(job.connect_to))
			return true;
		if (!restore_part(plan, &job))
			return false;
		if (job.first == 0)
			return true;
		pbp_carry_wait(BETWEEN_WORKERS_MS);
	}
}

/* After a worker: what it left out is done, too. */
static void
count_done(Plan *plan, int64 blocks)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	plan->done += blocks;
	progress->done = plan->done;
	progress->database = InvalidOid;
	pbp_carry_unlock();
}

/* False: the restore was stopped. */
static bool
restore_all(Plan *plan)
{
	for (int band = PBP_EXTENT_BANDS - 1; band >= 0; band--)
	{
		for (int i = 0; i < plan->ndatabases; i++)
		{
			if (!restore_database(plan, &plan->databases[i], band))
				return false;
			count_done(plan, plan->databases[i].bands[band]);
		}
	}
	return true;
}

/* ---- all of it ---- */

static void
begin_progress(const PbpCarryHeader *header, int64 file_bytes)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->phase = PBP_CARRY_RESTORING;
	progress->saved_at = header->saved_at;
	progress->map_bytes = file_bytes;
	progress->done = 0;
	progress->read = 0;
	progress->next_read_ns = 0;
	progress->begun_ns = pbp_now_ns();
	progress->ended_ns = 0;
	pbp_carry_unlock();
}

static void
end_progress(bool complete)
{
	PbpCarryProgress *progress = pbp_carry_lock();
	double		seconds = (double) (pbp_now_ns() - progress->begun_ns) / 1e9;
	int64		read = progress->read;

	progress->database = InvalidOid;
	if (complete)
		progress->ended_ns = pbp_now_ns();
	else
		progress->begun_ns = 0;
	pbp_carry_unlock();
	if (complete)
		ereport(LOG,
				(errmsg("restored both caches: %.0f MB read in %.1f s",
						(double) read * BLCKSZ / (1024 * 1024), seconds)));
}

/* Reads the file once to verify it, once to make a plan, and once per band. */
bool
pbp_carry_restore(void)
{
	Plan		plan = {0};
	bool		complete;

	if (!pbp_carry_open(&plan.reader, true))
		return true;
	if (!pbp_carry_mark_restore())
	{
		pbp_carry_close(&plan.reader);
		return true;
	}
	before_shmem_exit(end_running, PointerGetDatum(NULL));
	begin_progress(&plan.reader.header, plan.reader.end + (int64) sizeof(pg_crc32c));
	complete = read_plan(&plan);
	if (complete)
	{
		find_databases(&plan);
		find_border(&plan);
		find_cache_room();
		complete = restore_all(&plan);
	}
	end_progress(complete);
	pbp_carry_unmark_restore();
	pbp_carry_close(&plan.reader);
	return complete;
}

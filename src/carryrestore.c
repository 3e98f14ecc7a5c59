/*-------------------------------------------------------------------------
 *
 * carryrestore.c
 *	  Restores both caches after a start of the server, the most useful pages
 *	  of all databases first.
 *
 * For each usage count from the highest down, one worker after the other
 * connects to a database and reads its pages of that usage count into free
 * buffers (carryload.c).  If the pool is larger than it was, workers then fill
 * it with pages that only the page cache held.  The rest of these needs no
 * database: this process advises the kernel of them (carryadvise.c), the files
 * first of which most was in shared buffers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "carry.h"
#include "carryfile.h"
#include "carryprogress.h"
#include "latency.h"
#include "relations.h"
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
	int64		blocks[PBP_MAP_LEVELS];
} DatabaseMaps;

/* A segment of which the page cache held blocks that shared buffers did not. */
typedef struct CachedFile
{
	int64		entry;			/* where it is in the file */
	double		share;
	uint32		blocks;
	int			database;		/* its number in the plan */
} CachedFile;

typedef struct Plan
{
	PbpCarryReader reader;
	DatabaseMaps *databases;
	int			ndatabases;
	int			max_databases;
	CachedFile *files;
	int64		nfiles;
	int64		max_files;
	int64		done;			/* blocks whose turn is over */
	PbpCarryPace pace;
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

static void
add_cached_file(Plan *plan, const CachedFile *file)
{
	if (plan->nfiles == plan->max_files)
	{
		plan->max_files = Max(1024, 2 * plan->max_files);
		plan->files = plan->files == NULL ?
			MemoryContextAllocHuge(CurrentMemoryContext, plan->max_files * sizeof(CachedFile)) :
			repalloc_huge(plan->files, plan->max_files * sizeof(CachedFile));
	}
	plan->files[plan->nfiles++] = *file;
}

static int
by_share(const void *a, const void *b)
{
	const CachedFile *one = a;
	const CachedFile *other = b;

	if (one->share != other->share)
		return one->share > other->share ? -1 : 1;
	return one->entry < other->entry ? -1 : 1;
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
		DatabaseMaps *maps = database_maps(plan, entry.database);
		CachedFile	file = {
			.entry = at,.share = pbp_carry_share(&entry),.blocks = entry.levels[0],
			.database = (int) (maps - plan->databases)
		};

		CHECK_FOR_INTERRUPTS();
		if (maps->first < 0)
			maps->first = at;
		maps->end = plan->reader.next;
		for (int level = 0; level < PBP_MAP_LEVELS; level++)
		{
			maps->blocks[level] += entry.levels[level];
			blocks += entry.levels[level];
		}
		if (file.blocks > 0)
			add_cached_file(plan, &file);
	}
	if (plan->reader.is_damaged)
	{
		pbp_carry_log_ignored("it has an impossible entry");
		return false;
	}
	if (plan->nfiles > 0)
		qsort(plan->files, plan->nfiles, sizeof(CachedFile), by_share);
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
					 errmsg("the restore of shared buffers waits for a background worker slot"),
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
		if (pbp_must_end())
			return false;
		pbp_carry_wait(WAIT_FOR_WORKER_MS);
	}
	pfree(running);
	running = NULL;
	return !stopped && pbp_carry_goes_on();
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

/* Runs one worker; sets where the next one goes on. */
static bool
restore_part(Plan *plan, PbpCarryJob *job)
{
	PbpCarryProgress *progress = pbp_carry_lock();
	int64		read_before = progress->read;

	progress->database = job->connect_to;
	progress->resume = 0;
	pbp_carry_unlock();
	if (!run_worker(plan, job))
		return false;
	progress = pbp_carry_lock();
	job->first = progress->resume;
	job->skip = progress->resume_blocks;
	job->limit -= progress->read - read_before;
	pbp_carry_unlock();
	return true;
}

/* One worker after the other, so that none is connected for long. */
static bool
restore_database(Plan *plan, const DatabaseMaps *maps, PbpCarryJob *job)
{
	if (maps->blocks[job->level] == 0)
		return true;
	job->database = maps->database;
	job->end = maps->end;
	job->first = maps->first;
	job->skip = 0;
	while (OidIsValid(job->connect_to = database_to_connect(plan, maps)))
	{
		if (!restore_part(plan, job))
			return false;
		if (job->first == 0)
			break;
		pbp_carry_wait(BETWEEN_WORKERS_MS);
		find_databases(plan);
	}
	return true;
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

/* False: the restore was stopped; here and below. */
static bool
restore_level(Plan *plan, int level)
{
	for (int i = 0; i < plan->ndatabases; i++)
	{
		PbpCarryJob job = {.level = level,.limit = PG_INT64_MAX};

		if (!restore_database(plan, &plan->databases[i], &job))
			return false;
		count_done(plan, plan->databases[i].blocks[level]);
	}
	return true;
}

/* The lowest share of the files that are needed to fill so many buffers. */
static double
share_to_fill(const Plan *plan, int64 buffers)
{
	double		share = 0;

	for (int64 i = 0; i < plan->nfiles && buffers > 0; i++)
	{
		if (!OidIsValid(database_to_connect(plan, &plan->databases[plan->files[i].database])))
			continue;
		share = plan->files[i].share;
		buffers -= plan->files[i].blocks;
	}
	return share;
}

/* Fills what the pool has more than when it was saved. */
static bool
restore_larger_pool(Plan *plan)
{
	PbpCarryJob job = {.level = 0,.limit = NBuffers - plan->reader.header.nbuffers};

	job.min_share = share_to_fill(plan, job.limit);
	for (int i = 0; i < plan->ndatabases && job.limit > 0; i++)
	{
		if (!restore_database(plan, &plan->databases[i], &job))
			return false;
		count_done(plan, 0);
	}
	return true;
}

static bool
restore_shared_buffers(Plan *plan)
{
	pbp_carry_enter(PBP_CARRY_SHARED_BUFFERS);
	for (int level = PBP_MAP_LEVELS - 1; level > 0; level--)
	{
		if (!restore_level(plan, level))
			return false;
	}
	return restore_larger_pool(plan);
}

/* ---- by advice ---- */

static bool
restore_page_cache(Plan *plan)
{
	pbp_carry_enter(PBP_CARRY_OS_CACHE);
	SetCurrentStatementStartTimestamp();
	for (int64 i = 0; i < plan->nfiles; i++)
	{
		if (!pbp_carry_advise(&plan->reader, plan->files[i].entry, &plan->pace) || !pbp_carry_goes_on())
			return false;
		count_done(plan, plan->files[i].blocks);
	}
	return true;
}

/* ---- all of it ---- */

static void
begin_progress(const PbpCarryHeader *header, int64 file_bytes)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	progress->saved_at = header->saved_at;
	progress->map_bytes = file_bytes;
	progress->done = 0;
	progress->read = 0;
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

/* Memory: 24 bytes for each file of which only the page cache held blocks. */
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
		complete = restore_shared_buffers(&plan) && restore_page_cache(&plan);
	}
	end_progress(complete);
	pbp_carry_unmark_restore();
	pbp_carry_close(&plan.reader);
	return complete;
}

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
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/guc.h"

#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"
#include "carry/carry.h"

/* DROP DATABASE, among others, waits five seconds for others to leave the database. */
#define CONNECTED_NS		INT64CONST(4000000000)

/* Others who wait for a relation get their lock after this time. */
#define RELATION_LOCKED_NS	INT64CONST(50000000)

/* The last band is read in this share of the time, to leave the disk to sessions. */
#define LAST_BAND_SHARE		0.1

StaticAssertDecl(sizeof(PbpCarryJob) <= BGW_EXTRALEN, "a worker must be able to get its job");

typedef struct Load
{
	PbpCarryJob job;
	int64		until_ns;		/* end this worker */
	bool		failed;			/* by an error that may pass; end this worker */
	bool		is_left;		/* the present extent is, to another worker */
	bool		is_lost;		/* the rest of the present map is, by another error */
	PbpCarryPlace place;		/* how far it is */
	PbpCarryEntry entry;
} Load;

/* ---- an extent ---- */

/*
 * Leaves out what is past the end of the file by now, and what neither cache has
 * room for.  Requests buffers for blocks for which shared buffers may have room, and
 * returns true if there are any.
 */
static bool
leave_out(const Load *load, PbpExtentRestore *part, int64 *border_room)
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
		int			level = pbp_map_level(part->extent.states[i]);
		bool		at_border = level == load->job.border;

		if (part->extent.states[i] == 0)
			continue;
		if (level > load->job.border || (at_border && *border_room > 0))
		{
			any = true;
			*border_room -= pbp_extent_want_buffer(part, i) && at_border;
		}
		else if (!has_cache_room)
			part->extent.states[i] = 0;
	}
	return any;
}

/* Returns true if there are more blocks to read, after others could lock the relation. */
static bool
lock_and_fill_buffers(PbpExtentRestore *part)
{
	const PbpLocator *locator = &part->key.locator;
	Oid			relid;
	Relation	relation = NULL;
	bool		more = false;

	/* catalogs may be locked */
	pbp_let_die(true);
	relid = RelidByRelfilenumber(locator->spcOid, locator->relNumber);
	if (OidIsValid(relid) && ConditionalLockRelationOid(relid, AccessShareLock))
		relation = try_relation_open(relid, NoLock);
	pbp_let_die(false);
	if (relation == NULL)
		return false;
	if (RelFileLocatorEquals(relation->rd_locator, *locator) &&
		smgrexists(RelationGetSmgr(relation), part->key.fork))
		more = pbp_extent_fill(part, relation, pbp_now_ns() + RELATION_LOCKED_NS);
	relation_close(relation, AccessShareLock);
	return more;
}

/* In a transaction.  The file may be gone. */
static void
restore_both_caches(const Load *load, PbpExtentRestore *part, int64 *border_room)
{
	bool		wants_buffers;

	if (!pbp_extent_open(part))
		return;
	wants_buffers = leave_out(load, part, border_room);
	if (part->has_page_cache)
	{
		pbp_extent_read(part);
		pbp_extent_wait(part);
	}
	while (wants_buffers && !part->is_left)
		wants_buffers = lock_and_fill_buffers(part);
	if (part->has_page_cache && !part->is_left)
		pbp_extent_settle(part);
	pbp_os_close(&part->file);
}

/*
 * Says how far this worker is, so that another one can go on.  Says nothing if
 * its leader was replaced, which has started others.
 */
static void
report(const Load *load, PbpCarryPart part)
{
	PbpCarryProgress *progress = pbp_carry_lock();

	if (progress->part_number == load->job.part_number)
	{
		progress->part = part;
		progress->place = load->place;
	}
	pbp_unlock_shared();
}

/*
 * A damaged page, and any error that was tried often enough, ends no more than the
 * map.  Others end the worker, and its part is tried again: at once after a
 * conflict with recovery, which ended because the transaction has.
 */
static void
judge_error(Load *load, PbpExtentRestore *part)
{
	int			code = geterrcode();

	part->is_left = code == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		code == ERRCODE_T_R_DEADLOCK_DETECTED;
	load->failed = code == ERRCODE_LOCK_NOT_AVAILABLE ||
		(!part->is_left && code != ERRCODE_DATA_CORRUPTED && load->job.may_fail);
	load->is_lost = !part->is_left && !load->failed && code != ERRCODE_DATA_CORRUPTED;
	if (!part->is_left && code != ERRCODE_LOCK_NOT_AVAILABLE)
		EmitErrorReport();
}

/* Returns false after an error. */
static bool
try_extent(Load *load, PbpExtentRestore *part, int64 *border_room)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PG_TRY();
	{
		restore_both_caches(load, part, border_room);
		CommitTransactionCommand();
		done = true;
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		judge_error(load, part);
		AbortCurrentTransaction();
		pbp_let_die(false);
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return done;
}

/* Returns when the next extent may be read, after some blocks were read from begun_ns on. */
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
	int64		border_room = before.border_room;
	PbpExtentRestore part = {
		.extent = *extent,.key = load->entry.key,.max_gap = PBP_MAX_GAP,
		.spare_room = before.spare_room,.until_ns = load->until_ns
	};
	int64		begun_ns = pbp_now_ns();
	bool		done = try_extent(load, &part, &border_room);
	PbpCarryProgress *progress = pbp_carry_lock();

	load->is_left = load->failed || part.is_left;
	progress->is_lost = progress->is_lost || load->is_lost;
	progress->read += part.nread;
	progress->next_read_ns = next_read_ns(load, begun_ns, part.nread);
	if (!load->is_left)
	{
		progress->done += extent->nwanted;
		progress->border_room -= before.border_room - border_room;
		progress->cache_room -= part.nkept;
		progress->spare_room -= before.spare_room - part.spare_room;
	}
	pbp_unlock_shared();
	return done;
}

/* ---- maps ---- */

static bool
has_time(const Load *load)
{
	return pbp_carry_goes_on() && !load->failed && pbp_now_ns() < load->until_ns;
}

/* Returns false if the rest of the map is left to another worker. */
static bool
restore_map(Load *load, const uint8 *map)
{
	PbpExtentReader reader;
	PbpExtent	extent;
	bool		last = load->job.band == PBP_LAST_BAND;

	pbp_extents_read(&reader, map, load->entry.map_bytes,
					 last ? PBP_STATES_LAST_BAND : PBP_STATES_OTHER_BANDS);
	for (int64 number = 0; pbp_extent_next(&reader, &extent); number++)
	{
		if (number < load->place.extents || extent.nwanted == 0 ||
			pbp_extent_band(&extent, last) != load->job.band)
			continue;
		pbp_carry_sleep_until(Min(pbp_carry_progress().next_read_ns, load->until_ns));
		if (!has_time(load))
			return false;
		if (!restore_extent(load, &extent) || load->is_left)
			return !load->is_left;
		load->place.extents = number + 1;
		report(load, PBP_PART_BEGUN);
	}
	return true;
}

/*
 * Returns false if there is a rest, which is left to another worker.  If the file
 * cannot be read, nothing is said of that map.
 */
static bool
restore_maps(Load *load, PbpCarryReader *reader)
{
	load->place = load->job.from;
	reader->file.next = load->place.at;
	reader->file.end = Min(reader->file.end, load->job.end);
	while (pbp_carry_next(reader, &load->entry))
	{
		const uint8 *map = NULL;

		if (!has_time(load))
			return false;
		if (load->entry.key.locator.dbOid == load->job.database)
			map = pbp_carry_map(reader, &load->entry);
		if (reader->file.error != 0 || (map != NULL && !restore_map(load, map)))
			return false;
		load->place = (PbpCarryPlace) {.at = reader->file.next};
		report(load, PBP_PART_BEGUN);
	}
	return true;
}

void
pbp_carry_load_main(Datum arg pg_attribute_unused())
{
	Load		load = {0};
	PbpCarryReader reader;

	memcpy(&load.job, MyBgworkerEntry->bgw_extra, sizeof(load.job));
	/* a database may have settings that are meant for its sessions */
	SetConfigOption("zero_damaged_pages", "false", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("ignore_checksum_failure", "false", PGC_SUSET, PGC_S_OVERRIDE);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	pbp_start_worker(load.job.connect_to);
	/* counted from here, so that each worker gets some blocks read */
	load.until_ns = pbp_now_ns() + CONNECTED_NS;
	if (pbp_carry_open(&reader, false))
	{
		bool		done = restore_maps(&load, &reader);

		/* a worker that was terminated says nothing of how it has ended */
		if (reader.file.error == 0 && pbp_carry_goes_on())
			report(&load, done ? PBP_PART_DONE : load.failed ? PBP_PART_FAILED : PBP_PART_LEFT);
		pbp_carry_close(&reader);
	}
	proc_exit(0);
}

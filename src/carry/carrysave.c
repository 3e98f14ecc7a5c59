/*-------------------------------------------------------------------------
 *
 * carrysave.c
 *	  Saves a cache map of each file of all databases.
 *
 * The descriptors are scanned once, and then the files of the data directory
 * are taken one after the other, without a database connection or a lock on a
 * relation.  The format of the file belongs in carryfile.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_tablespace_d.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"
#include "carry/carry.h"
#include "os/datafiles.h"
#include "os/oscache.h"

/*
 * At a stop, no more files are visited after the first time, and what was saved of
 * the others before is not copied after the second: then, all of it remains.
 */
#define VISIT_S			7
#define STOP_S			10

/* Sleeps are at least as long as this much processor time requires. */
#define REST_NS			1000000

#define UNTIL_WRITTEN_MS	10

#define NAME_BYTES		64

/* Of the file that was saved before. */
typedef struct Place
{
	PbpCarryEntry entry;		/* begins with the key */
	int64		end;			/* of its map */
	bool		visited;		/* its map was asked for */
} Place;

/*
 * What the page cache held at the save before, which tells pages that are used from
 * those that were read once.
 */
typedef struct Before
{
	bool		is_young;		/* what it had says little about what is used */
	PbpCarryReader reader;
	HTAB	   *places;			/* of entries: Place; NULL: there was no save */
	bool	   *os;				/* for each block of a segment */
} Before;

typedef struct Save
{
	PbpSegment *segment;
	PbpNewFile	file;
	Before		before;
	bool		quick;
	bool		unreadable_logged;	/* that a file could not be opened */
	int64		begun_ns;
	int64		deadline_ns;	/* of a save at a stop */
	int64		cpu_ns;			/* used up to the last rest */
} Save;

/* ---- the save before ---- */

/*
 * Returns false if that takes too long.  Memory: about 100 bytes for each file that
 * the caches had a part of.
 *
 * A save is young within half of the interval between two saves, as at most stops.  One of
 * the future is not: the machine's clock was set back.
 */
static bool
open_before(Before *before, int64 deadline_ns)
{
	HASHCTL		ctl = {
		.keysize = sizeof(PbpFileKey),.entrysize = sizeof(Place),.hcxt = CurrentMemoryContext
	};
	PbpCarryEntry entry;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz saved_at;

	if (!pbp_carry_open(&before->reader, false))
		return true;
	saved_at = before->reader.file.stamp.written_at;
	before->is_young = pbp_carry_over_interval_s != 0 && saved_at <= now &&
		!TimestampDifferenceExceeds(saved_at, now, pbp_carry_over_interval_s * 1000 / 2);
	before->os = palloc(RELSEG_SIZE * sizeof(bool));
	before->places = hash_create("pgbufprobe files", 1024, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	while (pbp_carry_next(&before->reader, &entry))
	{
		Place	   *place = hash_search(before->places, &entry.key, HASH_ENTER, NULL);

		CHECK_FOR_INTERRUPTS();
		place->entry = entry;
		place->end = before->reader.file.next;
		place->visited = false;
		if (pbp_now_ns() >= deadline_ns)
			return false;
	}
	return true;
}

/* Returns the map of a segment and its entry, valid until the next call; NULL if there is none. */
static const uint8 *
map_before(Before *before, const PbpFileKey *key, PbpCarryEntry *entry)
{
	Place	   *place = before->places ? hash_search(before->places, key, HASH_FIND, NULL) : NULL;

	if (place == NULL)
		return NULL;
	place->visited = true;
	before->reader.file.next = place->end;
	*entry = place->entry;
	return pbp_carry_map(&before->reader, entry);
}

/*
 * Says of each block of a segment, until the next call, whether the save before saw it in the
 * page cache twice, or once some time ago; NULL: none.
 */
static const bool *
cached_before(Before *before, const PbpFileKey *key)
{
	PbpCarryEntry entry;
	PbpMapReader reader;
	PbpMapRun	run;
	const uint8 *map = map_before(before, key, &entry);
	uint64		block = 0;

	if (map == NULL)
		return NULL;
	memset(before->os, false, RELSEG_SIZE * sizeof(bool));
	pbp_map_read(&reader, map, entry.map_bytes);
	while (pbp_map_next(&reader, &run))
	{
		PbpMapOs	os = pbp_map_os(run.state);

		memset(before->os + block,
			   os == PBP_MAP_OS_KEPT || (os == PBP_MAP_OS_CACHED && !before->is_young),
			   run.nblocks);
		block += run.nblocks;
	}
	return before->os;
}

/* ---- names ---- */

/* Digits up to a character that is none. */
static bool
parse_number(char **text, uint32 *number)
{
	size_t		ndigits = strspn(*text, "0123456789");
	uint64		value = strtou64(*text, text, 10);

	*number = (uint32) value;
	return ndigits > 0 && ndigits <= 10 && value <= PG_UINT32_MAX;
}

/* 16384_fsm.1, for example.  Temporary relations begin with a letter. */
static bool
parse_name(char *name, PbpFileKey *key)
{
	key->fork = MAIN_FORKNUM;
	key->segment = 0;
	if (!parse_number(&name, &key->locator.relNumber) || key->locator.relNumber == 0)
		return false;
	if (*name == '_')
		name += 1 + forkname_chars(name + 1, &key->fork);
	if (*name == '.')
	{
		name++;
		if (!parse_number(&name, &key->segment))
			return false;
	}
	return *name == '\0' && key->fork != InvalidForkNumber &&
		key->segment <= MaxBlockNumber / RELSEG_SIZE;
}

/* What a path within the data directory is; false: no file of a relation of this server. */
static bool
parse_path(const char *path, PbpFileKey *key)
{
	PbpLocator *locator = &key->locator;
	char		name[NAME_BYTES];

	locator->spcOid = DEFAULTTABLESPACE_OID;
	locator->dbOid = InvalidOid;
	if (sscanf(path, "./global/%63s", name) == 1)
		locator->spcOid = GLOBALTABLESPACE_OID;
	else if (sscanf(path, "./base/%u/%63s", &locator->dbOid, name) != 2 &&
			 sscanf(path, "./pg_tblspc/%u/" TABLESPACE_VERSION_DIRECTORY "/%u/%63s",
					&locator->spcOid, &locator->dbOid, name) != 3)
		return false;
	return parse_name(name, key);
}

/* ---- maps ---- */

static void
put_map(Save *save, const PbpCarryEntry *entry, const void *map)
{
	pbp_put_in_new_file(&save->file, entry, sizeof(*entry));
	pbp_put_in_new_file(&save->file, map, entry->map_bytes);
}

/* Saves the map that a file had, if any. */
static void
keep_map(Save *save, const PbpFileKey *key)
{
	PbpCarryEntry entry;
	const uint8 *map = map_before(&save->before, key, &entry);

	if (map != NULL)
		put_map(save, &entry, map);
}

static void
log_unreadable(Save *save, const PbpOsVerdict *verdict)
{
	if (save->unreadable_logged)
		return;
	save->unreadable_logged = true;
	errno = verdict->error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", verdict->path),
			 errdetail("What was saved before of this and other such files remains.")));
}

/* A file of which neither cache has a block has no entry. */
static void
save_file(Save *save, const PbpFileKey *key)
{
	PbpTakenMap map;
	PbpCarryEntry entry = {.key = *key};
	const bool *os_before = cached_before(&save->before, key);

	if (!pbp_take_map(save->segment, InvalidOid, key, os_before, &map))
		return;
	entry.map_bytes = (uint32) map.bytes.len;
	if (map.verdict.trust == PBP_OS_UNREADABLE)
	{
		keep_map(save, key);
		log_unreadable(save, &map.verdict);
	}
	else if (map.any)
		put_map(save, &entry, map.bytes.data);
}

/*
 * Sleeps as long as pgbufprobe.max_cpu_fraction requires, unless the server
 * stops.  Returns false if no more is to be saved.
 */
static bool
rest(Save *save, PbpDataFiles *files)
{
	int64		used_ns = pbp_cpu_now_ns() - save->cpu_ns;

	if (save->quick)
		return pbp_now_ns() < save->begun_ns + VISIT_S * PBP_NS_PER_S;
	if (used_ns >= REST_NS)
	{
		pbp_pause_data_files(files);
		pbp_carry_sleep_until(pbp_now_ns() +
							  (int64) ((double) used_ns * (1 / pbp_max_cpu_fraction - 1)));
		/* what signals took meanwhile is paid for by the next rest */
		save->cpu_ns += used_ns;
	}
	return pbp_carry_goes_on();
}

/*
 * Files that were not visited keep the maps that they had.  Returns false if there
 * is no time for that.
 */
static bool
keep_rest(Save *save)
{
	HASH_SEQ_STATUS status;
	Place	   *place;

	if (save->before.places == NULL)
		return true;
	hash_seq_init(&status, save->before.places);
	while ((place = hash_seq_search(&status)) != NULL)
	{
		if (!place->visited)
			keep_map(save, &place->entry.key);
		CHECK_FOR_INTERRUPTS();
		if (pbp_now_ns() >= save->deadline_ns)
		{
			hash_seq_term(&status);
			return false;
		}
	}
	return true;
}

static void
log_too_slow(bool kept_rest)
{
	ereport(LOG,
			(errmsg("could not save both caches of all relations within %d s", STOP_S),
			 kept_rest ? errdetail("What was saved before of the other relations remains.") :
			 errdetail("What was saved before remains.")));
}

/* Returns false if the worker must do something else. */
static bool
save_files(Save *save)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext, "pgbufprobe file",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(file_context);
	PbpDataFiles files;
	const char *path;
	bool		goes_on = true;

	pbp_begin_data_files(&files, ".");
	while (goes_on && save->file.error == 0 &&
		   (path = pbp_next_data_file(&files)) != NULL && !pbp_is_wal_file(&files))
	{
		PbpFileKey	key;

		if (parse_path(path, &key))
			save_file(save, &key);
		MemoryContextReset(file_context);
		goes_on = rest(save, &files);
	}
	pbp_end_data_files(&files);
	if (save->quick && !goes_on)
	{
		goes_on = keep_rest(save);
		log_too_slow(goes_on);
	}
	else if (goes_on && files.error != 0)
	{
		errno = files.error;
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read each directory of relations: %m"),
				 errdetail("What was saved before of the other relations remains.")));
		goes_on = keep_rest(save);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(file_context);
	return goes_on;
}

/*
 * Waits until the kernel has written the file, so that the one before stays until
 * a crash of the operating system cannot damage this one.  Does not wait where
 * that is unknown.  For why this is not fsync(), see ownfile.h.
 */
static void
wait_until_written(const Save *save, int file)
{
	PbpCachestat pages;

	if (file < 0 || !pbp_os_cache_on || !pbp_kernel_write_back(file, 0, 0, false))
		return;
	while (pbp_now_ns() < save->deadline_ns && (save->quick || pbp_carry_goes_on()) &&
		   pbp_kernel_cachestat(file, 0, 0, &pages) && pages.dirty + pages.writeback > 0)
		pbp_worker_wait(UNTIL_WRITTEN_MS);
}

/*
 * Returns false if the file of before remains.  Memory: 8 bytes per buffer in use, and
 * the map of one file.
 */
bool
pbp_carry_save(bool quick)
{
	Save		save = {.quick = quick,.begun_ns = pbp_now_ns(),.cpu_ns = pbp_cpu_now_ns()};
	TimestampTz saved_at = GetCurrentTimestamp();
	PbpCarryProgress *progress;
	const PbpOwnFile *file_before = &save.before.reader.file;
	bool		in_time;
	bool		saved = false;

	save.deadline_ns = quick ? save.begun_ns + STOP_S * PBP_NS_PER_S : PG_INT64_MAX;
	pbp_carry_lock()->phase = PBP_CARRY_SAVING;
	pbp_unlock_shared();
	/* what was found out about file systems may have changed since the last time */
	SetCurrentStatementStartTimestamp();
	save.segment = pbp_segment_begin(NULL);
	in_time = open_before(&save.before, save.deadline_ns);
	if (!in_time)
		log_too_slow(false);
	pbp_begin_new_file(&save.file, &pbp_carry_kind, saved_at);
	if (in_time && file_before->error == 0 && save_files(&save) && file_before->error == 0)
	{
		wait_until_written(&save, pbp_end_new_file(&save.file));
		saved = pbp_replace_by_new_file(&save.file);
	}
	else
	{
		if (file_before->error != 0)
			pbp_carry_log_unreadable(&save.before.reader);
		pbp_discard_new_file(&save.file);
	}
	if (save.before.places != NULL)
		pbp_carry_close(&save.before.reader);
	pbp_segment_end(save.segment);
	if (saved)
	{
		(void) unlink(PBP_CARRY_MARK);
		progress = pbp_carry_lock();
		progress->saved_at = saved_at;
		progress->incomplete = false;
		pbp_unlock_shared();
	}
	return saved;
}

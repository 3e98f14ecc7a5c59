/*-------------------------------------------------------------------------
 *
 * carryfile.c
 *	  The file that carries cache maps over a restart: written in one pass,
 *	  and checked before anything in it is used.
 *
 * What is saved is decided in carrysave.c, and what is done with it in
 * carryrestore.c and carryload.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/pg_tablespace_d.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "base/ownfile.h"
#include "base/worker.h"
#include "caches/residency.h"
#include "carry/carryfile.h"
#include "carry/carryprogress.h"

#define CARRY_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.maps"
#define NEW_CARRY_FILE	CARRY_FILE ".tmp"

/* Counts the restores that a crash has ended. */
#define MARK_FILE		CARRY_FILE ".restoring"
#define MAX_CRASHES		3

#define MAGIC			UINT64CONST(0x7062706361727279)
#define VERSION			3

/* At the end: how long the file is, and a checksum of all before. */
#define END_BYTES		(sizeof(int64) + sizeof(pg_crc32c))

/* A block takes at most a byte of a map. */
#define MIN_MAP_BYTES	(PBP_MAP_HEADER_BYTES + PBP_MAP_CHECKSUM_BYTES)
#define MAX_MAP_BYTES	(MIN_MAP_BYTES + RELSEG_SIZE)

/* Read at a time to verify the checksum. */
#define CHUNK_BYTES		65536

static PbpCarryHeader
own_header(TimestampTz saved_at)
{
	PbpCarryHeader header = {
		.magic = MAGIC,.version = VERSION,.block_bytes = BLCKSZ,.segment_blocks = RELSEG_SIZE,
		.nbuffers = NBuffers,.cluster = GetSystemIdentifier(),.saved_at = saved_at,
		.copy = pbp_copy_of_cluster()
	};

	return header;
}

void
pbp_carry_begin_file(PbpNewFile *file, TimestampTz saved_at)
{
	PbpCarryHeader header = own_header(saved_at);

	pbp_begin_new_file(file, CARRY_FILE, NEW_CARRY_FILE);
	pbp_put_in_new_file(file, &header, sizeof(header));
}

/* As pbp_end_new_file(), but adds the length first. */
int
pbp_carry_end_file(PbpNewFile *file)
{
	int64		bytes = file->bytes + (int64) END_BYTES;

	pbp_put_in_new_file(file, &bytes, sizeof(bytes));
	return pbp_end_new_file(file);
}

/* A file that an immediate shutdown has left incomplete. */
void
pbp_carry_remove_leftover(void)
{
	(void) unlink(NEW_CARRY_FILE);
}

/* ---- reading ---- */

void
pbp_carry_log_ignored(const char *why)
{
	pbp_log_ignored_file(CARRY_FILE, why);
}

void
pbp_carry_log_unreadable(const PbpCarryReader *reader)
{
	errno = reader->error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", CARRY_FILE),
			 errdetail("It remains, and nothing is saved.")));
}

/*
 * After an error of the system, which says nothing about the file.  Returns true if
 * that is to be tried again; false if nothing more is to be read.
 */
static bool
try_again(PbpCarryReader *reader)
{
	int			error = errno;

	if (reader->failures++ >= PBP_MAX_FAILURES || !pbp_carry_goes_on())
	{
		reader->error = error;
		return false;
	}
	pbp_worker_wait(PBP_AFTER_FAILURE_MS);
	return true;
}

/* Returns false after an error, or if the file has become shorter. */
static bool
read_at(PbpCarryReader *reader, void *bytes, size_t nbytes, int64 offset)
{
	size_t		done = 0;

	while (done < nbytes && reader->error == 0)
	{
		int			nread = FileRead(reader->file, (char *) bytes + done, (int) (nbytes - done),
									 (off_t) offset + (off_t) done, PG_WAIT_EXTENSION);

		if (nread == 0 || (nread < 0 && !try_again(reader)))
			return false;
		done += (size_t) Max(nread, 0);
	}
	return done == nbytes;
}

/* True if the checksum at the end is that of all before; false if the worker must end, too. */
static bool
is_whole(PbpCarryReader *reader)
{
	int64		end = reader->end + (int64) sizeof(int64);
	pg_crc32c	checksum;
	pg_crc32c	written;
	char	   *chunk = palloc(CHUNK_BYTES);
	bool		readable = true;

	INIT_CRC32C(checksum);
	for (int64 at = 0; readable && at < end; at += CHUNK_BYTES)
	{
		size_t		nbytes = (size_t) Min(CHUNK_BYTES, end - at);

		if (!pbp_carry_goes_on())
			return false;
		readable = read_at(reader, chunk, nbytes, at);
		COMP_CRC32C(checksum, chunk, nbytes);
	}
	FIN_CRC32C(checksum);
	pfree(chunk);
	return readable && read_at(reader, &written, sizeof(written), end) &&
		EQ_CRC32C(written, checksum);
}

/* Returns why the file cannot be used; NULL if it can. */
static const char *
check_file(PbpCarryReader *reader, bool verify)
{
	PbpCarryHeader expected = own_header(0);
	const PbpCarryHeader *header = &reader->header;
	struct stat status;

	while (fstat(FileGetRawDesc(reader->file), &status) != 0)
		if (!try_again(reader))
			return "its size is unknown";
	if (!S_ISREG(status.st_mode))
		return "it is not a regular file";
	reader->end = status.st_size - (int64) END_BYTES;
	reader->next = sizeof(PbpCarryHeader);
	if (reader->end < reader->next)
		return "it is too short";
	if (!read_at(reader, &reader->file_bytes, sizeof(int64), reader->end) ||
		reader->file_bytes != status.st_size ||
		!read_at(reader, &reader->header, sizeof(PbpCarryHeader), 0) ||
		header->magic != expected.magic || (verify && !is_whole(reader)) || header->nbuffers <= 0)
		return "it is damaged";
	if (header->version != expected.version)
		return "it was written by another version of pgbufprobe";
	if (header->block_bytes != expected.block_bytes || header->segment_blocks != expected.segment_blocks)
		return "it was written by a server with another block or segment size";
	if (header->cluster != expected.cluster)
		return "it is that of another database cluster";
	if (header->copy != expected.copy)
		return "it was copied from another server, or restored";
	return NULL;
}

bool
pbp_carry_open(PbpCarryReader *reader, bool verify)
{
	const char *why;

	memset(reader, 0, sizeof(*reader));
	/* not closed at the end of a transaction, as other kinds of files are; a FIFO must not block */
	do
		reader->file = PathNameOpenFile(CARRY_FILE, O_RDONLY | O_NONBLOCK | PG_BINARY);
	while (reader->file < 0 && errno != ENOENT && try_again(reader));
	if (reader->file < 0)
		return false;
	why = check_file(reader, verify);
	if (why != NULL)
	{
		if (verify && reader->error == 0 && pbp_carry_goes_on())
			pbp_carry_log_ignored(why);
		FileClose(reader->file);
		return false;
	}
	reader->map = palloc(MAX_MAP_BYTES);
	return true;
}

/* The checksum may be right and the entry wrong: the file may have been made by hand. */
static bool
is_possible(const PbpCarryReader *reader, const PbpCarryEntry *entry)
{
	return entry->map_bytes >= MIN_MAP_BYTES && entry->map_bytes <= MAX_MAP_BYTES &&
		entry->map_bytes <= reader->end - reader->next - (int64) sizeof(*entry) &&
		(entry->file.tablespace == GLOBALTABLESPACE_OID) == !OidIsValid(entry->file.database) &&
		entry->file.fork <= MAX_FORKNUM && entry->file.segment < MaxBlockNumber / RELSEG_SIZE + 1;
}

/* From what was read ahead, if that has it. */
static bool
read_entry(PbpCarryReader *reader, PbpCarryEntry *entry)
{
	int64		at = reader->next;

	if (at < reader->ahead_at || at + (int64) sizeof(*entry) > reader->ahead_end)
	{
		size_t		nbytes = (size_t) Min(PBP_CARRY_AHEAD, reader->end - at);

		reader->ahead_end = 0;
		if (!read_at(reader, reader->ahead, nbytes, at))
			return false;
		reader->ahead_at = at;
		reader->ahead_end = at + (int64) nbytes;
	}
	memcpy(entry, reader->ahead + (at - reader->ahead_at), sizeof(*entry));
	return true;
}

/* Reads the next entry; false after the last one, or if the file is damaged or unreadable. */
bool
pbp_carry_next(PbpCarryReader *reader, PbpCarryEntry *entry)
{
	if (reader->next >= reader->end)
		return false;
	if (reader->end - reader->next < (int64) sizeof(*entry) ||
		!read_entry(reader, entry) || !is_possible(reader, entry))
	{
		reader->is_damaged = reader->error == 0;
		return false;
	}
	reader->next += (int64) sizeof(*entry) + entry->map_bytes;
	return true;
}

/*
 * The map of the entry that was read last, valid until the next call; NULL: it
 * cannot be used.
 */
const uint8 *
pbp_carry_map(PbpCarryReader *reader, const PbpCarryEntry *entry)
{
	uint8	   *map = reader->map;
	PbpMapHeader header;

	if (!read_at(reader, map, entry->map_bytes, reader->next - entry->map_bytes) ||
		pbp_verify_map(map, entry->map_bytes, &header) != NULL ||
		header.fork != entry->file.fork || header.nblocks > RELSEG_SIZE)
		return NULL;
	return map;
}

void
pbp_carry_close(PbpCarryReader *reader)
{
	FileClose(reader->file);
	pfree(reader->map);
}

/* ---- restores that end in a crash ---- */

/*
 * To be called before a restore, so that one that crashes the server, for
 * example for lack of memory, does not do so at each start.  Returns false if it has done
 * so too often, which is logged.
 */
bool
pbp_carry_mark_restore(void)
{
	uint64		crashes = pbp_count_crashes(MARK_FILE);

	if (crashes >= MAX_CRASHES)
	{
		pbp_carry_log_ignored("a crash or an immediate shutdown has ended each of its last restores");
		return false;
	}
	pbp_write_mark(MARK_FILE, crashes + 1);
	return true;
}

/* To be called when a restore has ended without a crash, or the file was replaced. */
void
pbp_carry_unmark_restore(void)
{
	(void) unlink(MARK_FILE);
}

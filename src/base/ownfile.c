/*-------------------------------------------------------------------------
 *
 * ownfile.c
 *	  Files that this extension keeps in the data directory: which of them can
 *	  be used, and which were in use when the server crashed.
 *
 * How they are written is in newfile.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "common/hashfn.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "base/compat.h"
#include "base/latency.h"
#include "base/ownfile.h"
#include "base/regularfile.h"
#include "base/worker.h"

/* Larger than any, so that nobody waits long for a damaged one. */
#define MAX_BYTES		(INT64CONST(1024) * 1024 * 1024)

/* A reason for which errno says more. */
static const char unreadable[] = "it could not be read";

/* Crashes in a row while the file was in use; or one while it was read. */
#define MAX_CRASHES		2

/* Beside a file that is being read, or in use. */
typedef struct CrashMark
{
	uint64		copy;			/* of the cluster */
	uint64		crashes;		/* that count if the server crashes now */
} CrashMark;

/* When a file was created, in nanoseconds; 0: the file system does not say. */
static uint64
birth_time(const char *path)
{
#ifdef STATX_BTIME
	struct statx status;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) == 0 && (status.stx_mask & STATX_BTIME) != 0)
		return (uint64) status.stx_btime.tv_sec * PBP_NS_PER_S + status.stx_btime.tv_nsec;
#endif
	return 0;
}

/*
 * A base backup has the file of its primary.  The control file is written in
 * place, so its inode and its time of birth are the same as long as the server, also
 * on another host that its volume moves to.  A copy of the file has others: another
 * file system may give it the same inode, but at another time.  Of a copy of the
 * whole volume, block by block, nothing differs.
 */
uint64
pbp_copy_of_cluster(void)
{
	struct stat status;

	if (stat(XLOG_CONTROL_FILE, &status) != 0)
		return 0;
	return hash_combine64((uint64) status.st_ino, birth_time(XLOG_CONTROL_FILE));
}

PbpFileStamp
pbp_own_stamp(uint64 magic, uint32 version, uint32 layout)
{
	PbpFileStamp stamp = {
		.magic = magic,
		.version = version,
		.layout = layout,
		.server_version = PBP_SERVER_MAJOR,
		.block_bytes = BLCKSZ,
		.cluster = GetSystemIdentifier(),
		.copy = pbp_copy_of_cluster(),
	};

	return stamp;
}

/* Returns why a file that is whole cannot be used; NULL if it can. */
static const char *
check_stamp(const PbpFileStamp *stamp, const PbpFileStamp *expected)
{
	if (stamp->version != expected->version || stamp->layout != expected->layout)
		return "it was written by another version of pgbufprobe";
	if (stamp->server_version != expected->server_version || stamp->block_bytes != expected->block_bytes)
		return "it was written by another version of PostgreSQL";
	if (stamp->cluster != expected->cluster)
		return "it is that of another database cluster";
	if (stamp->copy != expected->copy)
		return "it was copied from another server, or restored";
	return NULL;
}

void
pbp_log_ignored_file(const char *path, const char *why)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("ignoring file \"%s\", because %s", path, why)));
}

/* ---- reading ---- */

static void
log_unreadable(const char *path)
{
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", path)));
}

/* Returns -1 if the file cannot be used, and why; NULL: there is none. */
static int
open_file(const char *path, int64 *bytes, const char **why)
{
	struct stat status;
	int			file = pbp_open_regular_file(path, &status);

	if (file >= 0)
		*bytes = status.st_size;
	else if (errno == EISDIR || errno == PBP_NOT_REGULAR)
		*why = "it is not a regular file";
	else
		*why = errno == ENOENT ? NULL : unreadable;
	return file;
}

static bool
read_exactly(int file, char *to, int64 nbytes)
{
	while (nbytes > 0)
	{
		ssize_t		done = read(file, to, (size_t) Min(nbytes, MAX_BYTES / 4));

		if (done == 0)
			errno = EIO;
		if (done <= 0)
			return false;
		to += done;
		nbytes -= done;
	}
	return true;
}

static bool
has_checksum(const char *contents, int64 bytes)
{
	size_t		checked = (size_t) bytes - sizeof(pg_crc32c);
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, contents, checked);
	FIN_CRC32C(checksum);
	return memcmp(contents + checked, &checksum, sizeof(checksum)) == 0;
}

/*
 * Reads the rest of a file whose size is that in its stamp.  The checksum is
 * verified first, since a damaged stamp may say anything.
 */
static const char *
read_rest(int file, char *contents, int64 bytes, const PbpFileStamp *expected)
{
	PbpFileStamp stamp;

	memcpy(&stamp, contents, sizeof(stamp));
	if (!read_exactly(file, contents + sizeof(stamp), bytes - (int64) sizeof(stamp)))
		return unreadable;
	return has_checksum(contents, bytes) ? check_stamp(&stamp, expected) : "it is damaged";
}

/* Returns why the file cannot be used; NULL if its contents are whole. */
static const char *
read_open_file(int file, int64 bytes, const PbpFileStamp *expected, char **contents)
{
	PbpFileStamp stamp;

	if (bytes < (int64) (sizeof(stamp) + sizeof(pg_crc32c)))
		return "it is too short";
	if (!read_exactly(file, (char *) &stamp, sizeof(stamp)))
		return unreadable;
	if (stamp.magic != expected->magic)
		return "it is damaged";
	if (stamp.version == expected->version && (stamp.file_bytes != bytes || bytes > MAX_BYTES))
		return "it is damaged";
	if (bytes > MAX_BYTES)
		return "its size is impossible";
	*contents = MemoryContextAllocExtended(CurrentMemoryContext, (Size) bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (*contents == NULL)
		return "there is not enough memory to read it";
	memcpy(*contents, &stamp, sizeof(stamp));
	return read_rest(file, *contents, bytes, expected);
}

/* The same for one that is not open.  There are no contents if there is no file. */
static const char *
read_file(const char *path, const PbpFileStamp *expected, char **contents, int64 *bytes)
{
	const char *why;
	int			file = open_file(path, bytes, &why);
	int			error;

	*contents = NULL;
	if (file < 0)
		return why;
	why = read_open_file(file, *bytes, expected, contents);
	error = errno;
	(void) CloseTransientFile(file);
	if (why != NULL && *contents != NULL)
		pfree(*contents);
	errno = error;
	return why;
}

static void
set_aside(const char *path, const char *why)
{
	const char *bad = psprintf("%s.bad", path);

	if (rename(path, bad) == 0)
	{
		pbp_unguard_file(path);
		ereport(LOG,
				(errmsg("renamed file \"%s\" to \"%s\", because %s", path, bad, why)));
	}
	else
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not rename file \"%s\" to \"%s\": %m", path, bad)));
}

/*
 * Returns what is between the stamp and the checksum, palloc'd with both; NULL:
 * there is no file, or it cannot be used, which is logged.  One that cannot be read
 * may be good, so it is set aside before another one replaces it.
 */
char *
pbp_read_own_file(const char *path, const PbpFileStamp *expected, Size *bytes)
{
	char	   *contents;
	int64		file_bytes;
	const char *why = read_file(path, expected, &contents, &file_bytes);

	for (int i = 0; why == unreadable && i < PBP_MAX_FAILURES && !pbp_must_end(); i++)
	{
		pbp_worker_wait(PBP_AFTER_FAILURE_MS);
		why = read_file(path, expected, &contents, &file_bytes);
	}
	if (why == NULL && contents != NULL)
	{
		*bytes = (Size) file_bytes - sizeof(PbpFileStamp) - sizeof(pg_crc32c);
		return contents + sizeof(PbpFileStamp);
	}
	if (why == unreadable)
	{
		log_unreadable(path);
		set_aside(path, why);
	}
	else if (why != NULL)
		pbp_log_ignored_file(path, why);
	return NULL;
}

/* Also removes a directory if it is empty. */
void
pbp_remove_own_file(const char *path)
{
	if (unlink(path) != 0 && errno != ENOENT && rmdir(path) != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", path)));
}

/* ---- crashes ---- */

static char *
mark_of(const char *path)
{
	return psprintf("%s.reading", path);
}

/* The crashes of this server that a mark counts. */
uint64
pbp_count_crashes(const char *mark_path)
{
	struct stat status;
	CrashMark	mark = {0};
	const char *why;
	int64		bytes;
	int			file;

	/* what is no mark is replaced */
	if (lstat(mark_path, &status) != 0 || !S_ISREG(status.st_mode))
		return 0;
	file = open_file(mark_path, &bytes, &why);
	if (file < 0)
	{
		log_unreadable(mark_path);
		return 0;
	}
	if (!read_exactly(file, (char *) &mark, sizeof(mark)) || mark.copy != pbp_copy_of_cluster())
		mark.crashes = 0;
	(void) CloseTransientFile(file);
	return mark.crashes;
}

void
pbp_write_mark(const char *mark_path, uint64 crashes)
{
	CrashMark	mark = {.copy = pbp_copy_of_cluster(),.crashes = crashes};
	int			file;

	pbp_remove_own_file(mark_path);
	file = OpenTransientFile(mark_path, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (file < 0 || write(file, &mark, sizeof(mark)) != (ssize_t) sizeof(mark))
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", mark_path)));
	if (file >= 0)
		(void) CloseTransientFile(file);
}

/*
 * To be called before a file is read.  Returns false if there is none, or if the
 * server has crashed because of it, perhaps, which sets it aside.  Otherwise, sets
 * how many crashes in a row there were while it was in use.
 */
bool
pbp_guard_reading(const char *path, uint64 *crashes)
{
	const char *mark_path = mark_of(path);
	struct stat status;

	if (lstat(path, &status) != 0)
		return false;
	*crashes = pbp_count_crashes(mark_path);
	if (*crashes >= MAX_CRASHES)
	{
		set_aside(path, "the server crashed while the file was in use");
		return false;
	}
	pbp_write_mark(mark_path, MAX_CRASHES);
	return true;
}

/*
 * To be called when what was read has been checked, and begins to be used.  Most
 * crashes have other causes, so the first one does not set the file aside.
 */
void
pbp_guard_use(const char *path, uint64 crashes)
{
	pbp_write_mark(mark_of(path), crashes + 1);
}

/* To be called when the file is no longer in use, or was replaced. */
void
pbp_unguard_file(const char *path)
{
	(void) unlink(mark_of(path));
}

/*-------------------------------------------------------------------------
 *
 * ownfile.c
 *	  Files that this extension keeps in pg_stat: how they are written, which of
 *	  them can be used, and which were in use when the server crashed.
 *
 * What is in a file is known to those who call this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/latency.h"
#include "base/ownfile.h"
#include "base/worker.h"

/* After an error of the system, reading is tried again these many times. */
#define MAX_FAILURES		6
#define AFTER_FAILURE_MS	500

/* At the end: how long the file is, and a checksum of all before. */
#define END_BYTES			(sizeof(int64) + sizeof(pg_crc32c))

/* Read at a time to verify the checksum. */
#define CHUNK_BYTES			65536

/* Beside a file that is being read, or in use. */
typedef struct CrashMark
{
	uint64		copy;			/* of the cluster */
	uint64		crashes;		/* that count if the server crashes now */
} CrashMark;

/* When the control file was created, in nanoseconds; 0: the file system does not say. */
static uint64
birth_time(void)
{
#ifdef STATX_BTIME
	struct statx status;

	if (statx(AT_FDCWD, XLOG_CONTROL_FILE, 0, STATX_BTIME, &status) == 0 &&
		(status.stx_mask & STATX_BTIME) != 0)
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
static uint64
copy_of_cluster(void)
{
	struct stat status;

	if (stat(XLOG_CONTROL_FILE, &status) != 0)
		return 0;
	return hash_combine64((uint64) status.st_ino, birth_time());
}

static PbpFileStamp
own_stamp(const PbpFileKind *kind, TimestampTz now)
{
	return (PbpFileStamp)
	{
		.magic = kind->magic,.version = kind->version,.layout = kind->layout,
		.server_version = PBP_SERVER_MAJOR,.block_bytes = BLCKSZ,.segment_blocks = RELSEG_SIZE,
		.nbuffers = NBuffers,.cluster = GetSystemIdentifier(),.copy = copy_of_cluster(),
		.written_at = now
	};
}

/* ---- writing ---- */

void
pbp_begin_new_file(PbpNewFile *file, const PbpFileKind *kind, TimestampTz now)
{
	PbpFileStamp stamp = own_stamp(kind, now);
	struct stat status;

	memset(file, 0, sizeof(*file));
	file->kind = kind;
	INIT_CRC32C(file->checksum);
	/* opening a FIFO would wait for a reader */
	if (stat(kind->temporary, &status) == 0 && S_ISFIFO(status.st_mode))
		(void) unlink(kind->temporary);
	file->file = AllocateFile(kind->temporary, PG_BINARY_W);
	if (file->file == NULL)
		file->error = errno;
	pbp_put_in_new_file(file, &stamp, sizeof(stamp));
}

void
pbp_put_in_new_file(PbpNewFile *file, const void *bytes, size_t nbytes)
{
	if (file->error != 0)
		return;
	COMP_CRC32C(file->checksum, bytes, nbytes);
	errno = 0;
	if (nbytes > 0 && fwrite(bytes, nbytes, 1, file->file) != 1)
		file->error = errno != 0 ? errno : ENOSPC;
	file->bytes += (int64) nbytes;
}

/* Returns the descriptor of the file, which is complete; or -1 after an error. */
int
pbp_end_new_file(PbpNewFile *file)
{
	int64		bytes = file->bytes + (int64) END_BYTES;
	pg_crc32c	checksum;

	pbp_put_in_new_file(file, &bytes, sizeof(bytes));
	checksum = file->checksum;
	FIN_CRC32C(checksum);
	pbp_put_in_new_file(file, &checksum, sizeof(checksum));
	if (file->error == 0 && fflush(file->file) != 0)
		file->error = errno;
	return file->error == 0 ? fileno(file->file) : -1;
}

static void
close_file(PbpNewFile *file)
{
	if (file->file != NULL && FreeFile(file->file) != 0 && file->error == 0)
		file->error = errno;
	file->file = NULL;
}

/* After pbp_end_new_file().  If that fails, the old file remains. */
bool
pbp_replace_by_new_file(PbpNewFile *file)
{
	const PbpFileKind *kind = file->kind;

	close_file(file);
	errno = file->error;
	if (errno != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", kind->temporary)));
	else if (rename(kind->temporary, kind->path) == 0)
		return true;
	else
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not rename file \"%s\" to \"%s\": %m", kind->temporary, kind->path)));
	(void) unlink(kind->temporary);
	return false;
}

/* The old file remains. */
void
pbp_discard_new_file(PbpNewFile *file)
{
	close_file(file);
	(void) unlink(file->kind->temporary);
}

/* ---- reading ---- */

void
pbp_log_ignored_file(const char *path, const char *why)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("ignoring file \"%s\", because %s", path, why)));
}

static bool
goes_on(const PbpOwnFile *file)
{
	return file->kind->goes_on == NULL || file->kind->goes_on();
}

/*
 * After an error of the system, which says nothing about the file.  Returns true if
 * that is to be tried again; false if nothing more is to be read.
 */
static bool
try_again(PbpOwnFile *file)
{
	int			error = errno;

	if (file->failures++ >= MAX_FAILURES || pbp_must_end() || !goes_on(file))
	{
		file->error = error;
		return false;
	}
	pbp_worker_wait(AFTER_FAILURE_MS);
	return true;
}

/* Returns false after an error, or if the file has become shorter. */
bool
pbp_read_own_file(PbpOwnFile *file, void *bytes, size_t nbytes, int64 at)
{
	size_t		done = 0;

	while (done < nbytes && file->error == 0)
	{
		int			nread = FileRead(file->file, (char *) bytes + done, (int) (nbytes - done),
									 (off_t) at + (off_t) done, PG_WAIT_EXTENSION);

		if (nread == 0 || (nread < 0 && !try_again(file)))
			return false;
		done += (size_t) Max(nread, 0);
	}
	return done == nbytes;
}

/* True if the checksum at the end is that of all before; false if reading is to end, too. */
static bool
is_whole(PbpOwnFile *file)
{
	int64		end = file->end + (int64) sizeof(int64);
	pg_crc32c	checksum;
	pg_crc32c	written;
	char	   *chunk = palloc(CHUNK_BYTES);
	bool		readable = true;

	INIT_CRC32C(checksum);
	for (int64 at = 0; readable && at < end; at += CHUNK_BYTES)
	{
		size_t		nbytes = (size_t) Min(CHUNK_BYTES, end - at);

		readable = goes_on(file) && pbp_read_own_file(file, chunk, nbytes, at);
		if (readable)
			COMP_CRC32C(checksum, chunk, nbytes);
	}
	FIN_CRC32C(checksum);
	pfree(chunk);
	return readable && pbp_read_own_file(file, &written, sizeof(written), end) &&
		EQ_CRC32C(written, checksum);
}

/* Returns why the file cannot be used; NULL if it can. */
static const char *
check_file(PbpOwnFile *file, bool verify)
{
	PbpFileStamp expected = own_stamp(file->kind, 0);
	const PbpFileStamp *stamp = &file->stamp;
	int64		file_bytes;
	struct stat status;

	while (fstat(FileGetRawDesc(file->file), &status) != 0)
		if (!try_again(file))
			return "its size is unknown";
	if (!S_ISREG(status.st_mode))
		return "it is not a regular file";
	file->next = sizeof(*stamp);
	file->end = status.st_size - (int64) END_BYTES;
	if (file->end < file->next)
		return "it is too short";
	/* before anything in the stamp is believed */
	if (!pbp_read_own_file(file, &file_bytes, sizeof(file_bytes), file->end) ||
		file_bytes != status.st_size ||
		!pbp_read_own_file(file, &file->stamp, sizeof(*stamp), 0) ||
		stamp->magic != expected.magic || (verify && !is_whole(file)))
		return "it is damaged";
	if (stamp->version != expected.version || stamp->layout != expected.layout)
		return "it was written by another version of pgbufprobe";
	if (stamp->server_version != expected.server_version)
		return "it was written by another version of PostgreSQL";
	if (stamp->block_bytes != expected.block_bytes ||
		stamp->segment_blocks != expected.segment_blocks)
		return "it was written by a server with another block or segment size";
	if (stamp->cluster != expected.cluster)
		return "it is that of another database cluster";
	if (stamp->copy != expected.copy)
		return "it was copied from another server, or restored";
	if (stamp->nbuffers <= 0 || stamp->nbuffers > INT_MAX / 2 ||
		!IS_VALID_TIMESTAMP(stamp->written_at))
		return "it is damaged";
	return NULL;
}

/*
 * Returns false if there is none, or if it cannot be used, which is logged if it was
 * to be verified; or after an error of the system, which is not.  To be closed by
 * FileClose().
 */
bool
pbp_open_own_file(PbpOwnFile *file, const PbpFileKind *kind, bool verify)
{
	const char *why = "it is not a regular file";
	struct stat status;

	memset(file, 0, sizeof(*file));
	file->kind = kind;
	file->file = -1;
	/* opening a device may have any effect, and a FIFO in its place now must not block */
	if (stat(kind->path, &status) != 0 || S_ISREG(status.st_mode))
	{
		/* not closed at the end of a transaction, as other kinds of files are */
		do
			file->file = PathNameOpenFile(kind->path, O_RDONLY | O_NONBLOCK | PG_BINARY);
		while (file->file < 0 && errno != ENOENT && try_again(file));
		if (file->file < 0)
			return false;
		why = check_file(file, verify);
	}
	if (why == NULL)
		return true;
	if (verify && file->error == 0 && goes_on(file))
		pbp_log_ignored_file(kind->path, why);
	if (file->file >= 0)
		FileClose(file->file);
	return false;
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

/* The crashes of this server that a mark counts. */
uint64
pbp_count_crashes(const char *mark_path)
{
	struct stat status;
	CrashMark	mark;
	ssize_t		nread;
	int			file;

	/* what is no mark is replaced */
	if (lstat(mark_path, &status) != 0 || !S_ISREG(status.st_mode))
		return 0;
	file = OpenTransientFile(mark_path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (file < 0)
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", mark_path)));
		return 0;
	}
	nread = read(file, &mark, sizeof(mark));
	(void) CloseTransientFile(file);
	return nread == sizeof(mark) && mark.copy == copy_of_cluster() ? mark.crashes : 0;
}

void
pbp_write_mark(const char *mark_path, uint64 crashes)
{
	CrashMark	mark = {.copy = copy_of_cluster(),.crashes = crashes};
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

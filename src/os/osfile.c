/*-------------------------------------------------------------------------
 *
 * osfile.c
 *	  A relation's files, opened one at a time to ask the kernel which of
 *	  their pages are cached.
 *
 * Decides how to ask, and whether the answer can be trusted.  What the answer
 * is belongs in oscache.c.  Nothing here takes a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "base/settings.h"
#include "os/oscache.h"

/*
 * This far past its end, no file has a cached page: neither by growing in the
 * meantime, nor by the last of its large folios.
 */
#define FAR_PAST_END		(INT64CONST(1) << 30)

/* ---- trust ---- */

static const char *const reasons[PBP_OS_TRUSTS] = {
	[PBP_OS_UNSUPPORTED] = "This platform does not report which pages it caches; Linux does.",
	[PBP_OS_NO_CACHESTAT] = "The kernel has no cachestat, which requires Linux 6.5 or later.",
	[PBP_OS_FILTERED] = "A system call filter, as containers have, forbids cachestat.",
	[PBP_OS_MINCORE_FILTERED] = "A system call filter, as containers and system services have, forbids mincore.",
	[PBP_OS_STACKED] = "On overlayfs, cachestat does not see the pages, which belong to the file underneath; mincore does.",
	[PBP_OS_DENIED] = "The kernel reports every page as cached to users who neither own the file nor may write to it.",
	[PBP_OS_UNMAPPABLE] = "The file cannot be mapped into memory, which mincore requires.",
	[PBP_OS_OTHER_CACHE] = "The kernel does not report what this file system (ZFS, GPFS, FUSE or hugetlbfs) caches.",
	[PBP_OS_DIRECT_IO] = "The server bypasses the page cache, because \"debug_io_direct\" includes \"data\".",
	[PBP_OS_SWITCHED_OFF] = "The setting \"pgbufprobe.os_cache\" is off.",
	[PBP_OS_UNREADABLE] = "The file could not be opened.",
};

/* Returns a sentence for the user, or NULL if the answer can be trusted. */
const char *
pbp_os_reason(PbpOsTrust trust)
{
	return reasons[trust];
}

/* What neither method can know about a file on this type of file system. */
PbpOsTrust
pbp_os_file_system_trust(int fd)
{
	uint32		type;

#ifndef __linux__
	return PBP_OS_UNSUPPORTED;
#endif
	if (!pbp_kernel_file_system(fd, &type))
		return PBP_OS_UNREADABLE;
	switch (type)
	{
		case 0x2fc12fc1:		/* ZFS */
		case 0x47504653:		/* GPFS */
		case 0x958458f6:		/* hugetlbfs */
		case 0x65735546:		/* FUSE, where opening may drop the pages */
			return PBP_OS_OTHER_CACHE;
		case 0x794c7630:		/* overlayfs */
			return PBP_OS_STACKED;
		default:
			return PBP_OS_TRUSTED;
	}
}

/*
 * To users who may not know, mincore reports every page as cached, even one
 * past the end of the file, which cannot be.  Testing such a page also detects
 * kernels that do so for all users.  No mapping fails with EPERM or ENOSYS, so
 * these are a filter's.
 */
static PbpOsTrust
mincore_trust(const PbpOsFile *file)
{
	int64		page = pbp_os_page_bytes();
	int64		past_end = (file->bytes & ~(page - 1)) + FAR_PAST_END;
	uint8		cached;

	if (!pbp_kernel_mincore(file->fd, past_end, page, &cached))
		return errno == EPERM || errno == ENOSYS ? PBP_OS_MINCORE_FILTERED : PBP_OS_UNMAPPABLE;
	return (cached & 1) ? PBP_OS_DENIED : PBP_OS_TRUSTED;
}

/*
 * EPERM has two causes.  A filter does not keep mincore from being right, so
 * mincore's trust distinguishes them.
 */
static PbpOsTrust
cachestat_trust(const PbpOsFile *file, PbpOsTrust mincore)
{
	PbpCachestat ignored;

	if (pbp_kernel_cachestat(file->fd, 0, pbp_os_page_bytes(), &ignored))
		return PBP_OS_TRUSTED;
	if (errno == EPERM)
		return mincore == PBP_OS_DENIED ? PBP_OS_DENIED : PBP_OS_FILTERED;
	return errno == EOPNOTSUPP ? PBP_OS_OTHER_CACHE : PBP_OS_NO_CACHESTAT;
}

/*
 * Sets the file's method and trust.  By default cachestat is used only if
 * mincore can be trusted too, since a block map needs both.
 */
static void
choose_method(PbpOsFile *file, PbpOsMethod wanted)
{
	PbpOsTrust	file_system;
	PbpOsTrust	mincore;
	PbpOsTrust	cachestat;

	if (!pbp_os_cache_on)
	{
		file->trust = PBP_OS_SWITCHED_OFF;
		return;
	}
	file_system = pbp_os_file_system_trust(file->fd);
	file->method = wanted == PBP_OS_AUTO ? PBP_OS_MINCORE : wanted;
	file->trust = pbp_direct_io() ? PBP_OS_DIRECT_IO : file_system;
	if (file->trust != PBP_OS_TRUSTED && file->trust != PBP_OS_STACKED)
		return;

	mincore = mincore_trust(file);
	cachestat = file_system == PBP_OS_STACKED ? PBP_OS_STACKED : cachestat_trust(file, mincore);
	if (wanted == PBP_OS_AUTO && cachestat == PBP_OS_TRUSTED && mincore == PBP_OS_TRUSTED)
		file->method = PBP_OS_CACHESTAT;
	file->trust = file->method == PBP_OS_CACHESTAT ? cachestat : mincore;
}

/* The server would fail to read this file, too. */
static void
set_unreadable(PbpOsFile *file)
{
	file->error = errno;
	if (file->fd >= 0)
		(void) CloseTransientFile(file->fd);
	file->fd = -1;
	file->bytes = 0;
	file->method = PBP_OS_AUTO;
	file->trust = PBP_OS_UNREADABLE;
}

/*
 * Keeps the result of choose_method() for other files of the statement on the
 * same file system, if the server's user owns them: nothing else could
 * make a difference.  Choosing takes five of the ten system calls for a small
 * file, and a database has hundreds of files.
 */
static void
choose_method_once(PbpOsFile *file, const struct stat *info, PbpOsMethod wanted)
{
	static struct choice
	{
		TimestampTz statement;
		dev_t		device;
		PbpOsMethod wanted;
		PbpOsMethod method;
		PbpOsTrust	trust;
	}			last = {.statement = -1};
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	bool		is_own = info->st_uid == geteuid();

	if (is_own && last.statement == statement && last.device == info->st_dev &&
		last.wanted == wanted)
	{
		file->method = last.method;
		file->trust = last.trust;
		return;
	}
	choose_method(file, wanted);
	if (file->trust == PBP_OS_UNREADABLE)
		set_unreadable(file);
	else if (is_own)
		last = (struct choice) {statement, info->st_dev, wanted, file->method, file->trust};
}

/* ---- segments ---- */

/* Sets errno if it is not; open(2) has ENXIO for a socket. */
static bool
is_regular(const struct stat *status)
{
	errno = S_ISDIR(status->st_mode) ? EISDIR : ENXIO;
	return S_ISREG(status->st_mode);
}

/*
 * Opens a file as a transient one, and sets its status.  Returns -1 and sets errno
 * if it cannot be opened, or is not regular: opening a FIFO waits for its writer,
 * and opening a device may have any effect.  Symbolic links are followed, because
 * tablespaces are such links.  O_NONBLOCK matters if a FIFO takes the file's place
 * between both calls.
 */
int
pbp_open_regular_file(const char *path, struct stat *status)
{
	int			file;
	int			error;

	if (stat(path, status) != 0 || !is_regular(status))
		return -1;
	file = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (file < 0 || (fstat(file, status) == 0 && is_regular(status)))
		return file;
	error = errno;
	(void) CloseTransientFile(file);
	errno = error;
	return -1;
}

/* Path relative to the data directory, where the server runs.  Palloc'd. */
static char *
segment_path(const PbpFileKey *key)
{
	char	   *base = pbp_relation_path(&key->locator, key->fork);
	char	   *path = key->segment == 0 ? pstrdup(base) : psprintf("%s.%u", base, key->segment);

	pfree(base);
	return path;
}

/*
 * Opens a segment of a fork and chooses the method for it.  Returns false if
 * the file does not exist, as when the relation was dropped or has become
 * shorter.  A file that cannot be opened for another reason, or is not a regular
 * file, is PBP_OS_UNREADABLE.
 *
 * The server counts the descriptor and closes it if the transaction is rolled
 * back.  Three system calls, and five more for the first file of a statement.
 */
bool
pbp_os_open(const PbpFileKey *key, PbpOsMethod wanted, PbpOsFile *file)
{
	struct stat info;

	*file = (PbpOsFile) {.path = segment_path(key)};
	file->fd = pbp_open_regular_file(file->path, &info);
	if (file->fd >= 0)
	{
		file->bytes = info.st_size;
		choose_method_once(file, &info, wanted);
	}
	else if (errno != ENOENT)
		set_unreadable(file);
	else
	{
		pfree(file->path);
		file->path = NULL;
	}
	return file->path != NULL;
}

void
pbp_os_close(PbpOsFile *file)
{
	if (file->path == NULL)
		return;
	if (file->fd >= 0)
		(void) CloseTransientFile(file->fd);
	pfree(file->path);
	file->path = NULL;
}

/* Adds a file to those judged before.  Returns false if it is unreadable. */
bool
pbp_os_judge(PbpOsVerdict *verdict, const PbpOsFile *file)
{
	bool		readable = file->trust != PBP_OS_UNREADABLE;

	if (verdict->trust == PBP_OS_TRUSTED || !readable)
		verdict->trust = file->trust;
	if (!readable)
	{
		verdict->path = pstrdup(file->path);
		verdict->error = file->error;
	}
	return readable;
}

/* Begins a walk through all segments; pbp_os_next() opens each of them, also the first. */
void
pbp_os_walk(PbpOsWalk *walk, const PbpLocator *locator, ForkNumber fork, PbpOsMethod wanted)
{
	*walk = (PbpOsWalk) {
		.key = {*locator, fork, PG_UINT32_MAX},.method = wanted,.last = PG_INT32_MAX
	};
}

/*
 * Closes the open segment and opens the next.  Returns false after the last,
 * which unless the caller has set it is the first one that is not full: the server
 * may leave empty files behind it.
 */
bool
pbp_os_next(PbpOsWalk *walk)
{
	bool		was_last = walk->key.segment == walk->last ||
		(walk->file.path != NULL && walk->file.bytes < PBP_SEGMENT_BYTES);

	pbp_os_close(&walk->file);
	CHECK_FOR_INTERRUPTS();
	if (was_last)
		return false;
	walk->key.segment++;
	return pbp_os_open(&walk->key, walk->method, &walk->file);
}

/*
 * Returns the length of a fork, up to the first segment that does not exist
 * or cannot be reached.  All segments but the last one are full, so those before
 * the one in which it ended before are taken for granted, unless that has no block
 * now.  One system call per other segment; opens none.
 */
int64
pbp_os_fork_blocks(const PbpLocator *locator, ForkNumber fork, int64 before)
{
	uint32		known = (uint32) (before / RELSEG_SIZE);

	for (PbpFileKey key = {*locator, fork, known};; key.segment++)
	{
		char	   *path = segment_path(&key);
		struct stat info;
		int64		nblocks = stat(path, &info) == 0 ? info.st_size / BLCKSZ : 0;

		pfree(path);
		CHECK_FOR_INTERRUPTS();
		if (nblocks == 0 && key.segment == known && before > 0)
			return pbp_os_fork_blocks(locator, fork, 0);
		if (nblocks < RELSEG_SIZE)
			return (int64) key.segment * RELSEG_SIZE + nblocks;
	}
}

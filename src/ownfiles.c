/*-------------------------------------------------------------------------
 *
 * ownfiles.c
 *	  How large are the files of this server, and how much of the page cache do
 *	  they hold?
 *
 * Asks the kernel about all files of relations, of all databases, and of WAL, a
 * little at a time.  Needs no transaction and takes no lock.  Only cachestat is cheap enough
 * for that; without it, the second answer is unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "datafiles.h"
#include "latency.h"
#include "osfile.h"
#include "oskernel.h"
#include "ownfiles.h"

/* Asked about at a time: at most 0.3 ms, if each page is a folio of its own. */
#define RANGE_BYTES			(INT64CONST(32) * 1024 * 1024)

typedef struct OwnBytes
{
	int64		cached;
	int64		data;			/* files of relations */
	int64		wal;			/* and of WAL */
} OwnBytes;

static const OwnBytes unknown = {PBP_UNKNOWN, PBP_UNKNOWN, PBP_UNKNOWN};

struct PbpOwnFiles
{
	PbpDataFiles files;
	const char *path;			/* of the file that is being counted, or NULL */
	int64		offset;			/* in this file */
	bool		known;			/* what they hold in this round */
	OwnBytes round;			/* so far */
	OwnBytes last_round;
};

PbpOwnFiles *
pbp_create_own_files(void)
{
	PbpOwnFiles *own = MemoryContextAllocZero(TopMemoryContext, sizeof(PbpOwnFiles));

	pbp_begin_data_files(&own->files, ".");
	own->known = true;
	own->last_round = unknown;
	return own;
}

static void
begin_round(PbpOwnFiles *own, OwnBytes last_round)
{
	pbp_end_data_files(&own->files);
	pbp_begin_data_files(&own->files, ".");
	own->path = NULL;
	own->known = true;
	own->round = (OwnBytes) {0};
	own->last_round = last_round;
}

static void
end_round(PbpOwnFiles *own)
{
	if (!own->known)
		own->round.cached = PBP_UNKNOWN;
	begin_round(own, own->round);
}

/*
 * Counts a range of the open file and moves to the next range or file.  Returns
 * false if the kernel does not report what it caches.
 */
static bool
count_range(PbpOwnFiles *own, int fd, int64 bytes)
{
	PbpCachestat pages;

	if (own->offset < bytes)
	{
		if (!pbp_kernel_cachestat(fd, own->offset, RANGE_BYTES, &pages))
			return false;
		own->round.cached += (int64) pages.cached * pbp_os_page_bytes();
		own->offset += RANGE_BYTES;
	}
	if (own->offset >= bytes)
		own->path = NULL;
	return true;
}

/*
 * As count_range(), until the time or the end of the file.  If that is unknown of
 * one file, only sizes are counted until the round ends.
 */
static void
count_file(PbpOwnFiles *own, int64 until_ns)
{
	struct stat info;
	int			fd = open(own->path, O_RDONLY | O_CLOEXEC);

	/* The file was dropped, or is no file of a relation. */
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
		own->path = NULL;
	else
	{
		if (own->offset == 0)
			*(pbp_is_wal_file(&own->files) ? &own->round.wal : &own->round.data) += info.st_size;
		own->known = own->known && pbp_os_file_system_trust(fd) == PBP_OS_TRUSTED;
		do
			own->known = own->known && count_range(own, fd, info.st_size);
		while (own->path && own->known && pbp_now_ns() < until_ns);
		if (!own->known)
			own->path = NULL;
	}
	if (fd >= 0)
		(void) close(fd);
}

/*
 * Goes on counting for about this long.  Ends early at the end of a round.  A
 * file takes about 10 us, and each of its cached folios 30 ns.  Between two
 * calls, up to four folders stay open.
 */
void
pbp_count_own_files(PbpOwnFiles *own, int64 budget_ns)
{
	int64		until_ns = pbp_now_ns() + budget_ns;

	if (!pbp_os_cache_on)
	{
		begin_round(own, unknown);
		return;
	}
	while (pbp_now_ns() < until_ns)
	{
		if (!own->path)
		{
			own->path = pbp_next_data_file(&own->files);
			own->offset = 0;
		}
		if (!own->path)
		{
			end_round(own);
			return;
		}
		count_file(own, until_ns);
	}
}

/* Page cache of the server's files, by the last complete round; PBP_UNKNOWN: none yet. */
int64
pbp_own_file_bytes(const PbpOwnFiles *own)
{
	return own->last_round.cached;
}

/* The size of the files of relations; PBP_UNKNOWN: no complete round yet. */
int64
pbp_data_bytes(const PbpOwnFiles *own)
{
	return own->last_round.data;
}

/* The size of those of WAL, likewise. */
int64
pbp_wal_bytes(const PbpOwnFiles *own)
{
	return own->last_round.wal;
}

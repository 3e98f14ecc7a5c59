/*-------------------------------------------------------------------------
 *
 * ownfiles.c
 *	  The size of this server's files, and what the page cache holds of them.
 *
 * Asks the kernel about all files of relations, of all databases, and of WAL, a
 * little at a time.  Needs no transaction and takes no lock.  Only cachestat is
 * cheap enough for that; without it, what the page cache holds is unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/fd.h"

#include "base/latency.h"
#include "base/settings.h"
#include "memory/servermemory.h"
#include "os/datafiles.h"
#include "os/oscache.h"

/* Shares of the allowed processor time for counting: during a round, and on average. */
#define ROUND_SHARE			0.5
#define COUNTING_SHARE		0.05

/* Asked about at a time: at most 0.3 ms, if each page is a folio of its own. */
#define RANGE_BYTES			(INT64CONST(32) * 1024 * 1024)

/* A round is a walk through all files. */
static bool in_round = false;
static int64 began_ns;
static int64 spent_ns;			/* in this round */
static int64 next_round_ns = 0;
static PbpDataFiles files;
static const char *path;		/* of the file that is being counted, or NULL */
static int64 offset;			/* in this file */
static PbpOwnBytes counted;		/* in this round */
static PbpOwnBytes last_round = {PBP_UNKNOWN, PBP_UNKNOWN, PBP_UNKNOWN, PBP_UNKNOWN};

/*
 * Counts ranges of the open file until the time or the end of the file.  If the kernel
 * does not report what it caches of one file, only sizes are counted until the round ends.
 */
static void
count_cached(int fd, int64 bytes, int64 until_ns)
{
	bool		known = counted.cached != PBP_UNKNOWN &&
		pbp_os_file_system_trust(fd) == PBP_OS_TRUSTED;
	PbpCachestat pages;

	while (known && offset < bytes)
	{
		known = pbp_kernel_cachestat(fd, offset, RANGE_BYTES, &pages);
		if (known)
			counted.cached += (int64) pages.cached * pbp_os_page_bytes();
		offset += RANGE_BYTES;
		if (known && offset < bytes && pbp_now_ns() >= until_ns)
			return;
	}
	if (!known)
		counted.cached = PBP_UNKNOWN;
	path = NULL;
}

static void
count_file(int64 until_ns)
{
	struct stat info;
	int			fd = pbp_open_regular_file(path, &info);

	/* The file was dropped, or is no file of a relation. */
	if (fd < 0 || info.st_size == 0)
		path = NULL;
	else
	{
		if (offset == 0)
			*(pbp_is_wal_file(&files) ? &counted.wal : &counted.data) += info.st_size;
		count_cached(fd, info.st_size, until_ns);
	}
	if (fd >= 0)
		(void) CloseTransientFile(fd);
}

/*
 * Goes on counting for a part of the time until the next call.  A file takes about
 * 10 us, and each of its cached folios 30 ns.  Between two calls, nothing stays
 * open.
 *
 * A round should be short, since the page cache changes meanwhile: pages leave
 * files that are still to be counted for files that have been.  The rest after it
 * is the longer for that.
 */
void
pbp_count_own_files(void)
{
	int64		start_ns = pbp_now_ns();
	double		budget_ns = ROUND_SHARE * pbp_max_cpu_fraction * PBP_CAPACITY_NS;
	int64		until_ns = start_ns + (int64) budget_ns;

	if (!in_round && start_ns < next_round_ns)
		return;
	if (!in_round)
	{
		in_round = true;
		began_ns = start_ns;
		spent_ns = 0;
		pbp_begin_data_files(&files, ".");
		path = NULL;
		counted = (PbpOwnBytes) {.all_cached = pbp_file_bytes("")};
	}
	while (in_round && pbp_now_ns() < until_ns)
	{
		if (!path)
		{
			path = pbp_next_data_file(&files);
			offset = 0;
		}
		if (path)
			count_file(until_ns);
		else
		{
			/*
			 * What the page cache grew by during the round may have been counted or
			 * not.  It is the server's rather than others'.
			 */
			counted.all_cached = Min(counted.all_cached, pbp_file_bytes(""));
			last_round = counted;
			in_round = false;
		}
	}
	pbp_pause_data_files(&files);
	spent_ns += pbp_now_ns() - start_ns;
	if (!in_round)
		next_round_ns = began_ns + (int64) (spent_ns / (COUNTING_SHARE * pbp_max_cpu_fraction));
}

/* By the last complete round; PBP_UNKNOWN: there is none. */
PbpOwnBytes
pbp_own_bytes(void)
{
	return last_round;
}

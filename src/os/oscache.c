/*-------------------------------------------------------------------------
 *
 * oscache.c
 *	  What the kernel's page cache holds of a relation's files.
 *
 * Takes no lock.  Each range of a file is seen at its own instant.  Files are
 * opened, and judged, in osfile.c; shared buffers are not inspected here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/latency.h"
#include "os/oscache.h"

#define KILOBYTE			INT64CONST(1024)
#define MEGABYTE			(1024 * KILOBYTE)

/*
 * Bytes between two checks for interrupts.  A larger mapping would not make
 * mincore cheaper, and the answer for this one fits on the stack.
 */
#define COUNT_WINDOW		(256 * MEGABYTE)
#define MINCORE_WINDOW		(16 * MEGABYTE)
#define WINDOW_PAGES		(MINCORE_WINDOW / 4096)	/* of the smallest size */

/* ranges of a map, see pbp_os_map() */
#define SMALLEST_STEP		(512 * KILOBYTE)
#define LARGEST_STEP		(32 * MEGABYTE)

/*
 * The kernel silently cuts off a WILLNEED at the device's readahead, which is
 * not less than this by default.
 */
#define WILLNEED_STEP		(128 * KILOBYTE)

/* written back before the next check for interrupts, on a slow disk too */
#define DONTNEED_STEP		(4 * MEGABYTE)

/* ---- requests ---- */

/* Of a range that begins at the start of a page. */
static int64
pages_of(int64 bytes)
{
	return (bytes + pbp_os_page_bytes() - 1) / pbp_os_page_bytes();
}

static void
report_no_answer(const PbpOsFile *file)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not get page cache state of file \"%s\": %m", file->path)));
}

static PbpCachestat
ask_cachestat(const PbpOsFile *file, int64 offset, int64 bytes)
{
	PbpCachestat answer;

	if (!pbp_kernel_cachestat(file->fd, offset, bytes, &answer))
		report_no_answer(file);
	return answer;
}

/* Sets the lowest bit for each page that is cached, and returns how many these are. */
static int64
ask_mincore(const PbpOsFile *file, int64 offset, int64 bytes, uint8 *pages)
{
	int64		npages = pages_of(bytes);
	int64		cached = 0;

	if (!pbp_kernel_mincore(file->fd, offset, bytes, pages))
		report_no_answer(file);
	for (int64 i = 0; i < npages; i++)
		cached += pages[i] & 1;
	return cached;
}

/* ---- counts ---- */

/*
 * Counts the cached pages of a segment; -1: unknown.  Its length is that of the
 * moment when it was opened; what has been truncated since is not cached.
 *
 * cachestat counts a page from the moment when its read begins, mincore when
 * it has ended.
 */
int64
pbp_os_count(const PbpOsFile *file)
{
	bool		by_cachestat = file->method == PBP_OS_CACHESTAT;
	int64		window = by_cachestat ? COUNT_WINDOW : MINCORE_WINDOW;
	int64		cached = 0;

	if (file->trust != PBP_OS_TRUSTED)
		return -1;
	for (int64 offset = 0; offset < file->bytes; offset += window)
	{
		int64		bytes = Min(window, file->bytes - offset);
		uint8		pages[WINDOW_PAGES];

		CHECK_FOR_INTERRUPTS();
		cached += by_cachestat ? (int64) ask_cachestat(file, offset, bytes).cached :
			ask_mincore(file, offset, bytes, pages);
	}
	return cached;
}

/* ---- block by block ---- */

/* The wanted blocks, and what is known about them. */
typedef struct BlockMap
{
	int64		first;
	int64		end;
	bool	   *is_cached;		/* for each block from the first on */
	int64		cached;
} BlockMap;

/*
 * Marks the cached blocks that begin in a range, by its pages, or all if that is
 * NULL.  Blocks may be larger or smaller than pages.  A block is cached if every
 * page that has a part of it is cached.
 */
static void
mark_blocks(BlockMap *map, int64 offset, int64 bytes, const uint8 *pages)
{
	int			page_bytes = (int) pbp_os_page_bytes();
	int64		first = Max(offset / BLCKSZ, map->first);
	int64		end = Min((offset + bytes) / BLCKSZ, map->end);

	for (int64 block = first; block < end; block++)
	{
		int			start = (int) (block * BLCKSZ - offset);
		bool		cached = true;
		int			last = (start + BLCKSZ - 1) / page_bytes;

		for (int page = start / page_bytes; pages && page <= last; page++)
			cached = cached && (pages[page] & 1);
		if (cached)
		{
			map->is_cached[block - map->first] = true;
			map->cached++;
		}
	}
}

/*
 * Maps a range by one count.  Returns false if a part of it is cached, or if
 * cachestat cannot be used.
 */
static bool
map_as_a_whole(const PbpOsFile *file, BlockMap *map, int64 offset, int64 bytes)
{
	int64		cached;

	if (file->method != PBP_OS_CACHESTAT)
		return false;
	cached = (int64) ask_cachestat(file, offset, bytes).cached;
	if (cached >= pages_of(bytes))
		mark_blocks(map, offset, bytes, NULL);
	return cached == 0 || cached >= pages_of(bytes);
}

/* Maps the blocks from an offset on, as pbp_os_map() describes, to the end. */
static void
map_range(const PbpOsFile *file, BlockMap *map, int64 offset, int64 end)
{
	int64		step = SMALLEST_STEP;
	int64		mixed_step = SMALLEST_STEP;

	while (offset < end)
	{
		int64		bytes = Min(step, end - offset);

		CHECK_FOR_INTERRUPTS();
		if (map_as_a_whole(file, map, offset, bytes))
		{
			step = Min(step * 2, LARGEST_STEP);
			mixed_step = SMALLEST_STEP;
		}
		else if (bytes > SMALLEST_STEP)
		{
			step = SMALLEST_STEP;
			continue;
		}
		else
		{
			uint8		pages[WINDOW_PAGES];

			bytes = Min(mixed_step, end - offset);
			(void) ask_mincore(file, offset, bytes, pages);
			mark_blocks(map, offset, bytes, pages);
			mixed_step = Min(mixed_step * 2, MINCORE_WINDOW);
		}
		offset += bytes;
	}
}

/*
 * Sets which blocks of a segment are cached with all their pages, and returns how
 * many these are.
 *
 * first and nblocks count within the segment.  Blocks past the end of the file are
 * not cached, and no block of a file that is not trusted.  The file must not have
 * been opened for cachestat only.
 *
 * cachestat answers for a range that is cached as a whole or not at all; after
 * each such range the next one is twice as long.  Within the smallest range
 * that is cached in part, mincore reports each page, and each further range of
 * this kind in a row is twice as long as the one before.  So a uniform file
 * costs a few requests, and a file cached at random a few percent more than
 * mincore alone, which is about 50 ns per page.
 */
int64
pbp_os_map(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks, bool *is_cached)
{
	int64		unit = Max(pbp_os_page_bytes(), BLCKSZ);
	BlockMap	map = {.first = first,.is_cached = is_cached};

	memset(is_cached, false, nblocks);
	if (file->trust != PBP_OS_TRUSTED)
		return 0;
	map.end = Max(first, Min((int64) first + nblocks, file->bytes / BLCKSZ));
	map_range(file, &map, (int64) first * BLCKSZ / unit * unit, map.end * BLCKSZ);
	return map.cached;
}

/* True if the block is cached with all its pages. */
bool
pbp_os_block(const PbpOsFile *file, BlockNumber block)
{
	bool		is_cached;

	return pbp_os_map(file, block, 1, &is_cached) > 0;
}

/*
 * True if each page of the block is cached, or was evicted so recently that the kernel would take
 * it for a page that is used often if it returned now.  The file's method must be cachestat.
 */
bool
pbp_os_recent_block(const PbpOsFile *file, BlockNumber block)
{
	int64		unit = Max(pbp_os_page_bytes(), BLCKSZ);
	int64		offset = (int64) block * BLCKSZ / unit * unit;
	PbpCachestat answer = ask_cachestat(file, offset, unit);

	return (int64) (answer.cached + answer.recently_evicted) >= pages_of(unit);
}

/* ---- reads ---- */

/*
 * Times the read of one block, from the page cache or from storage, without
 * readahead.  Returns false if the file no longer has the block.
 */
bool
pbp_os_time_read(const PbpOsFile *file, BlockNumber block, int64 *ns)
{
	PGAlignedBlock page;
	int64		start;

	(void) pbp_kernel_advise(file->fd, 0, 0, PBP_OS_RANDOM);
	start = pbp_now_ns();
	if (pg_pread(file->fd, page.data, BLCKSZ, (off_t) block * BLCKSZ) != BLCKSZ)
		return false;
	*ns = pbp_now_ns() - start;
	return true;
}

/*
 * Drops blocks that only we have brought into the page cache, so that our reads
 * are not taken for someone's use of the blocks.  Those that are dirty stay.
 */
void
pbp_os_drop_blocks(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks)
{
	(void) pbp_kernel_advise(file->fd, (int64) first * BLCKSZ, (int64) nblocks * BLCKSZ,
							 PBP_OS_DONTNEED);
}

/* ---- advice ---- */

/*
 * The kernel reports a failed write only once.  If we receive this report, the
 * checkpointer may never see it, so the server must recover as after a failed
 * fsync of its own.  A request that is refused has written nothing.
 */
static void
write_back(const PbpOsFile *file, int64 offset, int64 bytes)
{
	int			elevel = ERROR;

	if (pbp_kernel_write_back(file->fd, offset, bytes, true))
		return;
	if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
		elevel = data_sync_elevel(ERROR);
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not write back file \"%s\": %m", file->path)));
}

/*
 * Has a range of the file read into the page cache, or dropped from it.
 *
 * WILLNEED starts reads and does not wait for them.  DONTNEED first writes
 * dirty pages and waits for that.  Pages that others use at the same time may
 * stay.
 */
void
pbp_os_advise(const PbpOsFile *file, int64 offset, int64 bytes, PbpOsAdvice advice)
{
	int64		end = offset + bytes;
	int64		step = advice == PBP_OS_WILLNEED ? WILLNEED_STEP : DONTNEED_STEP;

	for (; offset < end; offset += step)
	{
		bytes = Min(step, end - offset);
		CHECK_FOR_INTERRUPTS();
		if (advice == PBP_OS_DONTNEED)
			write_back(file, offset, bytes);
		if (!pbp_kernel_advise(file->fd, offset, bytes, advice))
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not advise the kernel about file \"%s\": %m", file->path)));
	}
}

/*
 * Uses a block, which waits until it is in the page cache.  The kernel ignores
 * another use of the same page if there was none of others in between.
 */
void
pbp_os_use(const PbpOsFile *file, BlockNumber block)
{
	PGAlignedBlock page;

	/* An error is that of the server when it reads the block. */
	(void) !pg_pread(file->fd, page.data, BLCKSZ, (off_t) block * BLCKSZ);
}

/*-------------------------------------------------------------------------
 *
 * oscache.c
 *	  What the kernel's page cache holds of a file, and whether its answer
 *	  can be trusted.
 *
 * Linux has two ways to ask.  cachestat(2), new in 6.5, counts a range: its
 * cost is 30 ns a folio, which is next to nothing for a file that was read
 * ahead in large folios and half of mincore's for one that was read at
 * random.  mincore(2) tells each page of a mapping, at 50 ns a page.  Neither
 * touches a page: nothing is read in, nothing ages, and a file that is
 * truncated meanwhile shows fewer pages and raises no SIGBUS.
 *
 * No lock is taken.  Each range is seen at its own instant.
 *
 * Shared buffers are not looked at here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

#include "access/xact.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/fd.h"

#include "latency.h"
#include "oscache.h"

#define KILOBYTE			INT64CONST(1024)
#define MEGABYTE			(1024 * KILOBYTE)

/*
 * Bytes between two checks for interrupts.  A larger mapping would not make
 * mincore any cheaper, and at this size its answer fits on the stack.
 */
#define COUNT_WINDOW		(256 * MEGABYTE)
#define MINCORE_WINDOW		(16 * MEGABYTE)
#define SMALLEST_PAGE		4096
#define WINDOW_PAGES		(MINCORE_WINDOW / SMALLEST_PAGE)

/* ranges that a map is made of, see pbp_os_map() */
#define SMALLEST_STEP		(512 * KILOBYTE)
#define LARGEST_STEP		(32 * MEGABYTE)

/*
 * A single WILLNEED is cut off, silently, at what the device reads ahead.
 * Linux does not read ahead less than this by default.
 */
#define WILLNEED_STEP		(128 * KILOBYTE)

/* written back before the next look for interrupts, on a slow disk too */
#define DONTNEED_STEP		(4 * MEGABYTE)

/*
 * Where no segment has a page, also after it has grown for a while, or has
 * got pages past its end because they come in large folios.
 */
#define FAR_PAST_END		(1024 * MEGABYTE)

bool		pbp_os_cache_on = true;

/* What the kernel's cachestat takes and gives. */
typedef struct CachestatRange
{
	uint64		offset;
	uint64		bytes;
} CachestatRange;

typedef struct Cachestat
{
	uint64		cached;
	uint64		dirty;
	uint64		writeback;
	uint64		evicted;
	uint64		recently_evicted;
} Cachestat;

/* ---- what the platform offers ---- */

#ifdef __linux__

/* The headers may be older than the kernel. */
#if defined(__NR_cachestat)
#define CACHESTAT_NUMBER	__NR_cachestat
#elif defined(__alpha__) || defined(__mips__) || defined(__ia64__) || \
	(defined(__x86_64__) && defined(__ILP32__))
#define CACHESTAT_NUMBER	(-1)	/* numbered otherwise than the rest */
#else
#define CACHESTAT_NUMBER	451
#endif

static bool
kernel_cachestat(int fd, int64 offset, int64 bytes, Cachestat *answer)
{
	CachestatRange range = {.offset = offset,.bytes = bytes};

	return syscall(CACHESTAT_NUMBER, fd, &range, answer, 0) == 0;
}

/*
 * One byte a page, of which the lowest bit says that it is in memory.  The
 * mapping is gone on return, so that no error can leave it behind.
 */
static bool
kernel_mincore(int fd, int64 offset, int64 bytes, uint8 *pages)
{
	void	   *mapping = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, offset);
	int			result;
	int			save_errno;

	if (mapping == MAP_FAILED)
		return false;
	result = mincore(mapping, bytes, pages);
	save_errno = errno;
	(void) munmap(mapping, bytes);
	errno = save_errno;
	return result == 0;
}

/*
 * Writes dirty pages, since only clean ones can be dropped.  The device's own
 * cache may keep them: durability is the checkpointer's business.
 */
static bool
kernel_write_back(int fd, int64 offset, int64 bytes)
{
	return sync_file_range(fd, offset, bytes,
						   SYNC_FILE_RANGE_WAIT_BEFORE |
						   SYNC_FILE_RANGE_WRITE |
						   SYNC_FILE_RANGE_WAIT_AFTER) == 0;
}

static bool
kernel_advise(int fd, int64 offset, int64 bytes, PbpOsAdvice advice)
{
	errno = posix_fadvise(fd, offset, bytes, advice == PBP_OS_WILLNEED ?
						  POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
	return errno == 0;
}

/* Of this open file the kernel is to read what it is asked for, and nothing ahead. */
static void
kernel_read_no_more(int fd)
{
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

/* What the methods cannot tell of this kind of file system. */
static PbpOsTrust
file_system_trust(int fd)
{
	struct statfs info;

	if (fstatfs(fd, &info) != 0)
		return PBP_OS_UNREADABLE;

	switch ((uint32) info.f_type)
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

#else							/* !__linux__ */

static bool
unsupported(int fd pg_attribute_unused(),...)
{
	errno = ENOSYS;
	return false;
}

#define kernel_cachestat	unsupported
#define kernel_mincore		unsupported
#define kernel_write_back	unsupported
#define kernel_advise		unsupported
#define kernel_read_no_more(fd)	((void) (fd))
#define file_system_trust(fd)	((void) (fd), PBP_OS_UNSUPPORTED)

#endif							/* __linux__ */

static int
page_shift(void)
{
	static int	shift = 0;

	if (shift == 0)
		shift = pg_leftmost_one_pos64((uint64) sysconf(_SC_PAGESIZE));
	return shift;
}

int64
pbp_os_page_bytes(void)
{
	return INT64CONST(1) << page_shift();
}

/* Pages that a range of bytes from the start of a page reaches into. */
static int64
pages_of(int64 bytes)
{
	return (bytes + pbp_os_page_bytes() - 1) >> page_shift();
}

/* ---- whom to trust ---- */

/*
 * A sentence for the user; NULL if the answer can be trusted.
 */
const char *
pbp_os_reason(PbpOsTrust trust)
{
	switch (trust)
	{
		case PBP_OS_TRUSTED:
			return NULL;
		case PBP_OS_UNSUPPORTED:
			return "This platform does not tell what its page cache holds; Linux does.";
		case PBP_OS_NO_CACHESTAT:
			return "The kernel has no cachestat, which came with Linux 6.5.";
		case PBP_OS_FILTERED:
			return "A system call filter, as containers have, forbids cachestat.";
		case PBP_OS_STACKED:
			return "On overlayfs cachestat does not see the file below, which has the pages; mincore does.";
		case PBP_OS_DENIED:
			return "The kernel calls every page cached, as it does to those who neither own the file nor may write it.";
		case PBP_OS_UNMAPPABLE:
			return "The file cannot be mapped into memory, which mincore needs.";
		case PBP_OS_OTHER_CACHE:
			return "The file system (ZFS, GPFS, FUSE, hugetlbfs) keeps its pages where the kernel's page cache does not show them.";
		case PBP_OS_DIRECT_IO:
			return "The server reads past the page cache, because \"debug_io_direct\" includes \"data\".";
		case PBP_OS_SWITCHED_OFF:
			return "The setting \"pgbufprobe.os_cache\" is off.";
		case PBP_OS_UNREADABLE:
			return "The file could not be opened.";
	}
	return NULL;				/* keep compiler quiet */
}

/*
 * Does mincore tell the truth?  To those who may not know it calls every page
 * resident, also the ones that cannot be because they lie past the end of the
 * file.  That is the kernel's own verdict, whatever it bases it on, and holds
 * for kernels as well that call everything resident for everybody.
 */
static PbpOsTrust
mincore_trust(const PbpOsFile *file)
{
	int64		page = pbp_os_page_bytes();
	int64		past_end = (file->bytes & ~(page - 1)) + FAR_PAST_END;
	uint8		resident;

	if (!kernel_mincore(file->fd, past_end, page, &resident))
		return PBP_OS_UNMAPPABLE;
	return (resident & 1) ? PBP_OS_DENIED : PBP_OS_TRUSTED;
}

/*
 * Does cachestat?  Its EPERM has two causes; a filter does not keep mincore
 * from telling the truth.
 */
static PbpOsTrust
cachestat_trust(const PbpOsFile *file, PbpOsTrust mincore)
{
	Cachestat	ignored;

	if (kernel_cachestat(file->fd, 0, pbp_os_page_bytes(), &ignored))
		return PBP_OS_TRUSTED;
	if (errno == EPERM)
		return mincore == PBP_OS_DENIED ? PBP_OS_DENIED : PBP_OS_FILTERED;
	return errno == EOPNOTSUPP ? PBP_OS_OTHER_CACHE : PBP_OS_NO_CACHESTAT;
}

/*
 * Choose the method, and say whether to trust it.  By default that needs
 * mincore to be truthful also where cachestat is used: a map needs both.
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
	file_system = file_system_trust(file->fd);
	file->method = wanted == PBP_OS_AUTO ? PBP_OS_MINCORE : wanted;
	file->trust = pbp_direct_io() ? PBP_OS_DIRECT_IO : file_system;
	if (file->trust != PBP_OS_TRUSTED && file->trust != PBP_OS_STACKED)
		return;

	mincore = mincore_trust(file);
	cachestat = file_system == PBP_OS_STACKED ?
		PBP_OS_STACKED : cachestat_trust(file, mincore);
	if (wanted == PBP_OS_AUTO &&
		cachestat == PBP_OS_TRUSTED && mincore == PBP_OS_TRUSTED)
		file->method = PBP_OS_CACHESTAT;
	file->trust = file->method == PBP_OS_CACHESTAT ? cachestat : mincore;
}

/* A file that the server would fail to read, too. */
static void
give_up(PbpOsFile *file)
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
 * The same, as decided before in this statement for a file of the same file
 * system, if both belong to the server's user: nothing else could make a
 * difference.  To decide takes five of the nine system calls that a small
 * file needs, and a database has hundreds.
 */
static void
choose_method_once(PbpOsFile *file, const struct stat *info, PbpOsMethod wanted)
{
	static struct
	{
		TimestampTz statement;
		dev_t		device;
		uid_t		owner;
		PbpOsMethod wanted;
		PbpOsMethod method;
		PbpOsTrust	trust;
	}			last = {.statement = -1};
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	file->method = PBP_OS_AUTO;
	if (last.statement == statement && last.device == info->st_dev &&
		last.owner == info->st_uid && last.wanted == wanted)
	{
		file->method = last.method;
		file->trust = last.trust;
		return;
	}

	choose_method(file, wanted);
	if (file->trust == PBP_OS_UNREADABLE)
		give_up(file);
	if (file->trust == PBP_OS_UNREADABLE || info->st_uid != geteuid())
		return;
	last.statement = statement;
	last.device = info->st_dev;
	last.owner = info->st_uid;
	last.wanted = wanted;
	last.method = file->method;
	last.trust = file->trust;
}

/* ---- files ---- */

/*
 * Name of a segment's file, relative to the data directory, where the server
 * runs.  Palloc'd.
 */
static char *
segment_path(const PbpLocator *locator, ForkNumber fork, int segment)
{
	char	   *base = pbp_relation_path(locator, fork);
	char	   *path;

	if (segment == 0)
		return base;
	path = psprintf("%s.%d", base, segment);
	pfree(base);
	return path;
}

/* A directory can be opened, but not read, so it counts as one that cannot. */
static bool
stat_file(int fd, struct stat *info)
{
	if (fstat(fd, info) != 0)
		return false;
	errno = EISDIR;
	return !S_ISDIR(info->st_mode);
}

/*
 * Open a segment of a fork and find out how to ask for it.  False if there is
 * no such file, as when the relation was dropped or has become shorter.  One
 * that cannot be opened for another reason is PBP_OS_UNREADABLE.
 *
 * The descriptor is counted by the server, and closed when the transaction
 * is rolled back.  Two system calls, and five for the first file of a
 * statement.
 */
bool
pbp_os_open(const PbpLocator *locator, ForkNumber fork, int segment,
			PbpOsMethod wanted, PbpOsFile *file)
{
	struct stat info;

	file->path = segment_path(locator, fork, segment);
	file->fd = OpenTransientFile(file->path, O_RDONLY | PG_BINARY);
	if (file->fd < 0 && errno == ENOENT)
	{
		pfree(file->path);
		return false;
	}
	if (file->fd < 0 || !stat_file(file->fd, &info))
	{
		give_up(file);
		return true;
	}
	file->error = 0;
	file->bytes = info.st_size;
	choose_method_once(file, &info, wanted);
	return true;
}

void
pbp_os_close(PbpOsFile *file)
{
	if (file->fd >= 0)
		(void) CloseTransientFile(file->fd);
	file->fd = -1;
	pfree(file->path);
}

/* To be followed by pbp_os_next() until that says that there is no more. */
void
pbp_os_walk(PbpOsWalk *walk, const PbpLocator *locator, ForkNumber fork,
			PbpOsMethod wanted)
{
	walk->locator = *locator;
	walk->fork = fork;
	walk->method = wanted;
	walk->segment = -1;
}

/*
 * Go on to the next segment.  One that is shorter than it could be is the
 * last; the server may leave empty files behind it.
 */
bool
pbp_os_next(PbpOsWalk *walk)
{
	bool		was_last = false;

	if (walk->segment >= 0)
	{
		was_last = walk->file.bytes < PBP_SEGMENT_BYTES;
		pbp_os_close(&walk->file);
	}
	CHECK_FOR_INTERRUPTS();
	return !was_last &&
		pbp_os_open(&walk->locator, walk->fork, ++walk->segment, walk->method, &walk->file);
}

/* ---- asking ---- */

static void
raise_unanswered(const PbpOsFile *file)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not get page cache state of file \"%s\": %m",
					file->path)));
}

/* As the kernel functions, but an error unless the kernel answers. */
static void
ask_cachestat(const PbpOsFile *file, int64 offset, int64 bytes,
			  Cachestat *answer)
{
	if (!kernel_cachestat(file->fd, offset, bytes, answer))
		raise_unanswered(file);
}

static void
ask_mincore(const PbpOsFile *file, int64 offset, int64 bytes, uint8 *pages)
{
	if (!kernel_mincore(file->fd, offset, bytes, pages))
		raise_unanswered(file);
}

static void
count_by_cachestat(const PbpOsFile *file, PbpOsCounts *counts)
{
	counts->cached = counts->dirty = counts->writeback = 0;
	counts->evicted = counts->recently_evicted = 0;

	for (int64 offset = 0; offset < file->bytes; offset += COUNT_WINDOW)
	{
		Cachestat	answer;

		CHECK_FOR_INTERRUPTS();
		ask_cachestat(file, offset, Min(COUNT_WINDOW, file->bytes - offset),
					  &answer);
		counts->cached += answer.cached;
		counts->dirty += answer.dirty;
		counts->writeback += answer.writeback;
		counts->evicted += answer.evicted;
		counts->recently_evicted += answer.recently_evicted;
	}
}

static void
count_by_mincore(const PbpOsFile *file, PbpOsCounts *counts)
{
	counts->cached = 0;

	for (int64 offset = 0; offset < file->bytes; offset += MINCORE_WINDOW)
	{
		int64		bytes = Min(MINCORE_WINDOW, file->bytes - offset);
		uint8		pages[WINDOW_PAGES];

		CHECK_FOR_INTERRUPTS();
		ask_mincore(file, offset, bytes, pages);
		for (int i = 0; i < pages_of(bytes); i++)
			counts->cached += pages[i] & 1;
	}
}

/*
 * How many pages of the file are cached.  Counts are as of the file's length
 * when it was opened; what was truncated since is not cached.
 *
 * cachestat sees a page from the moment it is being read, mincore when it has
 * been.  The kernel marks dirty a folio, which may be several pages.
 */
void
pbp_os_count(const PbpOsFile *file, PbpOsCounts *counts)
{
	memset(counts, -1, sizeof(*counts));
	counts->pages = pages_of(file->bytes);
	if (file->trust != PBP_OS_TRUSTED)
		return;
	if (file->method == PBP_OS_CACHESTAT)
		count_by_cachestat(file, counts);
	else
		count_by_mincore(file, counts);
}

/* ---- block by block ---- */

/* The blocks that are asked for, and what is known of them. */
typedef struct BlockMap
{
	int64		first;
	int64		end;
	uint8	   *bitmap;
	PbpOsBlocks *blocks;
} BlockMap;

static void
set_bits(uint8 *bitmap, int64 bit, int64 end)
{
	for (; bit < end && bit % 8 != 0; bit++)
		pbp_set_bit(bitmap, bit);
	memset(bitmap + bit / 8, 0xFF, (end - bit) / 8);
	for (bit += (end - bit) / 8 * 8; bit < end; bit++)
		pbp_set_bit(bitmap, bit);
}

/* All blocks that start in this range are cached. */
static void
mark_cached(BlockMap *map, int64 offset, int64 bytes)
{
	int64		first = Max(offset / BLCKSZ, map->first);
	int64		end = Min((offset + bytes) / BLCKSZ, map->end);

	set_bits(map->bitmap, first - map->first, end - map->first);
	map->blocks->cached += end - first;
}

/*
 * Blocks may be larger or smaller than pages.  Either way a block is cached
 * if each page that it has a part in is.
 */
static void
mark_pages(BlockMap *map, int64 offset, int64 bytes, const uint8 *pages)
{
	int			shift = page_shift();
	int64		first = Max(offset / BLCKSZ, map->first);
	int64		end = Min((offset + bytes) / BLCKSZ, map->end);

	for (int64 block = first; block < end; block++)
	{
		int64		start = block * BLCKSZ - offset;
		int			page = (int) (start >> shift);
		int			last = (int) ((start + BLCKSZ - 1) >> shift);
		int			npages = last - page + 1;
		int			ncached = 0;

		for (; page <= last; page++)
			ncached += pages[page] & 1;
		if (ncached == npages)
		{
			pbp_set_bit(map->bitmap, block - map->first);
			map->blocks->cached++;
		}
		else if (ncached > 0)
			map->blocks->partial++;
	}
}

/*
 * Ask for a range as a whole.  False if it is cached in part, or if only
 * mincore can be asked.
 */
static bool
map_as_a_whole(const PbpOsFile *file, BlockMap *map, int64 offset, int64 bytes)
{
	Cachestat	answer;

	if (file->method != PBP_OS_CACHESTAT)
		return false;
	ask_cachestat(file, offset, bytes, &answer);
	if (answer.cached == 0)
		return true;
	if (answer.cached < (uint64) pages_of(bytes))
		return false;
	mark_cached(map, offset, bytes);
	return true;
}

static void
map_page_by_page(const PbpOsFile *file, BlockMap *map, int64 offset, int64 bytes)
{
	uint8		pages[WINDOW_PAGES];

	ask_mincore(file, offset, bytes, pages);
	mark_pages(map, offset, bytes, pages);
}

/*
 * Which blocks of a segment are cached with all their pages.
 *
 * first and nblocks count within the segment; bit 0 of the bitmap, which has
 * PBP_BITMAP_BYTES(nblocks) bytes, is the first one.  Blocks past the end of
 * the file are not cached.  The file must be trusted, and must not have been
 * opened for cachestat alone.
 *
 * Ranges that are all in or all out are told by cachestat, and twice as many
 * bytes are tried after each.  In a mixed one even the smallest range is asked
 * page by page; then the longer such ranges follow each other, the fewer
 * times cachestat is tried in vain.  So a uniform file costs one cachestat, a
 * file cached at random what mincore costs plus a few percent.
 */
void
pbp_os_map(const PbpOsFile *file, BlockNumber first, BlockNumber nblocks,
		   uint8 *bitmap, PbpOsBlocks *blocks)
{
	int64		unit = Max(pbp_os_page_bytes(), BLCKSZ);
	int64		offset = (int64) first * BLCKSZ / unit * unit;
	int64		step = SMALLEST_STEP;
	int64		mixed_step = SMALLEST_STEP;
	int64		end;
	BlockMap	map = {.first = first,.bitmap = bitmap,.blocks = blocks};

	Assert(file->trust == PBP_OS_TRUSTED);
	memset(bitmap, 0, PBP_BITMAP_BYTES(nblocks));
	memset(blocks, 0, sizeof(*blocks));

	map.end = Max(first, Min((int64) first + nblocks, file->bytes / BLCKSZ));
	end = map.end * BLCKSZ;
	while (offset < end)
	{
		int64		bytes = Min(step, end - offset);

		CHECK_FOR_INTERRUPTS();
		if (map_as_a_whole(file, &map, offset, bytes))
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
			bytes = Min(mixed_step, end - offset);
			map_page_by_page(file, &map, offset, bytes);
			mixed_step = Min(mixed_step * 2, MINCORE_WINDOW);
		}
		offset += bytes;
	}
}

/* ---- reading ---- */

/*
 * Time the read of one block of the file, from wherever the kernel has it,
 * without its reading ahead.  False if the block is not there any more.
 */
bool
pbp_os_time_read(const PbpOsFile *file, BlockNumber block, int64 *ns)
{
	PGAlignedBlock page;
	int64		start;

	kernel_read_no_more(file->fd);
	start = pbp_now_ns();
	if (pg_pread(file->fd, page.data, BLCKSZ, (off_t) block * BLCKSZ) != BLCKSZ)
		return false;
	*ns = pbp_now_ns() - start;
	return true;
}

/*
 * Have the kernel drop a block that was not in its cache before it was timed,
 * so that the next look does not take our own read for somebody's use.
 */
void
pbp_os_drop_block(const PbpOsFile *file, BlockNumber block)
{
	(void) kernel_advise(file->fd, (int64) block * BLCKSZ, BLCKSZ, PBP_OS_DONTNEED);
}

/* ---- advising ---- */

/*
 * The kernel tells a failed write once.  If it tells us, the checkpointer
 * might never learn, so the server must go through recovery as if its own
 * fsync had failed.  A call that is refused has written nothing.
 */
static void
write_back(const PbpOsFile *file, int64 offset, int64 bytes)
{
	int			elevel = ERROR;

	if (kernel_write_back(file->fd, offset, bytes))
		return;
	if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
		elevel = data_sync_elevel(ERROR);
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not write back file \"%s\": %m", file->path)));
}

/*
 * Have the file read into the page cache, or dropped from it.  Returns the
 * bytes that the advice was given for.
 *
 * WILLNEED starts reads and does not wait for them to end.  DONTNEED waits
 * until dirty pages are written.  What others dirty or read meanwhile stays.
 */
int64
pbp_os_advise(const PbpOsFile *file, PbpOsAdvice advice)
{
	int64		step = advice == PBP_OS_WILLNEED ? WILLNEED_STEP : DONTNEED_STEP;

	for (int64 offset = 0; offset < file->bytes; offset += step)
	{
		int64		bytes = Min(step, file->bytes - offset);

		CHECK_FOR_INTERRUPTS();

		if (advice == PBP_OS_DONTNEED)
			write_back(file, offset, bytes);
		if (!kernel_advise(file->fd, offset, bytes, advice))
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not advise the kernel about file \"%s\": %m",
							file->path)));
	}
	return file->bytes;
}

/*-------------------------------------------------------------------------
 *
 * oskernel.c
 *	  The kernel's system calls about the cached pages of an open file.
 *
 * Linux reports cached pages in two ways.  cachestat(2), new in 6.5, counts
 * those of a range: about 30 ns per folio, which is half of mincore's time for
 * a file that was read at random, and hardly any for a file that was read
 * ahead in large folios.  mincore(2) reports each page of a mapping, at about
 * 50 ns per page.  Neither accesses a page: nothing is read in, no page ages,
 * and a file that is truncated at the same time has fewer cached pages but
 * raises no SIGBUS.
 *
 * Whether an answer can be trusted is decided in osfile.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

#include "port/pg_bitutils.h"

#include "os/oskernel.h"

int
pbp_os_page_shift(void)
{
	static int	shift = 0;

	if (shift == 0)
		shift = pg_leftmost_one_pos64((uint64) sysconf(_SC_PAGESIZE));
	return shift;
}

int64
pbp_os_page_bytes(void)
{
	return INT64CONST(1) << pbp_os_page_shift();
}

/* Pages of a range that begins at the start of a page. */
int64
pbp_os_pages(int64 bytes)
{
	return (bytes + pbp_os_page_bytes() - 1) >> pbp_os_page_shift();
}

#ifdef __linux__

/* The headers may be older than the kernel. */
#if defined(__NR_cachestat)
#define CACHESTAT_NUMBER	__NR_cachestat
#elif defined(__alpha__) || defined(__mips__) || defined(__ia64__) || \
	(defined(__x86_64__) && defined(__ILP32__))
#define CACHESTAT_NUMBER	(-1)	/* these number their system calls differently */
#else
#define CACHESTAT_NUMBER	451
#endif

/* What the system call takes. */
typedef struct CachestatRange
{
	uint64		offset;
	uint64		bytes;
} CachestatRange;

bool
pbp_kernel_cachestat(int fd, int64 offset, int64 bytes, PbpCachestat *answer)
{
	CachestatRange range = {.offset = offset,.bytes = bytes};

	return syscall(CACHESTAT_NUMBER, fd, &range, answer, 0) == 0;
}

/*
 * Sets the lowest bit of one byte per page if the page is cached.  The mapping
 * is removed before the return, so no error can leave it behind.
 */
bool
pbp_kernel_mincore(int fd, int64 offset, int64 bytes, uint8 *pages)
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
 * Writes dirty pages, since only clean ones can be dropped.  They may stay in
 * the device's own cache: the checkpointer provides durability.
 */
bool
pbp_kernel_write_back(int fd, int64 offset, int64 bytes)
{
	return sync_file_range(fd, offset, bytes,
						   SYNC_FILE_RANGE_WAIT_BEFORE |
						   SYNC_FILE_RANGE_WRITE |
						   SYNC_FILE_RANGE_WAIT_AFTER) == 0;
}

/* The same for a whole file, without waiting until it is done. */
bool
pbp_kernel_begin_write_back(int fd)
{
	return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0;
}

bool
pbp_kernel_advise(int fd, int64 offset, int64 bytes, PbpOsAdvice advice)
{
	errno = posix_fadvise(fd, offset, bytes, advice == PBP_OS_WILLNEED ?
						  POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
	return errno == 0;
}

/* Reads through this descriptor no longer read ahead. */
bool
pbp_kernel_stop_readahead(int fd)
{
	errno = posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return errno == 0;
}

/* Sets the number by which statfs(2) identifies the type of file system. */
bool
pbp_kernel_file_system(int fd, uint32 *type)
{
	struct statfs info;

	if (fstatfs(fd, &info) != 0)
		return false;
	*type = (uint32) info.f_type;
	return true;
}

#endif							/* __linux__ */

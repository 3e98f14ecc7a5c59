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

#include "os/oscache.h"

int64
pbp_os_page_bytes(void)
{
	static int64 bytes = 0;

	if (bytes == 0)
		bytes = sysconf(_SC_PAGESIZE);
	return bytes;
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

bool
pbp_kernel_cachestat(int fd, int64 offset, int64 bytes, PbpCachestat *answer)
{
	struct
	{
		uint64		offset;
		uint64		bytes;
	}			range = {offset, bytes};

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
pbp_kernel_write_back(int fd, int64 offset, int64 bytes, bool wait)
{
	unsigned	waits = wait ? SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER : 0;

	return sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE | waits) == 0;
}

/* Advice about readahead is for this descriptor only. */
bool
pbp_kernel_advise(int fd, int64 offset, int64 bytes, PbpOsAdvice advice)
{
	static const int numbers[] = {
		[PBP_OS_WILLNEED] = POSIX_FADV_WILLNEED,
		[PBP_OS_DONTNEED] = POSIX_FADV_DONTNEED,
		[PBP_OS_RANDOM] = POSIX_FADV_RANDOM,
	};

	errno = posix_fadvise(fd, offset, bytes, numbers[advice]);
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

/*-------------------------------------------------------------------------
 *
 * oskernel.h
 *	  The kernel's system calls about the cached pages of an open file.
 *
 * Each function makes one request, which fails with errno set.  All of them
 * fail with ENOSYS where PBP_ON_LINUX is false.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OSKERNEL_H
#define PBP_OSKERNEL_H

#ifdef __linux__
#define PBP_ON_LINUX		true
#else
#define PBP_ON_LINUX		false
#endif

/* In pages, as cachestat(2) returns them. */
typedef struct PbpCachestat
{
	uint64		cached;
	uint64		dirty;
	uint64		writeback;
	uint64		evicted;
	uint64		recently_evicted;
} PbpCachestat;

typedef enum PbpOsAdvice
{
	PBP_OS_WILLNEED,
	PBP_OS_DONTNEED
} PbpOsAdvice;

#define PBP_OS_ADVICES		(PBP_OS_DONTNEED + 1)

extern int	pbp_os_page_shift(void);
extern int64 pbp_os_page_bytes(void);
extern int64 pbp_os_pages(int64 bytes);

#ifdef __linux__
extern bool pbp_kernel_cachestat(int fd, int64 offset, int64 bytes, PbpCachestat *answer);
extern bool pbp_kernel_mincore(int fd, int64 offset, int64 bytes, uint8 *pages);
extern bool pbp_kernel_write_back(int fd, int64 offset, int64 bytes);
extern bool pbp_kernel_begin_write_back(int fd);
extern bool pbp_kernel_advise(int fd, int64 offset, int64 bytes, PbpOsAdvice advice);
extern bool pbp_kernel_stop_readahead(int fd);
extern bool pbp_kernel_file_system(int fd, uint32 *type);
#else
#define pbp_kernel_cachestat(...)		pbp_unsupported()
#define pbp_kernel_mincore(...)			pbp_unsupported()
#define pbp_kernel_write_back(...)		pbp_unsupported()
#define pbp_kernel_begin_write_back(...)	pbp_unsupported()
#define pbp_kernel_advise(...)			pbp_unsupported()
#define pbp_kernel_stop_readahead(...)	pbp_unsupported()
#define pbp_kernel_file_system(...)		pbp_unsupported()

static inline bool
pbp_unsupported(void)
{
	errno = ENOSYS;
	return false;
}
#endif

#endif							/* PBP_OSKERNEL_H */

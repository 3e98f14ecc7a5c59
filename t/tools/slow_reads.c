/*
 * slow_reads.c
 *		To be preloaded: while the file named by SLOW_READS exists, a worker that
 *		saves or restores both caches waits 50 ms before each read of a file whose
 *		path is in it.  After "!" before the path, the read fails instead, and after
 *		"?" only the first one, which removes the file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void
read_all(const char *path, char *text, size_t size)
{
	int			fd = open(path, O_RDONLY);
	ssize_t		length = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = '\0';
}

/* What is to happen at a read of this file: nothing (0), a wait (1), or a failure ("!", "?"). */
static char
fault_of(int fd)
{
	const char *name = getenv("SLOW_READS");
	char		faults[4096];
	char		path[1024] = "";
	char		link[64];
	char		title[256];
	const char *found;

	if (!name || access(name, F_OK) != 0)
		return 0;
	read_all(name, faults, sizeof(faults));
	read_all("/proc/self/cmdline", title, sizeof(title));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!strstr(title, "pgbufprobe carry-over") || readlink(link, path, sizeof(path) - 1) <= 0)
		return 0;
	found = strstr(faults, path);
	if (!found)
		return 0;
	return found > faults && strchr("!?", found[-1]) ? found[-1] : 1;
}

/* Returns true if the read is to fail, with errno set. */
static bool
fails(int fd)
{
	struct timespec left = {.tv_nsec = 50 * 1000 * 1000};
	char		fault = fault_of(fd);

	while (fault == 1 && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	if (fault == '?')
		unlink(getenv("SLOW_READS"));
	errno = EIO;
	return fault > 1;
}

ssize_t
pread(int fd, void *buffer, size_t length, off_t offset)
{
	static ssize_t (*original) (int, void *, size_t, off_t) = NULL;

	if (!original)
		original = (ssize_t (*) (int, void *, size_t, off_t)) dlsym(RTLD_NEXT, "pread");
	return fails(fd) ? -1 : original(fd, buffer, length, offset);
}

ssize_t
preadv(int fd, const struct iovec *parts, int nparts, off_t offset)
{
	static ssize_t (*original) (int, const struct iovec *, int, off_t) = NULL;

	if (!original)
		original = (ssize_t (*) (int, const struct iovec *, int, off_t)) dlsym(RTLD_NEXT, "preadv");
	return fails(fd) ? -1 : original(fd, parts, nparts, offset);
}

/* the same functions where off_t has 64 bits anyway */
ssize_t
pread64(int fd, void *buffer, size_t length, off64_t offset)
{
	return pread(fd, buffer, length, offset);
}

ssize_t
preadv64(int fd, const struct iovec *parts, int nparts, off64_t offset)
{
	return preadv(fd, parts, nparts, offset);
}

/*
 * small_shm.c
 *		To be preloaded: while the file named by SMALL_SHM exists, no file can
 *		be given a megabyte, as if /dev/shm were full.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int
posix_fallocate(int fd, off_t offset, off_t length)
{
	static int	(*original) (int, off_t, off_t) = NULL;
	const char *name = getenv("SMALL_SHM");

	if (!original)
		original = (int (*) (int, off_t, off_t)) dlsym(RTLD_NEXT, "posix_fallocate");
	if (length >= 1024 * 1024 && name && access(name, F_OK) == 0)
		return ENOSPC;
	return original(fd, offset, length);
}

/* the same function where file sizes have 64 bits anyway */
int
posix_fallocate64(int fd, off_t offset, off_t length)
{
	return posix_fallocate(fd, offset, length);
}

/*
 * slow_probes.c
 *		To be preloaded: while the file named by SLOW_PROBES exists, slows down
 *		a call that the worker makes before it times a read, and that nothing
 *		else in the server makes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	static int	(*original) (int, off_t, off_t, int) = NULL;
	struct timespec left = {.tv_nsec = 900 * 1000 * 1000};
	const char *name = getenv("SLOW_PROBES");
	int			slow = advice == POSIX_FADV_RANDOM && name && access(name, F_OK) == 0;

	if (!original)
		original = (int (*) (int, off_t, off_t, int)) dlsym(RTLD_NEXT, "posix_fadvise");
	while (slow && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	return original(fd, offset, length, advice);
}

/* the same function where off_t has 64 bits anyway */
int
posix_fadvise64(int fd, off64_t offset, off64_t length, int advice)
{
	return posix_fadvise(fd, offset, length, advice);
}

/*
 * pause_probe.c
 *		To be preloaded: stops a process that has opened a file and is about to
 *		ask which of its pages are cached, for as long as the file named by
 *		PAUSE_PROBE is there.  Its name with ".reached" says that one waits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct statfs;

int
fstatfs(int fd, struct statfs *info)
{
	static int	(*original) (int, struct statfs *) = NULL;
	const struct timespec nap = {.tv_nsec = 10 * 1000 * 1000};
	const char *name = getenv("PAUSE_PROBE");
	char		reached[4096];

	if (!original)
		original = (int (*) (int, struct statfs *)) dlsym(RTLD_NEXT, "fstatfs");
	if (name && access(name, F_OK) == 0)
	{
		snprintf(reached, sizeof(reached), "%s.reached", name);
		close(open(reached, O_CREAT | O_WRONLY, 0600));
		while (access(name, F_OK) == 0)
			nanosleep(&nap, NULL);
	}
	return original(fd, info);
}

/* the same function where file sizes have 64 bits anyway */
int
fstatfs64(int fd, struct statfs *info)
{
	return fstatfs(fd, info);
}

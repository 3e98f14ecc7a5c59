/*
 * switches.c
 *		To be preloaded: what the server's processes get from the system is not
 *		what it is.  An environment variable switches each part on, and all but the
 *		first name a file, and do so only while that file exists.
 *
 *		FAST_CLOCK		the monotonic clock runs ten times as fast
 *		SHIFT_CLOCK		the wall clock is put forward by the seconds in the file
 *		SHIFT_MONOTONIC	and so is the monotonic clock
 *		LITTLE_MEMORY	the file is read instead of /proc/meminfo
 *		SMALL_SHM		no file can be given a megabyte, as if /dev/shm were full
 *		PAUSE_PROBE		who has opened a file and is about to ask which of its pages
 *						are cached waits; the file's name with ".reached" says so
 *		SLOW_PROBES		a call that the sampler makes before it times a read, and
 *						that nothing else in the server makes, takes long
 *		OTHER_FILE		who asks whether one block is cached first opens PG_VERSION,
 *						as another library could, and then gets an error
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define CACHESTAT	451
#define BLOCK		8192

#define REAL(name) \
	static __typeof__(name) *real = NULL; \
	if (!real) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

/* The name of the file, if it exists. */
static const char *
switch_of(const char *variable)
{
	const char *name = getenv(variable);

	return name && access(name, F_OK) == 0 ? name : NULL;
}

static long
shift_by(const char *variable)
{
	const char *name = getenv(variable);
	FILE	   *file = name ? fopen(name, "r") : NULL;
	long		seconds = 0;

	if (file)
	{
		if (fscanf(file, "%ld", &seconds) != 1)
			seconds = 0;
		fclose(file);
	}
	return seconds;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	int			result;

	REAL(gettimeofday);
	result = real(tv, tz);
	tv->tv_sec += shift_by("SHIFT_CLOCK");
	return result;
}

/* pg_ctl compares it with the time at which the server has started. */
time_t
time(time_t *result)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}

int
clock_gettime(clockid_t clock, struct timespec *time)
{
	int			result;

	REAL(clock_gettime);
	result = real(clock, time);
	if (result == 0 && clock == CLOCK_MONOTONIC)
	{
		time->tv_sec += shift_by("SHIFT_MONOTONIC");
		if (getenv("FAST_CLOCK"))
		{
			int64_t		ns = 10 * ((int64_t) time->tv_sec * 1000000000 + time->tv_nsec);

			time->tv_sec = ns / 1000000000;
			time->tv_nsec = ns % 1000000000;
		}
	}
	return result;
}

FILE *
fopen(const char *path, const char *mode)
{
	const char *meminfo = strcmp(path, "/proc/meminfo") == 0 ? switch_of("LITTLE_MEMORY") : NULL;

	REAL(fopen);
	return real(meminfo ? meminfo : path, mode);
}

int
posix_fallocate(int fd, off_t offset, off_t length)
{
	REAL(posix_fallocate);
	return length >= 1024 * 1024 && switch_of("SMALL_SHM") ? ENOSPC : real(fd, offset, length);
}

int
fstatfs(int fd, struct statfs *info)
{
	const struct timespec nap = {.tv_nsec = 10 * 1000 * 1000};
	const char *name = switch_of("PAUSE_PROBE");
	char		reached[4096];

	REAL(fstatfs);
	if (name)
	{
		snprintf(reached, sizeof(reached), "%s.reached", name);
		close(open(reached, O_CREAT | O_WRONLY, 0600));
		while (access(name, F_OK) == 0)
			nanosleep(&nap, NULL);
	}
	return real(fd, info);
}

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	struct timespec left = {.tv_nsec = 900 * 1000 * 1000};
	int			slow = advice == POSIX_FADV_RANDOM && switch_of("SLOW_PROBES");

	REAL(posix_fadvise);
	while (slow && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	return real(fd, offset, length, advice);
}

long
syscall(long number,...)
{
	static int	opened = 0;
	long		argument[6];
	va_list		arguments;

	REAL(syscall);
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == CACHESTAT && ((uint64_t *) argument[1])[1] == BLOCK && switch_of("OTHER_FILE"))
	{
		int			(*open_file) (const char *, int) = (int (*) (const char *, int)) dlsym(RTLD_DEFAULT, "OpenTransientFile");

		if (!opened && open_file)
			opened = open_file("PG_VERSION", O_RDONLY) >= 0;
		errno = EIO;
		return -1;
	}
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

int
fstatfs64(int fd, struct statfs64 *info)
{
	return fstatfs(fd, (struct statfs *) info);
}

/* These are the same where off_t has 64 bits anyway. */
FILE	   *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
int			posix_fallocate64(int fd, off64_t offset, off64_t length) __attribute__((alias("posix_fallocate")));
int			posix_fadvise64(int fd, off64_t offset, off64_t length, int advice) __attribute__((alias("posix_fadvise")));

/*
 * shift_clock.c
 *		To be preloaded: while the file named by SHIFT_CLOCK exists, puts the
 *		wall clock forward by the number of seconds in it.  The same of
 *		SHIFT_MONOTONIC and the monotonic clock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

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
	static int	(*original) (struct timeval *, void *) = NULL;
	int			result;

	if (!original)
		original = (int (*) (struct timeval *, void *)) dlsym(RTLD_NEXT, "gettimeofday");
	result = original(tv, tz);
	tv->tv_sec += shift_by("SHIFT_CLOCK");
	return result;
}

int
clock_gettime(clockid_t clock, struct timespec *time)
{
	static int	(*original) (clockid_t, struct timespec *) = NULL;
	int			result;

	if (!original)
		original = (int (*) (clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	result = original(clock, time);
	if (clock == CLOCK_MONOTONIC)
		time->tv_sec += shift_by("SHIFT_MONOTONIC");
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

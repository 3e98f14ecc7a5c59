/*
 * little_memory.c
 *		To be preloaded: while the file named by LITTLE_MEMORY exists, it is read
 *		instead of /proc/meminfo.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
open(const char *path, int flags, ...)
{
	static int	(*original) (const char *, int, ...) = NULL;
	const char *name = getenv("LITTLE_MEMORY");
	va_list		arguments;
	int			mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, int);
	va_end(arguments);
	if (!original)
		original = (int (*) (const char *, int, ...)) dlsym(RTLD_NEXT, "open");
	if (name && strcmp(path, "/proc/meminfo") == 0 && access(name, F_OK) == 0)
		path = name;
	return original(path, flags, mode);
}

/* the same function where off_t has 64 bits anyway */
int
open64(const char *path, int flags, ...)
{
	va_list		arguments;
	int			mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, int);
	va_end(arguments);
	return open(path, flags, mode);
}

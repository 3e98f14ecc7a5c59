/*
 * little_memory.c
 *		To be preloaded: while the file named by LITTLE_MEMORY exists, it is read
 *		instead of /proc/meminfo.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *
fopen(const char *path, const char *mode)
{
	static FILE *(*original) (const char *, const char *) = NULL;
	const char *name = getenv("LITTLE_MEMORY");

	if (!original)
		original = (FILE *(*) (const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
	if (name && strcmp(path, "/proc/meminfo") == 0 && access(name, F_OK) == 0)
		path = name;
	return original(path, mode);
}

/* the same function where off_t has 64 bits anyway */
FILE *
fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

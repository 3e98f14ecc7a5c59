/*
 * other_file.c
 *		To be preloaded: while the file named by OTHER_FILE exists, a process that
 *		asks whether one block of a file is cached first opens the server's
 *		PG_VERSION, as another library in it could, and then gets an error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define CACHESTAT	451
#define BLOCK		8192

long
syscall(long number,...)
{
	static long (*original) (long,...) = NULL;
	static int	opened = 0;
	const char *name = getenv("OTHER_FILE");
	long		argument[6];
	va_list		arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(arguments, long);
	va_end(arguments);
	if (!original)
		original = (long (*) (long,...)) dlsym(RTLD_NEXT, "syscall");
	if (number == CACHESTAT && ((uint64_t *) argument[1])[1] == BLOCK && name && access(name, F_OK) == 0)
	{
		int			(*open_file) (const char *, int) = (int (*) (const char *, int)) dlsym(RTLD_DEFAULT, "OpenTransientFile");

		if (!opened && open_file)
			opened = open_file("PG_VERSION", O_RDONLY) >= 0;
		errno = EIO;
		return -1;
	}
	return original(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

/*
 * page_state.c
 *	  Puts pages of a file into a state: page_state FILE (VERB FIRST COUNT)...
 *
 *	  drop	  out of memory, if the kernel can; written before if need be
 *	  read	  into memory, with none ahead of them
 *	  dirty	  written as they are, and left to be written to the device
 *
 * Pages past the end of the file are left out.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
set_state(int fd, const char *verb, off_t offset, off_t bytes)
{
	static char buffer[1 << 16];

	if (strcmp(verb, "drop") == 0)
		return fdatasync(fd) || posix_fadvise(fd, offset, bytes, POSIX_FADV_DONTNEED);

	for (off_t end = offset + bytes; offset < end; offset += (off_t) sizeof(buffer))
	{
		size_t		part = (size_t) (end - offset) < sizeof(buffer) ?
			(size_t) (end - offset) : sizeof(buffer);
		ssize_t		got = pread(fd, buffer, part, offset);

		if (got < 0)
			return -1;
		if (strcmp(verb, "dirty") == 0 && pwrite(fd, buffer, (size_t) got, offset) != got)
			return -1;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	off_t		page = sysconf(_SC_PAGESIZE);
	int			fd = argc > 1 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		return perror("page_state"), 1;
	for (int i = 2; i + 2 < argc; i += 3)
	{
		if (set_state(fd, argv[i], atoll(argv[i + 1]) * page, atoll(argv[i + 2]) * page) != 0)
			return perror(argv[i]), 1;
	}
	return 0;
}

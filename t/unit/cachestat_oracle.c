/*
 * cachestat_oracle.c
 *	  What cachestat says of files, for tests to compare with: a line for each
 *	  file named, with its pages that are cached, dirty, being written, evicted
 *	  and recently evicted; or with the error.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
	{
		int			fd = open(argv[i], O_RDONLY);
		uint64_t	to_the_end[2] = {0, 0};
		uint64_t	counts[5];

		if (fd < 0)
			return perror(argv[i]), 1;
		if (syscall(__NR_cachestat, fd, to_the_end, counts, 0) != 0)
			printf("%s\n", strerror(errno));
		else
			printf("%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n",
				   counts[0], counts[1], counts[2], counts[3], counts[4]);
		close(fd);
	}
	return 0;
}

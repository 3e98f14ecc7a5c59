/*
 * cachestat_oracle.c
 *	  Prints for each file what cachestat returns: its pages that are cached,
 *	  dirty, being written, evicted and recently evicted; or the error.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cachestat.h"

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

/*
 * page_watch.c
 *	  Watches whether the pages of a file that are in memory stay there.
 *	  Prints their number, and when its input ends, the number of page faults
 *	  that it takes to touch them again: 0 if each has stayed.
 *
 * Unlike two calls of mincore, this also notices a page that leaves and is
 * read again: all are mapped, and the kernel drops no page without unmapping
 * it.  Advice does not drop mapped pages.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static long
faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Returns the number of page faults. */
static long
touch(const volatile char *file, size_t npages, size_t page, const unsigned char *wanted)
{
	long		before = faults();

	for (size_t p = 0; p < npages; p++)
	{
		if (wanted[p] & 1)
			(void) file[p * page];
	}
	return faults() - before;
}

int
main(int argc, char **argv)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	int			fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	struct stat info;
	size_t		bytes;
	size_t		npages;
	size_t		nwatched = 0;
	unsigned char *watched;
	char	   *file;

	if (fd < 0 || fstat(fd, &info) != 0)
		return perror("page_watch"), 1;
	bytes = (size_t) info.st_size;
	npages = (bytes + page - 1) / page;
	watched = calloc(npages, 1);
	file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED || madvise(file, bytes, MADV_RANDOM) != 0 ||
		mincore(file, bytes, watched) != 0)
		return perror(argv[1]), 1;

	for (size_t p = 0; p < npages; p++)
		nwatched += watched[p] & 1;
	touch(file, npages, page, watched);
	printf("%zu\n", nwatched);
	fflush(stdout);

	while (getchar() != EOF)
		;
	printf("%ld\n", touch(file, npages, page, watched));
	return 0;
}

/*
 * mincore_oracle.c
 *	  Prints for each file what mincore returns: '1' for each page that is in
 *	  memory and '0' for each other.
 *
 * Shares no code with the extension, and maps each file as a whole.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);

	for (int i = 1; i < argc; i++)
	{
		int			fd = open(argv[i], O_RDONLY);
		struct stat info;
		size_t		npages;
		unsigned char *pages;
		void	   *file;

		if (fd < 0 || fstat(fd, &info) != 0)
			return perror(argv[i]), 1;
		npages = ((size_t) info.st_size + page - 1) / page;
		pages = calloc(npages + 1, 1);
		if (npages > 0)
		{
			file = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_SHARED, fd, 0);
			if (file == MAP_FAILED || mincore(file, (size_t) info.st_size, pages) != 0)
				return perror(argv[i]), 1;
			munmap(file, (size_t) info.st_size);
		}
		for (size_t p = 0; p < npages; p++)
			putchar('0' + (pages[p] & 1));
		putchar('\n');
		free(pages);
		close(fd);
	}
	return 0;
}

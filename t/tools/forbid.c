/*
 * forbid.c
 *	  Runs a program, and all that it starts, with a filter on system calls:
 *	  forbid FILTER PROGRAM ARG...
 *
 *	  EPERM			cachestat fails, as in some containers
 *	  ENOSYS		cachestat fails, as in kernels that do not have it
 *	  mincore		mincore fails, as in system services with a strict filter
 *	  page_cache	a call that asks for the state of the page cache ends the
 *					process that makes it: cachestat, mincore, and the one piece
 *					of advice about a file that PostgreSQL itself does not give
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "cachestat.h"

/* the lower half of a 64-bit argument */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif

#define LENGTH(filter) ((unsigned short) (sizeof(filter) / sizeof((filter)[0])))

int
main(int argc, char **argv)
{
	unsigned int error = argc > 1 && strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
	unsigned int number = argc > 1 && strcmp(argv[1], "mincore") == 0 ? __NR_mincore : __NR_cachestat;
	struct sock_filter one_call[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_filter page_cache[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_cachestat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mincore, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fadvise64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(3)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, POSIX_FADV_RANDOM, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog filter = {LENGTH(one_call), one_call};

	if (argc < 3)
		return fprintf(stderr, "usage: forbid EPERM|ENOSYS|mincore|page_cache PROGRAM ARG...\n"), 2;
	if (strcmp(argv[1], "page_cache") == 0)
		filter = (struct sock_fprog) {LENGTH(page_cache), page_cache};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return perror("forbid"), 1;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}

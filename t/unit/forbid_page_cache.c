/*
 * forbid_page_cache.c
 *	  Runs a program, and all that it starts, so that the system calls that
 *	  ask for the page cache's state end the process that makes them:
 *	  forbid_page_cache PROGRAM ARG...
 *
 * That is cachestat, mincore, and the one piece of advice about a file that
 * PostgreSQL itself does not give.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

/* the lower half of a 64-bit argument */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif

int
main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_cachestat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mincore, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fadvise64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(3)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, POSIX_FADV_RANDOM, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 2)
		return fprintf(stderr, "usage: forbid_page_cache PROGRAM ARG...\n"), 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return perror("forbid_page_cache"), 1;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}

/*
 * forbid_cachestat.c
 *	  Runs a program, and all that it starts, without the system call
 *	  cachestat, as a container may do: forbid_cachestat EPERM PROGRAM ARG...
 *
 *	  EPERM		a filter forbids it
 *	  ENOSYS	the kernel does not have it
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

int
main(int argc, char **argv)
{
	unsigned int error = argc > 1 && strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_cachestat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 3)
		return fprintf(stderr, "usage: forbid_cachestat EPERM|ENOSYS PROGRAM ARG...\n"), 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return perror("forbid_cachestat"), 1;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}

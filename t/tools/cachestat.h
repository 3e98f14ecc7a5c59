/*
 * cachestat.h
 *	  The number of the system call, for headers that are older than it.
 */
#ifndef CACHESTAT_H
#define CACHESTAT_H

#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

#endif

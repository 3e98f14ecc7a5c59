/*-------------------------------------------------------------------------
 *
 * memoryfacts.h
 *	  The settings and the processes of this server: how much memory they may
 *	  take, and how many of them work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_MEMORYFACTS_H
#define PBP_MEMORYFACTS_H

#include "memory/memoryplan.h"

extern PbpMemorySettings pbp_memory_settings(void);
extern PbpProcesses pbp_count_processes(bool ask_kernel);
extern int	pbp_count_working(void);

#endif							/* PBP_MEMORYFACTS_H */

/*-------------------------------------------------------------------------
 *
 * servermemory.h
 *	  The memory of this server: what it can have, what it uses itself, and
 *	  whether the kernel's page cache serves its reads as the advice models it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SERVERMEMORY_H
#define PBP_SERVERMEMORY_H

#include "advice/capacity.h"

extern PbpCapacity *pbp_create_capacity(void);
extern int64 pbp_page_cache_room(void);

#endif							/* PBP_SERVERMEMORY_H */

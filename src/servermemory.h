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

#include "capacity.h"

extern PbpCapacity *pbp_create_capacity(void);
extern int64 pbp_page_cache_bytes(void);
extern int64 pbp_server_data_bytes(void);
extern int64 pbp_server_wal_bytes(void);

#endif							/* PBP_SERVERMEMORY_H */

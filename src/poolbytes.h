/*-------------------------------------------------------------------------
 *
 * poolbytes.h
 *	  Shared memory that a pool takes.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POOLBYTES_H
#define PBP_POOLBYTES_H

#include <stdint.h>

/* At most so many megabytes, in bytes. */
static inline int64_t
pbp_at_most_mb(int64_t bytes, int64_t megabytes)
{
	return bytes < megabytes << 20 ? bytes : megabytes << 20;
}

/*
 * What depends on the pool's size, in bytes: a buffer's descriptor, hash table
 * entry and the like are 2.3 % of it.  By default, the buffers for WAL grow with
 * the pool up to 16 MB, and three buffers for transactions up to 8 MB each (from
 * 17 on).
 */
static inline int64_t
pbp_pool_bytes(int64_t shared_buffers)
{
	return shared_buffers + shared_buffers / 1000 * 23 + pbp_at_most_mb(shared_buffers / 32, 16) +
		3 * pbp_at_most_mb(shared_buffers / 512, 8);
}

#endif							/* PBP_POOLBYTES_H */

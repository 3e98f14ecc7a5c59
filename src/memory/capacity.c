/*-------------------------------------------------------------------------
 *
 * capacity.c
 *	  For the advice: how much the page cache can hold.
 *
 * The memory of the server and the limits of its cgroups may change at any
 * time, so the worker reads them every few seconds.
 *
 *-------------------------------------------------------------------------
 */
#include "memory/servermemory.h"

#include <math.h>

#include "base/latency.h"

/*
 * Private memory comes and goes with queries, so small changes of the capacity
 * are averaged.  A change by a larger share is other servers.
 */
#define SMALL_CHANGE	0.1
#define CHANGE_GAIN		0.125

/* The next call follows at once. */
void
pbp_reset_capacity(PbpCapacity *capacity)
{
	capacity->read_ns = 0;
	capacity->cache_bytes = 0;
}

static bool
is_modelled(const PbpCapacity *capacity)
{
	return capacity->model == PBP_STORAGE_MODELLED || capacity->model == PBP_STORAGE_UNPROVEN;
}

static double
averaged(double before, double now)
{
	if (fabs(now - before) > SMALL_CHANGE * before)
		return now;
	return before + CHANGE_GAIN * (now - before);
}

/* Unless that was done a few seconds ago: 0.5 to 3 ms. */
void
pbp_follow_capacity(PbpCapacity *capacity, PbpAdvice *advice, int block_bytes)
{
	int64_t		now_ns = pbp_now_ns();
	int64_t		limit = capacity->memory.limit_bytes;

	if (capacity->read_ns != 0 && now_ns - capacity->read_ns < PBP_CAPACITY_NS)
		return;
	capacity->read_ns = now_ns;
	capacity->model = capacity->read(&capacity->memory);
	/* With a new limit, an average would be of memory that may not exist. */
	if (capacity->memory.limit_bytes != limit)
		capacity->cache_bytes = 0;
	capacity->cache_bytes = is_modelled(capacity) ?
		averaged(capacity->cache_bytes, (double) capacity->memory.cache_bytes) : 0;
	/* negative: the pool is in normal pages */
	pbp_advice_set_huge_pages(advice, capacity->memory.server.huge_page_bytes > 0 ?
							  capacity->memory.huge_page_room / block_bytes : -1);
	pbp_advice_set_os_cache(advice, is_modelled(capacity) ?
							(int64_t) (capacity->cache_bytes / block_bytes) : -1);
}

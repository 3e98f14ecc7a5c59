/*-------------------------------------------------------------------------
 *
 * capacity.c
 *	  For the advice: how much the page cache can hold, and which sizes of the
 *	  pool fit into memory.
 *
 * The memory of the server and the limits of its cgroups may change at any
 * time, so the worker reads them every few seconds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "capacity.h"
#include "latency.h"
#include "osfile.h"
#include "ownfiles.h"
#include "sampler.h"

#define READ_NS			INT64CONST(5000000000)

/* Of the processor time that is allowed, to count what own files hold. */
#define COUNTING_SHARE	0.05

/*
 * Private memory comes and goes with queries, so small changes of the capacity
 * are averaged.  A change by a larger share is a new limit, or other servers.
 */
#define SMALL_CHANGE	0.1
#define CHANGE_GAIN		0.125

struct PbpCapacity
{
	PbpOwnFiles *own_files;
	int64		read_ns;		/* 0: never */
	PbpOsMemory memory;			/* when last read */
	PbpStorageModel model;
	double		cache_bytes;	/* its capacity, averaged; 0: unknown */
};

PbpCapacity *
pbp_create_capacity(void)
{
	PbpCapacity *capacity = MemoryContextAllocZero(TopMemoryContext, sizeof(PbpCapacity));

	capacity->own_files = pbp_create_own_files();
	return capacity;
}

/* The next call follows at once.  What own files hold remains known. */
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

/* With pgbufprobe.os_cache off, the kernel is not asked about anything. */
static void
read_capacity(PbpCapacity *capacity)
{
	if (!pbp_os_cache_on)
	{
		capacity->memory = (PbpOsMemory) {.known = false};
		capacity->model = PBP_STORAGE_SWITCHED_OFF;
		return;
	}
	pbp_count_own_files(capacity->own_files, (int64) (COUNTING_SHARE * pbp_max_cpu_fraction * READ_NS));
	pbp_server_memory(pbp_own_file_bytes(capacity->own_files), &capacity->memory);
	capacity->model = pbp_storage_model(&capacity->memory);
}

/* Unless that was done a few seconds ago: 0.5 ms, and the time for counting. */
void
pbp_follow_capacity(PbpCapacity *capacity, PbpAdvice *advice)
{
	int64		now_ns = pbp_now_ns();

	if (capacity->read_ns != 0 && now_ns - capacity->read_ns < READ_NS)
		return;
	capacity->read_ns = now_ns;
	read_capacity(capacity);
	capacity->cache_bytes = is_modelled(capacity) ?
		averaged(capacity->cache_bytes, (double) capacity->memory.cache_bytes) : 0;
	pbp_advice_set_os_cache(advice, is_modelled(capacity) ? (int64) (capacity->cache_bytes / BLCKSZ) : -1);
}

/* To be called when the capacity was followed. */
void
pbp_report_storage(const PbpCapacity *capacity, const PbpAdvice *advice, PbpStorageReport *report)
{
	report->model = capacity->model;
	report->data_bytes = pbp_data_bytes(capacity->own_files);
	report->data_fit = pbp_size_fits(&capacity->memory, report->data_bytes);
	pbp_advice_storage_totals(advice, &report->totals);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		report->fits[i] = pbp_size_fits(&capacity->memory,
										(int64) (pbp_advice_factor(i) * NBuffers) * BLCKSZ);
		pbp_advice_storage_row(advice, i, PBP_ADVICE_FIXED, &report->fixed[i]);
		pbp_advice_storage_row(advice, i, PBP_ADVICE_ADDED, &report->added[i]);
	}
}

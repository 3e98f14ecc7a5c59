/*-------------------------------------------------------------------------
 *
 * advicememory.c
 *	  How much memory the advice has, and the advice in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "utils/memutils.h"

#include "statistics/figures.h"
#include "base/compat.h"
#include "base/settings.h"
#include "sampler/advicememory.h"

/*
 * Of the pool; a larger sample takes more time and hardly improves the figures.
 * To keep the most used pages apart from the sample does not improve them either:
 * chance matters among those that a smaller pool barely holds.
 */
#define ENOUGH_PAGES	4000.0

/* A sample of 2,000 pages; a thousandth of a pool of 16 MB has 50, and four times the error */
#define LEAST_BYTES		((Size) 512 * 1024)

/* For as many, and some more; most of it is never touched */
#define ENOUGH_BYTES	((Size) 4 * 1024 * 1024)

/* This part of the memory is for relations and pages in use. */
#define RELATIONS_SHARE	6

/*
 * Memory for the simulated page caches: records of 50,000 pages.  A page cache
 * of 256 GB above which a pool of 16 GB runs has 31,000 of these, one page in
 * 1,100.  It is at most this share of the pool, too.
 */
#define STORAGE_BYTES	((Size) 4 * 1024 * 1024)
#define STORAGE_SHARE	0.01

/* As a share of that: for those of other totals.  All take half as much again as without. */
#define TOTALS_SHARE	0.58

/*
 * Returns NULL if none is wanted, or if there is not enough memory: the history
 * continues without advice.  Without memory for page caches it does not know what
 * waits for storage, and without that for other totals, what more or less memory is
 * worth.
 */
PbpAdvice *
pbp_create_advice(MemoryContext context, bool *has_storage, bool *has_totals)
{
	const int	flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;
	Size		bytes = pbp_advice_memory_kb >= 0 ? (Size) pbp_advice_memory_kb * 1024 :
		Min(Max((Size) NBuffers * BLCKSZ / 1000, LEAST_BYTES), ENOUGH_BYTES);
	Size		advice_bytes = MAXALIGN_DOWN(bytes - bytes / RELATIONS_SHARE);
	Size		storage_bytes = Min((Size) (STORAGE_SHARE * NBuffers * BLCKSZ), STORAGE_BYTES);
	Size		totals_bytes = (Size) (TOTALS_SHARE * (double) storage_bytes);
	char	   *memory;
	PbpAdvice  *advice;

	*has_storage = *has_totals = false;
	if (bytes == 0)
		return NULL;
	memory = MemoryContextAllocExtended(context, bytes, flags);
	if (memory == NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory for the advice"),
				 errdetail("Failed on request of size %zu.", bytes),
				 errhint("Lower \"pgbufprobe.advice_memory\" and reload the settings.")));
		return NULL;
	}
	advice = pbp_advice_init(memory, advice_bytes, NBuffers, BM_MAX_USAGE_COUNT,
							 pbp_advice_memory_kb < 0 ? ENOUGH_PAGES / NBuffers : 0,
							 PBP_COUNTS_APART);
	if (advice == NULL)
		return NULL;
	/* so that servers with equal data do not share the errors of one sample */
	advice->salt = pg_prng_uint64(&pg_global_prng_state);
	pbp_advice_watch_relations(advice, memory + advice_bytes, bytes - advice_bytes);

	memory = MemoryContextAllocExtended(context, storage_bytes, flags);
	*has_storage = memory != NULL && pbp_advice_init_storage(advice, memory, storage_bytes, BLCKSZ);
	if (*has_storage)
	{
		memory = MemoryContextAllocExtended(context, totals_bytes, flags);
		*has_totals = memory != NULL && pbp_advice_init_totals(advice, memory, totals_bytes);
	}
	return advice;
}

/*-------------------------------------------------------------------------
 *
 * plannercache.c
 *	  The checkup's answer whether effective_cache_size is what both caches can
 *	  hold.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "answers/answer.h"
#include "answers/reasons.h"
#include "base/settings.h"
#include "base/words.h"

/* The planner's estimate may differ by this factor in either direction. */
#define TOLERATED_FACTOR	2.0

/* What both caches can hold, in buffers. */
typedef struct BothCaches
{
	int64		os_cache;		/* capacity of the page cache */
	int64		twice;			/* that both hold today */
	int64		distinct;		/* pages of both, without these */
} BothCaches;

/* By the worker, which knows what other programs hold there; without it, by the kernel alone. */
static int64
capacity_of_page_cache(const PbpAdviceReport *report)
{
	const PbpAdviceStorageRow *today = &report->storage.fixed[PBP_ADVICE_BASELINE];
	PbpMemoryFacts facts;

	if (missing_advice(report) == NULL && !report->is_from_before && unknown_storage_model(report) == NULL &&
		today->reason != PBP_STORAGE_NO_CAPACITY)
		return Max(today->os_cache_pages, 0);
	pbp_read_memory_facts(&facts);
	return facts.memory.known ? facts.memory.cache_bytes / BLCKSZ : PBP_UNKNOWN;
}

/* Returns why that is unknown, without a full stop; NULL: it is known. */
static const char *
measure_caches(const Checkup *checkup, BothCaches *caches)
{
	const PbpDuplicates *duplicates = &checkup->duplicates;

	if (!pbp_os_cache_on)
		return "pgbufprobe.os_cache is off";
	if (pbp_direct_io())
		return "the server bypasses the page cache";
	caches->os_cache = capacity_of_page_cache(checkup->advice);
	if (caches->os_cache == PBP_UNKNOWN)
		return "the kernel does not report its memory";
	if (duplicates->sampled == 0)
		return "it is unknown which pages both caches hold";
	caches->twice = (int64) ((double) duplicates->cached / (double) duplicates->sampled * (double) checkup->used);
	caches->distinct = NBuffers + Max(caches->os_cache - caches->twice, 0);
	return NULL;
}

/* True if the planner may assume that all files of relations are cached, and they can be. */
static bool
hold_all(const PbpAdviceReport *report, const BothCaches *caches)
{
	int64		data = report->storage.data_bytes;

	return missing_advice(report) == NULL && report->storage.has_memory && !report->is_from_before && data > 0 &&
		Min(caches->distinct, (int64) effective_cache_size) * BLCKSZ >= data;
}

/*
 * The planner takes effective_cache_size for what all caches hold of the tables
 * of a query, each page once.
 */
void
answer_planner_cache(const Checkup *checkup, Answer *answer)
{
	BothCaches	caches;
	const char *reason = measure_caches(checkup, &caches);
	const char *measured;
	bool		is_near;

	if (reason != NULL)
	{
		answer_unknown(answer, reason);
		if (!pbp_os_cache_on)
			answer->action = "Set pgbufprobe.os_cache to on and reload the settings.";
		return;
	}
	answer->value = (double) effective_cache_size / (double) caches.distinct;
	is_near = answer->value <= TOLERATED_FACTOR && answer->value >= 1 / TOLERATED_FACTOR;
	measured = psprintf("effective_cache_size is %s, and both caches can hold %s: %s in the pool and %s in the page cache, of which %s are in both",
						pretty_size(effective_cache_size), pretty_size(caches.distinct), pretty_size(NBuffers),
						pretty_size(caches.os_cache), pretty_size(caches.twice));
	if (is_near)
		answer->text = psprintf("Yes: %s.", measured);
	else if (hold_all(checkup->advice, &caches))
		answer->text = psprintf("Yes: %s. Both are more than all relations have.", measured);
	else
	{
		answer->text = psprintf("No: %s.", measured);
		judge(answer, "consider", psprintf("Set effective_cache_size to %s and reload the settings. "
									   "It takes no memory; the planner then knows how likely a page is cached.",
									   pretty_size(caches.distinct)));
	}
}

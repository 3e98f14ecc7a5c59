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
#include "answers/sentences.h"
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
	double		ratio;
	bool		is_near;
	bool		is_enough;

	if (reason != NULL)
	{
		answer_unknown(answer, reason);
		if (!pbp_os_cache_on)
			answer->action = TURN_OS_CACHE_ON;
		return;
	}
	ratio = (double) effective_cache_size / (double) caches.distinct;
	is_near = ratio <= TOLERATED_FACTOR && ratio >= 1 / TOLERATED_FACTOR;
	is_enough = !is_near && hold_all(checkup->advice, &caches);
	answer->text = psprintf(SAY_PLANNER, is_near || is_enough ? "Right" : ratio > 1 ? "Too high" : "Too low",
							pretty_size(effective_cache_size), pretty_size(caches.distinct));
	answer->detail = join_sentences(psprintf(MORE_PLANNER, pretty_size(NBuffers), pretty_size(caches.os_cache), pretty_size(caches.twice)),
									is_enough ? MORE_THAN_ALL : NULL);
	if (!is_near && !is_enough)
		judge(answer, "consider", psprintf(SET_PLANNER, pretty_size(caches.distinct)));
}

/*-------------------------------------------------------------------------
 *
 * learning.c
 *	  When simulated pools and page caches hold what real ones would, and how much
 *	  of that is done.
 *
 * A larger pool, or a page cache, is learned when it has read as many pages as it
 * holds, or hardly any that a real one may have held before the first look.  What
 * was counted before that is worth nothing.  After a time without a look, it is
 * filled again in the same way, what was learned stays, and nothing is added until
 * then.
 *
 * The share of learning is followed by shares that chance lets fall at times.  The
 * largest one counts until knowledge is lost, or learning has ended.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/cachesets.h"

#include <string.h>

/* Learning less than this says nothing about its pace. */
#define ENOUGH_PROGRESS		0.05

/* Misses of the baseline that follow learning, as pools' worth. */
#define MATURE_POOLS		0.05

/* Once a pool is filled, its size is known after about so many pools' worth of reads. */
#define POOLS_AFTER_FILLING	1.3

/* Of what was counted before a cache was settled. */
#define UNSETTLED_WEIGHT	0.1

/* ---- progress ---- */

/* Learning has come so far, so many seconds later. */
static void
follow_progress(Progress *progress, double share, double seconds)
{
	if (progress->share <= 0)
		*progress = (Progress) {.first_share = share};
	else
		progress->seconds += seconds;
	progress->share = fmax(progress->share, share);
}

/* At the pace since learning began.  NaN: unknown. */
double
pbp_seconds_left(const Progress *progress)
{
	double		done = progress->share - progress->first_share;

	if (done < ENOUGH_PROGRESS || progress->seconds <= 0 || progress->share >= PBP_MOST_PROGRESS)
		return NAN;
	return progress->seconds * (1 - progress->share) / done;
}

/* How much of learning is done: doubt falls from 1 and is halved by equal numbers of reads. */
static inline double
doubt_progress(double doubtful_share, double tolerated_share)
{
	return doubtful_share <= tolerated_share ? 1 :
		fmax(0, log(doubtful_share) / log(tolerated_share));
}

/* So many counted events of a sample of this share, as a share of recent accesses at most. */
static double
share_of_recent(const Advice *advice, double counted, double sampled_share)
{
	double		accesses = advice->recent.accesses;

	return accesses > 0 ? counted / sampled_share / accesses : 1;
}

/*
 * The rule for pools and page caches: one is learned when it has read as much as it holds, or
 * hardly any of what it reads may have been held before.
 */
static inline bool
has_read_enough(bool is_full, double doubtful_share)
{
	return is_full || doubtful_share <= TOLERATED_DOUBT / 2;
}

/* ---- pools ---- */

/* Maximum share of misses of pages that a pool which is not full yet may have held before. */
static double
doubtful_share(const Advice *advice, int i)
{
	return share_of_recent(advice, advice->recent.doubtful_misses[i], share_of_pool(advice));
}

/* Of what is counted; smaller pools hold nothing that was used before. */
double
pbp_counted_doubt(const Advice *advice, int i)
{
	return i <= BASELINE || has_size(advice->refilling, i) ? 0 : doubtful_share(advice, i);
}

/* Misses of the baseline that follow learning before there is a figure. */
static double
needed_misses(const Advice *advice)
{
	return fmax(PBP_ENOUGH_EVENTS, MATURE_POOLS * advice->averages.residents);
}

/* True if too little has been seen of what a larger pool holds. */
bool
pbp_size_is_learning(const Advice *advice, int i)
{
	return advice->pools[i].learning ||
		sum_of_groups(advice->counters.sizes[i].baseline_misses) < needed_misses(advice) ||
		pbp_counted_doubt(advice, i) > TOLERATED_DOUBT;
}

/*
 * How much has been seen of what a size needs now: a pool of pages, or few
 * doubtful misses; then misses that count, few of them doubtful.  Smaller sizes
 * need but some loads.  Below 1 until the size is known.
 */
static double
learned_share_of_pool(const Advice *advice, int i)
{
	const SimulatedPool *pool = &advice->pools[i];
	double		misses = sum_of_groups(advice->counters.sizes[i].baseline_misses) /
		needed_misses(advice);
	double		doubtful = passes_watched(advice) < IN_ORDER_PASSES ? 1 : doubtful_share(advice, i);
	double		filled = (double) pool->nlearned / pool->nslots;
	double		filling = pbp_advice_factor(i) / (pbp_advice_factor(i) + POOLS_AFTER_FILLING);

	if (advice->averages.residents <= 0)
		return 0;				/* the pools have no size yet */
	if (i <= BASELINE)
		return fmin(filling * filled + (1 - filling) * all_loads(advice) / PBP_ENOUGH_EVENTS,
					PBP_MOST_PROGRESS);
	if (pool->learning)
		return filling * fmax(filled, doubt_progress(doubtful, TOLERATED_DOUBT / 2));
	return fmin(filling + (1 - filling) * fmin(misses, doubt_progress(doubtful, TOLERATED_DOUBT)),
				PBP_MOST_PROGRESS);
}

/* A simulated pool is in order only now: forget what it missed before. */
static void
forget_misses(const Advice *advice, int size)
{
	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (set_of(advice, cache) != NULL && size_above(advice, cache) == size)
			memset(cache_counters(advice, cache), 0, sizeof(CacheCounters));
}

static void
learn_pools(Advice *advice)
{
	for (int i = BASELINE + 1; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];

		if (!has_read_enough(pool->nlearned >= pool->nslots, doubtful_share(advice, i)))
			continue;
		if (has_size(advice->refilling, i))
		{
			advice->refilling &= ~size_bit(i);
			advice->recent.doubtful_misses[i] = 0;
		}
		if (!pool->learning)
			continue;
		pool->learning = false;
		memset(&advice->counters.sizes[i], 0, sizeof(SizeCounters));
		pbp_reduce_effects(advice->relations, i, false, 0);
		forget_misses(advice, i);
	}
}

/* ---- page caches ---- */

/* Maximum share of storage reads of pages that the real cache may have held before. */
double
pbp_doubtful_reads_share(const Advice *advice, int cache)
{
	const CacheSet *set = set_of(advice, cache);

	return share_of_recent(advice, set->doubtful_reads[slot_of(cache)],
						   share_of_pool(advice) * set->share);
}

/* Before a cache was settled, what it counted is worth little. */
static void
learn_cache(Advice *advice, int cache)
{
	SimulatedCache *simulated = simulated_cache(advice, cache);
	CacheCounters *counters = cache_counters(advice, cache);
	bool		is_filled = has_read_enough(is_full(simulated),
											pbp_doubtful_reads_share(advice, cache));

	if (is_filled && simulated->refilling &&
		!has_size(advice->refilling, size_above(advice, cache)))
	{
		simulated->refilling = false;
		set_of(advice, cache)->doubtful_reads[slot_of(cache)] = 0;
	}
	if (is_filled && simulated->learning)
	{
		simulated->learning = false;
		memset(counters, 0, sizeof(*counters));
		if (has_todays_memory(cache))
			pbp_reduce_effects(advice->relations, cache, true, 0);
	}
	if (!simulated->settled && simulated->nlearned + 1 > SETTLED_SHARE * simulated->capacity)
	{
		simulated->settled = true;
		pbp_scale_doubles(counters, sizeof(*counters), UNSETTLED_WEIGHT);
		if (has_todays_memory(cache))
			pbp_reduce_effects(advice->relations, cache, true, UNSETTLED_WEIGHT);
	}
}

/* Of a cache that is learning: it has been filled, or few reads are doubtful. */
static void
follow_cache(Advice *advice, int cache)
{
	SimulatedCache *simulated = simulated_cache(advice, cache);
	double		filled = simulated->nlearned / fmax(1, LEARNED_SHARE * simulated->capacity);
	double		certain = doubt_progress(pbp_doubtful_reads_share(advice, cache),
										 TOLERATED_DOUBT / 2);

	if (simulated->learning)
		follow_progress(&simulated->progress, fmin(fmax(filled, certain), PBP_MOST_PROGRESS),
						advice->look.fresh.seconds);
	else
		simulated->progress = (Progress) {0};
}

/* ---- all ---- */

void
pbp_learn(Advice *advice)
{
	learn_pools(advice);
	for (int cache = 0; cache < ALL_CACHES; cache++)
		if (set_of(advice, cache) != NULL)
		{
			learn_cache(advice, cache);
			follow_cache(advice, cache);
		}
}

/* At the end of a look.  What has been learned has no progress. */
void
pbp_follow_learning(Advice *advice)
{
	for (int i = 0; i < FACTORS; i++)
		if (all_loads(advice) >= PBP_ENOUGH_EVENTS && advice->counters.sizes[i].accesses > 0 &&
			(i <= BASELINE || !pbp_size_is_learning(advice, i)))
			advice->progress[i] = (Progress) {0};
		else
			follow_progress(&advice->progress[i], learned_share_of_pool(advice, i),
							advice->look.fresh.seconds);
}

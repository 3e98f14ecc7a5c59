/*-------------------------------------------------------------------------
 *
 * drift.c
 *	  Whether the load is still the one that a figure was made for.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/drift.h"

#include <math.h>
#include <string.h>

/* As in the advice; see HALF_LIFE_POOLS. */
#define HALF_LIFE_POOLS		3.0

/*
 * Factor by which the rate may change.  The peak of a day is commonly twice or
 * three times its mean.
 */
#define TOLERATED_RATE		3.0

/*
 * So many reads show how fast the load is.  Where it hardly reads, those of a
 * monitoring query would.
 */
#define ENOUGH_READS		100.0

/* Share of the reads that may be of other relations than expected. */
#define TOLERATED_MIX		0.2

/*
 * Below this share of the reference's rate, a second is no part of the load: a
 * monitoring query on an idle server is all hits.
 */
#define QUIET_SHARE			0.1

static const PbpReadShare *
find_relation(const PbpReadMix *mix, const PbpRelationKey *key)
{
	for (int i = 0; i < mix->nrelations; i++)
		if (memcmp(&mix->relations[i].key, key, sizeof(*key)) == 0)
			return &mix->relations[i];
	return NULL;
}

/*
 * Share of the reads of relations that the other mix does not have.  They may be
 * among its other relations.
 */
static double
missing_share(const PbpReadMix *mix, const PbpReadMix *from)
{
	double		missing = 0;

	for (int i = 0; i < mix->nrelations; i++)
	{
		const PbpReadShare *relation = &mix->relations[i];

		if (find_relation(from, &relation->key) == NULL)
			missing += fmax(0, relation->share - relation->error);
	}
	return fmax(0, missing - from->others);
}

/*
 * Share of the reads that are of other relations than expected, less what chance
 * explains.  0 if either mix is unknown.
 */
double
pbp_mix_distance(const PbpReadMix *expected, const PbpReadMix *mix)
{
	double		sum = 0;

	if (expected->nrelations == 0 || mix->nrelations == 0)
		return 0;
	for (int i = 0; i < mix->nrelations; i++)
	{
		const PbpReadShare *now = &mix->relations[i];
		const PbpReadShare *before = find_relation(expected, &now->key);

		if (before != NULL)
			sum += fmax(0, fabs(now->share - before->share) - hypot(now->error, before->error));
	}
	return fmin(1, (sum + missing_share(expected, mix) + missing_share(mix, expected)) / 2);
}

/* The distance of two mixes that are of different loads; otherwise 0. */
double
pbp_other_mix(const PbpReadMix *expected, const PbpReadMix *mix)
{
	double		distance = pbp_mix_distance(expected, mix);

	return distance > TOLERATED_MIX ? distance : 0;
}

/* NaN: unknown. */
double
pbp_pace_rate(const PbpPace *pace)
{
	return pace->reads > 0 ? pace->weighted_rates / pace->reads : NAN;
}

void
pbp_add_load(PbpPace *pace, const PbpLoadCounts *counts, int64_t buffers)
{
	double		weight = exp2(-counts->reads / (double) buffers / HALF_LIFE_POOLS);

	if (counts->reads <= 0 || counts->seconds <= 0)
		return;
	pace->accesses = pace->accesses * weight + counts->accesses;
	pace->reads = pace->reads * weight + counts->reads;
	pace->weighted_rates = pace->weighted_rates * weight +
		counts->reads * counts->accesses / counts->seconds;
}

void
pbp_set_reference(PbpDriftWatch *watch, double miss_ratio)
{
	watch->rate = pbp_pace_rate(&watch->pace);
	watch->miss_ratio = miss_ratio;
	watch->pace = (PbpPace) {0};
}

/*
 * The factor by which the rate has changed if that is another load; otherwise 1.
 * Sessions that wait for reads have more accesses per second where there are
 * fewer reads among them, at most by the factor by which these are fewer.
 */
static double
changed_rate(const PbpDriftWatch *watch)
{
	double		factor = pbp_pace_rate(&watch->pace) / watch->rate;
	double		fewer;

	if (!isfinite(factor) || watch->pace.reads < ENOUGH_READS)
		return 1;
	fewer = watch->miss_ratio * watch->pace.accesses / watch->pace.reads;
	if (!(isfinite(fewer) && fewer > 0))
		fewer = 1;
	return factor > TOLERATED_RATE * fmax(1, fewer) || factor < fmin(1, fewer) / TOLERATED_RATE ?
		factor : 1;
}

PbpDrift
pbp_find_drift(const PbpDriftWatch *watch, const PbpLoadCounts *counts, const PbpReadMix *mix)
{
	double		distance = pbp_other_mix(&watch->mix, mix);
	double		factor = changed_rate(watch);

	if (counts->accesses < QUIET_SHARE * watch->rate * counts->seconds)
		return (PbpDrift) {PBP_QUIET_LOAD, 0};
	if (distance > 0)
		return (PbpDrift) {PBP_OTHER_MIX, distance};
	if (factor != 1)
		return (PbpDrift) {PBP_OTHER_RATE, factor};
	return (PbpDrift) {PBP_SAME_LOAD, 0};
}

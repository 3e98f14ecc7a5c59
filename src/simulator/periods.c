/*-------------------------------------------------------------------------
 *
 * periods.c
 *	  Time: how fast what was counted is forgotten, and how much the miss ratio
 *	  of the load varies.
 *
 * A period of a load is so many reads, or accesses, or hours.  The fewer periods
 * there were, the faster what was counted loses its weight.  A load whose miss
 * ratio leaves the range in which those of the last periods have varied is another
 * one, and all that was counted before weighs as much as one period of it.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <string.h>

/* Fewer periods than this do not show how they vary. */
#define ENOUGH_PERIODS		3

/* By 1 / (n - 1), how much more than the usual deviations the interval of so few must have. */
#define FEW_PERIODS			2.4

/* Accesses that are taken to come together. */
#define GROUP_OF_ACCESSES	9.0

/* Outside of so many deviations of at least so many periods, it is another load. */
#define USUAL_DEVIATIONS	3.0
#define CALM_PERIODS		8

/*
 * A period lasts for so long at least: a pool may be read in less time than one query takes, and
 * sessions publish what they read once a second or when a query ends, long after looks saw it.
 */
#define LEAST_SECONDS		5.0

/* ---- how they pass ---- */

/* All that was counted keeps such a weight, and what is halved in each period another one. */
static void
decay(Advice *advice, double weight, double recent_weight)
{
	pbp_scale_doubles(&advice->server, sizeof(advice->server), weight);
	pbp_scale_doubles(&advice->counters, sizeof(advice->counters), weight);
	pbp_scale_doubles(&advice->recent, sizeof(advice->recent), recent_weight);
	pbp_decay_caches(advice, weight, recent_weight);
	if (advice->relations != NULL)
		pbp_decay_relations(advice->relations, weight);
	if (advice->policies != NULL)
		pbp_scale_doubles(&advice->policies->counters, sizeof(PolicyCounters), weight);
}

static void
end_period(Time *time)
{
	memmove(&time->periods[1], &time->periods[0], sizeof(Period) * PERIODS);
	time->periods[0] = (Period) {0};
	time->age = 0;
	if (time->nperiods < PERIODS)
		time->nperiods++;
}

/* Another load has begun.  All that was counted before weighs as much as one period. */
static void
begin_load(Advice *advice)
{
	Time	   *time = &advice->time;

	decay(advice, 1.0 / (time->nperiods + 1), 1);
	time->changed = true;
	time->nperiods = 0;
	end_period(time);
}

/*
 * Counts accesses by which the period that runs has come so much closer to its end.  The miss ratio
 * has moved by so much.  A load that moves again and again is no other one: it varies.
 */
void
pbp_pass_time(Advice *advice, const PbpAdviceCounts *counts, double age, double moved)
{
	Time	   *time = &advice->time;
	double		usual = pbp_usual_difference(advice);
	double		recent_weight = exp2(-age);

	age = fmin(1, counts->seconds > 0 ? fmin(age, counts->seconds / LEAST_SECONDS) : age);
	/* by this, a mean is that of as many independent periods as there are, and two more */
	if (age > 0)
		decay(advice, pow((time->nperiods + 1.0) / (time->nperiods + 3), age), recent_weight);

	time->age += age;
	time->periods[0].accesses += counts->accesses;
	time->periods[0].reads += counts->reads;
	if (moved <= usual)
		time->changed = false;
	else if (moved > usual && time->nperiods >= CALM_PERIODS)
		begin_load(advice);
	if (time->age >= 1)
		end_period(time);
}

/* ---- how they vary ---- */

/* Of the miss ratio. */
typedef struct Variation
{
	int			nperiods;
	double		mean;
	double		variance;
	double		changes;		/* half the mean square of the change to the next */
} Variation;

static inline double
ratio_of(const Period *period)
{
	return period->reads / period->accesses;
}

static Variation
variation_of(const Advice *advice)
{
	Variation	variation = {0};
	const Period *later = NULL;
	double		accesses = 0;
	double		reads = 0;

	for (int i = 1; i <= advice->time.nperiods; i++)
	{
		accesses += advice->time.periods[i].accesses;
		reads += advice->time.periods[i].reads;
	}
	variation.mean = reads / accesses;
	for (int i = 1; i <= advice->time.nperiods; i++)
	{
		const Period *period = &advice->time.periods[i];
		double		share = period->accesses / accesses;

		if (period->accesses <= 0)
			continue;
		variation.nperiods++;
		variation.variance += share * pow(ratio_of(period) - variation.mean, 2);
		if (later != NULL)
			variation.changes += share * pow(ratio_of(period) - ratio_of(later), 2) / 2;
		later = period;
	}
	variation.variance *= variation.nperiods / fmax(1, variation.nperiods - 1);
	return variation;
}

/* Standard deviation of a miss ratio whose accesses come in groups, as those of a range scan. */
static double
chance_of_groups(double accesses, double reads)
{
	return sqrt(GROUP_OF_ACCESSES * (reads + 1) * (accesses - reads + 1) / pow(accesses, 3));
}

/* By how much the miss ratio of the last seconds may differ from the load's.  NaN: unknown. */
double
pbp_usual_difference(const Advice *advice)
{
	const Period *lately = pbp_counted_lately(advice);
	Variation	variation = variation_of(advice);

	return variation.nperiods < ENOUGH_PERIODS ? NAN :
		USUAL_DEVIATIONS * hypot(sqrt(variation.variance),
								 chance_of_groups(lately->accesses, lately->reads));
}

/*
 * By how many times the variance of a mean is larger than that of independent periods.  Where
 * neighbors are alike, the load moves slowly, and as many periods say less.
 */
static double
slowness(const Variation *variation)
{
	double		least = variation->variance / variation->nperiods;

	return variation->changes < variation->variance ?
		fmin(variation->nperiods, 2 * variation->variance / fmax(variation->changes, least) - 1) :
		1;
}

/*
 * Half a 95 % interval of the measured miss ratio, as the mean of a load that varies.  Where it
 * differs from the mean of the periods, older ones were of another load.
 */
double
pbp_variation_error(const Advice *advice)
{
	const PbpAdviceCounts *server = &advice->server;
	Variation	variation = variation_of(advice);
	double		chance = PBP_DEVIATIONS * chance_of_groups(server->accesses, server->reads);
	double		deviation;

	if (variation.nperiods < ENOUGH_PERIODS)
		return chance;
	/* a variance of few periods may be much too small: about Student's distribution */
	deviation = (1 + FEW_PERIODS / (variation.nperiods - 1)) *
		sqrt(variation.variance * slowness(&variation) / variation.nperiods);
	return fmax(fmax(chance, PBP_DEVIATIONS * deviation),
				fabs(server->reads / server->accesses - variation.mean));
}

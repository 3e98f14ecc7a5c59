/*-------------------------------------------------------------------------
 *
 * variation.c
 *	  How much the measured miss ratio varies with time.
 *
 * What is learned loses half its weight as more is read.  This time is divided
 * into parts, whose miss ratios vary by chance and with the load.  A load whose
 * miss ratio leaves the range in which it has varied is another load.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <string.h>

#include "base/stats.h"

/* A part lasts until all that decays has lost this share of a half-life. */
#define PART_OF_HALF_LIFE	0.5

/* Their variation loses half its weight in so many half-lives of the rest. */
#define HALF_LIFE			8.0

/* Effective sample size: a figure whose weight decays is the mean of so many independent parts. */
#define PARTS_OF_MEAN		5.8

/* Fewer parts than this do not show how they vary. */
#define ENOUGH_PARTS		3.0

/* The first parts, in which a pool is filled, say nothing of the load. */
#define SKIPPED_PARTS		4

/* By 1 / (n - 1), how much more than the usual deviations the interval must have. */
#define FEW_PARTS			2.4

/* How long the time to come is, compared with the time of the figure. */
#define LONGER				2.0

/*
 * Outside of so many standard deviations of the parts, it is another load, unless
 * the load has changed within the last parts, as one of turns does.
 */
#define USUAL_DEVIATIONS	3.0
#define CALM_PARTS			16

/* So many times faster the past is forgotten at first, and once the load is another one. */
#define HASTE_AT_FIRST		2.0
#define HASTE				16.0

/* Half-lives in which the load before is forgotten, once the miss ratio agrees. */
#define ENOUGH_HALVES		8.0

/* Of the miss ratios of parts.  NaN: unknown. */
static double
variance_of_parts(const VariationSums *sums)
{
	double		mean;

	if (sums->nparts < ENOUGH_PARTS)
		return NAN;
	mean = sums->ratios / sums->accesses;
	return fmax(0, sums->squares / sums->accesses - mean * mean) * sums->nparts /
		(sums->nparts - 1);
}

static void
end_part(Variation *variation)
{
	double		accesses = variation->accesses;
	double		ratio = variation->reads / accesses;
	double		change = ratio - variation->last_ratio;

	variation->ended++;
	if (variation->ended > SKIPPED_PARTS && variation->halves_left <= 0)
	{
		scale_counters(&variation->sums, sizeof(variation->sums),
					   exp2(-variation->halves / HALF_LIFE));
		variation->sums.nparts++;
		variation->sums.accesses += accesses;
		variation->sums.ratios += accesses * ratio;
		variation->sums.squares += accesses * ratio * ratio;
		variation->sums.changes += accesses * change * change;
	}
	variation->last_ratio = ratio;
	variation->halves = variation->accesses = variation->reads = 0;
}

/* By how much the miss ratio usually differs from that of the time before.  NaN: unknown. */
double
pbp_usual_difference(const Variation *variation)
{
	return USUAL_DEVIATIONS * sqrt(variance_of_parts(&variation->sums));
}

/* Begins to follow another load, by how much it differs from what was learned. */
static void
detect_change(Variation *variation, double moved)
{
	if (variation->halves_left > 0 || !(moved > pbp_usual_difference(variation)))
		return;
	if (variation->ended - variation->last_change >= CALM_PARTS)
	{
		memset(&variation->sums, 0, sizeof(variation->sums));
		variation->halves_left = ENOUGH_HALVES;
	}
	variation->last_change = variation->ended;
}

/*
 * Counts accesses by which all that decays loses so many half-lives.  The miss
 * ratio differs from what was learned by more than chance explains, or by 0.
 */
void
pbp_count_variation(Variation *variation, const PbpAdviceCounts *counts, double halves,
					double moved)
{
	detect_change(variation, moved);
	if (moved <= 0)
		variation->halves_left -= halves;
	variation->halves += halves;
	variation->accesses += (double) counts->hits + (double) counts->reads;
	variation->reads += (double) counts->reads;
	if (variation->halves >= PART_OF_HALF_LIFE && variation->accesses > 0)
		end_part(variation);
}

/*
 * By how many times the variance of a mean is larger than that of independent
 * parts.  Where neighbors are alike, the load moves slowly, and as many parts say
 * less.
 */
static double
slowness(const VariationSums *sums, double variance)
{
	double		by_changes = sums->changes / sums->accesses / 2;

	return by_changes < variance ?
		fmin(PARTS_OF_MEAN, 2 * variance / fmax(by_changes, variance / PARTS_OF_MEAN) - 1) : 1;
}

/* A variance of few parts may be much too small: about Student's distribution. */
static double
doubt_of_few(double nparts)
{
	return 1 + FEW_PARTS / (nparts - 1);
}

/*
 * Half the width of a 95 % interval of the difference between the miss ratio that
 * was measured and that of a longer time to come.  NaN: unknown.
 */
double
pbp_variation_error(const Variation *variation)
{
	double		variance = variance_of_parts(&variation->sums);

	if (!(variance > 0))
		return variance;
	return doubt_of_few(variation->sums.nparts) * PBP_DEVIATIONS *
		sqrt((1 + 1 / LONGER) * variance * slowness(&variation->sums, variance) / PARTS_OF_MEAN);
}

/* How many times faster than usual the past is to be forgotten. */
double
pbp_haste(const Variation *variation)
{
	if (variation->halves_left > 0)
		return HASTE;
	return variation->ended < SKIPPED_PARTS ? HASTE_AT_FIRST : 1;
}

/* True while another load than before is followed. */
bool
pbp_load_has_changed(const Variation *variation)
{
	return variation->halves_left > 0;
}

/*
 * By how much the miss ratio of the last seconds differs from the figure, if not
 * by chance: while the load moves, or a light one runs that is not learned, no size
 * is known better than that.
 */
double
pbp_moved(const Advice *advice)
{
	bool		is_light = advice->light.quiet && !advice->light.idle;
	const LatelyCounted *lately = is_light ? &advice->light.lately : &advice->lately;
	const Counters *counters = &advice->counters;
	double		difference;

	if (lately->accesses <= 0 || counters->accesses <= 0)
		return 0;
	difference = fabs(lately->reads / lately->accesses - counters->reads / counters->accesses);
	return difference > PBP_DEVIATIONS * sqrt(lately->reads + 1) / lately->accesses ?
		difference : 0;
}

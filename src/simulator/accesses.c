/*-------------------------------------------------------------------------
 *
 * accesses.c
 *	  Block accesses that the server counts: which belong to the load and to
 *	  what looks saw, how fast they are forgotten, and how much their miss ratio
 *	  varies with time.
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

/* ---- variation ---- */

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

/* Accesses that are taken to come together. */
#define GROUP_OF_ACCESSES	9.0

/* Outside of so many deviations of the parts, it is another load, unless it changed just before. */
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
static double
usual_difference(const Variation *variation)
{
	return USUAL_DEVIATIONS * sqrt(variance_of_parts(&variation->sums));
}

/* Begins to follow another load, by how much it differs from what was learned. */
static void
detect_change(Variation *variation, double moved)
{
	if (variation->halves_left > 0 || !(moved > usual_difference(variation)))
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
 * ratio has moved by so much.
 */
static void
count_variation(Variation *variation, const PbpAdviceCounts *counts, double halves, double moved)
{
	detect_change(variation, moved);
	if (moved <= 0)
		variation->halves_left -= halves;
	variation->halves += halves;
	variation->accesses += accesses_of(counts);
	variation->reads += (double) counts->reads;
	if (variation->halves >= PART_OF_HALF_LIFE && variation->accesses > 0)
		end_part(variation);
}

/*
 * By how many times the variance of a mean is larger than that of independent parts.  Where
 * neighbors are alike, the load moves slowly, and as many parts say less.
 */
static double
slowness(const VariationSums *sums, double variance)
{
	double		by_changes = sums->changes / sums->accesses / 2;

	return by_changes < variance ?
		fmin(PARTS_OF_MEAN, 2 * variance / fmax(by_changes, variance / PARTS_OF_MEAN) - 1) : 1;
}

/*
 * Half a 95 % interval of the measured miss ratio, as the mean of a load that varies.  While that
 * is not known, accesses are taken to come in groups, such as those of a range scan.
 */
double
pbp_variation_error(const Advice *advice)
{
	const Counters *counters = &advice->counters;
	const VariationSums *sums = &advice->variation.sums;
	double		variance = variance_of_parts(sums);
	double		hits = counters->accesses - counters->reads;

	if (isnan(variance))
		return PBP_DEVIATIONS *
			sqrt(GROUP_OF_ACCESSES * counters->reads * hits / pow(counters->accesses, 3));
	/* a variance of few parts may be much too small: about Student's distribution */
	return (1 + FEW_PARTS / (sums->nparts - 1)) * PBP_DEVIATIONS *
		sqrt(variance * slowness(sums, variance) / PARTS_OF_MEAN);
}

/* True while another load than before is followed. */
bool
pbp_load_has_changed(const Variation *variation)
{
	return variation->halves_left > 0;
}

/* What was counted of the load now, which may be a light one. */
static const LatelyCounted *
counted_lately(const Advice *advice)
{
	return advice->light.quiet && !advice->light.idle ? &advice->light.lately : &advice->lately;
}

/* Half a 95 % interval of its miss ratio, by chance. */
static double
chance_lately(const LatelyCounted *lately)
{
	return PBP_DEVIATIONS * sqrt(lately->reads + 1) / lately->accesses;
}

/* By how much the miss ratio of the last seconds differs from the figure, if not by chance. */
static double
moved_by(const Advice *advice)
{
	const LatelyCounted *lately = counted_lately(advice);
	const Counters *counters = &advice->counters;
	double		difference;

	if (lately->accesses <= 0 || counters->accesses <= 0)
		return 0;
	difference = fabs(lately->reads / lately->accesses - counters->reads / counters->accesses);
	return difference > chance_lately(lately) ? difference : 0;
}

/*
 * Half of an interval that has the miss ratio of the last seconds, if this differs from the figure.
 * While the load moves, or a light one runs that is not learned, no size is known better than that.
 */
double
pbp_moved(const Advice *advice)
{
	double		moved = moved_by(advice);

	return moved > 0 ? moved + chance_lately(counted_lately(advice)) : 0;
}

/* By how much the miss ratio differs if neither chance nor its usual variation explains that. */
double
pbp_changed(const Advice *advice)
{
	double		moved = moved_by(advice);

	return moved <= usual_difference(&advice->variation) ? 0 : moved;
}

/* ---- light loads ---- */

/*
 * Counters lose half their weight in PBP_HALF_LIFE_POOLS, or in this many pools' worth of
 * accesses: a load that hardly reads is another load, too.  An idle server forgets nothing.
 */
#define HALF_LIFE_ACCESSES	150.0

/* Once so many sampled loads are remembered, counters also halve in so many seconds of load. */
#define HALF_LIFE_SECONDS	3600.0
#define LOADS_TO_REMEMBER	1000.0

#define RECENT_HALF_LIFE_POOLS	0.5

/*
 * Sessions publish their reads once a second or later, long after the loads
 * were seen.  No look reduces a weight by more than this, so that a large batch
 * of reads does not outweigh its own loads.
 */
#define LEAST_WEIGHT		0.98
#define LEAST_RECENT_WEIGHT	0.8

/* Half-life in seconds of what was counted lately. */
#define HALF_LIFE_LATELY	5.0

/*
 * A light load becomes the usual one if it lasts: what it is compared with is
 * halved in this time, down to a share.  It has to read: other accesses may be
 * those of who monitors an idle server, and where nothing is read, no size matters.
 */
#define HALF_LIFE_PACE		900.0
#define LEAST_PACE			0.01
#define LEAST_MISS_RATIO	0.001

/* Sums of a light load halve in this time; each second at the usual pace cancels so many of it. */
#define HALF_LIFE_LIGHT		300.0
#define TAKEN_BACK			10.0

/*
 * On an idle server, at most this share of the last seconds has accesses.  With a
 * larger share, lookups that come about once a second would be no load at times.
 * With a shorter half-life, who asks several times in a row would be one; with a
 * longer one, a light load after idle hours would go unnoticed for minutes.
 */
#define LEAST_BUSY			0.4
#define HALF_LIFE_BUSY		20.0

/* In a second, as the average access that is remembered met them. */
static double
usual_pace(const Advice *advice)
{
	return advice->counters.paces / fmax(1, advice->counters.accesses);
}

static bool
is_light(const Advice *advice, const PbpAdviceCounts *counts)
{
	return accesses_of(counts) <= PBP_QUIET_SHARE * usual_pace(advice) * counts->seconds;
}

static void
follow_light_load(Advice *advice, const PbpAdviceCounts *counts)
{
	LightLoad  *light = &advice->light;
	double		weight = exp2(-counts->seconds / HALF_LIFE_LIGHT);
	double		busy_weight = exp2(-counts->seconds / HALF_LIFE_BUSY);

	light->busy = busy_weight * light->busy + (accesses_of(counts) > 0 ? 1 - busy_weight : 0);
	if (!is_light(advice, counts))
	{
		light->lasted = fmax(0, light->lasted - TAKEN_BACK * counts->seconds);
		return;
	}
	light->accesses = weight * light->accesses + accesses_of(counts);
	light->reads = weight * light->reads + (double) counts->reads;
	light->seconds = weight * light->seconds + counts->seconds;
	light->lasted = fmin(light->lasted + counts->seconds, -log2(LEAST_PACE) * HALF_LIFE_PACE);
}

/* True if the light load has lasted for so long that it is the load. */
static bool
has_light_load(const Advice *advice)
{
	const LightLoad *light = &advice->light;
	double		pace = usual_pace(advice) * exp2(-light->lasted / HALF_LIFE_PACE);

	return light->reads > LEAST_MISS_RATIO * light->accesses &&
		light->accesses > PBP_QUIET_SHARE * pace * light->seconds;
}

/* True if these accesses are no part of the load, or it is unknown how many a second there are. */
static bool
is_quiet(const Advice *advice, const PbpAdviceCounts *counts)
{
	return counts->seconds <= 0 || (is_light(advice, counts) && !has_light_load(advice));
}

/* Half-lives of what was learned, by pools' worth of reads, hits and time. */
static double
half_lives(const Advice *advice, const PbpAdviceCounts *counts, double pools)
{
	double		halves = pools / PBP_HALF_LIFE_POOLS;

	if (is_quiet(advice, counts))
		return halves;
	halves += (double) counts->hits / advice->nbuffers / HALF_LIFE_ACCESSES;
	return all_loads(advice) < LOADS_TO_REMEMBER ? halves :
		halves + counts->seconds / HALF_LIFE_SECONDS;
}

static void
decay(Advice *advice, const PbpAdviceCounts *counts)
{
	double		haste = pbp_load_has_changed(&advice->variation) ? HASTE :
		advice->variation.ended < SKIPPED_PARTS ? HASTE_AT_FIRST : 1;
	double		pools = ((double) counts->reads + (double) counts->extends) / advice->nbuffers;
	double		halves = half_lives(advice, counts, pools) * haste;
	double		weight = fmax(pow(LEAST_WEIGHT, haste), exp2(-halves));
	double		recent_weight = fmax(LEAST_RECENT_WEIGHT, exp2(-pools / RECENT_HALF_LIFE_POOLS));

	scale_counters(&advice->counters, sizeof(advice->counters), weight);
	count_variation(&advice->variation, counts, -log2(weight),
					advice->light.quiet ? 0 : moved_by(advice));
	scale_counters(&advice->recent, sizeof(advice->recent), recent_weight);
	if (advice->relations != NULL)
		pbp_decay_relations(advice->relations, weight);
	pbp_decay_caches(advice, weight, recent_weight);
}

/*
 * Accesses are reported more rarely than looks come, some of which follow a gap.  The
 * share of the buffers passed meanwhile whose events count is that of the accesses, too.
 */
static double
counted_share(const LookState *look)
{
	return look->passed > 0 ? look->passed_counted / look->passed : look->counted;
}

/* Add such a share of these accesses to the counters, or subtract it if it is below 0. */
static void
count_accesses(Advice *advice, const PbpAdviceCounts *counts, double share)
{
	Counters   *counters = &advice->counters;
	double		accesses = share * accesses_of(counts);

	counters->accesses += accesses;
	counters->reads += share * (double) counts->reads;
	counters->extends += share * (double) counts->extends;
	counters->ring_reads += share * (double) counts->ring_reads;
	counters->scan_reads += share * (double) counts->scan_reads;
	counters->ring_extends += share * (double) counts->ring_extends;
	counters->seconds += share * counts->seconds;
	for (int i = 0; i < FACTORS; i++)
	{
		SizeCounters *size = &counters->sizes[i];

		*(has_size(advice->refilling, i) ? &size->skipped : &size->accesses) += accesses;
	}
	advice->recent.recent_accesses += accesses;
}

void
pbp_count_look(Advice *advice)
{
	const LookState *look = &advice->look;
	double		accesses = accesses_of(&look->fresh);
	double		nresidents = 0;

	for (int i = 0; i < GROUPS; i++)
	{
		nresidents += look->found.nresidents[i];
		advice->counters.residents[i] += look->found.nresidents[i];
		advice->counters.loads[i] += look->found.nloads[i];
		advice->nsampled_loads += look->found.nloads[i];
	}
	advice->counters.new_loads += look->found.nnew_loads;
	advice->counters.ticks += (double) (look->now.ticks - look->last.ticks);
	if (nresidents > 0)
		advice->counters.saturated_accesses += accesses * look->found.nsaturated / nresidents;
	if (look->fresh.seconds > 0)
		advice->counters.paces += accesses * accesses / look->fresh.seconds;
	/* last, so that reads weigh no more than the loads that they are */
	decay(advice, &look->fresh);
}

static void
count_lately(Advice *advice, const PbpAdviceCounts *counts, bool was_quiet)
{
	LatelyCounted *lately = advice->light.quiet ? &advice->light.lately : &advice->lately;

	if (counts->seconds <= 0 || advice->light.idle)
		return;
	/* a light load has become the load */
	if (was_quiet && !advice->light.quiet && is_light(advice, counts))
		advice->lately = advice->light.lately;
	scale_counters(lately, sizeof(*lately), exp2(-counts->seconds / HALF_LIFE_LATELY));
	lately->accesses += accesses_of(counts);
	lately->reads += (double) counts->reads;
}

double
pbp_advice_accesses_apart(const PbpAdvice *advice, const PbpAdviceCounts *counts)
{
	const Counters *counters = &advice->counters;
	double		hits = (double) counts->reads * (counters->accesses / fmax(1, counters->reads) - 1);

	return advice->light.quiet ? fmax(0, (double) counts->hits - fmax(0, hits)) : 0;
}

/*
 * While the figures count, these accesses are included at once.  The end of the
 * next look confirms them, or finds that they do not belong to what it saw.
 */
void
pbp_advice_accesses(PbpAdvice *advice, const PbpAdviceCounts *counts)
{
	bool		was_quiet = advice->light.quiet;
	PbpAdviceCounts counted = *counts;

	follow_light_load(advice, counts);
	advice->light.quiet = counts->seconds > 0 && is_quiet(advice, counts);
	advice->light.idle = advice->light.quiet && advice->light.busy <= LEAST_BUSY;
	if (advice->light.quiet)
		counted.hits -= (int64_t) rounded(advice, pbp_advice_accesses_apart(advice, counts));
	pbp_add_counts(&advice->look.fresh, &counted);
	advice->look.fresh_share = counted_share(&advice->look);
	count_accesses(advice, &counted, advice->look.fresh_share);
	count_lately(advice, counts, was_quiet);
	outdate_answers(advice);
}

/* The time since the last look counts or not, and with it a share of the fresh accesses. */
void
pbp_confirm_accesses(Advice *advice, bool counts)
{
	LookState  *look = &advice->look;
	double		passed = (double) (look->now.ticks - look->last.ticks);

	look->counted = counts;
	look->passed += passed;
	look->passed_counted += counts ? passed : 0;
	if (accesses_of(&look->fresh) <= 0 && look->fresh.seconds <= 0)
		return;
	count_accesses(advice, &look->fresh, counted_share(look) - look->fresh_share);
	look->passed = look->passed_counted = 0;
}

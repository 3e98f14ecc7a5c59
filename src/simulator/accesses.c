/*-------------------------------------------------------------------------
 *
 * accesses.c
 *	  Block accesses that the server counts: which belong to the load and to
 *	  what looks saw, and whether the load of the last seconds is another one.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

/* ---- the last seconds ---- */

/* Half-life in seconds of what was counted lately. */
#define HALF_LIFE_LATELY	5.0

/* What was counted of the load now, which may be a light one. */
const Period *
pbp_counted_lately(const Advice *advice)
{
	return advice->light.quiet && !advice->light.idle ? &advice->light.lately : &advice->lately;
}

/* Half a 95 % interval of its miss ratio, by chance. */
static double
chance_lately(const Period *lately)
{
	return PBP_DEVIATIONS * sqrt(lately->reads + 1) / lately->accesses;
}

/* By how much the miss ratio of the last seconds differs from the figure, if not by chance. */
double
pbp_moved(const Advice *advice)
{
	const Period *lately = pbp_counted_lately(advice);
	const PbpAdviceCounts *server = &advice->server;
	double		difference;

	if (lately->accesses <= 0 || server->accesses <= 0)
		return 0;
	difference = fabs(lately->reads / lately->accesses - server->reads / server->accesses);
	return difference > chance_lately(lately) ? difference : 0;
}

/*
 * Half of an interval that has the miss ratio of the last seconds, if this differs from the figure
 * by more than usual.  While the load moves, or a light one runs that is not learned, no size is
 * known better than that.
 */
double
pbp_moved_until(const Advice *advice)
{
	double		moved = pbp_moved(advice);

	if (moved == 0 || (!advice->light.quiet && moved <= pbp_usual_difference(advice)))
		return 0;
	return moved + chance_lately(pbp_counted_lately(advice));
}

/* ---- light loads ---- */

/*
 * A light load becomes the usual one if it lasts: what it is compared with is
 * halved in this time, down to a share.  It has to read: other accesses may be
 * those of who monitors an idle server, and where nothing is read, no size matters.
 */
#define HALF_LIFE_PACE		900.0
#define LEAST_PACE			0.01

/* Sums of a light load halve in this time; each second at the usual pace cancels so many of it. */
#define HALF_LIFE_LIGHT		300.0
#define TAKEN_BACK			10.0

/*
 * On an idle server, at most this share of the last seconds has accesses of a light load.  With a
 * larger share, lookups that come about once a second would be no load at times.  With a shorter
 * half-life, who asks again and again when a load has ended would be one: it takes 44 seconds.
 */
#define LEAST_BUSY			0.4
#define HALF_LIFE_BUSY		60.0

/* In a second of the load. */
static double
usual_pace(const Advice *advice, double count)
{
	return advice->counters.load_seconds > 0 ? count / advice->counters.load_seconds : 0;
}

/*
 * A session publishes what a query accesses when it ends, which may be much later.  Until then, the
 * hand shows what it reads.
 */
static bool
is_light(const Advice *advice, const PbpAdviceCounts *counts)
{
	const Counters *counters = &advice->counters;
	double		share = PBP_QUIET_SHARE * counts->seconds;
	double		ticks = (double) (advice->look.now.ticks - advice->light.ticks);

	return counts->accesses <= share * usual_pace(advice, counters->load_accesses) &&
		ticks <= share * usual_pace(advice, counters->load_ticks);
}

static void
follow_light_load(Advice *advice, const PbpAdviceCounts *counts)
{
	LightLoad  *light = &advice->light;
	double		busy_weight = exp2(-counts->seconds / HALF_LIFE_BUSY);
	bool		lightly = is_light(advice, counts);

	light->busy = busy_weight * light->busy +
		(lightly && counts->accesses > 0 ? 1 - busy_weight : 0);
	if (!lightly)
	{
		light->lasted = fmax(0, light->lasted - TAKEN_BACK * counts->seconds);
		return;
	}
	pbp_add_fading(&light->sum, exp2(-counts->seconds / HALF_LIFE_LIGHT), counts, sizeof(*counts));
	light->lasted = fmin(light->lasted + counts->seconds, -log2(LEAST_PACE) * HALF_LIFE_PACE);
}

/* True if the light load has lasted for so long that it is the load. */
static bool
has_light_load(const Advice *advice)
{
	const PbpAdviceCounts *sum = &advice->light.sum;
	double		pace = usual_pace(advice, advice->counters.load_accesses) *
		exp2(-advice->light.lasted / HALF_LIFE_PACE);

	return sum->reads > PBP_FEW_MISSES * sum->accesses &&
		sum->accesses > PBP_QUIET_SHARE * pace * sum->seconds;
}

/* True if these accesses are no part of the load, or it is unknown how many a second there are. */
static bool
is_quiet(const Advice *advice, const PbpAdviceCounts *counts)
{
	return counts->seconds <= 0 || (is_light(advice, counts) && !has_light_load(advice));
}

/* ---- what is counted ---- */

/*
 * A period ends after so many pools' worth of reads or of accesses: a load that hardly reads is
 * another load, too.  An idle server forgets nothing.  Once so many sampled loads are remembered, a
 * period of the load also ends after so many seconds.
 */
#define PERIOD_POOLS		0.5
#define PERIOD_ACCESSES		25.0
#define PERIOD_SECONDS		600.0
#define LOADS_TO_REMEMBER	1000.0

/* As a share of a period, by reads, hits and time. */
static double
age_by(const Advice *advice, const PbpAdviceCounts *counts)
{
	double		pools = (counts->reads + counts->extends) / advice->nbuffers;
	double		age = pools / PERIOD_POOLS;

	if (is_quiet(advice, counts))
		return age;
	age += (counts->accesses - counts->reads) / advice->nbuffers / PERIOD_ACCESSES;
	return all_loads(advice) < LOADS_TO_REMEMBER ? age : age + counts->seconds / PERIOD_SECONDS;
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
	PbpAdviceCounts counted = *counts;

	pbp_scale_doubles(&counted, sizeof(counted), share);
	pbp_add_doubles(&advice->server, &counted, sizeof(counted));
	for (int i = 0; i < FACTORS; i++)
	{
		SizeCounters *size = &advice->counters.sizes[i];

		*(has_size(advice->refilling, i) ? &size->skipped : &size->accesses) += counted.accesses;
	}
	advice->recent.accesses += counted.accesses;
}

void
pbp_count_look(Advice *advice)
{
	const LookState *look = &advice->look;
	double		accesses = look->fresh.accesses;
	double		residents = sum_of_groups(look->found.residents);

	pbp_add_doubles(&advice->counters.found, &look->found, sizeof(look->found));
	advice->nsampled_loads += (int64_t) sum_of_groups(look->found.loads);
	advice->counters.ticks += ticks_passed(advice);
	if (residents > 0)
		advice->counters.saturated_accesses += accesses * look->found.saturated / residents;
	if (!advice->light.quiet)
	{
		advice->counters.load_accesses += accesses;
		advice->counters.load_ticks += ticks_passed(advice);
		advice->counters.load_seconds += look->fresh.seconds;
	}
	/* last, so that reads are of the same period as the loads that they are */
	pbp_pass_time(advice, &look->fresh, age_by(advice, &look->fresh),
				  advice->light.quiet ? 0 : pbp_moved(advice));
}

static void
count_lately(Advice *advice, const PbpAdviceCounts *counts, bool was_quiet)
{
	Period	   *lately = advice->light.quiet ? &advice->light.lately : &advice->lately;

	if (counts->seconds <= 0 || advice->light.idle)
		return;
	/* a light load has become the load */
	if (was_quiet && !advice->light.quiet && is_light(advice, counts))
		advice->lately = advice->light.lately;
	pbp_add_fading(lately, exp2(-counts->seconds / HALF_LIFE_LATELY),
				   &(Period) {counts->accesses, counts->reads}, sizeof(*lately));
}

double
pbp_advice_accesses_apart(const PbpAdvice *advice, const PbpAdviceCounts *counts)
{
	const PbpAdviceCounts *server = &advice->server;
	double		hits = counts->reads * (server->accesses / fmax(1, server->reads) - 1);

	return advice->light.quiet ? fmax(0, counts->accesses - counts->reads - fmax(0, hits)) : 0;
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
		counted.accesses -= rounded(advice, pbp_advice_accesses_apart(advice, counts));
	pbp_add_doubles(&advice->look.fresh, &counted, sizeof(counted));
	advice->look.fresh_share = counted_share(&advice->look);
	count_accesses(advice, &counted, advice->look.fresh_share);
	count_lately(advice, counts, was_quiet);
	advice->light.ticks = advice->look.now.ticks;
	outdate_answers(advice);
}

/* The time since the last look counts or not, and with it a share of the fresh accesses. */
void
pbp_confirm_accesses(Advice *advice, bool counts)
{
	LookState  *look = &advice->look;
	double		passed = ticks_passed(advice);

	look->counted = counts;
	look->passed += passed;
	look->passed_counted += counts ? passed : 0;
	if (look->fresh.accesses <= 0 && look->fresh.seconds <= 0)
		return;
	count_accesses(advice, &look->fresh, counted_share(look) - look->fresh_share);
	look->passed = look->passed_counted = 0;
}

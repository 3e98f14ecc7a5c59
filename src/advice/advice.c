/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Miss ratio at other sizes of the buffer pool: what is learned, look by
 *	  look at the real one.
 *
 * Looks at the pool see nearly every load, since a page that is loaded stays
 * for two passes of the clock hand.  A usage count that is higher than
 * the hand has left it shows uses.  These events, of a sample of pages chosen
 * by a hash of their tag, are replayed against a simulated clock sweep of each
 * size, with as many slots as the sample's share of such a pool.  The
 * difference of its misses from those of the simulated baseline, scaled back by
 * that share, is added to the measured miss ratio.  What sampling and looks
 * distort, they distort in both.  The caller decides when to look.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/internal.h"

#include <math.h>
#include <string.h>

static const double factors[FACTORS] = {
	0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2, 3, 4
};

/*
 * Memory for each resident page of the sample.  There are records for a little
 * more than the largest pool holds, since a small pool may hold a page that a
 * large one does not.  The slack covers chance in the number of sampled pages.
 */
#define PAGES_PER_RESIDENT	5.0
#define EVENTS_PER_RESIDENT	1.6
#define MEETINGS_PER_RESIDENT	1.1
#define SLACK_DEVIATIONS	2.0

/* Weights in the moving averages: of a pass of the hand, and of one look. */
#define RESIDENTS_GAIN		0.1
#define LOST_GAIN			0.1

/*
 * Counters lose half their weight in this many pools' worth of reads, or of
 * accesses: a load that hardly reads is another load, too.  An idle server
 * forgets nothing.
 */
#define HALF_LIFE_POOLS		3.0
#define HALF_LIFE_ACCESSES	150.0

/*
 * The same in seconds of load, of which an idle server has none, while this many
 * sampled loads are remembered.
 */
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

/*
 * Half-life in seconds of what was counted lately.  Less than this share of the
 * usual accesses is no part of the load: who asks an idle server makes only hits.
 */
#define HALF_LIFE_LATELY	5.0
#define QUIET_SHARE			0.1

/*
 * A light load becomes the usual one if it lasts: what it is compared with is
 * halved in this time, down to a share.  It has to read: other accesses may be
 * those of who monitors an idle server, and where nothing is read, no size matters.
 */
#define HALF_LIFE_PACE		900.0
#define LEAST_PACE			0.01
#define LEAST_MISS_RATIO	0.001

/* Half-life of its sums, and seconds that are taken back for each one of the usual load. */
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

/* Levels of use: from 2^-7 to 2^8.75 uses in a pass of the hand. */
#define LEVEL_OF_1			28

void		(*pbp_advice_check_interrupts) (void) = NULL;

double
pbp_advice_factor(int i)
{
	return factors[i];
}

/* ---- memory ---- */

/* Sets all sizes for a sampling rate, and returns the memory that this takes. */
static size_t
set_sizes(Advice *advice, double rate)
{
	double		residents = rate * advice->nbuffers;
	double		most = residents + SLACK_DEVIATIONS * sqrt(residents);
	size_t		table_bytes = pbp_set_table_size(&advice->table, PAGES_PER_RESIDENT * most);
	size_t		nslots = 0;

	if (table_bytes == SIZE_MAX)
		return SIZE_MAX;
	for (int i = 0; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];

		pool->max_slots = pool->nslots = (uint32_t) (factors[i] * most + 1);
		nslots += pool->max_slots;
	}
	advice->max_events = (uint32_t) (EVENTS_PER_RESIDENT * most) + 1;
	advice->max_meetings = (uint32_t) (MEETINGS_PER_RESIDENT * most) + 1;
	return sizeof(Advice) + table_bytes +
		2 * sizeof(Meeting) * advice->max_meetings +
		2 * sizeof(Event) * advice->max_events +
		sizeof(uint32_t) * nslots;
}

/* The highest rate, within a millionth, whose memory fits; -1 if none does. */
static double
fitting_rate(Advice *advice, size_t bytes, double limit)
{
	double		low = 0;
	double		high = limit;

	if (set_sizes(advice, high) <= bytes)
		return high;
	if (set_sizes(advice, low) > bytes)
		return -1;
	while (high - low > 1e-6 * high)
	{
		double		middle = (low + high) / 2;

		if (set_sizes(advice, middle) <= bytes)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Divide the memory behind the struct. */
static void
place_lists(Advice *advice)
{
	void	   *memory = pbp_place_table(&advice->table, advice + 1);
	Meeting    *meetings = memory;
	Event	   *events = (Event *) (meetings + 2 * (size_t) advice->max_meetings);
	uint32_t   *slots = (uint32_t *) (events + 2 * (size_t) advice->max_events);

	for (int i = 0; i < 2; i++)
	{
		advice->meetings[i].meetings = meetings + i * (size_t) advice->max_meetings;
		advice->events[i].events = events + i * (size_t) advice->max_events;
	}
	for (int i = 0; i < FACTORS; i++)
	{
		advice->pools[i].slots = slots;
		slots += advice->pools[i].max_slots;
	}
}

PbpAdvice *
pbp_advice_init(void *memory, size_t bytes, int nbuffers, int usage_max,
				double rate_limit, bool rings_apart)
{
	Advice	   *advice = memory;
	double		rate;

	if (bytes < sizeof(Advice) || nbuffers < 1)
		return NULL;
	memset(advice, 0, sizeof(*advice));
	advice->nbuffers = nbuffers;
	advice->usage_max = usage_max < USAGE_LIMIT ? usage_max : USAGE_LIMIT;
	advice->rings_apart = rings_apart;
	rate = fitting_rate(advice, bytes, rate_limit > 0 && rate_limit < 1 ? rate_limit : 1);
	if (rate <= 0)
		return NULL;
	set_sizes(advice, rate);
	place_lists(advice);

	advice->sampling_rate = rate;
	advice->base.kept = UINT32_MAX;
	advice->base.threshold = rate >= 1 ? UINT64_MAX : (uint64_t) ldexp(rate, 64);
	advice->random = UINT64_C(0x9E3779B97F4A7C15);
	advice->answers = &advice->last_answers;
	advice->look.lost = true;
	for (int i = 0; i < FACTORS; i++)
		advice->pools[i].learning = true;
	for (int i = 0; i < LEVELS; i++)
		advice->use_rates[i] = exp2((i - LEVEL_OF_1) / LEVELS_PER_OCTAVE);
	return &advice->base;
}

double
pbp_advice_rate(const PbpAdvice *base)
{
	return ((const Advice *) base)->sampling_rate;
}

/* ---- counters ---- */

static double
accesses_of(const PbpAdviceCounts *counts)
{
	return (double) counts->hits + (double) counts->reads;
}

/* In a second, as the average access that is remembered met them. */
static double
usual_pace(const Advice *advice)
{
	return advice->counters.paces / fmax(1, advice->counters.accesses);
}

static bool
is_light(const Advice *advice, const PbpAdviceCounts *counts)
{
	return accesses_of(counts) <= QUIET_SHARE * usual_pace(advice) * counts->seconds;
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

	return light->reads > LEAST_MISS_RATIO * light->accesses && light->accesses > QUIET_SHARE * pace * light->seconds;
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
	double		halves = pools / HALF_LIFE_POOLS;

	if (is_quiet(advice, counts))
		return halves;
	halves += (double) counts->hits / advice->nbuffers / HALF_LIFE_ACCESSES;
	return pbp_all_loads(advice) < LOADS_TO_REMEMBER ? halves : halves + counts->seconds / HALF_LIFE_SECONDS;
}

static void
decay(Advice *advice, const PbpAdviceCounts *counts)
{
	double		haste = pbp_haste(&advice->variation);
	double		pools = ((double) counts->reads + (double) counts->extends) / advice->nbuffers;
	double		halves = half_lives(advice, counts, pools) * haste;
	double		weight = fmax(pow(LEAST_WEIGHT, haste), exp2(-halves));
	double		recent_weight = fmax(LEAST_RECENT_WEIGHT, exp2(-pools / RECENT_HALF_LIFE_POOLS));

	scale_counters(&advice->counters, sizeof(advice->counters), weight);
	pbp_count_variation(&advice->variation, counts, -log2(weight), advice->light.quiet ? 0 : pbp_moved(advice));
	scale_counters(&advice->recent, sizeof(advice->recent), recent_weight);
	if (advice->relations != NULL)
		pbp_decay_relations(advice->relations, weight);
	pbp_decay_storage(advice, weight, recent_weight);
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
		*(is_absent(advice->refilling, i) ? &counters->sizes[i].skipped : &counters->sizes[i].accesses) += accesses;
	advice->recent.recent_accesses += accesses;
}

static void
count_look(Advice *advice)
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
	advice->counters.nlooks++;
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
pbp_advice_accesses_apart(const PbpAdvice *base, const PbpAdviceCounts *counts)
{
	const Advice *advice = (const Advice *) base;
	const Counters *counters = &advice->counters;
	double		hits = (double) counts->reads * (counters->accesses / fmax(1, counters->reads) - 1);

	return advice->light.quiet ? fmax(0, (double) counts->hits - fmax(0, hits)) : 0;
}

/*
 * While the figures count, these accesses are included at once.  The end of the
 * next look confirms them, or finds that they do not belong to what it saw.
 */
void
pbp_advice_accesses(PbpAdvice *base, const PbpAdviceCounts *counts)
{
	Advice	   *advice = (Advice *) base;
	bool		was_quiet = advice->light.quiet;
	PbpAdviceCounts counted = *counts;

	follow_light_load(advice, counts);
	advice->light.quiet = counts->seconds > 0 && is_quiet(advice, counts);
	advice->light.idle = advice->light.quiet && advice->light.busy <= LEAST_BUSY;
	if (advice->light.quiet)
		counted.hits -= (int64_t) rounded(advice, pbp_advice_accesses_apart(base, counts));
	pbp_add_counts(&advice->look.fresh, &counted);
	advice->look.fresh_share = counted_share(&advice->look);
	count_accesses(advice, &counted, advice->look.fresh_share);
	count_lately(advice, counts, was_quiet);
	outdate_answers(advice);
}

void
pbp_advice_set_smallest_scanned(PbpAdvice *base, int64_t pages)
{
	((Advice *) base)->smallest_scanned = pages;
	outdate_answers((Advice *) base);
}

void
pbp_advice_set_other_mix(PbpAdvice *base, double share)
{
	((Advice *) base)->other_mix = share;
	outdate_answers((Advice *) base);
}

/* ---- looks ---- */

void
pbp_advice_gap(PbpAdvice *base)
{
	Advice	   *advice = (Advice *) base;

	if (!advice->look.lost && advice->nlooks > 0)
		advice->ngaps++;
	advice->look.lost = true;
	outdate_answers(advice);
}

/* What the last look and this one are apart counts, or does not, and with it a share of the fresh accesses. */
static void
confirm_accesses(Advice *advice, bool counts)
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

/*
 * What the larger pools would hold now is unknown.  What was learned of them stays,
 * but nothing is added until they have been filled again.
 */
static void
forget_past(Advice *advice)
{
	confirm_accesses(advice, false);
	for (uint32_t i = 0; i < advice->table.npages; i++)
	{
		check_interrupts(i);
		advice->table.pages[i].state.used = false;
	}
	for (int i = 0; i < FACTORS; i++)
	{
		advice->pools[i].nlearned = 0;
		if (i > BASELINE && !advice->pools[i].learning)
			advice->refilling |= size_bit(i);
	}
	memset(advice->progress, 0, sizeof(advice->progress));
	pbp_doubt_caches(advice);
	/* what was not in doubt before says nothing about what follows */
	memset(&advice->recent, 0, sizeof(advice->recent));
}

void
pbp_advice_begin(PbpAdvice *base, int64_t ticks)
{
	Advice	   *advice = (Advice *) base;
	LookState  *look = &advice->look;

	/* a page stays for two passes: after more, loads may have come and gone */
	if (ticks < look->last.ticks || ticks - look->last.ticks > 2 * (int64_t) advice->nbuffers)
		pbp_advice_gap(base);
	look->now = (HandPosition){ticks, ticks / advice->nbuffers, (int) (ticks % advice->nbuffers)};
	advice->averages.lost_share += LOST_GAIN * (look->lost - advice->averages.lost_share);
	if (look->lost)
	{
		look->first_ticks = ticks;
		forget_past(advice);
		if (advice->relations != NULL)
			pbp_forget_uses(&advice->relations->working_set);
	}
	base->lost = look->lost;
	look->looking = true;
	look->number++;
	look->next_meeting = 0;
	memset(&look->found, 0, sizeof(look->found));
	advice->table.exhausted = false;
	events_of(advice, look->number)->nevents = 0;
	meetings_of(advice, look->number)->nmeetings = 0;
	outdate_answers(advice);
}

/*
 * Chance has put more or fewer pages into the sample than the rate says.  Follow
 * that slowly, within limits: few residents may also mean a dropped table.
 */
static void
follow_residents(Advice *advice)
{
	double	   *average = &advice->averages.residents;
	double		expected = advice->sampling_rate * advice->nbuffers;
	double		slack = SLACK_DEVIATIONS * sqrt(expected);
	double		passed = (double) (advice->look.now.ticks - advice->look.last.ticks) / advice->nbuffers;
	double		found = 0;

	if (advice->look.now.ticks < advice->nbuffers)
		return;					/* the pool may not have been full */
	for (int i = 0; i < GROUPS; i++)
		found += advice->look.found.nresidents[i];
	*average += (*average > 0 ? fmin(1, RESIDENTS_GAIN * passed) : 1) * (found - *average);
	*average = fmin(fmax(*average, fmax(1, expected - slack)), expected + slack);
	pbp_resize_pools(advice, *average);
	pbp_resize_caches(advice);
}

/*
 * A larger size is learned when its pool is full, or hardly ever uses a new
 * page.  What was counted before is worth less than what follows.
 */
static void
finish_learning(Advice *advice)
{
	for (int i = BASELINE + 1; i < FACTORS; i++)
	{
		SimulatedPool *pool = &advice->pools[i];

		if (pool->nlearned < pool->nslots && pbp_doubtful_share(advice, i) > TOLERATED_DOUBT / 2)
			continue;
		if (is_absent(advice->refilling, i))
		{
			advice->refilling &= ~size_bit(i);
			advice->recent.doubtful_misses[i] = 0;
		}
		if (!pool->learning)
			continue;
		pool->learning = false;
		memset(&advice->counters.sizes[i], 0, sizeof(SizeCounters));
		pbp_reduce_effects(advice->relations, i, false, 0);
		pbp_forget_misses(advice, i);
	}
	pbp_learn_caches(advice);
}

/*
 * Replay events, and count them if they and the accesses belong together.
 * Neither does so in the first pass after a loss, when the simulated pools are
 * not in order yet, nor between a loss and the next look.
 */
static void
replay(Advice *advice)
{
	LookState  *look = &advice->look;
	bool		counts = !look->lost && passes_watched(advice) >= 1;

	/* these are of the look before, whose reads must count, too */
	pbp_play_events(advice, look->number - 1, counts && look->counted);
	if (look->lost)
	{
		pbp_play_events(advice, look->number, false);
		events_of(advice, look->number)->nevents = 0;
	}
	if (!advice->base.lost)
		confirm_accesses(advice, counts);
	if (counts)
		count_look(advice);
	if (counts && passes_watched(advice) >= IN_ORDER_PASSES)
		finish_learning(advice);
	/* counts come much more rarely than looks */
	if (look->fresh.seconds > 0 || accesses_of(&look->fresh) > 0)
		pbp_follow_learning(advice);
	memset(&look->fresh, 0, sizeof(look->fresh));
}

/* Pages that have left: the last look met them, and this one did not. */
static void
clear_gone(Advice *advice)
{
	uint64_t	look = advice->look.number;
	const MeetingList *last = meetings_of(advice, look - 1);

	for (uint32_t i = 0; i < last->nmeetings; i++)
	{
		PageState  *state = &advice->table.pages[last->meetings[i].page].state;

		check_interrupts(i);
		if (!met_in_look(*state, look))
			state->look = 0;
	}
}

bool
pbp_advice_end(PbpAdvice *base, int64_t ticks)
{
	Advice	   *advice = (Advice *) base;
	LookState  *look = &advice->look;
	bool		too_long = ticks - look->now.ticks > advice->nbuffers;

	if (!look->looking)
		return look->lost;
	if (too_long)
		pbp_advice_gap(base);
	follow_residents(advice);
	replay(advice);
	clear_gone(advice);
	advice->nlooks++;
	look->last = look->now;
	look->lost = too_long;		/* the next one starts over */
	look->looking = false;
	outdate_answers(advice);
	return look->lost || meetings_of(advice, look->number)->nmeetings == advice->max_meetings;
}

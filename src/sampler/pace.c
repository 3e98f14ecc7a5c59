/*-------------------------------------------------------------------------
 *
 * pace.c
 *	  When the worker looks at the pool, how long it sleeps, and how much of its
 *	  sample it has time for.
 *
 *-------------------------------------------------------------------------
 */
#include "sampler/pace.h"

#include <math.h>

/*
 * After two passes without a look, what was learned is lost, and some looks are late.
 * More than are needed put the uses of pages in order, as far as they take this share
 * of the processor time that is allowed.
 */
#define LOOKS_WANTED	40
#define WANTED_SHARE	0.25

/* While the hand stands still, looks show which pages are in use. */
#define LOOK_NS			INT64_C(5000000000)

/*
 * A page that was loaded after a look must still be there at the next but one, so each
 * comes within less than a pass.  Where paying takes longer, more is owed, up to the
 * share of so long a time.
 */
#define LATEST_LOOK		0.9
#define REST_NS			5000000000.0
#define MINUTE_NS		60000000000.0

/* A round that takes long is paid for by so many, and otherwise this is owed at most. */
#define ROUNDS_OWED		6
#define MAX_OWED_NS		2000000000.0

/* How often the size of the sample is judged; the first looks may take far too long. */
#define JUDGED_NS			INT64_C(3000000000)
#define JUDGED_FIRST_NS		INT64_C(300000000)
#define JUDGED_FIRST		10

/*
 * Up to this share of the allowed time, looks are late for another reason; from this
 * share of the looks that are needed, they are in time.
 */
#define LITTLE_TIME			0.9
#define ENOUGH_LOOKS		0.85

/* At most this share of the sample remains, and at least. */
#define LEAST_KEPT			0.25
#define MOST_KEPT			0.9

/*
 * Below this share of the allowed time, there is some for so many times the sample.
 * A larger one is learned for as long as the first, so this must have lasted.
 */
#define MUCH_TIME			0.4
#define GROWTH				2.0
#define AMPLE_NS			INT64_C(300000000000)

/* Before any look has been timed: what a tick takes at least, if each moved a sampled page. */
#define ASSUMED_NS			700.0

/* The first look is due at once. */
void
pbp_begin_pace(PbpHandPace *pace, int nbuffers, const PbpMoment *now)
{
	*pace = (PbpHandPace) {
		.nbuffers = nbuffers,.now = *now,.woken = *now,.look = *now,.judged = *now,
		.ample_since_ns = now->ns
	};
	pace->look.ns -= LOOK_NS;
}

/* ---- looks ---- */

/*
 * A higher speed since the worker was last awake is adopted at once, a lower one
 * gradually: a look too many only costs time, but a late one loses what happened.
 */
void
pbp_follow_speed(PbpHandPace *pace)
{
	double		ns = (double) (pace->now.ns - pace->woken.ns);

	if (ns > 0)
		pace->ticks_per_ns = fmax(pace->ticks_per_ns * 0.7,
								  (double) (pace->now.ticks - pace->woken.ticks) / ns);
	pace->woken = pace->now;
}

void
pbp_pace_look(PbpHandPace *pace)
{
	pace->now.nlooks++;
	pace->look = pace->now;
}

/* Ticks of the hand until the next look, if so many come in a pass. */
static double
ticks_to_look(const PbpHandPace *pace, double looks)
{
	return fmax(0, (double) (pace->look.ticks - pace->now.ticks) +
				fmax(1, floor(pace->nbuffers / looks)));
}

/* A look that reads the whole pool takes long. */
static int
looks_wanted(bool whole)
{
	return whole ? PBP_LOOKS_NEEDED : LOOKS_WANTED;
}

bool
pbp_look_is_due(const PbpHandPace *pace, bool whole)
{
	return ticks_to_look(pace, looks_wanted(whole)) == 0 || pace->now.ns - pace->look.ns >= LOOK_NS;
}

/*
 * As soon as the next look is wanted if the processor time used since the last sleep
 * allows that, and otherwise when it is needed.  Infinite while the hand stands still.
 */
double
pbp_sleep_to_look(const PbpHandPace *pace, bool whole, double used_ns, double cpu_fraction)
{
	double		wanted_ns;
	double		needed_ns;

	if (pace->ticks_per_ns <= 0)
		return INFINITY;
	wanted_ns = ticks_to_look(pace, looks_wanted(whole)) / pace->ticks_per_ns;
	needed_ns = ticks_to_look(pace, PBP_LOOKS_NEEDED) / pace->ticks_per_ns;
	return fmax(wanted_ns, fmin(needed_ns, used_ns / (WANTED_SHARE * cpu_fraction)));
}

/* Until a look would be too late. */
double
pbp_sleep_to_latest_look(const PbpHandPace *pace)
{
	return pace->ticks_per_ns > 0 ?
		ticks_to_look(pace, 1 / LATEST_LOOK) / pace->ticks_per_ns : INFINITY;
}

/* ---- debt ---- */

/*
 * True if looks in time take more than is allowed, and enough is owed.  One that comes
 * too late is worth nothing, so the worker takes none until all is paid.
 */
bool
pbp_must_rest(double owed_ns, double cpu_fraction, double latest_ns)
{
	return owed_ns >= REST_NS * cpu_fraction && owed_ns / ROUNDS_OWED / cpu_fraction > latest_ns;
}

/*
 * By which a rest pays what is owed: a minute that begins with a spell of looks has
 * no more than is allowed, either.
 */
double
pbp_rest_fraction(double cpu_fraction)
{
	return cpu_fraction * (1 - REST_NS / MINUTE_NS);
}

/*
 * How long to sleep for what is owed, unless the worker rests.  That is spread: else
 * each look after a long one would be late.
 */
double
pbp_sleep_for_debt(double owed_ns, double cpu_fraction, double latest_ns)
{
	return fmin(fmax(owed_ns / ROUNDS_OWED / cpu_fraction, owed_ns / cpu_fraction - MAX_OWED_NS),
				latest_ns);
}

/* ---- the sample ---- */

/* By what has happened since the last time. */
static double
affordable_share(const PbpHandPace *pace, double cpu_fraction, double sampling_rate)
{
	double		allowed_ns = cpu_fraction * (double) (pace->now.ns - pace->judged.ns);
	double		ticks = (double) (pace->now.ticks - pace->judged.ticks);
	double		looks = (double) (pace->now.nlooks - pace->judged.nlooks);
	double		taken = (double) (pace->now.cpu_ns - pace->judged.cpu_ns) / allowed_ns;
	double		seen = ticks > 0 ? looks * pace->nbuffers / (PBP_LOOKS_NEEDED * ticks) : 1;
	double		share = 1;

	if (pace->njudged == 0)
		share = allowed_ns / (ASSUMED_NS * sampling_rate * fmax(1, ticks));
	else if (taken > LITTLE_TIME)
		share = seen / ENOUGH_LOOKS;
	else if (taken < MUCH_TIME && seen >= ENOUGH_LOOKS)
		return GROWTH;
	return share < 1 ? fmin(MOST_KEPT, fmax(LEAST_KEPT, share)) : 1;
}

/*
 * To be called in each round.  Returns the share of the sample that is to be kept
 * so that there is time for as many looks as are needed; 1: all of it.  Above 1:
 * there has been time for so many times as much.  Before the first look it goes by
 * the speed of the hand, and then by what was so twice in turn.
 */
double
pbp_fit_sample(PbpHandPace *pace, double cpu_fraction, double sampling_rate)
{
	int64_t		pause_ns = pace->njudged == 0 ? PBP_FIRST_LOOK_NS :
		pace->njudged < JUDGED_FIRST ? JUDGED_FIRST_NS : JUDGED_NS;
	double		share;
	bool		acts;

	if (pace->now.ns - pace->judged.ns < pause_ns)
		return 1;
	share = affordable_share(pace, cpu_fraction, sampling_rate);
	acts = share < 1 ? pace->too_late || pace->njudged == 0 :
		pace->now.ns - pace->ample_since_ns >= AMPLE_NS;
	if (share <= 1 || acts)
		pace->ample_since_ns = pace->now.ns;
	pace->too_late = share < 1;
	pace->njudged++;
	pace->judged = pace->now;
	return acts ? share : 1;
}

/*-------------------------------------------------------------------------
 *
 * pace.c
 *	  When the worker looks at the pool, and how long it sleeps.
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

/* The first look is due at once. */
void
pbp_begin_pace(PbpHandPace *pace, int nbuffers, int64_t ticks, int64_t now_ns)
{
	*pace = (PbpHandPace)
	{
		.nbuffers = nbuffers,.ticks = ticks,.woken_ns = now_ns,.woken_ticks = ticks,.look_ns = now_ns - LOOK_NS,.look_ticks = ticks
	};
}

/*
 * A higher speed since the worker was last awake is adopted at once, a lower one
 * gradually: a look too many only costs time, but a late one loses what happened.
 */
void
pbp_follow_speed(PbpHandPace *pace, int64_t now_ns)
{
	if (now_ns > pace->woken_ns)
		pace->ticks_per_ns = fmax(pace->ticks_per_ns * 0.7,
								  (double) (pace->ticks - pace->woken_ticks) / (double) (now_ns - pace->woken_ns));
	pace->woken_ns = now_ns;
	pace->woken_ticks = pace->ticks;
}

void
pbp_pace_look(PbpHandPace *pace, int64_t now_ns)
{
	pace->look_ns = now_ns;
	pace->look_ticks = pace->ticks;
}

/* Ticks of the hand until the next look, if so many come in a pass. */
static double
ticks_to_look(const PbpHandPace *pace, double looks)
{
	return fmax(0, (double) (pace->look_ticks - pace->ticks) + fmax(1, floor(pace->nbuffers / looks)));
}

/* A look that reads the whole pool takes long. */
static int
looks_wanted(bool whole)
{
	return whole ? PBP_LOOKS_NEEDED : LOOKS_WANTED;
}

bool
pbp_look_is_due(const PbpHandPace *pace, bool whole, int64_t now_ns)
{
	return ticks_to_look(pace, looks_wanted(whole)) == 0 || now_ns - pace->look_ns >= LOOK_NS;
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
	return pace->ticks_per_ns > 0 ? ticks_to_look(pace, 1 / LATEST_LOOK) / pace->ticks_per_ns : INFINITY;
}

/*
 * True if looks in time take more than is allowed, and enough is owed.  One that comes
 * too late is worth nothing, so the worker takes none until all is paid.
 */
bool
pbp_must_rest(double owed_ns, double cpu_fraction, double latest_ns)
{
	return owed_ns >= REST_NS * cpu_fraction && owed_ns / ROUNDS_OWED / cpu_fraction > latest_ns;
}

/* By which a rest pays what is owed: a minute that begins with a spell of looks has no more than is allowed, either. */
double
pbp_rest_fraction(double cpu_fraction)
{
	return cpu_fraction * (1 - REST_NS / MINUTE_NS);
}

/* How long to sleep for what is owed, unless the worker rests.  That is spread: else each look after a long one would be late. */
double
pbp_sleep_for_debt(double owed_ns, double cpu_fraction, double latest_ns)
{
	return fmin(fmax(owed_ns / ROUNDS_OWED / cpu_fraction, owed_ns / cpu_fraction - MAX_OWED_NS), latest_ns);
}

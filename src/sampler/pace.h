/*-------------------------------------------------------------------------
 *
 * pace.h
 *	  When the worker looks at the pool, how long it sleeps, and how much of its
 *	  sample it has time for.
 *
 * Looks follow the clock hand: each pass needs some.  The processor time that the
 * worker has taken beyond its share is owed, and paid for by sleep.
 *
 * The faster the hand, the more often the pool must be looked at, and the more
 * pages of the sample have been loaded each time.  A smaller sample makes looks
 * cheaper; fewer looks than are needed would lose what happens between two.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PACE_H
#define PBP_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* What has happened up to one time. */
typedef struct PbpMoment
{
	int64_t		ns;
	int64_t		cpu_ns;			/* used by the worker */
	int64_t		nlooks;
	int64_t		ticks;			/* of the clock hand, never wrapping; modulo the
								 * pool it is the hand */
} PbpMoment;

typedef struct PbpHandPace
{
	int			nbuffers;
	double		ticks_per_ns;	/* not to be underestimated */
	PbpMoment	now;			/* when the clock hand was last read */
	PbpMoment	woken;			/* when the speed was last followed */
	PbpMoment	look;			/* when the pool was last looked at */

	/* the size of the sample */
	PbpMoment	judged;			/* the last time */
	int			njudged;		/* before, no look may be taken */
	bool		too_late;		/* by then, looks were */
	int64_t		ample_since_ns; /* there has been time for a larger sample */
} PbpHandPace;

/* Looks that a pass of the hand needs. */
#define PBP_LOOKS_NEEDED	5

/* How long the worker may sleep at first, so that the speed of the hand is known. */
#define PBP_FIRST_LOOK_NS	INT64_C(50000000)

extern void pbp_begin_pace(PbpHandPace *pace, int nbuffers, const PbpMoment *now);
extern void pbp_follow_speed(PbpHandPace *pace);
extern void pbp_pace_look(PbpHandPace *pace);
extern bool pbp_look_is_due(const PbpHandPace *pace, bool whole);
extern double pbp_sleep_to_look(const PbpHandPace *pace, bool whole, double used_ns,
								double cpu_fraction);
extern double pbp_sleep_to_latest_look(const PbpHandPace *pace);

extern bool pbp_must_rest(double owed_ns, double cpu_fraction, double latest_ns);
extern double pbp_rest_fraction(double cpu_fraction);
extern double pbp_sleep_for_debt(double owed_ns, double cpu_fraction, double latest_ns);

extern double pbp_fit_sample(PbpHandPace *pace, double cpu_fraction, double sampling_rate);

#endif							/* PBP_PACE_H */

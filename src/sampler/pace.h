/*-------------------------------------------------------------------------
 *
 * pace.h
 *	  When the worker looks at the pool, and how long it sleeps.
 *
 * Looks follow the clock hand: each pass needs some.  The processor time that the
 * worker has taken beyond its share is owed, and paid for by sleep.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PACE_H
#define PBP_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PbpHandPace
{
	int			nbuffers;
	int64_t		ticks;			/* of the clock hand, never wrapping; modulo the
								 * pool it is the hand */
	double		ticks_per_ns;	/* not to be underestimated */
	int64_t		woken_ns;		/* when the speed was last followed */
	int64_t		woken_ticks;
	int64_t		look_ns;		/* when the pool was last looked at */
	int64_t		look_ticks;
} PbpHandPace;

/* Looks that a pass of the hand needs. */
#define PBP_LOOKS_NEEDED	5

extern void pbp_begin_pace(PbpHandPace *pace, int nbuffers, int64_t ticks, int64_t now_ns);
extern void pbp_follow_speed(PbpHandPace *pace, int64_t now_ns);
extern void pbp_pace_look(PbpHandPace *pace, int64_t now_ns);
extern bool pbp_look_is_due(const PbpHandPace *pace, bool whole, int64_t now_ns);
extern double pbp_sleep_to_look(const PbpHandPace *pace, bool whole, double used_ns, double cpu_fraction);
extern double pbp_sleep_to_latest_look(const PbpHandPace *pace);

extern bool pbp_must_rest(double owed_ns, double cpu_fraction, double latest_ns);
extern double pbp_rest_fraction(double cpu_fraction);
extern double pbp_sleep_for_debt(double owed_ns, double cpu_fraction, double latest_ns);

#endif							/* PBP_PACE_H */

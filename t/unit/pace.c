/*
 * pace.c
 *	  When the worker looks at the pool, and how it pays for what it has taken.
 *	  Prints TAP.
 */
#include <math.h>

#include "sampler/pace.h"
#include "tap.h"

#define SECOND			INT64_C(1000000000)
#define FRACTION		0.01
#define NBUFFERS		1000

/* The hand passes so many buffers per second, and the last look was so many ago. */
static PbpHandPace
hand_at(double ticks_per_second, int64_t ticks_since_look)
{
	PbpHandPace pace = {0};

	pbp_begin_pace(&pace, NBUFFERS, &(PbpMoment) {0});
	pbp_pace_look(&pace);
	pace.now.ticks = (int64_t) ticks_per_second;
	pace.now.ns = SECOND;
	pbp_follow_speed(&pace);
	pace.now.ticks = ticks_since_look;
	pace.now.ns = 0;
	return pace;
}

static void
look_in_time(void)
{
	PbpHandPace pace = hand_at(1000, 0);

	ok(!pbp_look_is_due(&pace, false), "just after a look, none is due");
	pace.now.ticks = NBUFFERS / 40;
	ok(pbp_look_is_due(&pace, false), "after a fortieth of a pass, one is");
	ok(!pbp_look_is_due(&pace, true), "but none that reads the whole pool");
	pace.now.ticks = NBUFFERS / 5;
	ok(pbp_look_is_due(&pace, true), "after a fifth of a pass, that is due, too");
	pace.now.ticks = 0;
	pace.now.ns = 5 * SECOND;
	ok(pbp_look_is_due(&pace, false), "and any, after five seconds");
	ok(fabs(pbp_sleep_to_look(&pace, false, 0, FRACTION) - 0.025 * SECOND) < 1e3, "what costs nothing is as frequent as wanted");
	ok(fabs(pbp_sleep_to_look(&pace, false, 1e9, FRACTION) - 0.2 * SECOND) < 1e3, "and what costs much as is needed");
	ok(fabs(pbp_sleep_to_look(&pace, false, 0.25e6, FRACTION) - 0.1 * SECOND) < 1e3, "between, looks take a quarter of what is allowed");
	ok(fabs(pbp_sleep_to_latest_look(&pace) - 0.9 * SECOND) < 1e3, "a look is late after nine tenths of a pass");
	pace.now.ticks = 2 * NBUFFERS;
	ok(pbp_sleep_to_latest_look(&pace) == 0, "or at once");
	pace = hand_at(0, 0);
	ok(isinf(pbp_sleep_to_look(&pace, false, 0, FRACTION)) && isinf(pbp_sleep_to_latest_look(&pace)), "while the hand stands still, none is late");
}

static void
begin(void)
{
	PbpHandPace pace = {0};

	pbp_begin_pace(&pace, NBUFFERS, &(PbpMoment) {.ns = 7 * SECOND,.ticks = 12345});
	ok(pbp_look_is_due(&pace, true), "the first look is due at once");
}

static void
follow_speed(void)
{
	PbpHandPace pace = hand_at(1000, 1000);

	pace.now.ns = 2 * SECOND;
	pace.now.ticks = 6000;
	pbp_follow_speed(&pace);
	ok(fabs(pace.ticks_per_ns * SECOND - 5000) < 1, "a higher speed is followed at once");
	pace.now.ns = 3 * SECOND;
	pbp_follow_speed(&pace);
	ok(fabs(pace.ticks_per_ns * SECOND - 3500) < 1, "a lower one gradually");
}

/*
 * Rounds that take so much processor time, for a minute, with a hand for which a look is
 * late after so long.  Returns the longest sleep of all that are no rest.
 */
static double
pay(double round_ns, double latest_ns, int *nrests, double *share)
{
	double		now_ns = 0;
	double		owed_ns = 0;
	double		cpu_ns = 0;
	double		longest = 0;

	*nrests = 0;
	while (now_ns < 60.0 * SECOND)
	{
		double		fraction = FRACTION;
		double		sleep_ns;

		owed_ns += round_ns;
		cpu_ns += round_ns;
		if (pbp_must_rest(owed_ns, FRACTION, latest_ns))
		{
			(*nrests)++;
			fraction = pbp_rest_fraction(FRACTION);
			sleep_ns = owed_ns / fraction;
		}
		else
		{
			sleep_ns = fmax(1e6, pbp_sleep_for_debt(owed_ns, FRACTION, latest_ns));
			longest = fmax(longest, sleep_ns);
		}
		now_ns += sleep_ns;
		owed_ns = fmax(0, owed_ns - sleep_ns * fraction);
	}
	*share = cpu_ns / now_ns / FRACTION;
	return longest;
}

static void
pay_for_rounds(void)
{
	int			nrests;
	double		share;
	double		longest = pay(1e6, INFINITY, &nrests, &share);

	okf(nrests == 0 && fabs(share - 1) < 0.02, "looks that are never late: all is paid for (%.3f), without a rest", share);
	longest = pay(1e6, 0.12 * SECOND, &nrests, &share);
	okf(nrests == 0 && fabs(share - 1) < 0.02 && longest <= 0.12 * SECOND, "looks in time cost just what is allowed: none is late (%.3f s)", longest / SECOND);
	longest = pay(1e6, 0.03 * SECOND, &nrests, &share);
	okf(longest <= 0.03 * SECOND, "looks in time cost three times as much: none is late (%.3f s)", longest / SECOND);
	okf(nrests > 5 && nrests < 12 && share > 0.85 && share < 1.01, "but the worker rests now and then (%d times), and takes no more than its share (%.3f)", nrests, share);
	longest = pbp_sleep_for_debt(0.06 * SECOND, FRACTION, INFINITY);
	okf(fabs(longest - 4.0 * SECOND) < 1e3, "of one round that took 6 s' share, 2 s' remain owed (%.1f s)", longest / SECOND);
}

int
main(void)
{
	begin();
	look_in_time();
	follow_speed();
	pay_for_rounds();
	return end_of_tests();
}

/*
 * budget.c
 *	  How much of its sample the worker keeps, by what it has taken and how late it
 *	  was.  Prints TAP.
 */
#include <math.h>

#include "sampler/pace.h"
#include "tap.h"

#define SECOND			INT64_C(1000000000)
#define FRACTION		0.01
#define RATE			0.25
#define NBUFFERS		8192
#define LOOKS_PER_TICK	((double) PBP_LOOKS_NEEDED / NBUFFERS)

/* So many seconds, in which the worker took a share of what is allowed, and had a share of the looks that are needed. */
static double
judge(PbpHandPace *pace, double seconds, double ticks, double taken, double looks)
{
	pace->now = pace->judged;
	pace->now.ns += (int64_t) (seconds * SECOND);
	pace->now.cpu_ns += (int64_t) (seconds * taken * FRACTION * SECOND);
	pace->now.nlooks += (int64_t) (seconds * looks * LOOKS_PER_TICK * ticks);
	pace->now.ticks += (int64_t) (seconds * ticks);
	return pbp_fit_sample(pace, FRACTION, RATE);
}

/* After the first judgment, which the hand has passed. */
static void
begin(PbpHandPace *pace)
{
	pbp_begin_pace(pace, NBUFFERS, &(PbpMoment) {.ns = 7 * SECOND,.cpu_ns = SECOND,.nlooks = 100,.ticks = 1000000});
	(void) judge(pace, 0.05, 0, 0, 0);
}

/* What must be found twice in turn acts. */
static double
kept_after(double ticks, double taken, double looks)
{
	PbpHandPace pace;

	begin(&pace);
	if (judge(&pace, 3, ticks, taken, looks) != 1)
		return NAN;
	return judge(&pace, 3, ticks, taken, looks);
}

/* Before the first look, by the speed of the hand. */
static double
kept_at_first(double ticks_per_second, double rate)
{
	PbpHandPace pace;

	pbp_begin_pace(&pace, NBUFFERS, &(PbpMoment) {0});
	pace.now = (PbpMoment) {.ns = SECOND / 20,.ticks = (int64_t) (ticks_per_second / 20)};
	return pbp_fit_sample(&pace, FRACTION, rate);
}

/* There is time for a larger sample only if that lasts. */
static void
grow(void)
{
	PbpHandPace pace;
	double		grown = 1;
	int			seconds = 0;

	begin(&pace);
	for (; grown == 1 && seconds < 1000; seconds += 3)
		grown = judge(&pace, 3, 60000, 0.3, 1);
	okf(grown == 2 && seconds >= 300 && seconds < 340, "with much time for five minutes, twice the sample (%d s)", seconds);
	for (seconds = 0, grown = 1; grown == 1 && seconds < 3000; seconds += 3)
		grown = judge(&pace, 3, 60000, seconds % 240 == 0 ? 0.7 : 0.3, 1);
	ok(grown == 1, "but not if it is needed again and again");
	for (seconds = 0; grown == 1 && seconds < 1000; seconds += 3)
		grown = judge(&pace, 3, 60000, 0.3, 0.5);
	ok(grown == 1, "nor where looks are late nevertheless");
}

/* A worker whose looks take so much each keeps less until it is in time. */
static void
settle(double ticks, double us_per_look_of_all)
{
	double		kept = 1;
	int			steps = 0;

	for (; steps < 50; steps++)
	{
		/* a tenth of what a look takes does not depend on the sample */
		double		us = us_per_look_of_all * (0.1 + 0.9 * kept);
		double		needed = ticks * LOOKS_PER_TICK * us / 1e6 / FRACTION;
		double		share = kept_after(ticks, fmin(1, needed), fmin(1, 1 / needed));

		if (share == 1)
			break;
		kept *= share;
	}
	okf(steps > 0 && steps < 12 && kept < 1, "%g ticks a second: in time after %d steps, with %.3f of the sample", ticks, steps, kept);
}

int
main(void)
{
	ok(kept_after(60000, 0.5, 1) == 1, "with half of the allowed time, all of the sample");
	ok(kept_after(60000, 0.5, 0.1) == 1, "also if looks were late for another reason");
	ok(kept_after(0, 1.2, 0) == 1, "or the hand stands still");
	ok(kept_after(60000, 1, 1) == 1, "or were in time");
	ok(kept_after(60000, 1, 0.8) == 0.9, "less if they were late for want of time");
	ok(fabs(kept_after(60000, 1, 0.4) - 0.4 / 0.85) < 0.03, "the less, the later");
	ok(kept_after(60000, 1, 0.01) == 0.25, "but at most three quarters leave at once");
	ok(kept_at_first(1000, 0.25) == 1, "before the first look: all, with a slow hand");
	ok(kept_at_first(0, 0.25) == 1, "and with one that stands still");
	ok(fabs(kept_at_first(100000, 0.25) - 0.01 / (700e-9 * 0.25 * 100000)) < 1e-3, "less with a fast one");
	ok(kept_at_first(100000, 0.01) == 1, "unless the sample is small already");
	settle(60000, 1000);
	settle(200000, 600);
	settle(20000, 1500);
	grow();
	return end_of_tests();
}

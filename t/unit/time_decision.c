/*
 * time_decision.c
 *	  From tables of estimated waiting to the size that src/statistics/decision.c advises.
 *	  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "decision_case.h"

static const Curve valley = {400, 320, 300, 290, 290, 300, 280, 230, 212, 210, 330};

static void
choose_by_waiting(void)
{
	Case		one = new_waiting(valley, 10);

	is_decided(&one, PBP_TAKE, 2, "by waiting: of the sizes that are as good as the best, the one closest to today's");
	ok(ask(&one).basis == PBP_BY_WAITING && ask(&one).equal_from == 8 && ask(&one).equal_to == 9, "which are named");
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "sure, if no hours are wanted");
	one.unsettled = true;
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_CONSIDER, "but not while the load is changing");
	one.unsettled = false;
	one.wanted_hours = 24;
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_CONSIDER, "nor before the hours that are wanted have been seen");

	one = new_hours(valley, 10, 24, 1000);
	for (int i = 0; i < SIZES; i++)
		forget_misses(&one, i, 0.1, PBP_ADVICE_LEARNING);
	is_decided(&one, PBP_TAKE, 2, "by the hours that were seen, although nothing is known now");
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "a whole day is sure");
	one.unsettled = true;
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "also while the load is changing");
	one.doubtful = true;
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_CONSIDER, "but not if the model is in doubt");
	one = new_hours(valley, 10, 19, 1000);
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_CONSIDER, "19 hours are not");
	one.hours.wanted_seconds = 19.2 * 3600.0;
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "unless the others do not count");

	one = new_hours(valley, 10, 24, 10000);
	is_decided(&one, PBP_KEEP, 1, "what saves less than a hundredth of the working time does not matter");
	one = new_hours(valley, 10, 24, 0);
	is_decided(&one, PBP_TAKE, 2, "if the working time is unknown, it may");
	ok(ask(&one).active_ms == 0, "which the decision says");
	one = new_hours(valley, 10, 24, 0.99 * valley[TODAY]);
	ok(ask(&one).active_ms == 0, "it is also unknown if sessions would have waited longer than they worked");
	one.hours.counted_ms = 3 * one.hours.active_ms;
	ok(fabs(ask(&one).active_ms - 2.97 * valley[TODAY]) < 1e-6, "but not if the worker has counted three times as much work");
	one = new_hours(valley, 10, 24, 1.02 * valley[TODAY]);
	ok(fabs(ask(&one).active_ms - 1.02 * valley[TODAY]) < 1e-6, "and otherwise the mean of the hours");

	one = new_hours(valley, 10, 24, 1000);
	one.hours.sizes[8].accesses /= 2;
	is_decided(&one, PBP_TAKE, 3, "a size that was unknown in half of the hours is not advised");
	one.unused = true;
	one.hours.seconds = 0;
	is_decided(&one, PBP_KEEP_UNUSED, 1, "nor any while no page has been evicted");
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "which is fine");
	one.idle = true;
	is_decided(&one, PBP_DECIDE_IDLE, 1, "but not without a load");
	is_judged(&one, PBP_UNSURE, PBP_VERDICT_UNKNOWN, "when nothing is known");
	one.idle = false;
	one.seconds = 29;
	is_decided(&one, PBP_DECIDE_SHORT, 1, "nor in the first seconds");
}

/* What probes say about times may be wrong by as much as their interval. */
static void
doubt_probes(void)
{
	const Curve little = {4.5, 4.4, 4.3, 4.2, 4.1, 4, 3.9, 3.8, 3.7, 3.6, 3.5};
	Case		one = new_hours(little, 50, 24, 1000);

	one.probed = true;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "little waiting by probes, which may be much: nothing is decided");
	is_judged(&one, PBP_UNSURE, PBP_VERDICT_UNKNOWN, "and not called fine");
	ok(ask(&one).times_decide, "but times may decide");
	one.probed = false;
	is_decided(&one, PBP_KEEP_CACHED, 1, "the server's own times are believed");
	one = new_hours(little, 1, 24, 1000);
	one.probed = true;
	is_decided(&one, PBP_KEEP_CACHED, 1, "and those of probes, if little waiting is certain");
	ok(!ask(&one).times_decide, "since no other times would change that");

	one = new_hours(valley, 10, 24, 1000);
	one.probed = true;
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "a size that is certainly better by enough is taken");
	one = new_hours(valley, 65, 24, 1000);
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "also with a larger error");
	one.probed = true;
	is_judged(&one, PBP_SURE, PBP_VERDICT_CONSIDER, "but if probes found it, and it may be too little, it is considered");
	ok(ask(&one).times_decide, "until the server times its reads");
}

static void
keep_by_waiting(void)
{
	const Curve level = {320, 310, 300, 295, 300, 300, 298, 290, 285, 280, 275};
	const Curve shrink = {80, 80, 85, 150, 200, 300, 300, 300, 300, 300, 300};
	Case		one = new_hours(shrink, 10, 24, 1000);

	is_decided(&one, PBP_TAKE, 0.625, "a smaller pool, if that saves time");
	is_judged(&one, PBP_SURE, PBP_VERDICT_CHANGE, "for certain");
	one.spare_memory = true;
	is_judged(&one, PBP_SURE, PBP_VERDICT_CONSIDER, "but memory to spare is no reason to act");

	one = new_hours(valley, 10, 24, 1000);
	one.before = 9;
	is_decided(&one, PBP_TAKE, 3, "what was advised before remains, as long as nothing is certainly better");
	one.before = 7;
	is_decided(&one, PBP_TAKE, 2, "but no longer than that");

	one = new_hours(level, 100, 24, 1000);
	is_decided(&one, PBP_KEEP, 1, "sizes that cannot be told apart from today's are no reason");
	ok(ask(&one).equal_from < TODAY && ask(&one).equal_to > TODAY, "and are named");
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "though one of them may be better");
	one = new_hours(valley, 100, 24, 1000);
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "unless one of them would save enough to matter");
	is_judged(&one, PBP_UNSURE, PBP_VERDICT_UNKNOWN, "then it is unknown, however many hours were seen");
	ok(ask(&one).best == 9, "and the size with the lowest figure is named");
	one = new_hours(valley, 1, 24, 100000);
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "or not by enough");
}

/* What runs now says nothing about hours in which sessions waited. */
static void
decide_by_hours_alone(void)
{
	const Curve little = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
	Curve		ms;
	Case		one;

	for (int i = 0; i < SIZES; i++)
		ms[i] = 548 - 20 * (i - TODAY);
	one = new_hours(ms, 200, 24, 1000);
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "hours of waiting and large errors: nothing is decided");
	for (int i = 0; i < SIZES; i++)
		one.storage[i].ratio.value = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "also in a minute in which the page cache serves everything");
	is_judged(&one, PBP_UNSURE, PBP_VERDICT_UNKNOWN, "which is not called fine");
	for (int i = 0; i < SIZES; i++)
		one.misses[i].ratio.value = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "also in one in which nothing is read");

	one = new_waiting(ms, 200);
	for (int i = 0; i < SIZES; i++)
		one.storage[i].ratio.value = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "nor is waiting for the page cache called fine where it may be avoided");

	one = new_hours(little, 1, 24, 1000);
	is_decided(&one, PBP_KEEP_CACHED, 1, "hours in which sessions hardly waited");
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "are fine for certain");
	one = new_hours(little, 40, 24, 1000);
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "but not if they may have waited for longer");
	one = new_hours(ms, 200, 24, 1000);
	one.hours.reads = 0.0005 * one.hours.accesses;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "nor are reads few, whatever else is accessed, if sessions waited for them");
	one = new_waiting(ms, 10);
	one.misses[TODAY].ratio.value = 0.0005;
	is_decided(&one, PBP_TAKE, 4, "neither now");
	for (int i = 0; i < SIZES; i++)
		one.waiting[i] = (PbpCompared) {4.9, 0.1, 0, 0.1};
	one.active_ms = 10;
	is_decided(&one, PBP_KEEP_FEW_READS, 1, "but hardly anything is read if sessions hardly wait, and work little as well");

	for (int i = 0; i < SIZES; i++)
		ms[i] = 548;
	one = new_hours(ms, 1, 24, 1000);
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "no size is better: fine for certain");
	for (int i = TODAY + 1; i < SIZES; i++)
		one.hours.sizes[i].accesses = 0;
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "but not if larger ones were unknown in these hours");
	one.fits[8] = false;
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "unless they would not fit");
	for (int i = 0; i < TODAY; i++)
		one.hours.sizes[i].accesses = 0;
	is_decided(&one, PBP_DECIDE_UNKNOWN, 1, "if no other size is known, nothing is decided");
	for (int i = 0; i < SIZES; i++)
		one.fits[i] = i == TODAY;
	is_decided(&one, PBP_KEEP, 1, "unless none fits");
}

/* Of pairs of askings, how many: */
typedef struct Stability
{
	int			differ;			/* in the size */
	int			opposite;		/* point in opposite directions */
	int			missed;			/* keep a size although another one is clearly better */
	int			called_fine;	/* at last, though sessions would wait a fifth less elsewhere */
} Stability;

/* Pairs of askings an hour apart.  Figures have errors of the sample, which remain, and of each hour. */
static Stability
ask_twice(double error, int ncurves)
{
	const Curve curves[] = {
		{330, 345, 353, 360, 367, 372, 372, 365, 340, 300, 280},
		{250, 262, 270, 290, 310, 330, 350, 350, 350, 350, 350},
		{400, 390, 380, 375, 372, 370, 365, 360, 360, 365, 370},
		{310, 305, 302, 300, 299, 300, 301, 303, 306, 312, 320},
		/* the best size saves 12 % */
		{420, 400, 390, 383, 377, 372, 355, 343, 327, 334, 345},
	};
	Random		random = {11};
	Stability	count = {0};

	for (int n = 0; n < 400; n++)
	{
		const double *curve = curves[n % ncurves];
		double		lowest = INFINITY;
		double		sample[SIZES];
		PbpDecision asked[2];
		int			before = -1;

		for (int i = 0; i < SIZES; i++)
		{
			sample[i] = normal(&random);
			lowest = fmin(lowest, curve[i]);
		}
		for (int hour = 0; hour < 2; hour++)
		{
			Curve		seen;
			Case		one;

			for (int i = 0; i < SIZES; i++)
				seen[i] = curve[i] + (i == TODAY ? 0 : error / 1.96 * (0.8 * sample[i] + 0.6 * normal(&random)));
			one = new_hours(seen, error, 24, 1000);
			one.before = before;
			asked[hour] = ask(&one);
			if (asked[hour].verdict != PBP_VERDICT_UNKNOWN)
				before = asked[hour].size;
			else if (before >= 0)
				asked[hour].size = before;	/* remains */
		}
		count.differ += asked[0].size != asked[1].size;
		count.opposite += (asked[0].size - TODAY) * (asked[1].size - TODAY) < 0;
		count.missed += curve[TODAY] - lowest > 0.11 * curve[TODAY] && asked[1].size == TODAY;
		count.called_fine += curve[TODAY] - lowest > 0.2 * curve[TODAY] && asked[1].verdict == PBP_VERDICT_FINE;
	}
	printf("# of 400 pairs of askings with an error of %g ms, %d differ, %d point in opposite directions, %d miss a better size, and %d call today's fine then\n",
		   error, count.differ, count.opposite, count.missed, count.called_fine);
	return count;
}

static void
stay_stable(void)
{
	static const double wide[] = {30, 60, 120, 240};
	Stability	count = ask_twice(6, 5);

	ok(count.differ <= 20 && count.opposite == 0, "on a steady load, of 100 pairs of askings at most five differ, and none points in opposite directions");
	ok(count.missed == 0, "a size that is clearly better is always named");
	for (int i = 0; i < (int) (sizeof(wide) / sizeof(wide[0])); i++)
	{
		count = ask_twice(wide[i], 4);
		ok(count.differ <= 60 && count.opposite <= 8, "with larger errors, of 100 pairs at most 15 differ, and two point in opposite directions");
		ok(count.called_fine == 0, "where a size is much better, but hard to tell, today's is not called fine");
	}
}

int
main(void)
{
	choose_by_waiting();
	keep_by_waiting();
	decide_by_hours_alone();
	doubt_probes();
	stay_stable();
	return end_of_tests();
}

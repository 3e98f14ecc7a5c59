/*
 * size_decision.c
 *	  From tables of estimates to the size that src/advice/decision.c advises, and how
 *	  much the advice says that it has learned before that.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advice/decision.h"
#include "advice_model.h"

#define SIZES	PBP_ADVICE_FACTORS

/* by size: 0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2, 3, 4 */
typedef double Curve[SIZES];

static const Curve falling = {0.40, 0.34, 0.31, 0.28, 0.25, 0.22, 0.18, 0.15, 0.11, 0.06, 0.03};

/* Two optima: the pool and the page cache hold the same pages between them. */
static const Curve hump = {0.068, 0.076, 0.080, 0.083, 0.087, 0.090, 0.0925, 0.0925, 0.091, 0.080, 0.060};
static const Curve flat = {0.100, 0.099, 0.101, 0.100, 0.099, 0.100, 0.101, 0.100, 0.099, 0.098, 0.097};

/* What the test changes before it asks. */
typedef struct Case
{
	bool		fits[SIZES];
	PbpAdviceRow misses[SIZES];
	PbpAdviceStorageRow storage[SIZES];
	bool		has_storage;
	double		seconds;
	double		active_ms;
	PbpCompared waiting[SIZES];
	bool		has_waiting;
	PbpHoursSum hours;
	double		wanted_hours;
	int			before;
	bool		unused;
	bool		idle;
	bool		probed;
	bool		spare_memory;
	bool		doubtful;
	bool		unsettled;
} Case;

static Case
new_case(const Curve misses, const Curve storage, double error)
{
	Case		one = {.has_storage = storage != NULL,.seconds = 3600,.before = -1};

	for (int i = 0; i < SIZES; i++)
	{
		one.fits[i] = true;
		one.misses[i] = (PbpAdviceRow)
		{
			.factor = pbp_advice_factor(i),.miss_ratio = misses[i],.uncertainty = i == TODAY ? 0 : error,
			.change_error = i == TODAY ? 0 : error,.learned_share = 1,.reason = PBP_ADVICE_KNOWN
		};
		if (storage != NULL)
			one.storage[i] = (PbpAdviceStorageRow)
			{
				.os_cache_pages = 1000,.storage_ratio = storage[i],.uncertainty = error,
				.change_error = i == TODAY ? 0 : hypot(error, error),.learned_share = 1,.reason = PBP_STORAGE_KNOWN
			};
	}
	return one;
}

static PbpDecision
ask(const Case *one)
{
	PbpDecisionInput input = {
		.fits = one->fits,.misses = one->misses,.storage = one->has_storage ? one->storage : NULL,
		.waiting = one->has_waiting ? one->waiting : NULL,.active_ms = one->active_ms,.hours = &one->hours,.watched_seconds = one->seconds,
		.wanted_hours = one->wanted_hours,.advised_before = one->before,.loaded = !one->idle,.evicted = !one->unused,.probed = one->probed,
		.spare_memory = one->spare_memory,.doubtful = one->doubtful,.unsettled = one->unsettled,
	};

	return pbp_decide(&input);
}

static void
is_decided(const Case *one, PbpDecisionKind kind, double factor, const char *what)
{
	PbpDecision decision = ask(one);

	if (decision.kind != kind || pbp_advice_factor(decision.size) != factor)
		printf("# kind %d, size %g; expected %d, %g\n", decision.kind, pbp_advice_factor(decision.size), kind, factor);
	ok(decision.kind == kind && pbp_advice_factor(decision.size) == factor, what);
}

static void
forget_storage(Case *one, int from, int to, double learned, PbpStorageReason reason)
{
	for (int i = from; i <= to; i++)
		one->storage[i] = (PbpAdviceStorageRow)
	{
		.os_cache_pages = 1000,.storage_ratio = NAN,.uncertainty = NAN,.change_error = NAN,.learned_share = learned,.reason = reason
	};
}

static void
forget_misses(Case *one, int i, double learned, PbpAdviceReason reason)
{
	one->misses[i] = (PbpAdviceRow)
	{
		.factor = pbp_advice_factor(i),.miss_ratio = NAN,.uncertainty = NAN,.change_error = NAN,.learned_share = learned,.reason = reason
	};
	if (one->has_storage)
		forget_storage(one, i, i, NAN, PBP_STORAGE_NO_MISS_RATIO);
}

/* ---- by reads from storage ---- */

static void
choose_by_storage(void)
{
	Case		one = new_case(falling, hump, 0.004);

	is_decided(&one, PBP_TAKE, 4, "the lowest of two optima is taken");
	one.fits[SIZES - 1] = false;
	is_decided(&one, PBP_TAKE, 3, "if it does not fit, a smaller gain is taken, if it is clear");
	one.fits[SIZES - 2] = false;
	is_decided(&one, PBP_KEEP, 1, "but not the other optimum: whether a smaller size saves time, only time tells");

	one = new_case(falling, hump, 0.004);
	one.storage[SIZES - 1].change_error = 0.05;
	is_decided(&one, PBP_TAKE, 3, "if the lowest is uncertain, one that is certain is taken");

	one = new_case(falling, falling, 0.001);
	is_decided(&one, PBP_TAKE, 4, "small errors: the best size");
	one.storage[SIZES - 2].storage_ratio = 0.0305;
	is_decided(&one, PBP_TAKE, 3, "the smallest step that is nearly as good as the best");
	one = new_case(falling, falling, 0.04);
	is_decided(&one, PBP_TAKE, 4, "larger errors: still the best size");
	one = new_case(falling, falling, 0.2);
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "errors that are larger than a gain that matters: nothing is decided");
	one = new_case(falling, flat, 0.01);
	is_decided(&one, PBP_KEEP, 1, "errors that are larger than a gain that does not matter: today's size");
	ok(!ask(&one).matters_too_little, "because of the errors");
	one = new_case(falling, flat, 0.0001);
	is_decided(&one, PBP_KEEP, 1, "a certain gain of 3 % does not matter");
	ok(ask(&one).matters_too_little, "and not because of the errors");
}

static void
keep_for_storage(void)
{
	Curve		little;
	Case		one;

	for (int i = 0; i < SIZES; i++)
		little[i] = falling[i] / 400;
	one = new_case(falling, little, 0.00001);
	is_decided(&one, PBP_KEEP_CACHED, 1, "where the page cache serves all reads, half as many reads are no reason");
	for (int i = 0; i < SIZES; i++)
		little[i] = falling[i] / 30;
	one = new_case(falling, little, 0.006);
	is_decided(&one, PBP_KEEP_CACHED, 1, "and within the error of nearly all reads as well");
	one = new_case(falling, little, 0.0001);
	is_decided(&one, PBP_TAKE, 4, "but the other reads count, if there are enough");

	one = new_case(falling, hump, 0.004);
	one.storage[TODAY].storage_ratio = 0.0005;
	forget_storage(&one, 8, SIZES - 1, 0.1, PBP_STORAGE_LEARNING);
	is_decided(&one, PBP_KEEP_CACHED, 1, "if hardly anything waits for storage, larger sizes need not be known");

	one = new_case(little, hump, 0.00001);
	for (int i = 0; i < SIZES; i++)
		one.misses[i].miss_ratio /= 10;
	is_decided(&one, PBP_KEEP_FEW_READS, 1, "where hardly anything is read, no other size matters");
}

/* ---- by misses ---- */

static void
choose_by_misses(void)
{
	Case		one = new_case(falling, NULL, 0.004);

	is_decided(&one, PBP_TAKE, 2, "without storage reads: at most twice the size");
	ok(ask(&one).basis == PBP_BY_MISSES, "and the decision says on what it is based");
	one.fits[8] = one.fits[7] = false;
	is_decided(&one, PBP_KEEP, 1, "a gain that would do for storage reads is too small for misses");
	one = new_case(flat, NULL, 0.0001);
	is_decided(&one, PBP_KEEP, 1, "a flat curve: today's size");

	one = new_case(falling, falling, 0.004);
	forget_storage(&one, 0, SIZES - 1, NAN, PBP_STORAGE_NO_CAPACITY);
	is_decided(&one, PBP_TAKE, 2, "a page cache of unknown size: by misses");
}

/* ---- too early ---- */

static void
wait_for_more(void)
{
	Case		one = new_case(falling, hump, 0.004);

	one.seconds = 8;
	is_decided(&one, PBP_DECIDE_SHORT, 1, "after some seconds it is too early");

	one = new_case(falling, hump, 0.004);
	forget_storage(&one, 8, SIZES - 1, 0.37, PBP_STORAGE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "as long as storage reads of twice the size are unknown, too");
	ok(ask(&one).learned_share == 0.37, "with the progress");
	one.fits[8] = false;
	is_decided(&one, PBP_KEEP, 1, "but not if that would not fit");

	one = new_case(falling, hump, 0.004);
	forget_misses(&one, 8, 0.5, PBP_ADVICE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "nor while the misses of that size are unknown");
	ok(ask(&one).learned_share == 0.5, "with the progress of these");
	forget_misses(&one, 8, 1, PBP_ADVICE_SATURATED);
	is_decided(&one, PBP_TAKE, 4, "what will not become known is not waited for");

	one = new_case(falling, hump, 0.004);
	forget_misses(&one, TODAY, 0.2, PBP_ADVICE_LEARNING);
	is_decided(&one, PBP_DECIDE_EARLY, 1, "nothing is decided as long as today's misses are unknown");
	forget_misses(&one, TODAY, 1, PBP_ADVICE_UNCOUNTED);
	is_decided(&one, PBP_DECIDE_UNKNOWN, 1, "or if they remain unknown");

	one = new_case(falling, hump, 0.004);
	for (int i = 0; i < SIZES; i++)
		if (i != TODAY)
			forget_misses(&one, i, 0.6, PBP_ADVICE_UNSEEN);
	is_decided(&one, PBP_DECIDE_UNKNOWN, 1, "nor where too few of the reads are seen");
}

/* Whatever the figures: no size that does not fit, none without an estimate. */
static void
try_at_random(void)
{
	Random		random = {7};
	int			wrong = 0;
	int			taken = 0;

	for (int n = 0; n < 100000; n++)
	{
		Case		one = new_case(falling, hump, next_share(&random) * 0.02);
		PbpDecision decision;

		for (int i = 0; i < SIZES; i++)
		{
			one.fits[i] = i == TODAY || below(&random, 2) == 0;
			one.misses[i].miss_ratio = next_share(&random);
			one.storage[i].storage_ratio = one.misses[i].miss_ratio * next_share(&random);
			if (i != TODAY && below(&random, 4) == 0)
				forget_misses(&one, i, 1, PBP_ADVICE_SATURATED);
		}
		one.has_storage = below(&random, 2) == 0;
		decision = ask(&one);
		taken += decision.kind == PBP_TAKE;
		wrong += (decision.kind == PBP_TAKE) != (decision.size != TODAY) || !one.fits[decision.size] ||
			one.misses[decision.size].reason != PBP_ADVICE_KNOWN ||
			(decision.kind == PBP_TAKE && decision.basis == PBP_BY_STORAGE &&
			 one.storage[decision.size].storage_ratio >= one.storage[TODAY].storage_ratio) ||
			(decision.kind == PBP_TAKE && decision.basis == PBP_BY_MISSES &&
			 one.misses[decision.size].miss_ratio >= one.misses[TODAY].miss_ratio);
	}
	printf("# of 100000 tables of random figures, %d advise another size\n", taken);
	ok(wrong == 0 && taken > 10000, "no size is advised that does not fit, has no estimate, or is no better");
}

/* ---- by time ---- */

/* Milliseconds of waiting in a second, now; changes are as certain as the figures. */
static Case
new_waiting(const Curve ms, double error)
{
	Case		one = new_case(falling, hump, 0.001);

	one.has_waiting = true;
	for (int i = 0; i < SIZES; i++)
		one.waiting[i] = (PbpCompared) {ms[i], error, ms[i] - ms[TODAY], i == TODAY ? 0 : error};
	return one;
}

/* The same for so many hours of 1000 accesses a second. */
static Case
new_hours(const Curve ms, double error, double hours, double active_ms)
{
	Case		one = new_case(falling, hump, 0.001);
	double		seconds = 3600 * hours;

	one.hours = (PbpHoursSum) {
		.nhours = (int) ceil(hours),.seconds = seconds,.wanted_seconds = 24 * 3600.0,.accesses = 1000 * seconds,
		.active_ms = active_ms * seconds,.counted_ms = active_ms * seconds
	};
	for (int i = 0; i < SIZES; i++)
		one.hours.sizes[i] = (PbpSizeSum) {
		.accesses = 1000 * seconds,.misses = 100 * seconds,.waiting.accesses = 1000 * seconds,.waiting.ms = ms[i] * seconds,
		.waiting.error = error * seconds,.waiting.change = (ms[i] - ms[TODAY]) * seconds,
		.waiting.change_error = i == TODAY ? 0 : error * seconds
	};
	one.wanted_hours = 24;
	return one;
}

static void
is_judged(const Case *one, PbpConfidence confidence, PbpVerdict verdict, const char *what)
{
	PbpDecision decision = ask(one);

	if (decision.confidence != confidence || decision.verdict != verdict)
		printf("# confidence %d, verdict %d; expected %d, %d\n", (int) decision.confidence, (int) decision.verdict, (int) confidence, (int) verdict);
	ok(decision.confidence == confidence && decision.verdict == verdict, what);
}

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
	one.hours.sizes[8].waiting.accesses /= 2;
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
		one.storage[i].storage_ratio = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "also in a minute in which the page cache serves everything");
	is_judged(&one, PBP_UNSURE, PBP_VERDICT_UNKNOWN, "which is not called fine");
	for (int i = 0; i < SIZES; i++)
		one.misses[i].miss_ratio = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "also in one in which nothing is read");

	one = new_waiting(ms, 200);
	for (int i = 0; i < SIZES; i++)
		one.storage[i].storage_ratio = 0;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "nor is waiting for the page cache called fine where it may be avoided");

	one = new_hours(little, 1, 24, 1000);
	is_decided(&one, PBP_KEEP_CACHED, 1, "hours in which sessions hardly waited");
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "are fine for certain");
	one = new_hours(little, 40, 24, 1000);
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "but not if they may have waited for longer");
	one = new_hours(ms, 200, 24, 1000);
	for (int i = 0; i < SIZES; i++)
		one.hours.sizes[i].misses = 0.0005 * one.hours.sizes[i].accesses;
	is_decided(&one, PBP_DECIDE_UNSURE, 1, "nor are reads few, whatever else is accessed, if sessions waited for them");
	one = new_waiting(ms, 10);
	one.misses[TODAY].miss_ratio = 0.0005;
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
		one.hours.sizes[i].waiting.accesses = 0;
	is_judged(&one, PBP_LIKELY, PBP_VERDICT_FINE, "but not if larger ones were unknown in these hours");
	one.fits[8] = false;
	is_judged(&one, PBP_SURE, PBP_VERDICT_FINE, "unless they would not fit");
	for (int i = 0; i < TODAY; i++)
		one.hours.sizes[i].waiting.accesses = 0;
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

/* ---- the knee ---- */

static void
find_knees(void)
{
	const Curve cliff = {0.40, 0.39, 0.38, 0.36, 0.34, 0.30, 0.02, 0.02, 0.02, 0.01, 0.01};
	Curve		line;
	Curve		gaps;

	for (int i = 0; i < SIZES; i++)
		line[i] = 0.5 - 0.1 * pbp_advice_factor(i);
	memcpy(gaps, cliff, sizeof(gaps));
	gaps[0] = gaps[1] = gaps[2] = gaps[SIZES - 1] = NAN;
	ok(pbp_knee(cliff, PBP_ADVICE_FACTORS, pbp_advice_factor) == 6, "the knee is where the curve becomes flat");
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == 6, "also if sizes at both ends are unknown");
	ok(pbp_knee(line, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "a straight line has none");
	ok(pbp_knee(flat, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor has a curve that is flat from the start");
	for (int i = 0; i < SIZES; i++)
		gaps[i] = i == TODAY ? 0.1 : NAN;
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor one known size");
	gaps[TODAY] = NAN;
	ok(pbp_knee(gaps, PBP_ADVICE_FACTORS, pbp_advice_factor) == -1, "nor none");
}

/* ---- progress ---- */

/*
 * The share that is learned grows with the reads, later for larger sizes, and is
 * 1 as soon as the size is known.
 */
static void
report_progress(void)
{
	Bench		bench;
	double		last[SIZES] = {0};
	double		half_at = 0;
	int			known_at = 0;
	bool		in_order = true;
	bool		grows = true;

	bench_start(&bench, ZIPF, 8192, 8192 * 10, 1.0 / 20);
	for (int step = 1; step <= 200 && known_at == 0; step++)
	{
		bench_run(&bench, 0.1, true);
		for (int j = TODAY + 1; j < SIZES; j++)
		{
			PbpAdviceRow row = row_of(bench.run.advice[0], j);

			grows = grows && row.learned_share >= last[j];
			in_order = in_order && (row.learned_share < 1) == (row.reason != PBP_ADVICE_KNOWN) &&
				(j == TODAY + 1 || row.learned_share <= last[j - 1] + 0.05);
			last[j] = row.learned_share;
		}
		if (last[SIZES - 1] < 0.5)
			half_at = step;
		if (last[SIZES - 1] >= 1)
			known_at = step;
	}
	printf("# four times the size: half learned after %.0f of %d steps\n", half_at, known_at);
	ok(known_at > 0 && grows, "while a size is learned, the progress grows until it is known");
	ok(in_order, "it is complete when the size is known and not before, and larger sizes come later");
	ok(half_at > 0.2 * known_at && half_at < 0.8 * known_at, "half of the progress takes about half of the reads");
	bench_finish(&bench);
}

int
main(void)
{
	choose_by_storage();
	keep_for_storage();
	choose_by_misses();
	wait_for_more();
	choose_by_waiting();
	keep_by_waiting();
	decide_by_hours_alone();
	doubt_probes();
	stay_stable();
	try_at_random();
	find_knees();
	report_progress();
	return end_of_tests();
}

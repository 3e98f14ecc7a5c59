/*
 * memory_totals.c
 *	  Targets, the best split of each total of memory, and the least total that
 *	  meets a target, with curves whose answers are known.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "statistics/totals.h"
#include "figures.h"
#include "random.h"
#include "tap.h"

#define ACCESSES	10000.0		/* in a second */
#define OS_NS		5000.0
#define STORAGE_NS	100000.0

/* Half of the interval of each ratio; 100 times as much of the times. */
#define CERTAIN		0.0
#define UNCERTAIN	0.001

/* Storage reads with so much memory, as a factor, below a pool of this size. */
typedef double (*Storage) (double factor, int size);

/* All that the engine asks for. */
typedef struct Case
{
	PbpAdviceRow misses[PBP_ADVICE_FACTORS];
	PbpAdviceStorageRow fixed[PBP_ADVICE_FACTORS];
	bool		fits[PBP_ADVICE_FACTORS];
	PbpAdviceSplit splits[PBP_TOTALS][PBP_SPLITS];
	double		active_ms;
	int			advised;
	PbpReadTimes times;
} Case;

static const int sizes[PBP_SPLITS] = {0, PBP_ADVICE_BASELINE, PBP_ADVICE_FACTORS - 1};

static double
misses_of(int size)
{
	return 0.3 / (1 + pbp_advice_factor(size));
}

static PbpAdviceStorageRow
storage_row(double ratio, double error)
{
	return (PbpAdviceStorageRow) {.os_cache_pages = 1000,.ratio.value = ratio,.ratio.error = error,.ratio.change_error = error,.learned_share = 1};
}

static Case
new_case(Storage storage, double error)
{
	Case		one = {
		.active_ms = 2000,.advised = PBP_ADVICE_BASELINE,.times = {.os = {OS_NS, 100 * error * OS_NS},.storage = {STORAGE_NS, 100 * error * STORAGE_NS}}
	};

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		one.fits[i] = true;
		one.misses[i] = (PbpAdviceRow) {.factor = pbp_advice_factor(i),.ratio.value = misses_of(i),.ratio.error = error,.ratio.change_error = error};
		one.fixed[i] = storage_row(storage(1, i), error);
	}
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int j = 0; j < PBP_SPLITS && i != PBP_TOTAL_TODAY; j++)
			one.splits[i][j] = (PbpAdviceSplit) {sizes[j], true, storage_row(storage(pbp_total_factor(i), sizes[j]), error)};
	return one;
}

static PbpTotalsInput
input_of(const Case *one)
{
	return (PbpTotalsInput)
	{
		.misses = one->misses,.fixed = one->fixed,.fits = one->fits,.splits = one->splits,
		.waiting = {ACCESSES, one->times, &one->misses[PBP_ADVICE_BASELINE], &one->fixed[PBP_ADVICE_BASELINE]},
		.active_ms = one->active_ms,.advised = one->advised,
	};
}

static void
forget(Case *one, int total, PbpStorageReason reason)
{
	for (int j = 0; j < PBP_SPLITS; j++)
		one->splits[total][j].storage = (PbpAdviceStorageRow) {.ratio.value = NAN,.ratio.error = NAN,.ratio.change_error = NAN,.reason = reason};
}

/* As much memory, as few reads; today's pool is the best. */
static double
hyperbola(double factor, int size)
{
	return 0.02 / factor * (size == PBP_ADVICE_BASELINE ? 1 : 1.5);
}

/* All data fit into half of the memory. */
static double
all_fits(double factor, int size)
{
	(void) size;
	return factor < 0.5 ? 0.02 : 0.001;
}

/* A larger pool is slightly better, by less than what is tolerated. */
static double
nearly_equal(double factor, int size)
{
	return 0.05 / factor * (size > PBP_ADVICE_BASELINE ? 0.98 : 1);
}

/* ---- targets ---- */

static void
parse(const char *text, PbpTargetKind kind, double most)
{
	PbpTarget	target;
	bool		valid = pbp_parse_target(text, &target);

	okf(valid && target.kind == kind && fabs(target.most - most) < 1e-9, "target \"%s\"", text);
}

static void
parse_targets(void)
{
	static const char *const malformed[] = {
		"", " ", "storage", "storage 1", "storage x %", "storage 101 %", "storage -1 %", "storage 1 % x", "50", "50 ms", "-1 ms/s",
		"50 ms/s x", "yesterday", "today x", "20 % time", "-100 % time", "-20 %", "-20 % times", "-20 time", "nan ms/s", "inf ms/s", "% time"
	};
	PbpTarget	target;

	parse("storage 0.5 %", PBP_TARGET_STORAGE, 0.005);
	parse("  storage 5%  ", PBP_TARGET_STORAGE, 0.05);
	parse("50 ms/s", PBP_TARGET_WAITING, 50);
	parse("0ms/s", PBP_TARGET_WAITING, 0);
	parse("today", PBP_TARGET_TODAY, 0);
	parse("-20 % time", PBP_TARGET_TIME, -0.2);
	parse("-20%time ", PBP_TARGET_TIME, -0.2);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		okf(!pbp_parse_target(malformed[i], &target), "\"%s\" is malformed", malformed[i]);
}

/* ---- the least total ---- */

static PbpTargetResult
ask(const Case *one, const char *text, PbpTotal *found)
{
	PbpTotalsInput input = input_of(one);
	PbpTarget	target;

	if (!pbp_parse_target(text, &target))
		printf("# malformed: %s\n", text);
	return pbp_least_total(&input, &target, found);
}

/* Between two totals, it names hardly more than the least, and never less. */
static void
name_least(void)
{
	Case		one = new_case(hyperbola, CERTAIN);
	PbpTotal	found;
	double		last = 0;
	int			wrong[3] = {0};

	for (double most = 0.075; most > 0.0052; most *= 0.97)
	{
		double		least = 0.02 / most;
		char		text[50];

		snprintf(text, sizeof(text), "storage %.6f %%", 100 * most);
		wrong[0] += ask(&one, text, &found) != PBP_TARGET_MET || fabs(found.storage.value - most) > 1e-6 || found.pool != 1;
		wrong[1] += found.factor < least * 0.9999 || found.factor > 1.05 * least;
		wrong[2] += found.factor <= last;
		last = found.factor;
	}
	ok(wrong[0] == 0, "every target in reach is met, by the best split");
	ok(wrong[1] == 0, "with at most 5 % more memory than the least, and never with less");
	ok(wrong[2] == 0, "a harder target needs more memory");
	ok(ask(&one, "storage 0.499 %", &found) == PBP_TARGET_MISSED && found.factor == 4 && found.pool == 1,
	   "what no size reaches: the best that can be had");
	ok(ask(&one, "storage 90 %", &found) == PBP_TARGET_MET_BELOW && found.factor == 0.25,
	   "what the least known size meets, less may meet, too");
}

/* If truth is as far from the estimates as their intervals say. */
static void
meet_targets(void)
{
	static const char *const targets[] = {"storage 1.5 %", "20 ms/s", "15 ms/s", "-0.4 % time"};
	Random		random = {1};

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
	{
		Case		one = new_case(hyperbola, UNCERTAIN);
		PbpTotalsInput input = input_of(&one);
		PbpTarget	target;
		PbpTotal	found;
		int			met = 0;

		pbp_parse_target(targets[i], &target);
		ok(pbp_least_total(&input, &target, &found) == PBP_TARGET_MET, "also an uncertain target is within reach");
		for (int j = 0; j < 10000; j++)
		{
			double		deviations = normal(&random) / 1.96;
			double		truth = target.kind == PBP_TARGET_STORAGE ? found.storage.value + deviations * found.storage.error :
				target.kind == PBP_TARGET_WAITING ? found.waiting.value + deviations * found.waiting.error :
				(found.waiting.change + deviations * found.waiting.change_error) / one.active_ms;

			met += truth <= target.most;
		}
		printf("# %.2f times the memory, met in %.1f %%\n", found.factor, met / 100.0);
		okf(met > 5800 && met < 7400, "\"%s\" is met in about two of three cases", targets[i]);
	}
}

static void
compare_with_today(void)
{
	Case		one = new_case(hyperbola, CERTAIN);
	Case		fits = new_case(all_fits, CERTAIN);
	PbpTotal	found;
	PbpTotal	more;
	double		today;

	ok(ask(&one, "today", &found) == PBP_TARGET_MET && found.factor > 0.88 && found.factor <= 1, "no worse than today: nearly as much");
	ok(ask(&fits, "today", &found) == PBP_TARGET_MET && found.factor > 0.35 && found.factor <= 0.5,
	   "half of the memory is no worse where all data fit into that");
	today = ACCESSES / 1e6 * ((misses_of(PBP_ADVICE_BASELINE) - 0.02) * OS_NS + 0.02 * STORAGE_NS);
	ok(ask(&one, "-0.5 % time", &found) == PBP_TARGET_MET && fabs(found.waiting.value - (today - 10)) < 0.01, "a change of the time that sessions work");
	ok(ask(&one, "-0.6 % time", &more) == PBP_TARGET_MET && more.factor > found.factor, "a larger one needs more memory");
	one.active_ms = NAN;
	ok(ask(&one, "-0.5 % time", &found) == PBP_TARGET_UNKNOWN, "if that time is unknown, so is the answer");
	one.times = (PbpReadTimes) {.os = {NAN, NAN},.storage = {NAN, NAN}};
	ok(ask(&one, "1 ms/s", &found) == PBP_TARGET_UNKNOWN, "and that of a waiting, if times of reads are");
	ok(ask(&one, "storage 1.5 %", &found) == PBP_TARGET_MET && ask(&one, "today", &found) == PBP_TARGET_MET && found.factor <= 1,
	   "shares of accesses need no times");
}

/* Never a guess. */
static void
stay_unknown(void)
{
	Case		one = new_case(hyperbola, UNCERTAIN);
	PbpTotal	found;

	forget(&one, PBP_TOTALS - 1, PBP_STORAGE_LEARNING);
	ok(ask(&one, "storage 0.52 %", &found) == PBP_TARGET_UNKNOWN && found.factor == pbp_total_factor(PBP_TOTALS - 2),
	   "while the largest is unknown, it is unknown whether any size meets the target");
	ok(ask(&one, "storage 0.8 %", &found) == PBP_TARGET_MET, "unless a known one does");
	forget(&one, 0, PBP_STORAGE_NO_ROOM);
	forget(&one, 1, PBP_STORAGE_NO_ROOM);
	ok(ask(&one, "storage 5 %", &found) == PBP_TARGET_MET_BELOW && found.factor == pbp_total_factor(2),
	   "below the least known size, nothing is interpolated");
	for (int i = 0; i < PBP_TOTALS; i++)
		if (i != PBP_TOTAL_TODAY)
			forget(&one, i, PBP_STORAGE_LEARNING);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		one.fixed[i] = (PbpAdviceStorageRow) {.ratio.value = NAN,.ratio.error = NAN,.ratio.change_error = NAN,.reason = PBP_STORAGE_LEARNING};
	ok(ask(&one, "storage 50 %", &found) == PBP_TARGET_UNKNOWN && isnan(found.storage.value), "with nothing known, the best is not, either");
}

/* ---- splits ---- */

static void
choose_splits(void)
{
	Case		one = new_case(nearly_equal, UNCERTAIN);
	PbpTotalsInput input;
	PbpTotal	totals[PBP_TOTALS];
	int			same = 0;

	one.times.os = (PbpFigure) {0, 0};
	input = input_of(&one);
	pbp_totals(&input, totals);
	for (int i = 0; i < PBP_TOTALS; i++)
		same += totals[i].size == PBP_ADVICE_BASELINE;
	ok(same == PBP_TOTALS, "where splits are nearly equal, shared_buffers stays as it is");
	for (int i = 0; i < PBP_TOTALS; i++)
		one.splits[i][1].fits = false;
	one.advised = 2;
	input = input_of(&one);
	pbp_totals(&input, totals);
	same = 0;
	for (int i = 0; i < PBP_TOTALS; i++)
		same += totals[i].size == PBP_ADVICE_BASELINE;
	ok(same == 0 && totals[PBP_TOTAL_TODAY].size == 2, "never one that does not fit; with today's memory, the one that is advised");
	ok(pbp_knee_of_totals(totals) == PBP_TOTAL_TODAY, "the curve has a knee");
}

/* The best split of a total is the last to be learned. */
static void
wait_for_the_best(void)
{
	Case		one = new_case(hyperbola, UNCERTAIN);
	const PbpAdviceSplit best = one.splits[9][1];
	PbpTotalsInput input;
	PbpTotal	totals[PBP_TOTALS];

	one.times.os = (PbpFigure) {0, 0};
	input = input_of(&one);
	one.splits[9][1].storage = (PbpAdviceStorageRow) {.ratio.value = NAN,.reason = PBP_STORAGE_LEARNING};
	pbp_totals(&input, totals);
	ok(totals[9].size == -1 && isnan(totals[9].storage.value) && totals[8].size == PBP_ADVICE_BASELINE,
	   "a total that is worse than a smaller one is unknown while one of its splits is");
	one.splits[9][1].fits = false;
	pbp_totals(&input, totals);
	ok(totals[9].size == sizes[0], "but not if that does not fit");
	one.splits[9][1] = best;
	one.splits[9][0].storage = one.splits[9][2].storage = (PbpAdviceStorageRow) {.ratio.value = NAN,.reason = PBP_STORAGE_LEARNING};
	pbp_totals(&input, totals);
	ok(totals[9].size == PBP_ADVICE_BASELINE, "one that is better is the best that is known");
	forget(&one, 9, PBP_STORAGE_LEARNING);
	forget(&one, 10, PBP_STORAGE_LEARNING);
	one.splits[10][0].storage = storage_row(2 * totals[8].storage.value, UNCERTAIN);
	pbp_totals(&input, totals);
	ok(totals[10].size == -1, "one that is worse than a smaller one is unknown also if nothing is known between both");
}

/* ---- hours ---- */

/* Hours are floats, of seven digits. */
static bool
near_float(double one, double other)
{
	return fabs(one - other) <= 1e-6 * fmax(1, fabs(other));
}

/* In hours, each size and split waits so much longer, or shorter, than now. */
static PbpHoursSum
hours_of(const Case *one, double scale)
{
	PbpHoursSum sum = {.seconds = 7200,.accesses = 7200 * ACCESSES};

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		ratio = scale * one->fixed[i].ratio.value;

		sum.sizes[i] = (PbpHourWaiting) {
			sum.accesses, sum.accesses * ratio, sum.accesses * 0.002, 7200 * 1e4 * ratio, 7200, 7200 * 1e4 * (ratio - scale * one->fixed[PBP_ADVICE_BASELINE].ratio.value), 720
		};
	}
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
		{
			double		ratio = scale * one->splits[i][kind].storage.ratio.value;

			sum.splits[pbp_other_split(i, kind)] = (PbpHourWaiting) {
				sum.accesses, sum.accesses * ratio, sum.accesses * 0.002, 7200 * 1e4 * ratio, 7200, 7200 * 1e4 * (ratio - scale * one->fixed[PBP_ADVICE_BASELINE].ratio.value), 720
			};
		}
	return sum;
}

static void
over_hours(void)
{
	Case		one = new_case(hyperbola, UNCERTAIN);
	PbpHoursSum sum = hours_of(&one, 3);
	PbpTotalsInput input = input_of(&one);
	PbpTotal	totals[PBP_TOTALS];
	PbpTotal	found;
	PbpTarget	target = {PBP_TARGET_STORAGE, 0.03};
	PbpTotal	today;
	bool		right = true;

	input.hours = &sum;
	pbp_totals(&input, totals);
	for (int i = 0; i < PBP_TOTALS; i++)
	{
		double		ratio = 3 * 0.02 / pbp_total_factor(i);

		right &= totals[i].size == PBP_ADVICE_BASELINE && near_float(totals[i].storage.value, ratio) && near_float(totals[i].storage.error, 0.002) &&
			near_float(totals[i].waiting.value, 1e4 * ratio) &&
			near_float(totals[i].waiting.error, 1) && near_float(totals[i].waiting.change, 1e4 * (ratio - 0.06)) && near_float(totals[i].waiting.change_error, 0.1);
	}
	ok(right, "over hours, each total has what its best split had in them");
	today = pbp_today_total(&input);
	ok(near_float(today.waiting.value, 600) && today.waiting.change == 0, "so does today's memory");
	ok(pbp_least_total(&input, &target, &found) == PBP_TARGET_MET && found.factor > 1.999 && found.factor < 2.05, "and a target needs more than now");
	forget(&one, 8, PBP_STORAGE_LEARNING);
	pbp_totals(&input, totals);
	ok(near_float(totals[8].storage.value, 0.03), "what was known in the hours need not be now");
	sum.splits[pbp_other_split(8, 0)].change -= 0.9 * sum.splits[pbp_other_split(8, 0)].ms;
	sum.splits[pbp_other_split(8, 0)].ms /= 10;
	pbp_totals(&input, totals);
	ok(totals[8].size == sizes[0], "the best split is that of the sum");
	for (int kind = 0; kind < PBP_SPLITS; kind++)
		sum.splits[pbp_other_split(8, kind)].accesses *= 0.7;
	pbp_totals(&input, totals);
	ok(totals[8].size == -1 && isnan(totals[8].waiting.value) && totals[9].size == PBP_ADVICE_BASELINE, "what was known for too little of the hours is unknown");
}

int
main(void)
{
	parse_targets();
	name_least();
	meet_targets();
	compare_with_today();
	stay_unknown();
	choose_splits();
	wait_for_the_best();
	over_hours();
	return end_of_tests();
}

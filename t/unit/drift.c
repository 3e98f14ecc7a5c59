/*
 * drift.c
 *	  Cases of src/statistics/predictioncheck.c: which loads are taken for another one than the
 *	  reference, and why.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "statistics/prediction.h"
#include "figures.h"
#include "tap.h"

#define BUFFERS			20000
#define BOTH_ERRORS		0.028284271247461902	/* of two shares with 0.02 each */

static void
compare_mixes(void)
{
	static const struct
	{
		double		before[3];
		double		now[3];
		double		distance;
		const char *what;
	}			cases[] =
	{
		{{0.5, 0.5, 0}, {0.5, 0.5, 0}, 0, "the same mix"},
		{{0.5, 0.5, 0}, {0.52, 0.48, 0}, 0, "a difference within the errors"},
		{{0.5, 0.5, 0}, {0.8, 0.2, 0}, 0.3 - BOTH_ERRORS, "other shares"},
		{{1, 0, 0}, {0, 1, 0}, 0.98, "other relations"},
		{{1, 0, 0}, {0.6, 0.4, 0}, (0.4 - BOTH_ERRORS + 0.38) / 2, "a new relation"},
		{{0, 0, 0}, {1, 0, 0}, 0, "nothing known before"},
		{{1, 0, 0}, {0, 0, 0}, 0, "nothing known now"},
	};
	PbpReadMix	crowded = mix_of(0.6, 0, 0);
	PbpReadMix	now = mix_of(0.6, 0.4, 0);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		PbpReadMix	before = mix_of(cases[i].before[0], cases[i].before[1], cases[i].before[2]);
		PbpReadMix	after = mix_of(cases[i].now[0], cases[i].now[1], cases[i].now[2]);

		ok(near(pbp_mix_distance(&before, &after), cases[i].distance), cases[i].what);
	}
	now = mix_of(0.75, 0.25, 0);
	ok(pbp_other_mix(&crowded, &now) == 0, "a few other reads are the same load");
	now = mix_of(0.5, 0.5, 0);
	ok(pbp_other_mix(&crowded, &now) == pbp_mix_distance(&crowded, &now) && pbp_other_mix(&crowded, &now) > 0.2, "many are another one");
	now = mix_of(0.6, 0.4, 0);
	crowded.others = 0.4;
	ok(pbp_mix_distance(&crowded, &now) == 0, "a relation may have been among the others before");
}

/* For so many seconds.  Returns those in which that was another load. */
static int
unusual_seconds(double *usual, double distance, int seconds)
{
	int			unusual = 0;

	for (int i = 0; i < seconds; i++)
		unusual += pbp_unusual_mix(usual, distance, 1) == distance;
	return unusual;
}

static void
read_in_turn(void)
{
	double		usual = 0;
	int			first;

	ok(unusual_seconds(&usual, 0.15, 600) == 0, "a few reads of other relations are the same load");
	ok(unusual_seconds(&usual, 0.9, 20) == 20, "then many are another one");
	usual = 0;
	first = unusual_seconds(&usual, 0.4, 120);
	okf(first >= 30 && first <= 90, "where queries read other relations in turn, they are for a minute (%d s)", first);
	ok(unusual_seconds(&usual, 0.4, 3600) == 0 && unusual_seconds(&usual, 0.5, 5) == 0, "and then the same load");
	ok(unusual_seconds(&usual, 0.95, 5) == 5, "but not if hardly any of them is read");
	usual = 0.4;
	ok(pbp_unusual_mix(&usual, 0.5, 0) == 0 && usual == 0.4, "in no time, nothing is learned of that");
}

/* ---- rates ---- */

static void
add_seconds(PbpDriftWatch *watch, PbpAdviceCounts second, int seconds)
{
	for (int i = 0; i < seconds; i++)
		pbp_add_load(&watch->pace, &second, BUFFERS);
}

/* The reference: 20,000 accesses per second, a fifth of them reads of one relation. */
static PbpDriftWatch
watch_of_reference(void)
{
	PbpDriftWatch watch = {0};

	add_seconds(&watch, (PbpAdviceCounts) {20000, 4000,.seconds = 1}, 20);
	pbp_set_reference(&watch, 0.2);
	watch.mix = mix_of(1, 0, 0);
	return watch;
}

static void
keep_paces(void)
{
	PbpPace		pace = {0};

	ok(isnan(pbp_pace_rate(&pace)), "without a read, the rate is unknown");
	pbp_add_load(&pace, &(PbpAdviceCounts) {50, 0,.seconds = 1}, BUFFERS);
	pbp_add_load(&pace, &(PbpAdviceCounts) {50, 10,.seconds = 0}, BUFFERS);
	ok(isnan(pbp_pace_rate(&pace)), "neither hits alone nor reads in no time change that");
	pbp_add_load(&pace, &(PbpAdviceCounts) {2000, 100,.seconds = 2}, BUFFERS);
	ok(near(pbp_pace_rate(&pace), 1000), "the rate is that of the time in which pages were read");
	pbp_add_load(&pace, &(PbpAdviceCounts) {50, 0,.seconds = 3600}, BUFFERS);
	ok(near(pbp_pace_rate(&pace), 1000), "... whatever idle time follows");
	pbp_add_load(&pace, &(PbpAdviceCounts) {9000, 3 * BUFFERS,.seconds = 3}, BUFFERS);
	ok(near(pbp_pace_rate(&pace), (50 * 1000.0 + 3 * BUFFERS * 3000.0) / (50 + 3 * BUFFERS)),
	   "three pools' worth of reads halve the weight of older ones");
}

typedef struct Case
{
	PbpAdviceCounts second;
	double		other_share;	/* of the reads, of another relation */
	PbpDriftKind kind;
	double		change;
	const char *what;
} Case;

static void
compare_loads(void)
{
	static const Case cases[] = {
		{{20000, 4000,.seconds = 1}, 0, PBP_SAME_LOAD, 0, "the same load"},
		{{40000, 8000,.seconds = 2}, 0, PBP_SAME_LOAD, 0, "... in seconds that are twice as long"},
		{{20000, 4000,.seconds = 1}, 0.2, PBP_SAME_LOAD, 0, "a fifth of the reads are of another relation, within the error"},
		{{20000, 4000,.seconds = 1}, 0.24, PBP_OTHER_MIX, (0.24 - BOTH_ERRORS + 0.22) / 2, "a quarter"},
		{{59000, 11800,.seconds = 1}, 0, PBP_SAME_LOAD, 0, "nearly three times the rate"},
		{{61000, 12200,.seconds = 1}, 0, PBP_OTHER_RATE, 3.05, "more"},
		{{6700, 1340,.seconds = 1}, 0, PBP_SAME_LOAD, 0, "a third of the rate"},
		{{6600, 1320,.seconds = 1}, 0, PBP_OTHER_RATE, 0.33, "less"},
		{{61000, 6100,.seconds = 1}, 0, PBP_SAME_LOAD, 0, "half the misses allow twice the rate"},
		{{121000, 12100,.seconds = 1}, 0, PBP_OTHER_RATE, 6.05, "... and not more than three times that"},
		{{61000, 12200,.seconds = 1}, 0.5, PBP_OTHER_MIX, (0.5 - BOTH_ERRORS + 0.48) / 2, "another rate and another mix: the mix is named"},
		{{1900, 380,.seconds = 1}, 0.9, PBP_QUIET_LOAD, 0, "hardly any accesses say nothing, whatever they read"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		PbpDriftWatch watch = watch_of_reference();
		PbpReadMix	mix = mix_of(1 - cases[i].other_share, cases[i].other_share, 0);
		PbpDrift	drift;

		add_seconds(&watch, cases[i].second, 20);
		drift = pbp_find_drift(&watch, &cases[i].second, &mix);
		if (drift.kind != cases[i].kind || !near(drift.change, cases[i].change))
			printf("# kind %d, change %.17g\n", (int) drift.kind, drift.change);
		ok(drift.kind == cases[i].kind && near(drift.change, cases[i].change), cases[i].what);
	}
}

/* A pool that holds all: only who asks has read a page, in a second without load. */
static void
hardly_read(void)
{
	PbpDriftWatch watch = watch_of_reference();
	PbpAdviceCounts asked = {300, 1,.seconds = 1};
	PbpAdviceCounts second = {20000, 0,.seconds = 1};
	PbpReadMix	mix = {0};

	watch.pace = (PbpPace) {0};
	add_seconds(&watch, asked, 3);
	add_seconds(&watch, second, 3);
	ok(pbp_find_drift(&watch, &second, &mix).kind == PBP_SAME_LOAD, "few reads do not show the rate of a load that hardly reads");
}

/* Nothing is known of the reference: nothing can have changed. */
static void
without_reference(void)
{
	PbpDriftWatch watch = {0};
	PbpAdviceCounts second = {1, 1,.seconds = 1};
	PbpReadMix	mix = mix_of(1, 0, 0);

	pbp_set_reference(&watch, NAN);
	ok(isnan(watch.rate), "a reference without reads has no rate");
	add_seconds(&watch, second, 1);
	ok(pbp_find_drift(&watch, &second, &mix).kind == PBP_SAME_LOAD, "without a reference, no load is another one");
}

int
main(void)
{
	compare_mixes();
	read_in_turn();
	keep_paces();
	hardly_read();
	compare_loads();
	without_reference();
	return end_of_tests();
}

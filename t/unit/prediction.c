/*
 * prediction.c
 *	  Cases of src/statistics/predictioncheck.c and forecast.c: what is predicted between the sizes of the
 *	  advice, and when a prediction held, did not, or is undecided.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "statistics/prediction.h"
#include "figures.h"
#include "tap.h"

#define BUFFERS			20000
#define UNKNOWN			99		/* as a share in a table of cases */

/* ---- forecasts ---- */

typedef double (*Curve) (double factor);

static double
hyperbola(double factor)
{
	return 0.1 / factor;
}

static double
straight(double factor)
{
	return 0.2 - 0.05 * log2(factor);
}

static double
step(double factor)
{
	return factor < 1.4 ? 0.3 : 0;
}

static double
hill(double factor)
{
	return 0.1 - 0.02 * log2(factor) * log2(factor);
}

static void
fill(PbpFigure *points, Curve curve, double error)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		points[i] = (PbpFigure) {curve(pbp_advice_factor(i)), error};
}

static void
forecast_at_estimated_sizes(void)
{
	PbpFigure points[PBP_ADVICE_FACTORS];
	bool		exact = true;

	fill(points, hyperbola, 0.003);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpForecast forecast = pbp_forecast(points, pbp_advice_factor(i) * 1.0005, true);

		exact &= near(forecast.value, points[i].value) &&
			near(forecast.low, points[i].value - 0.003) && near(forecast.high, points[i].value + 0.003);
	}
	ok(exact, "at an estimated size, the forecast is that of the advice");
}

/* The curve stays within the intervals, which do not become wide. */
static void
forecast_between(Curve curve, bool falls, double widest, const char *what)
{
	PbpFigure points[PBP_ADVICE_FACTORS];
	double		most = 0;
	bool		covered = true;
	bool		ordered = true;

	fill(points, curve, 0);
	for (double factor = 0.25; factor <= 4; factor *= 1.01)
	{
		PbpForecast forecast = pbp_forecast(points, factor, falls);

		/* a size within a thousandth of an estimated one is taken for it */
		covered &= curve(factor) >= forecast.low - 0.0005 &&
			curve(factor) <= forecast.high + 0.0005;
		ordered &= forecast.low <= forecast.value && forecast.value <= forecast.high && forecast.low >= 0;
		most = fmax(most, forecast.high - forecast.low);
	}
	ok(covered && ordered, what);
	if (most > widest)
		printf("# the widest interval is %g\n", most);
	ok(most <= widest, "and no interval is wide");
}

static void
forecast_unknown(void)
{
	PbpFigure points[PBP_ADVICE_FACTORS];

	fill(points, straight, 0.01);
	points[PBP_ADVICE_DOUBLE].value = NAN;
	ok(isnan(pbp_forecast(points, 2, true).value) && pbp_unknown_point(points, 2) == PBP_ADVICE_DOUBLE,
	   "an unknown size has no forecast");
	ok(isnan(pbp_forecast(points, 1.9, true).low) && pbp_unknown_point(points, 1.9) == PBP_ADVICE_DOUBLE,
	   "nor has a size below it");
	ok(isnan(pbp_forecast(points, 2.1, true).high) && pbp_unknown_point(points, 2.1) == PBP_ADVICE_DOUBLE,
	   "nor one above it");
	ok(near(pbp_forecast(points, 1.5, true).value, straight(1.5)) && pbp_unknown_point(points, 1.5) == -1,
	   "the next estimated size has one");
	ok(near(pbp_forecast(points, 0.3, true).value, straight(0.3)), "and a small size, too");
	ok(isnan(pbp_forecast(points, 0.249, true).value) && pbp_unknown_point(points, 0.249) == PBP_ADVICE_FACTORS,
	   "less than a quarter is outside");
	ok(isnan(pbp_forecast(points, 4.01, true).value) && pbp_unknown_point(points, 4.01) == PBP_ADVICE_FACTORS,
	   "more than four times is outside");
	ok(!isnan(pbp_forecast(points, 0.25, true).value) && !isnan(pbp_forecast(points, 4, true).value),
	   "a quarter and four times are inside");
}

static void
forecast_limits(void)
{
	PbpFigure points[PBP_ADVICE_FACTORS];
	PbpForecast forecast;

	fill(points, hyperbola, 0.5);
	forecast = pbp_forecast(points, 1, true);
	ok(forecast.low == 0 && near(forecast.high, 0.6), "no interval goes below 0");
	fill(points, straight, 0.9);
	ok(pbp_forecast(points, 0.5, true).high == 1, "nor above 1");
	fill(points, hyperbola, 0.001);
	points[PBP_ADVICE_DOUBLE].error = 0.004;
	forecast = pbp_forecast(points, 1.7, true);
	ok(forecast.high >= forecast.value + 0.004 && forecast.low <= forecast.value - 0.004,
	   "between two sizes, the larger error counts");
}

/* ---- mixes ---- */

static PbpRelationRow
relation_row(uint32_t number, double share, double saved, double added)
{
	return (PbpRelationRow)
	{
		.key = {1, 1, number, 0},.others = number == 0,.read_share = share,
			.read_share_error = 0.01,.saved = {saved, 10},.added = {added, 10}
	};
}

static void
expect_mixes(void)
{
	PbpRelationsReport report = {.nrows = 3};
	PbpReadMix	mix;

	report.rows[0] = relation_row(1, 0.5, 400, 500);
	report.rows[1] = relation_row(2, 0.4, 0, 0);
	report.rows[2] = relation_row(0, 0.1, NAN, NAN);
	pbp_expect_mix(&report, 1000, 1, &mix);
	ok(mix.nrelations == 2 && near(mix.relations[0].share, 0.5) && near(mix.others, 0.1), "today's mix is that of the reads");
	pbp_expect_mix(&report, 1000, 2, &mix);
	ok(near(mix.relations[0].share, 1 / 6.0) && near(mix.relations[1].share, 4 / 6.0),
	   "at twice the size, a relation that fits is hardly read");
	pbp_expect_mix(&report, 1000, 0.5, &mix);
	ok(near(mix.relations[0].share, 1000 / 1500.0), "at half the size, one that does not fit is read more");
	pbp_expect_mix(&report, 1000, 4, &mix);
	ok(near(mix.relations[0].share, 20 / 520.0), "at four times, it is read even less");
	report.rows[0].saved = (PbpChange) {NAN, NAN};
	pbp_expect_mix(&report, 1000, 2, &mix);
	ok(near(mix.relations[0].share, 0.5), "without such figures, today's mix is expected");
	report.nrows = 0;
	pbp_expect_mix(&report, 1000, 1, &mix);
	ok(mix.nrelations == 0, "without rows, there is no mix");
}

/* ---- verdicts ---- */

typedef struct Case
{
	double		misses;			/* measured */
	double		storage;		/* measured, or UNKNOWN */
	double		rate;			/* accesses per second */
	double		other_share;	/* of the reads, of another relation */
	int			seconds;
	PbpPredictionState state;
	const char *what;
} Case;

static const PbpForecast predicted_misses = {0.1, 0.09, 0.11};
static const PbpForecast predicted_storage = {0.05, 0.04, 0.06};

/* Before the restart there were 20,000 accesses per second, and 0.2 of them reads. */
static PbpPredictionWatch
watch_of_before(void)
{
	PbpPredictionWatch watch = {0};
	PbpObservation second = {
		.buffers = BUFFERS,.counts = {20000, 4000,.seconds = 1},.storage_ratio = NAN,.storage_error = NAN,
	};

	second.mix = mix_of(1, 0, 0);
	pbp_watch_new_size(&watch, NAN);
	for (int i = 0; i < 20; i++)
		pbp_observe_workload(&watch, NULL, &second);
	pbp_watch_new_size(&watch, 0.2);
	watch.drift.mix = mix_of(1, 0, 0);
	return watch;
}

static PbpPrediction
new_prediction(void)
{
	return (PbpPrediction)
	{
		.from_buffers = BUFFERS / 2,.to_buffers = BUFFERS,.misses = predicted_misses,.storage = predicted_storage,
			.os_cache_pages = 5000,.had_advice = true,.state = PBP_PREDICTION_WARMING,.missing_reads = NAN
	};
}

static PbpObservation
second_of(const Case *now)
{
	PbpObservation second = {
		.buffers = BUFFERS,.counts = {now->rate, now->rate * now->misses,.seconds = 1},.settled = true,
		.storage_ratio = now->storage == UNKNOWN ? NAN : now->storage,.storage_error = 0.001,.os_cache_pages = 5000,
	};

	second.mix = mix_of(1 - now->other_share, now->other_share, 0);
	return second;
}

static void
run(PbpPredictionWatch *watch, PbpPrediction *prediction, const Case *now)
{
	PbpObservation second = second_of(now);

	for (int i = 0; i < now->seconds; i++)
		pbp_observe_workload(watch, prediction, &second);
}

static void
judge_cases(void)
{
	static const Case cases[] = {
		{0.1, 0.05, 20000, 0, 100, PBP_PREDICTION_HELD, "all as predicted"},
		{0.1, UNKNOWN, 20000, 0, 100, PBP_PREDICTION_HELD, "the miss ratio alone"},
		{0.0901, 0.05, 20000, 0, 100, PBP_PREDICTION_HELD, "just above the lower limit"},
		{0.0899, 0.05, 20000, 0, 100, PBP_PREDICTION_OTHER_MISSES, "just below the lower limit"},
		{0.1099, 0.05, 20000, 0, 100, PBP_PREDICTION_HELD, "just below the upper limit"},
		{0.1101, 0.05, 20000, 0, 100, PBP_PREDICTION_OTHER_MISSES, "just above the upper limit"},
		{0.2, 0.05, 20000, 0, 100, PBP_PREDICTION_OTHER_MISSES, "as many misses as before"},
		{0.1, 0.0605, 20000, 0, 100, PBP_PREDICTION_HELD, "storage above its limit by less than the measured error"},
		{0.1, 0.0615, 20000, 0, 100, PBP_PREDICTION_OTHER_STORAGE, "storage above its limit by more"},
		{0.1, 0.0385, 20000, 0, 100, PBP_PREDICTION_OTHER_STORAGE, "storage below its limit"},
		{0.1, 0.05, 20000, 0, 1, PBP_PREDICTION_WARMING, "a second after the restart"},
		{0.1, 0.05, 20000, 0, 10, PBP_PREDICTION_FEW_READS, "fewer reads than two pools have buffers"},
		{0.1, 0.05, 100000, 0, 11, PBP_PREDICTION_FEW_READS, "few seconds"},
		{0.1, 0.05, 100000, 0, 12, PBP_PREDICTION_HELD, "some seconds"},
		{0, 0, 20000, 0, 100, PBP_PREDICTION_OTHER_MISSES, "no misses at all"},
		{0.1, 0.05, 20000, 0.24, 100, PBP_PREDICTION_OTHER_MIX, "a quarter of the reads are of another relation"},
		{0.1, 0.05, 20000, 0.2, 100, PBP_PREDICTION_HELD, "a fifth, within the error"},
		{0.3, 0.05, 20000, 0.8, 100, PBP_PREDICTION_OTHER_MIX, "another relation, and more misses"},
		/* half the misses allow twice the rate, and three times that is tolerated */
		{0.1, 0.05, 119000, 0, 100, PBP_PREDICTION_HELD, "a faster server"},
		{0.1, 0.05, 121000, 0, 100, PBP_PREDICTION_OTHER_RATE, "a much higher rate"},
		{0.1, 0.05, 6700, 0, 100, PBP_PREDICTION_HELD, "a third of the rate"},
		{0.1, 0.05, 6600, 0, 100, PBP_PREDICTION_OTHER_RATE, "a lower rate"},
		{0.4, 0.05, 3400, 0, 100, PBP_PREDICTION_OTHER_MISSES, "twice the misses, and a sixth of the rate"},
		{0.1, 0.05, 1900, 0, 2000, PBP_PREDICTION_FEW_READS, "a server that is nearly idle"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		PbpPredictionWatch watch = watch_of_before();
		PbpPrediction prediction = new_prediction();

		run(&watch, &prediction, &cases[i]);
		if (prediction.state != cases[i].state)
			printf("# state %d, not %d\n", (int) prediction.state, (int) cases[i].state);
		ok(prediction.state == cases[i].state, cases[i].what);
	}
}

/* What must not count, and what happens in turn. */
static void
judge_sequences(void)
{
	static const Case usual = {0.1, 0.05, 20000, 0, 100, PBP_PREDICTION_HELD, NULL};
	static const Case cold = {0.9, 0.5, 1000, 0, 2, PBP_PREDICTION_WARMING, NULL};
	static const Case other = {0.5, 0.4, 20000, 0.9, 50, PBP_PREDICTION_OTHER_MIX, NULL};
	static const Case idle = {0, 0, 50, 0, 100000, PBP_PREDICTION_HELD, NULL};
	PbpPredictionWatch watch = watch_of_before();
	PbpPrediction prediction = new_prediction();
	double		reads;

	run(&watch, &prediction, &cold);
	ok(prediction.state == PBP_PREDICTION_WARMING && prediction.measured.accesses == 0,
	   "the reads that fill a cold pool do not count");
	run(&watch, &prediction, &usual);
	ok(prediction.state == PBP_PREDICTION_HELD, "when it is warm, the prediction held");
	reads = prediction.measured.reads;
	run(&watch, &prediction, &idle);
	ok(prediction.state == PBP_PREDICTION_HELD && prediction.measured.reads == reads &&
	   near(reads / prediction.measured.accesses, 0.1), "monitoring of an idle server does not count");
	run(&watch, &prediction, &other);
	ok(prediction.state == PBP_PREDICTION_OTHER_MIX && prediction.measured.reads == reads && prediction.change > 0.8,
	   "another workload: undecided, and it does not count");
	run(&watch, &prediction, &usual);
	ok(prediction.state == PBP_PREDICTION_HELD && prediction.measured.reads > reads, "the same workload again: it held");

	reads = prediction.measured.reads;
	pbp_watch_cold_pool(&watch, &prediction);
	run(&watch, &prediction, &cold);
	ok(prediction.state == PBP_PREDICTION_HELD && prediction.measured.reads == reads,
	   "after a restart with the same size, the reads of the cold pool do not count");
	run(&watch, &prediction, &usual);
	ok(prediction.measured.reads > reads, "and when it is warm, measuring continues");
}

static void
judge_special(void)
{
	static const Case usual = {0.1, 0.05, 20000, 0, 100, PBP_PREDICTION_HELD, NULL};
	static const Case full = {0, 0, 20000, 0, 100, PBP_PREDICTION_HELD, NULL};
	PbpPredictionWatch watch = watch_of_before();
	PbpPrediction prediction = new_prediction();
	PbpObservation second = second_of(&full);

	prediction.misses = (PbpForecast) {0.001, 0, 0.002};
	second.settled = false;
	second.mix.nrelations = 0;
	for (int i = 0; i < 100; i++)
		pbp_observe_workload(&watch, &prediction, &second);
	ok(prediction.state == PBP_PREDICTION_OTHER_STORAGE, "a pool that holds all and never evicts: judged all the same");
	ok(prediction.measured.accesses < 100 * 20000, "after it was warm");

	watch = watch_of_before();
	prediction = new_prediction();
	prediction.os_cache_pages = 50000;
	run(&watch, &prediction, &usual);
	ok(prediction.state == PBP_PREDICTION_HELD && isnan(pbp_measured_storage(&prediction.measured)),
	   "a page cache of another size: storage reads do not count");

	watch = watch_of_before();
	prediction = new_prediction();
	prediction.misses = (PbpForecast) {NAN, NAN, NAN};
	run(&watch, &prediction, &usual);
	ok(prediction.state == PBP_PREDICTION_NONE && prediction.measured.reads > 0, "nothing predicted: measured all the same");
}

/* Seconds that differ among themselves make the measured ratio uncertain. */
static void
judge_noise(void)
{
	PbpPredictionWatch watch = watch_of_before();
	PbpPrediction prediction = new_prediction();
	PbpObservation second = second_of(&(Case) {0.1, UNKNOWN, 20000, 0, 1, PBP_PREDICTION_HELD, NULL});
	int			decided_after = 0;

	for (int i = 0; i < 500; i++)
	{
		second.counts.reads = i % 2 == 0 ? 0 : 5600;
		pbp_observe_workload(&watch, &prediction, &second);
		if (decided_after == 0 && prediction.state >= PBP_PREDICTION_HELD)
			decided_after = i;
	}
	ok(decided_after > 50, "seconds with and without reads: long undecided");
	ok(prediction.state == PBP_PREDICTION_OTHER_MISSES && near(prediction.measured.reads / prediction.measured.accesses, 0.14),
	   "and decided at last");
}

/* What is said to be missing falls until there is a verdict, and the first figure bounds the load. */
static void
count_missing(const char *what, double share_of_seconds, double most_pools)
{
	PbpPredictionWatch watch = watch_of_before();
	PbpPrediction prediction = new_prediction();
	PbpObservation second = second_of(&(Case) {0.1, UNKNOWN, 20000, 0, 1, PBP_PREDICTION_HELD, NULL});
	double		last = INFINITY;
	double		pools = 0;
	bool		fell = true;

	for (int i = 0; prediction.state < PBP_PREDICTION_HELD && i < 5000; i++)
	{
		second.counts.reads = i % 10 < 10 * share_of_seconds ? 2000 / share_of_seconds : 0;
		second.settled = pools > 1.5;
		pbp_observe_workload(&watch, &prediction, &second);
		pools += 0.2 * 20000 / BUFFERS; /* what these accesses would have read before */
		if (prediction.state < PBP_PREDICTION_HELD)
		{
			fell = fell && prediction.missing_reads > 0 && prediction.missing_reads <= last;
			last = prediction.missing_reads;
		}
	}
	printf("# %s: a verdict after %.1f pools' worth, when %.0f reads were said to be missing\n", what, pools, last);
	okf(fell && prediction.state == PBP_PREDICTION_HELD && isnan(prediction.missing_reads),
		"%s: what is missing falls until there is a verdict", what);
	okf(pools <= most_pools, "%s: a verdict after at most %g pools' worth of load", what, most_pools);
}

int
main(void)
{
	forecast_at_estimated_sizes();
	forecast_between(straight, true, 1e-9, "a straight line is met");
	forecast_between(hyperbola, true, 0.06, "a curve that bends to one side stays within the intervals");
	forecast_between(step, true, 0.31, "so does a step");
	forecast_between(hill, false, 0.02, "so does a hill");
	forecast_unknown();
	forecast_limits();
	expect_mixes();
	judge_cases();
	judge_sequences();
	judge_special();
	judge_noise();
	count_missing("steady seconds", 1, 6);
	count_missing("bursts in half of the seconds", 0.5, 60);
	/* 0.2 pools a second: ten minutes */
	count_missing("bursts in a tenth of the seconds", 0.1, 126);
	return end_of_tests();
}

/*
 * decision_case.c
 *	  Tables of estimates, and what src/statistics/decision.c says about them.
 */
#include "decision_case.h"

#include <math.h>
#include <stdio.h>

const Curve falling = {0.40, 0.34, 0.31, 0.28, 0.25, 0.22, 0.18, 0.15, 0.11, 0.06, 0.03};

/* Two optima: the pool and the page cache hold the same pages between them. */
const Curve hump = {0.068, 0.076, 0.080, 0.083, 0.087, 0.090, 0.0925, 0.0925, 0.091, 0.080, 0.060};

Case
new_case(const Curve misses, const Curve storage, double error)
{
	Case		one = {.has_storage = storage != NULL,.seconds = 3600,.before = -1};

	for (int i = 0; i < SIZES; i++)
	{
		one.fits[i] = true;
		one.misses[i] = (PbpAdviceRow)
		{
			.factor = pbp_advice_factor(i),.ratio.value = misses[i],.ratio.error = i == TODAY ? 0 : error,
			.ratio.change_error = i == TODAY ? 0 : error,.learned_share = 1,.reason = PBP_ADVICE_KNOWN
		};
		if (storage != NULL)
			one.storage[i] = (PbpAdviceStorageRow)
			{
				.os_cache_pages = 1000,.ratio.value = storage[i],.ratio.error = error,
				.ratio.change_error = i == TODAY ? 0 : hypot(error, error),.learned_share = 1,.reason = PBP_STORAGE_KNOWN
			};
	}
	return one;
}

PbpDecision
ask(const Case *one)
{
	PbpAdviceRow misses[SIZES];
	PbpAdviceStorageRow storage[SIZES];
	PbpDecisionInput input = {
		.fits = one->fits,.misses = misses,.storage = one->has_storage ? storage : NULL,.varies = one->varies,
		.waiting = one->has_waiting ? one->waiting : NULL,.active_ms = one->active_ms,.hours = &one->hours,.watched_seconds = one->seconds,
		.wanted_hours = one->wanted_hours,.advised_before = one->before,.loaded = !one->idle,.evicted = !one->unused,.probed = one->probed,
		.spare_memory = one->spare_memory,.doubtful = one->doubtful,.unsettled = one->unsettled,
	};

	for (int i = 0; i < SIZES; i++)
	{
		misses[i] = one->misses[i];
		misses[i].ratio.change = misses[i].ratio.value - one->misses[TODAY].ratio.value;
		storage[i] = one->storage[i];
		storage[i].ratio.change = storage[i].ratio.value - one->storage[TODAY].ratio.value;
	}
	return pbp_decide(&input);
}

void
is_decided(const Case *one, PbpDecisionKind kind, double factor, const char *what)
{
	PbpDecision decision = ask(one);

	if (decision.kind != kind || pbp_advice_factor(decision.size) != factor)
		printf("# kind %d, size %g; expected %d, %g\n", decision.kind, pbp_advice_factor(decision.size), kind, factor);
	ok(decision.kind == kind && pbp_advice_factor(decision.size) == factor, what);
}

void
forget_storage(Case *one, int from, int to, double learned, PbpStorageReason reason)
{
	for (int i = from; i <= to; i++)
		one->storage[i] = (PbpAdviceStorageRow)
	{
		.os_cache_pages = 1000,.ratio.value = NAN,.ratio.error = NAN,.ratio.change_error = NAN,.learned_share = learned,.reason = reason
	};
}

void
forget_misses(Case *one, int i, double learned, PbpAdviceReason reason)
{
	one->misses[i] = (PbpAdviceRow)
	{
		.factor = pbp_advice_factor(i),.ratio.value = NAN,.ratio.error = NAN,.ratio.change_error = NAN,.learned_share = learned,.reason = reason
	};
	if (one->has_storage)
		forget_storage(one, i, i, NAN, PBP_STORAGE_NO_MISS_RATIO);
}

/* Milliseconds of waiting in a second, now; changes are as certain as the figures. */
Case
new_waiting(const Curve ms, double error)
{
	Case		one = new_case(falling, hump, 0.001);

	one.has_waiting = true;
	for (int i = 0; i < SIZES; i++)
		one.waiting[i] = (PbpCompared) {ms[i], error, ms[i] - ms[TODAY], i == TODAY ? 0 : error};
	return one;
}

/* Of so many hours of 1000 accesses a second, instead of now. */
Case
new_hours(const Curve ms, double error, double hours, double active_ms)
{
	Case		one = new_case(falling, hump, 0.001);
	double		seconds = 3600 * hours;

	one.hours = (PbpHoursSum) {
		.seconds = seconds,.wanted_seconds = 24 * 3600.0,.accesses = 1000 * seconds,
		.reads = 100 * seconds,.active_ms = active_ms * seconds,.counted_ms = active_ms * seconds
	};
	for (int i = 0; i < SIZES; i++)
		one.hours.sizes[i] = (PbpHourWaiting) {
		.accesses = 1000 * seconds,.ms = ms[i] * seconds,.error = error * seconds,
		.change = (ms[i] - ms[TODAY]) * seconds,.change_error = i == TODAY ? 0 : error * seconds
	};
	one.wanted_hours = 24;
	return one;
}

void
is_judged(const Case *one, PbpConfidence confidence, PbpVerdict verdict, const char *what)
{
	PbpDecision decision = ask(one);

	if (decision.confidence != confidence || decision.verdict != verdict)
		printf("# confidence %d, verdict %d; expected %d, %d\n", (int) decision.confidence, (int) decision.verdict, (int) confidence, (int) verdict);
	ok(decision.confidence == confidence && decision.verdict == verdict, what);
}

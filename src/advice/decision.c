/*-------------------------------------------------------------------------
 *
 * decision.c
 *	  Which of the sizes of the pool is best, and whether that is certain.
 *
 * Memory is fixed, so a larger pool leaves less to the page cache, and what
 * counts is storage reads.  Where these are unknown, misses of
 * the pool decide.  Another size must be better by more than the error, and by
 * enough to matter; otherwise today's is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/decision.h"

#include <math.h>

#include "advice/relationreads.h"

/* Before that, hardly any workload has shown all that it does. */
#define ENOUGH_SECONDS		30.0

/* Below this miss ratio, no other size matters. */
#define FEW_MISSES			0.001

/* From here on, the page cache serves nearly all misses. */
#define NEARLY_ALL			0.95

/* Distance from the chord, in a square that the curve spans. */
#define PRONOUNCED_KNEE		0.3

/* Drop of the curve that makes a knee worth a word. */
#define LEAST_DROP			0.005

/* What must be saved at least to matter. */
typedef struct Threshold
{
	double		share;			/* of what today's size has */
	double		accesses;		/* of all block accesses */
} Threshold;

/*
 * Where it is unknown which misses wait for storage, many of them may be served
 * by the page cache, so more must be saved.
 */
static const Threshold storage_threshold = {0.1, 0.001};
static const Threshold miss_threshold = {0.2, 0.01};

/* An estimate by which sizes are compared. */
typedef struct Estimate
{
	double		ratio;			/* NaN: unknown */
	double		change_error;	/* of the difference to today's */
} Estimate;

static Estimate
estimate_of(const PbpDecisionInput *input, bool by_storage, int size)
{
	const PbpAdviceRow *misses = &input->misses[size];

	if (!input->fits[size])
		return (Estimate) {NAN, NAN};
	if (!by_storage)
		return (Estimate) {misses->miss_ratio, misses->change_error};
	return (Estimate) {input->storage[size].storage_ratio, input->storage[size].change_error};
}

/* True if an estimate is lower than another by enough to matter. */
static bool
is_much_lower(Estimate one, Estimate other, Threshold threshold)
{
	double		saved = other.ratio - one.ratio;

	return saved > threshold.share * other.ratio && saved > threshold.accesses;
}

/*
 * True if it is lower than today's by more than the error of the difference.  Both
 * come from one sample and one model, so most of their errors cancel out.
 */
static bool
is_certainly_lower(Estimate one, Estimate today)
{
	return today.ratio - one.ratio > one.change_error;
}

static bool
is_clearly_lower(Estimate one, Estimate today, Threshold threshold)
{
	return is_certainly_lower(one, today) && is_much_lower(one, today, threshold);
}

/* As a factor, in either direction. */
static double
step_to(int size)
{
	return fabs(log(pbp_advice_factor(size)));
}

/* What sizes are compared by. */
typedef struct Comparison
{
	const PbpDecisionInput *input;
	bool		by_storage;
	Threshold	threshold;
	int			largest;		/* size that may be advised */
} Comparison;

/* True if this size is an alternative, and clearly better than today's if it must be. */
static bool
is_candidate(const Comparison *comparison, int size, bool clearly_better)
{
	Estimate	today = estimate_of(comparison->input, comparison->by_storage, PBP_ADVICE_BASELINE);
	Estimate	estimate = estimate_of(comparison->input, comparison->by_storage, size);

	if (size == PBP_ADVICE_BASELINE || isnan(estimate.ratio))
		return false;
	return !clearly_better || is_clearly_lower(estimate, today, comparison->threshold);
}

/* The candidate with the lowest estimate; -1: there is none. */
static int
best_size(const Comparison *comparison, bool clearly_better)
{
	double		lowest = INFINITY;
	int			best = -1;

	for (int i = 0; i <= comparison->largest; i++)
	{
		double		ratio = estimate_of(comparison->input, comparison->by_storage, i).ratio;

		if (is_candidate(comparison, i, clearly_better) && ratio < lowest)
		{
			lowest = ratio;
			best = i;
		}
	}
	return best;
}

/*
 * Of the sizes that are clearly better than today's, the smallest step that is
 * not much worse than the best one.  The baseline if there is none.
 */
static int
advised_size(const Comparison *comparison)
{
	int			best = best_size(comparison, true);
	int			advised = best;

	for (int i = 0; best >= 0 && i <= comparison->largest; i++)
		if (is_candidate(comparison, i, true) && step_to(i) < step_to(advised) &&
			!is_much_lower(estimate_of(comparison->input, comparison->by_storage, best),
						   estimate_of(comparison->input, comparison->by_storage, i), comparison->threshold))
			advised = i;
	return best < 0 ? PBP_ADVICE_BASELINE : advised;
}

/* True if this size will become known when more has been read. */
static bool
is_learning(const PbpDecisionInput *input, int size)
{
	PbpAdviceReason reason = input->misses[size].reason;

	if (!input->fits[size])
		return false;
	if (reason != PBP_ADVICE_KNOWN)
		return reason == PBP_ADVICE_LEARNING || reason == PBP_ADVICE_LITTLE_EVIDENCE;
	return input->storage != NULL &&
		(input->storage[size].reason == PBP_STORAGE_LEARNING ||
		 input->storage[size].reason == PBP_STORAGE_LITTLE_EVIDENCE);
}

/* As a share of what is needed to compare today's size with half and twice. */
static double
learned_share(const PbpDecisionInput *input)
{
	static const int needed[] = {PBP_ADVICE_HALF, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE};
	double		learned = 1;

	for (int i = 0; i < (int) (sizeof(needed) / sizeof(needed[0])); i++)
	{
		int			size = needed[i];

		if (!is_learning(input, size))
			continue;
		learned = fmin(learned, fmin(input->misses[size].learned_share, 0.99));
		/* both are learned at the same time; NaN: not this one */
		if (input->storage != NULL)
			learned = fmin(learned, input->storage[size].learned_share);
	}
	return learned;
}

/* True if so few accesses wait for storage that no other size matters. */
static bool
waits_for_little(const PbpDecisionInput *input)
{
	const PbpAdviceStorageRow *today = input->storage ? &input->storage[PBP_ADVICE_BASELINE] : NULL;

	return today != NULL && today->reason == PBP_STORAGE_KNOWN &&
		today->storage_ratio <= storage_threshold.accesses;
}

static bool
serves_nearly_all(const PbpDecisionInput *input)
{
	return input->storage[PBP_ADVICE_BASELINE].storage_ratio <=
		(1 - NEARLY_ALL) * input->misses[PBP_ADVICE_BASELINE].miss_ratio;
}

/* When today's size can be compared with others. */
static void
compare_sizes(const PbpDecisionInput *input, PbpDecision *decision)
{
	Comparison	comparison = {
		.input = input,
		.by_storage = decision->by_storage,
		.threshold = decision->by_storage ? storage_threshold : miss_threshold,
		/* misses only become fewer, and what the page cache loses is unknown */
		.largest = decision->by_storage ? PBP_ADVICE_FACTORS - 1 : PBP_ADVICE_DOUBLE,
	};

	decision->best = best_size(&comparison, false);
	decision->size = advised_size(&comparison);
	if (decision->best >= 0)
		decision->matters_too_little = is_certainly_lower(estimate_of(input, decision->by_storage, decision->best),
														  estimate_of(input, decision->by_storage, PBP_ADVICE_BASELINE));
	if (decision->size != PBP_ADVICE_BASELINE)
		decision->kind = PBP_TAKE;
	else if (decision->by_storage && serves_nearly_all(input))
		decision->kind = PBP_KEEP_CACHED;
	else
		decision->kind = PBP_KEEP;
}

PbpDecision
pbp_decide(const PbpDecisionInput *input)
{
	const PbpAdviceRow *today = &input->misses[PBP_ADVICE_BASELINE];
	PbpDecision decision = {.size = PBP_ADVICE_BASELINE,.best = -1,.learned_share = learned_share(input)};

	decision.by_storage = input->storage != NULL &&
		input->storage[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_KNOWN;
	if (today->reason != PBP_ADVICE_KNOWN)
		decision.kind = today->reason == PBP_ADVICE_LEARNING ? PBP_DECIDE_EARLY : PBP_DECIDE_UNKNOWN;
	else if (input->watched_seconds < ENOUGH_SECONDS)
		decision.kind = PBP_DECIDE_SHORT;
	else if (today->miss_ratio < FEW_MISSES)
		decision.kind = PBP_KEEP_FEW_READS;
	else if (waits_for_little(input))
		decision.kind = PBP_KEEP_CACHED;
	else if (input->misses[PBP_ADVICE_DOUBLE].reason == PBP_ADVICE_UNSEEN)
		decision.kind = PBP_DECIDE_UNKNOWN;
	else if (decision.learned_share < 1)
		decision.kind = PBP_DECIDE_EARLY;
	else
		compare_sizes(input, &decision);
	return decision;
}

/* The largest distance below the chord from the first to the last known size. */
int
pbp_knee(const double *ratios)
{
	int			first = 0;
	int			last = PBP_ADVICE_FACTORS - 1;
	int			knee = -1;
	double		largest = PRONOUNCED_KNEE;
	double		drop;
	double		range;

	while (first < last && isnan(ratios[first]))
		first++;
	while (last > first && isnan(ratios[last]))
		last--;
	drop = ratios[first] - ratios[last];
	range = pbp_advice_factor(last) - pbp_advice_factor(first);
	if (!(drop > LEAST_DROP))
		return -1;
	for (int i = first + 1; i < last; i++)
	{
		double		below = (ratios[first] - ratios[i]) / drop;
		double		along = (pbp_advice_factor(i) - pbp_advice_factor(first)) / range;

		if (!isnan(ratios[i]) && below - along > largest)
		{
			largest = below - along;
			knee = i;
		}
	}
	return knee;
}

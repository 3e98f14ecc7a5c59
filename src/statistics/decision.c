/*-------------------------------------------------------------------------
 *
 * decision.c
 *	  Which of the sizes of the pool is best, and whether that is certain.
 *
 * What counts is how long sessions wait for reads, in all hours that were seen.
 * Where that is unknown, storage reads decide, and where these are, misses of the
 * pool.  Memory is fixed: a larger pool leaves less to the page cache.  Another
 * size must be better by enough to matter, otherwise today's is kept; where that is
 * not certain enough, nothing is decided.  What was advised once stays until a size
 * is certainly better.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/decision.h"

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
	double		least;			/* in the unit of the figures */
} Threshold;

/*
 * Where it is unknown which misses wait for storage, many of them may be served
 * by the page cache, so more must be saved.
 */
static const Threshold storage_threshold = {0.1, 0.001};
static const Threshold miss_threshold = {0.2, 0.01};

/* Of the time that sessions work, or if that is unknown, milliseconds in a second. */
#define SHARE_OF_WORK		0.01
#define LEAST_WAITING		5.0
#define SHARE_OF_WAITING	0.1

/*
 * How many times the error must be saved: by the best of many sizes, which chance
 * favors, and by one that was advised before.  With less, the interval of what it
 * saves would nearly reach nothing.
 */
#define FIRST_CERTAINTY		1.25
#define ENOUGH_CERTAINTY	1.1

/* Share of the wanted hours that must have been seen. */
#define SEEN_HOURS			0.98

/* ---- figures ---- */

static PbpCompared
choice_of(const PbpDecisionInput *input, PbpDecisionBasis basis, int i)
{
	switch (basis)
	{
		case PBP_BY_HOURS:
			return pbp_waiting_of_sum(input->hours, &input->hours->sizes[i]);
		case PBP_BY_WAITING:
			return input->waiting[i];
		case PBP_BY_STORAGE:
			return pbp_compared_now(input->storage[i].ratio, input->varies);
		case PBP_BY_MISSES:
			break;
	}
	return pbp_compared_now(input->misses[i].ratio, input->varies);
}

/*
 * True if this size fits and may be compared.  A smaller one must save time, which
 * shares of accesses do not show.
 */
static bool
may_be_advised(const PbpDecisionInput *input, PbpDecisionBasis basis, int i)
{
	/* misses only become fewer, and what the page cache loses is unknown */
	int			largest = basis == PBP_BY_MISSES ? PBP_ADVICE_DOUBLE : PBP_ADVICE_FACTORS - 1;
	int			smallest = basis < PBP_BY_WAITING ? PBP_ADVICE_BASELINE : 0;

	return i == PBP_ADVICE_BASELINE || (i >= smallest && i <= largest && input->fits[i]);
}

static PbpDecisionBasis
basis_of(const PbpDecisionInput *input)
{
	if (input->hours->seconds >= PBP_SECONDS_PER_HOUR &&
		!isnan(pbp_waiting_of_sum(input->hours, &input->hours->sizes[PBP_ADVICE_BASELINE]).value))
		return PBP_BY_HOURS;
	if (input->waiting != NULL && !isnan(input->waiting[PBP_ADVICE_BASELINE].value))
		return PBP_BY_WAITING;
	return input->storage != NULL &&
		input->storage[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_KNOWN ?
		PBP_BY_STORAGE : PBP_BY_MISSES;
}

/* NaN: unknown. */
static double
working_ms(const PbpDecisionInput *input, const PbpDecision *decision)
{
	double		active = decision->basis == PBP_BY_HOURS ? pbp_working_of_sum(input->hours) :
		input->active_ms;

	return decision->basis < PBP_BY_WAITING ? active :
		pbp_working_beside(active, decision->choices[PBP_ADVICE_BASELINE].value);
}

static Threshold
threshold_of(const PbpDecision *decision)
{
	if (decision->basis < PBP_BY_WAITING)
		return decision->basis == PBP_BY_STORAGE ? storage_threshold : miss_threshold;
	return (Threshold)
	{
		SHARE_OF_WAITING,
		decision->active_ms > 0 ? SHARE_OF_WORK * decision->active_ms : LEAST_WAITING
	};
}

/* ---- comparisons ---- */

/* What must be saved to matter. */
static double
least_saving(const PbpDecision *decision)
{
	Threshold	threshold = threshold_of(decision);

	return fmax(threshold.share * decision->choices[PBP_ADVICE_BASELINE].value, threshold.least);
}

/* True if this size is better by so many times the error. */
static bool
is_better_by(double errors, const PbpCompared *choice)
{
	return choice->change < -errors * choice->change_error;
}

/*
 * How uncertain the difference of two sizes is.  All come from one sample: on one side of today's
 * size, that of the farther one consists of that of the nearer one and of what lies between both.
 */
static double
error_between(const PbpDecision *decision, int i, int other)
{
	double		one_error = decision->choices[i].change_error;
	double		other_error = decision->choices[other].change_error;

	return (i < PBP_ADVICE_BASELINE) == (other < PBP_ADVICE_BASELINE) ?
		fmax(one_error, other_error) : hypot(one_error, other_error);
}

/* True if this size is not certainly worse than another one. */
static bool
is_equal(const PbpDecision *decision, int i, int best)
{
	const PbpCompared *choice = &decision->choices[i];
	double		today = decision->choices[PBP_ADVICE_BASELINE].value;

	return !isnan(choice->change) && choice->change - decision->choices[best].change <=
		fmax(error_between(decision, i, best), PBP_TOLERATED_LOSS * today);
}

/* The other size with the lowest figure and so many times its error; -1: none is known. */
static int
lowest_of(const PbpDecision *decision, double errors)
{
	int			lowest = -1;
	double		least = INFINITY;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpCompared *choice = &decision->choices[i];

		if (i != PBP_ADVICE_BASELINE && choice->change + errors * choice->change_error < least)
		{
			least = choice->change + errors * choice->change_error;
			lowest = i;
		}
	}
	return lowest;
}

/* The size that is best for certain: an uncertain figure says little, however low it is. */
static int
best_of(const PbpDecision *decision)
{
	int			best = lowest_of(decision, FIRST_CERTAINTY);

	return best >= 0 && is_better_by(FIRST_CERTAINTY, &decision->choices[best]) ?
		best : PBP_ADVICE_BASELINE;
}

/* All sizes around the best one that are as good. */
static void
set_equals(PbpDecision *decision)
{
	int			best = best_of(decision);

	decision->equal_from = decision->equal_to = best;
	while (decision->equal_from > 0 && is_equal(decision, decision->equal_from - 1, best))
		decision->equal_from--;
	while (decision->equal_to + 1 < PBP_ADVICE_FACTORS &&
		   is_equal(decision, decision->equal_to + 1, best))
		decision->equal_to++;
}

static bool
is_among_equals(const PbpDecision *decision, int i)
{
	return i >= decision->equal_from && i <= decision->equal_to;
}

/*
 * True if what was advised before still is: nothing is certainly better, and it
 * saves something, though both with less certainty than at first.
 */
static bool
stays_advised(const PbpDecision *decision, int before)
{
	const PbpCompared *choice = &decision->choices[before < 0 ? PBP_ADVICE_BASELINE : before];

	return before >= 0 && before != PBP_ADVICE_BASELINE && is_among_equals(decision, before) &&
		choice->change < -least_saving(decision) / 2 && is_better_by(ENOUGH_CERTAINTY, choice);
}

/*
 * Of the sizes that are as good as the best and hardly worse in their figures, the one closest to
 * today's that is certainly better than that.  The baseline if there is none.
 */
static int
advised_size(const PbpDecision *decision, int before)
{
	int			best = best_of(decision);
	double		tolerated = PBP_TOLERATED_LOSS * decision->choices[PBP_ADVICE_BASELINE].value;
	int			advised = PBP_ADVICE_BASELINE;

	if (stays_advised(decision, before))
		return before;
	if (is_among_equals(decision, PBP_ADVICE_BASELINE))
		return PBP_ADVICE_BASELINE;
	for (int i = decision->equal_from; i <= decision->equal_to; i++)
	{
		const PbpCompared *choice = &decision->choices[i];

		if (is_better_by(FIRST_CERTAINTY, choice) && choice->change < -least_saving(decision) &&
			choice->change - decision->choices[best].change <= tolerated &&
			(advised == PBP_ADVICE_BASELINE ||
			 fabs(log(pbp_advice_factor(i))) < fabs(log(pbp_advice_factor(advised)))))
			advised = i;
	}
	return advised;
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
		learned = fmin(learned, fmin(input->misses[size].learned_share, PBP_MOST_PROGRESS));
		/* both are learned at the same time; NaN: not this one */
		if (input->storage != NULL)
			learned = fmin(learned, input->storage[size].learned_share);
	}
	return learned;
}

/* True if so little is waited for that no other size matters. */
static bool
waits_for_little(const PbpDecision *decision)
{
	return decision->basis != PBP_BY_MISSES &&
		decision->choices[PBP_ADVICE_BASELINE].value <= threshold_of(decision).least;
}

/* True if other sizes may be advised, but none is known. */
static bool
others_are_unknown(const PbpDecisionInput *input, const PbpDecision *decision)
{
	for (int i = 0; decision->best < 0 && i < PBP_ADVICE_FACTORS; i++)
		if (i != PBP_ADVICE_BASELINE && may_be_advised(input, decision->basis, i))
			return true;
	return false;
}

/* When today's size can be compared with others. */
static PbpDecisionKind
compare_sizes(const PbpDecisionInput *input, PbpDecision *decision)
{
	decision->size = advised_size(decision, input->advised_before);
	if (decision->size != PBP_ADVICE_BASELINE)
		return PBP_TAKE;
	/* of times, those of reads that the page cache serves are a part */
	if (decision->basis == PBP_BY_STORAGE && decision->choices[PBP_ADVICE_BASELINE].value <=
		(1 - NEARLY_ALL) * input->misses[PBP_ADVICE_BASELINE].ratio.value)
		return PBP_KEEP_CACHED;
	if (others_are_unknown(input, decision))
		return PBP_DECIDE_UNKNOWN;
	if (decision->best >= 0 && decision->choices[decision->best].change < -least_saving(decision))
		return PBP_DECIDE_UNSURE;
	decision->matters_too_little = decision->best >= 0 &&
		is_better_by(1, &decision->choices[decision->best]);
	return PBP_KEEP;
}

/*
 * True if so small a share of accesses are reads that these can hardly matter, and
 * as far as it is known how long sessions wait for them, they do not: whoever reads
 * the same few pages again and again makes any share small.
 */
static bool
reads_little(const PbpDecision *decision, double miss_ratio)
{
	return miss_ratio < PBP_FEW_MISSES &&
		(decision->basis < PBP_BY_WAITING || decision->choices[PBP_ADVICE_BASELINE].value <=
		 fmax(LEAST_WAITING, threshold_of(decision).least));
}

/* Nothing of today has to be known where the hours before decide. */
static PbpDecisionKind
kind_of(const PbpDecisionInput *input, PbpDecision *decision)
{
	const PbpAdviceRow *today = &input->misses[PBP_ADVICE_BASELINE];
	PbpAdviceReason of_twice = input->misses[PBP_ADVICE_DOUBLE].reason;
	bool		by_hours = decision->basis == PBP_BY_HOURS;

	if (!by_hours)
	{
		if (input->watched_seconds < PBP_ENOUGH_SECONDS)
			return PBP_DECIDE_SHORT;
		if (!input->evicted)
			return input->loaded ? PBP_KEEP_UNUSED : PBP_DECIDE_IDLE;
		if (today->reason != PBP_ADVICE_KNOWN)
			return today->reason == PBP_ADVICE_LEARNING ? PBP_DECIDE_EARLY : PBP_DECIDE_UNKNOWN;
	}
	/* the hours may be those of another size */
	if (reads_little(decision, !by_hours ? today->ratio.value :
					 fmax(input->hours->reads / (input->hours->accesses - input->hours->apart),
						  today->ratio.value)))
		return PBP_KEEP_FEW_READS;
	if (waits_for_little(decision))
		return PBP_KEEP_CACHED;
	if (!by_hours)
	{
		if (of_twice == PBP_ADVICE_UNSEEN || of_twice == PBP_ADVICE_CHANGED)
			return PBP_DECIDE_UNKNOWN;
		if (decision->learned_share < 1)
			return PBP_DECIDE_EARLY;
	}
	return compare_sizes(input, decision);
}

/* ---- how certain it is ---- */

/* True if a known size may save enough to matter. */
static bool
may_save(const PbpDecision *decision)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (decision->choices[i].change - decision->choices[i].change_error <
			-least_saving(decision))
			return true;
	return false;
}

/*
 * True if times decide that more precise ones may decide otherwise: a size may save
 * enough and is not taken, or is taken and may save too little.
 */
static bool
times_decide(const PbpDecisionInput *input, const PbpDecision *decision)
{
	const PbpCompared *taken = &decision->choices[decision->size];

	if (!input->probed || decision->basis < PBP_BY_WAITING ||
		decision->choices[PBP_ADVICE_BASELINE].value <= 0)
		return false;
	if (decision->kind == PBP_TAKE)
		return taken->change + taken->change_error > -least_saving(decision);
	return decision->kind == PBP_DECIDE_UNSURE ||
		((decision->kind == PBP_KEEP_CACHED || decision->kind == PBP_KEEP) && may_save(decision));
}

/*
 * True if too little is waited for or read today, or no size is known that may be
 * better by enough to matter, and twice the size is one of those known.
 */
static bool
none_can_be_better(const PbpDecisionInput *input, const PbpDecision *decision)
{
	const PbpCompared *today = &decision->choices[PBP_ADVICE_BASELINE];

	if (today->value + today->error <= least_saving(decision))
		return true;
	return !may_save(decision) &&
		(!input->fits[PBP_ADVICE_DOUBLE] || !isnan(decision->choices[PBP_ADVICE_DOUBLE].change));
}

static PbpConfidence
confidence_of(const PbpDecisionInput *input, const PbpDecision *decision)
{
	bool		is_certain = decision->kind == PBP_TAKE ?
		is_better_by(1, &decision->choices[decision->size]) :
		none_can_be_better(input, decision);

	/* hours that do not count need not have been seen */
	double		wanted = fmin(PBP_SECONDS_PER_HOUR * input->wanted_hours,
							  fmax(PBP_SECONDS_PER_HOUR, decision->wanted_seconds));

	if (decision->kind <= PBP_DECIDE_UNSURE)
		return PBP_UNSURE;
	return is_certain && !input->doubtful &&
		(decision->basis == PBP_BY_HOURS ||
		 (decision->basis == PBP_BY_WAITING && !input->unsettled)) &&
		decision->seen_seconds >= SEEN_HOURS * wanted ? PBP_SURE : PBP_LIKELY;
}

/* Memory that nobody needs is no reason to take some from the pool. */
static PbpVerdict
verdict_of(const PbpDecisionInput *input, const PbpDecision *decision)
{
	if (decision->confidence == PBP_UNSURE)
		return PBP_VERDICT_UNKNOWN;
	if (decision->kind != PBP_TAKE)
		return PBP_VERDICT_FINE;
	return decision->confidence == PBP_SURE && !decision->times_decide &&
		!(decision->size < PBP_ADVICE_BASELINE && input->spare_memory) ?
		PBP_VERDICT_CHANGE : PBP_VERDICT_CONSIDER;
}

PbpDecision
pbp_decide(const PbpDecisionInput *input)
{
	PbpDecision decision = {
		.basis = basis_of(input),.size = PBP_ADVICE_BASELINE,.equal_from = -1,.equal_to = -1,
		.learned_share = learned_share(input),.seen_seconds = input->hours->seconds,
		.wanted_seconds = input->hours->wanted_seconds,
	};

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		decision.choices[i] = may_be_advised(input, decision.basis, i) ?
			choice_of(input, decision.basis, i) : PBP_NOT_COMPARED;
	decision.active_ms = fmax(0, working_ms(input, &decision));
	if (!isnan(decision.choices[PBP_ADVICE_BASELINE].value))
		set_equals(&decision);
	decision.best = lowest_of(&decision, 0);
	decision.kind = kind_of(input, &decision);
	decision.times_decide = times_decide(input, &decision);
	if (decision.times_decide && decision.kind != PBP_TAKE)
		decision.kind = PBP_DECIDE_UNSURE;
	decision.confidence = confidence_of(input, &decision);
	decision.verdict = verdict_of(input, &decision);
	return decision;
}

/* The largest distance below the chord from the first to the last known size. */
int
pbp_knee(const double *ratios, int nsizes, double (*factor) (int i))
{
	int			first = 0;
	int			last = nsizes - 1;
	int			knee = -1;
	double		largest = PRONOUNCED_KNEE;
	double		drop;
	double		range;

	while (first < last && isnan(ratios[first]))
		first++;
	while (last > first && isnan(ratios[last]))
		last--;
	drop = ratios[first] - ratios[last];
	range = factor(last) - factor(first);
	if (!(drop > LEAST_DROP))
		return -1;
	for (int i = first + 1; i < last; i++)
	{
		double		below = (ratios[first] - ratios[i]) / drop;
		double		along = (factor(i) - factor(first)) / range;

		if (!isnan(ratios[i]) && below - along > largest)
		{
			largest = below - along;
			knee = i;
		}
	}
	return knee;
}

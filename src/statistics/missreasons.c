/*-------------------------------------------------------------------------
 *
 * missreasons.c
 *	  Miss ratio at other sizes of the buffer pool: how much of the reads has been
 *	  seen, and why it is unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/misses.h"

#include <math.h>

#include "base/stats.h"

/*
 * Passes of a simulated hand during one of the real hand.  Uses that counts at the
 * maximum hide are guessed from how fast a count returns to the maximum after a visit.
 */
#define TOLERATED_PASSES_PER_PASS	10.0

/* Share of a smaller pool that may be in constant use. */
#define TOLERATED_SATURATION	0.67

/* Share of looks that begin with a loss of knowledge. */
#define TOLERATED_LOSSES	0.5

/*
 * A page that returns was read, through a ring or not.  If many more return than the server counts,
 * then reads of some processes are not counted, such as those of the replay of WAL.
 */
#define TOLERATED_UNCOUNTED	1.5

/*
 * Any page that is loaded was read or is new.  Above this ratio, the measured
 * miss ratio is that of few of the accesses.
 */
#define WORTHLESS_UNCOUNTED	3.0

/* Share of the counted loads that looks must have seen. */
#define ENOUGH_SEEN			0.8

/*
 * Reads of large scans, as a share of the accesses, that do not matter.  Where
 * they are not counted apart, they are among the reads that no look saw, and
 * this share of the reads does not matter, either.
 */
#define NEGLIGIBLE_SCANS	0.01
#define NEGLIGIBLE_UNSEEN	0.1

/* The server scans a table of more than this share of its pool through a ring. */
#define SHARE_OF_RING_SCANS	0.25

/*
 * While the miss ratio of the last seconds differs from that of the time before by more than this
 * share, and more than usual, nothing is known of other sizes under the load now.
 */
#define TOLERATED_MOVE		0.5

/* Loads that looks saw against the counted reads and new pages; 1 if there are none. */
double
pbp_seen_share(const Advice *advice, double loads)
{
	double		counted = advice->counters.reads + advice->counters.extends;

	return counted > 0 ? loads / advice->sampling_rate / counted : 1;
}

/*
 * The share of the loads in the sample, by chance and looks, which is that of the misses that a
 * larger pool avoids.  Without a count of them, large scans may have the rest.
 */
double
pbp_found_share(const Advice *advice, double seen)
{
	return fmin(WORTHLESS_UNCOUNTED, fmax(advice->rings_apart ? ENOUGH_SEEN : 1, seen));
}

static double
passes_per_pass(const Advice *advice, int i)
{
	double		passes = advice->counters.ticks / advice->nbuffers;

	return passes > 0 ? advice->counters.sizes[i].steps / advice->pools[i].nslots / passes : 0;
}

/* True if more pages are loaded than the server counts, by this factor. */
static bool
too_few_counted(const Advice *advice, double loads, double counted, double factor)
{
	return all_loads(advice) >= ENOUGH_LOADS && loads / share_of_pool(advice) > factor * counted;
}

/* True if looks saw too few of the loads that the server counts, not by chance. */
static bool
too_few_seen(const Advice *advice)
{
	const Counters *counters = &advice->counters;
	double		expected = ENOUGH_SEEN * (counters->reads + counters->extends) *
		advice->sampling_rate;

	return expected >= ENOUGH_LOADS &&
		all_loads(advice) + PBP_DEVIATIONS * sqrt(expected) < expected;
}

/*
 * The share of the reads that are of large scans or the like, where the server
 * does not count these apart: those that no look saw, unless looks were just late.
 */
double
pbp_unseen_share(const Advice *advice)
{
	double		unseen = 1 - pbp_seen_share(advice, all_loads(advice));

	return !advice->rings_apart && unseen > NEGLIGIBLE_UNSEEN ? unseen : 0;
}

/* True if scans read tables past the pool today that a pool of this size might hold. */
static bool
may_hold_scanned(const Advice *advice, int i)
{
	const Counters *counters = &advice->counters;
	double		scans = advice->rings_apart ? counters->scan_reads :
		pbp_unseen_share(advice) * counters->reads;

	return scans > NEGLIGIBLE_SCANS * (counters->accesses + counters->scan_reads) &&
		(double) advice->smallest_scanned <= SHARE_OF_RING_SCANS * pbp_advice_factor(i) *
			advice->nbuffers;
}

/* Returns why nothing is known of any size, not even of the baseline. */
static PbpAdviceReason
reason_of_all(const Advice *advice)
{
	const Counters *counters = &advice->counters;

	if (advice->averages.lost_share > TOLERATED_LOSSES)
		return PBP_ADVICE_RARE_LOOKS;
	if (counters->accesses <= 0 && all_loads(advice) > 0)
		return PBP_ADVICE_UNPUBLISHED;
	if (counters->accesses <= 0)
		return advice->nlooks > 0 && advice->look.last.ticks < advice->nbuffers ?
			PBP_ADVICE_NOTHING_EVICTED : PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, all_loads(advice),
						counters->reads + counters->extends + counters->ring_reads +
							counters->ring_extends,
						WORTHLESS_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	return PBP_ADVICE_KNOWN;
}

/* Why a size is unknown, but for cliffs of the curve. */
PbpAdviceReason
pbp_learning_reason(const Advice *advice, int i)
{
	const Counters *counters = &advice->counters;
	double		saturated_share = counters->saturated_accesses / fmax(1, counters->accesses);
	PbpAdviceReason of_all = reason_of_all(advice);

	if (of_all != PBP_ADVICE_KNOWN || i == BASELINE)
		return of_all;
	if (too_few_seen(advice))
		return PBP_ADVICE_UNSEEN;
	if (counters->sizes[i].accesses <= 0)
		return PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, all_loads(advice) - counters->new_loads,
						counters->reads + counters->ring_reads, TOLERATED_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	/* which of the saturated pages are used more is unknown */
	if (i < BASELINE && (saturated_share > TOLERATED_SATURATION * pbp_advice_factor(i) ||
						 passes_per_pass(advice, i) > TOLERATED_PASSES_PER_PASS *
							 (1 - saturated_share)))
		return PBP_ADVICE_SATURATED;
	if (all_loads(advice) < ENOUGH_LOADS)
		return PBP_ADVICE_LITTLE_EVIDENCE;
	if (i > BASELINE && may_hold_scanned(advice, i))
		return PBP_ADVICE_SCANS;
	if (pbp_moved(advice) > TOLERATED_MOVE * counters->reads / counters->accesses &&
		!(pbp_moved(advice) <= pbp_usual_difference(&advice->variation)))
		return PBP_ADVICE_CHANGED;
	return i > BASELINE && pbp_size_is_learning(advice, i) ? PBP_ADVICE_LEARNING : PBP_ADVICE_KNOWN;
}


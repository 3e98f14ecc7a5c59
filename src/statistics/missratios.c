/*-------------------------------------------------------------------------
 *
 * missratios.c
 *	  Miss ratio at other sizes of the buffer pool, from the counters, and its
 *	  errors, or why it is unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/estimate.h"

/*
 * Error of the extra misses, as a share of them, by the simulator; and of smaller sizes, if as much
 * is read through rings as otherwise.
 */
#define EXTRA_SHARE			0.02
#define SCANNED_SHARE		0.15

/*
 * A large scan by itself finds none of its blocks in the pool.  Four at once of a table of four
 * times the pool found 3 % of them, and as much as 56 % in a pool as large as the table, where
 * lookups beside them missed 10.7 instead of 4.1 %.
 */
#define FOUND_BY_SCANS		0.01

/* Error as a share of the misses that there are unless uses come together. */
#define TOGETHER_SHARE		0.5

/* Of what a larger pool avoids, for each read that no look saw. */
#define LATE_LOOKS			2.0

/*
 * A curve that falls from one size to the next so much more steeply than before
 * has a cliff.  If it is higher than this, both sizes are unknown.
 */
#define STEEPER				2.0
#define TOLERATED_CLIFF		0.02

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

/* Nothing is known of other sizes while the load is another one than was learned by so much. */
#define TOLERATED_CHANGE	0.5

/* The latest answers, valid until another advice is asked, and the version that they are of. */
static MissAnswers answers;
static uint64_t answered;

/* ---- how much of the reads was seen, and why a size is unknown ---- */

/* Loads that looks saw against the counted reads and new pages; 1 if there are none. */
static double
seen_share(const Advice *advice, double loads)
{
	double		counted = advice->server.reads + advice->server.extends;

	return counted > 0 ? loads / advice->sampling_rate / counted : 1;
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
	return all_loads(advice) >= PBP_ENOUGH_EVENTS &&
		loads / share_of_pool(advice) > factor * counted;
}

/* True if looks saw too few of the loads that the server counts, not by chance. */
static bool
too_few_seen(const Advice *advice)
{
	const PbpAdviceCounts *server = &advice->server;
	double		expected = ENOUGH_SEEN * (server->reads + server->extends) *
		advice->sampling_rate;

	return expected >= PBP_ENOUGH_EVENTS &&
		all_loads(advice) + PBP_DEVIATIONS * sqrt(expected) < expected;
}

/*
 * The share of the reads that are of large scans or the like, where the server
 * does not count these apart: those that no look saw, unless looks were just late.
 */
double
pbp_unseen_share(const Advice *advice)
{
	double		unseen = 1 - seen_share(advice, all_loads(advice));

	return !advice->rings_apart && unseen > NEGLIGIBLE_UNSEEN ? unseen : 0;
}

/* True if scans read tables past the pool today that a pool of this size might hold. */
static bool
may_hold_scanned(const Advice *advice, int i)
{
	const PbpAdviceCounts *server = &advice->server;
	double		scans = server->scan_reads + pbp_unseen_share(advice) * server->reads;

	return scans > NEGLIGIBLE_SCANS * (server->accesses + server->scan_reads) &&
		(double) advice->facts.smallest_scanned <= SHARE_OF_RING_SCANS * pbp_advice_factor(i) *
			advice->nbuffers;
}

/* Returns why nothing is known of any size, not even of the baseline. */
static PbpAdviceReason
reason_of_all(const Advice *advice)
{
	const PbpAdviceCounts *server = &advice->server;

	if (advice->averages.lost_share > TOLERATED_LOSSES)
		return PBP_ADVICE_RARE_LOOKS;
	if (server->accesses <= 0 && all_loads(advice) > 0)
		return PBP_ADVICE_UNPUBLISHED;
	if (server->accesses <= 0)
		return advice->nlooks > 0 && advice->look.last.ticks < advice->nbuffers ?
			PBP_ADVICE_NOTHING_EVICTED : PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, all_loads(advice),
						server->reads + server->extends + server->ring_reads + server->ring_extends,
						WORTHLESS_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	return PBP_ADVICE_KNOWN;
}

/*
 * By how much another load runs than was learned: of the misses, if neither chance nor their usual
 * variation explains that, and of the relations read.
 */
static double
other_load(const Advice *advice)
{
	const PbpAdviceCounts *server = &advice->server;
	double		moved = pbp_moved(advice);

	if (moved <= pbp_usual_difference(advice))
		moved = 0;
	return moved * server->accesses / fmax(1, server->reads) + advice->facts.other_mix;
}

/* Why a size is unknown, but for cliffs of the curve. */
static PbpAdviceReason
learning_reason(const Advice *advice, int i)
{
	const Counters *counters = &advice->counters;
	const PbpAdviceCounts *server = &advice->server;
	double		saturated_share = counters->saturated_accesses / fmax(1, server->accesses);
	PbpAdviceReason of_all = reason_of_all(advice);

	if (of_all != PBP_ADVICE_KNOWN || i == BASELINE)
		return of_all;
	if (too_few_seen(advice))
		return PBP_ADVICE_UNSEEN;
	if (counters->sizes[i].accesses <= 0)
		return PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, all_loads(advice) - counters->found.new_loads,
						server->reads + server->ring_reads, TOLERATED_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	/* which of the saturated pages are used more is unknown */
	if (i < BASELINE && (saturated_share > TOLERATED_SATURATION * pbp_advice_factor(i) ||
						 passes_per_pass(advice, i) > TOLERATED_PASSES_PER_PASS *
							 (1 - saturated_share)))
		return PBP_ADVICE_SATURATED;
	if (all_loads(advice) < PBP_ENOUGH_EVENTS)
		return PBP_ADVICE_LITTLE_EVIDENCE;
	if (i > BASELINE && may_hold_scanned(advice, i))
		return PBP_ADVICE_SCANS;
	if (advice->time.changed || other_load(advice) > TOLERATED_CHANGE)
		return PBP_ADVICE_CHANGED;
	return i > BASELINE && pbp_size_is_learning(advice, i) ? PBP_ADVICE_LEARNING : PBP_ADVICE_KNOWN;
}

/* ---- estimates ---- */

/* A number of events in the sample as a share of all accesses. */
static double
scaled(const Advice *advice, int i, double count)
{
	return count / share_of_pool(advice) / advice->counters.sizes[i].accesses;
}

/*
 * The measured miss ratio and the extra misses, scaled back, without a group of the sample.  Where
 * a larger pool avoids misses of the baseline, their share is more precise than their number: a
 * pool that avoids all has none left.  Where large scans are not counted apart, the reads that no
 * look saw are theirs, and remain at any size.
 */
static double
estimate_without(const Advice *advice, int i, int group)
{
	const Counters *counters = &advice->counters;
	const PbpAdviceCounts *server = &advice->server;
	const SizeCounters *size = &counters->sizes[i];
	double		share = share_without(group);
	double		residents = sum_of_groups(counters->found.residents);
	double		share_of_residents = residents > 0 ?
		sum_without(counters->found.residents, group) / residents : share;
	double		extra_misses = sum_without(size->extra_misses, group);
	double		baseline_misses = sum_without(size->baseline_misses, group);
	double		measured = server->reads / server->accesses;
	double		found = seen_share(advice, sum_without(counters->found.loads, group) / share);
	double		seen = advice->rings_apart ? measured : measured * fmin(1, found);
	double		extra = scaled(advice, i, extra_misses / share_of_residents);
	/* also of the misses that a larger pool avoids, but large scans may have the rest */
	double		found_share = fmin(WORTHLESS_UNCOUNTED,
								   fmax(advice->rings_apart ? ENOUGH_SEEN : 1, found));
	double		by_number = measured + (i > BASELINE ? extra / found_share : extra);
	double		avoided = 0;

	if (i > BASELINE && baseline_misses > 0)
		avoided = fmax(0, -extra_misses / baseline_misses);
	return fmin(1, fmax(0, avoided * (measured - avoided * seen) + (1 - avoided) * by_number));
}

/* ---- answers ---- */

/*
 * A larger pool may miss slightly more often by bad luck.  Where a figure says so, chance in the
 * sample is more likely, so the figure of each size bounds those further from the baseline.
 */
static void
bound_estimates(void)
{
	double		bound = answers.estimates[BASELINE].value;

	for (int i = BASELINE + 1; i < FACTORS; i++)
		if (answers.reasons[i] == PBP_ADVICE_KNOWN)
			answers.estimates[i].value = bound = fmin(bound, answers.estimates[i].value);
}

static inline bool
can_estimate(int i)
{
	return i >= 0 && i < FACTORS && answers.reasons[i] == PBP_ADVICE_KNOWN;
}

static double
fall_to_next(int i)
{
	return answers.estimates[i].value - answers.estimates[i + 1].value;
}

/*
 * How far the curve falls between this size and the next one, close to either
 * of them, if that is much steeper than before.  Where pages are read in turn,
 * all of them fit or none does, and the sample does not know to the page which.
 */
static double
cliff(const Advice *advice, int i, bool near_next)
{
	const SizeCounters *counters;
	double		near;
	double		before;
	double		fall;

	if (!can_estimate(i - 1) || !can_estimate(i) || !can_estimate(i + 1))
		return 0;
	counters = &advice->counters.sizes[i];
	near = near_next ? counters->near_next : counters->near_this;
	before = fall_to_next(i - 1) * (pbp_advice_factor(i + 1) - pbp_advice_factor(i)) /
		(pbp_advice_factor(i) - pbp_advice_factor(i - 1)) * pbp_near_phases(advice, i) /
		PHASES_TO_NEXT;
	fall = fall_to_next(i) * near / fmax(1, counters->to_next);
	return fall > STEEPER * before + fmax(chance_of(&answers.estimates[i]),
										  chance_of(&answers.estimates[i + 1])) ? fall : 0;
}

/*
 * Reads that no look saw count as those of large scans where these are not counted apart.
 * But the worker may have been late, and then larger pools avoid them, too; and what
 * came and went between two looks is no use of a larger pool, which seems to miss more.
 */
static double
late_looks(const Advice *advice, int i)
{
	double		unseen = fmax(0, 1 - seen_share(advice, all_loads(advice)));

	return LATE_LOOKS * unseen *
		fmax(0, answers.estimates[BASELINE].value - answers.estimates[i].value);
}

/*
 * Uses between two looks are taken to be spread over that time.  If those of a page
 * came together, a smaller pool would miss once only.  The error is up to about half of
 * that, by bench/truth with one to ten looks in a pass.
 */
static double
uses_together(const Advice *advice, int i)
{
	return i < BASELINE ?
		TOGETHER_SHARE * scaled(advice, i, advice->counters.sizes[i].misses_again) : 0;
}

/*
 * Where scans run at once, one finds in the pool what another one has left, and so keeps it there.
 * All that is scanned may stay in a larger pool, which then saves as many misses as one that is so
 * much smaller, and none less than today's.
 */
static double
kept_by_scans(const Advice *advice, int i)
{
	const PbpAdviceCounts *server = &advice->server;
	double		scanned = advice->facts.scanned_alone > 0 ?
		(double) advice->facts.scanned_alone : INFINITY;
	double		left = pbp_advice_factor(i) - scanned / advice->nbuffers;
	double		blocks = server->alone_hits + server->alone_reads;
	int			smaller = BASELINE;

	if (blocks <= NEGLIGIBLE_SCANS * (server->accesses + blocks) ||
		server->alone_hits <= FOUND_BY_SCANS * blocks)
		return 0;
	while (smaller < i && pbp_advice_factor(smaller + 1) <= left &&
		   answers.reasons[smaller + 1] == PBP_ADVICE_KNOWN)
		smaller++;
	return fmax(0, answers.estimates[smaller].value - answers.estimates[i].value);
}

static double
relative_to_today(int i)
{
	return answers.estimates[i].value / fmax(1e-9, answers.estimates[BASELINE].value);
}

/* Misses of the simulated pool of today's size, as a share of the loads that looks saw. */
static double
reproduced_share(const Advice *advice, int group)
{
	const Counters *counters = &advice->counters;

	return sum_without(counters->sizes[BASELINE].baseline_misses, group) /
		fmax(1, sum_without(counters->found.loads, group));
}

/*
 * Looks do not show the order of uses, on which it may depend what a pool keeps, and for long where
 * pages are read in turn.  By how much more or less the simulated pool of today's size misses than
 * the real one, if not by chance, as a share.
 */
static double
not_reproduced(const Advice *advice)
{
	double		without[GROUPS];

	for (int group = 0; group < GROUPS; group++)
		without[group] = reproduced_share(advice, group);
	return fmax(0, fabs(1 - reproduced_share(advice, NO_GROUP)) -
				pbp_jackknife_error(without, GROUPS));
}

/*
 * Pools of other sizes may miss as much more or less; but what a larger pool avoids, it avoids in
 * either case.
 */
static double
error_by_reproduction(double share, int i)
{
	double		left = fmin(1, relative_to_today(i));

	return i == BASELINE ? 0 : share * answers.estimates[BASELINE].value * left * (2 - left);
}

/*
 * As a share of the difference to today: of the uses, those by large scans of what others use, too.
 * A smaller pool would read it through the ring, as it does what looks find in rings; and may not
 * keep what only scans read.
 */
static double
error_of_ring_scans(const Advice *advice, int i)
{
	const PbpAdviceCounts *server = &advice->server;
	double		hits = fmax(0, server->scan_hits - server->alone_hits);

	if (i > BASELINE)
		return hits / fmax(1, server->accesses - server->reads + hits);
	return SCANNED_SHARE * fmax(0, server->ring_reads - server->alone_reads) /
		fmax(1, server->reads) + advice->averages.scanned_share;
}

/*
 * What neither chance nor time shows: shares of the difference to today, and what may be missed.
 * What was skipped may have been a load that differs for this size.
 */
static double
error_of_miss_model(const Advice *advice, int i, double unreproduced)
{
	const SizeCounters *size = &advice->counters.sizes[i];

	return (EXTRA_SHARE + error_of_ring_scans(advice, i) + fmin(1, other_load(advice)) +
			skipped_share(size->skipped, size->accesses)) *
		fabs(answers.estimates[i].value - answers.estimates[BASELINE].value) +
		fmax(late_looks(advice, i) + uses_together(advice, i),
			 error_by_reproduction(unreproduced, i)) +
		pbp_counted_doubt(advice, i) + kept_by_scans(advice, i);
}

/* Today's miss ratio varies by so much, and that of a pool that misses more varies by more. */
static double
error_by_time(double error_today, int i)
{
	return fmax(1, relative_to_today(i)) * error_today;
}

static PbpAdviceRow
row_of(const Advice *advice, int i)
{
	const PbpEstimate *estimate = &answers.estimates[i];
	const PbpEstimate *today = &answers.estimates[BASELINE];
	PbpAdviceRow row = {
		.factor = pbp_advice_factor(i),.ratio = PBP_NOT_COMPARED,.write_ratio = NAN,
		.learned_share = 1,.seconds_left = NAN,.reason = answers.reasons[i],
	};

	if (row.reason == PBP_ADVICE_KNOWN && i != BASELINE &&
		fmax(cliff(advice, i, false), cliff(advice, i - 1, true)) > TOLERATED_CLIFF)
		row.reason = PBP_ADVICE_CLIFF;
	if (row.reason == PBP_ADVICE_UNSEEN)
		row.learned_share = seen_share(advice, all_loads(advice));
	else if (row.reason == PBP_ADVICE_LEARNING || row.reason == PBP_ADVICE_LITTLE_EVIDENCE)
	{
		row.learned_share = advice->progress[i].share;
		row.seconds_left = pbp_seconds_left(&advice->progress[i]);
	}
	else if (row.reason == PBP_ADVICE_KNOWN)
	{
		row.ratio = (PbpCompared)
		{
			estimate->value, fmin(1, error_of(estimate)), estimate->value - today->value,
			fmin(1, error_of_change(estimate, today))
		};
		row.write_ratio = scaled(advice, i, advice->counters.sizes[i].dirty_evictions);
	}
	return row;
}

/* All is answered at once, since each figure is asked for again and again. */
const MissAnswers *
pbp_miss_answers(const Advice *advice)
{
	double		error_today;
	double		unreproduced;

	if (answered == advice->version)
		return &answers;
	answered = 0;
	for (int i = 0; i < FACTORS; i++)
	{
		PbpEstimate *estimate = &answers.estimates[i];

		answers.reasons[i] = learning_reason(advice, i);
		if (answers.reasons[i] != PBP_ADVICE_KNOWN)
			continue;
		estimate->value = estimate_without(advice, i, NO_GROUP);
		for (int group = 0; group < GROUPS; group++)
			estimate->without[group] = estimate_without(advice, i, group);
	}
	bound_estimates();
	error_today = fmax(pbp_variation_error(advice), pbp_moved_until(advice));
	unreproduced = not_reproduced(advice);
	for (int i = 0; i < FACTORS; i++)
	{
		if (answers.reasons[i] == PBP_ADVICE_KNOWN)
		{
			answers.estimates[i].time = error_by_time(error_today, i);
			answers.estimates[i].model = error_of_miss_model(advice, i, unreproduced);
		}
		answers.rows[i] = row_of(advice, i);
	}
	answered = advice->version;
	return &answers;
}

PbpAdviceRow
pbp_advice_row(const PbpAdvice *advice, int i)
{
	return pbp_miss_answers(advice)->rows[i];
}

PbpAdviceTotals
pbp_advice_totals(const PbpAdvice *advice)
{
	const PbpAdviceCounts *server = &advice->server;
	const MissAnswers *known = pbp_miss_answers(advice);

	return (PbpAdviceTotals)
	{
		.accesses = server->accesses,
		.reads = server->reads,
		.extends = server->extends,
		.ring_reads = server->ring_reads,
		.scan_reads = server->scan_reads,
		.seconds = server->seconds,
		.refaults = server->refault_seconds > 0 ? server->refaults / server->refault_seconds : NAN,
		.dirty_evictions = advice->counters.sizes[BASELINE].dirty_evictions,
		.self_error = server->reads + server->extends > 0 ?
			seen_share(advice, all_loads(advice)) - 1 : NAN,
		.sampling_rate = advice->sampling_rate,
		.lately = advice->lately.accesses > 0 ?
			advice->lately.reads / advice->lately.accesses : NAN,
		.varies = known->reasons[BASELINE] == PBP_ADVICE_KNOWN ?
			varying_share(&known->estimates[BASELINE]) : NAN,
		.change = advice->light.quiet && !advice->light.idle ? PBP_LIGHT_LOAD :
			advice->time.changed ? PBP_OTHER_MISSES :
			advice->facts.other_mix > 0 ? PBP_OTHER_RELATIONS : PBP_NO_CHANGE,
		.sampled_loads = advice->nsampled_loads,
		.gaps = advice->ngaps,
		.dropped = advice->ndropped,
	};
}

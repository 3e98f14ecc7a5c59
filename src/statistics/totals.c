/*-------------------------------------------------------------------------
 *
 * totals.c
 *	  How much memory both caches need together.
 *
 * Of a total, the best split is the one with the shortest waiting, or if times
 * are unknown, with the fewest storage reads.  Between two totals, figures are
 * interpolated along splits of the same kind.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/totals.h"

#include <stdio.h>
#include <string.h>

/* Of the time that sessions work, no loss. */
#define TOLERATED_WORK		0.001

/*
 * Half of the targets would be missed if estimates alone met them.  A normal distribution is below
 * its mean and this share of half of its 95 % interval in two of three cases.
 */
#define LIKELY				0.22

/* ---- targets ---- */

/* A number in words, and the values that it may have. */
static const struct
{
	const char *words;			/* as for sscanf(3) */
	PbpTargetKind kind;
	double		unit;
	double		low;
	double		high;
}			forms[] =
{
	{" storage %lf %% %n", PBP_TARGET_STORAGE, 0.01, 0, 1},
	{" %lf ms/s %n", PBP_TARGET_WAITING, 1, 0, 1e9},
	{" %lf %% time %n", PBP_TARGET_TIME, 0.01, -0.99, 0},
};

/* Returns false if the text is none of a target. */
bool
pbp_parse_target(const char *text, PbpTarget *target)
{
	*target = (PbpTarget) {PBP_TARGET_TODAY, 0};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
	{
		int			end = -1;
		double		number;

		if (sscanf(text, forms[i].words, &number, &end) != 1 || end < 0 || text[end] != '\0')
			continue;
		*target = (PbpTarget) {forms[i].kind, forms[i].unit * number};
		return target->most >= forms[i].low && target->most <= forms[i].high;
	}
	return strcmp(text, "today") == 0;
}

static inline double
likely(double value, double error)
{
	return value + LIKELY * error;
}

/* How much more than the target allows; not positive: it is likely to be met; NaN: unknown. */
static double
excess(const PbpTotalsInput *input, const PbpTarget *target, const PbpTotal *total)
{
	double		active = input->active_ms > 0 ? input->active_ms : 0;
	double		waiting = total->waiting.value - total->waiting.change;

	switch (target->kind)
	{
		case PBP_TARGET_STORAGE:
			return likely(total->storage.value, total->storage.error) - target->most;
		case PBP_TARGET_WAITING:
			return likely(total->waiting.value, total->waiting.error) - target->most;
		case PBP_TARGET_TIME:
			return active > 0 ? likely(total->waiting.change, total->waiting.change_error) -
				target->most * active : NAN;
		case PBP_TARGET_TODAY:
			break;
	}
	if (isnan(waiting))
		return total->storage.value -
			(1 + PBP_TOLERATED_LOSS) * pbp_today_total(input).storage.value;
	return likely(total->waiting.change, total->waiting.change_error) -
		fmax(PBP_TOLERATED_LOSS * waiting, TOLERATED_WORK * active);
}

/* ---- splits ---- */

static PbpTotal
unknown_total(double factor)
{
	return (PbpTotal)
	{
		.factor = factor,.pool = NAN,.size = -1,
		.storage = PBP_NO_FIGURE,.waiting = PBP_NOT_COMPARED
	};
}

/* A size of the pool with so much page cache, now or in the hours, if these count. */
static PbpTotal
total_of_split(const PbpTotalsInput *input, double factor, int size, bool fits,
			   const PbpAdviceStorageRow *storage, const PbpHourWaiting *waits)
{
	PbpCompared waiting = waits ? pbp_waiting_of_sum(input->hours, waits) :
		pbp_waiting(&input->waiting, &input->misses[size], storage);

	if (!fits || (waits ? isnan(waiting.value) : storage->reason != PBP_STORAGE_KNOWN))
		return unknown_total(factor);
	return (PbpTotal)
	{
		.factor = factor,.pool = pbp_advice_factor(size),.size = size,
		.storage = {
			waits ? waits->storage_reads / waits->accesses : storage->ratio.value,
			waits ? waits->storage_error / waits->accesses : storage->ratio.error
		},
		.waiting = waiting
	};
}

static PbpTotal
total_of_today(const PbpTotalsInput *input, int size)
{
	return total_of_split(input, 1, size, input->fits[size], &input->fixed[size],
						  input->hours ? &input->hours->sizes[size] : NULL);
}

/* Splits of today's memory that are of the same kinds as those of other totals. */
static PbpTotal
kind_of_split(const PbpTotalsInput *input, int i, int kind)
{
	int			larger = input->splits[PBP_TOTAL_TODAY + 1][PBP_SPLITS - 1].size;
	const PbpAdviceSplit *split = &input->splits[i][kind];

	if (i != PBP_TOTAL_TODAY)
		return total_of_split(input, pbp_total_factor(i), split->size, split->fits, &split->storage,
							  input->hours ?
							  &input->hours->splits[pbp_other_split(i, kind)] : NULL);
	if (kind < PBP_SPLITS - 1)
		return total_of_today(input, kind == 0 ? 0 : PBP_ADVICE_BASELINE);
	return total_of_today(input, input->fits[larger] ?
						  larger : input->splits[PBP_TOTAL_TODAY - 1][PBP_SPLITS - 1].size);
}

/* What splits are compared by. */
static double
figure_of(const PbpTotal *total)
{
	return isnan(total->waiting.value) ? total->storage.value : total->waiting.value;
}

/* All come from one sample, so the larger error is that of the difference. */
static bool
is_certainly_better(const PbpTotal *one, const PbpTotal *other)
{
	if (isnan(one->waiting.value) || isnan(other->waiting.value))
		return figure_of(one) + fmax(one->storage.error, other->storage.error) < figure_of(other);
	return one->waiting.change +
		fmax(one->waiting.change_error, other->waiting.change_error) < other->waiting.change;
}

/* True if the first one is better.  The advised pool is, unless the other certainly is. */
static bool
is_better(const PbpTotalsInput *input, const PbpTotal *one, const PbpTotal *other)
{
	if (isnan(figure_of(one)))
		return false;
	if (isnan(figure_of(other)))
		return true;
	if (one->size == input->advised)
		return !is_certainly_better(other, one);
	return other->size == input->advised ? is_certainly_better(one, other) :
		figure_of(one) < figure_of(other);
}

/* Today's memory as it is divided today. */
PbpTotal
pbp_today_total(const PbpTotalsInput *input)
{
	return total_of_today(input, PBP_ADVICE_BASELINE);
}

/* The best known split of this total; NaN if it is certain that another is better. */
static PbpTotal
best_of_total(const PbpTotalsInput *input, int i, double best_of_less)
{
	const PbpTotal unknown = unknown_total(pbp_total_factor(i));
	PbpTotal	best = unknown;
	bool		all_known = true;

	for (int kind = 0; kind < PBP_SPLITS; kind++)
	{
		PbpTotal	other = kind_of_split(input, i, kind);

		all_known = all_known && (!isnan(figure_of(&other)) || !input->splits[i][kind].fits);
		if (is_better(input, &other, &best))
			best = other;
	}
	return all_known || !(figure_of(&best) > (1 + PBP_TOLERATED_LOSS) * best_of_less) ? best :
		unknown;
}

/*
 * The best split of each total; of today's memory, the one that is advised.  With
 * more memory, sessions need not wait longer than with less.
 */
void
pbp_totals(const PbpTotalsInput *input, PbpTotal *totals)
{
	double		best_of_less = NAN;

	for (int i = 0; i < PBP_TOTALS; i++)
	{
		totals[i] = i == PBP_TOTAL_TODAY ? total_of_today(input, input->advised) :
			best_of_total(input, i, best_of_less);
		best_of_less = fmin(best_of_less, figure_of(&totals[i]));
	}
}

/* ---- the least total ---- */

/* On the line between two points, which the curve may leave by up to a quarter of its fall. */
static PbpFigure
figure_between(PbpFigure one, PbpFigure other, double share)
{
	double		fall = other.value - one.value;

	return (PbpFigure)
	{
		one.value + share * fall,
		fmax(one.error, other.error) + share * (1 - share) * fabs(fall)
	};
}

/* By the logarithm of memory: this share of the way from less to more. */
static PbpTotal
interpolate(const PbpTotal *less, const PbpTotal *more, double share)
{
	const PbpCompared *one = &less->waiting;
	const PbpCompared *other = &more->waiting;
	PbpFigure	waiting = figure_between((PbpFigure) {one->value, one->error},
										 (PbpFigure) {other->value, other->error}, share);
	PbpFigure	change = figure_between((PbpFigure) {one->change, one->change_error},
										(PbpFigure) {other->change, other->change_error}, share);

	return (PbpTotal)
	{
		.factor = less->factor * pow(more->factor / less->factor, share),
		.pool = less->pool * pow(more->pool / less->pool, share),
		.size = less->size == more->size ? less->size : -1,
		.storage = figure_between(less->storage, more->storage, share),
		.waiting = {waiting.value, waiting.error, change.value, change.error},
	};
}

/*
 * The least memory between a total and the next one at which splits of this kind
 * meet the target.  Returns false if the larger one does not.
 */
static bool
least_of_kind(const PbpTotalsInput *input, const PbpTarget *target, int i, int kind,
			  PbpTotal *least)
{
	double		here;
	double		below = NAN;
	PbpTotal	less;

	*least = kind_of_split(input, i, kind);
	here = excess(input, target, least);
	if (!(here <= 0))
		return false;
	if (i > 0)
	{
		less = kind_of_split(input, i - 1, kind);
		below = excess(input, target, &less);
	}
	if (below > 0)
		*least = interpolate(&less, least, below / (below - here));
	return true;
}

/* The split that is closest to the target; with nothing known, any. */
static PbpTotal
closest(const PbpTotalsInput *input, const PbpTarget *target, const PbpTotal *totals)
{
	PbpTotal	best = totals[PBP_TOTAL_TODAY];

	for (int i = 0; i < PBP_TOTALS * PBP_SPLITS; i++)
	{
		PbpTotal	total = kind_of_split(input, i / PBP_SPLITS, i % PBP_SPLITS);
		double		here = excess(input, target, &total);

		if (!isnan(here) && !(here >= excess(input, target, &best)))
			best = total;
	}
	return best;
}

/* What is no worse than today needs no other pool than the advised one. */
static bool
may_be_named(const PbpTotalsInput *input, const PbpTarget *target, const PbpTotal *total)
{
	return target->kind != PBP_TARGET_TODAY || total->size == input->advised;
}

PbpTargetResult
pbp_least_total(const PbpTotalsInput *input, const PbpTarget *target, PbpTotal *found)
{
	PbpTotal	totals[PBP_TOTALS];
	PbpTotal	least;
	bool		unknown_below = true;
	bool		unknown_above;

	pbp_totals(input, totals);
	unknown_above = isnan(excess(input, target, &totals[PBP_TOTALS - 1]));
	for (int i = 0; i < PBP_TOTALS; i++)
	{
		bool		met = may_be_named(input, target, &totals[i]) &&
			excess(input, target, &totals[i]) <= 0;

		if (met)
			*found = totals[i];
		for (int kind = 0; kind < PBP_SPLITS; kind++)
			if (least_of_kind(input, target, i, kind, &least) &&
				may_be_named(input, target, &least) &&
				(!met || least.factor < found->factor))
			{
				*found = least;
				met = true;
			}
		if (met)
			return unknown_below ? PBP_TARGET_MET_BELOW : PBP_TARGET_MET;
		unknown_below = isnan(excess(input, target, &totals[i]));
	}
	*found = closest(input, target, totals);
	return unknown_above ? PBP_TARGET_UNKNOWN : PBP_TARGET_MISSED;
}

int
pbp_knee_of_totals(const PbpTotal *totals)
{
	double		ratios[PBP_TOTALS];

	for (int i = 0; i < PBP_TOTALS; i++)
		ratios[i] = totals[i].storage.value;
	return pbp_knee(ratios, PBP_TOTALS, pbp_total_factor);
}

/*-------------------------------------------------------------------------
 *
 * advice_relations_answer.c
 *	  Rows about relations, made from what advice_relations.c has counted.
 *
 * Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "advice_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations that cover 95 % of a normal distribution. */
#define DEVIATIONS			1.96

/* How counts of one size become reads of a relation. */
typedef struct Effect
{
	PbpAdviceReason reason;
	double		reads_per_miss;
	double		rest;			/* reads that no counted miss explains */
	double		doubt;			/* reads that may be warm-up artifacts */
} Effect;

/* All that a row is made of. */
typedef struct Summary
{
	double		loads;			/* of all relations */
	Effect		effects[COMPARED_SIZES];
	const PbpWindow *window;
} Summary;

/* A relation that may get a row. */
typedef struct Candidate
{
	double		loads;
	uint32_t	npages;
	uint32_t	number;
} Candidate;

/*
 * Half of a 95 % interval, for a number of independent events: the distance to
 * the farther end, which is not 0 if nothing was counted.
 */
static double
count_error(double count)
{
	return DEVIATIONS * (DEVIATIONS / 2 + sqrt(count + DEVIATIONS * DEVIATIONS / 4));
}

/* The same for a share of so many events, by Wilson's interval. */
static double
share_error(double share, double nevents)
{
	double		doubt = DEVIATIONS * DEVIATIONS / nevents;
	double		middle = (share + doubt / 2) / (1 + doubt);

	return fabs(middle - share) + sqrt(doubt * (share * (1 - share) + doubt / 4)) / (1 + doubt);
}

/*
 * The effect of a size on all relations is that on the whole, so that they add
 * up.  Chance and what looks miss may make the counted misses more or less than
 * that; if by far, reads are distributed as loads are.
 */
static Effect
effect_of(const Advice *advice, int size, double counted)
{
	const Counters *counters = &advice->counters;
	Effect		effect = {0};
	PbpAdviceRow row;
	double		reads;

	pbp_advice_row(&advice->base, size, &row);
	effect.reason = row.reason;
	if (row.reason != PBP_ADVICE_KNOWN)
		return effect;
	reads = row.miss_ratio * counters->accesses - counters->reads;
	effect.reads_per_miss = counters->accesses / pbp_share_of_pool(advice) / counters->sizes[size].accesses;
	if (counted != 0)
		effect.reads_per_miss *= fmin(2, fmax(0.5, reads / (counted * effect.reads_per_miss)));
	effect.rest = reads - counted * effect.reads_per_miss;
	effect.doubt = size > BASELINE ? pbp_doubtful_share(advice, size) * counters->accesses : 0;
	return effect;
}

static void
summarize(const Advice *advice, const PbpRelationsReport *report, Summary *summary)
{
	const Relations *relations = advice->relations;
	RelationCounters sum = {0};

	for (uint32_t i = 0; i < relations->nrecords; i++)
		pbp_add_counters(&sum, &relations->records[i].counters);
	summary->loads = sum.loads / relations->weight;
	summary->effects[AT_HALF] = effect_of(advice, HALF, sum.extra_misses[AT_HALF] / relations->weight);
	summary->effects[AT_DOUBLE] = effect_of(advice, DOUBLE, sum.extra_misses[AT_DOUBLE] / relations->weight);
	summary->window = &report->windows[PBP_WINDOW_OF_RELATIONS];
}

/* More reads of one relation at a size; NaN: unknown. */
static double
more_reads(const Effect *effect, double share, double extra, double differing, double *error)
{
	*error = NAN;
	if (effect->reason != PBP_ADVICE_KNOWN)
		return NAN;
	*error = effect->reads_per_miss * count_error(differing) + effect->doubt * share;
	return effect->reads_per_miss * extra + effect->rest * share;
}

static void
fill_row(const Advice *advice, const Summary *summary, const RelationCounters *counters,
		 uint32_t npages, PbpRelationRow *row)
{
	double		weight = advice->relations->weight;
	double		share = summary->loads > 0 ? counters->loads / weight / summary->loads : 0;

	row->read_share = summary->loads > 0 ? share : NAN;
	row->read_share_error = summary->loads > 0 ? share_error(share, summary->loads) : NAN;
	row->sampled_loads = counters->sampled_loads;
	row->saved = -more_reads(&summary->effects[AT_DOUBLE], share, counters->extra_misses[AT_DOUBLE] / weight,
							 counters->differing[AT_DOUBLE] / weight, &row->saved_error);
	row->added = more_reads(&summary->effects[AT_HALF], share, counters->extra_misses[AT_HALF] / weight,
							counters->differing[AT_HALF] / weight, &row->added_error);
	row->added_error += UNSEEN_SHARE * fabs(row->added);
	row->pages = row->pages_error = NAN;
	if (summary->window->known)
		pbp_estimate_pages(&advice->relations->working_set, summary->window->level, npages,
						   &row->pages, &row->pages_error);
}

/* Most reads first, then most pages in use. */
static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *one = a;
	const Candidate *other = b;

	if (one->loads != other->loads)
		return one->loads < other->loads ? 1 : -1;
	return (one->npages < other->npages) - (one->npages > other->npages);
}

/* All relations of which anything is known; how many. */
static int
list_candidates(const Relations *relations, Candidate *candidates)
{
	int			n = 0;

	for (uint32_t i = 1; i < relations->nrecords; i++)
	{
		const RelationRecord *record = &relations->records[i];

		if (record->used && (record->counters.loads > 0 || record->counters.differing[AT_HALF] > 0 || relations->npages[i] > 0))
			candidates[n++] = (Candidate) {record->counters.loads, relations->npages[i], i};
	}
	qsort(candidates, (size_t) n, sizeof(Candidate), compare_candidates);
	return n;
}

static void
fill_rows(const Advice *advice, const Summary *summary, PbpRelationsReport *report)
{
	const Relations *relations = advice->relations;
	Candidate	candidates[PBP_MAX_RELATIONS];
	int			ncandidates = list_candidates(relations, candidates);
	RelationCounters others = relations->records[0].counters;
	uint32_t	others_npages = relations->npages[0];

	for (int i = 0; i < ncandidates; i++)
	{
		const RelationRecord *record = &relations->records[candidates[i].number];

		if (report->nrows < PBP_TOP_RELATIONS)
		{
			report->rows[report->nrows].key = record->key;
			fill_row(advice, summary, &record->counters, candidates[i].npages, &report->rows[report->nrows++]);
			continue;
		}
		pbp_add_counters(&others, &record->counters);
		others_npages += candidates[i].npages;
	}
	if (others.sampled_loads == 0 && others.differing[AT_HALF] == 0 && others_npages == 0)
		return;
	report->rows[report->nrows].others = true;
	fill_row(advice, summary, &others, others_npages, &report->rows[report->nrows++]);
}

void
pbp_advice_report_relations(const PbpAdvice *base, PbpRelationsReport *report)
{
	const Advice *advice = (const Advice *) base;
	const Relations *relations = advice->relations;
	Summary		summary;

	memset(report, 0, sizeof(*report));
	report->has_memory = relations != NULL;
	if (relations == NULL)
		return;
	memcpy(report->windows, relations->working_set.windows, sizeof(report->windows));
	summarize(advice, report, &summary);
	fill_rows(advice, &summary, report);
}

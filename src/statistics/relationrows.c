/*-------------------------------------------------------------------------
 *
 * relationrows.c
 *	  Rows about relations, made from what relationreads.c has counted.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/cachesets.h"

/* A relation with fewer events, after decay, is among the others. */
#define WORTH_A_ROW			0.5

/* Error of the extra reads at a smaller size, as a share of them, by the simulator. */
#define UNSEEN_SHARE		0.05

/* How counts of one effect become reads of a relation. */
typedef struct Effect
{
	double		counted;		/* of all relations, here and below */
	double		differing;
	double		reads_per_count;
	double		rest;			/* reads that no count explains; NaN: nothing is known */
	double		warm_up_doubt;	/* reads that may be warm-up artifacts */
	double		model_doubt;	/* reads, by all errors of the whole */
	double		unseen_share;	/* of the effect, that is a guess */
} Effect;

/* All that a row is made of. */
typedef struct Summary
{
	double		loads;			/* of all relations */
	double		waits;
	double		reads;			/* and new pages, of all relations */
	Effect		effects[EFFECTS];
} Summary;

/*
 * The effect of a size on all relations is that on the whole, so that they add
 * up.  Chance and what looks miss may make the counted events more or less than
 * that; if by far, reads are distributed as loads are.
 */
static void
scale_effect(Effect *effect, double reads)
{
	double		counted = effect->counted * effect->reads_per_count;

	if (effect->counted != 0)
		effect->reads_per_count *= fmin(2, fmax(0.5, reads / counted));
	effect->rest = reads - effect->counted * effect->reads_per_count;
}

/* More reads at this size. */
static void
estimate_misses(const Advice *advice, int size, Effect *effect)
{
	const PbpAdviceCounts *server = &advice->server;
	PbpAdviceRow row = pbp_advice_row(advice, size);

	if (row.reason != PBP_ADVICE_KNOWN)
		return;
	effect->reads_per_count = server->accesses / share_of_pool(advice) /
		advice->counters.sizes[size].accesses;
	scale_effect(effect, row.ratio.value * server->accesses - server->reads);
	if (size > BASELINE)
		effect->warm_up_doubt = pbp_counted_doubt(advice, size) * server->accesses;
	else
		effect->unseen_share = UNSEEN_SHARE;
}

/*
 * More storage reads.  Only some pages of the sample are in the
 * simulated page caches; the baseline's misses of these say how many.
 */
static void
estimate_waits(const Advice *advice, int size, Effect *effect)
{
	const PbpAdviceCounts *server = &advice->server;
	PbpAdviceStorageRow today = pbp_advice_storage_row(advice, BASELINE);
	PbpAdviceStorageRow then = pbp_advice_storage_row(advice, size);
	const CacheCounters *caches;

	if (today.reason != PBP_STORAGE_KNOWN || then.reason != PBP_STORAGE_KNOWN)
		return;
	caches = advice->cache_sets[0]->counters;
	effect->reads_per_count = (server->reads + server->extends) /
		fmin(caches[BASELINE].baseline_misses, caches[size].baseline_misses);
	scale_effect(effect, (then.ratio.value - today.ratio.value) * server->accesses);
	effect->model_doubt = fmax(today.ratio.error, then.ratio.error) * server->accesses;
}

static Summary
summarize(const Advice *advice)
{
	const Relations *relations = advice->relations;
	RelationCounters sum = {0};
	Summary		summary = {.reads = advice->server.reads + advice->server.extends};
	Effect	   *effects = summary.effects;

	for (uint32_t i = 0; i < relations->nrecords; i++)
		pbp_add_doubles(&sum, &relations->records[i].counters, sizeof(sum));
	summary.loads = sum.loads;
	summary.waits = sum.waits;
	for (int i = 0; i < EFFECTS; i++)
		effects[i] = (Effect) {
			.counted = sum.extra[i],.differing = sum.differing[i],.rest = NAN
		};
	estimate_misses(advice, HALF, &effects[MISSES_AT_HALF]);
	estimate_misses(advice, DOUBLE, &effects[MISSES_AT_DOUBLE]);
	estimate_waits(advice, HALF, &effects[WAITS_AT_HALF]);
	estimate_waits(advice, DOUBLE, &effects[WAITS_AT_DOUBLE]);
	return summary;
}

/* A relation's share of what no count explains. */
static double
share_of_rest(const Summary *summary, const RelationCounters *counters, int effect)
{
	if ((effect == WAITS_AT_HALF || effect == WAITS_AT_DOUBLE) && summary->waits > 0)
		return counters->waits / summary->waits;
	return summary->loads > 0 ? counters->loads / summary->loads : 0;
}

/* More reads of a relation. */
static PbpChange
change_of(const Summary *summary, const RelationCounters *counters, int i)
{
	const Effect *effect = &summary->effects[i];
	double		share = share_of_rest(summary, counters, i);
	double		differing = counters->differing[i];
	PbpChange	change = {
		.reads = effect->reads_per_count * counters->extra[i] + effect->rest * share,
		.error = effect->reads_per_count * pbp_count_error(differing, 0),
	};

	if (differing > 0)
		change.error = hypot(change.error, effect->model_doubt * differing / effect->differing);
	change.error += effect->warm_up_doubt * share + effect->unseen_share * fabs(change.reads);
	return change;
}

/* No more can wait for storage than are read at either size. */
static void
bound_waits(PbpChange *waits, const PbpChange *misses, double reads)
{
	waits->error = fmin(waits->error,
						fabs(waits->reads) + reads + fmax(0, misses->reads + misses->error));
}

static void
fill_changes(const Summary *summary, const RelationCounters *counters, PbpRelationRow *row)
{
	double		reads = (row->read_share + row->read_share_error) * summary->reads;
	PbpChange	changes[EFFECTS];

	for (int i = 0; i < EFFECTS; i++)
		changes[i] = change_of(summary, counters, i);
	bound_waits(&changes[WAITS_AT_HALF], &changes[MISSES_AT_HALF], reads);
	bound_waits(&changes[WAITS_AT_DOUBLE], &changes[MISSES_AT_DOUBLE], reads);
	row->saved = (PbpChange) {-changes[MISSES_AT_DOUBLE].reads, changes[MISSES_AT_DOUBLE].error};
	row->added = changes[MISSES_AT_HALF];
	row->storage_saved = (PbpChange) {-changes[WAITS_AT_DOUBLE].reads,
									  changes[WAITS_AT_DOUBLE].error};
	row->storage_added = changes[WAITS_AT_HALF];
}

static void
fill_row(const Advice *advice, const Summary *summary, const RelationRecord *record,
		 PbpRelationRow *row)
{
	const RelationCounters *counters = &record->counters;
	const PbpWorkingSet *working_set = &advice->relations->working_set;
	const PbpWindow *window = &working_set->windows[PBP_WINDOW_OF_RELATIONS];
	double		share = summary->loads > 0 ? counters->loads / summary->loads : NAN;

	row->key = record->key;
	row->read_share = share;
	row->read_share_error = summary->loads > 0 ? pbp_share_error(share, summary->loads) : NAN;
	row->loads = share * summary->reads;
	row->sampled_loads = counters->sampled_loads;
	row->read_again = counters->evicted < PBP_ENOUGH_EVENTS ? NAN :
		fmin(1, counters->read_again / counters->evicted);
	fill_changes(summary, counters, row);
	row->pages = row->pages_error = NAN;
	/* no use of pages at the maximum count shows, so none is not known to be none */
	if (window->known && (record->npages > 0 || record->nhidden == 0))
		pbp_estimate_pages(working_set, window->halvings, record->npages, &row->pages,
						   &row->pages_error);
}

/* Most reads first, then most pages in use, or whose uses do not show, then as they were found. */
static int
compare_records(const void *a, const void *b)
{
	const RelationRecord *one = *(const RelationRecord *const *) a;
	const RelationRecord *other = *(const RelationRecord *const *) b;

	if (one->counters.loads != other->counters.loads)
		return one->counters.loads < other->counters.loads ? 1 : -1;
	if (one->npages != other->npages)
		return one->npages < other->npages ? 1 : -1;
	if (one->nhidden != other->nhidden)
		return one->nhidden < other->nhidden ? 1 : -1;
	return (one > other) - (one < other);
}

/* True if there is still something to say: what was counted long ago has decayed. */
static bool
has_news(const RelationRecord *record)
{
	const RelationCounters *counters = &record->counters;

	return record->npages > 0 || record->nhidden > 0 ||
		counters->loads >= WORTH_A_ROW || counters->differing[MISSES_AT_HALF] >= WORTH_A_ROW;
}

static void
fill_rows(const Advice *advice, const Summary *summary, PbpRelationsReport *report)
{
	const Relations *relations = advice->relations;
	const RelationRecord *records[PBP_MAX_RELATIONS];
	int			nrecords = 0;
	RelationRecord others = relations->records[0];

	for (uint32_t i = 1; i < relations->nrecords; i++)
		if (relations->records[i].used)
			records[nrecords++] = &relations->records[i];
	qsort(records, (size_t) nrecords, sizeof(records[0]), compare_records);
	for (int i = 0; i < nrecords; i++)
	{
		if (report->nrows < PBP_TOP_RELATIONS && has_news(records[i]))
		{
			fill_row(advice, summary, records[i], &report->rows[report->nrows++]);
			continue;
		}
		pbp_add_doubles(&others.counters, &records[i]->counters, sizeof(others.counters));
		others.npages += records[i]->npages;
		others.nhidden += records[i]->nhidden;
	}
	if (others.counters.sampled_loads == 0 && others.counters.differing[MISSES_AT_HALF] == 0 &&
		others.npages == 0)
		return;
	report->rows[report->nrows].others = true;
	fill_row(advice, summary, &others, &report->rows[report->nrows++]);
}

void
pbp_advice_report_relations(const PbpAdvice *advice, PbpRelationsReport *report)
{
	const Relations *relations = advice->relations;
	Summary		summary;

	memset(report, 0, sizeof(*report));
	report->has_memory = relations != NULL;
	if (relations == NULL)
		return;
	memcpy(report->windows, relations->working_set.windows, sizeof(report->windows));
	summary = summarize(advice);
	fill_rows(advice, &summary, report);
}

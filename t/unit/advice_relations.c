/*
 * advice_relations.c
 *	  Compares the figures of src/statistics/relationrows.c for each relation with
 *	  pools of half and twice the size that run the same trace, and with the
 *	  figures of the advice.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice_model.h"

#define BUFFERS			16384
#define PARTS			8		/* relations of about the same size */
#define MANY			5000	/* relations, more than find room */
#define LARGE			(MANY + 1)
#define ADVICE_BYTES	(600 * 1024)
#define SETTLE			8		/* pools' worth of reads before the comparison */
#define COMPARE			10
#define TRACE_SEED		3

static PbpRelationsReport report;
static int	nrelations;

/* Pages in a row belong to one relation, whose number begins with 1. */
static uint32_t
relation_of(int page)
{
	if (nrelations == MANY && page >= trace_pages(BUFFERS) / 2)
		return LARGE;
	return 1 + (uint32_t) ((int64_t) page * nrelations / trace_pages(BUFFERS));
}

static void
begin(Bench *bench, Kind kind, int relations)
{
	const Run	run = {.kind = kind, .nbuffers = BUFFERS, .seed = TRACE_SEED, .looks_per_pass = 10, .sample_seed = 1};

	nrelations = relations;
	bench_start_run(bench, &run, 1, ADVICE_BYTES, 1.0 / 8);
	watch_relations(&bench->run, relation_of, 100000);
}

/* Reads of each relation by a pool of this size, in a later part of the trace. */
static void
count_reads(Kind kind, double factor, int64_t accesses, double *reads)
{
	Pool		pool;
	Trace		trace;

	memset(reads, 0, sizeof(double) * PARTS);
	pool_init(&pool, (int) (factor * BUFFERS), trace_pages(BUFFERS));
	trace_init(&trace, kind, BUFFERS, TRACE_SEED, INT64_MAX);
	while (trace.count < accesses)
	{
		bool		bulk;
		int			page = next_page(&trace, &bulk);

		reads[relation_of(page) - 1] += trace.count > accesses / 2 && pool.buffer[page] == NONE;
		pool_access(&pool, page, bulk);
	}
	pool_free(&pool);
}

/* The rows add up to the advice. */
static void
add_up(const PbpAdvice *advice, const char *what)
{
	const PbpWindow *window = &report.windows[PBP_WINDOW_OF_RELATIONS];
	PbpAdviceTotals totals;
	PbpAdviceRow half;
	PbpAdviceRow twice;
	double		share = 0;
	double		saved = 0;
	double		added = 0;
	double		loads = 0;
	double		pages = 0;

	pbp_advice_report_relations(advice, &report);
	totals = totals_of(advice);
	half = row_of(advice, PBP_ADVICE_HALF);
	twice = row_of(advice, PBP_ADVICE_DOUBLE);
	for (int i = 0; i < report.nrows; i++)
	{
		share += report.rows[i].read_share;
		saved += report.rows[i].saved.reads;
		added += report.rows[i].added.reads;
		loads += report.rows[i].sampled_loads;
		pages += report.rows[i].pages;
	}
	printf("# %s: %d rows, saved %.1f of %.1f, added %.1f of %.1f\n", what, report.nrows, saved,
		   totals.reads - twice.ratio.value * totals.accesses, added, half.ratio.value * totals.accesses - totals.reads);
	okf(fabs(share - 1) < 1e-9, "%s: shares of the reads add up to 1", what);
	okf(fabs(saved - (totals.reads - twice.ratio.value * totals.accesses)) < 1e-6 * totals.reads,
		"%s: reads saved add up to those of the advice", what);
	okf(fabs(added - (half.ratio.value * totals.accesses - totals.reads)) < 1e-6 * totals.reads, "%s: so do reads added", what);
	okf(loads == (double) totals.sampled_loads, "%s: and loads", what);
	if (window->known)
		okf(fabs(pages - window->pages) < 1e-6 * pages, "%s: and pages in use", what);
}

/* How many of the figures are within their errors, and the worst of the rest. */
typedef struct Accuracy
{
	int			nfigures;
	int			nwithin;
	double		worst;			/* as a share of all reads */
} Accuracy;

static void
compare(Accuracy *accuracy, const char *what, int relation, double estimate, double error, double truth, double reads)
{
	printf("# relation %d, %s: true %.0f, estimate %.0f +- %.0f\n", relation, what, truth, estimate, error);
	accuracy->nfigures++;
	accuracy->nwithin += fabs(estimate - truth) <= error;
	accuracy->worst = fmax(accuracy->worst, fabs(estimate - truth) / reads);
}

/* With figures of pools of these sizes, for as many reads as the advice remembers. */
static void
compare_relations(Kind kind, Accuracy *accuracy)
{
	Bench		bench;
	PbpAdviceTotals totals;
	double		today[PARTS];
	double		half[PARTS];
	double		twice[PARTS];
	double		sum = 0;
	double		scale;

	begin(&bench, kind, PARTS);
	bench_run(&bench, SETTLE + COMPARE, true);
	add_up(bench.run.advice[0], kind_names[kind]);
	totals = totals_of(bench.run.advice[0]);
	count_reads(kind, 1, bench.trace.count, today);
	count_reads(kind, 0.5, bench.trace.count, half);
	count_reads(kind, 2, bench.trace.count, twice);
	for (int i = 0; i < PARTS; i++)
		sum += today[i];
	scale = totals.reads / sum;
	for (int i = 0; i < report.nrows; i++)
	{
		const PbpRelationRow *row = &report.rows[i];
		int			relation = (int) row->key.relfilenode - 1;

		if (row->others)
			continue;
		compare(accuracy, "share of the reads", relation, row->read_share * totals.reads,
				row->read_share_error * totals.reads, today[relation] * scale, totals.reads);
		compare(accuracy, "saved", relation, row->saved.reads, row->saved.error,
				(today[relation] - twice[relation]) * scale, totals.reads);
		compare(accuracy, "added", relation, row->added.reads, row->added.error,
				(half[relation] - today[relation]) * scale, totals.reads);
	}
	bench_finish(&bench);
}

static void
all_kinds(void)
{
	Accuracy	accuracy = {0};
	const Kind	kinds[] = {UNIFORM, ZIPF, TWO_SETS, SCANS, PGBENCH};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		compare_relations(kinds[i], &accuracy);
	printf("# %d of %d within their errors, the worst off by %.4f of the reads\n", accuracy.nwithin, accuracy.nfigures, accuracy.worst);
	ok(accuracy.nfigures >= 60 && accuracy.nwithin >= 0.9 * accuracy.nfigures, "nine in ten figures are within their errors");
	ok(accuracy.worst < 0.05, "and none is off by more than a twentieth of the reads");
}

/* Relations that find no room, and one later that is read more than all others. */
static void
many_relations(void)
{
	Bench		bench;

	begin(&bench, MOVING, MANY);
	bench_run(&bench, SETTLE, true);
	add_up(bench.run.advice[0], "many relations");
	ok(report.nrows == PBP_RELATION_ROWS && report.rows[PBP_TOP_RELATIONS].others && report.rows[PBP_TOP_RELATIONS].read_share > 0.5,
	   "relations without a row of their own have one together");
	ok(report.rows[0].read_share < 0.05, "none of the others is read much");

	bench.trace.move_at = bench.trace.count;
	bench_run(&bench, SETTLE, true);
	add_up(bench.run.advice[0], "many relations, then one");
	ok(!report.rows[0].others && report.rows[0].key.relfilenode == LARGE && report.rows[0].read_share > 0.8,
	   "the one that is read now comes first");
	bench_finish(&bench);
}

static void
few_bytes(void)
{
	PbpAdvice  *advice = pbp_advice_init(malloc(ADVICE_BYTES), ADVICE_BYTES, BUFFERS, USAGE_MAX, 1.0 / 8, true);
	char	   *memory = malloc(100000);
	size_t		least = 0;

	while (least < 100000 && !pbp_advice_watch_relations(advice, memory, least))
		least += 8;
	printf("# at least %zu bytes\n", least);
	ok(least > 2 * BUFFERS / 8 && least < 65000, "relations need a bounded amount of memory");
}

int
main(void)
{
	ok(pbp_advice_factor(PBP_ADVICE_HALF) == 0.5 && pbp_advice_factor(PBP_ADVICE_DOUBLE) == 2, "half and twice the size are what they are called");
	all_kinds();
	many_relations();
	few_bytes();
	return end_of_tests();
}

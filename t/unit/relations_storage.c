/*
 * relations_storage.c
 *	  Compares the storage reads that src/statistics/relationrows.c predicts for each
 *	  relation with exact models of half and twice the pool above the page cache
 *	  that memory leaves, and with the figures of the advice.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

#define PARTS			8		/* relations of about the same size */
#define TODAY_MB		256
#define SAMPLING_RATE	(1.0 / 16)
#define ADVICE_BYTES	(4 * 1024 * 1024)
#define RELATION_BYTES	(512 * 1024)
#define PRECISE			0.01	/* of the accesses */

static PbpRelationsReport report;

/* Numbers begin with 1. */
static uint32_t
relation_of(int page)
{
	return 1 + (uint32_t) ((int64_t) page * PARTS / LOAD_PAGES);
}

/* The advice that learns nothing is NULL. */
static void
begin_split(Scene *scene, Load load, int nbuffers, PbpAdvice *advice)
{
	*scene = (Scene) {.run = {.nbuffers = nbuffers,.looks_per_pass = 10,.sample_seed = 1,.advice = {advice}}};
	scene_begin(scene, load, os_pages(nbuffers));
	if (advice != NULL)
		watch_relations(&scene->run, relation_of, RELATION_BYTES);
}

/* Storage reads of each relation in the window. */
static void
count_reads(Load load, int nbuffers, PbpAdvice *advice, double *reads)
{
	Scene		scene;

	begin_split(&scene, load, nbuffers, advice);
	memset(reads, 0, sizeof(double) * PARTS);
	while (scene.memory.accesses < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		LoadTrace	trace = scene.trace;
		int64_t		before = scene.memory.storage_reads;

		scene_step(&scene);
		if (scene.memory.storage_reads > before && scene.memory.accesses > (int64_t) WARM_UP * MEMORY)
			reads[relation_of(load_next(&trace)) - 1]++;
	}
	memory_free(&scene.memory);
}

static PbpAdvice *
new_advice(void)
{
	return pbp_advice_init(malloc(ADVICE_BYTES), ADVICE_BYTES, megabytes(TODAY_MB), USAGE_MAX, SAMPLING_RATE, true);
}

/* Learn from today's split, whose reads are counted, too. */
static PbpAdvice *
learn(Load load, double *reads)
{
	PbpAdvice  *advice = new_advice();

	pbp_advice_init_storage(advice, malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
	pbp_advice_set_os_cache(advice, os_pages(megabytes(TODAY_MB)));
	count_reads(load, megabytes(TODAY_MB), advice, reads);
	return advice;
}

/* More storage reads at a size than today, by the advice. */
static double
more_by_advice(const PbpAdvice *advice, int size)
{
	PbpAdviceTotals totals = totals_of(advice);
	PbpAdviceStorageRow today = storage_row_of(advice, PBP_ADVICE_BASELINE);
	PbpAdviceStorageRow then = storage_row_of(advice, size);

	return (then.ratio.value - today.ratio.value) * totals.accesses;
}

/* How many of the figures are within their errors, and how many of these errors are small. */
typedef struct Accuracy
{
	int			nfigures;
	int			nwithin;
	int			nprecise;
} Accuracy;

static void
compare(Accuracy *accuracy, const char *what, uint32_t relation, PbpChange change, double truth, double accesses)
{
	printf("# relation %u, storage reads %s: true %.0f, estimate %.0f +- %.0f\n", relation, what, truth, change.reads, change.error);
	accuracy->nfigures++;
	accuracy->nwithin += fabs(change.reads - truth) <= change.error;
	accuracy->nprecise += change.error < PRECISE * accesses;
}

static void
compare_load(Load load, Accuracy *accuracy)
{
	double		today[PARTS];
	double		half[PARTS];
	double		twice[PARTS];
	double		saved = 0;
	double		added = 0;
	double		scale;
	PbpAdviceTotals totals;
	PbpAdvice  *advice = learn(load, today);

	count_reads(load, megabytes(TODAY_MB / 2), NULL, half);
	count_reads(load, megabytes(TODAY_MB * 2), NULL, twice);
	pbp_advice_report_relations(advice, &report);
	totals = totals_of(advice);
	scale = totals.accesses / ((double) WINDOW * MEMORY);
	for (int i = 0; i < report.nrows; i++)
	{
		const PbpRelationRow *row = &report.rows[i];
		uint32_t	relation = row->key.relfilenode;

		saved += row->storage_saved.reads;
		added += row->storage_added.reads;
		/* where what is read moves, the last of it counts most */
		if (row->others || load == SHIFTING)
			continue;
		compare(accuracy, "saved", relation, row->storage_saved, (today[relation - 1] - twice[relation - 1]) * scale, totals.accesses);
		compare(accuracy, "added", relation, row->storage_added, (half[relation - 1] - today[relation - 1]) * scale, totals.accesses);
	}
	printf("# %s: %d rows, saved %.1f of %.1f, added %.1f of %.1f\n", load_names[load], report.nrows,
		   saved, -more_by_advice(advice, PBP_ADVICE_DOUBLE), added, more_by_advice(advice, PBP_ADVICE_HALF));
	okf(fabs(saved + more_by_advice(advice, PBP_ADVICE_DOUBLE)) < 1e-6 * totals.accesses,
		"%s: storage reads saved add up to those of the advice", load_names[load]);
	okf(fabs(added - more_by_advice(advice, PBP_ADVICE_HALF)) < 1e-6 * totals.accesses,
		"%s: so do storage reads added", load_names[load]);
}

/* Without a page cache to simulate, these figures are unknown. */
static void
no_storage(void)
{
	PbpAdvice  *advice = new_advice();
	Scene		scene;
	int			nknown = 0;

	begin_split(&scene, UNIFORM_PAGES, megabytes(TODAY_MB), advice);
	scene_run(&scene, WARM_UP / 2);
	memory_free(&scene.memory);
	pbp_advice_report_relations(advice, &report);
	for (int i = 0; i < report.nrows; i++)
		nknown += isnan(report.rows[i].storage_saved.reads) && isnan(report.rows[i].storage_added.error) &&
			report.rows[i].saved.reads > 0 && report.rows[i].added.reads > 0;
	ok(report.nrows == PARTS && nknown == PARTS, "without a simulated page cache, reads are known, and storage reads unknown");
}

int
main(void)
{
	Accuracy	accuracy = {0};

	for (int load = 0; load < LOADS; load++)
		compare_load((Load) load, &accuracy);
	printf("# %d of %d within their errors, of which %d are precise\n", accuracy.nwithin, accuracy.nfigures, accuracy.nprecise);
	ok(accuracy.nfigures == 2 * PARTS * (LOADS - 1) && accuracy.nwithin >= 0.9 * accuracy.nfigures,
	   "nine in ten figures are within their errors");
	ok(accuracy.nprecise >= 0.8 * accuracy.nfigures, "most of these errors are below a hundredth of the accesses");
	no_storage();
	return end_of_tests();
}

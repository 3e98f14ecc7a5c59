/*
 * scans.c
 *	  Large scans beside lookups: what waits for storage of either at other sizes,
 *	  against an exact model of both caches at those sizes.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage_model.h"

#define TODAY_MB		256
#define LOOKUPS			(MEMORY * 5 / 4)	/* pages; those of scans come after them */
#define REQUESTS		3	/* for a page of a lookup, or as the last of them, for one of a scan */

/* What was asked since the beginning, and what of it came from storage. */
typedef struct Asked
{
	int64_t		lookups;
	int64_t		waits;
	int64_t		scanned;
	int64_t		scan_waits;
} Asked;

/* How often either waits, as a share. */
typedef struct Shares
{
	double		lookups;
	double		scans;
} Shares;

static void
ask_page(Memory *memory, LoadTrace *trace, int scanned_pages, Asked *asked)
{
	int64_t		before = memory->storage_reads;

	if ((asked->lookups + asked->scanned) % REQUESTS == 0)
	{
		memory_access(memory, LOOKUPS + (int) (asked->scanned++ % scanned_pages));
		asked->scan_waits += memory->storage_reads - before;
		return;
	}
	memory_access(memory, load_next(trace) % LOOKUPS);
	asked->lookups++;
	asked->waits += memory->storage_reads - before;
}

static Shares
true_shares(int nbuffers, int scanned_pages)
{
	Memory		memory;
	LoadTrace	trace;
	Asked		asked = {0};
	Asked		before = {0};

	memory_init(&memory, load_pages(MEMORY), nbuffers, os_pages(nbuffers), BLOCK_BYTES);
	memory.rings_from = LOOKUPS;
	load_init(&trace, ZIPF_PAGES, MEMORY, 7);
	while (asked.lookups < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		ask_page(&memory, &trace, scanned_pages, &asked);
		if (asked.lookups == (int64_t) WARM_UP * MEMORY)
			before = asked;
	}
	memory_free(&memory);
	return (Shares)
	{
		(double) (asked.waits - before.waits) / (double) (asked.lookups - before.lookups),
		(double) (asked.scan_waits - before.scan_waits) / (double) (asked.scanned - before.scanned)
	};
}

static void
learn(Scene *scene, int scanned_pages)
{
	int			os_cache = os_pages(megabytes(TODAY_MB));
	Asked		asked = {0};
	int64_t		played = 0;

	scene_start(scene, ZIPF_PAGES, megabytes(TODAY_MB), os_cache, STORAGE_BYTES);
	scene->memory.rings_from = LOOKUPS;
	pbp_advice_set_os_cache(scene->run.advice[0], os_cache);
	while (asked.lookups < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		Trace		clock = {.count = asked.lookups};
		int64_t		looked = scene->watch.ticks;

		ask_page(&scene->memory, &scene->trace, scanned_pages, &asked);
		watch_pool(&scene->run, &scene->memory.pool, &clock, &scene->watch);
		if (scene->watch.ticks == looked)
			continue;
		pbp_advice_scan(scene->run.advice[0], &(PbpScan) {1, scanned_pages, played, asked.scanned - played});
		played = asked.scanned;
	}
}

/* A table of so much of the memory is scanned again and again. */
static void
scan(double share_of_memory, double most_lookups_error)
{
	static const int sizes[] = {2, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE, PBP_ADVICE_TRIPLE};
	int			scanned_pages = (int) (share_of_memory * MEMORY);
	int			covered = 0;
	int			scans_covered = 0;
	double		worst = 0;
	Scene		scene;

	learn(&scene, scanned_pages);
	for (int i = 0; i < 4; i++)
	{
		PbpAdviceStorageRow row = storage_row_of(scene.run.advice[0], sizes[i]);
		double		factor = pbp_advice_factor(sizes[i]);
		Shares		truth = true_shares((int) (factor * megabytes(TODAY_MB)), scanned_pages);
		double		scans = row.scan_ratio * (REQUESTS - 1);
		double		scans_error = row.scan_error * (REQUESTS - 1);

		printf("# scans of %.2f of memory, %.3f of the pool: storage %.4f +- %.4f, true %.4f; of scans %.4f +- %.4f, true %.4f\n", share_of_memory,
			   factor, row.storage_ratio, row.uncertainty, truth.lookups, scans, scans_error, truth.scans);
		covered += fabs(row.storage_ratio - truth.lookups) <= row.uncertainty;
		scans_covered += fabs(scans - truth.scans) <= scans_error + 0.01;
		worst = fmax(worst, fabs(row.storage_ratio - truth.lookups));
	}
	okf(covered >= 3, "scans of %.2f of memory: what waits of the lookups is within its interval (%d of 4)", share_of_memory, covered);
	okf(worst <= most_lookups_error, "scans of %.2f of memory: and right to %.3f (%.4f)", share_of_memory, most_lookups_error, worst);
	okf(scans_covered == 4, "scans of %.2f of memory: what waits of the scans, too (%d of 4)", share_of_memory, scans_covered);
	scene_finish(&scene);
}

int
main(void)
{
	scan(0.3, 0.005);
	scan(0.6, 0.06);			/* fits into the page cache, or nearly */
	scan(1, 0.01);
	return end_of_tests();
}

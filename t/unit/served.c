/*
 * served.c
 *	  Which share of the misses does the page cache serve?  Compares what probes
 *	  of a simulated page cache find with what it served, and corrects the size
 *	  of the advice's page caches by that.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/served.h"
#include "storage_model.h"

#define POOL			(MEMORY / 4)
#define LOOKS_PER_PASS	10
#define ACCESS_NS		INT64_C(20000)
#define SECOND			INT64_C(1000000000)
#define UNCACHED_ROUNDS	8

/* A pool above a page cache, and a worker that looks at one and probes the other. */
typedef struct Scene
{
	Memory		memory;
	LoadTrace	trace;
	PbpServed	served;
	int		   *tags;			/* of remembered pages */
	int		   *last_buffer;	/* of each page, when a look met it last */
	uint64_t   *last_look;		/* which one that was */
	uint64_t	look;
	int			round;
	Run			run;			/* its advice, if that is wanted */
	Watch		watch;
	double		probe_seconds;	/* between two rounds */
	int64_t		probed_ns;
	double		lies;			/* share of the pages that are said to be cached */
} Scene;

static void
scene_start(Scene *scene, Load load, int os_cache)
{
	memset(scene, 0, sizeof(*scene));
	scene->run = (Run) {.nbuffers = POOL};
	scene->probe_seconds = 1;
	start(&scene->run, 1, (size_t) POOL * 20, 1.0 / 10);
	memory_init(&scene->memory, load_pages(MEMORY), POOL, os_cache, BLOCK_BYTES);
	scene->memory.written_from = scene->run.written_from = load_written_from(load, MEMORY);
	load_init(&scene->trace, load, MEMORY, 7);
	scene->tags = calloc(PBP_SERVED_PAGES, sizeof(int));
	scene->last_buffer = calloc((size_t) load_pages(MEMORY), sizeof(int));
	scene->last_look = calloc((size_t) load_pages(MEMORY), sizeof(uint64_t));
}

static void
scene_finish(Scene *scene)
{
	memory_free(&scene->memory);
	finish(&scene->run);
	free(scene->tags);
	free(scene->last_buffer);
	free(scene->last_look);
}

static int64_t
now_ns(const Scene *scene)
{
	return scene->memory.accesses * ACCESS_NS;
}

static void
look(Scene *scene)
{
	const Pool *pool = &scene->memory.pool;
	PbpAdvice  *advice = scene->run.advice[0];

	pbp_served_begin_look(&scene->served, ++scene->look, now_ns(scene));
	for (int i = 0; i < pool->used; i++)
	{
		int			page = pool->page[i];
		uint64_t	key = key_of(page, sample_seed(0));
		int			number;

		if (!pbp_advice_sampled(advice, key))
			continue;
		number = pbp_served_visit(&scene->served, key, scene->last_look[page] + 1 != scene->look || scene->last_buffer[page] != i);
		if (number >= 0)
			scene->tags[number] = page;
		scene->last_look[page] = scene->look;
		scene->last_buffer[page] = i;
	}
	look_at_pool(&scene->run, 0, pool, &scene->watch);
	scene->watch = (Watch) {pool->ticks, scene->memory.accesses, pool->hits, pool->reads, 0};
}

/* The kernel is asked about all remembered pages, but rarely about those that were not cached. */
static void
probe(Scene *scene)
{
	scene->round++;
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		const PbpServedPage *page = &scene->served.pages[i];
		bool		cached = scene->memory.cache.pages[scene->tags[i]].list != NONE;

		if (!page->used || (page->known && !page->cached && (i + scene->round) % UNCACHED_ROUNDS != 0))
			continue;
		pbp_served_answer(&scene->served, i, cached || i < scene->lies * PBP_SERVED_PAGES, now_ns(scene));
	}
	scene->probed_ns = now_ns(scene);
}

/* The share that the page cache serves, during so many accesses for each page of memory. */
static double
scene_run(Scene *scene, double accesses)
{
	int64_t		end = scene->memory.accesses + (int64_t) (accesses * MEMORY);
	int64_t		reads = scene->memory.reads;
	int64_t		storage_reads = scene->memory.storage_reads;

	while (scene->memory.accesses < end)
	{
		memory_access(&scene->memory, load_next(&scene->trace));
		if (scene->memory.pool.ticks - scene->watch.ticks < POOL / LOOKS_PER_PASS)
			continue;
		look(scene);
		if ((double) (now_ns(scene) - scene->probed_ns) > scene->probe_seconds * (double) SECOND)
			probe(scene);
	}
	return 1 - (double) (scene->memory.storage_reads - storage_reads) / (double) (scene->memory.reads - reads);
}

/* What probes find is what the page cache serves. */
static void
measure_loads(void)
{
	for (int load = 0; load < LOADS; load++)
	{
		Scene		scene;
		PbpServedShare share = {0};
		double		truth;
		bool		known;
		char		what[120];

		scene_start(&scene, (Load) load, os_pages(POOL));
		scene_run(&scene, WARM_UP);
		truth = scene_run(&scene, WINDOW);
		known = pbp_served_share(&scene.served, 0, &share);
		printf("# %-13s served %.4f, measured %.4f +- %.4f\n", load_names[load], truth, share.share, share.error);
		snprintf(what, sizeof(what), "%s: the share that the page cache serves is measured", load_names[load]);
		ok(known && fabs(share.share - truth) <= share.error && share.error < 0.1, what);
		scene_finish(&scene);
	}
}

/* A kernel whose answers are wrong for some pages. */
static void
notice_lies(void)
{
	Scene		scene;
	PbpServedShare share = {0};
	double		truth;

	scene_start(&scene, ACCOUNTS, os_pages(POOL));
	scene_run(&scene, WARM_UP);
	scene.lies = 0.4;
	truth = scene_run(&scene, WINDOW);
	ok(pbp_served_share(&scene.served, 0, &share) && share.share - truth > share.error, "wrong answers make a difference beyond the error");
	scene.lies = 0;
	truth = scene_run(&scene, WINDOW);
	ok(pbp_served_share(&scene.served, 0, &share) && fabs(share.share - truth) <= share.error, "and are forgotten");
	scene_finish(&scene);
}

/* Between two probes, much is evicted. */
static void
probe_rarely(void)
{
	static const double seconds[] = {1, 8, 64};
	double		errors[3] = {0};
	int			wrong = 0;
	int			known = 0;

	for (int i = 0; i < 3; i++)
	{
		Scene		scene;
		PbpServedShare share = {0};
		double		truth;

		scene_start(&scene, ZIPF_PAGES, os_pages(POOL));
		scene.probe_seconds = seconds[i];
		scene_run(&scene, WARM_UP);
		truth = scene_run(&scene, WINDOW);
		if (pbp_served_share(&scene.served, 0, &share))
		{
			known++;
			wrong += fabs(share.share - truth) > share.error;
		}
		errors[i] = share.error;
		printf("# probed every %.0f s: served %.4f, measured %.4f +- %.4f\n", seconds[i], truth, share.share, share.error);
		scene_finish(&scene);
	}
	ok(known >= 2 && wrong == 0, "with rare probes, the share is unknown or within the error");
	ok(errors[0] < errors[1] && errors[1] < errors[2], "which is then larger");
}

/* When nothing is measured. */
static void
know_nothing(void)
{
	Scene		scene;
	PbpServedShare share;

	scene_start(&scene, ACCOUNTS, os_pages(POOL));
	ok(!pbp_served_share(&scene.served, 0, &share), "before anything was loaded, nothing is known");
	scene.probe_seconds = INFINITY;
	scene_run(&scene, WARM_UP);
	ok(!pbp_served_share(&scene.served, 0, &share), "nor without probes");
	scene.probe_seconds = 1;
	scene_run(&scene, WARM_UP);
	ok(pbp_served_share(&scene.served, 0, &share), "but with them");
	ok(!pbp_served_share(&(PbpServed) {.look = 1}, 1, &share), "nor after all was forgotten");
	scene.probe_seconds = INFINITY;
	pbp_served_forget_answers(&scene.served);
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		scene.served.answers = 0;
	scene_run(&scene, WARM_UP);
	ok(!pbp_served_share(&scene.served, 0, &share), "nor while the kernel is not asked any more");
	scene_finish(&scene);

	/* each page once, as new pages and those of a scan come */
	memset(&scene.served, 0, sizeof(scene.served));
	for (int i = 0; i < 100000; i++)
	{
		pbp_served_begin_look(&scene.served, (uint64_t) i / 100 + 1, i * SECOND);
		pbp_served_visit(&scene.served, key_of(i, 1), true);
	}
	ok(!pbp_served_share(&scene.served, 0, &share), "pages that are loaded once say nothing");
}

/* A page that is remembered makes room after an hour, or for one of lower rank. */
static void
make_room(void)
{
	static PbpServed served;
	int			remembered = 0;

	for (int i = 0; i < 100 * PBP_SERVED_PAGES; i++)
	{
		pbp_served_begin_look(&served, 1, SECOND);
		(void) pbp_served_visit(&served, key_of(i, 1), true);
	}
	for (int i = 0; i < 100 * PBP_SERVED_PAGES; i++)
		remembered += pbp_served_visit(&served, key_of(i, 1), true) >= 0;
	ok(remembered == 0, "pages keep their places");
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		remembered += served.pages[i].used;
	ok(remembered == PBP_SERVED_PAGES, "and all places are taken");
	pbp_served_begin_look(&served, 2, 3602 * SECOND);
	remembered = 0;
	for (int i = 1000000; i < 1000000 + 20 * PBP_SERVED_PAGES; i++)
		remembered += pbp_served_visit(&served, key_of(i, 1), true) >= 0;
	ok(remembered >= PBP_SERVED_PAGES, "after an hour, others may have them");
}

/* The real page cache is a fifth smaller than the advice is told, or larger. */
static void
correct_by_probes(double factor)
{
	Scene		scene;
	int			os_cache = (int) (os_pages(POOL) / factor);
	double		truth = true_storage_ratio(ACCOUNTS, POOL, os_cache);
	int			larger = (int) (pbp_advice_factor(TODAY + 2) * POOL);
	double		truth_larger = true_storage_ratio(ACCOUNTS, larger, os_cache - (os_pages(POOL) - os_pages(larger)));
	PbpAdviceStorageTotals totals;
	PbpAdviceStorageRow row;
	PbpAdviceStorageRow larger_row;
	double		least = 2;
	double		most = 0;
	char		what[120];

	scene_start(&scene, ACCOUNTS, os_cache);
	pbp_advice_init_storage(scene.run.advice[0], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	for (int i = 0; i < 2 * WARM_UP; i++)
	{
		PbpServedShare share;

		scene_run(&scene, 1);
		if (!pbp_served_share(&scene.served, 0, &share))
			share = (PbpServedShare) {NAN, NAN};
		pbp_advice_calibrate(scene.run.advice[0], share.share, share.error);
		pbp_advice_storage_totals(scene.run.advice[0], &totals);
		least = fmin(least, totals.correction);
		most = fmax(most, totals.correction);
	}
	pbp_advice_storage_row(scene.run.advice[0], TODAY, PBP_ADVICE_FIXED, &row);
	pbp_advice_storage_row(scene.run.advice[0], TODAY + 2, PBP_ADVICE_FIXED, &larger_row);
	printf("# %.2f times the page cache: corrected by %.3f (%.3f to %.3f), self error %+.4f (+- %.4f)\n"
		   "# today %.4f +- %.4f, true %.4f; at 1.5 times %.4f +- %.4f, true %.4f\n",
		   factor, totals.correction, least, most, totals.self_error, totals.measuring_error,
		   row.storage_ratio, row.uncertainty, truth, larger_row.storage_ratio, larger_row.uncertainty, truth_larger);
	snprintf(what, sizeof(what), "a page cache that is said to have %.2f times its size is corrected", factor);
	ok(fabs(factor * totals.correction - 1) < 0.12, what);
	ok(least > fmin(1, 1 / factor) - 0.12 && most < fmax(1, 1 / factor) + 0.12, "without overshooting");
	ok(fabs(totals.self_error) <= 1.1 * totals.measuring_error, "and then today differs by no more than the error of the probes");
	ok(fabs(row.storage_ratio - truth) <= row.uncertainty && fabs(larger_row.storage_ratio - truth_larger) <= larger_row.uncertainty,
	   "and storage reads are within their intervals");
	scene_finish(&scene);
}

int
main(void)
{
	measure_loads();
	notice_lies();
	probe_rarely();
	know_nothing();
	make_room();
	correct_by_probes(1.25);
	correct_by_probes(0.8);
	printf("1..%d\n", tests);
	return 0;
}

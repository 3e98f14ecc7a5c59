/*
 * storage_limits.c
 *	  When storage reads are known, and how they follow the size of the page
 *	  cache; that memory and time are bounded.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

#define POOL	(MEMORY / 4)
#define UNSEEN	0.2				/* of the reads that looks see */

static int
count_storage(const PbpAdvice *advice, PbpStorageReason reason)
{
	int			found = 0;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceStorageRow row = storage_row_of(advice, i);

		found += row.reason == reason && isnan(row.ratio.value) == (reason != PBP_STORAGE_KNOWN);
	}
	return found;
}

/* Why nothing is known at first, and what is after a gap. */
static void
learn_and_forget(void)
{
	Scene		scene;
	const PbpAdvice *advice;
	double		before;

	scene_start(&scene, ACCOUNTS, POOL, os_pages(POOL), STORAGE_BYTES);
	advice = scene.run.advice[0];
	scene_run(&scene, 2);
	ok(count_storage(advice, PBP_STORAGE_NO_CAPACITY) == PBP_ADVICE_FACTORS,
	   "without the size of the page cache nothing is known, with the reason");
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	scene_run(&scene, 1.5);
	ok(storage_row_of(advice, TODAY).reason == PBP_STORAGE_LEARNING, "a page cache is learned while its simulation fills");
	before = storage_row_of(advice, TODAY).learned_share;
	scene_run(&scene, 1);
	printf("# learned %.2f, then %.2f\n", before, storage_row_of(advice, TODAY).learned_share);
	ok(before > 0.2 && storage_row_of(advice, TODAY).learned_share > before + 0.1, "and shows its progress");
	ok(storage_row_of(advice, PBP_ADVICE_DOUBLE).reason == PBP_STORAGE_NO_MISS_RATIO, "below a pool that is learned, too, that is the reason");
	while (storage_row_of(advice, TODAY).reason == PBP_STORAGE_LEARNING)
		scene_step(&scene);
	ok(storage_row_of(advice, TODAY).reason == PBP_STORAGE_LITTLE_EVIDENCE, "when it has been learned, few misses have been counted yet");
	scene_run(&scene, 12);
	/* 4 times is more than all memory; it leaves nothing */
	ok(count_storage(advice, PBP_STORAGE_KNOWN) == PBP_ADVICE_FACTORS - 1 &&
	   storage_row_of(advice, PBP_ADVICE_FACTORS - 1).reason == PBP_STORAGE_NO_ROOM,
	   "later all sizes are known that leave something to the page cache, and why the others are not");
	ok(llabs(storage_row_of(advice, PBP_ADVICE_FACTORS - 1).os_cache_pages - os_pages(4 * POOL)) <= 1,
	   "their page cache would have less than no page");

	pbp_advice_gap(scene.run.advice[0]);
	scene_run(&scene, 1);
	ok(count_storage(advice, PBP_STORAGE_KNOWN) == PBP_ADVICE_FACTORS - 1, "after a gap, what was learned is known");
	scene_run(&scene, 20);
	ok(count_storage(advice, PBP_STORAGE_KNOWN) == PBP_ADVICE_FACTORS - 1, "and later, too");
	pbp_advice_set_eviction(scene.run.advice[0], PBP_EVICTS_BY_LISTS, true);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	ok(count_storage(advice, PBP_STORAGE_KNOWN) == PBP_ADVICE_FACTORS - 1, "nor does it matter what limits the page cache");
	pbp_advice_set_eviction(scene.run.advice[0], PBP_EVICTS_BY_MGLRU_6_14, true);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	ok(storage_row_of(advice, TODAY).reason == PBP_STORAGE_LEARNING, "when the kernel begins to evict in another way, page caches are learned again");
	scene_run(&scene, 20);
	ok(count_storage(advice, PBP_STORAGE_KNOWN) == PBP_ADVICE_FACTORS - 1, "and then known");
	pbp_advice_set_os_cache(scene.run.advice[0], -1);
	ok(count_storage(advice, PBP_STORAGE_NO_CAPACITY) == PBP_ADVICE_FACTORS, "until the size becomes unknown");
	scene_finish(&scene);
}

/* On a server that has run for long, early answers are not as certain as late ones. */
static void
answer_early(void)
{
	int			nbuffers = 2 * POOL;
	Scene		scene;
	double		truth[PBP_ADVICE_FACTORS];
	double		first = 0;
	PbpAdviceStorageRow row;
	int			nknown = 0;
	int			ncovered = 0;

	for (int i = 1; i < TODAY + 3; i++)
	{
		int			other = (int) (pbp_advice_factor(i) * nbuffers);

		truth[i] = true_storage_ratio(ACCOUNTS, other, os_pages(other));
	}
	scene_start(&scene, ACCOUNTS, nbuffers, os_pages(nbuffers), 0);
	while (scene.memory.accesses < (int64_t) WARM_UP * MEMORY)
		memory_access(&scene.memory, load_next(&scene.trace));
	scene.watch = (Watch) {scene.memory.pool.ticks, scene.memory.accesses, scene.memory.pool.hits, scene.memory.pool.reads, 0, 0, 0};
	pbp_advice_init_storage(scene.run.advice[0], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(nbuffers));
	for (int step = 0; step < 60; step++)
	{
		scene_run(&scene, 0.5);
		for (int i = 1; i < TODAY + 3; i++)
		{
			row = storage_row_of(scene.run.advice[0], i);
			nknown += row.reason == PBP_STORAGE_KNOWN;
			ncovered += fabs(row.ratio.value - truth[i]) <= row.ratio.error;
		}
		row = storage_row_of(scene.run.advice[0], TODAY);
		if (first == 0 && row.reason == PBP_STORAGE_KNOWN)
			first = row.ratio.error;
	}
	printf("# while it learns: %d of %d errors within the uncertainty, which is %.4f at first and %.4f later\n",
		   ncovered, nknown, first, row.ratio.error);
	ok(nknown > 200 && ncovered >= 0.9 * nknown, "nine in ten errors are within the uncertainty, early and late");
	ok(first > 10 * row.ratio.error, "which is large at first");
	scene_finish(&scene);
}

/* What holds of any figures. */
static void
compare_rows(void)
{
	Scene		scene;
	int			wrong = 0;

	scene_start(&scene, SHIFTING, POOL, os_pages(POOL), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	scene_run(&scene, 30);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceStorageRow row = storage_row_of(scene.run.advice[0], i);

		wrong += row.reason == PBP_STORAGE_KNOWN && row.ratio.value > row_of(scene.run.advice[0], i).ratio.value;
	}
	ok(storage_row_of(scene.run.advice[0], TODAY).reason == PBP_STORAGE_KNOWN && wrong == 0, "no more accesses wait for storage than miss");
	scene_finish(&scene);
}

/* The miss ratios are the same to the last bit, with simulated page caches and without. */
static void
leave_misses_alone(void)
{
	Scene		with;
	Scene		without;
	int			different = 0;

	scene_start(&with, ACCOUNTS, POOL, os_pages(POOL), STORAGE_BYTES);
	scene_start(&without, ACCOUNTS, POOL, os_pages(POOL), 0);
	pbp_advice_set_os_cache(with.run.advice[0], os_pages(POOL));
	pbp_advice_set_os_cache(without.run.advice[0], os_pages(POOL));
	scene_run(&with, 15);
	scene_run(&without, 15);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow one = row_of(with.run.advice[0], i);
		PbpAdviceRow other = row_of(without.run.advice[0], i);

		different += memcmp(&one.ratio.value, &other.ratio.value, sizeof(double)) != 0 ||
			memcmp(&one.ratio.error, &other.ratio.error, sizeof(double)) != 0 || one.reason != other.reason;
	}
	ok(different == 0, "miss ratios are the same with simulated page caches and without");
	ok(count_storage(without.run.advice[0], PBP_STORAGE_NO_CAPACITY) == PBP_ADVICE_FACTORS,
	   "without memory for them, no storage reads are known");
	scene_finish(&with);
	scene_finish(&without);
}

/* The limit of the memory changes at run time. */
static void
change_limits(void)
{
	static const double shares[] = {0.5, 1, 0};
	Scene		scene;

	scene_start(&scene, ACCOUNTS, POOL, os_pages(POOL), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	scene_run(&scene, 20);
	for (int i = 0; i < 3; i++)
	{
		int			os_cache = (int) (shares[i] * os_pages(POOL));
		PbpAdviceStorageRow row;
		double		truth;

		pbp_advice_set_os_cache(scene.run.advice[0], os_cache);
		row = storage_row_of(scene.run.advice[0], TODAY);
		ok(i == 1 ? row.reason == PBP_STORAGE_LEARNING : row.reason == PBP_STORAGE_KNOWN && row.os_cache_pages == os_cache,
		   i == 1 ? "a larger page cache must be learned" : "a smaller one is known");
		scene_run(&scene, 40);
		row = storage_row_of(scene.run.advice[0], TODAY);
		truth = true_storage_ratio(ACCOUNTS, POOL, os_cache);
		printf("# page cache of %d pages: %.4f, true %.4f\n", os_cache, row.ratio.value, truth);
		ok(fabs(row.ratio.value - truth) < 0.005, "and then storage reads are those of the new size");
	}
	ok(storage_row_of(scene.run.advice[0], TODAY).ratio.value == row_of(scene.run.advice[0], TODAY).ratio.value,
	   "without a page cache, each miss waits");
	scene_finish(&scene);
}

/* Reads that fill both caches come first, and count for a while in what the simulation serves. */
static void
correct_while_filling(void)
{
	Scene		scene;
	PbpAdviceStorageTotals totals;
	double		least = 1;
	double		most = 1;

	scene_start(&scene, UNIFORM_PAGES, POOL, os_pages(POOL), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	scene_run(&scene, 6);
	scene.trace.load = ZIPF_PAGES;
	for (int i = 0; i < 400; i++)
	{
		const Compared *compared = &scene.run.compared[0];
		double		more;

		scene_run(&scene, 0.1);
		more = compared->reads > 0 ? compared->served_more / compared->reads : NAN;
		scene.run.compared[0] = (Compared) {0};
		pbp_advice_calibrate(scene.run.advice[0], (PbpFigure) {more, 0.01}, more);
		totals = pbp_advice_storage_totals(scene.run.advice[0]);
		least = fmin(least, totals.correction);
		most = fmax(most, totals.correction);
	}
	scene_finish(&scene);
	printf("# after filling: corrected by %.3f to %.3f, at last %.3f\n", least, most, totals.correction);
	ok(least > 0.9 && most < 1.1, "a page cache of the right size is not corrected because of reads that filled it");
}

/* What the kernel has evicted recently says how well other sizes are known, but not today's. */
static void
compare_evicted(void)
{
	Scene		scene;
	PbpAdvice  *advice;
	PbpAdviceStorageRow today;
	PbpAdviceStorageRow other;
	PbpAdviceStorageRow wider;
	double		miss_ratio;

	scene_start(&scene, ACCOUNTS, POOL, os_pages(POOL), STORAGE_BYTES);
	advice = scene.run.advice[0];
	pbp_advice_set_os_cache(advice, os_pages(POOL));
	scene_run(&scene, 40);
	today = storage_row_of(advice, TODAY);
	other = storage_row_of(advice, TODAY + 2);
	miss_ratio = row_of(advice, TODAY + 2).ratio.value;
	pbp_advice_set_recent(advice, (PbpRecentShares) {0.6, 0.5, 0.11});
	ok(storage_row_of(advice, TODAY + 2).ratio.error == other.ratio.error, "a difference by chance in what was evicted recently changes no interval");
	pbp_advice_set_recent(advice, (PbpRecentShares) {0.6, 0.5, 0.09});
	wider = storage_row_of(advice, TODAY + 2);
	ok(wider.ratio.error > other.ratio.error && wider.ratio.error >= 0.1 * miss_ratio &&
	   wider.ratio.change_error > other.ratio.change_error && wider.ratio.change_error >= 0.1 * miss_ratio, "a larger one widens those of other sizes");
	ok(storage_row_of(advice, TODAY).ratio.error == today.ratio.error, "but not that of today's");
	ok(!isnan(pbp_advice_caches(advice, 0).recent), "the simulation knows what it has evicted recently");
	pbp_advice_facts(advice)->swaps = true;
	ok(isnan(pbp_advice_caches(advice, 0).recent) && !isnan(pbp_advice_caches(advice, 0).cached), "with swap space, it does not");
	scene_finish(&scene);
}

/* The kernel serves more misses than the simulation: today's waiting is not reproduced, and so neither is what a larger pool saves. */
static void
served_otherwise(void)
{
	const double more = 0.2;
	Scene		scene;
	int			nknown = 0;
	int			ncertain = 0;

	scene_start(&scene, ACCOUNTS, POOL, os_pages(POOL), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL));
	scene_run(&scene, 40);
	pbp_advice_calibrate(scene.run.advice[0], (PbpFigure) {more, 0.01}, NAN);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceStorageRow row = storage_row_of(scene.run.advice[0], i);

		if (i == TODAY || row.reason != PBP_STORAGE_KNOWN)
			continue;
		nknown++;
		ncertain += row.ratio.change_error < more * row_of(scene.run.advice[0], TODAY).ratio.value;
	}
	printf("# %d of %d other sizes are known better than today's\n", ncertain, nknown);
	ok(nknown > 5 && ncertain == 0, "what the simulation says of today, and the kernel does not, is uncertain of each change");
	scene_finish(&scene);
}

/* So many more reads that no look sees. */
static void
add_unseen_reads(Run *run, int64_t reads, int64_t storage_reads)
{
	double		unseen = floor(UNSEEN * (double) reads);
	PbpAdviceCounts counts = {.accesses = unseen,.reads = unseen};

	(void) storage_reads;
	pbp_advice_accesses(run->advice[0], &counts);
}

/* Reads that no look saw may all wait for storage, or none. */
static void
unseen_reads(void)
{
	double		uncertainty[2];
	double		unseen = UNSEEN / (1 + UNSEEN);

	for (int together = 0; together < 2; together++)
	{
		Run			run = {.nbuffers = POOL,.looks_per_pass = 8,.rings_together = together};
		PbpAdviceStorageRow row;

		start(&run, 1, POOL * 20, 1.0 / 10);
		learn_storage(&run, ACCOUNTS, os_pages(POOL), 1, add_unseen_reads);
		row = storage_row_of(run.advice[0], TODAY);
		uncertainty[together] = row.ratio.error;
		unseen *= together ? row_of(run.advice[0], TODAY).ratio.value / 2 : 1;
		printf("# large scans %scounted apart: %.4f +- %.4f\n", together ? "not " : "", row.ratio.value, row.ratio.error);
		finish(&run);
	}
	ok(uncertainty[1] > uncertainty[0] + 0.9 * unseen, "reads that no look saw widen the interval of storage reads where large scans are not counted apart");
}

/* A table that is scanned, block by block, and how much of that is played. */
static int	scanned_pages;
static double played_share;
static int64_t scanned;

/* Scans read as much as lookups. */
static void
add_scans(Run *run, int64_t reads, int64_t storage_reads)
{
	int64_t		played = (int64_t) (played_share * (double) reads);
	PbpAdviceCounts counts = {.ring_reads = reads,.scan_reads = reads,.scan_skipped = reads - played};

	(void) storage_reads;
	for (int64_t end = scanned + played; scanned < end; scanned++)
		pbp_advice_scan(run->advice[0], key_of(LOAD_PAGES + (int) (scanned % scanned_pages), sample_seed(run, 0)), false);
	pbp_advice_accesses(run->advice[0], &counts);
}

/* Half the width of an interval of today's storage reads beside scans of so many pages. */
static double
uncertainty_beside_scans(int npages, double played)
{
	Run			run = {.nbuffers = POOL,.looks_per_pass = 8};
	PbpAdviceStorageRow row;

	scanned = 0;
	scanned_pages = npages;
	played_share = played;
	start(&run, 1, POOL * 20, 1.0 / 10);
	learn_storage(&run, ACCOUNTS, os_pages(POOL), 1, add_scans);
	row = storage_row_of(run.advice[0], TODAY);
	printf("# scans of %d pages, %.1f of them played: %.4f +- %.4f\n", npages, played, row.ratio.value, row.ratio.error);
	finish(&run);
	return row.ratio.error;
}

/* Scans that were not played matter only if they read from storage. */
static void
skipped_scans(void)
{
	double		all = uncertainty_beside_scans(2 * MEMORY, 1);
	double		half = uncertainty_beside_scans(2 * MEMORY, 0.5);

	ok(half > 1.5 * all, "skipped scans of what no cache holds widen the interval");
	ok(uncertainty_beside_scans(2 * MEMORY, 0) > half, "even more if none was played");
	ok(uncertainty_beside_scans(POOL / 4, 0.5) < 1.2 * uncertainty_beside_scans(POOL / 4, 1), "but not those of what the page cache holds");
}

/* Memory for few pages, and not a byte more. */
static void
bound_memory(void)
{
	size_t		bytes = 256 * 1024;
	size_t		behind = 4096;
	size_t		touched = 0;
	unsigned char *memory = malloc(bytes + behind);
	Scene		scene;
	PbpAdviceStorageTotals totals;
	double		worst = 0;

	scene_start(&scene, ZIPF_PAGES, POOL / 4, os_pages(POOL / 4), 0);
	memset(memory, 0xA5, bytes + behind);
	ok(!pbp_advice_init_storage(scene.run.advice[0], memory, 100, BLOCK_BYTES), "too little memory is refused");
	ok(pbp_advice_init_storage(scene.run.advice[0], memory, bytes, BLOCK_BYTES), "256 kB are enough");
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL / 4));
	scene_run(&scene, 40);
	for (int i = 1; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * POOL / 4);
		PbpAdviceStorageRow row = storage_row_of(scene.run.advice[0], i);

		worst = fmax(worst, row.reason == PBP_STORAGE_KNOWN ?
					 fabs(row.ratio.value - true_storage_ratio(ZIPF_PAGES, nbuffers, os_pages(nbuffers))) : INFINITY);
	}
	for (size_t i = 0; i < behind; i++)
		touched += memory[bytes + i] != 0xA5;
	totals = pbp_advice_storage_totals(scene.run.advice[0]);
	printf("# page cache of 15 pools: rate 1/%.1f of pools, 1/%.1f of page caches, worst error %.4f, %ld dropped\n",
		   1 / pbp_advice_rate(scene.run.advice[0]), 1 / totals.sampling_rate, worst, (long) totals.dropped);
	ok(totals.sampling_rate < pbp_advice_rate(scene.run.advice[0]) / 2, "a large page cache is sampled less than the pools");
	ok(worst <= 0.02, "and storage reads are still within 0.02");
	ok(totals.dropped == 0, "no page is forgotten too early");
	ok(touched == 0, "nothing is written behind the given memory");
	free(memory);
	scene_finish(&scene);
}

/* A page cache that is much larger than all data needs records for these alone. */
static void
little_data(void)
{
	double		rates[2];

	for (int known = 0; known < 2; known++)
	{
		Scene		scene;
		PbpAdviceStorageTotals totals;

		scene_start(&scene, UNIFORM_PAGES, POOL, 1000 * POOL, 256 * 1024);
		pbp_advice_facts(scene.run.advice[0])->data_pages = known ? (double) LOAD_PAGES : INFINITY;
		pbp_advice_set_os_cache(scene.run.advice[0], 1000 * POOL);
		scene_run(&scene, WARM_UP);
		totals = pbp_advice_storage_totals(scene.run.advice[0]);
		rates[known] = totals.sampling_rate;
		ok((count_storage(scene.run.advice[0], PBP_STORAGE_KNOWN) > TODAY) == (known == 1),
		   known ? "a page cache larger than all data: sizes are known" : "and are not without their size");
		ok(totals.dropped == 0, "no page is forgotten");
		scene_finish(&scene);
	}
	ok(rates[1] > 10 * rates[0], "because more pages have records");
}

/* 16 GB above 256 GB. */
static void
large_server(void)
{
	size_t		bytes = 4 * 1024 * 1024;
	PbpAdvice  *advice = pbp_advice_init(malloc(bytes), bytes, 2097152, USAGE_MAX, 4000.0 / 2097152, true);
	PbpAdviceStorageTotals totals;
	double		pages;
	int			reduced = 0;

	pbp_advice_init_storage(advice, malloc(bytes), bytes, 8192);
	pbp_advice_set_os_cache(advice, 33554432);
	totals = pbp_advice_storage_totals(advice);
	printf("# 16 GB above 256 GB: rate 1/%.0f of pools, 1/%.0f of page caches\n", 1 / pbp_advice_rate(advice), 1 / totals.sampling_rate);
	pages = totals.sampling_rate * 33554432;
	ok(pages > 20000, "16 GB above 256 GB, 4 MB: more than 20,000 pages in the simulated page cache");
	for (int64_t times = 4; times <= 64; times *= 4)
	{
		pbp_advice_set_os_cache(advice, 33554432 * times);
		totals = pbp_advice_storage_totals(advice);
		reduced += totals.sampling_rate * 33554432 * (double) times < 1.15 * pages && totals.sampling_rate * 33554432 * (double) times > pages;
	}
	ok(reduced == 3, "for a larger page cache, the sample is reduced, and not the number of its pages");
	free(advice);
}

/* Sizes that would wait more than a smaller one. */
static int
count_worse(const PbpAdvice *advice)
{
	double		lowest = INFINITY;
	int			worse = 0;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		ratio = storage_row_of(advice, i).ratio.value;

		worse += ratio > lowest;
		lowest = fmin(lowest, ratio);
	}
	return worse;
}

/* Pages that are new do not wait, and pages that fit wait no more. */
static void
read_nothing(void)
{
	int			worse = 0;
	Scene		scene;
	PbpAdviceStorageRow row;
	int			page = 0;
	int64_t		before = 0;

	scene_start(&scene, UNIFORM_PAGES, POOL, 4 * MEMORY, STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], 4 * MEMORY);
	for (int i = 0; i < 120; i++)
	{
		scene_run(&scene, 0.5);
		worse += count_worse(scene.run.advice[0]);
	}
	ok(worse == 0, "with memory to spare, a larger pool never waits more than a smaller one");
	row = storage_row_of(scene.run.advice[0], TODAY);
	printf("# all fits: reason %d, %.4f +- %.4f\n", (int) row.reason, row.ratio.value, row.ratio.error);
	ok(row.reason == PBP_STORAGE_KNOWN && row.ratio.value < 0.001, "where the page cache holds all data, hardly any access waits");
	scene_finish(&scene);

	scene_start(&scene, ACCOUNTS, POOL / 4, os_pages(POOL / 4), STORAGE_BYTES);
	pbp_advice_set_os_cache(scene.run.advice[0], os_pages(POOL / 4));
	for (int i = 0; i < 400; i++)
	{
		PbpAdviceCounts counts = {0};

		for (int j = 0; j < POOL / 16; j++)
		{
			memory_access(&scene.memory, j % 10);
			memory_access(&scene.memory, 10 + page++ % (LOAD_PAGES - 10));
		}
		counts.accesses = scene.memory.pool.hits - scene.watch.hits;
		counts.extends = scene.memory.pool.reads - before;
		scene.watch.hits = scene.memory.pool.hits;
		before = scene.memory.pool.reads;
		pbp_advice_accesses(scene.run.advice[0], &counts);
		look_only(&scene.run, 0, &scene.memory.pool);
	}
	row = storage_row_of(scene.run.advice[0], TODAY);
	ok(row.reason == PBP_STORAGE_KNOWN && row.ratio.value == 0, "new pages do not wait for storage");
	scene_finish(&scene);
}

int
main(void)
{
	learn_and_forget();
	answer_early();
	compare_rows();
	leave_misses_alone();
	change_limits();
	correct_while_filling();
	compare_evicted();
	served_otherwise();
	unseen_reads();
	skipped_scans();
	bound_memory();
	little_data();
	large_server();
	read_nothing();
	return end_of_tests();
}

/*
 * served.c
 *	  How much of the misses the page cache serves, compared with the simulated
 *	  one.  Compares what probes find with what both served, and corrects the size
 *	  of the advice's page caches by that.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "statistics/served.h"
#include "figures.h"
#include "storage_model.h"

#define POOL			(MEMORY / 4)
#define LOOKS_PER_PASS	10
#define ACCESS_NS		INT64_C(100000)
#define SECOND			INT64_C(1000000000)
#define UNCACHED_ROUNDS	8
#define SETTLING		40		/* accesses for each page of memory */
#define EVICTED_SINCE	0.15	/* of a difference, pages that one cache had, and has evicted since the last probe */

/* A pool above a page cache, and a worker that looks at one and probes the other. */
typedef struct Probed
{
	Scene		scene;
	PbpServed	served;
	int		   *tags;			/* of remembered pages */
	int		   *last_buffer;	/* of each page, when a look met it last */
	uint64_t   *last_look;		/* which one that was */
	uint64_t	look;
	int			round;
	double		probe_seconds;	/* between two rounds */
	int64_t		probed_ns;
	double		lies;			/* share of the pages that are said to be cached */
} Probed;

/* False: too little is known. */
static bool
served_more(const PbpServed *served, double new_share, PbpFigure *more)
{
	*more = pbp_served_more(served, new_share);
	return !isnan(more->value);
}

/* The advice simulates a page cache that is so many times as large as the real one. */
static void
probed_start(Probed *probed, Load load, int os_cache, double factor)
{
	memset(probed, 0, sizeof(*probed));
	scene_start(&probed->scene, load, POOL, os_cache, STORAGE_BYTES);
	pbp_advice_set_os_cache(probed->scene.run.advice[0], (int64_t) rint(factor * os_cache));
	probed->probe_seconds = 1;
	probed->tags = calloc(PBP_SERVED_PAGES, sizeof(int));
	probed->last_buffer = calloc((size_t) LOAD_PAGES, sizeof(int));
	probed->last_look = calloc((size_t) LOAD_PAGES, sizeof(uint64_t));
}

static void
probed_finish(Probed *probed)
{
	scene_finish(&probed->scene);
	free(probed->tags);
	free(probed->last_buffer);
	free(probed->last_look);
}

static int64_t
now_ns(const Probed *probed)
{
	return probed->scene.memory.accesses * ACCESS_NS;
}

static void
look(Probed *probed)
{
	const Pool *pool = &probed->scene.memory.pool;
	PbpAdvice  *advice = probed->scene.run.advice[0];

	probed->look++;
	for (int i = 0; i < pool->used; i++)
	{
		int			page = pool->page[i];
		uint64_t	key = key_of(page, sample_seed(&probed->scene.run, 0));
		int			number;

		if (!pbp_advice_sampled(advice, key) || !pbp_advice_simulates(advice, key))
			continue;
		if (probed->last_look[page] + 1 != probed->look || probed->last_buffer[page] != i)
		{
			number = pbp_served_load(&probed->served, key, now_ns(probed));
			if (number >= 0)
				probed->tags[number] = page;
		}
		probed->last_look[page] = probed->look;
		probed->last_buffer[page] = i;
	}
	look_and_watch(&probed->scene.run, pool, probed->scene.memory.accesses, 0, &probed->scene.watch);
}

/* As cachestat says it. */
static PbpCacheAnswer
ask_kernel(const KernelCache *cache, int page)
{
	bool		cached = cache->pages[page].list != NONE;

	return (PbpCacheAnswer) {cached, cached || cache_evicted_recently(cache, page)};
}

/* The kernel is asked about all remembered pages, but rarely about those that it has not and did not have recently. */
static void
probe(Probed *probed)
{
	probed->round++;
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
	{
		const PbpServedPage *page = &probed->served.pages[i];
		PbpCacheAnswer answer = page->kernel;

		if (!pbp_served_has_page(&probed->served, i))
			continue;
		if (!page->known || page->kernel.recent > 0 || (i + probed->round) % UNCACHED_ROUNDS == 0)
			answer = ask_kernel(&probed->scene.memory.cache, probed->tags[i]);
		if (i < probed->lies * PBP_SERVED_PAGES)
			answer = (PbpCacheAnswer) {1, 1};
		pbp_served_answer(&probed->served, i, answer, pbp_advice_caches(probed->scene.run.advice[0], page->key));
	}
	pbp_served_end_round(&probed->served, now_ns(probed) - probed->probed_ns);
	probed->probed_ns = now_ns(probed);
}

/* The share that the page cache serves more than the simulated one, during a number of accesses for each page of memory. */
static double
probed_run(Probed *probed, double accesses)
{
	PbpAdvice  *advice = probed->scene.run.advice[0];
	int64_t		end = probed->scene.memory.accesses + (int64_t) (accesses * MEMORY);
	int64_t		reads = probed->scene.memory.reads;
	int64_t		storage_reads = probed->scene.memory.storage_reads;

	while (probed->scene.memory.accesses < end)
	{
		memory_access(&probed->scene.memory, load_next(&probed->scene.trace));
		if (probed->scene.memory.pool.ticks - probed->scene.watch.ticks < POOL / LOOKS_PER_PASS)
			continue;
		look(probed);
		if ((double) (now_ns(probed) - probed->probed_ns) > probed->probe_seconds * (double) SECOND)
			probe(probed);
	}
	return storage_row_of(advice, TODAY).ratio.value / row_of(advice, TODAY).ratio.value -
		(double) (probed->scene.memory.storage_reads - storage_reads) / (double) (probed->scene.memory.reads - reads);
}

/* What probes find is what the page cache serves, and a smaller one does not. */
static void
measure_loads(void)
{
	for (int load = 0; load < LOADS; load++)
	{
		Probed		probed;
		PbpFigure	more = {0};
		PbpRecentShares recent;
		double		truth;
		bool		known;

		probed_start(&probed, (Load) load, os_pages(POOL), 0.7);
		probed_run(&probed, SETTLING);
		truth = probed_run(&probed, WINDOW);
		known = served_more(&probed.served, 0, &more);
		printf("# %-13s served more %.4f, measured %.4f +- %.4f\n", load_names[load], truth, more.value, more.error);
		recent = pbp_served_recent(&probed.served, 0);
		printf("# %-13s with recently evicted pages: kernel %.4f, simulated %.4f +- %.4f\n", load_names[load], recent.kernel, recent.simulated, recent.error);
		okf(known && fabs(more.value - truth) <= more.error + EVICTED_SINCE * truth && more.error < 0.1,
			"%s: what the page cache serves more than a smaller one is measured", load_names[load]);
		probed_finish(&probed);
	}
}

/* A kernel whose answers are wrong for some pages. */
static void
notice_lies(void)
{
	Probed		probed;
	PbpFigure	more = {0};
	double		truth;

	probed_start(&probed, ACCOUNTS, os_pages(POOL), 1);
	probed_run(&probed, SETTLING);
	probed.lies = 0.4;
	truth = probed_run(&probed, WINDOW);
	ok(served_more(&probed.served, 0, &more) && more.value - truth > more.error, "wrong answers make a difference beyond the error");
	probed.lies = 0;
	probed_run(&probed, WINDOW);
	truth = probed_run(&probed, WINDOW);
	ok(served_more(&probed.served, 0, &more) && fabs(more.value - truth) <= more.error, "and are forgotten");
	probed.lies = 0.4;
	probed_run(&probed, WINDOW);
	probed.lies = 0;
	probe(&probed);
	pbp_served_forget_loads(&probed.served);
	ok(!served_more(&probed.served, 0, &more), "at once, with all loads, if the caller says so");
	truth = probed_run(&probed, WINDOW / 4.0);
	ok(served_more(&probed.served, 0, &more) && fabs(more.value - truth) <= more.error, "and the next loads say what is true now");
	probed_finish(&probed);
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
		Probed		probed;
		PbpFigure	more = {0};
		double		truth;

		probed_start(&probed, ZIPF_PAGES, os_pages(POOL), 0.7);
		probed.probe_seconds = seconds[i];
		probed_run(&probed, SETTLING);
		truth = probed_run(&probed, WINDOW);
		if (served_more(&probed.served, 0, &more))
		{
			known++;
			wrong += more.value < -more.error || more.value > truth + more.error;
		}
		errors[i] = isnan(more.error) ? PBP_SERVED_LARGEST_ERROR : more.error;
		printf("# probed every %.0f s: served more %.4f, measured %.4f +- %.4f\n", seconds[i], truth, more.value, more.error);
		probed_finish(&probed);
	}
	ok(known >= 2 && wrong == 0, "with rare probes, it is unknown or not too large");
	ok(errors[0] < errors[1] && errors[1] < errors[2], "which is then larger");
}

/* When nothing is measured. */
static void
know_nothing(void)
{
	Probed		probed;
	PbpFigure	more;

	probed_start(&probed, ACCOUNTS, os_pages(POOL), 1);
	ok(!served_more(&probed.served, 0, &more), "before anything was loaded, nothing is known");
	probed.probe_seconds = INFINITY;
	probed_run(&probed, SETTLING);
	ok(!served_more(&probed.served, 0, &more), "nor without probes");
	probed.probe_seconds = 1;
	probed_run(&probed, SETTLING);
	ok(served_more(&probed.served, 0, &more), "but with them");
	ok(!served_more(&(PbpServed) {.checked = 1}, 1, &more), "nor after all was forgotten");
	probed.probe_seconds = INFINITY;
	pbp_served_forget_answers(&probed.served);
	pbp_served_forget_loads(&probed.served);
	probed_run(&probed, SETTLING);
	ok(!served_more(&probed.served, 0, &more), "nor while the kernel is not asked any more");
	probed_finish(&probed);

	/* each page once, as new pages and those of a scan come */
	memset(&probed.served, 0, sizeof(probed.served));
	for (int i = 0; i < 100000; i++)
		pbp_served_load(&probed.served, key_of(i, 1), i * SECOND);
	ok(!served_more(&probed.served, 0, &more), "pages that are loaded once say nothing");
}

/* A page that is remembered makes room after a day, or for one that precedes it. */
static void
make_room(void)
{
	static PbpServed served;
	int			remembered = 0;

	for (int i = 0; i < 100 * PBP_SERVED_PAGES; i++)
		(void) pbp_served_load(&served, key_of(i, 1), SECOND);
	for (int i = 0; i < 100 * PBP_SERVED_PAGES; i++)
		remembered += pbp_served_load(&served, key_of(i, 1), SECOND) >= 0;
	ok(remembered == 0, "pages keep their places");
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		remembered += pbp_served_has_page(&served, i);
	ok(remembered == PBP_SERVED_PAGES, "and all places are taken");
	remembered = 0;
	for (int i = 1000000; i < 1000000 + 20 * PBP_SERVED_PAGES; i++)
		remembered += pbp_served_load(&served, key_of(i, 1), 86402 * SECOND) >= 0;
	ok(remembered >= PBP_SERVED_PAGES, "after a day, others may have them");
}

/* A page that both caches have kept or not. */
static void
load_again(PbpServed *served, int page, bool cached, bool simulated, double seconds)
{
	uint64_t	key = key_of(page, 1);
	int			number = (int) (key % PBP_SERVED_PAGES);

	if (served->pages[number].key == key)
		pbp_served_answer(served, number, (PbpCacheAnswer) {cached, NAN}, (PbpCacheAnswer) {simulated, NAN});
	(void) pbp_served_load(served, key, (int64_t) (seconds * SECOND));
}

/*
 * Each hour, pages are loaded that the page cache has kept; each sixth hour, so are others, for which sessions wait.
 * Of the former, the simulated cache has not kept some, and of the latter, it has kept some.
 */
static PbpFigure
two_kinds(int not_kept, int kept)
{
	static PbpServed served;

	memset(&served, 0, sizeof(served));
	for (int hour = 0; hour < 48; hour++)
	{
		for (int i = 0; i < 500; i++)
			load_again(&served, i, true, i >= not_kept, 3600.0 * hour + i);
		for (int i = 0; i < 1500 && hour % 6 == 0; i++)
			load_again(&served, 10000 + i, false, i < kept, 3600.0 * hour + 500 + i);
	}
	return pbp_served_more(&served, 0);
}

static void
compare_same_loads(void)
{
	PbpFigure	equal = two_kinds(0, 0);
	PbpFigure	often = two_kinds(50, 0);
	PbpFigure	rarely = two_kinds(0, 750);

	printf("# %+.4f +- %.4f, %+.4f +- %.4f, %+.4f +- %.4f\n", equal.value, equal.error, often.value, often.error, rarely.value, rarely.error);
	ok(fabs(equal.value) < 0.001 && equal.error < 0.05, "where both caches keep the same pages, both serve as much, however rarely pages return");
	ok(often.value > often.error && often.error < 0.05, "what the simulated one has not kept is served more");
	ok(rarely.value < -rarely.error && rarely.error < 0.05, "pages that return after hours count, too");
}

/* A load without an answer since the last one says nothing. */
static void
need_answers(void)
{
	static PbpServed served;
	PbpFigure	more;
	PbpRecentShares recent;
	int			page = pbp_served_load(&served, 1, 0);

	for (int i = 0; i < 100; i++)
	{
		pbp_served_answer(&served, page, (PbpCacheAnswer) {i % 2 == 0, 1}, (PbpCacheAnswer) {i % 4 == 0, i % 4 != 3});
		(void) pbp_served_load(&served, 1, 100 * i * SECOND);
		(void) pbp_served_load(&served, 1, (100 * i + 50) * SECOND);
	}
	ok(served.known_loads == 100 && served.unknown_loads == 101 && !served_more(&served, 0, &more), "a load without an answer since the last one is unknown");
	ok(served.fresh_loads == 100 && served.fresh_served_more == 25, "others say which cache has served them");
	recent = pbp_served_recent(&served, 1);
	ok(recent.kernel == 1 && recent.simulated == 0.75, "and which of them would have with what it has evicted recently");
	pbp_served_answer(&served, page, (PbpCacheAnswer) {1, 1}, (PbpCacheAnswer) {NAN, NAN});
	(void) pbp_served_load(&served, 1, 100 * SECOND);
	ok(served.known_loads == 100 && served.unknown_loads == 101, "while the simulation cannot say, nothing is counted");
	pbp_served_answer(&served, page, (PbpCacheAnswer) {0, NAN}, (PbpCacheAnswer) {0, 0});
	(void) pbp_served_load(&served, 1, 20000 * SECOND);
	(void) pbp_served_load(&served, 1, 20001 * SECOND);
	ok(served.known_loads == 102 && served.unknown_loads == 101 && served.pages[page].cached.served == 51,
	   "what is loaded again at once, both caches have served");
	ok(served.pages[page].recent.loads == 100, "what the kernel does not say of evicted pages is not compared");

	served = (PbpServed) {.checked = 0};
	for (int i = 0; i < 100; i++)
	{
		(void) pbp_served_load(&served, 1, 100 * i * SECOND);
		(void) pbp_served_load(&served, 1, (100 * i + 50) * SECOND);
		pbp_served_answer(&served, page, (PbpCacheAnswer) {i % 2, 1}, (PbpCacheAnswer) {i % 2, 1});
	}
	ok(served_more(&served, 0, &more) && more.value == 0 && more.error < 0.05, "unknown loads do not matter where both caches always agree");
}

/*
 * Pages are loaded at random, so many of each 10,000 in a second, by a pool below which the page cache keeps a page for
 * 9 seconds, and the simulated one for 6.  The caller asks about 600 of them in a second.
 */
static PbpFigure
busy_loads(PbpServed *served, int loads, bool ends_rounds)
{
	static double last_load[10000];
	static int	tags[PBP_SERVED_PAGES];
	Random		random = {1};
	int			next = 0;
	int64_t		round_began = 0;
	double		now = 0;

	memset(served, 0, sizeof(*served));
	memset(last_load, 0, sizeof(last_load));
	for (int second = 1; second <= 300; second++)
	{
		int			asked = 0;

		for (int i = 0; i < loads; i++)
		{
			int			page = (int) (next_share(&random) * 10000);
			int			number;

			now = second + (double) i / loads;
			number = pbp_served_load(served, key_of(page, 1), (int64_t) (now * SECOND));
			if (number >= 0)
				tags[number] = page;
			last_load[page] = now;
		}
		for (; asked < 600 && next < PBP_SERVED_PAGES; next++)
			if (pbp_served_has_page(served, next))
			{
				double		age = now - last_load[tags[next]];

				pbp_served_answer(served, next, (PbpCacheAnswer) {age < 9, NAN}, (PbpCacheAnswer) {age < 6, NAN});
				asked++;
			}
		if (next < PBP_SERVED_PAGES)
			continue;
		next = 0;
		if (ends_rounds)
			pbp_served_end_round(served, (int64_t) (now * SECOND) - round_began);
		round_began = (int64_t) (now * SECOND);
	}
	return pbp_served_more(served, 0);
}

static void
busy_server(void)
{
	static PbpServed served;
	double		true_share = exp(-1.2) - exp(-1.8);
	PbpFigure	all = busy_loads(&served, 2000, false);
	PbpFigure	fewer = busy_loads(&served, 2000, true);

	printf("# %.4f +- %.4f and %.4f +- %.4f, true %.4f\n", all.value, all.error, fewer.value, fewer.error, true_share);
	ok(fabs(fewer.value - true_share) < 0.5 * fabs(all.value - true_share) && fewer.error < all.error,
	   "if pages return sooner than they are asked about, fewer are remembered, of which more is known");
	ok(fabs(fewer.value - true_share) <= fewer.error, "as far as answers are not too late");
	ok(served.halvings > 0 && served.unknown_loads < 0.1 * served.known_loads, "since nearly all loads have answers");
	for (int i = 0; i < 60; i++)
		pbp_served_end_round(&served, 60 * SECOND);
	ok(served.halvings > 0, "and remain so while busy and other queries take turns");
	for (int i = 0; i < 24; i++)
		pbp_served_end_round(&served, 3600 * SECOND);
	ok(served.halvings == 0, "they are as many as before when they have returned rarely for a day");
	(void) busy_loads(&served, 10, true);
	ok(served.halvings == 0, "and are not fewer because a round takes long");
	memset(&served, 0, sizeof(served));
	for (int page = 0; page < 1000; page++)
		(void) pbp_served_load(&served, (uint64_t) page, 0);
	for (int page = 0; page < 100; page++)
		(void) pbp_served_load(&served, (uint64_t) page, 4 * SECOND);
	pbp_served_end_round(&served, 5 * SECOND);
	ok(served.halvings == 1, "but because a tenth of them return in that time, of which answers may be wrong");
}

/* The real page cache is a fifth smaller than the advice is told, or larger. */
static void
correct_by_probes(double factor)
{
	Probed		probed;
	int			os_cache = (int) (os_pages(POOL) / factor);
	double		truth = true_storage_ratio(ACCOUNTS, POOL, os_cache);
	int			larger = (int) (pbp_advice_factor(TODAY + 2) * POOL);
	double		truth_larger = true_storage_ratio(ACCOUNTS, larger, os_cache - (os_pages(POOL) - os_pages(larger)));
	PbpAdviceStorageTotals totals;
	PbpAdviceStorageRow row;
	PbpAdviceStorageRow larger_row;
	PbpRecentShares recent;
	double		least = 2;
	double		most = 0;

	probed_start(&probed, ACCOUNTS, os_cache, factor);
	for (int i = 0; i < 2 * SETTLING; i++)
	{
		probed_run(&probed, 1);
		pbp_served_calibrate(&probed.served, probed.scene.run.advice[0], true);
		totals = pbp_advice_storage_totals(probed.scene.run.advice[0]);
		least = fmin(least, totals.correction);
		most = fmax(most, totals.correction);
	}
	row = storage_row_of(probed.scene.run.advice[0], TODAY);
	larger_row = storage_row_of(probed.scene.run.advice[0], TODAY + 2);
	printf("# %.2f times the page cache: corrected by %.3f (%.3f to %.3f), self error %+.4f (+- %.4f)\n"
		   "# today %.4f +- %.4f, true %.4f; at 1.5 times %.4f +- %.4f, true %.4f\n",
		   factor, totals.correction, least, most, totals.self_error, totals.measuring_error,
		   row.ratio.value, row.ratio.error, truth, larger_row.ratio.value, larger_row.ratio.error, truth_larger);
	okf(fabs(factor * totals.correction - 1) < 0.12, "a page cache that is said to have %.2f times its size is corrected", factor);
	ok(least > fmin(1, 1 / factor) - 0.12 && most < fmax(1, 1 / factor) + 0.12, "without overshooting");
	ok(fabs(totals.self_error) <= 1.1 * totals.measuring_error, "and then today differs by no more than the error of the probes");
	recent = totals.recent;
	printf("# with recently evicted pages: kernel %.4f, simulated %.4f +- %.4f\n", recent.kernel, recent.simulated, recent.error);
	ok(fabs(recent.kernel - recent.simulated) <= recent.error, "which is true of a larger page cache, too");
	ok(fabs(row.ratio.value - truth) <= row.ratio.error && fabs(larger_row.ratio.value - truth_larger) <= larger_row.ratio.error,
	   "and storage reads are within their intervals");
	probed_finish(&probed);
}

/*
 * Where another program takes little of the page cache, a smaller one is simulated well.  Where it takes much, that evicts
 * in another order.
 */
static void
notice_another(int other_pages, bool matters)
{
	static const int sizes[] = {TODAY - 2, TODAY - 1, TODAY + 1, TODAY + 2};
	Probed		probed;
	PbpAdvice  *advice;
	PbpAdviceStorageTotals totals;
	int			within = 0;
	int			nwider = 0;

	probed_start(&probed, ACCOUNTS, os_pages(POOL), 1);
	advice = probed.scene.run.advice[0];
	probed.scene.memory.others_from = LOAD_PAGES;
	probed.scene.memory.other_pages = other_pages;
	for (int i = 0; i < 2 * SETTLING; i++)
	{
		probed_run(&probed, 1);
		pbp_served_calibrate(&probed.served, advice, true);
	}
	totals = pbp_advice_storage_totals(advice);
	printf("# beside another program of %d pages: corrected by %.3f, kernel %.4f, simulated %.4f +- %.4f\n", other_pages, totals.correction,
		   totals.recent.kernel, totals.recent.simulated, totals.recent.error);
	okf((fabs(totals.recent.kernel - totals.recent.simulated) > totals.recent.error) == matters,
		"another program that reads %d pages is %s by what the kernel has evicted", other_pages, matters ? "noticed" : "not noticed");
	for (int i = 0; i < 4; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(sizes[i]) * POOL);
		double		truth = true_waits(ACCOUNTS, nbuffers, os_pages(nbuffers), other_pages).lookups;
		PbpAdviceStorageRow row = storage_row_of(advice, sizes[i]);
		PbpAdviceStorageRow without;

		pbp_advice_set_recent(advice, (PbpRecentShares) {NAN, NAN, NAN});
		without = storage_row_of(advice, sizes[i]);
		pbp_advice_set_recent(advice, totals.recent);
		printf("# at %.3f times the pool: %.4f +- %.4f, true %.4f; without that, +- %.4f\n", pbp_advice_factor(sizes[i]),
			   row.ratio.value, row.ratio.error, truth, without.ratio.error);
		within += fabs(row.ratio.value - truth) <= row.ratio.error;
		nwider += row.ratio.error > 1.2 * without.ratio.error;
	}
	ok(within == 4, "and storage reads of other sizes are within their intervals");
	ok(nwider == (matters ? 4 : 0), matters ? "which are wider for that" : "which are no wider for that");
	probed_finish(&probed);
}

/*
 * Where a smaller pool would leave a page cache for all pages, none of its misses wait.  Whether the kernel serves a few
 * more or fewer of today's misses than the simulation is of less weight there.
 */
static void
doubt_what_waits(void)
{
	Probed		probed;
	PbpAdvice  *advice;
	PbpAdviceStorageRow known[2];
	PbpAdviceStorageRow doubtful[2];

	probed_start(&probed, UNIFORM_PAGES, LOAD_PAGES - POOL / 2, 1);
	probed_run(&probed, 2 * SETTLING);
	advice = probed.scene.run.advice[0];
	for (int i = 0; i < 2; i++)
	{
		pbp_advice_calibrate(advice, (PbpFigure) {0, 0}, NAN);
		known[i] = storage_row_of(advice, i == 0 ? TODAY : 0);
		pbp_advice_calibrate(advice, (PbpFigure) {0, 0.02}, NAN);
		doubtful[i] = storage_row_of(advice, i == 0 ? TODAY : 0);
		printf("# %.4f +- %.4f, in doubt +- %.4f\n", known[i].ratio.value, known[i].ratio.error, doubtful[i].ratio.error);
	}
	ok(doubtful[0].ratio.error > known[0].ratio.error && doubtful[0].ratio.error >= 0.02 * row_of(advice, TODAY).ratio.value, "what is in doubt of today's misses is in doubt of its storage reads");
	ok(known[1].ratio.value < 0.001 && doubtful[1].ratio.error - known[1].ratio.error < 0.01 * row_of(advice, 0).ratio.value,
	   "but less of those of a size where none waits");
	probed_finish(&probed);
}

int
main(void)
{
	measure_loads();
	notice_lies();
	probe_rarely();
	know_nothing();
	make_room();
	compare_same_loads();
	need_answers();
	busy_server();
	correct_by_probes(1.25);
	correct_by_probes(0.8);
	notice_another(MEMORY / 10, false);
	notice_another(MEMORY / 3, true);
	doubt_what_waits();
	return end_of_tests();
}

/*
 * working_set.c
 *	  Compares the estimates of src/simulator/workingset.c with the true number
 *	  of distinct pages of a trace.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>

#include "simulator/workingset.h"
#include "advice_model.h"

#define PAGES			2000000
#define RELATIONS		10
#define SLOTS			4000	/* room for 3000 pages */
#define NEVER			(-100000)

static PbpWorkingSet set;
static PbpUsedPage slots[SLOTS + 1];
static uint16_t relation_of[PAGES];
static int	last_use[PAGES];	/* as the true time, in seconds */
static double rate;
static int	now;
static uint32_t by_relation[RELATIONS];
static Random drawn = {88172645463325252u};

static void
begin(double sampling_rate, int nslots)
{
	rate = sampling_rate;
	now = 0;
	ok(pbp_init_working_set(&set, slots, sizeof(PbpUsedPage) * (size_t) nslots, rate), "there is room");
	for (int i = 0; i < PAGES; i++)
	{
		last_use[i] = NEVER;
		relation_of[i] = (uint16_t) (i % RELATIONS);
	}
	pbp_begin_uses(&set, now, by_relation, RELATIONS);
}

/* What a look found: uses since the last. */
static void
use(int page)
{
	last_use[page] = now;
	if ((double) key_of(page, 1) <= ldexp(rate, 64))
		pbp_report_use(&set, (uint32_t) key_of(page, 1), relation_of[page]);
}

static bool
look(int seconds)
{
	now += seconds;
	return pbp_begin_uses(&set, now, by_relation, RELATIONS);
}

/* Until the windows contain all uses so far. */
static void
end_epoch(void)
{
	while (!look(1))
		 /* not yet */ ;
}

/* Distinct pages of a window that ends with the last whole epoch. */
static int
true_pages(int window, int relation)
{
	int			end = (int) set.epoch * PBP_EPOCH_SECONDS;
	int			npages = 0;

	for (int i = 0; i < PAGES; i++)
		npages += last_use[i] >= end - pbp_window_seconds(window) && (relation < 0 || i % RELATIONS == relation);
	return npages;
}

/* A look a second finds uses of the first npages pages, for some time. */
static void
run(int seconds, int uses_per_second, int npages)
{
	for (int i = 0; i < seconds; i++)
	{
		look(1);
		now--;					/* these uses belong to the look before */
		for (int j = 0; j < uses_per_second; j++)
			use(below(&drawn, npages));
		now++;
	}
}

static void
known_windows(const char *what, int nknown)
{
	int			known = 0;

	for (int i = 0; i < PBP_WINDOWS; i++)
		known += set.windows[i].known;
	okf(known == nknown, "%s: %d windows are known (%d)", what, nknown, known);
}

/* The windows are right, within tolerance times their errors. */
static void
compare(const char *what, double tolerance)
{
	end_epoch();
	for (int i = 0; i < PBP_WINDOWS; i++)
	{
		const PbpWindow *window = &set.windows[i];
		int			truth = true_pages(i, -1);

		if (!window->known)
			continue;
		printf("# %s, %d s: true %d, estimate %.0f +- %.0f from %u after %d halvings\n", what, pbp_window_seconds(i), truth,
			   window->pages, window->error, window->nsampled, window->halvings);
		okf(fabs(window->pages - truth) <= tolerance * window->error,
			"%s: pages of %d s are right within %g errors", what, pbp_window_seconds(i), tolerance);
	}
}

/* All pages are in the sample, and there is room: counts are exact. */
static void
count_all(void)
{
	begin(1, SLOTS);
	run(30, 20, 2000);
	known_windows("half a minute", 0);
	run(40, 20, 2000);
	known_windows("more than a minute", 1);
	run(300, 20, 2000);
	known_windows("more than five", 2);
	compare("exact", 0);
	ok(by_relation[3] == (uint32_t) true_pages(PBP_WINDOW_OF_RELATIONS, 3), "exact: the pages of a relation");
	run(400, 0, 1);
	ok(set.windows[1].pages == 0 && set.windows[2].pages == true_pages(2, -1) && set.windows[2].pages > 1900,
	   "after a pause of the workload: none in five minutes, all in fifteen");
}

/* More pages than the table has room for, of which most return. */
static void
count_many(void)
{
	begin(0.1, SLOTS);
	run(4000, 500, 1000000);
	known_windows("an hour", PBP_WINDOWS);
	compare("a large working set", 2.5);
	ok(set.halvings > 0 && set.npages < SLOTS, "only some of them are kept");
	for (int i = 0, sum = 0; i < RELATIONS; i++)
	{
		sum += (int) by_relation[i];
		if (i == RELATIONS - 1)
			ok(sum == (int) set.windows[PBP_WINDOW_OF_RELATIONS].nsampled, "relations add up to the window");
	}
	run(20000, 10, 3000);
	compare("a small one, hours later", 2.5);
	ok(set.halvings == 0, "all of its pages are kept");
}

/* The truth is within the error in 19 of 20 windows. */
static void
check_errors(void)
{
	int			within = 0;
	int			total = 0;

	begin(0.02, SLOTS);
	for (int i = 0; i < 200; i++)
	{
		int			first = i * 5000;

		for (int j = 0; j < 60; j++)
		{
			look(5);
			now -= 5;
			for (int k = 0; k < 100; k++)
				use(first + below(&drawn, 5000));
			now += 5;
		}
		end_epoch();
		total += set.windows[1].known;
		if (!set.windows[1].known)
			continue;
		within += fabs(set.windows[1].pages - true_pages(1, -1)) <= set.windows[1].error;
	}
	printf("# %d of %d within the error\n", within, total);
	ok(total > 190 && within >= 0.92 * total && within < total, "19 in 20 windows are within their error");
}

static void
leave_gaps(void)
{
	begin(1, SLOTS);
	run(1000, 20, 2000);
	known_windows("fifteen minutes", 3);
	look(20);
	run(40, 20, 2000);
	known_windows("after 20 s without a look", 2);
	look(100);
	run(40, 20, 2000);
	known_windows("after 100 s", 1);
	run(400, 20, 2000);
	known_windows("some minutes later", 3);
	compare("after pauses", 0);
	pbp_forget_uses(&set);
	known_windows("after a loss of knowledge", 0);
	ok(set.npages == 0 && set.windows[0].watched_seconds == 0, "and no page");
	run(70, 20, 2000);
	known_windows("a minute later", 1);
	compare("after a loss", 0);
	look(100000);
	run(70, 20, 2000);
	known_windows("after a day", 1);
	compare("after a day", 0);
}

/* Reports a page of this hash, once every 800 s. */
static void
use_regularly(const uint32_t *hashes, int nhashes, int seconds)
{
	for (int i = 0; i < seconds; i += 800)
	{
		look(800);
		for (int j = 0; j < nhashes; j++)
			pbp_report_use(&set, hashes[j], relation_of[0]);
	}
}

/* The hash of a page that belongs into this slot, which is mixed once more before. */
static uint32_t
hash_at(int slot, uint32_t number)
{
	return (uint32_t) (((uint64_t) slot << 32) / SLOTS + 1 + number) * UINT32_C(0xE8B2F51);
}

/*
 * Three pages belong into the last slot but one, so they have taken the last and
 * the first one, too; two belong into the first.  When a page goes, those after
 * it move towards where they belong, but not past it.
 */
static void
empty_last_slot(void)
{
	uint32_t	last = hash_at(SLOTS - 2, 2);
	const uint32_t hashes[] = {hash_at(SLOTS - 2, 1), last, hash_at(SLOTS - 2, 0), hash_at(0, 0), hash_at(0, 1)};

	begin(1, SLOTS);
	use_regularly(hashes + 2, 1, 800);
	use_regularly(hashes, 5, 800);
	use_regularly(hashes + 1, 4, 90000);
	ok(set.npages == 4 && set.slots[SLOTS - 1].page == last, "at the end of the table: the next page moves into an empty slot");
	use_regularly(hashes + 2, 3, 180000);
	ok(set.npages == 3 && set.slots[SLOTS - 1].page == 0, "and when it goes, none does");
	end_epoch();
	ok(set.npages == 3 && set.windows[3].nsampled == 3, "the others are found and counted once");
}

/* The 16 bits of the epoch of a page wrap around within the windows. */
static void
wrap_epochs(void)
{
	begin(1, SLOTS);
	look((65536 - 100) * PBP_EPOCH_SECONDS);
	run(400, 20, 2000);
	compare("before epochs wrap around", 0);
	run(200, 20, 2000);
	compare("when epochs have wrapped around", 0);
	run(3700, 20, 2000);
	known_windows("an hour later", PBP_WINDOWS);
	compare("an hour later", 0);
	run(400, 0, 1);
	ok(set.windows[1].pages == 0 && set.windows[2].pages == true_pages(2, -1), "then none in five minutes, all in fifteen");
}

int
main(void)
{
	ok(!pbp_init_working_set(&set, slots, 100, 1), "100 bytes are too few");
	count_all();
	count_many();
	check_errors();
	leave_gaps();
	empty_last_slot();
	wrap_epochs();
	return end_of_tests();
}

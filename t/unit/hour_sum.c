/*
 * hour_sum.c
 *	  Cases of src/statistics/hoursum.c: what is counted in an hour, hours of other sizes of the pool, and sums of hours.
 *	  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "statistics/hoursum.h"
#include "tap.h"

#define SIZES			PBP_ADVICE_FACTORS
#define TODAY			PBP_ADVICE_BASELINE
#define HALF			1
#define TWICE			8
#define FOUR_TIMES		10
#define BUFFERS			100000

/* Floats have seven digits, of which sums of an hour's seconds may lose three. */
static bool
near(double one, double other)
{
	return fabs(one - other) <= 2e-4 * fmax(1e-3, fabs(other));
}

/* A second of a load whose curves are known at any size. */
typedef struct Load
{
	PbpAdviceRow misses[SIZES];
	PbpAdviceStorageRow storage[SIZES];
	bool		fits[SIZES];
	PbpAdviceSplit splits[PBP_TOTALS][PBP_SPLITS];
	PbpHourShare share;
} Load;

static double
falling(double buffers)
{
	return 0.1 * BUFFERS / buffers;
}

/* Storage reads have a minimum at 1.5 times BUFFERS. */
static double
valley(double buffers)
{
	double		octaves = log2(buffers / BUFFERS / 1.5);

	return 0.01 + 0.004 * octaves * octaves;
}

static void
set_load(Load *load, int64_t nbuffers, double error)
{
	memset(load, 0, sizeof(*load));
	for (int i = 0; i < SIZES; i++)
	{
		double		buffers = pbp_advice_factor(i) * (double) nbuffers;
		double		change_error = i == TODAY ? 0 : error;

		load->misses[i] = (PbpAdviceRow) {.factor = pbp_advice_factor(i),.ratio.value = falling(buffers),.ratio.error = error,.ratio.change_error = change_error};
		load->storage[i] = (PbpAdviceStorageRow) {.ratio.value = valley(buffers),.ratio.error = error / 10,.ratio.change_error = change_error / 10};
		load->fits[i] = true;
	}
	load->share = (PbpHourShare)
	{
		.seconds = 1,.accesses = 10000,.reads = 10000 * falling((double) nbuffers),.active_ms = 700,.counted_ms = 600,.read_ms = 300,
		.times = {{2000, 0}, {100000, 0}, false},
		.misses = load->misses,.storage = load->storage,.fits = load->fits,
	};
}

static const int kinds[PBP_SPLITS] = {0, TODAY, TWICE};

/* More memory below the same pool reads less. */
static double
with_memory(int total, int kind)
{
	return valley(pbp_advice_factor(kinds[kind]) * BUFFERS) / pbp_total_factor(total);
}

/* Splits of other totals, for hours with so much memory. */
static void
set_splits(Load *load, double memory)
{
	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
			load->splits[i][kind] = (PbpAdviceSplit) {kinds[kind], true, {.ratio.value = with_memory(i, kind),.ratio.error = 0.0001,.ratio.change_error = 0.0001}};
	load->share.memory = memory;
	load->share.splits = load->splits;
}

/* Waiting for a second's accesses, in ms. */
static double
true_waiting(double buffers)
{
	return 10000 * ((falling(buffers) - valley(buffers)) * 2000 + valley(buffers) * 100000) / 1e6;
}

static void
add_seconds(PbpHour *hour, const Load *load, int seconds)
{
	for (int i = 0; i < seconds; i++)
		pbp_add_to_hour(hour, &load->share);
}

static PbpHour
hour_of(const Load *load, int seconds, int64_t nbuffers)
{
	PbpHour		hour = {.nbuffers = nbuffers};

	add_seconds(&hour, load, seconds);
	return hour;
}

/* ---- counting ---- */

static void
counted(void)
{
	Load		load;
	PbpHour		hour;
	bool		right = true;

	set_load(&load, BUFFERS, 0.001);
	hour = hour_of(&load, 3600, BUFFERS);
	ok(hour.seconds == 3600 && near(hour.accesses, 3.6e7) && near(hour.reads, 3.6e6) && near(hour.active_ms, 2.52e6) && near(hour.counted_ms, 2.16e6) &&
	   near(hour.read_ms, 1.08e6) && hour.read_ms_seconds == 3600, "an hour has what its seconds have");
	for (int i = 0; i < SIZES; i++)
	{
		double		buffers = pbp_advice_factor(i) * BUFFERS;
		const PbpHourWaiting *size = &hour.sizes[i];

		right &= near(size->accesses, 3.6e7) && near(size->storage_reads, 3.6e7 * valley(buffers)) &&
			near(size->ms, 3600 * true_waiting(buffers)) &&
			near(size->change, 3600 * (true_waiting(buffers) - true_waiting(BUFFERS)));
	}
	ok(right, "and each size what it would have waited");
	ok(hour.sizes[TODAY].change == 0 && hour.sizes[TODAY].change_error == 0, "today's size has no change, for certain");
}

static void
partly_known(void)
{
	Load		load;
	PbpHour		hour;
	PbpHoursSum sum = {0};

	set_load(&load, BUFFERS, 0.001);
	hour = hour_of(&load, 300, BUFFERS);
	load.misses[TWICE].ratio.value = load.storage[TWICE].ratio.value = NAN;
	load.storage[HALF].ratio.value = NAN;
	load.fits[FOUR_TIMES] = false;
	add_seconds(&hour, &load, 100);
	load.share.storage = NULL;
	load.share.read_ms = NAN;
	add_seconds(&hour, &load, 100);
	pbp_sum_hour(&sum, &hour);
	ok(near(sum.sizes[TODAY].accesses, 4e6) && near(sum.sizes[HALF].accesses, 3e6) && near(sum.sizes[FOUR_TIMES].accesses, 3e6),
	   "waiting is known for a part of the accesses, and not of sizes that do not fit");
	ok(near(pbp_waiting_of_sum(&sum, &sum.sizes[TODAY]).value, true_waiting(BUFFERS)) && isnan(pbp_waiting_of_sum(&sum, &sum.sizes[HALF]).value),
	   "if it was for most of them, it is for all");
	ok(near(sum.sizes[HALF].ms, 300 * true_waiting(BUFFERS / 2)), "and sums are of that part");
	ok(hour.read_ms_seconds == 400 && near(hour.read_ms, 400 * 300), "so is today's waiting");
	memset(&sum, 0, sizeof(sum));
	ok(isnan(pbp_waiting_of_sum(&sum, &sum.sizes[TODAY]).value), "without accesses, nothing is known");
}

/* An hour without a load has no figures, but was seen. */
static void
idle(void)
{
	Load		load;
	PbpHour		hour = {.nbuffers = BUFFERS};

	set_load(&load, BUFFERS, 0.001);
	load.share.accesses = load.share.reads = load.share.active_ms = load.share.counted_ms = load.share.read_ms = 0;
	pbp_add_to_hour(&hour, &load.share);
	ok(hour.seconds == 1 && hour.sizes[TODAY].accesses == 0 && pbp_best_of_hour(&hour) == -1, "an idle second is seen, and says nothing");
}

/* A light load of nothing but hits, as many as there are otherwise, of which other sizes are unknown. */
static void
light(void)
{
	Load		load;
	PbpHour		hour = {.nbuffers = BUFFERS};
	PbpHoursSum sum = {0};

	set_load(&load, BUFFERS, 0.001);
	add_seconds(&hour, &load, 1000);
	load.share.apart = load.share.accesses;
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (i != TODAY)
			load.misses[i].ratio.value = load.storage[i].ratio.value = NAN;
	add_seconds(&hour, &load, 1000);
	pbp_sum_hour(&sum, &hour);
	ok(near(sum.accesses, 2e7) && near(sum.sizes[TODAY].accesses, 1e7), "accesses of a light load count, but have not the figures of the load");
	ok(near(pbp_waiting_of_sum(&sum, &sum.sizes[TODAY]).value, true_waiting(BUFFERS) / 2) &&
	   near(pbp_waiting_of_sum(&sum, &sum.sizes[HALF]).value, true_waiting(BUFFERS / 2) / 2), "which remain known of all sizes");
}

/* ---- other sizes ---- */

static void
moved_to_known(void)
{
	Load		load;
	PbpHour		hour;
	const PbpHourWaiting *half;

	set_load(&load, BUFFERS, 0.001);
	hour = hour_of(&load, 100, BUFFERS);
	pbp_move_hour(&hour, 2 * BUFFERS);
	half = &hour.sizes[HALF];
	ok(hour.nbuffers == 2 * BUFFERS && near(half->ms, 100 * true_waiting(BUFFERS)) &&
	   near(half->storage_reads, 1e6 * valley(BUFFERS)),
	   "twice the size: half of it is what ran before");
	ok(near(half->change, 100 * (true_waiting(BUFFERS) - true_waiting(2 * BUFFERS))) && half->change_error > 0,
	   "and changes are differences to the new size, with their error");
	ok(hour.sizes[TODAY].change == 0 && hour.sizes[TODAY].change_error == 0 &&
	   near(hour.sizes[TODAY].ms, 100 * true_waiting(2 * BUFFERS)), "which has none");
	ok(hour.sizes[FOUR_TIMES - 1].accesses == 0 && hour.sizes[FOUR_TIMES].accesses == 0, "what was not estimated remains unknown");
	ok(hour.seconds == 100 && near(hour.read_ms, 100 * 300) && near(hour.reads, 1e5), "what the server has counted remains");
	pbp_move_hour(&hour, 100 * BUFFERS);
	ok(hour.sizes[TODAY].accesses == 0 && hour.sizes[0].accesses == 0 && hour.seconds == 100, "far outside, nothing is known");
}

/* At sizes between those that were estimated, the truth is within the errors, which stay useful. */
static void
moved_between(double factor, const char *what)
{
	Load		load;
	PbpHour		hour;
	int64_t		nbuffers = (int64_t) (factor * BUFFERS);
	bool		covered = true;
	double		most = 0;
	int			known = 0;

	set_load(&load, BUFFERS, 0.0005);
	hour = hour_of(&load, 100, BUFFERS);
	pbp_move_hour(&hour, nbuffers);
	for (int i = 0; i < SIZES; i++)
	{
		const PbpHourWaiting *size = &hour.sizes[i];
		double		buffers = pbp_advice_factor(i) * (double) nbuffers;

		if (size->accesses == 0)
			continue;
		known++;
		covered &= fabs(size->ms - 100 * true_waiting(buffers)) <= size->error &&
			fabs(size->change - 100 * (true_waiting(buffers) - true_waiting((double) nbuffers))) <= size->change_error + 1e-9;
		most = fmax(most, size->change_error / (100 * true_waiting((double) nbuffers)));
	}
	if (!covered || known < 8 || most > 0.5)
		printf("# %d sizes known, errors up to %g\n", known, most);
	ok(covered && known >= 8 && most <= 0.5, what);
}

static void
moved_unknown(void)
{
	Load		load;
	PbpHour		hour;

	set_load(&load, BUFFERS, 0.001);
	load.storage[TWICE].ratio.value = NAN;
	hour = hour_of(&load, 10, BUFFERS);
	pbp_move_hour(&hour, 2 * BUFFERS);
	ok(hour.sizes[TODAY].accesses == 0 && hour.sizes[HALF].accesses == 0, "a size whose waiting was unknown: there are no changes to it");
}

/* ---- sums ---- */

static void
sums(void)
{
	Load		load;
	PbpHour		before;
	PbpHour		now;
	PbpHoursSum sum = {0};

	set_load(&load, BUFFERS, 0.001);
	now = hour_of(&load, 100, BUFFERS);
	set_load(&load, 2 * BUFFERS, 0.001);
	before = hour_of(&load, 300, 2 * BUFFERS);
	pbp_move_hour(&before, BUFFERS);
	pbp_sum_hour(&sum, &before);
	pbp_sum_hour(&sum, &now);
	ok(sum.seconds == 400 && near(sum.accesses, 4e6) && near(sum.reads, 3e5 * falling(2 * BUFFERS) * 10 + 1e5) && near(sum.active_ms, 400 * 700) && near(sum.counted_ms, 400 * 600) && pbp_working_of_sum(&sum) == 700, "a sum has what its hours have");
	ok(near(sum.sizes[TWICE].ms, 400 * true_waiting(2 * BUFFERS)) &&
	   near(sum.sizes[TWICE].change, 400 * (true_waiting(2 * BUFFERS) - true_waiting(BUFFERS))),
	   "also those that ran with another size");
	ok(near(sum.sizes[TWICE].change_error, before.sizes[TWICE].change_error + now.sizes[TWICE].change_error), "errors of hours do not cancel");
}

/* ---- other totals of memory ---- */

#define HALF_OF_MEMORY	2
#define TWICE_MEMORY	8

static bool
has_splits(const PbpHour *hour, int seconds)
{
	bool		right = true;

	for (int i = 0; i < PBP_TOTALS; i++)
		for (int kind = 0; kind < PBP_SPLITS && i != PBP_TOTAL_TODAY; kind++)
		{
			const PbpHourWaiting *waiting = &hour->splits[pbp_other_split(i, kind)];
			double		misses = falling(pbp_advice_factor(kinds[kind]) * BUFFERS);
			double		storage = with_memory(i, kind);
			double		ms = 10000 * ((misses - storage) * 2000 + storage * 100000) / 1e6;

			right &= near(waiting->accesses, 1e4 * seconds) && near(waiting->storage_reads, 1e4 * seconds * storage) &&
				near(waiting->storage_error, 1e4 * seconds * 0.0001) && near(waiting->ms, seconds * ms) &&
				near(waiting->change, seconds * (ms - true_waiting(BUFFERS)));
		}
	return right;
}

static void
splits_counted(void)
{
	Load		load;
	PbpHour		hour;
	PbpHour		moved;
	PbpHourShare idle;

	set_load(&load, BUFFERS, 0.001);
	set_splits(&load, 1e9);
	hour = hour_of(&load, 100, BUFFERS);
	ok(pbp_is_of_memory(&hour, 1e9) && has_splits(&hour, 100), "an hour has what each split of other totals would have waited");
	load.share.memory = 1.05e9;
	pbp_add_to_hour(&hour, &load.share);
	ok(hour.memory == 1e9 && has_splits(&hour, 101), "nearly as much memory is the same");
	moved = hour;
	pbp_move_hour(&moved, 2 * BUFFERS);
	ok(!pbp_is_of_memory(&moved, 1e9) && moved.splits[0].accesses == 0, "of another pool, nothing is known of them");
	ok(!pbp_is_of_memory(&hour, 1.2e9) && !pbp_is_of_memory(&hour, 0.8e9) && !pbp_is_of_memory(&hour, NAN), "more or less memory is not");
	load.share.memory = 1.2e9;
	add_seconds(&hour, &load, 10);
	ok(hour.memory == 1e9 && has_splits(&hour, 101) && near(hour.sizes[TWICE].accesses, 111e4),
	   "what happens with other memory is not added to the splits");
	add_seconds(&hour, &load, 101);
	ok(hour.memory == 1.2e9 && has_splits(&hour, 10), "until that has lasted for longer");
	load.splits[TWICE_MEMORY][2].size = FOUR_TIMES;
	load.splits[TWICE_MEMORY][1].fits = false;
	pbp_add_to_hour(&hour, &load.share);
	ok(hour.splits[pbp_other_split(TWICE_MEMORY, 2)].accesses == 1e4f && hour.split_sizes[pbp_other_split(TWICE_MEMORY, 2)] == FOUR_TIMES &&
	   near(hour.splits[pbp_other_split(TWICE_MEMORY, 1)].accesses, 10e4) && near(hour.splits[pbp_other_split(TWICE_MEMORY, 0)].accesses, 11e4),
	   "a split with another pool begins again, and one that does not fit has no more waiting");
	idle = load.share;
	idle.accesses = 0;
	memset(&hour, 0, sizeof(hour));
	pbp_add_to_hour(&hour, &idle);
	ok(pbp_is_of_memory(&hour, 1.2e9) && hour.splits[0].accesses == 0, "an idle second has memory, too");
}

/* By day, the small pool is better with twice the memory; by night, the large one. */
static void
splits_summed(void)
{
	Load		load;
	PbpHour		day;
	PbpHour		night;
	PbpHoursSum sum = {0};
	int			small = pbp_other_split(TWICE_MEMORY, 0);
	int			large = pbp_other_split(TWICE_MEMORY, 2);

	set_load(&load, BUFFERS, 0.001);
	set_splits(&load, 1e9);
	load.splits[TWICE_MEMORY][0].storage.ratio.value = 0.001;
	load.splits[TWICE_MEMORY][2].storage.ratio.value = 0.02;
	day = hour_of(&load, 300, BUFFERS);
	load.splits[TWICE_MEMORY][0].storage.ratio.value = 0.07;
	night = hour_of(&load, 100, BUFFERS);
	pbp_sum_hour(&sum, &day);
	pbp_sum_splits(&sum, &day, load.share.splits);
	ok(sum.splits[small].ms < sum.splits[large].ms, "one hour has one best split");
	ok(night.splits[small].ms > night.splits[large].ms, "the other one another");
	pbp_sum_hour(&sum, &night);
	pbp_sum_splits(&sum, &night, load.share.splits);
	ok(near(sum.splits[small].storage_reads, 1e4 * (300 * 0.001 + 100 * 0.07)) && near(sum.splits[large].storage_reads, 1e4 * 400 * 0.02) &&
	   near(sum.splits[small].storage_error, 1e4 * 400 * 0.0001), "a sum of both has the sum of each split");
	ok(near(pbp_waiting_of_sum(&sum, &sum.splits[small]).value, (day.splits[small].ms + night.splits[small].ms) / 400) &&
	   near(pbp_waiting_of_sum(&sum, &sum.splits[small]).change_error, (day.splits[small].change_error + night.splits[small].change_error) / 400),
	   "and its mean in a second");
	load.splits[HALF_OF_MEMORY][2].size = FOUR_TIMES;
	memset(&sum, 0, sizeof(sum));
	pbp_sum_splits(&sum, &day, load.share.splits);
	ok(sum.splits[pbp_other_split(HALF_OF_MEMORY, 2)].accesses == 0 && sum.splits[large].accesses == 3e6f, "but none with another pool");
}

static void
best(void)
{
	Load		load;
	PbpHour		hour;

	set_load(&load, BUFFERS, 0.0001);
	hour = hour_of(&load, 100, BUFFERS);
	ok(pbp_advice_factor(pbp_best_of_hour(&hour)) == 1.5, "the best size has the shortest waiting");
	set_load(&load, BUFFERS, 0.05);
	hour = hour_of(&load, 100, BUFFERS);
	ok(pbp_best_of_hour(&hour) == TODAY, "within the error, today's size is the best");
	load.share.storage = NULL;
	add_seconds(&hour, &load, 101);
	ok(pbp_best_of_hour(&hour) == -1, "if the waiting was unknown most of the time, so is the best size");
}

int
main(void)
{
	counted();
	partly_known();
	idle();
	light();
	moved_to_known();
	moved_between(1.1, "a slightly larger size: the truth is within the errors");
	moved_between(0.8, "a smaller one: likewise");
	moved_between(1.7, "a much larger one: likewise");
	moved_unknown();
	sums();
	splits_counted();
	splits_summed();
	best();
	return end_of_tests();
}

/*
 * hour_sum.c
 *	  Cases of src/advice/hoursum.c: what is counted in an hour, hours of other sizes of the pool, and sums of hours.
 *	  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advice/hoursum.h"
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
	PbpHourShare share;
} Load;

typedef double (*Curve) (double buffers);

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
set_load(Load *load, int64_t nbuffers, Curve misses, Curve storage, double error)
{
	memset(load, 0, sizeof(*load));
	for (int i = 0; i < SIZES; i++)
	{
		double		buffers = pbp_advice_factor(i) * (double) nbuffers;
		double		change_error = i == TODAY ? 0 : error;

		load->misses[i] = (PbpAdviceRow) {.factor = pbp_advice_factor(i),.miss_ratio = misses(buffers),.uncertainty = error,.change_error = change_error};
		load->storage[i] = (PbpAdviceStorageRow) {.storage_ratio = storage(buffers),.uncertainty = error / 10,.change_error = change_error / 10};
		load->fits[i] = true;
	}
	load->share = (PbpHourShare)
	{
		.seconds = 1,.accesses = 10000,.reads = 10000 * misses((double) nbuffers),.active_ms = 700,.read_ms = 300,
		.times = {{2000, 0}, {100000, 0}, false},
		.misses = load->misses,.storage = load->storage,.fits = load->fits,
	};
}

/* Waiting for a second's accesses, in ms. */
static double
true_waiting(double buffers)
{
	return 10000 * ((falling(buffers) - valley(buffers)) * 2000 + valley(buffers) * 100000) / 1e6;
}

static PbpHour
hour_of(const Load *load, int seconds, int64_t nbuffers)
{
	PbpHour		hour = {.nbuffers = nbuffers};

	for (int i = 0; i < seconds; i++)
		pbp_add_to_hour(&hour, &load->share);
	return hour;
}

/* ---- counting ---- */

static void
counted(void)
{
	Load		load;
	PbpHour		hour;
	bool		right = true;

	set_load(&load, BUFFERS, falling, valley, 0.001);
	hour = hour_of(&load, 3600, BUFFERS);
	ok(hour.seconds == 3600 && near(hour.accesses, 3.6e7) && near(hour.reads, 3.6e6) && near(hour.active_ms, 2.52e6) &&
	   near(hour.read_ms, 1.08e6) && hour.read_ms_seconds == 3600, "an hour has what its seconds have");
	for (int i = 0; i < SIZES; i++)
	{
		double		buffers = pbp_advice_factor(i) * BUFFERS;
		const PbpHourSize *size = &hour.sizes[i];

		right &= near(size->accesses, 3.6e7) && near(size->misses, 3.6e7 * falling(buffers)) &&
			near(size->misses_change, 3.6e7 * (falling(buffers) - falling(BUFFERS))) &&
			near(size->misses_change_error, i == TODAY ? 0 : 3.6e7 * 0.001) &&
			near(size->waiting_accesses, 3.6e7) && near(size->storage_reads, 3.6e7 * valley(buffers)) &&
			near(size->waiting_ms, 3600 * true_waiting(buffers)) &&
			near(size->waiting_change, 3600 * (true_waiting(buffers) - true_waiting(BUFFERS)));
	}
	ok(right, "and each size what it would have missed and waited");
	ok(hour.sizes[TODAY].waiting_change == 0 && hour.sizes[TODAY].waiting_change_error == 0, "today's size has no change, for certain");
}

static void
partly_known(void)
{
	Load		load;
	PbpHour		hour;
	PbpHoursSum sum = {0};

	set_load(&load, BUFFERS, falling, valley, 0.001);
	hour = hour_of(&load, 300, BUFFERS);
	load.misses[TWICE].miss_ratio = load.storage[TWICE].storage_ratio = NAN;
	load.storage[HALF].storage_ratio = NAN;
	load.fits[FOUR_TIMES] = false;
	for (int i = 0; i < 100; i++)
		pbp_add_to_hour(&hour, &load.share);
	load.share.storage = NULL;
	load.share.read_ms = NAN;
	for (int i = 0; i < 100; i++)
		pbp_add_to_hour(&hour, &load.share);
	pbp_sum_hour(&sum, &hour);
	ok(near(pbp_known_misses(&sum, TODAY), 1) && near(pbp_known_misses(&sum, TWICE), 0.6) && near(pbp_known_misses(&sum, HALF), 1),
	   "a miss ratio is known for a part of the accesses");
	ok(near(pbp_known_waiting(&sum, TODAY), 0.8) && near(pbp_known_waiting(&sum, HALF), 0.6) && near(pbp_known_waiting(&sum, FOUR_TIMES), 0.6),
	   "so is the waiting, which sizes that do not fit do not have");
	ok(near(sum.sizes[HALF].waiting_ms, 300 * true_waiting(BUFFERS / 2)), "and sums are of that part");
	ok(hour.read_ms_seconds == 400 && near(hour.read_ms, 400 * 300), "so is today's waiting");
	memset(&sum, 0, sizeof(sum));
	ok(pbp_known_misses(&sum, TODAY) == 0 && pbp_known_waiting(&sum, TODAY) == 0, "without accesses, nothing is known");
}

/* An hour without a load has no figures, but was seen. */
static void
idle(void)
{
	Load		load;
	PbpHour		hour = {.nbuffers = BUFFERS};

	set_load(&load, BUFFERS, falling, valley, 0.001);
	load.share.accesses = load.share.reads = load.share.active_ms = load.share.read_ms = 0;
	pbp_add_to_hour(&hour, &load.share);
	ok(hour.seconds == 1 && hour.sizes[TODAY].accesses == 0 && pbp_best_of_hour(&hour) == -1, "an idle second is seen, and says nothing");
}

/* ---- other sizes ---- */

static void
moved_to_known(void)
{
	Load		load;
	PbpHour		hour;
	const PbpHourSize *half;

	set_load(&load, BUFFERS, falling, valley, 0.001);
	hour = hour_of(&load, 100, BUFFERS);
	pbp_move_hour(&hour, 2 * BUFFERS);
	half = &hour.sizes[HALF];
	ok(hour.nbuffers == 2 * BUFFERS && near(half->misses, 1e6 * falling(BUFFERS)) && near(half->waiting_ms, 100 * true_waiting(BUFFERS)) &&
	   near(half->storage_reads, 1e6 * valley(BUFFERS)),
	   "twice the size: half of it is what ran before");
	ok(near(half->misses_change, 1e6 * (falling(BUFFERS) - falling(2 * BUFFERS))) &&
	   near(half->waiting_change, 100 * (true_waiting(BUFFERS) - true_waiting(2 * BUFFERS))) &&
	   near(half->misses_change_error, 1e6 * 0.001), "and changes are differences to the new size, with their error");
	ok(hour.sizes[TODAY].waiting_change == 0 && hour.sizes[TODAY].waiting_change_error == 0 &&
	   near(hour.sizes[TODAY].waiting_ms, 100 * true_waiting(2 * BUFFERS)), "which has none");
	ok(hour.sizes[FOUR_TIMES].accesses == 0 && hour.sizes[FOUR_TIMES].waiting_accesses == 0, "what was not estimated remains unknown");
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

	set_load(&load, BUFFERS, falling, valley, 0.0005);
	hour = hour_of(&load, 100, BUFFERS);
	pbp_move_hour(&hour, nbuffers);
	for (int i = 0; i < SIZES; i++)
	{
		const PbpHourSize *size = &hour.sizes[i];
		double		buffers = pbp_advice_factor(i) * (double) nbuffers;

		if (size->waiting_accesses == 0)
			continue;
		known++;
		covered &= fabs(size->waiting_ms - 100 * true_waiting(buffers)) <= size->waiting_error &&
			fabs(size->waiting_change - 100 * (true_waiting(buffers) - true_waiting((double) nbuffers))) <= size->waiting_change_error + 1e-9 &&
			fabs(size->misses_change - 1e6 * (falling(buffers) - falling((double) nbuffers))) <= size->misses_change_error + 1e-9;
		most = fmax(most, size->waiting_change_error / (100 * true_waiting((double) nbuffers)));
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

	set_load(&load, BUFFERS, falling, valley, 0.001);
	load.storage[TWICE].storage_ratio = NAN;
	hour = hour_of(&load, 10, BUFFERS);
	pbp_move_hour(&hour, 2 * BUFFERS);
	ok(hour.sizes[TODAY].waiting_accesses == 0 && hour.sizes[HALF].waiting_accesses == 0 && hour.sizes[HALF].accesses > 0,
	   "a size whose waiting was unknown: there are no changes to it, but of misses");
}

/* ---- sums ---- */

static void
sums(void)
{
	Load		load;
	PbpHour		before;
	PbpHour		now;
	PbpHoursSum sum = {0};

	set_load(&load, BUFFERS, falling, valley, 0.001);
	now = hour_of(&load, 100, BUFFERS);
	set_load(&load, 2 * BUFFERS, falling, valley, 0.001);
	before = hour_of(&load, 300, 2 * BUFFERS);
	pbp_move_hour(&before, BUFFERS);
	pbp_sum_hour(&sum, &before);
	pbp_sum_hour(&sum, &now);
	ok(sum.nhours == 2 && sum.seconds == 400 && near(sum.accesses, 4e6) && near(sum.active_ms, 400 * 700), "a sum has what its hours have");
	ok(near(sum.sizes[TWICE].waiting_ms, 400 * true_waiting(2 * BUFFERS)) &&
	   near(sum.sizes[TWICE].waiting_change, 400 * (true_waiting(2 * BUFFERS) - true_waiting(BUFFERS))),
	   "also those that ran with another size");
	ok(near(sum.sizes[TWICE].misses_change_error, 4e6 * 0.001), "errors of hours do not cancel");
}

static void
best(void)
{
	Load		load;
	PbpHour		hour;

	set_load(&load, BUFFERS, falling, valley, 0.0001);
	hour = hour_of(&load, 100, BUFFERS);
	ok(pbp_advice_factor(pbp_best_of_hour(&hour)) == 1.5, "the best size has the shortest waiting");
	set_load(&load, BUFFERS, falling, valley, 0.05);
	hour = hour_of(&load, 100, BUFFERS);
	ok(pbp_best_of_hour(&hour) == TODAY, "within the error, today's size is the best");
	load.share.storage = NULL;
	for (int i = 0; i < 101; i++)
		pbp_add_to_hour(&hour, &load.share);
	ok(pbp_best_of_hour(&hour) == -1, "if the waiting was unknown most of the time, so is the best size");
}

int
main(void)
{
	counted();
	partly_known();
	idle();
	moved_to_known();
	moved_between(1.1, "a slightly larger size: the truth is within the errors");
	moved_between(0.8, "a smaller one: likewise");
	moved_between(1.7, "a much larger one: likewise");
	moved_unknown();
	sums();
	best();
	printf("1..%d\n", tests);
	return 0;
}

/*
 * waiting.c
 *	  Cases of src/statistics/waiting.c: how long sessions wait at each size, by known times and by draws.  Prints TAP.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "statistics/waiting.h"
#include "figures.h"
#include "random.h"
#include "tap.h"

#define DRAWS			10000
#define PROBES			120

static Random chance = {1};

static PbpAdviceRow
misses(double ratio, double error, double change_error)
{
	return (PbpAdviceRow) {.ratio.value = ratio,.ratio.error = error,.ratio.change_error = change_error};
}

static PbpAdviceStorageRow
storage(double ratio, double error, double change_error)
{
	return (PbpAdviceStorageRow) {.ratio.value = ratio,.ratio.error = error,.ratio.change_error = change_error};
}

/* ---- times ---- */

static void
means(void)
{
	int64_t		same[] = {3000, 3000, 3000, 3000, 3000};
	int64_t		one_slow[] = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 11000};
	PbpFigure	mean = pbp_mean_time(same, 5);

	ok(near(mean.value, 3000) && mean.error == 0, "equal times: their mean is certain");
	ok(isnan(pbp_mean_time(same, 4).value) && isnan(pbp_mean_time(same, 4).error), "four times are too few");
	mean = pbp_mean_time(one_slow, 10);
	ok(near(mean.value, 2000), "a slow read counts as much as it takes");
	ok(near(mean.error, 1.96 * 1000), "and makes the mean uncertain");
}

/* Times of reads scatter like this, or less. */
static void
covered_means(void)
{
	int			covered = 0;

	for (int i = 0; i < DRAWS; i++)
	{
		int64_t		times[PROBES];
		PbpFigure	mean;

		for (int j = 0; j < PROBES; j++)
			times[j] = (int64_t) (-100000 * log(next_share(&chance)));
		mean = pbp_mean_time(times, PROBES);
		covered += fabs(mean.value - 100000) <= mean.error;
	}
	ok(covered >= 0.92 * DRAWS && covered <= 0.97 * DRAWS, "scattered times: 95 % of the intervals have the true mean");
}

static const PbpFigure os_time = {2000, 200};
static const PbpFigure storage_time = {100000, 10000};
static const PbpFigure unknown = {NAN, NAN};
static const PbpFigure no_scans = {0, 0};

/* The server's mean of all reads, with an error as a share of it. */
static PbpFigure
server_time(double ns, double uncertain)
{
	return (PbpFigure) {ns, ns * uncertain};
}

static void
times_of_probes(void)
{
	PbpReadTimes times = pbp_read_times(os_time, storage_time, PBP_NO_FIGURE, 0.2, no_scans);

	ok(!times.measured && times.os.value == 2000 && times.storage.value == 100000, "without other times, those of the probes");
	ok(times.os.error > 0.5 * 2000 && times.storage.error > 0.5 * 100000, "which are uncertain, however many there are");
	times = pbp_read_times(os_time, storage_time, server_time(50000, 0), NAN, no_scans);
	ok(!times.measured && times.os.value == 2000, "the same while it is unknown which reads wait for storage");
	times = pbp_read_times(unknown, storage_time, server_time(50000, 0), 0.2, no_scans);
	ok(isnan(times.os.value) && times.storage.value == 100000, "a mean of both says nothing about one that is unknown");
}

static void
measured_times(void)
{
	PbpReadTimes times = pbp_read_times(os_time, storage_time, server_time(43200, 0), 0.2, no_scans);

	ok(times.measured && near(0.8 * times.os.value + 0.2 * times.storage.value, 43200), "measured times: the mean is that of the server");
	ok(near(times.storage.value / times.os.value, 50), "and the ratio that of the probes");
	ok(times.storage.error < 0.1 * times.storage.value, "what takes most of the time is known best");
	ok(times.os.error > 0.3 * times.os.value, "and what takes little is not");
	times = pbp_read_times(os_time, storage_time, server_time(43200, 0.2), 0.2, no_scans);
	ok(times.uncertain == 0.2, "which may be uncertain");
	times = pbp_read_times(os_time, unknown, server_time(3000, 0), 0, no_scans);
	ok(times.os.value == 3000 && times.os.error == 0 && isnan(times.storage.value), "if storage serves no read, all have the measured time");
	times = pbp_read_times(unknown, storage_time, server_time(3000, 0), 1, no_scans);
	ok(times.storage.value == 3000 && times.storage.error == 0 && isnan(times.os.value), "likewise if it serves all");
	times = pbp_read_times(os_time, storage_time, server_time(43200, 0), 0.2, (PbpFigure) {1, 0.5});
	ok(near(0.8 * times.os.value + (0.2 + 0.125) * times.storage.value, 43200), "with the time of scans, the mean has theirs as well");
	ok(near(times.scanned, 2 * 0.125 * times.storage.value / 43200), "of which up to twice as many blocks may take some, or none");
	times = pbp_read_times(os_time, storage_time, server_time(43200, 0), 0.2, (PbpFigure) {INFINITY, 0});
	ok(!times.measured, "a mean of scans alone says nothing about reads");
}

static void
times_of_scans(void)
{
	PbpFigure	time = pbp_scan_time(storage_time, 5000, (PbpFigure) {0.5, 0.1});

	ok(near(time.value, 10000) && near(time.error, 2000), "scans: the server's mean time is that of the blocks from storage");
	time = pbp_scan_time(storage_time, 5000, (PbpFigure) {0.5, 0.5});
	ok(near(time.error, 10000), "scans: if any share may be from storage, they may take no time");
	time = pbp_scan_time(storage_time, 5000, (PbpFigure) {0.05, 0.01});
	ok(near(time.value + time.error, 25000) && near(time.value, time.error), "scans: hardly any from storage: at most a quarter of a read by itself");
	time = pbp_scan_time(storage_time, NAN, (PbpFigure) {0.5, 0.1});
	ok(near(time.value + time.error, 25000) && near(time.value, time.error), "scans that are not timed: likewise");
}

/* ---- waiting ---- */

static PbpCompared
compare(PbpReadTimes times, double today_misses, double today_storage, double other_misses, double other_storage)
{
	PbpAdviceRow today = misses(today_misses, 0, 0);
	PbpAdviceStorageRow today_waits = storage(today_storage, 0, 0);
	PbpAdviceRow other = misses(other_misses, 0, 0);
	PbpAdviceStorageRow other_waits = storage(other_storage, 0, 0);
	PbpWaitingInput input = {1e6, times, &today, &today_waits, 0};

	return pbp_waiting(&input, &other, &other_waits);
}

static const PbpReadTimes exact = {.os = {2000, 0},.storage = {100000, 0}};

static void
waiting_of_sizes(void)
{
	PbpCompared waiting = compare(exact, 0.1, 0.02, 0.1, 0.02);

	ok(near(waiting.value, 80000 * 0.002 + 20000 * 0.1) && waiting.change == 0 && waiting.change_error == 0 && waiting.error == 0,
	   "today's size: each kind of read with its time");
	waiting = compare(exact, 0.1, 0.02, 0.05, 0.03);
	ok(near(waiting.value, 20000 * 0.002 + 30000 * 0.1) && near(waiting.change, waiting.value - 2160),
	   "fewer misses, of which more wait for storage: sessions wait longer");
	waiting = compare(exact, 0.1, 0.02, 0.02, 0.03);
	ok(near(waiting.value, 30000 * 0.1), "more storage reads than misses: no read from the page cache takes less than no time");
	ok(isnan(compare(exact, 0.1, 0.02, NAN, NAN).value) && isnan(compare(exact, 0.1, 0.02, 0.05, NAN).change),
	   "unknown shares: the waiting is unknown");
	ok(isnan(compare(exact, 0.1, NAN, 0.05, 0.03).change) && !isnan(compare(exact, 0.1, NAN, 0.05, 0.03).value),
	   "today unknown: only the change is");
}

/* Half of what scans read is from storage today, and all of it with a larger pool, which saves misses. */
static void
waiting_of_scans(void)
{
	PbpAdviceRow today = misses(0.1, 0, 0);
	PbpAdviceRow other = misses(0.05, 0, 0);
	PbpAdviceStorageRow waits = storage(0.02, 0, 0);
	PbpAdviceStorageRow other_waits = storage(0.02, 0, 0);
	PbpWaitingInput input = {1e6, exact, &today, &waits, 0};
	double		lookups = pbp_waiting(&input, &today, &waits).value;
	double		saved = pbp_waiting(&input, &other, &other_waits).change;
	PbpCompared waiting;

	input.times.scan = (PbpFigure) {10000, 0};
	waits.scans.value = 0.5;
	other_waits.scans.value = 1;
	waiting = pbp_waiting(&input, &today, &waits);
	ok(near(waiting.value, lookups + 5000) && waiting.change == 0 && waiting.error == 0, "what scans wait is a part of today's waiting");
	ok(near(pbp_share_of_scans(&input, &waits, waiting.value), 5000 / waiting.value), "a share that is known");
	ok(pbp_share_of_scans(&input, &waits, NAN) == 0, "unless the waiting is not");
	waiting = pbp_waiting(&input, &other, &other_waits);
	ok(near(waiting.change, saved + 5000) && waiting.change_error == 0, "if scans lose their place in the page cache, that is added to what misses save");
	other_waits.scans.change_error = 0.5;
	other_waits.scans.error = 0.5;
	waiting = pbp_waiting(&input, &other, &other_waits);
	ok(near(waiting.change_error, 5000) && near(waiting.error, 5000), "unless it is known to the page whether they do");
	input.times.scan.error = 10000;
	other_waits.scans.change_error = 0;
	ok(near(pbp_waiting(&input, &other, &other_waits).change_error, 5000), "and what a block of them takes");
	input.times.queue = pbp_queue_of_reads(NULL, NULL, 0, 100000, 3, 8);
	ok(pbp_waiting(&input, &other, &other_waits).change > saved + 5000, "reads queue up behind those of scans, too");
}

static void
unknown_times(void)
{
	const PbpReadTimes no_storage = {.os = {2000, 100},.storage = {NAN, NAN}};
	PbpCompared waiting = compare(no_storage, 0.1, 0, 0.05, 0);

	ok(near(waiting.value, 100) && near(waiting.change, -100) && near(waiting.error, 5) && near(waiting.change_error, 5),
	   "an unknown time of storage does not matter where nothing is read from it");
	ok(isnan(compare(no_storage, 0.1, 0, 0.05, 0.001).value), "but where something is");
}

/* Some reads may come from storage, of which none has been timed. */
static void
unknown_errors(void)
{
	PbpAdviceRow today = misses(0.1, 0.01, 0);
	PbpAdviceRow other = misses(0.05, 0.01, 0.01);
	PbpAdviceStorageRow waits = storage(0, 0.001, 0);
	PbpAdviceStorageRow other_waits = storage(0, 0.001, 0.001);
	PbpWaitingInput input = {1e6, pbp_read_times(os_time, unknown, PBP_NO_FIGURE, 0, no_scans), &today, &waits, 0};
	PbpCompared waiting = pbp_waiting(&input, &today, &waits);

	ok(isnan(waiting.value) && waiting.change == 0 && waiting.change_error == 0, "an unknown error: today's waiting is unknown, and its change is not");
	waiting = pbp_waiting(&input, &other, &other_waits);
	ok(isnan(waiting.value) && isnan(waiting.change), "so are that of another size, and its change");
	input.times = pbp_read_times(os_time, unknown, server_time(3000, 0), 0, no_scans);
	waiting = pbp_waiting(&input, &today, &waits);
	ok(near(waiting.value, 300) && near(waiting.error, 30), "measured times: today's waiting is known, and its error");
	waiting = pbp_waiting(&input, &other, &other_waits);
	ok(isnan(waiting.value) && isnan(waiting.change), "but not that of another size");
}

static void
writes_of_sessions(void)
{
	PbpAdviceRow today = misses(0.1, 0, 0);
	PbpAdviceRow other = misses(0.05, 0, 0);
	PbpAdviceStorageRow waits = storage(0.02, 0, 0);
	PbpAdviceStorageRow other_waits;
	PbpWaitingInput input = {1e6, exact, &today, &waits, 0};
	PbpCompared reads = pbp_waiting(&input, &other, &waits);
	PbpCompared waiting;

	today.write_ratio = 0.04;
	other.write_ratio = 0.01;
	pbp_time_writes(&input.times, NAN, 0, &today, 1000);
	ok(near(pbp_waiting(&input, &other, &waits).value, reads.value), "writes that the server has not timed take no time");
	pbp_time_writes(&input.times, 800, 0, &today, 1000);
	waiting = pbp_waiting(&input, &today, &waits);
	ok(near(waiting.value, 80000 * 0.002 + 20000 * 0.1 + 100000 * 0.008) && waiting.change_error == 0, "before each read, as much as today");
	waiting = pbp_waiting(&input, &other, &waits);
	ok(near(waiting.change, reads.change - 100000 * 0.008 * 3 / 4), "where a quarter as many dirty pages are evicted, a quarter");
	ok(near(waiting.change_error, 100000 * 0.008 * 3 / 4 / 2), "give or take half of the difference");
	input.times.measured = true;
	input.times.storage.error = 50000;
	waits.ratio.error = 0.004;
	other.ratio.value = 0.137;
	other_waits = storage(0.027, 0, 0);
	reads = pbp_waiting(&input, &other, &other_waits);
	ok(fabs(reads.change) < 200 && reads.change_error > 400, "fewer writes and more reads: the change is small, and its error is not");
	input.times = exact;
	pbp_time_writes(&input.times, 800, 1, &today, 99);
	ok(input.times.write.value == 0 && input.times.held_up.value == 0, "what sessions write does not count if few dirty pages of the sample were evicted");
}

/* The truth may be anything from no effect to a read for each page that is written. */
static void
writes_that_hold_up_reads(void)
{
	PbpAdviceRow today = misses(0.1, 0, 0);
	PbpAdviceRow smaller = misses(0.15, 0, 0);
	PbpAdviceRow larger = misses(0.05, 0, 0);
	PbpAdviceStorageRow waits = storage(0.02, 0, 0);
	PbpAdviceStorageRow fewer = storage(0.015, 0, 0);
	PbpWaitingInput input = {1e6, exact, &today, &waits, 0};
	double		reads = 135000 * 0.002 + 15000 * 0.1 - (80000 * 0.002 + 20000 * 0.1);
	PbpCompared waiting;

	today.write_ratio = 0.03;
	smaller.write_ratio = 0.04;
	larger.write_ratio = 0;
	pbp_time_writes(&input.times, NAN, 5, &today, 1000);
	waiting = pbp_waiting(&input, &today, &waits);
	ok(near(waiting.value, 80000 * 0.002 + 20000 * 0.1) && waiting.change == 0 && waiting.change_error == 0, "today's writes are in today's reads");
	waiting = pbp_waiting(&input, &smaller, &fewer);
	ok(near(waiting.change - waiting.change_error, reads) && near(waiting.change + waiting.change_error, reads + 10000 * 0.1),
	   "a page more that is written delays nothing, or a read from storage");
	ok(near(waiting.error, waiting.change_error) && near(waiting.value, 2160 + waiting.change), "likewise all waiting there");
	waiting = pbp_waiting(&input, &larger, &fewer);
	ok(near(waiting.value, 35000 * 0.002 + 15000 * 0.1), "that fewer are written is not counted on");
	ok(near(waiting.error, 15000 * 0.1 / 2), "but may save half of the reads that are left");
	input.times = exact;
	pbp_time_writes(&input.times, NAN, 0.1, &today, 1000);
	waiting = pbp_waiting(&input, &smaller, &fewer);
	ok(near(waiting.change + waiting.change_error, reads + 10000 * 0.1 * 0.1), "where a session waits for storage a tenth of the time, a tenth");
	input.times = exact;
	pbp_time_writes(&input.times, NAN, NAN, &today, 1000);
	ok(near(pbp_waiting(&input, &smaller, &fewer).change, reads), "nothing where that is unknown");
}

static void
errors(void)
{
	PbpAdviceRow today = misses(0.1, 0, 0);
	PbpAdviceStorageRow today_waits = storage(0.02, 0.004, 0);
	PbpAdviceRow other = misses(0.05, 0.01, 0.005);
	PbpAdviceStorageRow other_waits = storage(0.01, 0.003, 0.001);
	PbpWaitingInput input = {1e6, exact, &today, &today_waits, 0};
	PbpReadTimes rough = {.os = {2000, 1000},.storage = {100000, 50000}};
	PbpCompared waiting = pbp_waiting(&input, &other, &other_waits);
	PbpCompared uncertain;

	ok(near(waiting.error, 10000 * 0.002 + 3000 * 0.098), "errors of shares: of misses, and of what storage takes more");
	ok(near(waiting.change_error, 5000 * 0.002 + 1000 * 0.098), "of the difference: those of the differences");
	input.varies = 0.2;
	uncertain = pbp_waiting(&input, &other, &other_waits);
	ok(near(uncertain.change_error, hypot(waiting.change_error, 0.2 * waiting.change)) && near(uncertain.error, waiting.error),
	   "now, a difference also varies as the load does");
	input.varies = 0;
	input.times = rough;
	uncertain = pbp_waiting(&input, &other, &other_waits);
	ok(near(uncertain.error, hypot(waiting.error, 40000 * 0.001 + 10000 * 0.05)), "errors of times add to them");
	ok(near(uncertain.change_error, hypot(waiting.change_error, 40000 * 0.001 + 10000 * 0.05)), "also to that of the difference");
	input.times.measured = true;
	uncertain = pbp_waiting(&input, &today, &today_waits);
	ok(uncertain.error == 0 && uncertain.change_error == 0, "measured times: today's waiting is certain");
	uncertain = pbp_waiting(&input, &other, &other_waits);
	ok(near(uncertain.error, uncertain.change_error) &&
	   near(uncertain.error, hypot(hypot(waiting.change_error, 40000 * 0.001 + 10000 * 0.05), waiting.change * 4000 * 0.098 / 2160)),
	   "and others are as uncertain as the difference, to which the share that waits today adds");
	today.ratio.error = 0.01;
	uncertain = pbp_waiting(&input, &today, &today_waits);
	ok(near(uncertain.error, 10000 * 0.0216), "if the miss ratio moves, today's waiting does");
	today.ratio.error = 0.02;
	uncertain = pbp_waiting(&input, &other, &other_waits);
	ok(near(uncertain.change_error, hypot(waiting.change_error, 40000 * 0.001 + 10000 * 0.05)),
	   "a storage ratio that moves as the miss ratio does leaves the times certain");
	today_waits.ratio.error = 0.005;
	uncertain = pbp_waiting(&input, &other, &other_waits);
	ok(near(uncertain.change_error, hypot(hypot(waiting.change_error, 40000 * 0.001 + 10000 * 0.05), waiting.change * 3000 * 0.098 / 2160)),
	   "and one that moves more makes them as uncertain as what is left");
}

/* ---- draws ---- */

static PbpFigure
probed(double mean)
{
	int64_t		times[PROBES];

	for (int i = 0; i < PROBES; i++)
		times[i] = (int64_t) (-mean * log(next_share(&chance)));
	return pbp_mean_time(times, PROBES);
}

/* One estimate, with an error of this half width at 95 %. */
static double
drawn(double ratio, double error)
{
	return fmax(0, ratio + error / 1.96 * normal(&chance));
}

/* What says how long reads take today; the error of wait events is as a share. */
#define PROBES_ALONE	-1.0
#define SERVER_TIMES	0.0
#define WAIT_EVENTS		0.2

/* Eight sessions, of which three wait for storage, but nobody knows whether for each other. */
static PbpQueue
some_queue(void)
{
	return pbp_queue_of_reads(NULL, NULL, 0, 100000, 3, 8);
}

/*
 * How many of the intervals have the truth.  Sessions' reads take longer or
 * shorter than those of probes, by a factor that is the same for both kinds.  The queue
 * becomes shorter by anything that it may.
 */
static void
covered_waiting(double uncertain, double scatter, PbpQueue queue, double growth, const char *what)
{
	PbpFigure	queued = pbp_time_in_queue(&queue, 0.75);
	int			covered = 0;
	int			changes_covered = 0;

	for (int i = 0; i < DRAWS; i++)
	{
		double		factor = exp(scatter * normal(&chance));
		double		true_today = factor * (0.08 * 2000 + 0.02 * 150000);
		double		time = queued.value + (2 * next_share(&chance) - 1) * queued.error;
		double		true_other = growth * factor * (0.045 * 2000 + 0.015 * fmin(1, time) * 150000);
		PbpAdviceRow today = misses(0.1, 0, 0);
		PbpAdviceStorageRow today_waits = storage(drawn(0.02, 0.002), 0.002, 0);
		PbpAdviceRow other = misses(drawn(growth * 0.06, 0.005), 0.005, 0.005);
		PbpAdviceStorageRow other_waits = storage(drawn(growth * 0.015, 0.003), 0.003, 0.0037);	/* of independent errors */
		PbpFigure	measured = server_time(true_today / 0.1 * (1 + uncertain / 1.96 * normal(&chance)), uncertain);
		PbpWaitingInput input = {
			1e6,
			pbp_read_times(probed(2000), probed(150000), uncertain < 0 ? PBP_NO_FIGURE : measured, today_waits.ratio.value / 0.1, no_scans),
			&today, &today_waits, 0
		};
		PbpCompared waiting;

		input.times.queue = queue;
		waiting = pbp_waiting(&input, &other, &other_waits);
		covered += fabs(waiting.value - true_other) <= waiting.error;
		changes_covered += fabs(waiting.change - (true_other - true_today)) <= waiting.change_error;
	}
	if (covered < 0.93 * DRAWS || changes_covered < 0.93 * DRAWS)
		printf("# %d and %d of %d\n", covered, changes_covered, DRAWS);
	ok(covered >= 0.93 * DRAWS && changes_covered >= 0.93 * DRAWS, what);
}

/*
 * A size at which hardly any reads wait for storage: how many do today is uncertain, but not how long all sessions wait.
 * The truth is in 94 % of the intervals, which are no wider than a quarter of the change.
 */
static void
covered_where_few_wait(void)
{
	double		true_today = 0.1 * 2000 + 0.05 * 150000;
	double		true_other = 0.219 * 2000 + 0.001 * 150000;
	double		mean_error = 0;
	int			covered = 0;

	for (int i = 0; i < DRAWS; i++)
	{
		PbpAdviceRow today = misses(0.15, 0, 0);
		PbpAdviceStorageRow today_waits = storage(drawn(0.05, 0.03), 0.03, 0);
		PbpAdviceRow other = misses(drawn(0.22, 0.005), 0.005, 0.005);
		PbpAdviceStorageRow other_waits = storage(drawn(0.001, 0.005), 0.005, 0.0304);
		PbpWaitingInput input = {
			1e6,
			pbp_read_times(probed(2000), probed(150000), server_time(true_today / 0.15, 0), today_waits.ratio.value / 0.15, no_scans),
			&today, &today_waits, 0
		};
		PbpCompared waiting = pbp_waiting(&input, &other, &other_waits);

		covered += fabs(waiting.change - (true_other - true_today)) <= waiting.change_error;
		mean_error += waiting.change_error / DRAWS;
	}
	printf("# %d of %d, mean error %.0f of %.0f\n", covered, DRAWS, mean_error, true_today - true_other);
	ok(covered >= 0.94 * DRAWS && mean_error < (true_today - true_other) / 4, "where few reads wait, the change is as certain as the waiting there");
}

/*
 * Large scans read as many blocks from storage as lookups do, or more, each in up to a quarter of the time of a read by itself.
 * How long all sessions wait for both is known, so that 93 % of the intervals have the truth, which are narrower than by probes
 * unless it is mostly for scans.
 */
static void
covered_beside_scans(double scanned_today, double scanned_other, double most_relative_error)
{
	double		known_error = 0;
	double		probed_error = 0;
	int			covered = 0;
	int			changes_covered = 0;

	for (int i = 0; i < DRAWS; i++)
	{
		double		scan_ns = 0.25 * next_share(&chance) * 150000;
		double		true_today = 0.08 * 2000 + 0.02 * 150000 + scanned_today * scan_ns;
		double		true_other = 0.045 * 2000 + 0.015 * 150000 + scanned_other * scan_ns;
		PbpAdviceRow today = misses(0.1, 0, 0);
		PbpAdviceStorageRow today_waits = storage(drawn(0.02, 0.002), 0.002, 0);
		PbpAdviceRow other = misses(drawn(0.06, 0.005), 0.005, 0.005);
		PbpAdviceStorageRow other_waits = storage(drawn(0.015, 0.003), 0.003, 0.0037);
		PbpWaitingInput input = {
			1e6,
			pbp_read_times(probed(2000), probed(150000), server_time(true_today / 0.1, 0),
						   today_waits.ratio.value / 0.1, (PbpFigure) {scanned_today / 0.1, 0}),
			&today, &today_waits, 0
		};
		PbpCompared waiting;

		today_waits.scans.value = scanned_today;
		other_waits.scans = (PbpCompared) {scanned_other, 0, scanned_other - scanned_today, 0};
		input.times.scan = pbp_scan_time(input.times.storage, NAN, (PbpFigure) {1, 0});
		waiting = pbp_waiting(&input, &other, &other_waits);
		covered += fabs(waiting.value - true_other) <= waiting.error;
		changes_covered += fabs(waiting.change - (true_other - true_today)) <= waiting.change_error;
		known_error += waiting.error / DRAWS;
		input.times = pbp_read_times(probed(2000), probed(150000), PBP_NO_FIGURE, today_waits.ratio.value / 0.1, no_scans);
		input.times.scan = pbp_scan_time(input.times.storage, NAN, (PbpFigure) {1, 0});
		probed_error += pbp_waiting(&input, &other, &other_waits).error / DRAWS;
	}
	printf("# %d and %d of %d, mean error %.0f instead of %.0f\n", covered, changes_covered, DRAWS, known_error, probed_error);
	ok(covered >= 0.93 * DRAWS && changes_covered >= 0.93 * DRAWS && known_error < most_relative_error * probed_error,
	   "beside scans: what all sessions wait tells the time of reads");
}

/* ---- queues ---- */

/* All misses wait for storage, of which today are 0.02 of the accesses, each for 0.1 ms. */
static PbpCompared
with_queue(double r)
{
	PbpReadTimes times = exact;

	times.queue = some_queue();
	return compare(times, 0.02, 0.02, r * 0.02, r * 0.02);
}

static void
waiting_in_queues(void)
{
	PbpQueue	queue = some_queue();
	PbpReadTimes times = {.os = {2000, 0},.storage = {100000, 0},.queue = queue};
	PbpFigure	time = pbp_time_in_queue(&queue, 0.5);
	PbpCompared waiting = with_queue(1);

	ok(waiting.value == 2000 && waiting.error == 0 && waiting.change == 0 && waiting.change_error == 0, "today's queue is in today's times");
	waiting = with_queue(0);
	ok(near(waiting.value, 0) && near(waiting.change, -2000) && waiting.error == 0, "no storage read, no queue");
	waiting = with_queue(0.5);
	ok(near(waiting.value, 1000 * time.value) && near(waiting.error, 1000 * time.error) && time.error > 0.1, "each read takes the time that it has in the queue");
	ok(near(waiting.change, waiting.value - 2000) && near(waiting.change_error, waiting.error), "likewise what changes");
	waiting = compare(times, 0.1, 0.02, 0.06, 0.02);
	ok(near(waiting.change, -80) && waiting.change_error == 0, "reads from the page cache do not wait for others");
}

static void
errors_in_queues(void)
{
	PbpAdviceRow today = misses(0.02, 0, 0);
	PbpAdviceStorageRow today_waits = storage(0.02, 0, 0);
	PbpAdviceRow other = misses(0.021, 0, 0);
	PbpAdviceStorageRow other_waits = storage(0.021, 0.0005, 0.0004);
	PbpReadTimes times = {.os = {0, 0},.storage = {100000, 0},.measured = true,.queue = some_queue()};
	PbpWaitingInput input = {1e6, times, &today, &today_waits, 0};
	PbpCompared waiting = pbp_waiting(&input, &other, &other_waits);

	ok(near(waiting.change_error, hypot((with_queue(1.07).value - with_queue(1.03).value) / 2, with_queue(1.05).change_error)),
	   "where one read more costs more, so does one that is uncertain");
	waiting = pbp_waiting(&input, &today, &today_waits);
	ok(waiting.change_error == 0 && waiting.error == 0, "today's waiting remains certain");
}

static void
shares_and_means(void)
{
	PbpAdviceRow some = misses(0.1, 0, 0);
	PbpAdviceRow none = misses(0, 0, 0);
	PbpAdviceStorageRow waits = storage(0.02, 0, 0);
	PbpAdviceStorageRow no_waits = storage(0, 0, 0);
	PbpAdviceStorageRow unknown_waits = storage(NAN, NAN, NAN);

	ok(near(pbp_storage_share(&some, &waits), 0.2) && pbp_storage_share(&none, &no_waits) == 0 &&
	   isnan(pbp_storage_share(&some, &unknown_waits)), "the share of misses that wait for storage");
	ok(near(pbp_mean_read_ns(&exact, &some, &waits), 0.8 * 2000 + 0.2 * 100000), "what a read takes on average");
}

/* Probes that are slower than all that sessions do. */
static void
bound_times(void)
{
	PbpReadTimes times = pbp_read_times((PbpFigure) {2000, 100}, (PbpFigure) {100000, 5000}, PBP_NO_FIGURE, 0.2, no_scans);
	PbpReadTimes measured = pbp_read_times((PbpFigure) {2000, 0}, (PbpFigure) {100000, 0}, server_time(43200, 0), 0.2, no_scans);
	double		error = times.storage.error;

	pbp_bound_times(&times, 21600, 43200);
	ok(times.os.value == 2000 && times.storage.value == 100000, "reads take as long as probes, if sessions have that time");
	pbp_bound_times(&times, 21600, NAN);
	ok(times.storage.value == 100000, "or if it is unknown which time they have");
	pbp_bound_times(&times, 21600, 10800);
	ok(times.os.value == 1000 && times.storage.value == 50000 && near(times.storage.error, error / 2), "and otherwise no longer than that");
	pbp_bound_times(&measured, 43200, 10800);
	ok(near(0.8 * measured.os.value + 0.2 * measured.storage.value, 43200), "times of the server itself are not changed");
}

static void
working(void)
{
	ok(pbp_working_ms(720000, 700000) == 720000 && pbp_working_ms(720000, 1000000) == 720000, "sessions work as the server has timed them");
	ok(pbp_working_ms(720000, 1100000) == 1100000, "or as was counted, if that is much longer");
	ok(pbp_working_ms(0, 79000) == 0 && pbp_working_ms(0, 81000) == 81000, "and more than chance");
	ok(pbp_working_ms(720000, 500000) == 720000 && pbp_working_ms(720000, 400000) == 400000, "if that is much shorter, they have slept or waited for each other");
	ok(pbp_working_ms(8000, 0) == 8000 && pbp_working_ms(40000, 26000) == 40000 && pbp_working_ms(10000, 0) == 0, "unless that is chance");
	ok(isnan(pbp_working_beside(43200, 43200)) && pbp_working_beside(43200, 42000) == 43200 && isnan(pbp_working_beside(NAN, 0)),
	   "if sessions would wait as long as they work, that time is too short");
}

/* ---- other replacement policies ---- */

static void
saved_by_policies(void)
{
	PbpAdviceRow today = misses(0.1, 0.01, 0);
	PbpAdviceStorageRow waits = storage(0.02, 0.002, 0);
	PbpWaitingInput input = {1e6, exact, &today, &waits, 0};
	PbpPolicyRow policy = {.ratio.value = 0.09,.ratio.change = -0.01};
	PbpFigure	saved = pbp_saved_by_policy(&input, &today, &waits, &policy);
	PbpAdviceRow half = misses(0.2, 0.01, 0.01);
	PbpAdviceStorageRow half_waits = storage(0.04, 0.002, 0.002);

	ok(near(saved.value, 8 * 2 + 2 * 100), "a policy that misses less saves as many storage reads as usual, by its misses");
	ok(near(saved.error, 10000 * 0.22 * 98 / 1000), "or none of them, or twice as many, as far as that share is known");
	waits.ratio.error = 0.08;
	input.times.measured = true;
	saved = pbp_saved_by_policy(&input, &today, &waits, &policy);
	ok(near(saved.value, 216) && near(saved.error, 216), "measured times: by the mean read, however few reads wait for storage");
	policy.ratio.change_error = 0.001;
	ok(pbp_saved_by_policy(&input, &today, &waits, &policy).error > saved.error, "errors of its misses count as well");
	policy = (PbpPolicyRow) {.ratio.value = 0.22,.ratio.change = 0.02};
	saved = pbp_saved_by_policy(&input, &half, &half_waits, &policy);
	ok(near(saved.value, -(16 * 2 + 4 * 100)), "another size: compared with today's policy there");
	waits.ratio.value = NAN;
	ok(isnan(pbp_saved_by_policy(&input, &today, &waits, &policy).value), "unknown storage reads: an unknown time");
}

int
main(void)
{
	PbpQueue	none = {0};

	bound_times();
	working();
	means();
	covered_means();
	times_of_probes();
	measured_times();
	times_of_scans();
	waiting_of_sizes();
	waiting_of_scans();
	unknown_times();
	unknown_errors();
	writes_of_sessions();
	writes_that_hold_up_reads();
	errors();
	waiting_in_queues();
	errors_in_queues();
	saved_by_policies();
	shares_and_means();
	covered_waiting(PROBES_ALONE, 0, none, 1, "by probes: at least 93 % of the intervals have the truth");
	covered_waiting(PROBES_ALONE, 0.22, none, 1, "also if sessions wait longer or shorter than probes");
	covered_waiting(SERVER_TIMES, 0, none, 1, "by the server's times: at least 93 %");
	covered_waiting(SERVER_TIMES, 1, none, 1, "also if sessions wait much longer or shorter than probes");
	covered_waiting(WAIT_EVENTS, 0, none, 1, "by wait events: at least 93 %");
	covered_waiting(WAIT_EVENTS, 1, none, 1, "also if sessions wait much longer or shorter than probes");
	covered_waiting(WAIT_EVENTS, 0, none, 4, "by wait events, at a size that reads more: at least 93 %");
	covered_waiting(PROBES_ALONE, 0.22, some_queue(), 1, "by probes, with a queue for storage: at least 93 %");
	covered_waiting(SERVER_TIMES, 0, some_queue(), 1, "by the server's times, with a queue: at least 93 %");
	covered_waiting(WAIT_EVENTS, 1, some_queue(), 1, "by wait events, with a queue: at least 93 %");
	covered_where_few_wait();
	covered_beside_scans(0.02, 0.02, 0.4);
	covered_beside_scans(0.05, 0.03, 0.5);
	covered_beside_scans(0.3, 0.1, 2);
	return end_of_tests();
}

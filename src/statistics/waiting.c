/*-------------------------------------------------------------------------
 *
 * waiting.c
 *	  How long sessions wait for reads at each size.
 *
 * A read that the page cache serves takes microseconds, one that waits for
 * storage up to milliseconds.  So a size that saves misses may still make
 * sessions wait longer, and shares of accesses do not show that; time does.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/waiting.h"

#define ENOUGH_TIMES		5

/*
 * Half the width of a 95 % interval, as a share, for what probes do not show.
 * They read one block at a time into memory that is in the processor's caches,
 * and of pages that nobody reads at this moment.
 */
#define PROBE_ERROR			0.5

/* Half the width of an interval of the share of dirty pages among those evicted at other sizes. */
#define WRITE_ERROR			0.5

/*
 * While a device writes a page, it may not read one.  But the kernel writes once
 * what was evicted twice, and many devices do both at once, so that anything from
 * nothing to a whole read is possible.
 */
#define HELD_UP				0.5

/* Times of reads that were bounded by the time that sessions work are as long as that. */
#define WORKS_LONGER		1.01

/*
 * What was counted is another time than active_time if it differs by this factor, and by more than
 * chance if sessions are counted once a second: often it is more.  It is longer if it is enough:
 * chance makes a third of that many, 3 / sqrt(80).  Where more sessions than processors were busy,
 * the worker counted 0.78 of them.
 */
#define COUNTED_OTHERWISE	1.5
#define ENOUGH_WORK_MS		80e3
#define CHANCE_DEVIATIONS	3.0

/* dirty pages of the sample that were evicted */
#define ENOUGH_DIRTY		100.0

/*
 * A scan is read ahead, so that one of its blocks takes a part of the time of a read by itself:
 * hardly any of it, where each read takes milliseconds, or up to twice this share, where a device
 * is limited in operations and in bytes.
 */
#define SCAN_TIME			0.125

/* Below this share of a scan's blocks, their mean time says nothing about storage. */
#define LEAST_STORAGE_SHARE	0.1

/* An unknown time does not matter where nothing takes it. */
static inline double
times(double share, double ns)
{
	return share == 0 ? 0 : share * ns;
}

/* The mean, not the median: slow reads make up most of the time that sessions wait. */
PbpFigure
pbp_mean_time(const int64_t *ns, int ntimes)
{
	double		mean = 0;
	double		squares = 0;

	if (ntimes < ENOUGH_TIMES)
		return PBP_NO_FIGURE;
	for (int i = 0; i < ntimes; i++)
		mean += (double) ns[i] / ntimes;
	for (int i = 0; i < ntimes; i++)
		squares += ((double) ns[i] - mean) * ((double) ns[i] - mean);
	return (PbpFigure) {mean, PBP_DEVIATIONS * sqrt(squares / (ntimes - 1) / ntimes)};
}

double
pbp_working_ms(double active_ms, double counted_ms)
{
	bool		longer = counted_ms >= ENOUGH_WORK_MS && counted_ms > COUNTED_OTHERWISE * active_ms;
	bool		shorter = active_ms > COUNTED_OTHERWISE * counted_ms &&
		active_ms - counted_ms > CHANCE_DEVIATIONS * sqrt(active_ms * 1e3);

	return longer || shorter ? counted_ms : active_ms;
}

double
pbp_working_beside(double working_ms, double waiting_ms)
{
	return working_ms > WORKS_LONGER * waiting_ms ? working_ms : NAN;
}

static double
relative_error(PbpFigure figure)
{
	return hypot(figure.error / figure.value, PROBE_ERROR);
}

/*
 * The server's own mean leaves only the ratio between both kinds uncertain, and how much of it is
 * for large scans: the more of the time one kind takes today, the less uncertain is its time.  Each
 * block of a scan may take twice as long, or no time.
 */
PbpReadTimes
pbp_read_times(PbpFigure os, PbpFigure storage, PbpFigure measured, double storage_share,
			   PbpFigure scanned)
{
	double		scan = SCAN_TIME * storage.value;
	double		mean = times(1 - storage_share, os.value) + times(storage_share, storage.value) +
		times(scanned.value, scan);
	double		scale = measured.value / mean;
	double		os_part = times(1 - storage_share, os.value) / mean;
	double		storage_part = 1 - os_part;
	double		ratio_error = hypot(relative_error(os), relative_error(storage));

	if (!(scale > 0) || !(mean > 0))
		return (PbpReadTimes)
	{
		.os = {os.value, os.value * relative_error(os)},
		.storage = {storage.value, storage.value * relative_error(storage)},
	};
	return (PbpReadTimes)
	{
		.os = {scale * os.value, scale * times(storage_part, os.value * ratio_error)},
		.storage = {scale * storage.value, scale * times(os_part, storage.value * ratio_error)},
		.measured = true,
		.uncertain = measured.error / measured.value,
		.scanned = times(scanned.value + 2 * scanned.error, scan) / mean,
	};
}

static inline void
scale_figure(PbpFigure *figure, double factor)
{
	figure->value *= factor;
	figure->error *= factor;
}

void
pbp_bound_times(PbpReadTimes *read_times, double mean_ns, double most_ns)
{
	if (read_times->measured || !(mean_ns > most_ns))
		return;
	scale_figure(&read_times->os, most_ns / mean_ns);
	scale_figure(&read_times->storage, most_ns / mean_ns);
}

PbpFigure
pbp_scan_time(PbpFigure storage, double measured_ns, PbpFigure storage_share)
{
	double		ns = measured_ns / storage_share.value;

	if (storage_share.value >= LEAST_STORAGE_SHARE && ns > 0)
		return (PbpFigure) {ns, ns * fmin(1, storage_share.error / storage_share.value)};
	ns = SCAN_TIME * storage.value;
	return (PbpFigure) {ns, ns};
}

void
pbp_time_writes(PbpReadTimes *read_times, double ns_per_access, double waiting,
				const PbpAdviceRow *today, double dirty_evictions)
{
	double		ns = today->write_ratio > 0 ? ns_per_access / today->write_ratio : NAN;
	double		held_up = HELD_UP * fmin(1, waiting) * read_times->storage.value;

	if (!(dirty_evictions >= ENOUGH_DIRTY))
		return;
	if (ns > 0)
		read_times->write = (PbpFigure) {ns, ns * WRITE_ERROR};
	if (waiting > 0 && held_up > 0)
		read_times->held_up = (PbpFigure) {held_up, held_up};
}

double
pbp_storage_share(const PbpAdviceRow *misses, const PbpAdviceStorageRow *storage)
{
	if (misses->ratio.value > 0 && !isnan(storage->ratio.value))
		return fmin(1, storage->ratio.value / misses->ratio.value);
	return misses->ratio.value == 0 && storage->ratio.value == 0 ? 0 : NAN;
}

static double
ns_of_reads(const PbpReadTimes *read_times, double served, double storage)
{
	return times(served, read_times->os.value) + times(storage, read_times->storage.value);
}

double
pbp_mean_read_ns(const PbpReadTimes *read_times, const PbpAdviceRow *misses,
				 const PbpAdviceStorageRow *storage)
{
	double		share = pbp_storage_share(misses, storage);

	return ns_of_reads(read_times, 1 - share, share);
}

/* Shares of accesses. */
typedef struct ReadShares
{
	double		served;			/* by the page cache */
	double		storage;
	double		scanned;		/* from storage by large scans, which are no accesses */
	double		written;		/* from the pool */
} ReadShares;

static ReadShares
shares_of(const PbpAdviceRow *misses, const PbpAdviceStorageRow *storage)
{
	return (ReadShares)
	{
		isnan(storage->ratio.value) ? NAN : fmax(0, misses->ratio.value - storage->ratio.value),
		storage->ratio.value,
		storage->scans.value,
		misses->write_ratio
	};
}

static double
ns_of(const PbpReadTimes *read_times, ReadShares shares)
{
	return ns_of_reads(read_times, shares.served, shares.storage) +
		times(shares.scanned, read_times->scan.value) +
		times(read_times->write.value, shares.written);
}

/* Errors of all times may have the same sign. */
static double
error_by_times(const PbpReadTimes *read_times, ReadShares shares)
{
	return times(fabs(shares.served), read_times->os.error) +
		times(fabs(shares.storage), read_times->storage.error) +
		times(fabs(shares.scanned), read_times->scan.error) +
		times(read_times->write.error, fabs(shares.written));
}

/*
 * By what is written more than today.  What is written less may relieve reads, no
 * more than there are, but that is not counted on: where it was measured, it did not.
 */
static PbpFigure
ns_held_up(const PbpReadTimes *read_times, ReadShares here, ReadShares today)
{
	double		more = fmax(here.written - today.written, -here.storage);

	return (PbpFigure) {times(read_times->held_up.value, fmax(0, more)),
						times(read_times->held_up.error, fabs(more))};
}

/* What storage does, as a number of reads of single blocks. */
static double
storage_work(const PbpReadTimes *read_times, ReadShares shares)
{
	return shares.storage + (shares.scanned == 0 ? 0 :
							 shares.scanned * read_times->scan.value / read_times->storage.value);
}

/* What the queue adds to the storage reads here, as a number of today's. */
static PbpFigure
reads_queued(const PbpReadTimes *read_times, double today, double here)
{
	PbpFigure	time = pbp_time_in_queue(&read_times->queue, here / today);

	return (PbpFigure) {times(here, time.value - 1), times(here, time.error)};
}

/*
 * A miss too many takes the time of the page cache, and a storage read too many
 * what it takes more.  Both errors come from the same sample, so they add up.
 */
static double
error_by_shares(const PbpReadTimes *read_times, double miss_error, double storage_error)
{
	return times(miss_error, read_times->os.value) +
		times(storage_error, fabs(read_times->storage.value - read_times->os.value));
}

/*
 * If the server shows how long its reads take, the times of both kinds follow from the share of
 * misses that waits for storage today, and have its error: what is uncertain of the storage ratio
 * beside the miss ratio.
 */
static double
error_of_scale(const PbpWaitingInput *input)
{
	double		today = times(input->misses->ratio.value,
							  pbp_mean_read_ns(&input->times, input->misses, input->storage));
	double		all = input->storage->ratio.error;
	double		by_misses = pbp_storage_share(input->misses, input->storage) *
		input->misses->ratio.error;

	if (!(today > 0) || !input->times.measured)
		return 0;
	return error_by_shares(&input->times, 0, sqrt(fmax(0, all * all - by_misses * by_misses))) /
		today;
}

/* By what is uncertain of the shares of reads, of a size or of its difference to today. */
static double
error_of_reads(const PbpWaitingInput *input, double miss_error, double storage_error,
			   double scan_error, ReadShares shares)
{
	return hypot(error_by_shares(&input->times, miss_error, storage_error) +
				 times(scan_error, input->times.scan.value),
				 times(ns_of_reads(&input->times, shares.served, shares.storage),
					   error_of_scale(input)));
}

/*
 * If the server shows how long its reads take, today's waiting is known, so that the change is as
 * uncertain as the waiting at this size or as the difference, whichever is less.  Where an error is
 * unknown, so is the figure: reads may come from storage, of which none was timed.
 */
PbpCompared
pbp_waiting(const PbpWaitingInput *input, const PbpAdviceRow *misses,
			const PbpAdviceStorageRow *storage)
{
	const PbpReadTimes *read_times = &input->times;
	ReadShares	today = shares_of(input->misses, input->storage);
	ReadShares	reads = shares_of(misses, storage);
	double		work_today = storage_work(read_times, today);
	double		work_here = storage_work(read_times, reads);
	PbpFigure	queued = reads_queued(read_times, work_today, work_here);
	/* what the queue adds to an error of the storage reads here */
	double		storage_error = storage->ratio.change_error;
	double		steeper = (reads_queued(read_times, work_today, work_here + storage_error).value -
						   reads_queued(read_times, work_today,
										fmax(0, work_here - storage_error)).value) / 2;
	ReadShares	here = {reads.served, reads.storage + queued.value, reads.scanned, reads.written};
	ReadShares	more = {here.served - today.served, here.storage - today.storage,
						here.scanned - today.scanned, here.written - today.written};
	PbpFigure	held_up = ns_held_up(read_times, reads, today);
	double		queue_error = times(queued.error, read_times->storage.value +
										read_times->storage.error);
	double		change = ns_of(read_times, more) + held_up.value;
	double		by_itself = error_of_reads(input, misses->ratio.error,
										   storage->ratio.error + steeper, storage->scans.error,
										   here);
	double		by_change = error_of_reads(input, misses->ratio.change_error,
										   storage->ratio.change_error + steeper,
										   storage->scans.change_error, more);
	double		change_error = hypot(hypot(read_times->measured && by_itself < by_change ?
										   by_itself : by_change,
										   error_by_times(read_times, more) + held_up.error),
									 hypot(queue_error, read_times->scanned * change));
	/* of what sessions wait today as the server shows it: that of the miss ratio */
	double		error_today = times(input->misses->ratio.error,
									pbp_mean_read_ns(read_times, input->misses, input->storage));
	double		error = read_times->measured ? hypot(change_error, error_today) :
		hypot(hypot(by_itself, error_by_times(read_times, here) + held_up.error), queue_error);
	double		ms = input->accesses / 1e6;
	double		value = ns_of(read_times, here) + held_up.value;

	/* all of it is longer or shorter by as much as the mean */
	error = hypot(error, read_times->uncertain * value);
	change_error = hypot(change_error, read_times->uncertain * change);
	return pbp_compared_now((PbpCompared)
	{
		isnan(error) ? NAN : ms * value, ms * error,
		isnan(change_error) ? NAN : ms * change, ms * change_error
	}, input->varies);
}

/*
 * No page cache below such a pool is simulated.  A miss more or less takes the mean time of a read
 * at this size.  In the interval, it never waits for storage, or twice as often as others.  If the
 * server shows how long its reads take, today's mean is as certain as that, whatever the times of
 * both kinds are.
 */
PbpFigure
pbp_saved_by_policy(const PbpWaitingInput *input, const PbpAdviceRow *misses,
					const PbpAdviceStorageRow *storage, const PbpPolicyRow *policy)
{
	const PbpReadTimes *read_times = &input->times;
	double		share = pbp_storage_share(misses, storage);
	double		mean = pbp_mean_read_ns(read_times, misses, storage);
	double		today = pbp_mean_read_ns(read_times, input->misses, input->storage);
	double		most_share = fmin(1, share +
								  storage->ratio.error / fmax(1e-9, misses->ratio.value));
	double		by_storage = fmin(mean, times(most_share, read_times->storage.value -
											  read_times->os.value));
	double		by_times = read_times->measured ?
		fabs(mean - today) * error_of_scale(input) +
		mean * (read_times->uncertain + read_times->scanned) :
		times(1 - share, read_times->os.error) + times(share, read_times->storage.error);
	double		ms = input->accesses / 1e6;

	return (PbpFigure)
	{
		-ms * policy->ratio.change * mean,
		ms * (fabs(policy->ratio.change) * (fabs(by_storage) + fmin(mean, by_times)) +
			  policy->ratio.change_error * (mean + fabs(by_storage)))
	};
}

double
pbp_share_of_scans(const PbpWaitingInput *input, const PbpAdviceStorageRow *storage,
				   double waiting_ms)
{
	double		ms = input->accesses * storage->scans.value * input->times.scan.value / 1e6;

	return ms > 0 && waiting_ms > 0 ? fmin(1, ms / waiting_ms) : 0;
}

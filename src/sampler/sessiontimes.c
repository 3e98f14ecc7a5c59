/*-------------------------------------------------------------------------
 *
 * sessiontimes.c
 *	  How long sessions have worked, read and written in the last minutes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "storage/bufmgr.h"

#include "sampler/learner.h"

/* Processes are counted as often: 3 us with max_connections = 1000. */
#define PROCESSES_NS		INT64CONST(100000000)

/* Half-life of all sums in seconds. */
#define HALF_LIFE			60.0

/* Half-life of the waiting for reads that are published late. */
#define HALF_LIFE_LATE		600.0

/* As a share of all, so much of what does not belong to the reads hardly matters. */
#define FEW_OTHERS			0.1

/* Of events that are expected so many times, none is found in one of twenty cases. */
#define UNSEEN_BY_CHANCE	3.0

/* Where twice as many sessions as processors were busy, the worker found 0.78 of them. */
#define MOST_MISSED			1.5

/* What processes do counts for the time since they were counted last. */
void
pbp_count_processes(PbpSessionTimes *times, int64 now_ns)
{
	double		ms = (double) (now_ns - times->processes_ns) / 1e6;
	PbpWorking	now;

	if (now_ns - times->processes_ns < PROCESSES_NS)
		return;
	now = pbp_count_working();
	times->most_working = Max(times->most_working, now.working);
	if (times->processes_ns != 0)
	{
		PbpCountedTime time = {
			.active_ms = now.active * ms,
			.working_ms = now.working * ms,
			.reading_ms = now.reading * ms,
			.reading_squares = now.reading * ms * now.reading * ms,
			.late_ms = now.late * ms,
			.ncounts = 1,
		};

		pbp_add_doubles(&times->processes, &time, sizeof(time));
	}
	times->processes_ns = now_ns;
}

/* By two of the server's counts, and by the processes that were counted between them. */
PbpSessionTime
pbp_take_session_time(PbpSessionTimes *times, const PbpAccessCounts *before,
					  const PbpAccessCounts *now)
{
	/* less than before after a reset of statistics */
	PbpSessionTime time = {
		.read_us = (double) Max(0, now->read_us - before->read_us),
		.scan_us = (double) Max(0, now->scan_us - before->scan_us),
		.write_us = (double) Max(0, now->write_us - before->write_us),
		.active_ms = (double) Max(0, now->active_us - before->active_us) / 1e3,
		.counted = times->processes,
	};

	times->processes = (PbpCountedTime) {0};
	return time;
}

/*
 * The server's own times count only while all sessions measure them.  Without events, the
 * last ones remain.
 */
static void
add_timed(PbpTimed *sum, double weight, double events, double us)
{
	if (!track_io_timing)
		*sum = (PbpTimed) {0};
	else if (events > 0)
		*sum = (PbpTimed) {
			weight * sum->events + events, weight * sum->ns + us * 1e3
		};
}

/*
 * A process publishes its reads after its transaction, so what was seen of it counts with those
 * that are published next.  In recovery, most reads may be those of the startup process, which
 * publishes them rarely.
 */
static void
add_seen(PbpSeenReads *seen, double weight, const PbpAdviceCounts *counts,
		 const PbpSessionTime *time)
{
	double		slow_weight = exp2(-counts->seconds / HALF_LIFE_LATE);

	if (RecoveryInProgress())
	{
		*seen = (PbpSeenReads) {0};
		return;
	}
	pbp_add_doubles(&seen->next, time, sizeof(*time));
	pbp_add_fading(&seen->counts, weight, counts, sizeof(*counts));
	pbp_scale_doubles(&seen->time, sizeof(seen->time), weight);
	seen->late_ms = slow_weight * seen->late_ms + time->counted.late_ms;
	seen->waited_ms = slow_weight * seen->waited_ms + time->counted.reading_ms;
	if (counts->reads + counts->ring_reads <= 0)
		return;
	pbp_add_doubles(&seen->time, &seen->next, sizeof(seen->time));
	seen->next = (PbpSessionTime) {0};
}

void
pbp_count_session_time(PbpSessionTimes *times, const PbpAdviceCounts *counts,
					   const PbpSessionTime *time)
{
	double		weight = exp2(-counts->seconds / HALF_LIFE);

	pbp_add_fading(&times->counts, weight, counts, sizeof(*counts));
	pbp_add_fading(&times->time, weight, time, sizeof(*time));
	add_seen(&times->seen, weight, counts, time);
	times->most_working *= weight;
	add_timed(&times->timed_reads, weight, counts->reads, time->read_us);
	add_timed(&times->timed_scans, weight, counts->scan_reads, time->scan_us);
	add_timed(&times->timed_writes, weight, counts->accesses, time->write_us);
}

static double
mean_ns(PbpTimed sum)
{
	return sum.events >= PBP_ENOUGH_EVENTS && sum.ns > 0 ? sum.ns / sum.events : NAN;
}

/*
 * How many times as long sessions were active as they were found to be: those that wait for a
 * processor run when the worker does not.
 */
static double
missed_time(const PbpSeenReads *seen)
{
	return seen->time.counted.active_ms > 0 ?
		fmax(1, fmin(MOST_MISSED, seen->time.active_ms / seen->time.counted.active_ms)) : 1;
}

static bool
few_are_late(const PbpSeenReads *seen)
{
	return seen->late_ms <= FEW_OTHERS * seen->waited_ms;
}

/*
 * Mean time of a read, by the server's times or else by wait events, which have that of large
 * scans as well.  NaN: it is unknown.  Processes wait for each other, so those of one count are one
 * event.
 */
static PbpFigure
measured_time(const PbpSessionTimes *times)
{
	const PbpSeenReads *seen = &times->seen;
	const PbpCountedTime *counted = &seen->time.counted;
	double		timed = mean_ns(times->timed_reads);
	double		waited = counted->reading_ms;
	double		missed = missed_time(seen);
	double		ns = waited * missed * 1e6 / seen->counts.reads;
	double		error = hypot(PBP_DEVIATIONS * sqrt(counted->reading_squares) / waited, missed - 1);
	double		others = seen->counts.ring_reads - seen->counts.scan_reads;

	if (!isnan(timed))
		return (PbpFigure) {timed, 0};
	return waited * waited >= PBP_ENOUGH_EVENTS * counted->reading_squares && ns > 0 &&
		others <= FEW_OTHERS * seen->counts.reads && few_are_late(seen) ?
		(PbpFigure) {ns, ns * error} : PBP_NO_FIGURE;
}

/*
 * Blocks that large scans read from storage for each read, as far as the mean time has theirs as
 * well.  Of the blocks of scans, such a share is from storage.
 */
static PbpFigure
scanned_in_time(const PbpSessionTimes *times, PbpFigure storage_share)
{
	bool		timed = !isnan(mean_ns(times->timed_reads));
	const PbpAdviceCounts *counts = timed ? &times->counts : &times->seen.counts;
	double		scanned = counts->scan_reads / counts->reads;

	if (counts->scan_reads == 0 || (timed && PBP_COUNTS_APART))
		return (PbpFigure) {0, 0};
	return (PbpFigure) {scanned * storage_share.value, scanned * storage_share.error};
}

/*
 * What a read takes at most: all the time that sessions worked, or that processes were found to
 * wait for reads, if not by chance.  Sessions worked at least as long as was counted: the server
 * publishes the time of a statement after its reads.
 */
static double
most_time(const PbpSessionTimes *times, double working_ms)
{
	const PbpSeenReads *seen = &times->seen;
	const PbpCountedTime *found = &seen->time.counted;
	const PbpCountedTime *all = &times->time.counted;
	double		worked = fmax(working_ms, all->working_ms);
	double		waited = MOST_MISSED *
		(found->reading_ms + PBP_DEVIATIONS * sqrt(found->reading_squares) +
		 UNSEEN_BY_CHANCE * 1e3 * times->counts.seconds / all->ncounts);
	double		reads = few_are_late(seen) ? seen->counts.reads : 0;

	return fmin(mean_ns((PbpTimed) {times->counts.reads, worked * 1e6}),
				mean_ns((PbpTimed) {reads, waited * 1e6}));
}

void
pbp_report_times(const PbpSessionTimes *times, const PbpProbing *probing, PbpAdviceReport *report)
{
	PbpWaitingInput today = pbp_waiting_input(report);
	const PbpTimedReads *os = &probing->os_reads;
	const PbpTimedReads *storage = &probing->storage_reads;
	double		storage_share = pbp_knows_storage(report) ?
		pbp_storage_share(today.misses, today.storage) : NAN;
	double		scans = report->totals.scan_reads / report->totals.accesses;
	PbpFigure	scans_share = {
		today.storage->scans.value / scans, today.storage->scans.error / scans
	};
	double		working_ms = pbp_working_ms(times->time.active_ms, times->time.counted.working_ms);
	double		waiting;
	double		scanning;

	report->active_ms = times->counts.seconds > 0 ? working_ms / times->counts.seconds : NAN;
	report->times = pbp_read_times(pbp_mean_time(os->ns, pbp_ntimes(os)),
								   pbp_mean_time(storage->ns, pbp_ntimes(storage)),
								   measured_time(times), storage_share,
								   scanned_in_time(times, scans_share));
	pbp_bound_times(&report->times, pbp_mean_read_ns(&report->times, today.misses, today.storage),
					most_time(times, working_ms));
	report->times.scan = pbp_scan_time(report->times.storage, mean_ns(times->timed_scans),
									   scans_share);
	waiting = today.storage->ratio.value * today.accesses * report->times.storage.value / 1e9;
	scanning = today.storage->scans.value > 0 ?
		today.storage->scans.value * today.accesses * report->times.scan.value / 1e9 : 0;
	report->times.queue = pbp_queue_of_reads(storage->ns, storage->reading, pbp_ntimes(storage),
											 report->times.storage.value, waiting + scanning,
											 times->most_working);
	pbp_time_writes(&report->times, mean_ns(times->timed_writes), waiting,
					today.misses, report->totals.dirty_evictions);
}

double
pbp_waited_ms(const PbpSessionTimes *times, const PbpSessionTime *time, double reads,
			  const PbpAdviceReport *report)
{
	if (!isnan(mean_ns(times->timed_reads)))
		return (time->read_us + time->write_us) / 1e3;
	if (reads == 0)
		return 0;
	return pbp_knows_storage(report) ?
		reads * pbp_mean_read_ns(&report->times, &report->rows[PBP_ADVICE_BASELINE],
								 &report->storage.fixed[PBP_ADVICE_BASELINE]) / 1e6 : NAN;
}

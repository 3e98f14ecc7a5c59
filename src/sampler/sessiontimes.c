/*-------------------------------------------------------------------------
 *
 * sessiontimes.c
 *	  How long sessions have worked, read and written in the last minutes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "storage/bufmgr.h"

#include "sampler/sessiontimes.h"

/* Half-life of all sums in seconds. */
#define HALF_LIFE			60.0

void
pbp_add_session_time(PbpSessionTime *sum, const PbpSessionTime *time)
{
	sum->read_us += time->read_us;
	sum->scan_us += time->scan_us;
	sum->write_us += time->write_us;
	sum->active_ms += time->active_ms;
	sum->counted_ms += time->counted_ms;
}

void
pbp_count_session_time(PbpSessionTimes *times, const PbpAdviceCounts *counts,
					   const PbpSessionTime *time)
{
	double		weight = exp2(-counts->seconds / HALF_LIFE);
	double		accesses = (double) (counts->hits + counts->reads);

	times->seconds = weight * times->seconds + counts->seconds;
	times->reads = weight * times->reads + (double) counts->reads;
	times->active_ms = weight * times->active_ms + time->active_ms;
	times->counted_ms = weight * times->counted_ms + time->counted_ms;
	if (counts->seconds > 0)
		times->most_working = fmax(weight * times->most_working,
								   time->counted_ms / counts->seconds / 1e3);
	/* the server's own times count only while all sessions measure them */
	if (!track_io_timing)
		times->timed_reads = times->read_ns = times->timed_scans = times->scan_ns =
			times->timed_accesses = times->write_ns = 0;
	/* without any, the last ones remain, and with scans that are not timed apart */
	if (track_io_timing && counts->reads > 0 && (PBP_COUNTS_APART || counts->scan_reads == 0))
	{
		times->timed_reads = weight * times->timed_reads + (double) counts->reads;
		times->read_ns = weight * times->read_ns + (double) time->read_us * 1e3;
	}
	if (track_io_timing && counts->scan_reads > 0)
	{
		times->timed_scans = weight * times->timed_scans + (double) counts->scan_reads;
		times->scan_ns = weight * times->scan_ns + (double) time->scan_us * 1e3;
	}
	if (track_io_timing && accesses > 0)
	{
		times->timed_accesses = weight * times->timed_accesses + accesses;
		times->write_ns = weight * times->write_ns + (double) time->write_us * 1e3;
	}
}

static double
mean_ns(double count, double ns)
{
	return count >= PBP_ENOUGH_EVENTS && ns > 0 ? ns / count : NAN;
}

static double
mean_read_ns(const PbpSessionTimes *times)
{
	return mean_ns(times->timed_reads, times->read_ns);
}

/* Of what large scans read, the share that is from storage. */
static PbpFigure
share_of_scans(const PbpAdviceReport *report)
{
	const PbpAdviceStorageRow *today = &report->storage.fixed[PBP_ADVICE_BASELINE];
	double		reads = report->totals.scan_reads / report->totals.accesses;

	return (PbpFigure) {today->scan_ratio / reads, today->scan_error / reads};
}

void
pbp_report_times(const PbpSessionTimes *times, const PbpProbing *probing, PbpAdviceReport *report)
{
	PbpWaitingInput today = pbp_waiting_input(report);
	double		storage_share = pbp_knows_storage(report) ?
		pbp_storage_share(today.misses, today.storage) : NAN;
	double		working_ms = pbp_working_ms(times->active_ms, times->counted_ms);
	double		waiting;

	report->active_ms = times->seconds > 0 ? working_ms / times->seconds : NAN;
	report->times = pbp_read_times(pbp_probed_time(&probing->os_reads),
								   pbp_probed_time(&probing->storage_reads),
								   mean_read_ns(times), storage_share);
	/*
	 * A read takes at most all the time that sessions worked.  That is at least what was
	 * counted: the server publishes the time of a statement after its reads.
	 */
	pbp_bound_times(&report->times, pbp_mean_read_ns(&report->times, today.misses, today.storage),
					mean_ns(times->reads, fmax(working_ms, times->counted_ms) * 1e6));
	report->times.scan = pbp_scan_time(report->times.storage,
									   mean_ns(times->timed_scans, times->scan_ns),
									   share_of_scans(report));
	waiting = today.storage->storage_ratio * today.accesses * report->times.storage.value / 1e9;
	report->times.queued = pbp_probed_queue(&probing->storage_reads, waiting);
	report->times.sessions = fmax(times->most_working,
								  isnan(report->active_ms) ? 0 : report->active_ms / 1e3);
	pbp_time_writes(&report->times, mean_ns(times->timed_accesses, times->write_ns), waiting,
					today.misses, report->totals.dirty_evictions);
}

double
pbp_waited_ms(const PbpSessionTimes *times, const PbpSessionTime *time, double reads,
			  const PbpAdviceReport *report)
{
	if (!isnan(mean_read_ns(times)))
		return (double) (time->read_us + time->write_us) / 1e3;
	if (reads == 0)
		return 0;
	return pbp_knows_storage(report) ?
		reads * pbp_mean_read_ns(&report->times, &report->rows[PBP_ADVICE_BASELINE],
								 &report->storage.fixed[PBP_ADVICE_BASELINE]) / 1e6 : NAN;
}

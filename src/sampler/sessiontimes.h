/*-------------------------------------------------------------------------
 *
 * sessiontimes.h
 *	  How long sessions have worked, read and written in the last minutes, by the
 *	  server's own times, and what a read or a write takes by these and by the
 *	  probes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SESSIONTIMES_H
#define PBP_SESSIONTIMES_H

#include "sampler/probing.h"

/* In about a second, or since the last report. */
typedef struct PbpSessionTime
{
	int64		read_us;
	int64		scan_us;
	int64		write_us;
	double		active_ms;		/* see pbp_working_ms(), likewise below */
	double		counted_ms;
} PbpSessionTime;

typedef struct PbpTimed
{
	double		events;
	double		ns;
} PbpTimed;

/* Sums, all of which decay.  All 0 to begin. */
typedef struct PbpSessionTimes
{
	double		seconds;
	double		reads;
	double		active_ms;
	double		counted_ms;
	double		most_working;	/* sessions at once; no sum */
	/* While the server times reads and writes: */
	PbpTimed	timed_reads;
	PbpTimed	timed_scans;	/* blocks that large scans read */
	PbpTimed	timed_writes;	/* by accesses */
} PbpSessionTimes;

extern void pbp_add_session_time(PbpSessionTime *sum, const PbpSessionTime *time);
extern void pbp_count_session_time(PbpSessionTimes *times, const PbpAdviceCounts *counts,
								   const PbpSessionTime *time);

/* Sets times and active_ms of a report whose other figures are set. */
extern void pbp_report_times(const PbpSessionTimes *times, const PbpProbing *probing,
							 PbpAdviceReport *report);

/* How long sessions have waited for so many reads; NaN: unknown. */
extern double pbp_waited_ms(const PbpSessionTimes *times, const PbpSessionTime *time, double reads,
							const PbpAdviceReport *report);

#endif							/* PBP_SESSIONTIMES_H */

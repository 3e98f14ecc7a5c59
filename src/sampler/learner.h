/*-------------------------------------------------------------------------
 *
 * learner.h
 *	  What the worker feeds to the advice: looks, counts, scans, probes and times;
 *	  and when it publishes the result.
 *
 * The advice and the pages that it remembers are the worker's own memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_LEARNER_H
#define PBP_LEARNER_H

#include "pool/pool.h"
#include "sampler/history.h"
#include "simulator/look.h"
#include "statistics/served.h"

/* ---- in probing.c: probes of the page cache ---- */

#define PBP_READ_TIMES		120		/* latest reads whose times are kept */

/* Times of the latest reads. */
typedef struct PbpTimedReads
{
	int64		ns[PBP_READ_TIMES];
	int			reading[PBP_READ_TIMES];	/* sessions, when it began; from storage only */
	int64		nreads;			/* ever */
	bool		may_read;		/* in this call, still */
} PbpTimedReads;

static inline int
pbp_ntimes(const PbpTimedReads *reads)
{
	return (int) Min(reads->nreads, PBP_READ_TIMES);
}

/* All of it may be zero to begin. */
typedef struct PbpProbing
{
	PbpServed	served;
	const PbpAdvice *advice;	/* which knows what is in the pool */
	BufferTag	tags[PBP_SERVED_PAGES];
	int			next;			/* page to be looked up */
	uint32		round;			/* of all pages */
	int64		round_began_ns;
	int64		probed_ns;		/* later after an error */
	PbpTimedReads os_reads;
	PbpTimedReads storage_reads;
} PbpProbing;

extern void pbp_remember_load(PbpProbing *probing, const PbpAdvice *advice, uint64 key,
							  const BufferTag *tag, int64 now_ns);
extern void pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice, bool after_look);

/* ---- in sessiontimes.c: how long sessions have worked, read and written lately ---- */

/* By counting processes, see PbpWorking: sums of how many there were, times how long. */
typedef struct PbpCountedTime
{
	double		active_ms;
	double		working_ms;
	double		reading_ms;
	double		reading_squares;	/* of each count, in ms^2 */
	double		late_ms;
	double		ncounts;
} PbpCountedTime;

/* In about a second, or since the last report.  Nothing but doubles. */
typedef struct PbpSessionTime
{
	double		read_us;
	double		scan_us;
	double		write_us;
	double		active_ms;		/* see pbp_working_ms() */
	PbpCountedTime counted;
} PbpSessionTime;

typedef struct PbpTimed
{
	double		events;
	double		ns;
} PbpTimed;

/* What wait events say of reads; all but the last one decay. */
typedef struct PbpSeenReads
{
	PbpAdviceCounts counts;
	PbpSessionTime time;
	double		late_ms;		/* decays more slowly, as waited_ms does */
	double		waited_ms;
	PbpSessionTime next;		/* counts with the reads that are published next */
} PbpSeenReads;

/* Sums, which decay.  All 0 to begin. */
typedef struct PbpSessionTimes
{
	PbpAdviceCounts counts;
	PbpSessionTime time;
	double		most_working;	/* sessions at once; no sum */
	PbpSeenReads seen;
	/* While the server times reads and writes: */
	PbpTimed	timed_reads;	/* without PBP_COUNTS_APART, with the time of large scans */
	PbpTimed	timed_scans;	/* blocks that large scans read */
	PbpTimed	timed_writes;	/* by accesses */
	/* No sums that decay: */
	int64		processes_ns;	/* when these were counted; 0: never */
	PbpCountedTime processes;	/* by these counts, since it was last taken */
} PbpSessionTimes;

/* Does nothing unless it is due. */
extern void pbp_count_processes(PbpSessionTimes *times, int64 now_ns);

extern PbpSessionTime pbp_take_session_time(PbpSessionTimes *times, const PbpAccessCounts *before,
											const PbpAccessCounts *now);
extern void pbp_count_session_time(PbpSessionTimes *times, const PbpAdviceCounts *counts,
								   const PbpSessionTime *time);

/* Sets times and active_ms of a report whose other figures are set. */
extern void pbp_report_times(const PbpSessionTimes *times, const PbpProbing *probing,
							 PbpAdviceReport *report);

/* How long sessions have waited for so many reads; NaN: unknown. */
extern double pbp_waited_ms(const PbpSessionTimes *times, const PbpSessionTime *time, double reads,
							const PbpAdviceReport *report);

/* ---- in tablefiles.c: which files the tables have that scans read ---- */

/* May start a worker, so that some files are known only by the next call. */
extern void pbp_find_table_files(PbpCounted *counted);
extern PGDLLEXPORT void pbp_table_files_main(Datum arg);

/* ---- in learner.c ---- */

/* A sample that is not taken yet, and the reads of relations since the one before. */
typedef struct PbpNextSample
{
	PbpSample	sample;
	PbpReadCounts reads;
} PbpNextSample;

/* What was counted since the last report. */
typedef struct PbpFreshCounts
{
	PbpAdviceCounts counts;
	PbpSessionTime sessions;
	PbpReadCounts reads;
} PbpFreshCounts;

typedef struct PbpLearner
{
	MemoryContext context;
	PbpAdvice  *advice;			/* NULL: none is wanted, or no memory for it */
	int			memory_kb;		/* the setting when that was decided */
	int64		begun_ns;		/* when learning began */
	PbpLook		look;
	int64		look_ns;		/* when it began */
	int64		published_ns;

	PbpCounted	counted;		/* databases and tables, whose accesses are */
	int64		find_counted_ns;	/* when to search for others */
	double		scanned_block_ns;	/* what a block of a scan took; 0: unknown */
	PbpAccessCounts accesses;	/* when last counted */
	int64		refaults;		/* pages, at that time; PBP_UNKNOWN possible */
	int64		counted_ns;		/* 0: never */
	int64		naccesses;		/* since the worker started */
	uint64		wal_position;	/* when last counted; 0: never */
	XLogRecPtr	checkpoint;		/* the latest that has begun */
	PbpFreshCounts fresh;
	PbpSessionTimes sessions;
	PbpNextSample interval;		/* since the last sample, of which it has time,
								 * ticks and allocations; time 0: none yet */
	PbpReadCounts lately_read;	/* these decay */
	double		usual_mix;		/* distance of these to what was learned, in the last minutes */

	PbpProbing	probing;
	PbpCapacity capacity;
	bool		has_storage;	/* memory to simulate page caches */
	bool		has_totals;		/* memory to simulate page caches of other totals */
	Size		bytes;			/* all memory of the advice, but that of policies */
	bool		wants_policies; /* the setting when their memory was allocated */
	void	   *policies;		/* NULL: none are simulated */
} PbpLearner;

extern void pbp_restart_learner(PbpLearner *learner);

/* A look at the pool; only while learning. */
extern void pbp_learner_begin_look(PbpLearner *learner, int64 ticks);
extern void pbp_learner_end_look(PbpLearner *learner, int64 ticks);

/* These two do nothing unless they are due. */
extern void pbp_learner_count(PbpLearner *learner, bool at_once);
extern void pbp_learner_publish(PbpLearner *learner);

#endif							/* PBP_LEARNER_H */

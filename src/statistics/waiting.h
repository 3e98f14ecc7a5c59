/*-------------------------------------------------------------------------
 *
 * waiting.h
 *	  How long sessions wait for reads at each size: misses that the page cache
 *	  serves and misses that it does not, each with the time that one takes, and
 *	  the writes of dirty pages that are evicted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WAITING_H
#define PBP_WAITING_H

#include "statistics/figures.h"
#include "statistics/queue.h"

/* Share of today's figure by which another size may be worse. */
#define PBP_TOLERATED_LOSS	0.03

/* How long a read of one block takes, in nanoseconds, on average. */
typedef struct PbpReadTimes
{
	PbpFigure	os;				/* if the page cache serves it */
	PbpFigure	storage;
	bool		measured;		/* the server's times or wait events tell the mean
								 * of both kinds today */
	double		uncertain;		/* error of that mean, as a share of it */
	double		scanned;		/* share of it that may be for large scans */
	PbpFigure	write;			/* of a dirty page that is evicted, as far as sessions write it; 0
								 * unless the server has timed that */
	PbpFigure	held_up;		/* reads, by each page that is written more than
								 * today; 0 unless sessions wait for storage */
	PbpFigure	scan;			/* of a block that a large scan reads from storage */
	PbpQueue	queue;			/* of storage reads */
} PbpReadTimes;

/* What all sizes are compared with. */
typedef struct PbpWaitingInput
{
	double		accesses;		/* in the time that the result is about */
	PbpReadTimes times;
	const PbpAdviceRow *misses; /* of today's size */
	const PbpAdviceStorageRow *storage; /* of today's size */
	double		varies;			/* the load now, as a share; 0 over hours */
} PbpWaitingInput;

/*
 * Times of reads, from those of the probes.  If the server shows how long its reads take, their
 * mean replaces that of the probes, which then only have the ratio between both kinds.  NaN: it
 * does not, or the share of reads that wait for storage is unknown.  That mean may have the time
 * of large scans, which read so many blocks from storage for each read.
 */
extern PbpReadTimes pbp_read_times(PbpFigure os, PbpFigure storage, PbpFigure measured,
								   double storage_share, PbpFigure scanned);

/*
 * Sessions cannot wait longer for a read than they work for one: where probes are
 * slower on average than that, both times are reduced alike.
 */
extern void pbp_bound_times(PbpReadTimes *times, double mean_ns, double most_ns);

/*
 * The time of a block that a large scan reads from storage, where one read by itself takes so long.
 * If the server has timed what scans read, their mean time tells it, unless hardly any of these
 * blocks is from storage.  NaN: it has not.
 */
extern PbpFigure pbp_scan_time(PbpFigure storage, double measured_ns, PbpFigure storage_share);

/*
 * From the time that sessions write for each access, and from how many of them wait
 * for storage, on average.  Writes remain without effect if few dirty pages of the
 * sample were evicted: chance would decide between sizes.
 */
extern void pbp_time_writes(PbpReadTimes *times, double ns_per_access, double waiting,
							const PbpAdviceRow *today, double dirty_evictions);

/*
 * Time that sessions wait for reads, those of large scans from storage included, in milliseconds,
 * and for the writes of dirty pages that are evicted, at the size that these rows are of.
 */
extern PbpCompared pbp_waiting(const PbpWaitingInput *input, const PbpAdviceRow *misses,
							   const PbpAdviceStorageRow *storage);

/*
 * Time that sessions would wait less with another replacement policy, in milliseconds, compared
 * with the server's at the size that these rows are of.
 */
extern PbpFigure pbp_saved_by_policy(const PbpWaitingInput *input, const PbpAdviceRow *misses,
									 const PbpAdviceStorageRow *storage,
									 const PbpPolicyRow *policy);

/* Of its value, what large scans wait, as a share; 0: none, or unknown. */
extern double pbp_share_of_scans(const PbpWaitingInput *input, const PbpAdviceStorageRow *storage,
								 double waiting_ms);

/*
 * Time that sessions work, by the server's active_time and by counting again and
 * again who works.  The first is exact, but has of a pipeline of statements the
 * last one alone, of others nothing before their end, no parallel workers, and all
 * the time that a statement sleeps or waits for a lock.
 */
extern double pbp_working_ms(double active_ms, double counted_ms);

/* Sessions' work beside waiting for reads.  NaN: unknown, as nobody waits longer than he works. */
extern double pbp_working_beside(double working_ms, double waiting_ms);

extern PbpFigure pbp_mean_time(const int64_t *ns, int ntimes);

/* At one size: the share of misses that wait for storage, and what a read takes; NaN: unknown. */
extern double pbp_storage_share(const PbpAdviceRow *misses, const PbpAdviceStorageRow *storage);
extern double pbp_mean_read_ns(const PbpReadTimes *times, const PbpAdviceRow *misses,
							   const PbpAdviceStorageRow *storage);

#endif							/* PBP_WAITING_H */

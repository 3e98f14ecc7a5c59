/*-------------------------------------------------------------------------
 *
 * queue.h
 *	  How long a storage read takes where sessions read more or less than today:
 *	  before a device that is busy, reads wait for each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_QUEUE_H
#define PBP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"

/* Times are shares of what a storage read takes today.  All 0: unknown, as long as today. */
typedef struct PbpQueue
{
	double		sessions;		/* most that worked at once lately */
	double		between;		/* from the end of a session's read to its next one */
	double		service;		/* by which a read delays each other one */
	double		beside;			/* what a read takes besides, with that service */
	double		most_service;	/* the upper end of its interval, and what it takes besides */
	double		least_beside;
	bool		limited;		/* by operations in a second, below which reads are quick: they
								 * delay each other by more than one after the other could */
	double		quick;			/* what a read takes below that limit; 0: there is none */
} PbpQueue;

/*
 * From times of some storage reads, with how many sessions were reading when each began; from what
 * a session's read takes on average, how many sessions wait for one on average, and how many worked
 * at once at most.
 */
extern PbpQueue pbp_queue_of_reads(const int64_t *ns, const int *reading, int ntimes,
								   double mean_ns, double waiting, double sessions);

/* What a read takes, relative to today, with so many times as many reads. */
extern PbpFigure pbp_time_in_queue(const PbpQueue *queue, double reads);

#endif							/* PBP_QUEUE_H */

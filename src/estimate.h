/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  Counts of buffers from a random sample of the pool: which buffers are
 *	  read, and from the counts in the sample the estimates and their errors.
 *
 * "nread" is the size of the sample.  If it is that of the pool, every buffer is
 * read, the estimate is the count, and its error is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ESTIMATE_H
#define PBP_ESTIMATE_H

#include "compat.h"

/* buffers between two checks for interrupts, a fraction of a millisecond */
#define PBP_BUFFERS_PER_CHECK	16384

/* Descriptors that are read so much later are fetched into the caches. */
#define PBP_FETCHED_AHEAD	16

/* Goes through the sample, range by range. */
typedef struct PbpWalk
{
	int			first;			/* the current range */
	int			end;			/* the buffer behind it */

	int			nread;
	int			ndrawn;			/* buffers that were drawn so far */
	int			nwalked;
	int			drawn[PBP_FETCHED_AHEAD];
} PbpWalk;

/* Scales counts so that they add up to their scaled sum. */
typedef struct PbpScale
{
	int			nread;
	int64		counted;		/* sum of the counts so far */
	int64		scaled;			/* sum of the results so far */
} PbpScale;

extern void pbp_walk_begin(PbpWalk *walk, int nread);
extern bool pbp_walk_next(PbpWalk *walk);

extern int64 pbp_scaled(int nread, int64 count);
extern int64 pbp_scale_next(PbpScale *scale, int64 count);
extern int64 pbp_estimate_error(int nread, int64 estimate);
extern double pbp_mean_error(int nread, int64 count, double sum, double squares);

#endif							/* PBP_ESTIMATE_H */

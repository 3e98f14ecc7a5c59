/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  Random samples of buffers, or of other items: which of them are read, and
 *	  from the counts in the sample the estimates and their errors.
 *
 * "nread" is the size of the sample.  If it is the number of all items, every
 * one is read, the estimate is the count, and its error is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ESTIMATE_H
#define PBP_ESTIMATE_H

#include "base/compat.h"

/* buffers between two checks for interrupts, a fraction of a millisecond */
#define PBP_BUFFERS_PER_CHECK	16384

/* The number of descriptors that are prefetched into the caches. */
#define PBP_FETCHED_AHEAD	16

/* Draws a random sample of some items, none of them twice. */
typedef struct PbpDraw
{
	int			nread;
	int			nitems;
	int			ndrawn;			/* so far */
	int			nlarger;		/* parts to come that have one item more */
	int			shift;			/* where the first part begins */
	int			start;			/* of the next part, behind that */
} PbpDraw;

/* Goes through a sample of the pool, range by range. */
typedef struct PbpWalk
{
	int			first;			/* the current range */
	int			end;			/* the buffer behind it */

	PbpDraw		draw;
	int			nwalked;
	int			drawn[PBP_FETCHED_AHEAD];
} PbpWalk;

/* Scales counts so that they add up to their scaled sum. */
typedef struct PbpScale
{
	int			nread;
	int64		nitems;
	int64		counted;		/* sum of the counts so far */
	int64		scaled;			/* sum of the results so far */
} PbpScale;

extern void pbp_draw_begin(PbpDraw *draw, int nread, int nitems);
extern int	pbp_draw_next(PbpDraw *draw);
extern void pbp_walk_begin(PbpWalk *walk, int nread);
extern bool pbp_walk_next(PbpWalk *walk);

extern int64 pbp_scaled(const PbpScale *scale, int64 count);
extern int64 pbp_scale_next(PbpScale *scale, int64 count);
extern int64 pbp_estimate_error(double nread, int64 nitems, int64 estimate);

#endif							/* PBP_ESTIMATE_H */

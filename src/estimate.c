/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  Counts of buffers from a random sample of the pool.
 *
 * The pool is divided into as many parts of equal size as buffers are read, and
 * one buffer of each part is read.  Neighbors are often alike, so such a sample
 * is more exact than one of buffers from anywhere.  It takes no lock itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "estimate.h"

/* standard deviations that cover 95 % of a normal distribution */
#define DEVIATIONS		1.96

static int
part_start(int part, int nparts)
{
	return (int) ((int64) part * NBuffers / nparts);
}

/* Draws a buffer of the next part. */
static void
draw(PbpWalk *walk)
{
	int			start = part_start(walk->ndrawn, walk->nread);
	int			nbuffers = part_start(walk->ndrawn + 1, walk->nread) - start;
	int			buffer = start +
		(int) ((uint64) pg_prng_uint32(&pg_global_prng_state) * (uint64) nbuffers >> 32);

	__builtin_prefetch(GetBufferDescriptor(buffer));
	walk->drawn[walk->ndrawn++ % PBP_FETCHED_AHEAD] = buffer;
}

/* Begins before the first range. */
void
pbp_walk_begin(PbpWalk *walk, int nread)
{
	memset(walk, 0, sizeof(*walk));
	walk->nread = Min(nread, NBuffers);
	if (walk->nread < NBuffers)
	{
		while (walk->ndrawn < Min(walk->nread, PBP_FETCHED_AHEAD))
			draw(walk);
	}
}

/*
 * Goes to the next range of buffers to read, which is one buffer unless all are
 * read.  Returns false if there is none.  May process interrupts.
 */
bool
pbp_walk_next(PbpWalk *walk)
{
	CHECK_FOR_INTERRUPTS();
	if (walk->nread == NBuffers)
	{
		walk->first = walk->end;
		walk->end += Min(PBP_BUFFERS_PER_CHECK, NBuffers - walk->end);
		return walk->first < walk->end;
	}
	if (walk->nwalked == walk->nread)
		return false;
	walk->first = walk->drawn[walk->nwalked++ % PBP_FETCHED_AHEAD];
	walk->end = walk->first + 1;
	if (walk->ndrawn < walk->nread)
		draw(walk);
	return true;
}

/* From a count in the sample to one in the pool, rounded down. */
int64
pbp_scaled(int nread, int64 count)
{
	return count * NBuffers / nread;
}

/*
 * The same for each of several counts, rounded up or down so that the results
 * add up.  Never less than pbp_scaled().
 */
int64
pbp_scale_next(PbpScale *scale, int64 count)
{
	int64		before = scale->scaled;

	scale->counted += count;
	scale->scaled = pbp_scaled(scale->nread, scale->counted);
	return scale->scaled - before;
}

/*
 * What the sample would have to be in an infinite pool: in a finite one, the
 * buffers that were read cannot be wrong.
 */
static double
effective_size(int nread)
{
	return (double) nread * (NBuffers - 1) / (NBuffers - nread);
}

/*
 * The exact count of buffers differs from the estimate by no more than this,
 * with a probability of about 95 % or more: the distance to the farther end of
 * Wilson's interval.  Unlike the normal approximation, this holds for small
 * counts, too: if the sample has none, the pool may have some.
 */
int64
pbp_estimate_error(int nread, int64 estimate)
{
	double		share = (double) estimate / NBuffers;
	double		size;
	double		doubt;
	double		middle;
	double		half;

	if (nread >= NBuffers)
		return 0;
	size = effective_size(nread);
	doubt = DEVIATIONS * DEVIATIONS / size;
	middle = (share + doubt / 2) / (1 + doubt);
	half = sqrt(doubt * (share * (1 - share) + doubt / 4)) / (1 + doubt);
	return (int64) ceil((fabs(middle - share) + half) * NBuffers);
}

/*
 * Likewise for the mean of some figure, from the number of buffers in the sample
 * that have it, and the sums of their figures and of the squares.  Negative: too
 * few to tell.
 */
double
pbp_mean_error(int nread, int64 count, double sum, double squares)
{
	double		variance;

	if (nread >= NBuffers)
		return 0;
	if (count < 2)
		return -1;
	variance = Max(0, squares - sum * sum / (double) count) / (double) (count - 1);
	return DEVIATIONS * sqrt(variance / (double) count * (1 - (double) nread / NBuffers));
}

/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  Random samples of buffers, or of other items.
 *
 * The items are divided into as many parts as items are read, of equal size,
 * give or take one, and one item of each part is read.  Neighbors are often
 * alike, so such a sample is more exact than one of items from anywhere.  It
 * takes no lock itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "base/stats.h"
#include "pool/estimate.h"

static int
random_below(int limit)
{
	return (int) ((uint64) pg_prng_uint32(&pg_global_prng_state) * (uint64) limit >> 32);
}

/*
 * The first part begins anywhere, and if the items cannot be divided evenly, some
 * random parts have one item more.  If these came at regular intervals, items that
 * are alike at such intervals would be read too often or too rarely.
 */
void
pbp_draw_begin(PbpDraw *draw, int nread, int nitems)
{
	*draw = (PbpDraw) {
		.nread = nread,.nitems = nitems,.nlarger = nitems % nread,.shift = random_below(nitems)
	};
}

/* Draws an item of the next part. */
int
pbp_draw_next(PbpDraw *draw)
{
	bool		larger = random_below(draw->nread - draw->ndrawn) < draw->nlarger;
	int			size = draw->nitems / draw->nread + larger;
	int64		item = (int64) draw->shift + draw->start + random_below(size);

	draw->ndrawn++;
	draw->nlarger -= larger;
	draw->start += size;
	return (int) (item < draw->nitems ? item : item - draw->nitems);
}

/* ---- samples of the pool ---- */

static void
draw_buffer(PbpWalk *walk)
{
	int			slot = walk->draw.ndrawn % PBP_FETCHED_AHEAD;

	walk->drawn[slot] = pbp_draw_next(&walk->draw);
	__builtin_prefetch(GetBufferDescriptor(walk->drawn[slot]));
}

/* Begins before the first range; nread is at most NBuffers. */
void
pbp_walk_begin(PbpWalk *walk, int nread)
{
	memset(walk, 0, sizeof(*walk));
	pbp_draw_begin(&walk->draw, nread, NBuffers);
	while (nread < NBuffers && walk->draw.ndrawn < Min(nread, PBP_FETCHED_AHEAD))
		draw_buffer(walk);
}

/*
 * Goes to the next range of buffers to read, which is one buffer unless all are
 * read.  Returns false if there is none.  May process interrupts.
 */
bool
pbp_walk_next(PbpWalk *walk)
{
	CHECK_FOR_INTERRUPTS();
	if (walk->draw.nread == NBuffers)
	{
		walk->first = walk->end;
		walk->end += Min(PBP_BUFFERS_PER_CHECK, NBuffers - walk->end);
		return walk->first < walk->end;
	}
	if (walk->nwalked == walk->draw.nread)
		return false;
	walk->first = walk->drawn[walk->nwalked++ % PBP_FETCHED_AHEAD];
	walk->end = walk->first + 1;
	if (walk->draw.ndrawn < walk->draw.nread)
		draw_buffer(walk);
	return true;
}

/* ---- estimates ---- */

/* From a count in the sample to one of all items, rounded down. */
int64
pbp_scaled(const PbpScale *scale, int64 count)
{
	return count * scale->nitems / scale->nread;
}

/*
 * Scales each of several counts, rounded up or down so that the results add up.
 * Never less than pbp_scaled().
 */
int64
pbp_scale_next(PbpScale *scale, int64 count)
{
	int64		before = scale->scaled;

	scale->counted += count;
	scale->scaled = pbp_scaled(scale, scale->counted);
	return scale->scaled - before;
}

/*
 * The exact count of items differs from the estimate by no more than this, with
 * a probability of about 95 % or more.
 */
int64
pbp_estimate_error(double nread, int64 nitems, int64 estimate)
{
	double		all = (double) nitems;

	if (nread >= all)
		return 0;
	/* as a sample of an infinite number of items, since those that were read cannot be wrong */
	return (int64) ceil(pbp_share_error((double) estimate / all,
										nread * (all - 1) / (all - nread)) * all);
}

/*-------------------------------------------------------------------------
 *
 * probing.h
 *	  Probes of the page cache: which share of the pool's misses it serves, and
 *	  how long reads take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROBING_H
#define PBP_PROBING_H

#include "sampler/history.h"
#include "statistics/served.h"

#define PBP_READ_TIMES		120		/* latest reads whose times are kept */

/* Times of the latest reads. */
typedef struct PbpTimedReads
{
	int64		ns[PBP_READ_TIMES];
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
	int64		probed_ns;		/* later after an error */
	int64		reading_ns;		/* spent on timed reads in this call */
	PbpTimedReads os_reads;
	PbpTimedReads storage_reads;
} PbpProbing;

extern void pbp_remember_load(PbpProbing *probing, const PbpAdvice *advice, uint64 key,
							  const BufferTag *tag, int64 now_ns);
extern void pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice, bool after_look);

#endif							/* PBP_PROBING_H */

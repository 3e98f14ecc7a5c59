/*-------------------------------------------------------------------------
 *
 * pagesample.h
 *	  Reads buffers for the pages of the advice's sample.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PAGESAMPLE_H
#define PBP_PAGESAMPLE_H

#include "simulator/simulator.h"
#include "base/compat.h"

/*
 * Receives each page of the sample.  Receives NULL instead of a tag for any
 * other buffer that is pinned: its page may be about to be replaced.
 */
typedef void (*PbpPageVisitor) (void *arg, uint64 key, int buffer, int usage,
								bool dirty, const BufferTag *tag);

extern void pbp_sample_range(const PbpAdvice *advice, int first, int end,
							 PbpPageVisitor visit, void *arg);
extern void pbp_sample_buffers(const PbpAdvice *advice, const int *buffers, int nbuffers,
							   PbpPageVisitor visit, void *arg);

#endif							/* PBP_PAGESAMPLE_H */

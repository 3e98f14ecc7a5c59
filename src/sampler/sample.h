/*-------------------------------------------------------------------------
 *
 * sample.h
 *	  A sample of the history, and how many are kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SAMPLE_H
#define PBP_SAMPLE_H

#include "datatype/timestamp.h"

#include "pool/descriptors.h"
#include "sampler/topreads.h"

/* The pool at one time, and what happened since the previous sample. */
typedef struct PbpSample
{
	TimestampTz taken_at;
	int64		taken_ns;		/* the same by pbp_now_ns(); 0: before the server
								 * started; not saved */
	int64		ticks;			/* of the hand, since server start */
	int64		allocations;	/* as published, since server start */
	PbpHistogram histogram;
	int64		elapsed_ns;		/* 0: there was no sample before */
	int64		new_ticks;
	int64		new_allocations;
	int64		looks;
	int64		cpu_ns;			/* used by the worker */
	int64		accesses;		/* by the server's counts */
	int64		reads;
	double		read_ms;		/* that sessions waited for them */
	double		read_ms_seconds;	/* in which that was known */
	PbpTopRead	top_reads[PBP_TOP_READS];
} PbpSample;

/* Two rings of samples: those of the last hours, and sums over minutes. */
typedef enum PbpHistory
{
	PBP_FINE_HISTORY,
	PBP_COARSE_HISTORY
} PbpHistory;

#define PBP_HISTORIES		(PBP_COARSE_HISTORY + 1)

/* Twelve hours of samples that are taken every ten seconds. */
#define PBP_FINE_SAMPLES	4320

/* Eight days in steps of five minutes. */
#define PBP_COARSE_SECONDS	300
#define PBP_COARSE_SAMPLES	2304

/* Hours that are kept: eight days. */
#define PBP_HOURS			192

#endif							/* PBP_SAMPLE_H */

/*-------------------------------------------------------------------------
 *
 * results.h
 *	  All that the sampler publishes: one segment of shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESULTS_H
#define PBP_RESULTS_H

#include "statistics/hoursum.h"
#include "statistics/prediction.h"
#include "base/shared.h"
#include "sampler/report.h"
#include "sampler/sample.h"

/* The last ones are kept. */
#define PBP_MAX_PREDICTIONS	100

/* What survives a restart. */
typedef struct PbpPredictionBook
{
	int64		nmade;			/* ever */
	PbpPrediction ring[PBP_MAX_PREDICTIONS];
	PbpPredictionWatch watch;
} PbpPredictionBook;

typedef struct PbpResults
{
	int64		next_sample_ns; /* when one will have been taken, by
								 * pbp_now_ns(); 0: never */
	uint32		nresets;
	bool		has_begun;		/* a worker has run since this was created */
	PbpPredictionBook predictions;
	PbpAdviceReport advice;
	PbpAdviceReport advice_before;	/* the last one before a restart */
	int			nhours;
	PbpHour		hours[PBP_HOURS];	/* in the order in which they were begun */
	int64		nsamples[PBP_HISTORIES];	/* since a ring was emptied */
	PbpSample	fine[PBP_FINE_SAMPLES];
	PbpSample	coarse[PBP_COARSE_SAMPLES];
} PbpResults;

extern bool pbp_sampler_has_results(void);
extern void pbp_keep_results(void);
extern PbpResults *pbp_open_results(LWLockMode mode);
extern void pbp_close_results(void);

#endif							/* PBP_RESULTS_H */

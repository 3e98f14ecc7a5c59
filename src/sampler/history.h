/*-------------------------------------------------------------------------
 *
 * history.h
 *	  What the sampler publishes, in one segment of shared memory: rings of samples,
 *	  hours, predictions, and the latest advice.  Any process may read them; the
 *	  worker alone adds to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HISTORY_H
#define PBP_HISTORY_H

#include "datatype/timestamp.h"

#include "base/shared.h"
#include "pool/pool.h"
#include "sampler/report.h"
#include "sampler/topreads.h"
#include "statistics/hoursum.h"
#include "statistics/prediction.h"

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

extern void pbp_keep_results(void);
extern PbpResults *pbp_open_results(LWLockMode mode);
extern void pbp_close_results(void);

/* for readers */
extern bool pbp_sampler_has_results(void);
extern PbpSample *pbp_history(PbpHistory history, int *nsamples);
extern PbpHour *pbp_hours(int *nhours);
extern bool pbp_recent_history(PbpClockRate *recent);
extern void pbp_history_reset(void);
extern PbpAdviceReport *pbp_read_advice(void);

/* for the worker */
extern uint32 pbp_count_resets(void);
extern bool pbp_history_begins(void);
extern int	pbp_count_samples(PbpHistory history, int64 *oldest);
extern void pbp_copy_samples(PbpHistory history, int64 first, int nsamples, PbpSample *samples);
extern void pbp_restore_report(const PbpAdviceReport *report, uint32 resets);
extern void pbp_announce_sample(int64 next_sample_ns);
extern void pbp_put_sample(PbpHistory history, const PbpSample *sample, uint32 resets);
extern void pbp_put_hour(const PbpHour *hour, uint32 resets);
extern void pbp_put_advice(const PbpAdviceReport *report, uint32 resets);

#endif							/* PBP_HISTORY_H */

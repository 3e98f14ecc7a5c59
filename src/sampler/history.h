/*-------------------------------------------------------------------------
 *
 * history.h
 *	  What the sampler publishes in shared memory: a ring of samples, and the
 *	  latest advice.  Any process may read both; the worker alone adds to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HISTORY_H
#define PBP_HISTORY_H

#include "pool/descriptors.h"
#include "sampler/report.h"

/* The pool at one time, and what happened since the previous sample. */
typedef struct PbpSample
{
	TimestampTz taken_at;
	int64		ticks;			/* of the hand, since server start */
	int64		allocations;	/* as published, since server start */
	PbpHistogram histogram;
	int64		elapsed_ns;		/* 0: there was no sample before */
	int64		new_ticks;
	int64		new_allocations;
	int64		looks;
	int64		cpu_ns;			/* used by the worker */
} PbpSample;

extern void pbp_sampler_request_shared(void);
extern void pbp_sampler_init_shared(void);
extern bool pbp_sampler_is_loaded(void);

/* for readers */
extern PbpSample *pbp_history(int *nsamples);
extern bool pbp_history_rate(double *seconds, double *ticks);
extern void pbp_history_reset(void);
extern void pbp_read_advice(PbpAdviceReport *report);

/* for the worker */
extern uint32 pbp_count_resets(void);
extern bool pbp_history_begins(void);
extern int	pbp_count_samples(int64 *oldest);
extern void pbp_copy_samples(int64 first, int nsamples, PbpSample *samples);
extern void pbp_restore_samples(const PbpSample *samples, Size nsamples, uint32 resets);
extern void pbp_restore_report(const PbpAdviceReport *report, uint32 resets);
extern void pbp_announce_sample(int64 next_sample_ns);
extern void pbp_put_sample(const PbpSample *sample, uint32 resets);
extern void pbp_put_advice(const PbpAdviceReport *report, uint32 resets);

#endif							/* PBP_HISTORY_H */

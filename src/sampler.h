/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  The background worker: history, and what the advice learns from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SAMPLER_H
#define PBP_SAMPLER_H

#include "advice.h"
#include "descriptors.h"

/* The pool at one time, and what happened since the sample before. */
typedef struct PbpSample
{
	TimestampTz taken_at;
	int64		ticks;			/* where the hand stood, since server start */
	int64		allocations;	/* as published, since server start */
	PbpHistogram histogram;
	int64		elapsed_ns;		/* 0: there was no sample before */
	int64		new_ticks;
	int64		new_allocations;
	int64		scans;
	int64		cpu_ns;			/* that the worker used */
} PbpSample;

typedef struct PbpAdviceReport
{
	TimestampTz since;			/* when it began to learn; 0: it never did */
	bool		has_memory;		/* for the method */
	PbpAdviceTotals totals;
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];

	/*
	 * of reads more or fewer than today's, what the page cache serves; -1:
	 * unknown
	 */
	double		os_cache_share[PBP_ADVICE_FACTORS];
	double		os_read_ns;		/* -1 here and below: unknown */
	double		storage_read_ns;
} PbpAdviceReport;

/* settings, which _PG_init() defines */
extern bool pbp_sampler_on;
extern int	pbp_history_interval_ms;
extern double pbp_max_cpu_fraction;
extern int	pbp_history_size;
extern int	pbp_advice_memory_kb;	/* -1: a thousandth of the pool */

extern void pbp_sampler_request_shared(void);
extern void pbp_sampler_init_shared(void);
extern void pbp_sampler_register(void);
extern bool pbp_sampler_is_loaded(void);
extern bool pbp_sampler_has_no_slot(void);
extern PbpSample *pbp_history(int *nsamples);
extern bool pbp_history_rate(double *seconds, double *ticks);
extern void pbp_history_reset(void);
extern void pbp_read_advice(PbpAdviceReport *report);
extern PGDLLEXPORT void pbp_sampler_main(Datum arg);

#endif							/* PBP_SAMPLER_H */

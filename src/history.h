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

#include "advice_relations.h"
#include "descriptors.h"
#include "servermemory.h"

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

/* Which accesses wait for storage, and which sizes fit into memory. */
typedef struct PbpStorageReport
{
	bool		has_memory;		/* to simulate page caches; false: nothing
								 * below is known */
	PbpStorageModel model;
	int64		data_bytes;		/* of all files of relations; negative: unknown */
	PbpAdviceStorageTotals totals;
	PbpFit		fits[PBP_ADVICE_FACTORS];
	PbpFit		data_fit;		/* of a pool for all data */
	PbpAdviceStorageRow fixed[PBP_ADVICE_FACTORS];	/* by size, if memory is
													 * fixed */
	PbpAdviceStorageRow added[PBP_ADVICE_FACTORS];	/* if it is added */
} PbpStorageReport;

typedef struct PbpAdviceReport
{
	TimestampTz since;			/* when learning began; 0: never */
	bool		has_memory;		/* to learn */
	PbpAdviceTotals totals;
	PbpAdviceCounts counted;	/* all that the worker has, which only grows */
	double		missed_loads;	/* share, by checks; NaN: none yet */
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];
	double		os_read_ns;		/* -1 here and below: unknown */
	double		storage_read_ns;
	PbpRelationsReport relations;
	PbpStorageReport storage;
} PbpAdviceReport;

extern int	pbp_history_size;	/* a setting, defined by _PG_init() */

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
extern void pbp_announce_sample(int64 next_sample_ns);
extern void pbp_put_sample(const PbpSample *sample, uint32 resets);
extern void pbp_put_advice(const PbpAdviceReport *report, uint32 resets);

#endif							/* PBP_HISTORY_H */

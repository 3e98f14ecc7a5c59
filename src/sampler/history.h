/*-------------------------------------------------------------------------
 *
 * history.h
 *	  What the sampler publishes, in one segment of shared memory: rings of samples,
 *	  hours, predictions, and the latest advice.  Any process may read them; the
 *	  worker alone adds to them.
 *
 * The functions are those of all files of this folder but what the worker alone
 * needs to learn.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HISTORY_H
#define PBP_HISTORY_H

#include "datatype/timestamp.h"

#include "base/worker.h"
#include "memory/servermemory.h"
#include "pool/pool.h"
#include "sampler/topreads.h"
#include "statistics/prediction.h"
#include "statistics/totals.h"

/* ---- a report of the advice ---- */

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
	PbpOsMemory memory;			/* of which these are; not saved */
	PbpAdviceStorageRow fixed[PBP_ADVICE_FACTORS];	/* by size, with today's
													 * memory */
	bool		has_totals;		/* memory to simulate others; not saved */
	PbpAdviceSplit splits[PBP_TOTALS][PBP_SPLITS];	/* not saved */
} PbpStorageReport;

typedef struct PbpAdviceReport
{
	TimestampTz made_at;		/* 0: never */
	int64		nbuffers;		/* the size that it is about */
	bool		is_from_before; /* a restart of the server */
	double		watched_seconds;	/* since learning began */
	bool		has_memory;		/* to learn */
	PbpAdviceTotals totals;
	bool		loaded;			/* since the worker started, as many accesses were counted as the
								 * pool has buffers; not saved */
	double		missed_loads;	/* share, by checks; NaN: none yet */
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];
	PbpReadTimes times;
	double		active_ms;		/* that sessions work in a second; NaN: unknown */
	PbpRelationsReport relations;
	bool		has_policies;	/* memory to simulate these; not saved */
	PbpPolicyRow policies[PBP_POLICY_COUNT][PBP_POLICY_SIZES];	/* not saved */
	PbpStorageReport storage;
	bool		may_fit[PBP_ADVICE_FACTORS];	/* into memory, as far as known */
	PbpDecision decision;		/* by this and by the hours that were seen */
} PbpAdviceReport;

/* From here on, the looks see another number of reads than the server counts. */
#define LARGE_SELF_ERROR	0.2

/* ---- the history ---- */

/* The pool at one time, and what happened since the previous sample. */
typedef struct PbpSample
{
	TimestampTz taken_at;
	int64		taken_ns;		/* the same by pbp_now_ns(); 0: before the server
								 * started; not saved */
	int64		ticks;			/* of the hand, since server start */
	int64		allocations;	/* as published, since server start */
	PbpHistogram histogram;

	/* since the previous sample: nothing but int64 up to "evicted", and sums */
	int64		elapsed_ns;		/* 0: there was no sample before */
	int64		new_ticks;
	int64		new_allocations;
	int64		looks;
	int64		cpu_ns;			/* used by the worker */
	int64		accesses;		/* by the server's counts */
	int64		reads;
	int64		scan_reads;		/* by large scans, which are no part of reads */
	int64		scan_hits;
	int64		scan_reuses;	/* reads for which the ring of the scan had a buffer */
	PbpEvicted	evicted;
	double		read_ms;		/* that sessions waited for them */
	double		read_ms_seconds;	/* in which that was known */
	PbpTopRead	top_reads[PBP_TOP_READS];
} PbpSample;

/* From elapsed_ns to evicted. */
#define PBP_SAMPLE_COUNTS \
	((offsetof(PbpSample, read_ms) - offsetof(PbpSample, elapsed_ns)) / sizeof(int64))

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

/* ---- predictions ---- */

/* The last ones are kept. */
#define PBP_MAX_PREDICTIONS	100

/* What survives a restart. */
typedef struct PbpPredictionBook
{
	int64		nmade;			/* ever */
	PbpPrediction ring[PBP_MAX_PREDICTIONS];
	PbpPredictionWatch watch;
} PbpPredictionBook;

/* ---- all of it, which is saved as it is ---- */

typedef struct PbpResults
{
	int64		next_sample_ns; /* when one will have been taken, by
								 * pbp_now_ns(); 0: never */
	uint32		nresets;
	PbpPredictionBook predictions;
	PbpAdviceReport advice;
	PbpAdviceReport advice_before;	/* the last one before a restart */
	int			nhours;
	PbpHour		hours[PBP_HOURS];	/* in the order in which they were begun */
	int64		nsamples[PBP_HISTORIES];	/* since a ring was emptied */
	PbpSample	fine[PBP_FINE_SAMPLES];
	PbpSample	coarse[PBP_COARSE_SAMPLES];
} PbpResults;

/* history.c */
extern void pbp_keep_results(void);
extern PbpResults *pbp_open_results(LWLockMode mode);
extern void pbp_close_results(void);
extern PbpSample *pbp_sample_at(PbpResults *results, PbpHistory history, int64 number);
extern int64 pbp_oldest_sample(const PbpResults *results, PbpHistory history);

/* for readers */
extern bool pbp_sampler_has_results(void);
extern PbpSample *pbp_history(PbpHistory history, int *nsamples);
extern PbpClockRate pbp_recent_history(void);
extern void pbp_history_reset(void);
extern PbpAdviceReport *pbp_read_advice(void);

/* for the worker */
extern uint32 pbp_noticed_resets;
extern bool pbp_history_begins;
extern uint32 pbp_count_resets(void);
extern void pbp_restore_results(const PbpResults *restored);
extern void pbp_announce_sample(int64 next_sample_ns);
extern void pbp_put_sample(PbpHistory history, const PbpSample *sample);
extern void pbp_put_advice(const PbpAdviceReport *report);

/* hours.c */
extern void pbp_count_hour(TimestampTz now, const PbpHourShare *share);
extern PbpHour *pbp_last_hours(int before, TimestampTz now, int *nhours);
extern bool pbp_sum_decision_hours(const PbpAdviceReport *report, PbpHoursSum *sum);
extern bool pbp_skips_hour(TimestampTz begins_at);

/* predictions.c */
extern PbpPrediction *pbp_predictions(int *npredictions);
extern void pbp_restore_predictions(PbpPredictionBook *book, const PbpPredictionBook *saved);
extern void pbp_predict_after_restart(PbpPredictionBook *book, const PbpAdviceReport *report,
									  int64 nbuffers);
extern void pbp_check_predictions(const PbpAdviceReport *report, const PbpAdviceCounts *counts,
								  const PbpReadMix *mix);

/* report.c */
extern PbpWaitingInput pbp_waiting_input(const PbpAdviceReport *report);
extern PbpTotalsInput pbp_totals_input(const PbpAdviceReport *report);
extern int64 pbp_both_caches(const PbpAdviceReport *report);
extern bool pbp_knows_storage(const PbpAdviceReport *report);
extern bool pbp_knows_more(const PbpAdviceReport *one, const PbpAdviceReport *other);
extern void pbp_reset_decisions(void);
extern void pbp_decide_report(PbpAdviceReport *report);

/* sampler.c */
extern bool pbp_sampler_is_preloaded;
extern void pbp_sampler_register(void);
extern PGDLLEXPORT void pbp_sampler_main(Datum arg);

/* savedvalues.c: each returns which value is impossible; NULL: none is */
extern const char *pbp_check_report(const PbpAdviceReport *report);
extern const char *pbp_check_prediction(const PbpPrediction *prediction);
extern const char *pbp_check_watch(const PbpPredictionWatch *watch);
extern const char *pbp_check_hour(const PbpHour *hour);
extern const char *pbp_check_sample(const PbpSample *sample);

/* statefile.c: nothing fails with more than a message in the log */
extern void pbp_save_state(void);
extern bool pbp_restore_state(void);
extern void pbp_remove_state_file(void);
extern bool pbp_is_possible(const char *wrong, bool *logged);

#endif							/* PBP_HISTORY_H */

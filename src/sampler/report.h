/*-------------------------------------------------------------------------
 *
 * report.h
 *	  A report of the advice, and the size that it advises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_REPORT_H
#define PBP_REPORT_H

#include "datatype/timestamp.h"

#include "statistics/decision.h"
#include "statistics/figures.h"
#include "statistics/totals.h"
#include "statistics/waiting.h"
#include "memory/servermemory.h"

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
	PbpAdviceSplit splits[PBP_TOTALS][PBP_SPLITS];	/* not saved, either */
} PbpStorageReport;

typedef struct PbpAdviceReport
{
	TimestampTz made_at;		/* 0: never */
	int64		nbuffers;		/* the size that it is about */
	bool		is_from_before; /* a restart of the server */
	double		watched_seconds;	/* since learning began */
	bool		has_memory;		/* to learn */
	PbpAdviceTotals totals;
	PbpAdviceCounts counted;	/* all that the worker has, which only grows;
								 * not saved */
	double		missed_loads;	/* share, by checks; NaN: none yet */
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];
	PbpReadTimes times;
	double		active_ms;		/* that sessions work in a second; NaN: unknown */
	PbpRelationsReport relations;
	PbpStorageReport storage;
	PbpDecision decision;		/* by this and by the hours that were seen */
} PbpAdviceReport;

/* From here on, the looks see another number of reads than the server counts. */
#define LARGE_SELF_ERROR	0.2

extern PbpWaitingInput pbp_waiting_input(const PbpAdviceReport *report);
extern PbpTotalsInput pbp_totals_input(const PbpAdviceReport *report, bool *fits);
extern int64 pbp_both_caches(const PbpAdviceReport *report);
extern bool pbp_may_fit(const PbpAdviceReport *report, int size);
extern bool pbp_knows_storage(const PbpAdviceReport *report);
extern bool pbp_knows_more(const PbpAdviceReport *one, const PbpAdviceReport *other);

#endif							/* PBP_REPORT_H */

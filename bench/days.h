/*
 * days.h
 *	  A load of many days, and a server in simulated time with the worker that
 *	  watches it.
 */
#ifndef DAYS_H
#define DAYS_H

#include "sampler/topreads.h"
#include "simulator/look.h"
#include "statistics/decision.h"
#include "statistics/served.h"
#include "storage_model.h"

#define BUFFER_BYTES	8192
#define HOUR_SECONDS	3600
#define DAY_SECONDS		86400

/* Tables, whose pages follow each other. */
typedef enum Table
{
	LOOKUPS,
	BATCH,
	REPORT,
	TABLES
} Table;

/* What an access takes beside reading, and what a read takes, which the server times. */
#define WORK_MS			0.05
#define CACHED_MS		0.04
#define STORAGE_MS		0.5

/* sampler/history.h */
#define HOURS			192

/* What is counted between two reports; sums lose half of it in a minute. */
typedef struct SessionTimes
{
	double		seconds;
	double		reads;
	double		read_ms;
	double		active_ms;
} SessionTimes;

/* The worker, which sampler/ has in the server. */
typedef struct Worker
{
	int			nbuffers;
	const Pool *pool;
	int64_t		second;			/* of a clock that is never set */
	int64_t		clock_error;	/* of the system's clock, in seconds */

	PbpAdvice  *advice;
	PbpLook		look;
	int64_t		look_ticks;
	PbpAdviceCounts counted;	/* until the last report */
	double		counted_ms;		/* of waiting, until then */
	double		naccesses;
	SessionTimes times;
	PbpReadCounts loads;		/* since the last report */
	PbpReadCounts lately_read;
	double		usual_mix;

	PbpServed	served;
	int			probed_pages[PBP_SERVED_PAGES];

	PbpAdviceTotals totals;
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];
	PbpAdviceStorageRow storage[PBP_ADVICE_FACTORS];
	double		accesses[PBP_ADVICE_FACTORS];	/* of this day, while misses were known */
	double		misses[PBP_ADVICE_FACTORS];
	bool		fits[PBP_ADVICE_FACTORS];
	PbpHour		hours[HOURS];
	int			nhours;
	PbpHoursSum last_hours;
	int64_t		advised_buffers;	/* 0: nothing yet */
	PbpDecision decision;
} Worker;

/* days.c */
extern Table table_of(int page);

/* days_worker.c */
extern int	cache_pages(int nbuffers);
extern double waited_ms(const Memory *memory);
extern void worker_start(Worker *worker, const Memory *memory, uint64_t salt);
extern void worker_look(Worker *worker);
extern void worker_report(Worker *worker, const Memory *memory, double seconds);
extern void worker_decide(Worker *worker);
extern void worker_sum_hours(const Worker *worker, int hours, PbpHoursSum *sum);
extern void worker_finish(Worker *worker);

#endif							/* DAYS_H */

/*-------------------------------------------------------------------------
 *
 * hoursum.h
 *	  What is kept of each hour: how long sessions waited for reads, and how long
 *	  they would have waited at other sizes.
 *
 * Hours of another size of the pool are added up by interpolation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HOURSUM_H
#define PBP_HOURSUM_H

#include "statistics/waiting.h"

#define PBP_SECONDS_PER_HOUR	3600.0

/*
 * Of a pool with so much page cache, in one hour, while its waiting was known.
 * Changes are differences to the size that ran.  All errors are half the width of
 * 95 % intervals.  They add up without canceling: all figures of an hour come from
 * the same sample and the same model.  Nothing but floats.
 */
typedef struct PbpHourWaiting
{
	float		accesses;
	float		storage_reads;
	float		storage_error;
	float		ms;
	float		error;
	float		change;
	float		change_error;
} PbpHourWaiting;

/* Splits of all totals of memory but today's, one total after the other. */
#define PBP_OTHER_SPLITS	((PBP_TOTALS - 1) * PBP_SPLITS)

static inline int
pbp_other_split(int total, int kind)
{
	return (total < PBP_TOTAL_TODAY ? total : total - 1) * PBP_SPLITS + kind;
}

/* What happened in one hour. */
typedef struct PbpHour
{
	int64_t		begins_at;		/* in the server's own time; a multiple of an hour */
	int64_t		nbuffers;		/* the size that ran last, and that sizes[] are multiples of */
	double		seconds;		/* in which the worker has counted */
	double		accesses;		/* by the server's counts, like reads */
	double		reads;
	double		active_ms;		/* see pbp_working_ms(), here and below */
	double		counted_ms;
	double		read_ms;		/* time that sessions waited for reads */
	double		read_ms_seconds;	/* in which that was known */
	PbpHourWaiting sizes[PBP_ADVICE_FACTORS];	/* with today's memory */
	double		memory;			/* of both caches, that splits[] are about; 0: none is known */
	double		memory_seconds; /* by which it has lasted longer than others */
	uint8_t		split_sizes[PBP_OTHER_SPLITS];	/* of the pools */
	PbpHourWaiting splits[PBP_OTHER_SPLITS];
	double		apart;			/* accesses that are no part of the load that
								 * sizes[] and splits[] are about */
} PbpHour;

/* In several hours. */
typedef struct PbpHoursSum
{
	double		seconds;		/* seen */
	double		wanted_seconds; /* in the hours that count, up to now */
	double		accesses;
	double		reads;
	double		apart;
	double		active_ms;
	double		counted_ms;
	PbpHourWaiting sizes[PBP_ADVICE_FACTORS];	/* multiples of today's size */
	PbpHourWaiting splits[PBP_OTHER_SPLITS]; /* of today's memory */
} PbpHoursSum;

/* What happened in about a second. */
typedef struct PbpHourShare
{
	double		seconds;
	double		accesses;
	double		apart;			/* see pbp_advice_accesses_apart() */
	double		reads;
	double		active_ms;
	double		counted_ms;
	double		read_ms;		/* NaN: unknown */
	PbpReadTimes times;
	const PbpAdviceRow *misses; /* by size */
	const PbpAdviceStorageRow *storage; /* by size; NULL: unknown */
	const bool *fits;			/* by size: sizes that do not fit have no waiting */
	double		memory;			/* of both caches */
	const PbpAdviceSplit (*splits)[PBP_SPLITS]; /* by total; NULL: unknown */
} PbpHourShare;

extern void pbp_add_to_hour(PbpHour *hour, const PbpHourShare *share);

/* The sizes become multiples of another one, as far as they are known. */
extern void pbp_move_hour(PbpHour *hour, int64_t nbuffers);

/* The hour must be about the same size as the sum. */
extern void pbp_sum_hour(PbpHoursSum *sum, const PbpHour *hour);

/* Splits with the same pools as these, and whether they are about so much memory. */
extern void pbp_sum_splits(PbpHoursSum *sum, const PbpHour *hour,
						   const PbpAdviceSplit (*splits)[PBP_SPLITS]);
extern bool pbp_is_of_memory(const PbpHour *hour, double memory);

/* In a second of all hours, as if it had always been known; NaN: it was for too little of them. */
extern double pbp_working_of_sum(const PbpHoursSum *sum);
extern PbpCompared pbp_waiting_of_sum(const PbpHoursSum *sum, const PbpHourWaiting *waiting);
extern PbpCompared pbp_waiting_of_hour(const PbpHour *hour, int size);

/* The size of the shortest waiting, of those certainly better than what ran; -1: unknown. */
extern int	pbp_best_of_hour(const PbpHour *hour);

#endif							/* PBP_HOURSUM_H */

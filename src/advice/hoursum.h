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

#include "advice/waiting.h"

/*
 * Of one size, in one hour.  Changes are differences to the size that ran.  All
 * errors are half the width of 95 % intervals.  They add up without canceling:
 * all figures of an hour come from the same sample and the same model.  Nothing
 * but floats.
 */
typedef struct PbpHourSize
{
	/* While the miss ratio of this size was known: */
	float		accesses;
	float		misses;
	float		misses_change;
	float		misses_change_error;
	/* While the waiting at this size was, too: */
	float		waiting_accesses;
	float		storage_reads;
	float		waiting_ms;
	float		waiting_error;
	float		waiting_change;
	float		waiting_change_error;
} PbpHourSize;

/* What happened in one hour. */
typedef struct PbpHour
{
	int64_t		begins_at;		/* in the server's own time; a multiple of an hour */
	int64_t		nbuffers;		/* the size that ran last, and that sizes[] are
								 * multiples of */
	double		seconds;		/* in which the worker has counted */
	double		accesses;		/* by the server's counts, like those below */
	double		reads;
	double		active_ms;		/* time that sessions worked, as published */
	double		read_ms;		/* of this, time that they waited for reads */
	double		read_ms_seconds;	/* in which that was known */
	PbpHourSize sizes[PBP_ADVICE_FACTORS];
} PbpHour;

/* Of one size, in several hours; like PbpHourSize. */
typedef struct PbpSizeSum
{
	double		accesses;
	double		misses;
	double		misses_change;
	double		misses_change_error;
	double		waiting_accesses;
	double		storage_reads;
	double		waiting_ms;
	double		waiting_error;
	double		waiting_change;
	double		waiting_change_error;
} PbpSizeSum;

typedef struct PbpHoursSum
{
	int			nhours;			/* with anything seen */
	double		seconds;		/* seen */
	double		wanted_seconds; /* in the hours that count, up to now */
	double		accesses;
	double		reads;
	double		active_ms;
	double		read_ms;		/* in read_ms_seconds */
	double		read_ms_seconds;
	PbpSizeSum	sizes[PBP_ADVICE_FACTORS];	/* multiples of today's size */
} PbpHoursSum;

/* What happened in about a second. */
typedef struct PbpHourShare
{
	double		seconds;
	double		accesses;
	double		reads;
	double		active_ms;
	double		read_ms;		/* NaN: unknown */
	PbpReadTimes times;
	const PbpAdviceRow *misses; /* by size */
	const PbpAdviceStorageRow *storage; /* by size; NULL: unknown */
	const bool *fits;			/* by size: sizes that do not fit have no waiting */
} PbpHourShare;

extern void pbp_add_to_hour(PbpHour *hour, const PbpHourShare *share);

/* The sizes become multiples of another one, as far as they are known. */
extern void pbp_move_hour(PbpHour *hour, int64_t nbuffers);

/* The hour must be about the same size as the sum. */
extern void pbp_sum_hour(PbpHoursSum *sum, const PbpHour *hour);

/* Share of the accesses in which the waiting at this size was known, and the miss ratio. */
extern double pbp_known_waiting(const PbpHoursSum *sum, int size);
extern double pbp_known_misses(const PbpHoursSum *sum, int size);

/* The size with the shortest waiting of all that are certainly better than the one that ran; -1: unknown. */
extern int	pbp_best_of_hour(const PbpHour *hour);

#endif							/* PBP_HOURSUM_H */

/*-------------------------------------------------------------------------
 *
 * prediction.h
 *	  What the advice predicts for a size that the server is then restarted
 *	  with, and whether that came true.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PREDICTION_H
#define PBP_PREDICTION_H

#include "statistics/drift.h"

/* A 95 % interval. */
typedef struct PbpForecast
{
	double		value;			/* NaN: unknown, like the others */
	double		low;
	double		high;
} PbpForecast;

/* What the advice says about one size. */
typedef struct PbpCurvePoint
{
	double		value;			/* NaN: unknown */
	double		error;			/* half the width of a 95 % interval */
} PbpCurvePoint;

typedef enum PbpPredictionState
{
	PBP_PREDICTION_NONE,		/* the miss ratio was not predicted */
	PBP_PREDICTION_WARMING,		/* the pool is cold after the restart */
	PBP_PREDICTION_FEW_READS,
	PBP_PREDICTION_OTHER_RATE,
	PBP_PREDICTION_OTHER_MIX,
	PBP_PREDICTION_HELD,
	PBP_PREDICTION_OTHER_MISSES,	/* measured outside the interval */
	PBP_PREDICTION_OTHER_STORAGE,
	PBP_LAST_PREDICTION_STATE = PBP_PREDICTION_OTHER_STORAGE
} PbpPredictionState;

/* Sums over the time in which the workload was as before the restart. */
typedef struct PbpMeasured
{
	double		accesses;
	double		reads;
	double		intervals;		/* of about a second */
	double		accesses_squared;	/* sums of squares and products, by
									 * interval */
	double		reads_squared;
	double		reads_accesses;
	double		storage_accesses;	/* while the storage ratio was known */
	double		storage_reads;
	double		storage_error;	/* of the newest storage ratio */
} PbpMeasured;

typedef struct PbpPrediction
{
	int64_t		made_at;
	int64_t		from_buffers;
	int64_t		to_buffers;
	PbpForecast misses;
	PbpForecast storage;
	double		os_cache_pages; /* that were to remain; NaN: unknown */
	bool		outside;		/* of the sizes that the advice estimates */
	bool		had_advice;
	PbpAdviceReason reason;		/* why the miss ratio is unknown */

	int64_t		measured_since; /* 0: not yet */
	PbpMeasured measured;
	PbpPredictionState state;
	double		change;			/* factor of the rate, or share of the mix */
	double		seen_share;		/* of the reads that a verdict needs */
	double		missing_reads;	/* reads, or accesses that are worth as many,
								 * until there is a verdict; only falls until
								 * the server restarts; NaN: unknown */
} PbpPrediction;

/* What the newest prediction is checked against. */
typedef struct PbpPredictionWatch
{
	PbpDriftWatch drift;		/* from the load before the restart, with the
								 * mix expected at the size that runs */
	bool		warm;
	double		pools_read;		/* since the restart, or worth as much */
	double		pools_read_cold;	/* of these, before it was settled; NaN: it
									 * is not */
} PbpPredictionWatch;

/* What happened in about a second. */
typedef struct PbpObservation
{
	int64_t		now;
	int64_t		buffers;		/* the size that runs */
	PbpLoadCounts counts;
	bool		settled;		/* the pool is full, and has evicted since */
	PbpReadMix	mix;
	double		storage_ratio;	/* NaN: unknown */
	double		storage_error;
	double		os_cache_pages; /* NaN: unknown */
} PbpObservation;

/* forecast.c */
extern PbpCurvePoint pbp_curve_at(const PbpCurvePoint *points, double factor);
extern PbpForecast pbp_forecast(const PbpCurvePoint *points, double factor, bool falls);
extern int	pbp_unknown_point(const PbpCurvePoint *points, double factor);
extern void pbp_expect_mix(const PbpRelationsReport *report, double reads, double factor,
						   PbpReadMix *mix);

/* predictioncheck.c */
extern double pbp_measured_storage(const PbpMeasured *measured);
extern bool pbp_measured_roughly(const PbpPrediction *prediction);
extern void pbp_watch_cold_pool(PbpPredictionWatch *watch, PbpPrediction *prediction);
extern void pbp_watch_new_size(PbpPredictionWatch *watch, double miss_ratio);
extern void pbp_observe_workload(PbpPredictionWatch *watch, PbpPrediction *prediction,
								 const PbpObservation *observation);

#endif							/* PBP_PREDICTION_H */

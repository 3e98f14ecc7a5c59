/*-------------------------------------------------------------------------
 *
 * prediction.h
 *	  What the advice predicts for a size that the server is then restarted
 *	  with, whether that came true, and whether the load is still the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PREDICTION_H
#define PBP_PREDICTION_H

#include "statistics/figures.h"

/* ---- the load that a figure was made for: the reference ---- */

/* Share of the reads that one relation has. */
typedef struct PbpReadShare
{
	PbpRelationKey key;
	double		share;
	double		error;			/* half the width of a 95 % interval */
} PbpReadShare;

/* Which relations are read. */
typedef struct PbpReadMix
{
	int			nrelations;		/* 0: unknown */
	PbpReadShare relations[PBP_TOP_RELATIONS];
	double		others;			/* share of all other relations */
} PbpReadMix;

/* Accesses per second, as the average read meets them, so that an idle time does not matter. */
typedef struct PbpPace
{
	double		accesses;		/* these decay */
	double		reads;
	double		weighted_rates; /* by reads */
} PbpPace;

typedef struct PbpDriftWatch
{
	PbpPace		pace;			/* of the load now */
	double		rate;			/* of the reference; NaN: unknown */
	double		miss_ratio;		/* of the reference; NaN: unknown */
	PbpReadMix	mix;			/* of the reference */
} PbpDriftWatch;

typedef enum PbpDriftKind
{
	PBP_SAME_LOAD,
	PBP_QUIET_LOAD,				/* hardly any: says nothing */
	PBP_OTHER_MIX,
	PBP_OTHER_RATE
} PbpDriftKind;

typedef struct PbpDrift
{
	PbpDriftKind kind;
	double		change;			/* share of the mix, or factor of the rate */
} PbpDrift;

/* ---- predictions ---- */

/* A 95 % interval. */
typedef struct PbpForecast
{
	double		value;			/* NaN: unknown, like the others */
	double		low;
	double		high;
} PbpForecast;

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
	double		accesses_squared;	/* sums of squares and products, by interval */
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

	PbpMeasured measured;
	PbpPredictionState state;
	double		change;			/* factor of the rate, or share of the mix */
	double		seen_share;		/* of the reads that a verdict needs */
	double		missing_reads;	/* reads, or accesses that are worth as many, until there is a
								 * verdict; only falls until the server restarts; NaN: unknown */
} PbpPrediction;

/* What the newest prediction is checked against. */
typedef struct PbpPredictionWatch
{
	PbpDriftWatch drift;		/* from the load before the restart, with the
								 * mix expected at the size that runs */
	bool		warm;
	double		pools_read;		/* since the restart, or worth as much */
	double		pools_read_cold;	/* of these, before it was settled; NaN: it is not */
} PbpPredictionWatch;

/* What happened in about a second. */
typedef struct PbpObservation
{
	int64_t		buffers;		/* the size that runs */
	PbpAdviceCounts counts;
	bool		settled;		/* the pool is full, and has evicted since */
	PbpReadMix	mix;
	double		storage_ratio;	/* NaN: unknown */
	double		storage_error;
	double		os_cache_pages; /* NaN: unknown */
} PbpObservation;

/* forecast.c */

/* The size that the advice estimates at this factor of today's; -1: none. */
extern int	pbp_size_of_factor(double factor);

extern PbpFigure pbp_curve_at(const PbpFigure *points, double factor);
extern PbpForecast pbp_forecast(const PbpFigure *points, double factor, bool falls);
extern int	pbp_unknown_point(const PbpFigure *points, double factor);
extern void pbp_expect_mix(const PbpRelationsReport *report, double reads, double factor,
						   PbpReadMix *mix);

/* predictioncheck.c: loads.  Counts are added about once a second. */

/* Older counts lose half their weight with as many reads as in the advice. */
extern void pbp_add_load(PbpPace *pace, const PbpAdviceCounts *counts, int64_t buffers);
extern double pbp_pace_rate(const PbpPace *pace);

/*
 * The load until now becomes the reference, except that its miss ratio is the one
 * given, and its mix is left to the caller.
 */
extern void pbp_set_reference(PbpDriftWatch *watch, double miss_ratio);

/* Compares with the reference: the newest counts, which were added, and mix. */
extern PbpDrift pbp_find_drift(const PbpDriftWatch *watch, const PbpAdviceCounts *counts,
							   const PbpReadMix *mix);
extern double pbp_mix_distance(const PbpReadMix *expected, const PbpReadMix *mix);
extern double pbp_other_mix(const PbpReadMix *expected, const PbpReadMix *mix);
extern double pbp_unusual_mix(double *usual, double distance, double seconds);

/* predictioncheck.c: predictions */
extern double pbp_measured_storage(const PbpMeasured *measured);
extern bool pbp_measured_roughly(const PbpPrediction *prediction);
extern void pbp_watch_cold_pool(PbpPredictionWatch *watch, PbpPrediction *prediction);
extern void pbp_watch_new_size(PbpPredictionWatch *watch, double miss_ratio);
extern void pbp_observe_workload(PbpPredictionWatch *watch, PbpPrediction *prediction,
								 const PbpObservation *observation);

#endif							/* PBP_PREDICTION_H */

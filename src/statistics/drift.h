/*-------------------------------------------------------------------------
 *
 * drift.h
 *	  Whether the load is still the one that a figure was made for: the
 *	  reference.
 *
 * Counts are added about once a second.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DRIFT_H
#define PBP_DRIFT_H

#include "statistics/figures.h"

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

/* Block accesses, those that were reads, and the time in which they happened. */
typedef struct PbpLoadCounts
{
	double		accesses;
	double		reads;
	double		seconds;
} PbpLoadCounts;

/*
 * Accesses per second, as the average read meets them, so that an idle time
 * does not matter.
 */
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
	double		miss_ratio;		/* likewise */
	PbpReadMix	mix;			/* likewise */
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

/* Older counts lose half their weight with as many reads as in the advice. */
extern void pbp_add_load(PbpPace *pace, const PbpLoadCounts *counts, int64_t buffers);
extern double pbp_pace_rate(const PbpPace *pace);

/*
 * The load until now becomes the reference, except that its miss ratio is the one
 * given, and its mix is left to the caller.
 */
extern void pbp_set_reference(PbpDriftWatch *watch, double miss_ratio);

/* Compares with the reference: the newest counts, which were added, and mix. */
extern PbpDrift pbp_find_drift(const PbpDriftWatch *watch, const PbpLoadCounts *counts,
							   const PbpReadMix *mix);

/*
 * Share of the reads that are of other relations than expected: any, and as far
 * as that makes another load.
 */
extern double pbp_mix_distance(const PbpReadMix *expected, const PbpReadMix *mix);
extern double pbp_other_mix(const PbpReadMix *expected, const PbpReadMix *mix);

#endif							/* PBP_DRIFT_H */

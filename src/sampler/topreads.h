/*-------------------------------------------------------------------------
 *
 * topreads.h
 *	  The relations with the most reads in a short time.
 *
 * Relations are counted as long as there is room; a new one takes the place of
 * that with the fewest reads.  So none with many reads is missing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_TOPREADS_H
#define PBP_TOPREADS_H

#include "statistics/prediction.h"

/* That are kept. */
#define PBP_TOP_READS		5

/* That are counted: as many as a mix of reads has. */
#define PBP_COUNTED_READS	PBP_TOP_RELATIONS

typedef struct PbpTopRead
{
	PbpRelationKey key;			/* all 0: there are fewer */
	float		read_share;		/* of all pages that were read; at least */
} PbpTopRead;

typedef struct PbpReadCount
{
	PbpRelationKey key;
	double		reads;
	double		others;			/* of these, perhaps of relations that it has
								 * replaced */
} PbpReadCount;

/* All of it may be zero to begin. */
typedef struct PbpReadCounts
{
	double		reads;			/* of all relations */
	int			ncounts;
	PbpReadCount counts[PBP_COUNTED_READS];
} PbpReadCounts;

extern void pbp_count_reads(PbpReadCounts *counts, const PbpRelationKey *key, double reads);
extern void pbp_add_read_counts(PbpReadCounts *sum, const PbpReadCounts *counts);
extern void pbp_fade_read_counts(PbpReadCounts *counts, double weight);
extern void pbp_mix_of_reads(const PbpReadCounts *counts, PbpReadMix *mix);
extern void pbp_top_reads(const PbpReadCounts *counts, PbpTopRead *top);

#endif							/* PBP_TOPREADS_H */

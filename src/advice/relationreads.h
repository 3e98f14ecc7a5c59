/*-------------------------------------------------------------------------
 *
 * relationreads.h
 *	  Which relations read the most, and which would gain or lose by another
 *	  size of the pool; and how many distinct pages are in use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RELATIONREADS_H
#define PBP_RELATIONREADS_H

#include "advice/advice.h"
#include "advice/workingset.h"

/* Sizes whose effect on each relation is estimated. */
#define PBP_ADVICE_HALF			1
#define PBP_ADVICE_DOUBLE		8

/* Relations that are reported, and one row for all others. */
#define PBP_TOP_RELATIONS		50
#define PBP_RELATION_ROWS		(PBP_TOP_RELATIONS + 1)

/* A fork of a relation.  The numbers mean nothing here. */
typedef struct PbpRelationKey
{
	uint32_t	database;
	uint32_t	tablespace;
	uint32_t	relfilenode;
	uint32_t	fork;
} PbpRelationKey;

/* More or fewer reads at another size; NaN: unknown. */
typedef struct PbpChange
{
	double		reads;
	double		error;
} PbpChange;

/* Figures of one relation; each error is half the width of a 95 % interval. */
typedef struct PbpRelationRow
{
	PbpRelationKey key;
	bool		others;			/* all relations that have no row */
	double		read_share;		/* NaN, here and below: unknown, by the
								 * reason of that size */
	double		read_share_error;
	double		loads;			/* reads and new pages */
	PbpChange	saved;			/* at twice the size */
	PbpChange	added;			/* at half the size */
	PbpChange	storage_saved;	/* of the storage reads, while memory is fixed */
	PbpChange	storage_added;
	double		pages;			/* in use, in PBP_WINDOW_OF_RELATIONS */
	double		pages_error;
	double		sampled_loads;
} PbpRelationRow;

typedef struct PbpRelationsReport
{
	bool		has_memory;
	PbpWindow	windows[PBP_WINDOWS];
	int			nrows;
	PbpRelationRow rows[PBP_RELATION_ROWS];
} PbpRelationsReport;

/*
 * Learns that, too, in a block of memory aligned for any type.  Returns false if
 * it is too small.
 */
extern bool pbp_advice_watch_relations(PbpAdvice *advice, void *memory, size_t bytes);

/* To be called before each look: a time that only moves forward. */
extern void pbp_advice_look_time(PbpAdvice *advice, int64_t second);

/* The relation of the page that was just observed, if the advice wants it. */
extern void pbp_advice_set_relation(PbpAdvice *advice, const PbpRelationKey *key);

extern void pbp_advice_report_relations(const PbpAdvice *advice, PbpRelationsReport *report);

#endif							/* PBP_RELATIONREADS_H */

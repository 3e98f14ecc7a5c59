/*-------------------------------------------------------------------------
 *
 * learner.h
 *	  What the worker feeds to the advice, and when it publishes the result.
 *
 * The advice and the pages that it remembers are the worker's own memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_LEARNER_H
#define PBP_LEARNER_H

#include "pool/pool.h"
#include "sampler/probing.h"
#include "sampler/sessiontimes.h"
#include "simulator/look.h"

/* A sample that is not taken yet, and the reads of relations since the one before. */
typedef struct PbpNextSample
{
	PbpSample	sample;
	PbpReadCounts reads;
} PbpNextSample;

/* What was counted since the last report. */
typedef struct PbpFreshCounts
{
	PbpAdviceCounts accesses;
	PbpSessionTime sessions;
	PbpReadCounts reads;
} PbpFreshCounts;

typedef struct PbpLearner
{
	MemoryContext context;
	PbpAdvice  *advice;			/* NULL: none is wanted, or no memory for it */
	int			memory_kb;		/* the setting when that was decided */
	int64		begun_ns;		/* when learning began */
	PbpLook		look;
	int64		look_ns;		/* when it began */
	int64		published_ns;

	PbpCounted	counted;		/* databases and tables, whose accesses are */
	int64		find_counted_ns;	/* when to search for others */
	double		scanned_block_ns;	/* what a block of a scan took; 0: unknown */
	PbpAccessCounts accesses;	/* when last counted */
	int64		refaults;		/* pages, at that time; PBP_UNKNOWN possible */
	int64		counted_ns;		/* 0: never */
	int64		naccesses;		/* since the worker started */
	uint64		wal_position;	/* when last counted; 0: never */
	XLogRecPtr	checkpoint;		/* the latest that has begun */
	PbpFreshCounts fresh;
	PbpSessionTimes sessions;
	PbpNextSample interval;		/* since the last sample, of which it has time,
								 * ticks and allocations; time 0: none yet */
	PbpReadCounts lately_read;	/* these decay */

	PbpProbing	probing;
	PbpCapacity capacity;
	bool		has_storage;	/* memory to simulate page caches */
	bool		has_totals;		/* and those of other totals of memory */
	Size		bytes;			/* all memory of the advice, but that of policies */
	bool		wants_policies; /* the setting when their memory was allocated */
	void	   *policies;		/* NULL: none are simulated */
} PbpLearner;

extern void pbp_restart_learner(PbpLearner *learner);

/* A look at the pool; only while learning, as the size of its sample. */
extern void pbp_learner_resize(PbpLearner *learner, double factor);
extern void pbp_learner_begin_look(PbpLearner *learner, int64 ticks);
extern void pbp_learner_end_look(PbpLearner *learner, int64 ticks);

/* These two do nothing unless they are due. */
extern void pbp_learner_count(PbpLearner *learner, bool at_once);
extern void pbp_learner_publish(PbpLearner *learner);

#endif							/* PBP_LEARNER_H */

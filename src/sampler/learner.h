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

#include "sampler/history.h"

typedef struct PbpLearner PbpLearner;

/* A sample that is not taken yet, and the reads of relations since the one before. */
typedef struct PbpNextSample
{
	PbpSample	sample;
	PbpReadCounts reads;
} PbpNextSample;

/* Adds to the interval what it counts. */
extern PbpLearner *pbp_create_learner(PbpNextSample *interval);
extern void pbp_restart_learner(PbpLearner *learner, uint32 resets);
extern bool pbp_learner_is_outdated(const PbpLearner *learner);
extern void pbp_learner_resize(PbpLearner *learner, double factor);
extern double pbp_learner_rate(const PbpLearner *learner);
extern bool pbp_is_learning(const PbpLearner *learner);

/* A look at the pool; only while learning. */
extern bool pbp_learner_expects_whole_look(const PbpLearner *learner);
extern void pbp_learner_begin_look(PbpLearner *learner, int64 ticks);
extern void pbp_learner_end_look(PbpLearner *learner, int64 ticks);

extern void pbp_learner_notice_free_buffers(PbpLearner *learner);

/* These two do nothing unless they are due. */
extern void pbp_learner_count(PbpLearner *learner, bool at_once);
extern void pbp_learner_publish(PbpLearner *learner, uint32 resets);

#endif							/* PBP_LEARNER_H */

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

#include "history.h"

typedef struct PbpLearner PbpLearner;

/* What a learner has saved, in a server that ran before this one. */
typedef struct PbpSavedState
{
	const void *learner;
	Size		bytes;
	double		seconds_ago;	/* by the wall clock */
	bool		same_boot;		/* has the machine not been booted since? */
} PbpSavedState;

extern PbpLearner *pbp_create_learner(void);
extern void pbp_restart_learner(PbpLearner *learner, uint32 resets);
extern Size pbp_learner_saved_bytes(const PbpLearner *learner);
extern void pbp_save_learner(const PbpLearner *learner, PbpPutBytes put, void *arg);
extern void pbp_resume_learner(PbpLearner *learner, const PbpSavedState *state, uint32 resets);
extern bool pbp_learner_is_outdated(const PbpLearner *learner);
extern bool pbp_is_learning(const PbpLearner *learner);

/* A look at the pool; only while learning. */
extern bool pbp_learner_expects_whole_look(const PbpLearner *learner);
extern void pbp_learner_begin_look(PbpLearner *learner, int64 ticks);
extern void pbp_learner_end_look(PbpLearner *learner, int64 ticks);

extern void pbp_learner_notice_free_buffers(PbpLearner *learner);

/* These two do nothing unless they are due. */
extern void pbp_learner_count(PbpLearner *learner);
extern void pbp_learner_publish(PbpLearner *learner, uint32 resets);

#endif							/* PBP_LEARNER_H */

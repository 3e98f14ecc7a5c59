/*-------------------------------------------------------------------------
 *
 * restart.h
 *	  What survives a restart of the server: saved by the worker, read once by
 *	  the next server's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESTART_H
#define PBP_RESTART_H

#include "learner.h"

extern bool pbp_save_all(const PbpLearner *learner, uint32 resets, bool may_wait);
extern bool pbp_resume_all(PbpLearner *learner, uint32 resets);

#endif							/* PBP_RESTART_H */

/*-------------------------------------------------------------------------
 *
 * plannercache.h
 *	  The last answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PLANNERCACHE_H
#define PBP_PLANNERCACHE_H

#include "answers/answer.h"

extern void answer_planner_cache(const Checkup *checkup, Answer *answer);

#endif							/* PBP_PLANNERCACHE_H */

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

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern void answer_planner_cache(const Checkup *checkup, Answer *answer);

#pragma GCC visibility pop

#endif							/* PBP_PLANNERCACHE_H */

/*-------------------------------------------------------------------------
 *
 * advicememory.h
 *	  How much memory the advice has, and the advice in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ADVICEMEMORY_H
#define PBP_ADVICEMEMORY_H

#include "simulator/simulator.h"

extern PbpAdvice *pbp_create_advice(MemoryContext context, bool *has_storage, bool *has_totals);

#endif							/* PBP_ADVICEMEMORY_H */

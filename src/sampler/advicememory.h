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

/* 0: none is wanted. */
extern Size pbp_advice_bytes(void);

/* NULL: there is not enough memory. */
extern PbpAdvice *pbp_create_advice(MemoryContext context, Size bytes);

/* Of today's memory, and after that of other totals.  False: there is not enough. */
extern bool pbp_create_storage(MemoryContext context, PbpAdvice *advice);
extern bool pbp_create_totals(MemoryContext context, PbpAdvice *advice);

#endif							/* PBP_ADVICEMEMORY_H */

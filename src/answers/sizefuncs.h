/*-------------------------------------------------------------------------
 *
 * sizefuncs.h
 *	  Helpers of sizefuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SIZEFUNCS_H
#define PBP_SIZEFUNCS_H

#include "pool/poolfuncs.h"
#include "sampler/sampler.h"

extern void check_sampler_runs(void);
extern ClockRate recent_clock_rate(int64 duration_ms);

#endif							/* PBP_SIZEFUNCS_H */

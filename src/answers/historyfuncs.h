/*-------------------------------------------------------------------------
 *
 * historyfuncs.h
 *	  Helpers of historyfuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HISTORYFUNCS_H
#define PBP_HISTORYFUNCS_H

extern void check_sampler_runs(void);

#endif							/* PBP_HISTORYFUNCS_H */

/*-------------------------------------------------------------------------
 *
 * startfuncs.h
 *	  What to do where no sampler is running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STARTFUNCS_H
#define PBP_STARTFUNCS_H

extern const char *start_action(Oid neighbor);

#endif							/* PBP_STARTFUNCS_H */

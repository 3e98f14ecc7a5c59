/*-------------------------------------------------------------------------
 *
 * carrywork.h
 *	  What the worker of the carry-over does: it saves and restores both caches,
 *	  and checks whether that goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYWORK_H
#define PBP_CARRYWORK_H

/* Returns false if nothing was saved.  A quick save does not sleep. */
extern bool pbp_carry_save(bool quick);

/* Returns false if it was stopped. */
extern bool pbp_carry_restore(void);

extern bool pbp_carry_goes_on(void);
extern void pbp_carry_wait(int64 ms);

#endif							/* PBP_CARRYWORK_H */

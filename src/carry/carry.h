/*-------------------------------------------------------------------------
 *
 * carry.h
 *	  The worker that carries both caches over a restart: its registration, its
 *	  entry point, and what it does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRY_H
#define PBP_CARRY_H

extern void pbp_carry_register(void);
extern void pbp_carry_launch(uint32 stops);
extern bool pbp_carry_has_no_slot(void);
extern PGDLLEXPORT void pbp_carry_main(Datum arg);

/* Returns false if nothing was saved.  A quick save does not sleep. */
extern bool pbp_carry_save(bool quick);

extern void pbp_carry_restore(void);

#endif							/* PBP_CARRY_H */

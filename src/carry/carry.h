/*-------------------------------------------------------------------------
 *
 * carry.h
 *	  The worker that carries both caches over a restart: its registration and
 *	  its entry point.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRY_H
#define PBP_CARRY_H

extern void pbp_carry_register(void);
extern bool pbp_carry_has_no_slot(void);
extern PGDLLEXPORT void pbp_carry_main(Datum arg);


#endif							/* PBP_CARRY_H */

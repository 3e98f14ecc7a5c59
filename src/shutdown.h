/*-------------------------------------------------------------------------
 *
 * shutdown.h
 *	  How the background worker ends: with the server, or alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SHUTDOWN_H
#define PBP_SHUTDOWN_H

extern void pbp_expect_shutdown(void);
extern void pbp_let_die(bool let);
extern bool pbp_must_end(void);
extern bool pbp_server_is_stopping(void);
extern void pbp_end_worker(void);
extern void pbp_check_interrupts_of_look(void);

#endif							/* PBP_SHUTDOWN_H */

/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  The background worker: its settings, its registration and its entry
 *	  point.  What it publishes is in history.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SAMPLER_H
#define PBP_SAMPLER_H

#include "history.h"

/*
 * Maximum of pgbufprobe.advice_memory, room for about 90,000 sampled pages.  To
 * look at one takes about 100 ns of processor time, so the default limit of 0.01
 * keeps the worker asleep for a second after a look, and not longer.
 */
#define PBP_MAX_ADVICE_KB	(16 * 1024)

/* settings, which _PG_init() defines */
extern bool pbp_sampler_on;
extern int	pbp_history_interval_ms;
extern double pbp_max_cpu_fraction;
extern int	pbp_advice_memory_kb;	/* -1: a thousandth of the pool */

extern void pbp_sampler_register(void);
extern bool pbp_sampler_has_no_slot(void);
extern PGDLLEXPORT void pbp_sampler_main(Datum arg);

#endif							/* PBP_SAMPLER_H */

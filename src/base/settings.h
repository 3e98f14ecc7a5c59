/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The settings, which any file may read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SETTINGS_H
#define PBP_SETTINGS_H

/*
 * Maximum of pgbufprobe.advice_memory, room for about 90,000 sampled pages.  To
 * look at one takes about 100 ns of processor time, so the default limit of 0.01
 * keeps the worker asleep for a second after a look, and not longer.
 */
#define PBP_MAX_ADVICE_KB	(16 * 1024)

extern bool pbp_os_cache_on;

extern bool pbp_sampler_on;
extern int	pbp_history_interval_ms;
extern double pbp_max_cpu_fraction;
extern int	pbp_advice_memory_kb;	/* -1: a thousandth of the pool */
extern bool pbp_policies_on;

extern int	pbp_decision_hours; /* that must have been seen before a decision */
extern uint32_t pbp_decision_skip_mask; /* a bit for each hour of the day that
										 * is left out */

extern bool pbp_carry_over_on;
extern int	pbp_carry_over_interval_s;	/* 0: only when the server stops */
extern int	pbp_carry_over_rate_mb; /* 0: no limit */

extern void pbp_define_settings(void);
extern bool pbp_sampler_settings_changed(void);

#endif							/* PBP_SETTINGS_H */

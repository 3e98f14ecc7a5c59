/*-------------------------------------------------------------------------
 *
 * hours.h
 *	  The hours of the last eight days in shared memory.  Any process may read
 *	  them; the worker alone adds to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HOURS_H
#define PBP_HOURS_H

#include "advice/hoursum.h"
#include "sampler/report.h"

/* Eight days. */
#define PBP_HOURS			192

/* At most so many are added up: seven days. */
#define PBP_MAX_SUM_HOURS	168

extern void pbp_hours_request_shared(void);
extern void pbp_hours_init_shared(void);

/* ---- for readers ---- */

/* Copies, oldest first; palloc'd. */
extern PbpHour *pbp_hours(int *nhours);

/*
 * Adds up the last hours and the one that runs, without those that
 * pgbufprobe.decision_skip_hours leaves out, at multiples of the size that runs.
 * Returns false if nothing was seen in them.
 */
extern bool pbp_sum_hours(int hours, PbpHoursSum *sum);

/* True if pgbufprobe.decision_skip_hours leaves out the hour that begins then. */
extern bool pbp_skips_hour(TimestampTz begins_at);

extern void pbp_hours_reset(void);

/* ---- for the worker ---- */

extern void pbp_count_hour(const PbpAdviceReport *report, uint32 resets);

/* What is saved. */
extern const PbpField pbp_hour_fields[];
extern const char *pbp_check_hours(const PbpHour *hours, int nhours);
extern void pbp_restore_hours(const PbpHour *hours, int nhours, uint32 resets);

#endif							/* PBP_HOURS_H */

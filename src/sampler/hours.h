/*-------------------------------------------------------------------------
 *
 * hours.h
 *	  The hours of the last eight days: what the worker adds to them, and sums
 *	  of the last ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HOURS_H
#define PBP_HOURS_H

#include "sampler/history.h"

/* ---- for readers ---- */

extern PbpHour *pbp_last_hours(int before, TimestampTz now, int *nhours);
extern bool pbp_sum_decision_hours(const PbpAdviceReport *report, PbpHoursSum *sum);
extern bool pbp_skips_hour(TimestampTz begins_at);

/* ---- for the worker ---- */

extern void pbp_count_hour(TimestampTz now, const PbpHourShare *share, uint32 resets);

#endif							/* PBP_HOURS_H */

/*-------------------------------------------------------------------------
 *
 * history.h
 *	  What the sampler publishes in shared memory: rings of samples, hours, and
 *	  the latest advice.  Any process may read both; the worker alone adds to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_HISTORY_H
#define PBP_HISTORY_H

#include "pool/sweep.h"
#include "sampler/report.h"
#include "sampler/sample.h"
#include "statistics/hoursum.h"

/* for readers */
extern PbpSample *pbp_history(PbpHistory history, int *nsamples);
extern PbpHour *pbp_hours(int *nhours);
extern bool pbp_recent_history(PbpClockRate *recent);
extern void pbp_history_reset(void);
extern PbpAdviceReport *pbp_read_advice(void);

/* for the worker */
extern uint32 pbp_count_resets(void);
extern bool pbp_history_begins(void);
extern int	pbp_count_samples(PbpHistory history, int64 *oldest);
extern void pbp_copy_samples(PbpHistory history, int64 first, int nsamples, PbpSample *samples);
extern void pbp_restore_report(const PbpAdviceReport *report, uint32 resets);
extern void pbp_announce_sample(int64 next_sample_ns);
extern void pbp_put_sample(PbpHistory history, const PbpSample *sample, uint32 resets);
extern void pbp_put_hour(const PbpHour *hour, uint32 resets);
extern void pbp_put_advice(const PbpAdviceReport *report, uint32 resets);

#endif							/* PBP_HISTORY_H */

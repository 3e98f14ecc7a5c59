/*-------------------------------------------------------------------------
 *
 * statefile.h
 *	  The file that survives a restart, pg_stat/pgbufprobe.stat: the history,
 *	  hours, the latest report of the advice, and predictions.
 *
 * Nothing here fails with more than a message in the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STATEFILE_H
#define PBP_STATEFILE_H

#include "sampler/history.h"

/* Followed by the hours, and the samples of each history. */
typedef struct PbpSavedState
{
	int64		nhours;
	int64		nsamples[PBP_HISTORIES];
	PbpAdviceReport report;
	PbpPredictionBook predictions;
} PbpSavedState;

extern void pbp_save_state(void);
extern bool pbp_restore_state(uint32 resets);
extern void pbp_remove_state_file(void);

#endif							/* PBP_STATEFILE_H */

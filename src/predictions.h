/*-------------------------------------------------------------------------
 *
 * predictions.h
 *	  What was predicted at restarts with another size, in shared memory.  Any
 *	  process may read it; the worker alone changes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PREDICTIONS_H
#define PBP_PREDICTIONS_H

#include "history.h"
#include "prediction.h"

/* The last ones are kept. */
#define PBP_MAX_PREDICTIONS	100

extern void pbp_predictions_request_shared(void);
extern void pbp_predictions_init_shared(void);

/* for readers */
extern PbpPrediction *pbp_predictions(int *npredictions);

/*
 * For the worker.  What was saved is restored first; the bytes mean something
 * only to a library of the same layout.
 */
extern Size pbp_predictions_bytes(void);
extern void pbp_copy_predictions(void *to);
extern void pbp_restore_predictions(const void *from, Size bytes);
extern void pbp_predict_after_restart(const PbpAdviceReport *last, int64 buffers, TimestampTz made_at);
extern void pbp_check_predictions(const PbpAdviceReport *report);

#endif							/* PBP_PREDICTIONS_H */

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

#include "sampler/history.h"
#include "statistics/prediction.h"

/* for readers */
extern PbpPrediction *pbp_predictions(int *npredictions);

/* for the worker */
extern void pbp_copy_predictions(PbpPredictionBook *book);
extern const char *pbp_restore_predictions(const PbpPredictionBook *saved);
extern void pbp_predict_after_restart(const PbpAdviceReport *last);
extern void pbp_check_predictions(const PbpAdviceReport *report, const PbpReadMix *mix);

#endif							/* PBP_PREDICTIONS_H */

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

#include "statistics/prediction.h"
#include "sampler/history.h"

/* for readers */
extern PbpPrediction *pbp_predictions(int *npredictions);

/* for the worker */
extern Size pbp_predictions_bytes(void);
extern uint32 pbp_predictions_layout(void);
extern void pbp_put_predictions(PbpNewFile *file);
extern const char *pbp_get_predictions(PbpFieldReader *reader, void **result);
extern void pbp_restore_predictions(const void *book);
extern void pbp_predict_after_restart(const PbpAdviceReport *last);
extern void pbp_check_predictions(const PbpAdviceReport *report, const PbpReadMix *mix);

#endif							/* PBP_PREDICTIONS_H */

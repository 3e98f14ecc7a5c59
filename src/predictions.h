/*-------------------------------------------------------------------------
 *
 * predictions.h
 *	  What was predicted at restarts with another size.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PREDICTIONS_H
#define PBP_PREDICTIONS_H

#include "history.h"

extern Size pbp_predictions_bytes(void);
extern void pbp_copy_predictions(void *to);
extern void pbp_restore_predictions(const void *from, Size bytes);
extern void pbp_predict_after_restart(const PbpAdviceReport *last, int64 buffers, TimestampTz made_at);

#endif							/* PBP_PREDICTIONS_H */

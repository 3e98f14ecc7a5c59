/*-------------------------------------------------------------------------
 *
 * predictions.c
 *	  What was predicted at restarts with another size: nothing is kept yet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "predictions.h"

Size
pbp_predictions_bytes(void)
{
	return 0;
}

void
pbp_copy_predictions(void *to pg_attribute_unused())
{
}

void
pbp_restore_predictions(const void *from pg_attribute_unused(), Size bytes pg_attribute_unused())
{
}

void
pbp_predict_after_restart(const PbpAdviceReport *last pg_attribute_unused(),
						  int64 buffers pg_attribute_unused(),
						  TimestampTz made_at pg_attribute_unused())
{
}

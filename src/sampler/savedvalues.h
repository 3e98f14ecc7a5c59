/*-------------------------------------------------------------------------
 *
 * savedvalues.h
 *	  Which values of structs that were saved are possible.
 *
 * Each function checks all that is used of a struct, and returns what of it is
 * impossible; NULL: nothing is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SAVEDVALUES_H
#define PBP_SAVEDVALUES_H

#include "sampler/history.h"

extern const char *pbp_check_report(const PbpAdviceReport *report);
extern const char *pbp_check_prediction(const PbpPrediction *prediction);
extern const char *pbp_check_watch(const PbpPredictionWatch *watch);
extern const char *pbp_check_hour(const PbpHour *hour);
extern const char *pbp_check_sample(const PbpSample *sample);

#endif							/* PBP_SAVEDVALUES_H */

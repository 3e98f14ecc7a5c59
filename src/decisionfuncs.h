/*-------------------------------------------------------------------------
 *
 * decisionfuncs.h
 *	  Helpers of decisionfuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DECISIONFUNCS_H
#define PBP_DECISIONFUNCS_H

#include "decision.h"
#include "sampler.h"

/* a share of the reads; a larger error makes estimates uncertain */
#define LARGE_SELF_ERROR	0.2

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern const char *words_of_reason(PbpAdviceReason reason, double learned_share);
extern const char *missing_advice(const PbpAdviceReport *report);
extern const char *unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row);
extern const char *caveat_of_advice(const PbpAdviceReport *report);
extern const char *unknown_storage_model(const PbpAdviceReport *report);
extern bool may_fit(const PbpAdviceReport *report, int size);
extern PbpDecision decide_size(const PbpAdviceReport *report);

#pragma GCC visibility pop

#endif							/* PBP_DECISIONFUNCS_H */

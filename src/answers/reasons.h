/*-------------------------------------------------------------------------
 *
 * reasons.h
 *	  Words for what is unknown or uncertain in a report of the advice.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_REASONS_H
#define PBP_REASONS_H

#include "sampler/sampler.h"

extern const char *words_of_reason(PbpAdviceReason reason, double learned_share);
extern double seconds_left(const PbpAdviceReport *report);
extern const char *rest_of_learning(const PbpAdviceReport *report, double seconds_left);
extern const char *missing_advice(const PbpAdviceReport *report);
extern const char *unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row);
extern const char *caveat_of_advice(const PbpAdviceReport *report);
extern const char *unknown_storage_model(const PbpAdviceReport *report);
extern const char *unknown_waits_of(const PbpAdviceReport *report, const PbpAdviceStorageRow *row);
extern const char *unknown_waits(const PbpAdviceReport *report, int size);
extern const char *missing_relations(const PbpAdviceReport *report);
extern const char *unknown_window(const PbpAdviceReport *report, const PbpWindow *window);
extern const char *origin_of_report(const PbpAdviceReport *report);
extern const char *join_notes(const char *one, const char *other);

#endif							/* PBP_REASONS_H */

/*-------------------------------------------------------------------------
 *
 * probing.h
 *	  Probes of the page cache: how much of the pages that another pool size
 *	  would hold does it serve, and how long do reads take?
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROBING_H
#define PBP_PROBING_H

#include "history.h"

typedef struct PbpProbing PbpProbing;

extern PbpProbing *pbp_create_probing(void);
extern void pbp_reset_probing(PbpProbing *probing);
extern void pbp_remember_page(PbpProbing *probing, const PbpAdvice *advice, uint64 look,
							  uint64 key, const BufferTag *tag);
extern bool pbp_probe_is_due(const PbpProbing *probing);
extern void pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice);
extern double pbp_served_share(const PbpProbing *probing, const PbpAdvice *advice, double simulated);
extern void pbp_report_read_times(const PbpProbing *probing, PbpAdviceReport *report);
extern void pbp_report_os_cache_shares(const PbpProbing *probing, PbpAdviceReport *report);

#endif							/* PBP_PROBING_H */

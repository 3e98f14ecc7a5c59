/*-------------------------------------------------------------------------
 *
 * probing.h
 *	  Probes of the page cache: which share of the pool's misses it serves, and
 *	  how long reads take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROBING_H
#define PBP_PROBING_H

#include "statistics/served.h"
#include "sampler/history.h"

typedef struct PbpProbing PbpProbing;

extern PbpProbing *pbp_create_probing(void);
extern void pbp_reset_probing(PbpProbing *probing);
extern void pbp_remember_load(PbpProbing *probing, uint64 key, const BufferTag *tag, int64 now_ns);
extern void pbp_forget_probes(PbpProbing *probing);
extern void pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice, bool after_look);
extern void pbp_forget_probed_loads(PbpProbing *probing);
extern bool pbp_probed_share(const PbpProbing *probing, const PbpAdviceTotals *totals, PbpFigure *result);
extern void pbp_probed_times(const PbpProbing *probing, PbpFigure *os, PbpFigure *storage);

#endif							/* PBP_PROBING_H */

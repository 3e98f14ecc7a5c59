/*-------------------------------------------------------------------------
 *
 * capacity.h
 *	  For the advice: how much the page cache can hold, and which sizes of the
 *	  pool fit into memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CAPACITY_H
#define PBP_CAPACITY_H

#include "history.h"

typedef struct PbpCapacity PbpCapacity;

extern PbpCapacity *pbp_create_capacity(void);
extern void pbp_reset_capacity(PbpCapacity *capacity);
extern void pbp_follow_capacity(PbpCapacity *capacity, PbpAdvice *advice);
extern void pbp_report_storage(const PbpCapacity *capacity, const PbpAdvice *advice,
							   PbpStorageReport *report);

#endif							/* PBP_CAPACITY_H */

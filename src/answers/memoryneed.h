/*-------------------------------------------------------------------------
 *
 * memoryneed.h
 *	  How much memory the machine or the container needs: for the SQL function
 *	  and the checkup.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_MEMORYNEED_H
#define PBP_MEMORYNEED_H

#include "answers/answer.h"
#include "memory/servermemory.h"

typedef struct MemoryNeed
{
	const PbpAdviceReport *report;
	bool		fits[PBP_ADVICE_FACTORS];
	PbpTotalsInput input;
	PbpHoursSum hours;			/* if these count, as in the input */
	PbpTotal	totals[PBP_TOTALS];
	PbpMemoryFacts facts;
	PbpMemoryPlan plan;
	const char *unknown;		/* why nothing is known; NULL if something is */
} MemoryNeed;

extern void find_memory_need(const PbpAdviceReport *report, MemoryNeed *need);
extern int64 machine_bytes(const MemoryNeed *need, double factor);
extern int64 pool_bytes_of(const MemoryNeed *need, const PbpTotal *total);
extern int64 cache_bytes_of(const MemoryNeed *need, const PbpTotal *total);
extern const char *pretty_machine(const MemoryNeed *need, const PbpTotal *total);
extern const char *load_of_need(const MemoryNeed *need);
extern const char *unknown_total(const MemoryNeed *need, int i);
extern void answer_memory(const Checkup *checkup, Answer *answer);

#endif							/* PBP_MEMORYNEED_H */

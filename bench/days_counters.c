/*
 * days_counters.c
 *	  Counters of the advice that wrap around, close to where they do so.
 */
#include "simulator/cachesets.h"

#include "days_counters.h"

/* So many more until 32 bits are full. */
#define LEFT		UINT32_C(10000)

/* Before the first look. */
void
begin_counters_late(PbpAdvice *advice)
{
	advice->look.number = UINT32_MAX - LEFT;
	advice->nlooks = UINT32_MAX - LEFT;
	for (int i = 0; i < FACTORS; i++)
	{
		advice->pools[i].phase = UINT32_MAX - LEFT;
		advice->cache_sets[0]->caches[i].age = UINT32_MAX - LEFT;
	}
}

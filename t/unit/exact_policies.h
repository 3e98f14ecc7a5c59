/*
 * exact_policies.h
 *	  Replacement policies that run a recorded trace in pools of one size, in full.
 */
#ifndef EXACT_POLICIES_H
#define EXACT_POLICIES_H

#include <stdint.h>

#include "simulator/policies.h"

/* Accesses to pages below npages, of which the misses of those from first on count. */
typedef struct Recording
{
	int		   *pages;
	int64_t		naccesses;
	int64_t		first;
	int			npages;
} Recording;

extern const char *const policy_names[PBP_POLICY_COUNT];
extern const double policy_sizes[PBP_POLICY_SIZES];	/* as multiples of today's */

extern double exact_miss_ratio(const Recording *trace, int policy, int nbuffers);

#endif							/* EXACT_POLICIES_H */

/*
 * exact_policies.h
 *	  Replacement policies that run a recorded trace in pools of one size, in full.
 */
#ifndef EXACT_POLICIES_H
#define EXACT_POLICIES_H

#include "advice_model.h"
#include "simulator/policies.h"

/*
 * Accesses to pages below npages, of which the misses of those from first on count: alike, or as much as their weights
 * say.
 */
typedef struct Recording
{
	int		   *pages;
	int64_t		naccesses;
	int64_t		first;
	int			npages;
	const double *weights;		/* of all accesses, or NULL */
} Recording;

extern const char *const policy_names[PBP_POLICY_COUNT];
extern const double policy_sizes[PBP_POLICY_SIZES];	/* as multiples of today's */

extern Recording record_run(const Run *run);
extern double exact_miss_ratio(const Recording *trace, int policy, int nbuffers);

/* Pages that the server's policy evicts, of those below a limit: used once, and read again within a pool of evictions. */
typedef struct ExactEvicted
{
	int			limit;
	int64_t		pages;
	int64_t		used_once;
	int64_t		read_again;
} ExactEvicted;

extern ExactEvicted exact_evicted(const Recording *trace, int nbuffers, int limit);

#endif							/* EXACT_POLICIES_H */

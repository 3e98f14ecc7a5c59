/*-------------------------------------------------------------------------
 *
 * policies.h
 *	  Replacement policies in simulated pools of three sizes, which all live
 *	  through the same uses of pages.
 *
 * Needs nothing of PostgreSQL, nor of the rest of the simulator, and compiles
 * alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POLICIES_H
#define PBP_POLICIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The clock sweep with the server's maximum of the usage count is the first one. */
typedef enum PbpPolicy
{
	PBP_CLOCK_TODAY,
	PBP_CLOCK_1,				/* a maximum of 1 is known as second chance */
	PBP_CLOCK_2,
	PBP_CLOCK_15,
	PBP_CLOCK_2_HANDS,			/* these three with the server's maximum */
	PBP_CLOCK_4_HANDS,
	PBP_CLOCK_BATCHES,
	PBP_LRU,
	PBP_S3_FIFO,
	PBP_OPTIMUM,				/* in hindsight */
	PBP_POLICY_COUNT
} PbpPolicy;

/* Half of today's size, today's, and twice of it. */
enum
{
	PBP_POLICY_HALF,
	PBP_POLICY_BASELINE,
	PBP_POLICY_DOUBLE,
	PBP_POLICY_SIZES
};

/* The pools, in the caller's block of memory.  They point into themselves, so they cannot move. */
typedef struct PbpPolicies PbpPolicies;

/* Memory for so many pages in a pool of today's size. */
extern size_t pbp_policies_bytes(uint32_t npages);

/* Buffers that a session takes from the hand at once, in the policy that does so. */
#define PBP_BATCH_BUFFERS	64

/* Empty pools of these sizes, for such a share of all pages, in memory aligned for any type. */
extern PbpPolicies *pbp_policies_init(void *memory, uint32_t npages, int usage_max,
									  double sampling_rate);

/* False if a batch is one page of the sample: then it is no other policy than the server's. */
extern bool pbp_policies_have_batches(const PbpPolicies *policies);

/* Today's size becomes another one, at most that of pbp_policies_init(). */
extern void pbp_policies_resize(PbpPolicies *policies, double npages);

/* Pages that a pool of this size has. */
extern double pbp_policies_size(const PbpPolicies *policies, int size);

/* How much of a pool of this size today's policy has filled. */
extern double pbp_policies_filled_share(const PbpPolicies *policies, int size);

static inline uint32_t
pbp_policy_bit(int policy, int size)
{
	return UINT32_C(1) << (policy * PBP_POLICY_SIZES + size);
}

/*
 * A page is used so many times in a row.  Returns the pools that miss it, as a set of
 * pbp_policy_bit().  Where no record is left for a page, no policy sees this use, and none misses
 * it.
 */
extern uint32_t pbp_policies_use(PbpPolicies *policies, uint32_t page, unsigned amount);

#endif							/* PBP_POLICIES_H */

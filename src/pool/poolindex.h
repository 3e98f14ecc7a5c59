/*-------------------------------------------------------------------------
 *
 * poolindex.h
 *	  Which blocks of which files are in shared buffers.
 *
 * Offers an index of the pool, made by one scan of the descriptors, and the
 * usage counts of the blocks of each file in it; and the lookup of a single
 * block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_POOLINDEX_H
#define PBP_POOLINDEX_H

#include "base/compat.h"

typedef struct PbpPoolIndex PbpPoolIndex;

extern PbpPoolIndex *pbp_pool_index(const PbpLocator *only);
extern int64 pbp_pool_levels(const PbpPoolIndex *index, const PbpLocator *locator, ForkNumber fork,
							 int segment, uint8 *levels, int64 nblocks);
extern void pbp_pool_index_free(PbpPoolIndex *index);
extern BufferDesc *pbp_pool_find(const BufferTag *tag, PbpBufState *state);
extern bool pbp_pool_lookup(const PbpLocator *locator, ForkNumber fork, BlockNumber block);

#endif							/* PBP_POOLINDEX_H */

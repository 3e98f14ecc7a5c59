/*-------------------------------------------------------------------------
 *
 * pagesample.c
 *	  Reads buffers for the pages of the advice's sample.
 *
 * Which buffers to read is decided in look.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pool/descriptors.h"
#include "sampler/pagesample.h"

#define FETCHED_AHEAD		48

/*
 * A hash of a page's tag, of which each range has a random share of the pages.
 * It takes a third of the scan's time, so it mixes no better than necessary.
 */
static inline uint64
page_key(const BufferTag *tag, uint64 salt)
{
	PbpLocator	locator = BufTagGetRelFileLocator(tag);
	uint64		file = (uint64) locator.dbOid << 32 |
		locator.relNumber;
	uint64		key = (uint64) tag->blockNum << 32 |
		(locator.spcOid * (MAX_FORKNUM + 1) + BufTagGetForkNum(tag));

	key += file * UINT64CONST(0x9e3779b97f4a7c15) + salt;

	/* the final steps of MurmurHash3, which map no two keys to one */
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

/*
 * A session pins its victim while it writes the old page.  A session that uses
 * a page raises the usage count, unless it reads through a ring.
 */
static inline bool
is_victim(PbpBufState state)
{
	return BUF_STATE_GET_REFCOUNT(state) != 0 && BUF_STATE_GET_USAGECOUNT(state) == 0;
}

/*
 * Reads a page without its header's lock, which sessions want, too.  A tag
 * changes only under that lock.  Another page that entered, under it, during
 * the few nanoseconds in between, would not be noticed; the tag might then be
 * half of each page's, and the advice would know one page that does not exist.
 */
static pg_attribute_always_inline bool
read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag)
{
	*state = pbp_read_state(desc);
	if (!pbp_holds_page(*state))
		return false;
	if (unlikely(*state & BM_LOCKED))
		return pbp_read_page(desc, state, tag);
	pg_read_barrier();
	*tag = desc->tag;
	pg_read_barrier();
	return pbp_holds_page(pbp_read_state(desc));
}

static pg_attribute_always_inline void
visit_buffer(const PbpAdvice *advice, int buffer, PbpPageVisitor visit, void *arg)
{
	BufferDesc *desc = GetBufferDescriptor(buffer);
	PbpBufState state = pbp_read_state(desc);
	BufferTag	tag;

	if (pbp_holds_page(state) && pbp_advice_sampled(advice, page_key(&desc->tag, advice->salt)) &&
		read_page(desc, &state, &tag))
	{
		uint64		key = page_key(&tag, advice->salt);

		if (pbp_advice_sampled(advice, key) && !is_victim(state))
		{
			visit(arg, key, buffer, Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT),
				  (state & BM_DIRTY) != 0, &tag);
			return;
		}
	}
	if (unlikely(BUF_STATE_GET_REFCOUNT(state) != 0))
		visit(arg, 0, buffer, 0, false, NULL);
}

/*
 * Reads the buffers from first to before end: about 5 ns each.  Those that sessions
 * have just used are in the caches of other processors, and are fetched ahead.
 */
void
pbp_sample_range(const PbpAdvice *advice, int first, int end, PbpPageVisitor visit, void *arg)
{
	for (int i = first; i < end; i++)
	{
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
		__builtin_prefetch(GetBufferDescriptor(Min(i + FETCHED_AHEAD, end - 1)));
		visit_buffer(advice, i, visit, arg);
	}
}

/*
 * Reads some buffers, which mostly hold pages of the sample.  Each is on another
 * page of memory, and prefetching them all first takes a third of the time.
 */
void
pbp_sample_buffers(const PbpAdvice *advice, const int *buffers, int nbuffers,
				   PbpPageVisitor visit, void *arg)
{
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < nbuffers; i++)
		__builtin_prefetch(GetBufferDescriptor(buffers[i]));
	for (int i = 0; i < nbuffers; i++)
		visit_buffer(advice, buffers[i], visit, arg);
}

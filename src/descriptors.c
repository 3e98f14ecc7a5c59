/*-------------------------------------------------------------------------
 *
 * descriptors.c
 *	  Full scans of the buffer descriptors: usage counts, buffers of each
 *	  relation, and what such scans cost.
 *
 * No scan here takes a lock on the buffer pool as a whole or changes what a
 * descriptor says.  Each descriptor is read at its own instant: every buffer
 * is counted once, and what others change during the scan shows before or
 * after the change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"

#include "descriptors.h"
#include "latency.h"
#include "sweep.h"

/*
 * What a histogram needs of a state, but for the pins, stands in the eight
 * bits from the usage count upwards.  So the scan is one increment a buffer,
 * and all decoding is done once at the end.
 */
#define SLOT_VALUES		256

StaticAssertDecl(((BUF_USAGECOUNT_MASK | BM_DIRTY | BM_VALID | BM_TAG_VALID) >>
				  BUF_USAGECOUNT_SHIFT) < SLOT_VALUES,
				 "a slot must hold the usage count and the flags");

/* Counters that are incremented in turn, so that none waits for its last. */
#define LANES			4

typedef struct SlotCounts
{
	uint32		buffers[LANES][SLOT_VALUES];
	uint32		pinned[SLOT_VALUES];
} SlotCounts;

static inline void
count_slot(SlotCounts *counts, int lane, PbpBufState state)
{
	uint32		slot = (uint32) (state >> BUF_USAGECOUNT_SHIFT) % SLOT_VALUES;

	counts->buffers[lane][slot]++;
	if (unlikely(BUF_STATE_GET_REFCOUNT(state) != 0))
		counts->pinned[slot]++;
}

static void
decode_slots(const SlotCounts *counts, PbpHistogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	for (int slot = 0; slot < SLOT_VALUES; slot++)
	{
		PbpBufState state = (PbpBufState) slot << BUF_USAGECOUNT_SHIFT;
		int			usage = Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT);
		PbpBufferCount *count = pbp_holds_page(state) ?
			&histogram->usage[usage] : &histogram->unused;
		int64		buffers = 0;

		for (int lane = 0; lane < LANES; lane++)
			buffers += counts->buffers[lane][slot];

		count->buffers += buffers;
		if (state & BM_DIRTY)
			count->dirty += buffers;
		count->pinned += counts->pinned[slot];
	}
}

/*
 * A plain run over the descriptors is what the processor fetches ahead best;
 * prefetching by hand was measured to cost a third more.
 */
static void
count_slots(SlotCounts *counts, int first, int end)
{
	int			i = first;

	for (; i <= end - LANES; i += LANES)
	{
		StaticAssertStmt(LANES == 4, "one line a lane");
		count_slot(counts, 0, pbp_read_state(GetBufferDescriptor(i)));
		count_slot(counts, 1, pbp_read_state(GetBufferDescriptor(i + 1)));
		count_slot(counts, 2, pbp_read_state(GetBufferDescriptor(i + 2)));
		count_slot(counts, 3, pbp_read_state(GetBufferDescriptor(i + 3)));
	}
	for (; i < end; i++)
		count_slot(counts, 0, pbp_read_state(GetBufferDescriptor(i)));
}

/*
 * Usage counts of the whole pool.  No lock; one read a buffer.  The counts
 * always sum up to the size of the pool.
 */
void
pbp_histogram(PbpHistogram *histogram)
{
	SlotCounts	counts;
	int			i = 0;

	memset(&counts, 0, sizeof(counts));
	while (i < NBuffers)
	{
		int			end = i + Min(PBP_BUFFERS_PER_CHECK, NBuffers - i);

		CHECK_FOR_INTERRUPTS();
		count_slots(&counts, i, end);
		i = end;
	}
	decode_slots(&counts, histogram);
}

/*
 * Read a buffer's state and tag as of one instant, which takes its header's
 * lock: a tag has several words, and none of them alone says whose page the
 * buffer holds.  False if it holds none.
 */
bool
pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag)
{
	if (!pbp_holds_page(pbp_read_state(desc)))
		return false;

	*state = pbp_lock_header(desc);
	*tag = desc->tag;
	pbp_unlock_header(desc, *state);
	return pbp_holds_page(*state);
}

/*
 * A page's name, well mixed, so that any range of keys holds a random share of
 * the pages.  This is a third of what a scan costs, so not mixed better than
 * it must be.
 */
static inline uint64
page_key(const BufferTag *tag)
{
	PbpLocator	locator = pbp_tag_locator(tag);
	uint64		file = (uint64) pbp_locator_database(&locator) << 32 |
		pbp_locator_relfilenode(&locator);
	uint64		key = (uint64) tag->blockNum << 32 |
		(pbp_locator_tablespace(&locator) * (MAX_FORKNUM + 1) + pbp_tag_fork(tag));

	key += file * UINT64CONST(0x9e3779b97f4a7c15);

	/* the last steps of MurmurHash3, which lose nothing */
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

/*
 * Usage counts of the whole pool, and a visit to each page of the sample that
 * the advice wants.  An unlocked look at a tag decides whether the page is in
 * the sample; only then is its header locked, to read state and tag as of one
 * instant.  A tag that is replaced under that look is missed by this scan.
 */
void
pbp_sample_pool(PbpHistogram *histogram, const PbpAdvice *advice,
				PbpPageVisitor visit, void *arg)
{
	SlotCounts	counts;

	memset(&counts, 0, sizeof(counts));
	for (int i = 0; i < NBuffers; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);
		PbpBufState state = pbp_read_state(desc);
		BufferTag	tag;

		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();

		count_slot(&counts, i % LANES, state);
		if (advice == NULL || !pbp_holds_page(state) ||
			!pbp_advice_sampled(advice, page_key(&desc->tag)))
			continue;
		if (pbp_read_page(desc, &state, &tag))
		{
			uint64		key = page_key(&tag);

			if (pbp_advice_sampled(advice, key))
				visit(arg, key, i, Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT), &tag);
		}
	}
	decode_slots(&counts, histogram);
}

/*
 * Usage counts of one relation, all its forks.  An unlocked look at each tag
 * decides which headers are locked, one at a time, to be counted.
 */
void
pbp_relation_histogram(const PbpLocator *locator, PbpHistogram *histogram)
{
	SlotCounts	counts;

	memset(&counts, 0, sizeof(counts));
	for (int i = 0; i < NBuffers; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);

		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();

		if (pbp_tag_matches(&desc->tag, locator))
		{
			PbpBufState state;
			BufferTag	tag;

			if (pbp_read_page(desc, &state, &tag) && pbp_tag_matches(&tag, locator))
				count_slot(&counts, 0, state);
		}
	}
	decode_slots(&counts, histogram);
}

/* What identifies a PbpRelationCount; without padding, so it can be hashed. */
typedef struct RelationKey
{
	PbpLocator	locator;
	ForkNumber	fork;
} RelationKey;

static HTAB *
create_relation_table(void)
{
	HASHCTL		ctl;

	StaticAssertStmt(offsetof(PbpRelationCount, fork) == offsetof(RelationKey, fork),
					 "a count must begin with its key");

	ctl.keysize = sizeof(RelationKey);
	ctl.entrysize = sizeof(PbpRelationCount);
	ctl.hcxt = CurrentMemoryContext;
	return hash_create("pgbufprobe relations", 1024, &ctl,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Find or make the entry of a page's relation and fork. */
static PbpRelationCount *
relation_entry(HTAB *table, const BufferTag *tag)
{
	RelationKey key;
	PbpRelationCount *entry;
	bool		found;

	memset(&key, 0, sizeof(key));
	key.locator = pbp_tag_locator(tag);
	key.fork = pbp_tag_fork(tag);

	entry = hash_search(table, &key, HASH_ENTER, &found);
	if (!found)
	{
		entry->dirty = 0;
		entry->pinned = 0;
		entry->stay_sum = 0;
		entry->stay_min = PG_INT64_MAX;
		entry->stay_max = 0;
		memset(entry->usage, 0, sizeof(entry->usage));
	}
	return entry;
}

static PbpRelationCount *
collect_relations(HTAB *table, int *nrelations)
{
	HASH_SEQ_STATUS scan;
	PbpRelationCount *entry;
	PbpRelationCount *result;

	*nrelations = 0;
	result = MemoryContextAllocHuge(CurrentMemoryContext,
									Max(hash_get_num_entries(table), 1) * sizeof(*result));
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		result[(*nrelations)++] = *entry;
	}
	return result;
}

/*
 * How far the hand has to go until it takes this buffer, if nobody touches the
 * page meanwhile: to the buffer, and once round for each usage count.
 */
static inline int64
ticks_to_stay(int buffer, int usage, int hand)
{
	int			distance = buffer - hand;

	return (distance >= 0 ? distance : distance + NBuffers) + (int64) usage * NBuffers + 1;
}

/*
 * Buffers of every relation and fork, in no order.  One scan, which locks each
 * header that holds a page, one at a time, as pg_buffercache does; memory
 * grows with the number of relations, not with the pool.  The hand is taken
 * to stand where it stood at the beginning.
 */
PbpRelationCount *
pbp_count_relations(int *nrelations)
{
	HTAB	   *table = create_relation_table();
	PbpRelationCount *entry = NULL;
	PbpRelationCount *result;
	int			hand = pbp_read_clock().hand;

	for (int i = 0; i < NBuffers; i++)
	{
		PbpBufState state;
		BufferTag	tag;
		int			usage;
		int64		stay;

		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();

		if (!pbp_read_page(GetBufferDescriptor(i), &state, &tag))
			continue;

		/* neighbours mostly belong to the same relation */
		if (entry == NULL || entry->fork != pbp_tag_fork(&tag) ||
			!pbp_tag_matches(&tag, &entry->locator))
		{
			/* in a large table each look-up waits for memory */
			CHECK_FOR_INTERRUPTS();
			entry = relation_entry(table, &tag);
		}

		usage = Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT);
		entry->usage[usage]++;
		if (state & BM_DIRTY)
			entry->dirty++;
		if (BUF_STATE_GET_REFCOUNT(state) > 0)
			entry->pinned++;

		stay = ticks_to_stay(i, usage, hand);
		entry->stay_sum += stay;
		entry->stay_min = Min(entry->stay_min, stay);
		entry->stay_max = Max(entry->stay_max, stay);
	}

	result = collect_relations(table, nrelations);
	hash_destroy(table);
	return result;
}

/* ---- cost of scanning ---- */

/* Touches every descriptor and does nothing else: the floor of all scans. */
static int64
scan_read(int first, int end)
{
	PbpBufState seen = 0;
	volatile PbpBufState sink;

	for (int i = first; i < end; i++)
	{
		seen |= pbp_read_state(GetBufferDescriptor(i));
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	sink = seen;
	(void) sink;
	return -1;
}

/* As a checkpoint looks for what it must write. */
static int64
scan_lock(int first, int end)
{
	int64		dirty = 0;

	for (int i = first; i < end; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);
		PbpBufState state = pbp_lock_header(desc);

		if (state & BM_DIRTY)
			dirty++;
		pbp_unlock_header(desc, state);
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return dirty;
}

/*
 * As the drop of relations looks for their buffers: the server compares each
 * tag with each relation of a list.  The one sought here lies in this
 * database's own tablespace but cannot exist, which is what the drop of an
 * empty table finds.  The list's length is volatile, since a loop that the
 * compiler has unrolled for one relation would be quicker than the server's.
 */
static int64
scan_match(int first, int end)
{
	PbpLocator	sought[] = {pbp_locator(MyDatabaseTableSpace, MyDatabaseId, InvalidOid)};
	volatile int opaque_length = lengthof(sought);
	int			nsought = opaque_length;
	int64		matched = 0;

	for (int i = first; i < end; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);

		for (int j = 0; j < nsought; j++)
		{
			if (pbp_tag_matches(&desc->tag, &sought[j]))
			{
				matched++;
				break;
			}
		}
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return matched;
}

/*
 * Time scans, of all descriptors or of some.  The first in a backend also pays for mapping the
 * descriptors and for cold caches, which is the difference between the
 * longest and the shortest round.  PBP_SCAN_LOCK locks each header in turn.
 */
void
pbp_scan_cost(PbpScanMethod method, int first, int end, int rounds, PbpScanCost *cost)
{
	static int64 (*const scan[PBP_SCAN_METHODS]) (int first, int end) = {
		[PBP_SCAN_READ] = scan_read,
		[PBP_SCAN_LOCK] = scan_lock,
		[PBP_SCAN_MATCH] = scan_match,
	};

	memset(cost, 0, sizeof(*cost));
	cost->min_ns = PG_INT64_MAX;
	for (int round = 0; round < rounds; round++)
	{
		int64		start = pbp_now_ns();
		int64		elapsed_ns;

		cost->matched = scan[method] (first, end);
		elapsed_ns = pbp_now_ns() - start;

		cost->sum_ns += elapsed_ns;
		cost->min_ns = Min(cost->min_ns, elapsed_ns);
		cost->max_ns = Max(cost->max_ns, elapsed_ns);
	}
}

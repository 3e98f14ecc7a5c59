/*-------------------------------------------------------------------------
 *
 * descriptors.c
 *	  Scans of the buffer descriptors: usage counts, buffers of each relation,
 *	  and the cost of such scans.
 *
 * A scan reads all buffers or, if it counts, a random sample of them; if it is
 * timed, a part of them.
 *
 * No scan locks the whole buffer pool or changes a descriptor.  Each descriptor
 * is read at its own instant: every buffer is counted once, with its state
 * before or after a concurrent change.  The clock sweep belongs in sweep.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/hsearch.h"

#include "base/stats.h"
#include "pool/pool.h"

/* ---- random samples ---- */

static int
random_below(int limit)
{
	return (int) ((uint64) pg_prng_uint32(&pg_global_prng_state) * (uint64) limit >> 32);
}

/*
 * The items are divided into as many parts as items are read, and one item of each
 * part is read.  Neighbors are often alike, so such a sample is more exact than one of
 * items from anywhere.
 *
 * The first part begins anywhere, and if the items cannot be divided evenly, some
 * random parts have one item more.  If these came at regular intervals, items that
 * are alike at such intervals would be read too often or too rarely.
 */
void
pbp_draw_begin(PbpDraw *draw, int nread, int nitems)
{
	*draw = (PbpDraw) {
		.nread = nread,.nitems = nitems,.nlarger = nitems % nread,.shift = random_below(nitems)
	};
}

/* Draws an item of the next part. */
int
pbp_draw_next(PbpDraw *draw)
{
	bool		larger = random_below(draw->nread - draw->ndrawn) < draw->nlarger;
	int			size = draw->nitems / draw->nread + larger;
	int64		item = (int64) draw->shift + draw->start + random_below(size);

	draw->ndrawn++;
	draw->nlarger -= larger;
	draw->start += size;
	return (int) (item < draw->nitems ? item : item - draw->nitems);
}

/* ---- samples of the pool ---- */

static void
draw_buffer(PbpWalk *walk)
{
	int			slot = walk->draw.ndrawn % PBP_FETCHED_AHEAD;

	walk->drawn[slot] = pbp_draw_next(&walk->draw);
	__builtin_prefetch(GetBufferDescriptor(walk->drawn[slot]));
}

/* Begins before the first range; nread is at most NBuffers. */
void
pbp_walk_begin(PbpWalk *walk, int nread)
{
	memset(walk, 0, sizeof(*walk));
	pbp_draw_begin(&walk->draw, nread, NBuffers);
	while (nread < NBuffers && walk->draw.ndrawn < Min(nread, PBP_FETCHED_AHEAD))
		draw_buffer(walk);
}

/*
 * Goes to the next range of buffers to read, which is one buffer unless all are
 * read.  Returns false if there is none.  May process interrupts.
 */
static bool
walk_next(PbpWalk *walk)
{
	CHECK_FOR_INTERRUPTS();
	if (walk->draw.nread == NBuffers)
	{
		walk->first = walk->end;
		walk->end += Min(PBP_BUFFERS_PER_CHECK, NBuffers - walk->end);
		return walk->first < walk->end;
	}
	if (walk->nwalked == walk->draw.nread)
		return false;
	walk->first = walk->drawn[walk->nwalked++ % PBP_FETCHED_AHEAD];
	walk->end = walk->first + 1;
	if (walk->draw.ndrawn < walk->draw.nread)
		draw_buffer(walk);
	return true;
}

/* ---- estimates ---- */

/* From a count in the sample to one of all items, rounded down. */
static int64
scaled(const PbpScale *scale, int64 count)
{
	return count * scale->nitems / scale->nread;
}

/*
 * Scales each of several counts, rounded up or down so that the results add up.
 * Never less than scaled().
 */
int64
pbp_scale_next(PbpScale *scale, int64 count)
{
	int64		before = scale->scaled;

	scale->counted += count;
	scale->scaled = scaled(scale, scale->counted);
	return scale->scaled - before;
}

/*
 * The exact count of items differs from the estimate by no more than this, with
 * a probability of about 95 % or more.
 */
int64
pbp_estimate_error(double nread, int64 nitems, int64 estimate)
{
	double		all = (double) nitems;

	if (nread >= all)
		return 0;
	/* as a sample of an infinite number of items, since those that were read cannot be wrong */
	return (int64) ceil(pbp_share_error((double) estimate / all,
										nread * (all - 1) / (all - nread)) * all);
}

/* ---- counts of states ---- */

/*
 * The usage count and the flags that a histogram needs are in the eight lowest
 * bits from the usage count on.  So the scan increments one counter per buffer,
 * and the counters are decoded once, at the end.
 */
#define SLOT_VALUES		256

StaticAssertDecl(((BUF_USAGECOUNT_MASK | BM_DIRTY | BM_VALID | BM_TAG_VALID) >>
				  BUF_USAGECOUNT_SHIFT) < SLOT_VALUES,
				 "a slot must hold the usage count and the flags");

/* Counters take turns, so that no increment waits for the one before. */
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
	for (int slot = 0; slot < SLOT_VALUES; slot++)
	{
		PbpBufState state = (PbpBufState) slot << BUF_USAGECOUNT_SHIFT;
		int			usage = Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT);
		PbpBufferCount *count = pbp_holds_page(state) ?
			&histogram->usage[usage] : &histogram->unused;
		int			buffers = 0;

		for (int lane = 0; lane < LANES; lane++)
			buffers += counts->buffers[lane][slot];

		count->buffers += buffers;
		if (state & BM_DIRTY)
			count->dirty += buffers;
		count->pinned += counts->pinned[slot];
	}
}

/*
 * The processor prefetches a plain scan best: with explicit prefetching it took
 * a third longer.
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

/* ---- pages ---- */

/*
 * Reads a buffer's state and tag at one instant.  Returns false if the buffer
 * holds no page.
 *
 * Locks the header, because a tag has several words that change together; a
 * buffer without a page is not locked.
 */
bool
pbp_read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag)
{
	if (!pbp_holds_page(pbp_read_state(desc)))
		return false;

	*state = LockBufHdr(desc);
	*tag = desc->tag;
	pbp_unlock_header(desc, *state);
	return pbp_holds_page(*state);
}

/*
 * Goes to the next page of the walk, of one relation or, if that is NULL, of any.
 * Returns false if there is none.  May process interrupts.
 *
 * For one relation the tag is first read without a lock, so that only headers of
 * its pages are locked, one at a time.  About 3 ns per buffer, and 20 ns more for
 * each page.  A page that is replaced during the walk may be missed, or found twice.
 */
bool
pbp_walk_page(PbpWalk *walk, const PbpLocator *only, PbpPage *page)
{
	do
	{
		while (walk->first < walk->end)
		{
			BufferDesc *desc = GetBufferDescriptor(walk->first);

			page->buffer = walk->first++;
			if ((only == NULL || BufTagMatchesRelFileLocator(&desc->tag, only)) &&
				pbp_read_page(desc, &page->state, &page->tag) &&
				(only == NULL || BufTagMatchesRelFileLocator(&page->tag, only)))
				return true;
		}
	} while (walk_next(walk));
	return false;
}

/*
 * The buffer that has the block, or NULL, and its state, or 0.  It may hold
 * another one by now, and the block may still be on its way.  Locks one
 * partition of the server's table of buffers, shared, as each read of a block
 * does: 100 to 500 ns.
 */
BufferDesc *
pbp_pool_find(const BufferTag *tag, PbpBufState *state)
{
	BufferTag	sought = *tag;
	uint32		hash = BufTableHashCode(&sought);
	LWLock	   *partition_lock = BufMappingPartitionLock(hash);
	BufferDesc *desc = NULL;
	int			buffer;

	*state = 0;
	LWLockAcquire(partition_lock, LW_SHARED);
	buffer = BufTableLookup(&sought, hash);
	if (buffer >= 0)
	{
		desc = GetBufferDescriptor(buffer);
		*state = pbp_read_state(desc);
	}
	LWLockRelease(partition_lock);
	return desc;
}

/* True if the block is in shared buffers. */
bool
pbp_pool_lookup(const PbpLocator *locator, ForkNumber fork, BlockNumber block)
{
	BufferTag	tag;
	PbpBufState state;

	InitBufferTag(&tag, locator, fork, block);
	(void) pbp_pool_find(&tag, &state);
	return pbp_holds_page(state);
}

/* ---- counts ---- */

static void
scale_count(PbpScale *scale, PbpBufferCount *count)
{
	count->buffers = (int) pbp_scale_next(scale, count->buffers);
	count->dirty = (int) scaled(scale, count->dirty);
	count->pinned = (int) scaled(scale, count->pinned);
}

/*
 * Counts the usage counts of one relation, of all its forks, or of the whole pool,
 * or estimates them from a sample of nread buffers of the pool.
 *
 * For the whole pool, it takes no lock, and about 3 ns per buffer, or 15 to 60 ns for
 * each of a sample; these counts always add up to the size of the pool.
 */
PbpHistogram
pbp_histogram(const PbpLocator *only, int nread)
{
	SlotCounts	counts = {0};
	PbpScale	scale = {.nread = Min(nread, NBuffers),.nitems = NBuffers};
	PbpHistogram histogram = {.nread = scale.nread};
	PbpWalk		walk;
	PbpPage		page;

	pbp_walk_begin(&walk, scale.nread);
	if (only == NULL)
		while (walk_next(&walk))
			count_slots(&counts, walk.first, walk.end);
	else
		while (pbp_walk_page(&walk, only, &page))
			count_slot(&counts, 0, page.state);

	decode_slots(&counts, &histogram);
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		scale_count(&scale, &histogram.usage[i]);
	scale_count(&scale, &histogram.unused);
	return histogram;
}

/* The sum of all its counts. */
int64
pbp_histogram_buffers(const PbpHistogram *histogram)
{
	int64		buffers = histogram->unused.buffers;

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		buffers += histogram->usage[i].buffers;
	return buffers;
}

/* Finds or adds the entry of a page's relation and fork. */
static PbpRelationCount *
relation_entry(HTAB *table, const BufferTag *tag)
{
	PbpRelationCount key = {.locator = BufTagGetRelFileLocator(tag),.fork = BufTagGetForkNum(tag)};
	PbpRelationCount *entry;
	bool		found;

	entry = hash_search(table, &key, HASH_ENTER, &found);
	if (!found)
		*entry = key;
	return entry;
}

/*
 * How far the hand moves until it evicts this page, if no session uses the page
 * again: to the buffer, and one pass for each usage count.
 */
static inline int64
ticks_to_stay(int buffer, int usage, int hand)
{
	int			distance = buffer - hand;

	return (distance >= 0 ? distance : distance + NBuffers) + (int64) usage * NBuffers + 1;
}

/* From what a scan counted to the results. */
static void
finish_relation(PbpRelationCount *count, PbpScale *scale)
{
	count->stay /= (double) count->buffers;
	count->buffers = 0;
	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
	{
		count->usage[i] = pbp_scale_next(scale, count->usage[i]);
		count->buffers += count->usage[i];
	}
	count->dirty = scaled(scale, count->dirty);
	count->buffers_error = pbp_estimate_error(scale->nread, scale->nitems, count->buffers);
}

/*
 * Counts the buffers of every relation and fork, in no particular order, or
 * estimates them from a sample of nread buffers.
 *
 * One scan, which locks the header of each page, one at a time, as
 * pg_buffercache does: about 20 ns per page.  The hand's position is that of
 * the beginning.  Memory grows with the number of relations, not of buffers.
 */
PbpRelationCount *
pbp_count_relations(int nread, int *nrelations)
{
	HASHCTL		ctl = {
		.keysize = offsetof(PbpRelationCount, dirty),.entrysize = sizeof(PbpRelationCount),
		.hcxt = CurrentMemoryContext
	};
	HTAB	   *table = hash_create("pgbufprobe relations", 1024, &ctl,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	PbpScale	scale = {.nread = Min(nread, NBuffers),.nitems = NBuffers};
	int			hand = pbp_read_clock().hand;
	PbpRelationCount *entry = NULL;
	PbpRelationCount *result;
	HASH_SEQ_STATUS entries;
	PbpWalk		walk;
	PbpPage		page;

	pbp_walk_begin(&walk, scale.nread);
	while (pbp_walk_page(&walk, NULL, &page))
	{
		int			usage = Min(BUF_STATE_GET_USAGECOUNT(page.state), BM_MAX_USAGE_COUNT);

		/* neighbors mostly belong to the same relation */
		if (entry == NULL || entry->fork != BufTagGetForkNum(&page.tag) ||
			!BufTagMatchesRelFileLocator(&page.tag, &entry->locator))
		{
			/* in a large table each lookup waits for memory */
			CHECK_FOR_INTERRUPTS();
			entry = relation_entry(table, &page.tag);
		}
		entry->usage[usage]++;
		entry->buffers++;
		entry->dirty += (page.state & BM_DIRTY) != 0;
		entry->stay += (double) ticks_to_stay(page.buffer, usage, hand);
	}

	*nrelations = 0;
	result = MemoryContextAllocHuge(CurrentMemoryContext,
									Max(hash_get_num_entries(table), 1) * sizeof(*result));
	hash_seq_init(&entries, table);
	while ((entry = hash_seq_search(&entries)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		result[*nrelations] = *entry;
		finish_relation(&result[(*nrelations)++], &scale);
	}
	hash_destroy(table);
	return result;
}

/* ---- cost of scanning ---- */

/* Scanning this number of buffers still takes much longer than reading the clock. */
#define MIN_SCANNED		2048

/* Reads every state and does nothing else: no scan is faster. */
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

/* As a checkpoint searches for dirty buffers. */
static int64
scan_lock(int first, int end)
{
	int64		dirty = 0;

	for (int i = first; i < end; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);
		PbpBufState state = LockBufHdr(desc);

		dirty += (state & BM_DIRTY) != 0;
		pbp_unlock_header(desc, state);
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return dirty;
}

/*
 * As a DROP searches for the buffers of relations: the server compares each tag
 * with each relation of a list.  The relation sought here cannot exist, so the
 * scan finds as many buffers as the DROP of an empty table.  The list's length
 * is volatile, because a loop that the compiler has unrolled for one relation
 * would be faster than the server's.
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
			if (BufTagMatchesRelFileLocator(&desc->tag, &sought[j]))
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
 * Times scans of nread buffers, but at least MIN_SCANNED.
 *
 * A part of the pool begins at a random place, and that of each further round
 * where the last one ended, so that none is in the processor's caches because
 * of the last round.  It is mapped before.  Of a scan of the whole pool, the
 * first one of a backend also pays for mapping the descriptors and for cold
 * caches, which makes the longest round longer than the shortest.  PBP_SCAN_LOCK
 * locks one header after the other; the others lock nothing.
 */
PbpScanCost
pbp_scan_cost(PbpScanMethod method, int nread, int rounds)
{
	static int64 (*const scan[PBP_SCAN_METHODS]) (int first, int end) = {
		[PBP_SCAN_READ] = scan_read,
		[PBP_SCAN_LOCK] = scan_lock,
		[PBP_SCAN_MATCH] = scan_match,
	};
	PbpScanCost cost = {.nread = Min(Max(nread, MIN_SCANNED), NBuffers),.min_ms = INFINITY};
	int			first = (int) pg_prng_uint64_range(&pg_global_prng_state, 0, NBuffers - cost.nread);

	for (int round = 0; round < rounds; round++)
	{
		int64		start;
		double		ms;

		if (cost.nread < NBuffers)
			pbp_map_descriptors(first, first + cost.nread);
		start = pbp_now_ns();
		cost.matched = scan[method] (first, first + cost.nread);
		ms = (double) (pbp_now_ns() - start) / 1e6 / cost.nread * NBuffers;
		cost.min_ms = Min(cost.min_ms, ms);
		cost.max_ms = Max(cost.max_ms, ms);
		first += cost.nread;
		if (first > NBuffers - cost.nread)
			first = 0;
	}
	return cost;
}

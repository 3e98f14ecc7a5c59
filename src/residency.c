/*-------------------------------------------------------------------------
 *
 * residency.c
 *	  Two caches compared block by block: which blocks of a file are in shared
 *	  buffers, in the operating system's page cache, in both, in neither.
 *
 * How each cache is asked is known to poolindex.c and oscache.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "descriptors.h"
#include "latency.h"
#include "residency.h"

/* buffers at random among which a sample of pages is looked for */
#define MAX_TRIES		1000000

/* A segment's blocks in both caches: two bits a block. */
typedef struct Segment
{
	int64		nblocks;
	int64		shared_dirty;
	int64		os_partial;
	PbpOsMethod method;
	PbpOsTrust	trust;
	uint8	   *shared;
	uint8	   *os;
} Segment;

static void
init_segment(Segment *segment)
{
	memset(segment, 0, sizeof(*segment));
	segment->shared = palloc(PBP_BITMAP_BYTES(RELSEG_SIZE));
	segment->os = palloc(PBP_BITMAP_BYTES(RELSEG_SIZE));
}

static void
free_segment(Segment *segment)
{
	pfree(segment->shared);
	pfree(segment->os);
}

/*
 * Look at the segment that is open, in both caches.
 *
 * No lock on the relation: a file that is truncated or removed meanwhile
 * shows fewer blocks.
 */
static void
load_segment(Segment *segment, const PbpPoolIndex *index, const PbpOsWalk *walk)
{
	const PbpOsFile *file = &walk->file;
	PbpOsBlocks blocks = {0};

	segment->nblocks = Min(file->bytes / BLCKSZ, RELSEG_SIZE);
	segment->method = file->method;
	segment->trust = file->trust;
	if (file->trust == PBP_OS_TRUSTED)
		pbp_os_map(file, 0, segment->nblocks, segment->os, &blocks);
	segment->os_partial = blocks.partial;

	memset(segment->shared, 0, PBP_BITMAP_BYTES(segment->nblocks));
	segment->shared_dirty = pbp_pool_blocks(index, &walk->locator, walk->fork,
											walk->segment, segment->shared,
											segment->nblocks);
}

/* Bits that are set in both of two bitmaps, which may be the same. */
static int64
count_bits(const Segment *segment, const uint8 *one, const uint8 *other)
{
	int64		bits = 0;

	for (Size i = 0; i < PBP_BITMAP_BYTES(segment->nblocks); i++)
		bits += pg_number_of_ones[one[i] & other[i]];
	return bits;
}

static void
add_segment(PbpResidency *residency, const Segment *segment)
{
	residency->blocks += segment->nblocks;
	residency->shared += count_bits(segment, segment->shared, segment->shared);
	residency->shared_dirty += segment->shared_dirty;

	/* one segment that cannot be told spoils the sum */
	if (residency->trust == PBP_OS_TRUSTED)
	{
		residency->method = segment->method;
		residency->trust = segment->trust;
	}
	if (segment->trust != PBP_OS_TRUSTED)
		return;
	residency->os += count_bits(segment, segment->os, segment->os);
	residency->os_partial += segment->os_partial;
	residency->both += count_bits(segment, segment->shared, segment->os);
}

/*
 * Blocks of a fork in both caches.  False if the fork has no file.  If one of
 * its files cannot be opened, no count is known.
 *
 * Each segment is seen at its own instant, and shared buffers as of the
 * index; the counts of a fork belong together all the same, since they are
 * taken from the same bits.  Memory: two bits a block of one segment, beside
 * the index.
 */
bool
pbp_residency(const PbpPoolIndex *index, const PbpLocator *locator,
			  ForkNumber fork, PbpResidency *residency)
{
	Segment		segment;
	PbpOsWalk	walk;
	bool		found = false;

	memset(residency, 0, sizeof(*residency));
	init_segment(&segment);
	pbp_os_walk(&walk, locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		found = true;
		if (walk.file.trust == PBP_OS_UNREADABLE)
		{
			residency->unreadable = pstrdup(walk.file.path);
			residency->error = walk.file.error;
			residency->trust = PBP_OS_UNREADABLE;
			residency->method = PBP_OS_AUTO;
			continue;
		}
		load_segment(&segment, index, &walk);
		add_segment(residency, &segment);
	}
	free_segment(&segment);
	return found;
}

static void
add_to_buckets(const Segment *segment, int64 first, int64 nblocks,
			   int nbuckets, PbpResidencyBucket *buckets)
{
	for (int64 i = 0; i < segment->nblocks && first + i < nblocks; i++)
	{
		bool		shared = pbp_bit_is_set(segment->shared, i);
		bool		os = segment->trust == PBP_OS_TRUSTED && pbp_bit_is_set(segment->os, i);

		if (shared || os)
		{
			PbpResidencyBucket *bucket = &buckets[pbp_bucket_of(first + i, nblocks, nbuckets)];

			bucket->shared += shared;
			bucket->os += os;
			bucket->both += shared && os;
		}
	}
}

/*
 * The same by ranges of blocks: nblocks of them,
 * in nbuckets (at most nblocks) ranges of equal length, give or take one.
 * Returns why the page cache's part cannot be trusted, if it cannot.
 */
PbpOsTrust
pbp_residency_map(const PbpPoolIndex *index, const PbpLocator *locator,
				  ForkNumber fork, int64 nblocks, int nbuckets,
				  PbpResidencyBucket *buckets)
{
	PbpOsTrust	trust = PBP_OS_TRUSTED;
	Segment		segment;
	PbpOsWalk	walk;

	init_segment(&segment);
	pbp_os_walk(&walk, locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		load_segment(&segment, index, &walk);
		if (trust == PBP_OS_TRUSTED)
			trust = segment.trust;
		add_to_buckets(&segment, (int64) walk.segment * RELSEG_SIZE, nblocks,
					   nbuckets, buckets);
	}
	free_segment(&segment);
	return trust;
}

/* ---- the whole pool, by a sample ---- */

/* Is this page in the page cache, too?  Nothing is counted if its file is gone. */
static void
look_up_page(const BufferTag *tag, PbpDuplicates *duplicates)
{
	PbpLocator	locator = pbp_tag_locator(tag);
	uint8		bitmap[PBP_BITMAP_BYTES(1)];
	PbpOsBlocks blocks;
	PbpOsFile	file;

	if (!pbp_os_open(&locator, pbp_tag_fork(tag), tag->blockNum / RELSEG_SIZE, PBP_OS_AUTO, &file))
		return;
	if (file.trust == PBP_OS_TRUSTED)
	{
		pbp_os_map(&file, tag->blockNum % RELSEG_SIZE, 1, bitmap, &blocks);
		duplicates->sampled++;
		duplicates->cached += blocks.cached;
	}
	else
		duplicates->trust = file.trust;
	pbp_os_close(&file);
}

/*
 * Look up that many pages of the pool, of all databases, in the page cache: in
 * buffers at random, or in all if there are no more, until the time is up or
 * too many buffers were found unused.  A page may be looked up twice.  Takes
 * the header's lock of each; opens a file for each, which is some
 * microseconds.
 */
void
pbp_sample_duplicates(int npages, int64 max_ns, PbpDuplicates *duplicates)
{
	int64		end_ns = pbp_now_ns() + max_ns;
	bool		all = NBuffers <= npages;
	int			tries = all ? NBuffers : MAX_TRIES;
	int			pages = 0;

	memset(duplicates, 0, sizeof(*duplicates));
	for (int i = 0; i < tries && pages < npages; i++)
	{
		int			buffer = all ? i :
			(int) pg_prng_uint64_range(&pg_global_prng_state, 0, NBuffers - 1);
		PbpBufState state;
		BufferTag	tag;

		CHECK_FOR_INTERRUPTS();
		if (!pbp_read_page(GetBufferDescriptor(buffer), &state, &tag))
			continue;
		look_up_page(&tag, duplicates);
		pages++;
		if (pbp_now_ns() > end_ns)
			return;
	}
	duplicates->complete = all && duplicates->trust == PBP_OS_TRUSTED;
}

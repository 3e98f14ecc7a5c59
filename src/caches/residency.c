/*-------------------------------------------------------------------------
 *
 * residency.c
 *	  Shared buffers and page cache compared block by block: which blocks are
 *	  in one of them, in both, or in neither.
 *
 * How to ask each cache belongs in poolindex.c and oscache.c.
 *
 * No relation is locked: a file that is truncated or removed at the same time
 * has fewer blocks.  Each segment is seen at its own instant, and shared
 * buffers as of the scan of the descriptors, which begins each call; or each
 * block of a sample at its own instant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"

#include "base/latency.h"
#include "caches/residency.h"
#include "pool/descriptors.h"

/* random buffers that are tried for a sample of pages */
#define MAX_TRIES		1000000

/*
 * Blocks of each file that are looked up at least: with fewer, the error of an
 * estimate would be most of the file.
 */
#define MIN_SAMPLE		32

/* ---- a segment ---- */

/* Scans the descriptors, for all relations or for one only. */
void
pbp_segment_begin(PbpSegment *segment, const PbpLocator *only)
{
	segment->index = pbp_pool_index(only);
	segment->levels = palloc(RELSEG_SIZE);
	segment->os = palloc(PBP_BITMAP_BYTES(RELSEG_SIZE));
}

void
pbp_segment_end(PbpSegment *segment)
{
	pbp_pool_index_free(segment->index);
	pfree(segment->levels);
	pfree(segment->os);
}

/* Looks up the blocks of the open segment in both caches. */
void
pbp_segment_load(PbpSegment *segment, const PbpOsWalk *walk)
{
	segment->nblocks = Min(walk->file.bytes / BLCKSZ, RELSEG_SIZE);
	segment->cached = pbp_os_map(&walk->file, 0, segment->nblocks, segment->os);
	memset(segment->levels, 0, segment->nblocks);
	segment->shared = pbp_pool_levels(segment->index, &walk->locator, walk->fork, walk->segment,
									  segment->levels, segment->nblocks);
}

/* ---- relations ---- */

/* Adds a segment to the range that has all blocks of its fork. */
static void
add_segment(PbpResidency *range, const PbpSegment *segment)
{
	range->blocks += segment->nblocks;
	range->shared += segment->shared;
	range->os += segment->cached;
	if (segment->shared == 0 || segment->cached == 0)
		return;
	for (int64 i = 0; i < segment->nblocks; i++)
		range->both += (segment->levels[i] != 0) & pbp_bit_is_set(segment->os, i);
}

/* Ranges of equal length, give or take one block, at most one per block. */
typedef struct Ranges
{
	PbpResidency *rows;
	int			nrows;
	int64		nblocks;
} Ranges;

/* Blocks that were added to the fork since its ranges were made are left out. */
static void
add_to_ranges(const Ranges *ranges, const PbpSegment *segment, int64 first)
{
	for (int64 i = 0; i < segment->nblocks && first + i < ranges->nblocks; i++)
	{
		PbpResidency *range = &ranges->rows[(first + i) * ranges->nrows / ranges->nblocks];
		bool		shared = segment->levels[i] != 0;
		bool		os = pbp_bit_is_set(segment->os, i);

		range->blocks++;
		range->shared += shared;
		range->os += os;
		range->both += shared && os;
	}
}

static void
look_up_block(const PbpOsWalk *walk, int block, PbpResidency *sample)
{
	bool		os = pbp_os_block(&walk->file, block);
	bool		shared = pbp_pool_lookup(&walk->locator, walk->fork,
										 (BlockNumber) walk->segment * RELSEG_SIZE + block);

	sample->shared += shared;
	sample->os += os;
	sample->both += shared && os;
}

/*
 * Adds what the sample says about its segment.  A block is in both caches, in
 * one of them, or in neither; these counts are scaled so that they add up.
 */
static void
add_scaled(PbpResidency *residency, const PbpResidency *sample, PbpScale *scale)
{
	int64		both = pbp_scale_next(scale, sample->both);

	residency->blocks += scale->nitems;
	residency->both += both;
	residency->shared += both + pbp_scale_next(scale, sample->shared - sample->both);
	residency->os += both + pbp_scale_next(scale, sample->os - sample->both);
}

/*
 * Adds estimates for the open segment, from random blocks of it.  Returns the
 * sum of the squares of what each of them stands for: the variance of the
 * estimates grows with this sum.
 */
static double
sample_segment(const PbpOsWalk *walk, double fraction, PbpResidency *residency)
{
	int			nblocks = (int) Min(walk->file.bytes / BLCKSZ, RELSEG_SIZE);
	int			nread = Max((int) ceil(fraction * nblocks), Min(nblocks, MIN_SAMPLE));
	PbpScale	scale = {.nread = nread,.nitems = nblocks};
	PbpResidency sample = {0};
	PbpDraw		draw;

	if (nblocks == 0)
		return 0;
	pbp_draw_begin(&draw, nread, nblocks);
	for (int i = 0; i < nread; i++)
	{
		CHECK_FOR_INTERRUPTS();
		look_up_block(walk, pbp_draw_next(&draw), &sample);
	}
	add_scaled(residency, &sample, &scale);
	return (double) nblocks * nblocks / nread;
}

/*
 * Counts a fork's blocks in both caches, or estimates them without a segment.
 * Returns false if the fork has no file.  If one of its files cannot be opened,
 * no count is known.
 */
static bool
count_fork(PbpSegment *segment, const PbpLocator *locator, double fraction, const Ranges *ranges)
{
	PbpResidency *fork = &ranges->rows[0];
	PbpOsWalk	walk;
	double		squares = 0;
	bool		found = false;

	pbp_os_walk(&walk, locator, fork->fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		found = true;
		if (!pbp_os_judge(&fork->verdict, &walk.file))
			continue;
		if (segment == NULL)
			squares += sample_segment(&walk, fraction, fork);
		else
		{
			pbp_segment_load(segment, &walk);
			if (ranges->nrows == 1)
				add_segment(fork, segment);
			else
				add_to_ranges(ranges, segment, (int64) walk.segment * RELSEG_SIZE);
		}
	}
	for (int i = 0; i < ranges->nrows; i++)
		ranges->rows[i].verdict = fork->verdict;
	fork->nread = squares > 0 ? (double) fork->blocks * (double) fork->blocks / squares : INFINITY;
	return found;
}

/* Room for the ranges of a fork, behind what was found before. */
static Ranges
append_ranges(PbpResidencyList *list, const RelationStorage *relation, ForkNumber fork, int buckets)
{
	int64		nblocks = buckets > 1 ? pbp_os_fork_blocks(&relation->locator, fork) : 0;
	Ranges		ranges = {.nrows = (int) Max(Min(buckets, nblocks), 1),.nblocks = nblocks};
	int64		nrows = list->nrows + ranges.nrows;

	if (nrows > list->max_rows)
	{
		list->max_rows = Max(2 * list->max_rows, nrows);
		list->rows = repalloc_huge(list->rows, (Size) list->max_rows * sizeof(PbpResidency));
	}
	ranges.rows = &list->rows[list->nrows];
	for (int64 i = 0; i < ranges.nrows; i++)
		ranges.rows[i] = (PbpResidency) {
			.relid = relation->relid,.fork = fork,
			.first = (i * nblocks + ranges.nrows - 1) / ranges.nrows,
			.nread = INFINITY
		};
	return ranges;
}

/*
 * If the main fork cannot be opened, another fork that cannot be opened either
 * may not exist, so it is left out.  A fork that cannot be opened has one row.
 */
static void
count_relation(PbpSegment *segment, const RelationStorage *relation, int buckets, double fraction,
			   PbpResidencyList *result)
{
	bool		readable = true;

	for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
	{
		Ranges		ranges;

		CHECK_FOR_INTERRUPTS();
		if (!relation->forks[fork])
			continue;
		ranges = append_ranges(result, relation, fork, buckets);
		if (!count_fork(segment, &relation->locator, fraction, &ranges))
			continue;
		if (ranges.rows[0].verdict.trust == PBP_OS_UNREADABLE)
		{
			if (!readable)
				continue;
			readable = fork != MAIN_FORKNUM;
			ranges.nrows = 1;
		}
		result->nrows += ranges.nrows;
	}
}

/*
 * Counts the blocks of each fork of some relations, in both caches, in as many
 * ranges as there are buckets.
 *
 * One scan of the descriptors, which locks the headers of these relations'
 * pages, one at a time; then each segment is opened once.  The counts of a
 * fork are taken from the same bits, so they add up.  Memory: 8 bytes for each
 * of these relations' buffers, and a byte and a bit for each block of one
 * segment.
 *
 * With a fraction below 1, which needs one bucket, no descriptor is scanned: the
 * counts are estimated from this share of the blocks of each segment, but at least
 * MIN_SAMPLE of them.  Each of these blocks is looked up in both caches
 * (pbp_pool_lookup(), pbp_os_map()), which takes about a microsecond, and no memory.
 */
void
pbp_residency(const RelationList *relations, int buckets, double fraction, PbpResidencyList *result)
{
	PbpSegment	exact;
	PbpSegment *segment = NULL;

	result->nrows = 0;
	result->max_rows = Max(relations->nrelations, 1);
	result->rows = MemoryContextAllocHuge(CurrentMemoryContext,
										  (Size) result->max_rows * sizeof(PbpResidency));
	if (fraction == 1)
	{
		segment = &exact;
		pbp_segment_begin(segment, relations->nrelations == 1 ?
						  &relations->relations[0].locator : NULL);
	}
	for (int64 i = 0; i < relations->nrelations; i++)
		count_relation(segment, &relations->relations[i], buckets, fraction, result);
	if (segment != NULL)
		pbp_segment_end(segment);
}

/* ---- a sample of the pool ---- */

typedef struct SampledPage
{
	BufferTag	tag;
	uint32		file_hash;		/* pages of one file are looked up together */
} SampledPage;

static uint32
file_hash(const BufferTag *tag)
{
	PbpLocator	locator = BufTagGetRelFileLocator(tag);
	uint32		file[] = {
		locator.spcOid, locator.dbOid, locator.relNumber, (uint32) BufTagGetForkNum(tag),
		tag->blockNum / RELSEG_SIZE
	};

	return hash_bytes((const unsigned char *) file, sizeof(file));
}

static int
compare_file_hash(const void *a, const void *b)
{
	uint32		one = ((const SampledPage *) a)->file_hash;
	uint32		other = ((const SampledPage *) b)->file_hash;

	return one < other ? -1 : one > other;
}

/* Pages in random buffers, or all of them. */
static int
choose_pages(SampledPage *pages, int max_pages, bool all)
{
	int			tries = all ? NBuffers : MAX_TRIES;
	int			npages = 0;

	for (int i = 0; i < tries && npages < max_pages; i++)
	{
		int			buffer = all ? i :
			(int) pg_prng_uint64_range(&pg_global_prng_state, 0, NBuffers - 1);
		SampledPage *page = &pages[npages];
		PbpBufState state;

		CHECK_FOR_INTERRUPTS();
		if (!pbp_read_page(GetBufferDescriptor(buffer), &state, &page->tag))
			continue;
		page->file_hash = file_hash(&page->tag);
		npages++;
	}
	qsort(pages, npages, sizeof(*pages), compare_file_hash);
	return npages;
}

static void
look_up_page(const PbpOsFile *file, BlockNumber block, PbpDuplicates *duplicates)
{
	if (file->trust != PBP_OS_TRUSTED)
	{
		duplicates->trust = file->trust;
		return;
	}
	duplicates->sampled++;
	duplicates->cached += pbp_os_block(file, block % RELSEG_SIZE);
}

/* Looks up the first page and those behind it in the same file; returns how many. */
static int
look_up_file(const SampledPage *pages, int npages, PbpDuplicates *duplicates)
{
	const BufferTag *tag = &pages[0].tag;
	PbpLocator	locator = BufTagGetRelFileLocator(tag);
	PbpOsFile	file;
	bool		found = pbp_os_open(&locator, BufTagGetForkNum(tag),
									tag->blockNum / RELSEG_SIZE, PBP_OS_AUTO, &file);
	int			i = 0;

	do
	{
		/* a page whose file was removed is left out */
		CHECK_FOR_INTERRUPTS();
		if (found)
			look_up_page(&file, pages[i].tag.blockNum, duplicates);
	}
	while (++i < npages && BufTagMatchesRelFileLocator(&pages[i].tag, &locator) &&
		   BufTagGetForkNum(&pages[i].tag) == BufTagGetForkNum(tag) &&
		   pages[i].tag.blockNum / RELSEG_SIZE == tag->blockNum / RELSEG_SIZE);
	if (found)
		pbp_os_close(&file);
	return i;
}

/*
 * Looks up a sample of the pool's pages, of all databases, in the page cache:
 * max_pages in random buffers, or all pages if no more buffers than that are used.
 * A page may be in the sample twice.  Stops when the time is up; since files are visited
 * in the order of a hash, the pages looked up by then are of random files.
 *
 * Locks the header of each of these pages, one at a time.  Opens each segment
 * once, and takes a microsecond or two per page.
 */
void
pbp_sample_duplicates(int max_pages, int64 max_ns, int64 used, PbpDuplicates *duplicates)
{
	bool		all = used < max_pages;
	int64		end_ns = pbp_now_ns() + max_ns;
	SampledPage *pages = palloc(max_pages * sizeof(SampledPage));
	int			npages = choose_pages(pages, max_pages, all);
	int			looked_up = 0;

	memset(duplicates, 0, sizeof(*duplicates));
	while (looked_up < npages && pbp_now_ns() <= end_ns)
		looked_up += look_up_file(&pages[looked_up], npages - looked_up, duplicates);
	pfree(pages);
	duplicates->complete = all && npages < max_pages && looked_up == npages &&
		duplicates->trust == PBP_OS_TRUSTED;
}

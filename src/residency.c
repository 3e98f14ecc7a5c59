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

#include <sys/stat.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "pgbufprobe.h"

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
 * Look at one segment of a fork, in both caches.  False if there is no such
 * file, which ends the fork.
 *
 * No lock on the relation: a file that is truncated or removed meanwhile
 * shows fewer blocks.
 */
static bool
load_segment(Segment *segment, const PbpPoolIndex *index,
			 const PbpLocator *locator, ForkNumber fork, int number)
{
	char	   *path = pbp_segment_path(locator, fork, number);
	PbpOsFile	file;
	PbpOsBlocks blocks = {0};

	if (!pbp_os_open(path, PBP_OS_AUTO, &file))
	{
		pfree(path);
		return false;
	}

	segment->nblocks = Min(file.bytes / BLCKSZ, RELSEG_SIZE);
	segment->method = file.method;
	segment->trust = file.trust;
	if (file.trust == PBP_OS_TRUSTED)
		pbp_os_map(&file, 0, segment->nblocks, segment->os, &blocks);
	segment->os_partial = blocks.partial;
	pbp_os_close(&file);
	pfree(path);

	memset(segment->shared, 0, PBP_BITMAP_BYTES(segment->nblocks));
	segment->shared_dirty = pbp_pool_blocks(index, locator, fork, number,
											segment->shared, segment->nblocks);
	return true;
}

/* A segment that is shorter than it could be is the last one. */
static bool
is_last(const Segment *segment)
{
	return segment->nblocks < RELSEG_SIZE;
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
 * Blocks of a fork in both caches.  False if the fork has no file.
 *
 * Each segment is seen at its own instant, and shared buffers as of the
 * index; the counts of a fork belong together all the same, since they are
 * taken from the same bits.  Memory: two bits a block of one segment.
 */
bool
pbp_residency(const PbpPoolIndex *index, const PbpLocator *locator,
			  ForkNumber fork, PbpResidency *residency)
{
	Segment		segment;
	int			number = 0;

	memset(residency, 0, sizeof(*residency));
	init_segment(&segment);
	while (load_segment(&segment, index, locator, fork, number))
	{
		add_segment(residency, &segment);
		number++;
		if (is_last(&segment))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	free_segment(&segment);
	return number > 0;
}

/* Blocks of a fork, by the length of its files; -1 if it has none. */
int64
pbp_fork_blocks(const PbpLocator *locator, ForkNumber fork)
{
	int64		nblocks = -1;

	for (int number = 0;; number++)
	{
		char	   *path = pbp_segment_path(locator, fork, number);
		struct stat info;
		bool		found = stat(path, &info) == 0;

		if (!found && errno != ENOENT)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not stat file \"%s\": %m", path)));
		pfree(path);
		CHECK_FOR_INTERRUPTS();
		if (found)
			nblocks = Max(nblocks, 0) + info.st_size / BLCKSZ;
		if (!found || info.st_size < PBP_SEGMENT_BYTES)
			return nblocks;
	}
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
 * The same by ranges of blocks: nblocks, as pbp_fork_blocks() counted them,
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

	init_segment(&segment);
	for (int number = 0; (int64) number * RELSEG_SIZE < nblocks; number++)
	{
		if (!load_segment(&segment, index, locator, fork, number))
			break;
		if (trust == PBP_OS_TRUSTED)
			trust = segment.trust;
		add_to_buckets(&segment, (int64) number * RELSEG_SIZE, nblocks, nbuckets, buckets);
		if (is_last(&segment))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	free_segment(&segment);
	return trust;
}

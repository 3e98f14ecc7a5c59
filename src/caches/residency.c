/*-------------------------------------------------------------------------
 *
 * residency.c
 *	  Shared buffers and page cache compared block by block: which blocks are
 *	  in one of them, in both, or in neither.
 *
 * How to ask each cache belongs in descriptors.c and oscache.c.
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

#include "access/xlog.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "utils/hsearch.h"

#include "caches/caches.h"
#include "pool/pool.h"

/* of a sample of the pool: pages, random buffers that are tried for them, and the time limit */
#define MAX_PAGES		4000
#define MAX_TRIES		1000000
#define MAX_NS			INT64CONST(1000000000)

/*
 * Blocks of each file that are looked up at least: with fewer, the error of an
 * estimate would be most of the file.
 */
#define MIN_SAMPLE		32

#define NO_ENTRY		(-1)

#define FIRST_BUFFERS	1024	/* that an index has memory for at first */

/* ---- a segment ---- */

typedef struct FileEntry
{
	PbpFileKey	key;
	int			newest;			/* head of the list of its buffers */
} FileEntry;

typedef struct BufferEntry
{
	int			next;			/* of the same file */
	uint32		block:27;		/* within its segment */
	uint32		usage:4;
} BufferEntry;

StaticAssertDecl(RELSEG_SIZE <= 1 << 27, "an entry must hold a block of a segment");
StaticAssertDecl(BM_MAX_USAGE_COUNT < 16, "an entry must hold a usage count");

struct PbpSegment
{
	/* an index of the pool */
	HTAB	   *files;			/* FileEntry */
	BufferEntry *buffers;
	int			nbuffers;
	int			max_buffers;

	/* the segment that was loaded last */
	int64		nblocks;
	int64		shared;			/* in shared buffers */
	int64		cached;			/* in the page cache; none if it is not trusted */
	uint8		levels[RELSEG_SIZE];	/* for each block; 0: not in shared buffers */
	bool		os[RELSEG_SIZE];	/* for each block */
};

static void
add_buffer(PbpSegment *segment, FileEntry *file, const PbpPage *page)
{
	if (segment->nbuffers == segment->max_buffers)
	{
		segment->max_buffers = (int) Min((int64) segment->max_buffers * 2, NBuffers);
		segment->buffers = repalloc_huge(segment->buffers,
										 (Size) segment->max_buffers * sizeof(BufferEntry));
	}
	segment->buffers[segment->nbuffers] = (BufferEntry) {
		.next = file->newest,.block = page->tag.blockNum % RELSEG_SIZE,
		.usage = (uint32) BUF_STATE_GET_USAGECOUNT(page->state)
	};
	file->newest = segment->nbuffers++;
}

/*
 * Scans the descriptors once for the pages of one relation or, without one, of
 * all relations of this database, or of all if the process has none.
 *
 * Locks the headers of these pages, one at a time.  A page that is replaced during the
 * scan may be missed, or found twice.  About 3 ns per buffer, and 20 ns more for each
 * buffer found.  Memory: 8 bytes for each buffer found.
 */
PbpSegment *
pbp_segment_begin(const PbpLocator *only)
{
	PbpSegment *segment = palloc(sizeof(*segment));
	HASHCTL		ctl = {
		.keysize = sizeof(PbpFileKey),.entrysize = sizeof(FileEntry),.hcxt = CurrentMemoryContext
	};
	FileEntry  *file = NULL;
	PbpWalk		walk;
	PbpPage		page;

	segment->files = hash_create("pgbufprobe files", 1024, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	segment->nbuffers = 0;
	segment->max_buffers = Min(NBuffers, FIRST_BUFFERS);
	segment->buffers = palloc(segment->max_buffers * sizeof(BufferEntry));
	pbp_walk_begin(&walk, NBuffers);
	while (pbp_walk_page(&walk, only, &page))
	{
		PbpFileKey	key = {
			BufTagGetRelFileLocator(&page.tag), BufTagGetForkNum(&page.tag),
			page.tag.blockNum / RELSEG_SIZE
		};

		/* shared catalogs belong to every database, and a process without one wants those of all */
		if (only == NULL && key.locator.dbOid != MyDatabaseId && OidIsValid(key.locator.dbOid) &&
			OidIsValid(MyDatabaseId))
			continue;
		/* neighbors mostly belong to the same file */
		if (file == NULL || memcmp(&file->key, &key, sizeof(key)) != 0)
		{
			bool		found;

			/* in a large table each lookup waits for memory */
			CHECK_FOR_INTERRUPTS();
			file = hash_search(segment->files, &key, HASH_ENTER, &found);
			if (!found)
				file->newest = NO_ENTRY;
		}
		add_buffer(segment, file, &page);
	}
	return segment;
}

void
pbp_segment_end(PbpSegment *segment)
{
	hash_destroy(segment->files);
	pfree(segment->buffers);
	pfree(segment);
}

/*
 * Looks up the blocks of the open segment in both caches.  The level of a block is its
 * usage count plus one.
 *
 * A block that moved to another buffer during the scan may have been found in
 * both; it counts once, with the state that was found last.  Those past the end of a
 * file that has become shorter are left out.
 */
static void
load_segment(PbpSegment *segment, const PbpOsWalk *walk)
{
	FileEntry  *file = hash_search(segment->files, &walk->key, HASH_FIND, NULL);

	segment->nblocks = Min(walk->file.bytes / BLCKSZ, RELSEG_SIZE);
	segment->cached = pbp_os_map(&walk->file, 0, segment->nblocks, segment->os);
	segment->shared = 0;
	memset(segment->levels, 0, segment->nblocks);
	for (int i = file ? file->newest : NO_ENTRY; i != NO_ENTRY; i = segment->buffers[i].next)
	{
		const BufferEntry *entry = &segment->buffers[i];

		if (entry->block >= segment->nblocks || segment->levels[entry->block] != 0)
			continue;
		segment->levels[entry->block] = (uint8) (entry->usage + 1);
		segment->shared++;
	}
}

/* ---- relations ---- */

/*
 * Adds a segment, whose first block this is, to the ranges of a fork of nblocks.  Blocks
 * that were added to the fork since its ranges were made are in the last one.
 */
static void
add_to_ranges(PbpResidency *ranges, int nranges, int64 nblocks, const PbpSegment *segment,
			  int64 first)
{
	int			n = nranges == 1 ? 0 : (int) Min(first * nranges / nblocks, nranges - 1);
	int64		i = 0;

	for (PbpResidency *range = &ranges[n]; i < segment->nblocks; range++, n++)
	{
		int64		end = n == nranges - 1 ? segment->nblocks :
			Min(range[1].first - first, segment->nblocks);

		range->blocks += end - i;
		if (segment->shared == 0 && segment->cached == 0)
			i = end;
		for (; i < end; i++)
		{
			range->shared += segment->levels[i] != 0;
			range->os += segment->os[i];
			range->both += (segment->levels[i] != 0) & segment->os[i];
		}
	}
}

/*
 * Adds estimates for the open segment, from random blocks of it.  A block is in both
 * caches, in one of them, or in neither; these counts are scaled so that they add up.
 * Returns the sum of the squares of what each block stands for: the variance of the
 * estimates grows with this sum.
 */
static double
sample_segment(const PbpOsWalk *walk, double fraction, PbpResidency *residency)
{
	int			nblocks = (int) Min(walk->file.bytes / BLCKSZ, RELSEG_SIZE);
	int			nread = Max((int) ceil(fraction * nblocks), Min(nblocks, MIN_SAMPLE));
	PbpScale	scale = {.nread = nread,.nitems = nblocks};
	int			both = 0;
	int			shared_only = 0;
	int			os_only = 0;
	int64		scaled_both;
	PbpDraw		draw;

	if (nblocks == 0)
		return 0;
	pbp_draw_begin(&draw, nread, nblocks);
	for (int i = 0; i < nread; i++)
	{
		int			block = pbp_draw_next(&draw);
		bool		os = pbp_os_block(&walk->file, block);
		bool		shared = pbp_pool_lookup(&walk->key.locator, walk->key.fork,
											 walk->key.segment * RELSEG_SIZE + block);

		CHECK_FOR_INTERRUPTS();
		both += shared && os;
		shared_only += shared && !os;
		os_only += os && !shared;
	}
	scaled_both = pbp_scale_next(&scale, both);
	residency->blocks += nblocks;
	residency->both += scaled_both;
	residency->shared += scaled_both + pbp_scale_next(&scale, shared_only);
	residency->os += scaled_both + pbp_scale_next(&scale, os_only);
	return (double) nblocks * nblocks / nread;
}

/*
 * Counts a fork's blocks in both caches, or estimates them without a segment, in rows
 * behind those of the list.  Returns their number: at most as many as there are buckets
 * and blocks, and 0 if the fork has no file.  If one of its files cannot be opened, no
 * count is known, and it has one row.
 */
static int
count_fork(PbpSegment *segment, const RelationStorage *relation, ForkNumber fork, int buckets,
		   double fraction, PbpResidencyList *list)
{
	int64		nblocks = buckets > 1 ? pbp_os_fork_blocks(&relation->locator, fork, 0) : 0;
	int			nranges = (int) Max(Min(buckets, nblocks), 1);
	int64		nrows = list->nrows + nranges;
	PbpResidency *ranges;
	PbpOsWalk	walk;
	double		squares = 0;
	bool		found = false;

	if (nrows > list->max_rows)
	{
		list->max_rows = Max(2 * list->max_rows, nrows);
		list->rows = repalloc_huge(list->rows, (Size) list->max_rows * sizeof(PbpResidency));
	}
	ranges = &list->rows[list->nrows];
	for (int64 i = 0; i < nranges; i++)
		ranges[i] = (PbpResidency) {
			.relid = relation->relid,.fork = fork,
			.first = (i * nblocks + nranges - 1) / nranges,.nread = INFINITY
		};

	pbp_os_walk(&walk, &relation->locator, fork, PBP_OS_AUTO);
	while (pbp_os_next(&walk))
	{
		found = true;
		if (!pbp_os_judge(&ranges[0].verdict, &walk.file))
			continue;
		if (segment == NULL)
		{
			squares += sample_segment(&walk, fraction, &ranges[0]);
			continue;
		}
		load_segment(segment, &walk);
		add_to_ranges(ranges, nranges, nblocks, segment, (int64) walk.key.segment * RELSEG_SIZE);
	}
	if (squares > 0)
		ranges[0].nread = (double) ranges[0].blocks * (double) ranges[0].blocks / squares;
	for (int i = 1; i < nranges; i++)
		ranges[i].verdict = ranges[0].verdict;
	return !found ? 0 : ranges[0].verdict.trust == PBP_OS_UNREADABLE ? 1 : nranges;
}

/*
 * If the main fork cannot be opened, another fork that cannot be opened either
 * may not exist, so it is left out.
 */
static void
count_relation(PbpSegment *segment, const RelationStorage *relation, int buckets, double fraction,
			   PbpResidencyList *result)
{
	bool		main_is_unreadable = false;

	for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
	{
		int			nrows;
		bool		unreadable;

		CHECK_FOR_INTERRUPTS();
		if (!relation->forks[fork])
			continue;
		nrows = count_fork(segment, relation, fork, buckets, fraction, result);
		unreadable = nrows > 0 && result->rows[result->nrows].verdict.trust == PBP_OS_UNREADABLE;
		if (!unreadable || !main_is_unreadable)
			result->nrows += nrows;
		if (fork == MAIN_FORKNUM)
			main_is_unreadable = unreadable;
	}
}

/*
 * Counts the blocks of each fork of some relations, in both caches, in as many
 * ranges as there are buckets.
 *
 * One scan of the descriptors, which locks the headers of these relations'
 * pages, one at a time; then each segment is opened once.  The counts of a
 * fork are taken from the same bytes, so they add up.  Memory: 8 bytes for each
 * of these relations' buffers, and two bytes for each block of one
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
	PbpSegment *segment = fraction < 1 ? NULL :
		pbp_segment_begin(relations->nrelations == 1 ? &relations->relations[0].locator : NULL);

	result->nrows = 0;
	result->max_rows = Max(relations->nrelations, 1);
	result->rows = MemoryContextAllocHuge(CurrentMemoryContext,
										  (Size) result->max_rows * sizeof(PbpResidency));
	for (int64 i = 0; i < relations->nrelations; i++)
		count_relation(segment, &relations->relations[i], buckets, fraction, result);
	if (segment != NULL)
		pbp_segment_end(segment);
}

/* ---- maps ---- */

static void
append_bytes(void *arg, const void *bytes, size_t nbytes)
{
	appendBinaryStringInfo((StringInfo) arg, bytes, (int) nbytes);
}

/* The checksum of a map, which is that of all but its last bytes. */
static pg_crc32c
checksum_of(const void *map, Size bytes)
{
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	if (bytes > PBP_MAP_CHECKSUM_BYTES)
		COMP_CRC32C(checksum, map, bytes - PBP_MAP_CHECKSUM_BYTES);
	FIN_CRC32C(checksum);
	return checksum;
}

/* Adds the loaded segment. */
static void
add_to_map(const PbpSegment *segment, const bool *os_before, PbpMapWriter *writer)
{
	if (segment->shared == 0 && segment->cached == 0)
	{
		pbp_map_add(writer, pbp_map_state(0, PBP_MAP_OS_NOT), segment->nblocks);
		return;
	}
	for (int64 i = 0; i < segment->nblocks; i++)
	{
		PbpMapOs	os = !segment->os[i] ? PBP_MAP_OS_NOT :
			os_before != NULL && os_before[i] ? PBP_MAP_OS_KEPT : PBP_MAP_OS_CACHED;

		pbp_map_add(writer, pbp_map_state(Min(segment->levels[i], PBP_MAP_LEVELS - 1), os), 1);
	}
}

/*
 * Takes the map of a fork, or only of one segment, whose first block is the map's block 0:
 * so a map of a large relation needs not fit into memory.  Returns false if there is no
 * such file.  The relation may be InvalidOid if only its files are known.  os_before says
 * which blocks of this segment the page cache held some time before, or is NULL.
 *
 * If the page cache's state of one segment is unknown, that of the fork is.  A
 * segment that cannot be opened ends the map, which is then of no use.
 *
 * Opens each segment once.  2 to 7 ns per block of a segment that one of the
 * caches has a part of; memory: two bytes for each block of a segment.
 */
bool
pbp_take_map(PbpSegment *segment, Oid relid, const PbpFileKey *key, const bool *os_before,
			 PbpTakenMap *map)
{
	PbpMapHeader header = {
		.block_bytes = BLCKSZ,.fork = key->fork,.system = GetSystemIdentifier(),
		.database = key->locator.dbOid,.relation = relid
	};
	PbpMapWriter writer = {.sink = append_bytes,.arg = &map->bytes};
	uint8	   *bytes;
	PbpOsWalk	walk;
	bool		found = false;

	memset(map, 0, sizeof(*map));
	initStringInfo(&map->bytes);
	appendStringInfoSpaces(&map->bytes, PBP_MAP_HEADER_BYTES);

	pbp_os_walk(&walk, &key->locator, key->fork, PBP_OS_AUTO);
	if (key->segment != PBP_ALL_SEGMENTS)
	{
		walk.key.segment = key->segment - 1;
		walk.last = key->segment;
	}
	while (pbp_os_next(&walk))
	{
		found = true;
		if (!pbp_os_judge(&map->verdict, &walk.file))
			continue;
		load_segment(segment, &walk);
		add_to_map(segment, os_before, &writer);
		header.nblocks += segment->nblocks;
		map->any = map->any || segment->shared > 0 || segment->cached > 0;
	}

	pbp_map_end(&writer);
	appendStringInfoSpaces(&map->bytes, PBP_MAP_CHECKSUM_BYTES);
	header.os_known = map->verdict.trust == PBP_OS_TRUSTED;
	bytes = (uint8 *) map->bytes.data;
	pbp_map_put_header(bytes, &header);
	pbp_map_put_checksum(bytes + map->bytes.len - PBP_MAP_CHECKSUM_BYTES,
						 checksum_of(bytes, map->bytes.len));
	return found;
}

/* Returns a sentence that says why a map cannot be used; NULL if it can.  Sets the header then. */
const char *
pbp_verify_map(const uint8 *map, Size bytes, PbpMapHeader *header)
{
	return pbp_map_check(map, bytes, checksum_of(map, bytes), BLCKSZ, header);
}

/* ---- single blocks ---- */

/*
 * The tier below shared buffers that has a block.  If it is unknown, sets why, unless the
 * file does not exist.
 */
static PbpTier
tier_below(const PbpLocator *locator, ForkNumber fork, BlockNumber block, PbpOsTrust *trust)
{
	PbpOsFile	file;
	PbpTier		tier = PBP_UNKNOWN_TIER;

	if (!pbp_os_open(&(PbpFileKey) {*locator, fork, block / RELSEG_SIZE}, PBP_OS_AUTO, &file))
		return tier;
	if (file.trust != PBP_OS_TRUSTED)
		*trust = file.trust;
	else
		tier = pbp_os_block(&file, block % RELSEG_SIZE) ? PBP_OS_CACHE : PBP_STORAGE;
	pbp_os_close(&file);
	return tier;
}

/* ---- a sample of the pool ---- */

/*
 * Multiples of this prime, which is larger than any pool, scatter all buffers once.  Pages
 * that were loaded together are in neighboring buffers, and time may be up at any.
 */
#define SCATTERING_PRIME	UINT64CONST(2654435761)

/*
 * Looks up a sample of the pool's pages, of all databases, in the page cache:
 * MAX_PAGES in random buffers, or all pages if fewer buffers than that are used.
 * A page may be in the sample twice; one whose file was removed is left out.  Stops when
 * the time is up.
 *
 * Locks the header of each of these pages, one at a time, and opens a file for each.
 */
PbpDuplicates
pbp_sample_duplicates(int64 used)
{
	PbpDuplicates duplicates = {0};
	bool		all = used < MAX_PAGES;
	int			ntries = all ? NBuffers : MAX_TRIES;
	int			npages = 0;
	int			i;
	int64		end_ns = pbp_now_ns() + MAX_NS;

	for (i = 0; i < ntries && npages < MAX_PAGES; i++)
	{
		int			buffer = all ? (int) (i * SCATTERING_PRIME % NBuffers) :
			(int) pg_prng_uint64_range(&pg_global_prng_state, 0, NBuffers - 1);
		PbpBufState state;
		BufferTag	tag;
		PbpLocator	locator;
		PbpTier		tier;

		CHECK_FOR_INTERRUPTS();
		if (!pbp_read_page(GetBufferDescriptor(buffer), &state, &tag))
			continue;
		if (pbp_now_ns() > end_ns)
			break;
		npages++;
		locator = BufTagGetRelFileLocator(&tag);
		tier = tier_below(&locator, BufTagGetForkNum(&tag), tag.blockNum, &duplicates.trust);
		duplicates.sampled += tier != PBP_UNKNOWN_TIER;
		duplicates.cached += tier == PBP_OS_CACHE;
	}
	duplicates.complete = all && i == ntries && duplicates.trust == PBP_OS_TRUSTED;
	return duplicates;
}

/* ---- times of reads ---- */

/*
 * Chooses a random block of each of as many equal parts of the fork, in random
 * order: no part is left out, and the kernel detects no sequential read.
 */
static BlockNumber *
choose_blocks(BlockNumber nblocks, int samples)
{
	BlockNumber *blocks = palloc(samples * sizeof(BlockNumber));

	for (int i = 0; i < samples; i++)
	{
		uint64		first = (uint64) nblocks * i / samples;
		uint64		end = (uint64) nblocks * (i + 1) / samples;
		uint64		place = pg_prng_uint64_range(&pg_global_prng_state, 0, i);

		CHECK_FOR_INTERRUPTS();
		blocks[i] = blocks[place];
		blocks[place] = (BlockNumber) pg_prng_uint64_range(&pg_global_prng_state, first, end - 1);
	}
	return blocks;
}

/*
 * Reads random blocks of a fork through the buffer manager, each at most once,
 * and counts the times by the tier that was found just before, of PBP_TIERS.  Returns
 * the trust of the last read whose tier is unknown.
 *
 * Like all reads, these evict other pages and warm both caches.  The caller
 * holds a lock that keeps the relation from being truncated.  A block's lookup
 * locks one partition of the server's table of buffers, shared.  Memory: 4 bytes
 * per sample.
 */
PbpOsTrust
pbp_read_cost(Relation relation, ForkNumber fork, int samples, PbpLatency *tiers)
{
	BlockNumber nblocks = RelationGetNumberOfBlocksInFork(relation, fork);
	PbpOsTrust	trust = PBP_OS_TRUSTED;
	BlockNumber *blocks;

	memset(tiers, 0, PBP_TIERS * sizeof(*tiers));
	samples = (int) Min((BlockNumber) samples, nblocks);
	blocks = choose_blocks(nblocks, samples);
	for (int i = 0; i < samples; i++)
	{
		PbpTier		tier;
		int64		start_ns;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		tier = pbp_pool_lookup(&relation->rd_locator, fork, blocks[i]) ? PBP_SHARED_BUFFERS :
			tier_below(&relation->rd_locator, fork, blocks[i], &trust);
		start_ns = pbp_now_ns();
		buffer = ReadBufferExtended(relation, fork, blocks[i], RBM_NORMAL, NULL);
		pbp_latency_add(&tiers[tier], pbp_now_ns() - start_ns);
		ReleaseBuffer(buffer);
	}
	pfree(blocks);

	for (int tier = 0; tier < PBP_TIERS; tier++)
		pbp_latency_finish(&tiers[tier]);
	return trust;
}

/*-------------------------------------------------------------------------
 *
 * poolindex.c
 *	  Which blocks of which files are in shared buffers: one scan of the
 *	  descriptors, then lookups file by file; or lookups of single blocks in
 *	  the server's own table.
 *
 * The page cache belongs in oscache.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/hsearch.h"

#include "pool/descriptors.h"
#include "pool/poolindex.h"

#define NO_ENTRY			(-1)

#define FIRST_BUFFERS		1024	/* that an index has memory for at first */

/* A segment of a fork: one file. */
typedef struct FileKey
{
	PbpLocator	locator;
	ForkNumber	fork;
	uint32		segment;
} FileKey;

typedef struct FileEntry
{
	FileKey		key;
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

struct PbpPoolIndex
{
	HTAB	   *files;
	BufferEntry *buffers;
	int			nbuffers;
	int			max_buffers;
};

/* Shared catalogs belong to every database.  A process without one wants those of all. */
static bool
is_of_this_database(const BufferTag *tag)
{
	Oid			database = BufTagGetRelFileLocator(tag).dbOid;

	return database == MyDatabaseId || !OidIsValid(database) || !OidIsValid(MyDatabaseId);
}

/* The key is hashed as bytes, so padding must be zero. */
static FileKey
file_key(PbpLocator locator, ForkNumber fork, uint32 segment)
{
	FileKey		key;

	memset(&key, 0, sizeof(key));
	key.locator = locator;
	key.fork = fork;
	key.segment = segment;
	return key;
}

static BufferEntry *
add_buffer(PbpPoolIndex *index, FileEntry *file)
{
	BufferEntry *entry;

	if (index->nbuffers == index->max_buffers)
	{
		index->max_buffers = (int) Min((int64) index->max_buffers * 2, NBuffers);
		index->buffers = repalloc_huge(index->buffers,
									   (Size) index->max_buffers * sizeof(BufferEntry));
	}
	entry = &index->buffers[index->nbuffers];
	entry->next = file->newest;
	file->newest = index->nbuffers++;
	return entry;
}

/*
 * Scans the descriptors once for the pages of one relation or, without one, of
 * all relations of this database, or of all if the process has none.
 *
 * Locks the headers of these pages, one at a time.  A page that is replaced during the
 * scan may be missed, or found twice.  About 3 ns per buffer, and 20 ns more for each
 * buffer found.  Memory: 8 bytes for each buffer found.
 */
PbpPoolIndex *
pbp_pool_index(const PbpLocator *only)
{
	PbpPoolIndex *index = palloc0(sizeof(*index));
	HASHCTL		ctl = {
		.keysize = sizeof(FileKey),.entrysize = sizeof(FileEntry),.hcxt = CurrentMemoryContext
	};
	FileEntry  *file = NULL;
	PbpWalk		walk;
	PbpPage		page;

	index->files = hash_create("pgbufprobe files", 1024, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	index->max_buffers = Min(NBuffers, FIRST_BUFFERS);
	index->buffers = palloc(index->max_buffers * sizeof(BufferEntry));
	pbp_walk_begin(&walk, NBuffers);
	while (pbp_walk_page(&walk, only, &page))
	{
		FileKey		key = file_key(BufTagGetRelFileLocator(&page.tag), BufTagGetForkNum(&page.tag),
								   page.tag.blockNum / RELSEG_SIZE);
		BufferEntry *entry;

		if (only == NULL && !is_of_this_database(&page.tag))
			continue;
		/* neighbors mostly belong to the same file */
		if (file == NULL || memcmp(&file->key, &key, sizeof(key)) != 0)
		{
			bool		found;

			/* in a large table each lookup waits for memory */
			CHECK_FOR_INTERRUPTS();
			file = hash_search(index->files, &key, HASH_ENTER, &found);
			if (!found)
				file->newest = NO_ENTRY;
		}
		entry = add_buffer(index, file);
		entry->block = page.tag.blockNum % RELSEG_SIZE;
		entry->usage = (uint32) BUF_STATE_GET_USAGECOUNT(page.state);
	}
	return index;
}

/*
 * Sets the level of each block of a segment that is in shared buffers: its
 * usage count plus one.  There are nblocks levels, all 0; blocks past them, of a
 * file that has become shorter, are left out.  Returns the number of blocks
 * found.
 *
 * A block that moved to another buffer during the scan may have been found in
 * both; it counts once, with the state that was found last.
 */
int64
pbp_pool_levels(const PbpPoolIndex *index, const PbpLocator *locator, ForkNumber fork,
				int segment, uint8 *levels, int64 nblocks)
{
	FileKey		key = file_key(*locator, fork, segment);
	FileEntry  *file = hash_search(index->files, &key, HASH_FIND, NULL);
	int64		found = 0;

	for (int i = file == NULL ? NO_ENTRY : file->newest; i != NO_ENTRY; i = index->buffers[i].next)
	{
		const BufferEntry *entry = &index->buffers[i];

		if (entry->block >= nblocks || levels[entry->block] != 0)
			continue;
		levels[entry->block] = (uint8) (entry->usage + 1);
		found++;
	}
	return found;
}

void
pbp_pool_index_free(PbpPoolIndex *index)
{
	hash_destroy(index->files);
	pfree(index->buffers);
	pfree(index);
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

/*
 * exact_caches.c
 *	  An exact model of both caches: the server's buffer pool, and the kernel's page
 *	  cache below it.
 *
 * The pool is a clock sweep with ring buffers as in freelist.c; the page cache has an
 * active and an inactive list as in mm/workingset.c, or MGLRU.  Each page of either is kept, and
 * each access and write is played in full.
 *
 * src/simulator has both caches, too, for a sample of the pages, and learns what was
 * accessed from looks alone.  What it estimates is compared with this model.  So the
 * model shares no code with it: a fault of shared code would be in both, and no test would
 * find it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_caches.h"
#include "os/osmemory.h"

#define INACTIVE	0
#define ACTIVE		1

/* ---- the pool ---- */

void
pool_init(Pool *pool, int nbuffers, int npages)
{
	memset(pool, 0, sizeof(*pool));
	pool->nbuffers = nbuffers;
	pool->page = malloc(sizeof(int) * (size_t) nbuffers);
	pool->usage = calloc((size_t) nbuffers, 1);
	pool->buffer = malloc(sizeof(int) * (size_t) npages);
	for (int i = 0; i < npages; i++)
		pool->buffer[i] = NONE;
	for (int i = 0; i < RING; i++)
		pool->ring[i] = NONE;
}

void
pool_free(Pool *pool)
{
	free(pool->page);
	free(pool->usage);
	free(pool->buffer);
}

/* StrategyGetBuffer: the free list, then the clock sweep */
static int
clock_victim(Pool *pool)
{
	if (pool->used < pool->nbuffers)
	{
		pool->page[pool->used] = NONE;
		return pool->used++;
	}
	for (;;)
	{
		int			buffer = pool->hand;

		pool->hand = buffer + 1 < pool->nbuffers ? buffer + 1 : 0;
		pool->ticks++;
		if (pool->usage[buffer] == 0)
			return buffer;
		pool->usage[buffer]--;
	}
}

/* GetBufferFromRing and AddBufferToRing */
static int
ring_victim(Pool *pool)
{
	int		   *entry = &pool->ring[pool->ring_next];

	pool->ring_next = (pool->ring_next + 1) % RING;
	if (*entry == NONE || pool->usage[*entry] > 1 ||
		(pool->ring_leaves > 0 && pool->ring_reads % pool->ring_leaves == 0))
		*entry = clock_victim(pool);
	return *entry;
}

/* PinBuffer on a hit; BufferAlloc on a miss */
void
pool_access(Pool *pool, int page, bool bulk)
{
	int			buffer = pool->buffer[page];

	if (buffer != NONE)
	{
		if (bulk ? pool->usage[buffer] == 0 : pool->usage[buffer] < USAGE_MAX)
			pool->usage[buffer]++;
		pool->hits += !bulk;
		pool->ring_hits += bulk;
		return;
	}
	buffer = bulk ? ring_victim(pool) : clock_victim(pool);
	if (pool->page[buffer] != NONE)
		pool->buffer[pool->page[buffer]] = NONE;
	pool->page[buffer] = page;
	pool->buffer[page] = buffer;
	pool->usage[buffer] = 1;
	pool->reads += !bulk;
	pool->ring_reads += bulk;
}

/* ---- the page cache ---- */

void
cache_take_out(KernelCache *cache, int page)
{
	KernelPage *record = &cache->pages[page];
	KernelList *list = &cache->lists[record->list];

	if (record->newer == NONE)
		list->newest = record->older;
	else
		cache->pages[record->newer].older = record->older;
	if (record->older == NONE)
		list->oldest = record->newer;
	else
		cache->pages[record->older].newer = record->newer;
	list->npages--;
	record->list = NONE;
}

void
cache_put_in(KernelCache *cache, int page, int which)
{
	KernelPage *record = &cache->pages[page];
	KernelList *list = &cache->lists[which];

	record->list = which;
	record->newer = NONE;
	record->older = list->newest;
	if (list->newest == NONE)
		list->oldest = page;
	else
		cache->pages[list->newest].newer = page;
	list->newest = page;
	list->npages++;
}

/* At the end of what is evicted next. */
void
cache_put_in_last(KernelCache *cache, int page, int which)
{
	KernelPage *record = &cache->pages[page];
	KernelList *list = &cache->lists[which];

	record->list = which;
	record->older = NONE;
	record->newer = list->oldest;
	if (list->oldest == NONE)
		list->newest = page;
	else
		cache->pages[list->oldest].older = page;
	list->oldest = page;
	list->npages++;
}

static void
reclaim(KernelCache *cache)
{
	int			page;

	while (cache->lists[INACTIVE].npages * cache->ratio < cache->lists[ACTIVE].npages)
	{
		page = cache->lists[ACTIVE].oldest;
		cache_take_out(cache, page);
		cache_put_in(cache, page, INACTIVE);
	}
	page = cache->lists[INACTIVE].oldest;
	cache_take_out(cache, page);
	cache->pages[page].evicted_at = cache->age++;
}

/* True if it evicted the page so recently that a read takes it to the active list. */
bool
cache_evicted_recently(const KernelCache *cache, int page)
{
	int64_t		evicted_at = cache->pages[page].evicted_at;

	return evicted_at >= 0 && cache->age - evicted_at <= cache->lists[ACTIVE].npages;
}

/* True if the read waits for storage. */
static bool
cache_read(KernelCache *cache, int page)
{
	KernelPage *record = &cache->pages[page];

	if (cache->mglru)
		return mglru_read(cache, page);
	if (record->list == ACTIVE)
		return false;
	if (record->list == INACTIVE)
	{
		cache_take_out(cache, page);
		cache_put_in(cache, page, ACTIVE);
		cache->age++;
		return false;
	}
	if (cache->capacity <= 0)
		return true;
	if (cache_evicted_recently(cache, page))
	{
		record->list = ACTIVE;
		cache->age++;
	}
	while (cache->lists[INACTIVE].npages + cache->lists[ACTIVE].npages >= cache->capacity)
		reclaim(cache);
	cache_put_in(cache, page, record->list == ACTIVE ? ACTIVE : INACTIVE);
	return true;
}

/* A write takes no page to the active list. */
static void
cache_write(KernelCache *cache, int page)
{
	if (cache->mglru)
	{
		mglru_write(cache, page);
		return;
	}
	if (cache->pages[page].list != NONE || cache->capacity <= 0)
		return;
	while (cache->lists[INACTIVE].npages + cache->lists[ACTIVE].npages >= cache->capacity)
		reclaim(cache);
	cache_put_in(cache, page, INACTIVE);
}

/* ---- both caches ---- */

PbpEviction exact_eviction = PBP_EVICTS_BY_LISTS;

int
megabytes(int n)
{
	return n * (MEMORY / 1024);
}

/* What a pool leaves to the page cache. */
int
os_pages(int nbuffers)
{
	return MEMORY - RESERVED - (int) (pbp_pool_bytes((int64_t) nbuffers * BLOCK_BYTES) / BLOCK_BYTES);
}

void
memory_init(Memory *memory, int npages, int nbuffers, int os_pages, int block_bytes)
{
	int			nfile_pages = npages + WAL_PAGES;
	KernelCache *cache = &memory->cache;
	int			gigabytes = (int) ((int64_t) os_pages * block_bytes >> 30);

	memset(memory, 0, sizeof(*memory));
	pool_init(&memory->pool, nbuffers, npages);
	cache->capacity = os_pages;
	cache->ratio = gigabytes < 1 ? 1 : (int) sqrt(10 * gigabytes);
	for (int i = 0; i < 4; i++)
		cache->lists[i] = (KernelList) {0, NONE, NONE};
	cache->mglru = exact_eviction != PBP_EVICTS_BY_LISTS;
	cache->new_mglru = exact_eviction == PBP_EVICTS_BY_MGLRU_6_14;
	cache->min_seq = 1;
	cache->max_seq = 3;
	memory->npages = npages;
	memory->answers = malloc((size_t) npages);
	memset(memory->answers, NONE, (size_t) npages);
	memory->evictable = malloc(sizeof(int) * (size_t) nbuffers);
	for (int i = 0; i < nbuffers; i++)
		memory->evictable[i] = NONE;
	cache->pages = malloc(sizeof(KernelPage) * (size_t) nfile_pages);
	for (int i = 0; i < nfile_pages; i++)
		cache->pages[i] = (KernelPage) {NONE, NONE, NONE, 0, -1};
}

void
memory_free(Memory *memory)
{
	free(memory->answers);
	pool_free(&memory->pool);
	free(memory->evictable);
	free(memory->cache.pages);
}

void
memory_access(Memory *memory, int page)
{
	bool		scans = memory->rings_from > 0 && page >= memory->rings_from;
	int		   *evicted;
	bool		waits;

	if (scans && memory->rings_again)
		page -= memory->rings_from;
	pool_access(&memory->pool, page, scans);
	memory->accesses++;
	memory->scanned += scans;
	if (memory->wal_from > 0 && memory->accesses % ACCESSES_PER_WAL == 0)
		cache_write(&memory->cache, memory->wal_from + (int) (memory->wal_pages++ % WAL_PAGES));
	if (memory->others_from > 0)
		(void) cache_read(&memory->cache, memory->others_from + (int) (memory->accesses % memory->other_pages));
	if (memory->pool.reads + memory->pool.ring_reads == memory->reads)
		return;
	memory->reads = memory->pool.reads + memory->pool.ring_reads;
	evicted = &memory->evictable[memory->pool.buffer[page]];
	if (memory->written_from > 0 && *evicted >= memory->written_from)
		cache_write(&memory->cache, *evicted);
	*evicted = page;
	waits = cache_read(&memory->cache, page);
	memory->storage_reads += waits;
	memory->scan_waits += scans && waits;
}

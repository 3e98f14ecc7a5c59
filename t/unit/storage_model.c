/*
 * storage_model.c
 *	  The kernel's page cache below the server's buffer pool, page by page.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/osmemory.h"
#include "storage_model.h"

#define INACTIVE	0
#define ACTIVE		1

/* ---- the page cache ---- */

static void
take_out(KernelCache *cache, int page)
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

static void
put_in(KernelCache *cache, int page, int which)
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

static void
reclaim(KernelCache *cache)
{
	int			page;

	while (cache->lists[INACTIVE].npages * cache->ratio < cache->lists[ACTIVE].npages)
	{
		page = cache->lists[ACTIVE].oldest;
		take_out(cache, page);
		put_in(cache, page, INACTIVE);
	}
	page = cache->lists[INACTIVE].oldest;
	take_out(cache, page);
	cache->pages[page].evicted_at = cache->age++;
}

/* True if the read waits for storage. */
static bool
cache_read(KernelCache *cache, int page)
{
	KernelPage *record = &cache->pages[page];

	if (record->list == ACTIVE)
		return false;
	if (record->list == INACTIVE)
	{
		take_out(cache, page);
		put_in(cache, page, ACTIVE);
		cache->age++;
		return false;
	}
	if (cache->capacity <= 0)
		return true;
	if (record->evicted_at >= 0 && cache->age - record->evicted_at <= cache->lists[ACTIVE].npages)
	{
		record->list = ACTIVE;
		cache->age++;
	}
	while (cache->lists[INACTIVE].npages + cache->lists[ACTIVE].npages >= cache->capacity)
		reclaim(cache);
	put_in(cache, page, record->list == ACTIVE ? ACTIVE : INACTIVE);
	return true;
}

/* A write takes no page to the active list. */
static void
cache_write(KernelCache *cache, int page)
{
	if (cache->pages[page].list != NONE || cache->capacity <= 0)
		return;
	while (cache->lists[INACTIVE].npages + cache->lists[ACTIVE].npages >= cache->capacity)
		reclaim(cache);
	put_in(cache, page, INACTIVE);
}

/* ---- both caches ---- */

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
	cache->lists[0] = cache->lists[1] = (KernelList) {0, NONE, NONE};
	memory->evictable = malloc(sizeof(int) * (size_t) nbuffers);
	for (int i = 0; i < nbuffers; i++)
		memory->evictable[i] = NONE;
	cache->pages = malloc(sizeof(KernelPage) * (size_t) nfile_pages);
	for (int i = 0; i < nfile_pages; i++)
		cache->pages[i] = (KernelPage) {NONE, NONE, NONE, -1};
}

void
memory_free(Memory *memory)
{
	pool_free(&memory->pool);
	free(memory->evictable);
	free(memory->cache.pages);
}

void
memory_access(Memory *memory, int page)
{
	int		   *evicted;

	pool_access(&memory->pool, page, memory->rings_from > 0 && page >= memory->rings_from);
	memory->accesses++;
	if (memory->wal_from > 0 && memory->accesses % ACCESSES_PER_WAL == 0)
		cache_write(&memory->cache, memory->wal_from + (int) (memory->wal_pages++ % WAL_PAGES));
	if (memory->pool.reads + memory->pool.ring_reads == memory->reads)
		return;
	memory->reads = memory->pool.reads + memory->pool.ring_reads;
	evicted = &memory->evictable[memory->pool.buffer[page]];
	if (memory->written_from > 0 && *evicted >= memory->written_from)
		cache_write(&memory->cache, *evicted);
	*evicted = page;
	memory->storage_reads += cache_read(&memory->cache, page);
}

/* Storage reads as a share of the accesses, by both caches at full size. */
double
true_storage_ratio(Load load, int nbuffers, int os_pages)
{
	Memory		memory;
	LoadTrace	trace;
	int64_t		window_start = (int64_t) WARM_UP * MEMORY;
	int64_t		window_end = window_start + (int64_t) WINDOW * MEMORY;
	int64_t		before = 0;
	double		ratio;

	memory_init(&memory, load_pages(MEMORY), nbuffers, os_pages, BLOCK_BYTES);
	memory.written_from = load_written_from(load, MEMORY);
	memory.wal_from = load_wal_from(load, MEMORY);
	load_init(&trace, load, MEMORY, 7);
	while (memory.accesses < window_end)
	{
		memory_access(&memory, load_next(&trace));
		if (memory.accesses == window_start)
			before = memory.storage_reads;
	}
	ratio = (double) (memory.storage_reads - before) / (double) (window_end - window_start);
	memory_free(&memory);
	return ratio;
}

/* What was written since the last call. */
static void
pass_on_wal(Run *run, const Memory *memory, int64_t *wal_pages)
{
	for (int j = 0; j < SAMPLES && run->advice[j]; j++)
		pbp_advice_write_wal(run->advice[j], (uint64_t) *wal_pages * BLOCK_BYTES, (uint64_t) memory->wal_pages * BLOCK_BYTES,
							 (uint64_t) WAL_PAGES * BLOCK_BYTES);
	*wal_pages = memory->wal_pages;
}

/* ---- scenes ---- */

/* Without storage_bytes, the advice simulates no page caches. */
void
scene_start(Scene *scene, Load load, int nbuffers, int os_cache, size_t storage_bytes)
{
	memset(scene, 0, sizeof(*scene));
	scene->run = (Run) {.nbuffers = nbuffers, .looks_per_pass = 8};
	start(&scene->run, 1, (size_t) nbuffers * 20, 1.0 / 10);
	memory_init(&scene->memory, load_pages(MEMORY), nbuffers, os_cache, BLOCK_BYTES);
	load_init(&scene->trace, load, MEMORY, 7);
	if (storage_bytes > 0)
		pbp_advice_init_storage(scene->run.advice[0], malloc(storage_bytes), storage_bytes, BLOCK_BYTES);
}

/* One access, and a look if one is due: true. */
bool
scene_step(Scene *scene)
{
	Trace		clock = {0};
	int64_t		looked = scene->watch.ticks;

	memory_access(&scene->memory, load_next(&scene->trace));
	clock.count = scene->memory.accesses;
	watch_pool(&scene->run, &scene->memory.pool, &clock, &scene->watch);
	return scene->watch.ticks != looked;
}

/* A number of accesses for each page of memory. */
void
scene_run(Scene *scene, double accesses)
{
	int64_t		end = scene->memory.accesses + (int64_t) (accesses * MEMORY);

	while (scene->memory.accesses < end)
		scene_step(scene);
}

void
scene_finish(Scene *scene)
{
	memory_free(&scene->memory);
	finish(&scene->run);
}

/* Learn from a pool above a page cache, whose size is given to the advice, times a factor. */
void
learn_storage(Run *run, Load load, int os_pages, double factor, LookHook hook)
{
	Scene		scene = {.run = *run};
	Memory	   *memory = &scene.memory;
	int64_t		reads = 0;
	int64_t		storage_reads = 0;
	int64_t		wal_pages = 0;

	memory_init(memory, load_pages(MEMORY), run->nbuffers, os_pages, BLOCK_BYTES);
	memory->written_from = scene.run.written_from = load_written_from(load, MEMORY);
	memory->wal_from = load_wal_from(load, MEMORY);
	load_init(&scene.trace, load, MEMORY, 7);
	for (int j = 0; j < SAMPLES && run->advice[j]; j++)
	{
		pbp_advice_init_storage(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
		if (run->totals)
			pbp_advice_init_totals(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES);
		pbp_advice_set_os_cache(run->advice[j], (int64_t) (factor * os_pages));
	}
	while (memory->accesses < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		if (!scene_step(&scene))
			continue;
		pass_on_wal(run, memory, &wal_pages);
		if (hook == NULL)
			continue;
		hook(run, memory->reads - reads, memory->storage_reads - storage_reads);
		reads = memory->reads;
		storage_reads = memory->storage_reads;
	}
	memory_free(memory);
}

/* ---- traces ---- */

const char *const load_names[LOADS] = {
	"accounts", "updates", "updates, WAL", "zipf", "uniform", "scan and zipf", "shifting"
};

/* Rows of pgbench_accounts that fill 2.25 times the memory, with their index. */
static uint64_t
accounts(int memory)
{
	return (uint64_t) (114.44 * memory);
}

static int
heap_pages(int memory)
{
	return (int) (accounts(memory) / 61) + 1;
}

int
load_pages(int memory)
{
	return memory / 4 * 9;
}

/* The first page of the accounts' rows, which come last. */
int
load_written_from(Load load, int memory)
{
	return load == UPDATES || load == UPDATES_AND_WAL ? load_pages(memory) - heap_pages(memory) : 0;
}

/* WAL comes behind all tables; 0: there is none. */
int
load_wal_from(Load load, int memory)
{
	return load == UPDATES_AND_WAL ? load_pages(memory) : 0;
}

void
load_init(LoadTrace *trace, Load load, int memory, uint64_t seed)
{
	memset(trace, 0, sizeof(*trace));
	trace->load = load;
	trace->memory = memory;
	trace->random.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

/* To the power of -50, without pow(), which would take a sixth of the time of these tests. */
static double
inverse_power(double x)
{
	double		x2 = x * x;
	double		x4 = x2 * x2;
	double		x8 = x4 * x4;
	double		x16 = x8 * x8;

	return 1 / (x16 * x16 * x16 * x2);
}

/* One of n, that of rank r with a probability of r^-1.02, nearly */
static uint64_t
zipf_rank(Random *random, double n)
{
	static double last_n = 0;
	static double most;

	if (n != last_n)
		most = pow(n + 1, 1 - 1.02);
	last_n = n;
	return (uint64_t) inverse_power(1 - next_share(random) * (1 - most)) - 1;
}

static uint64_t
permuted(uint64_t rank, uint64_t n)
{
	return key_of((int) rank, 99) % n;
}

/* Root, inner page and leaf of the index, and the row's page, as pgbench has them. */
static int
accounts_page(LoadTrace *trace)
{
	uint64_t	rows = accounts(trace->memory);
	int			leaves = (int) (rows / 366) + 1;

	switch (trace->step++ % 4)
	{
		case 0:
			trace->row = permuted(zipf_rank(&trace->random, (double) rows), rows);
			return 0;
		case 1:
			return 1 + (int) (trace->row / 366 / 285);
		case 2:
			return 1 + leaves / 285 + 1 + (int) (trace->row / 366);
		default:
			return load_pages(trace->memory) - heap_pages(trace->memory) + (int) (trace->row / 61);
	}
}

int
load_next(LoadTrace *trace)
{
	Random	   *random = &trace->random;
	int			npages = load_pages(trace->memory);
	int			scanned = trace->memory / 2;
	int64_t		count = trace->count++;

	switch (trace->load)
	{
		case ZIPF_PAGES:
			return (int) permuted(zipf_rank(random, npages), (uint64_t) npages);
		case UNIFORM_PAGES:
			return below(random, npages);
		case SCAN_AND_ZIPF:
			if (below(random, 100) < 15)
				return trace->step++ % scanned;
			return scanned + (int) permuted(zipf_rank(random, npages - scanned), (uint64_t) (npages - scanned));
		case SHIFTING:
			/* a window of two fifths of memory, which moves by one page in ten accesses */
			if (below(random, 100) < 85)
				return (int) ((count / 10 + below(random, trace->memory * 2 / 5)) % npages);
			return below(random, npages);
		default:
			return accounts_page(trace);
	}
}

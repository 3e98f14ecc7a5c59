/*
 * storage_model.c
 *	  Scenes, and their loads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

/* ---- traces ---- */

const char *const load_names[ALL_LOADS] = {
	"accounts", "updates", "updates, WAL", "zipf", "uniform", "scan and zipf", "shifting",
	"beside small scans", "beside scans", "beside large scans", "beside own scans", "beside kept scans"
};

/* Rows of pgbench_accounts that fill 2.25 times the memory, with their index. */
#define ACCOUNTS_ROWS	((uint64_t) (114.44 * MEMORY))

/* The first page of these rows, which come last. */
#define FIRST_OF_HEAP	(LOAD_PAGES - (int) (ACCOUNTS_ROWS / 61) - 1)

/* What scans read comes behind what lookups ask for; 0: nothing is scanned. */
static int
load_rings_from(Load load)
{
	return load >= BESIDE_SMALL_SCANS ? MEMORY / 4 * 5 : 0;
}

/* Pages of the table that is scanned. */
static int
load_scanned(Load load)
{
	return load == BESIDE_SMALL_SCANS || load == BESIDE_KEPT_SCANS ? MEMORY * 3 / 10 : load == BESIDE_LARGE_SCANS ? MEMORY : MEMORY * 6 / 10;
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
	uint64_t	rows = ACCOUNTS_ROWS;
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
			return FIRST_OF_HEAP + (int) (trace->row / 61);
	}
}

int
load_next(LoadTrace *trace)
{
	Random	   *random = &trace->random;
	int			npages = LOAD_PAGES;
	int			scanned = MEMORY / 2;
	int64_t		count = trace->count++;
	int			looked_up = load_rings_from(trace->load);

	if (looked_up > 0)
		return count % 3 == 0 ? looked_up + trace->step++ % load_scanned(trace->load) :
			(int) permuted(zipf_rank(random, looked_up), (uint64_t) looked_up);
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
				return (int) ((count / 10 + below(random, MEMORY * 2 / 5)) % npages);
			return below(random, npages);
		default:
			return accounts_page(trace);
	}
}

/* ---- the truth ---- */

/* Both caches are empty, and the load begins, without its WAL, which comes behind all tables. */
static void
begin(Memory *memory, LoadTrace *trace, Load load, int nbuffers, int os_cache)
{
	memory_init(memory, LOAD_PAGES, nbuffers, os_cache, BLOCK_BYTES);
	memory->written_from = load == UPDATES || load == UPDATES_AND_WAL ? FIRST_OF_HEAP : 0;
	memory->rings_from = load_rings_from(load);
	memory->rings_again = load == BESIDE_OWN_SCANS;
	memory->pool.ring_leaves = load == BESIDE_KEPT_SCANS ? 8 : 0;
	*trace = (LoadTrace) {.load = load,.random.state = 7 * UINT64_C(0x9E3779B97F4A7C15) + 1};
}

/* By both caches at full size; another program reads so many pages again and again. */
Waits
true_waits(Load load, int nbuffers, int os_pages, int other_pages)
{
	Memory		memory;
	Memory		before = {0};
	LoadTrace	trace;
	int64_t		window_start = (int64_t) WARM_UP * MEMORY;
	double		scanned;
	double		scan_waits;
	Waits		waits;

	begin(&memory, &trace, load, nbuffers, os_pages);
	memory.wal_from = load == UPDATES_AND_WAL ? LOAD_PAGES : 0;
	memory.others_from = other_pages > 0 ? LOAD_PAGES : 0;
	memory.other_pages = other_pages;
	while (memory.accesses < window_start + (int64_t) WINDOW * MEMORY)
	{
		memory_access(&memory, load_next(&trace));
		if (memory.accesses == window_start)
			before = memory;
	}
	scanned = (double) (memory.scanned - before.scanned);
	scan_waits = (double) (memory.scan_waits - before.scan_waits);
	waits.lookups = ((double) (memory.storage_reads - before.storage_reads) - scan_waits) / ((double) WINDOW * MEMORY - scanned);
	waits.misses = (double) (memory.pool.reads - before.pool.reads) / ((double) WINDOW * MEMORY - scanned);
	waits.scans = scan_waits / scanned;
	memory_free(&memory);
	return waits;
}

double
true_storage_ratio(Load load, int nbuffers, int os_pages)
{
	return true_waits(load, nbuffers, os_pages, 0).lookups;
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

/* A table is scanned again and again. */
static void
pass_on_scans(Run *run, Load load, const Memory *memory, int64_t *scanned)
{
	for (; *scanned < memory->scanned; ++*scanned)
	{
		int			page = (int) (*scanned % load_scanned(load)) + (memory->rings_again ? 0 : memory->rings_from);

		for (int j = 0; j < SAMPLES && run->advice[j]; j++)
			pbp_advice_scan(run->advice[j], key_of(page, sample_seed(run, j)), !memory->rings_again);
	}
}

/* ---- scenes ---- */

/* Both caches are empty, and the load begins.  The run is given. */
void
scene_begin(Scene *scene, Load load, int os_cache)
{
	begin(&scene->memory, &scene->trace, load, scene->run.nbuffers, os_cache);
	scene->run.written_from = scene->memory.written_from;
	scene->run.scanned_from = scene->memory.rings_again ? 0 : scene->memory.rings_from;
}

/* Without storage_bytes, the advice simulates no page caches. */
void
scene_start(Scene *scene, Load load, int nbuffers, int os_cache, size_t storage_bytes)
{
	memset(scene, 0, sizeof(*scene));
	scene->run = (Run) {.nbuffers = nbuffers, .looks_per_pass = 8};
	start(&scene->run, 1, (size_t) nbuffers * 20, 1.0 / 10);
	scene_begin(scene, load, os_cache);
	if (storage_bytes > 0)
		pbp_advice_init_storage(scene->run.advice[0], malloc(storage_bytes), storage_bytes, BLOCK_BYTES);
}

/* As probes of all pages would. */
void
ask_for_all(Memory *memory)
{
	for (int i = 0; i < memory->npages; i++)
		memory->answers[i] = memory->cache.pages[i].list != NONE;
}

/* An access of the pool.  Reads through rings are not compared: no look sees them. */
void
access_and_compare(Run *run, Memory *memory, int page)
{
	int64_t		reads = memory->pool.reads;
	int			cached = memory->answers[page];

	memory_access(memory, page);
	if (memory->pool.reads == reads)
		return;
	memory->answers[page] = NONE;
	for (int j = 0; j < SAMPLES && run->advice[j] && cached != NONE; j++)
	{
		uint64_t	key = key_of(page, sample_seed(run, j));
		double		simulated = pbp_advice_sampled(run->advice[j], key) ? pbp_advice_caches(run->advice[j], key).cached : NAN;

		if (isnan(simulated))
			continue;
		run->compared[j].reads++;
		run->compared[j].served_more += cached - simulated;
	}
}

/* One access, and a look if one is due: true. */
bool
scene_step(Scene *scene)
{
	Trace		clock = {0};
	int64_t		looked = scene->watch.ticks;

	access_and_compare(&scene->run, &scene->memory, load_next(&scene->trace));
	clock.count = scene->memory.accesses;
	watch_pool(&scene->run, &scene->memory.pool, &clock, &scene->watch);
	if (scene->watch.ticks == looked)
		return false;
	ask_for_all(&scene->memory);
	return true;
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
	int64_t		scanned = 0;

	scene_begin(&scene, load, os_pages);
	memory->wal_from = load == UPDATES_AND_WAL ? LOAD_PAGES : 0;
	for (int j = 0; j < SAMPLES && run->advice[j]; j++)
	{
		pbp_advice_facts(run->advice[j])->scanned_alone = memory->rings_from > 0 && !memory->rings_again ? load_scanned(load) : 0;
		pbp_advice_init_storage(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
		if (run->totals)
			pbp_advice_init_totals(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES);
		pbp_advice_set_eviction(run->advice[j], exact_eviction, true);
		pbp_advice_set_os_cache(run->advice[j], (int64_t) (factor * os_pages));
	}
	while (memory->accesses < (int64_t) (WARM_UP + WINDOW) * MEMORY)
	{
		if (!scene_step(&scene))
			continue;
		pass_on_wal(run, memory, &wal_pages);
		pass_on_scans(run, load, memory, &scanned);
		if (hook == NULL)
			continue;
		hook(&scene.run, memory->reads - reads, memory->storage_reads - storage_reads);
		reads = memory->reads;
		storage_reads = memory->storage_reads;
	}
	memory_free(memory);
}

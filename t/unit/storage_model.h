/*
 * storage_model.h
 *	  A scene: the exact model of both caches that runs a load, observed by the advice as
 *	  on a bench.
 *
 * Tests of storage reads use it.  Loads are in proportion to the memory that both caches
 * share, and the truth is what waits for storage at other splits of it.  A bench, see
 * advice_model.h, has no page cache, so that it runs several times as many loads in
 * the same time.
 */
#ifndef STORAGE_MODEL_H
#define STORAGE_MODEL_H

#include "advice_model.h"

#define STORAGE_BYTES	((size_t) 2 * 1024 * 1024)
#define WARM_UP			24		/* accesses for each page of memory */
#define WINDOW			16
#define LOAD_PAGES		(MEMORY / 4 * 9)	/* that loads ask for */

typedef enum Load
{
	ACCOUNTS,					/* pgbench -S, by random_zipfian(1.02) */
	UPDATES,					/* the same, and all rows are updated */
	UPDATES_AND_WAL,			/* the same, and WAL is written */
	ZIPF_PAGES,
	UNIFORM_PAGES,
	SCAN_AND_ZIPF,
	SHIFTING,
	LOADS,
	BESIDE_SMALL_SCANS = LOADS, /* of the pages that lookups ask for, two thirds; the others are those */
	BESIDE_SCANS,				/* of a table of 0.3, 0.6 or 1 of the memory, through a ring */
	BESIDE_LARGE_SCANS,
	BESIDE_OWN_SCANS,			/* of 0.6 of the memory, which are pages that lookups ask for */
	BESIDE_KEPT_SCANS,			/* of 0.3, of which the pool keeps one page in eight */
	ALL_LOADS
} Load;

/* Misses and storage reads as a share of lookups, and storage reads of what scans come to. */
typedef struct Waits
{
	double		misses;
	double		lookups;
	double		scans;
} Waits;

typedef struct LoadTrace
{
	Load		load;
	Random		random;
	int64_t		count;
	int			step;			/* of a transaction */
	uint64_t	row;			/* that it is about */
} LoadTrace;

/* Both caches under observation, in steps. */
typedef struct Scene
{
	Run			run;
	Memory		memory;
	LoadTrace	trace;
	Watch		watch;
} Scene;

/* Called after each look, with what has happened since the last call. */
typedef void (*LookHook) (Run *run, int64_t reads, int64_t storage_reads);

extern const char *const load_names[ALL_LOADS];

extern int	load_next(LoadTrace *trace);
extern Waits true_waits(Load load, int nbuffers, int os_pages, int other_pages);
extern double true_storage_ratio(Load load, int nbuffers, int os_pages);
extern void scene_begin(Scene *scene, Load load, int os_cache);
extern void scene_start(Scene *scene, Load load, int nbuffers, int os_cache, size_t storage_bytes);
extern void ask_for_all(Memory *memory);
extern void access_and_compare(Run *run, Memory *memory, int page);
extern bool scene_step(Scene *scene);
extern void scene_run(Scene *scene, double accesses);
extern void scene_finish(Scene *scene);
extern void learn_storage(Run *run, Load load, int os_pages, double factor, LookHook hook);

#endif							/* STORAGE_MODEL_H */

/*
 * storage_model.h
 *	  A model of memory that a buffer pool and the kernel's page cache share, and
 *	  traces of pages that are asked of it.
 */
#ifndef STORAGE_MODEL_H
#define STORAGE_MODEL_H

#include "advice_model.h"

/* A server of 1 GB in pages of 16 kB, of which neither cache has 30 MB. */
#define MEMORY			65536
#define BLOCK_BYTES		16384
#define RESERVED		1920

/* WAL: accesses for each page of it, and pages of its files together. */
#define ACCESSES_PER_WAL	8
#define WAL_PAGES			(MEMORY / 2)

#define STORAGE_BYTES	((size_t) 2 * 1024 * 1024)
#define WARM_UP			24		/* accesses for each page of memory */
#define WINDOW			16

typedef struct KernelList
{
	int			npages;
	int			newest;
	int			oldest;
} KernelList;

typedef struct KernelPage
{
	int			newer;			/* in its list */
	int			older;
	int			list;			/* ACTIVE or INACTIVE, or NONE */
	int64_t		evicted_at;		/* by age; negative: never */
} KernelPage;

/* The kernel's page cache, by two lists. */
typedef struct KernelCache
{
	int			capacity;
	int			ratio;
	int64_t		age;			/* evictions and activations */
	KernelList	lists[2];
	KernelPage *pages;
} KernelCache;

typedef enum Load
{
	ACCOUNTS,					/* pgbench -S, by random_zipfian(1.02) */
	UPDATES,					/* the same, and all rows are updated */
	UPDATES_AND_WAL,			/* the same, and WAL is written */
	ZIPF_PAGES,
	UNIFORM_PAGES,
	SCAN_AND_ZIPF,
	SHIFTING,
	LOADS
} Load;

typedef struct LoadTrace
{
	Load		load;
	int			memory;			/* pages, which the traces are in proportion to */
	Random		random;
	int64_t		count;
	int			step;			/* of a transaction */
	uint64_t	row;			/* that it is about */
} LoadTrace;

/* What was asked of both caches, and where it came from. */
typedef struct Memory
{
	Pool		pool;
	KernelCache cache;
	int			written_from;	/* this page and those after it are dirty; 0: none */
	int			wal_from;		/* the pages of WAL are this one and those after it */
	int			rings_from;		/* these and those after it are read through a ring; 0: none */
	int64_t		wal_pages;		/* that were written */
	int		   *evictable;		/* of each buffer, the page before the last read */
	int64_t		accesses;
	int64_t		reads;			/* of the page cache */
	int64_t		storage_reads;
} Memory;

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

extern const char *const load_names[LOADS];

extern int	load_pages(int memory);
extern int	load_written_from(Load load, int memory);
extern int	load_wal_from(Load load, int memory);
extern void load_init(LoadTrace *trace, Load load, int memory, uint64_t seed);
extern int	load_next(LoadTrace *trace);
extern int	megabytes(int n);
extern int	os_pages(int nbuffers);
extern void memory_init(Memory *memory, int npages, int nbuffers, int os_pages, int block_bytes);
extern void memory_access(Memory *memory, int page);
extern void memory_free(Memory *memory);
extern double true_storage_ratio(Load load, int nbuffers, int os_pages);
extern void scene_start(Scene *scene, Load load, int nbuffers, int os_cache, size_t storage_bytes);
extern bool scene_step(Scene *scene);
extern void scene_run(Scene *scene, double accesses);
extern void scene_finish(Scene *scene);
extern void learn_storage(Run *run, Load load, int os_pages, double factor, LookHook hook);

#endif							/* STORAGE_MODEL_H */

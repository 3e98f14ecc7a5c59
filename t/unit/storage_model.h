/*
 * storage_model.h
 *	  A model of memory that a buffer pool and the kernel's page cache share, and
 *	  traces of pages that are asked of it.
 */
#ifndef STORAGE_MODEL_H
#define STORAGE_MODEL_H

#include "advice_model.h"

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
	ZIPF_PAGES,
	UNIFORM_PAGES,
	SCAN_AND_ZIPF,
	SHIFTING,
	LOADS
} Load;

typedef struct LoadTrace
{
	Load		load;
	int			memory;			/* pages of the pool and the page cache */
	Random		random;
	int64_t		count;
	int			step;			/* of a transaction */
	uint64_t	row;			/* that it is about */
} LoadTrace;

/* What was asked of both levels, and where it came from. */
typedef struct Memory
{
	Pool		pool;
	KernelCache cache;
	int64_t		accesses;
	int64_t		storage_reads;
} Memory;

extern const char *const load_names[LOADS];

extern int	load_pages(int memory);
extern void load_init(LoadTrace *trace, Load load, int memory, uint64_t seed);
extern int	load_next(LoadTrace *trace);
extern void memory_init(Memory *memory, int npages, int nbuffers, int os_pages, double gigabytes);
extern void memory_access(Memory *memory, int page);
extern void memory_free(Memory *memory);

#endif							/* STORAGE_MODEL_H */

/*
 * exact_caches.h
 *	  An exact model of the server's buffer pool and the kernel's page cache.
 */
#ifndef EXACT_CACHES_H
#define EXACT_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "os/osmemory.h"

#define USAGE_MAX	5
#define RING		32
#define NONE		(-1)

/* A server of 1 GB in pages of 16 kB, of which neither cache has 30 MB. */
#define MEMORY			65536
#define BLOCK_BYTES		16384
#define RESERVED		1920

/* WAL: accesses for each page of it, and pages of its files together. */
#define ACCESSES_PER_WAL	8
#define WAL_PAGES			(MEMORY / 2)

typedef struct Pool
{
	int			nbuffers;
	int			used;			/* the others are free */
	int			hand;
	int64_t		ticks;
	int		   *page;			/* of each buffer */
	uint8_t    *usage;			/* of each buffer */
	int		   *buffer;			/* of each page, or NONE */
	int			ring[RING];
	int			ring_next;
	int			ring_leaves;	/* each so manieth read of a ring leaves it for good; 0: none */
	int64_t		hits;			/* both without the bulk reads */
	int64_t		reads;
	int64_t		ring_reads;
	int64_t		ring_hits;
} Pool;

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
	int			list;			/* ACTIVE or INACTIVE, or NONE; with MGLRU, a generation */
	int			flags;			/* with MGLRU: accesses, while resident or before */
	int64_t		evicted_at;		/* by age, or generation; negative: never */
} KernelPage;

typedef struct TierCounts
{
	double		refaulted;
	double		total;
	double		avg_refaulted;
	double		avg_total;
} TierCounts;

/* The kernel's page cache, by two lists or MGLRU. */
typedef struct KernelCache
{
	int			capacity;
	int			ratio;
	int64_t		age;			/* evictions and activations */
	KernelList	lists[4];
	KernelPage *pages;
	bool		mglru;
	bool		new_mglru;		/* that of Linux 6.14 and later */
	int64_t		min_seq;
	int64_t		max_seq;
	TierCounts	tiers[4];
} KernelCache;

/* What was asked of both caches, and where it came from. */
typedef struct Memory
{
	Pool		pool;
	KernelCache cache;
	int			written_from;	/* this page and those after it are dirty; 0: none */
	int			wal_from;		/* the pages of WAL are this one and those after it */
	int			others_from;	/* another program reads this page and so many after it, in turn; 0: none does */
	int			other_pages;
	int			rings_from;		/* these and those after it are read through a ring; 0: none */
	bool		rings_again;	/* they are the first ones, which are read otherwise, too */
	int64_t		wal_pages;		/* that were written */
	int		   *evictable;		/* of each buffer, the page before the last read */
	int			npages;
	int8_t	   *answers;		/* of each page, whether it was cached when last asked; NONE: not since it
								 * was loaded */
	int64_t		accesses;
	int64_t		reads;			/* of the page cache */
	int64_t		storage_reads;
	int64_t		scanned;		/* of all accesses, those through a ring */
	int64_t		scan_waits;		/* of these, storage reads */
} Memory;

extern void pool_init(Pool *pool, int nbuffers, int npages);
extern void pool_free(Pool *pool);
extern void pool_access(Pool *pool, int page, bool bulk);
extern int	megabytes(int n);
extern int	os_pages(int nbuffers);
extern void memory_init(Memory *memory, int npages, int nbuffers, int os_pages, int block_bytes);
extern void memory_access(Memory *memory, int page);
extern void memory_free(Memory *memory);

/* How memory that is made from now on evicts: by lists, unless a test sets it. */
extern PbpEviction exact_eviction;

extern void cache_take_out(KernelCache *cache, int page);
extern void cache_put_in(KernelCache *cache, int page, int which);
extern void cache_put_in_last(KernelCache *cache, int page, int which);
extern bool cache_evicted_recently(const KernelCache *cache, int page);

/* exact_mglru.c */
extern bool mglru_read(KernelCache *cache, int page);
extern void mglru_write(KernelCache *cache, int page);
extern void mglru_reclaim(KernelCache *cache);

#endif							/* EXACT_CACHES_H */

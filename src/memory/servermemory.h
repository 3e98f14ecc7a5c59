/*-------------------------------------------------------------------------
 *
 * servermemory.h
 *	  The memory of this server: what it can have, what it uses itself, who may take
 *	  what is left, and whether the kernel's page cache serves its reads as the
 *	  advice models it.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SERVERMEMORY_H
#define PBP_SERVERMEMORY_H

#include "os/osmemory.h"
#include "simulator/simulator.h"

/* ---- in memoryplan.c: who takes memory ---- */

/* What settings allow, in bytes and numbers. */
typedef struct PbpMemorySettings
{
	int64_t		pool_bytes;		/* shared_buffers */
	int64_t		shared_bytes;	/* all shared memory, with these */
	int64_t		wal_buffers_bytes;	/* of these, for WAL */
	int64_t		query_bytes;	/* of one hash table, as large as it may get */
	int64_t		temp_bytes;		/* temp_buffers */
	int64_t		vacuum_bytes;	/* of one autovacuum worker */
	int64_t		maintenance_bytes;
	int64_t		decoding_bytes; /* of one decoding of WAL */
	int64_t		pinned_bytes;	/* buffers that a session may pin at once */
	int			os_page_bytes;
	int			max_processes;
	int			max_sessions;
	int			max_parallel_workers;
	int			max_vacuum_workers; /* 0: autovacuum is off */
	int			max_decoders;	/* 0: WAL is not for logical decoding */
} PbpMemorySettings;

typedef struct PbpProcessCounts
{
	int			processes;		/* of all kinds */
	int			sessions;		/* of these, with a database; not of
								 * autovacuum */
	int			active;			/* of these, executing queries */
	int			decoders;		/* slots for logical decoding */
} PbpProcessCounts;

typedef struct PbpProcesses
{
	PbpProcessCounts now;
	PbpProcessCounts peak;		/* since this process began to look */
	int64_t		private_bytes;	/* of all now; PBP_UNKNOWN possible here and
								 * below */
	int64_t		page_table_bytes;
} PbpProcesses;

/* Who takes memory, and what the kernel says of it. */
typedef struct PbpMemoryFacts
{
	PbpMemorySettings settings;
	PbpProcesses processes;
	PbpOsMemory memory;
} PbpMemoryFacts;

typedef enum PbpConsumer
{
	PBP_POOL,
	PBP_OTHER_SHARED,
	PBP_PAGE_TABLES,
	PBP_PROCESSES,
	PBP_QUERIES,
	PBP_TEMP_BUFFERS,
	PBP_AUTOVACUUM,
	PBP_MAINTENANCE,
	PBP_DECODING,
	PBP_FREE_HUGE_PAGES,
	PBP_OTHERS,					/* the kernel and other programs */
	PBP_PAGE_CACHE,				/* what all of these leave */
	PBP_ALL_MEMORY
} PbpConsumer;

#define PBP_CONSUMERS			(PBP_ALL_MEMORY + 1)

/* In bytes; PBP_UNKNOWN possible. */
typedef struct PbpConsumption
{
	int64_t		today;
	int64_t		most;
	int64_t		reserved;
} PbpConsumption;

typedef struct PbpMemoryPlan
{
	PbpConsumption rows[PBP_CONSUMERS];
	int64_t		missing;		/* bytes, if all take the most at once */
} PbpMemoryPlan;

extern int64_t pbp_multiple(double number, int64_t bytes);
extern void pbp_expect_needs(PbpMemoryFacts *facts);
extern void pbp_plan_memory(const PbpMemoryFacts *facts, const PbpServerMemory *reserved,
							PbpMemoryPlan *plan);

/* ---- in memoryplan.c: how much the page cache can hold, for the advice ---- */

/* How often the capacity is read. */
#define PBP_CAPACITY_NS		(INT64_C(5) * 1000000000)

/* Why there are no figures about storage reads. */
typedef enum PbpStorageModel
{
	PBP_STORAGE_MODELLED,
	PBP_STORAGE_UNPROVEN,		/* an old MGLRU evicts: figures need a note */
	PBP_STORAGE_SWITCHED_OFF,	/* by pgbufprobe.os_cache */
	PBP_STORAGE_DIRECT_IO,		/* the server bypasses the page cache */
	PBP_STORAGE_FILE_SYSTEM,	/* has a cache of its own, or is in memory */
	PBP_STORAGE_NO_INFORMATION, /* the kernel does not report its memory */
	PBP_LAST_STORAGE_MODEL = PBP_STORAGE_NO_INFORMATION
} PbpStorageModel;

static inline bool
pbp_is_modelled(PbpStorageModel model)
{
	return model == PBP_STORAGE_MODELLED || model == PBP_STORAGE_UNPROVEN;
}

typedef PbpStorageModel (*PbpMemoryReader) (PbpOsMemory *memory);

/* All of it may be zero to begin. */
typedef struct PbpCapacity
{
	int64_t		read_ns;		/* 0: never */
	PbpOsMemory memory;			/* when last read */
	PbpStorageModel model;
	double		cache_bytes;	/* its capacity, averaged; 0: unknown */
} PbpCapacity;

extern void pbp_follow_capacity(PbpCapacity *capacity, PbpMemoryReader read, PbpAdvice *advice,
								int block_bytes);

/* ---- in ownfiles.c: this server's files ---- */

typedef struct PbpOwnBytes
{
	int64_t		cached;			/* in the page cache */
	int64_t		all_cached;		/* beside files of others, at that time */
	int64_t		data;			/* files of relations */
	int64_t		wal;			/* and of WAL */
} PbpOwnBytes;

extern void pbp_count_own_files(void);
extern PbpOwnBytes pbp_own_bytes(void);

/* ---- in servermemory.c ---- */

/* Processes at this moment. */
typedef struct PbpWorking
{
	int			active;			/* sessions, as the server counts their active_time */
	int			working;		/* see pbp_working_ms(); and parallel workers */
	int			reading;		/* that wait for a block, and the server counts their reads */
	int			late;			/* of these, those whose reads will be counted much later */
} PbpWorking;

extern PbpMemoryFacts pbp_read_memory_facts(int64_t own_file_bytes, int64_t all_file_bytes);
extern PbpWorking pbp_count_working(void);
extern PbpStorageModel pbp_read_capacity(PbpOsMemory *memory);

#endif							/* PBP_SERVERMEMORY_H */

/*-------------------------------------------------------------------------
 *
 * memoryplan.h
 *	  Who takes memory: what each consumer takes today, may take at most, and
 *	  what the advice leaves for it.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_MEMORYPLAN_H
#define PBP_MEMORYPLAN_H

#include "os/osmemory.h"

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
extern int	pbp_expected_processes(const PbpMemoryFacts *facts);
extern int	pbp_expected_queries(const PbpMemoryFacts *facts);
extern void pbp_expect_needs(PbpMemoryFacts *facts);
extern void pbp_plan_memory(const PbpMemoryFacts *facts, const PbpServerMemory *reserved,
							PbpMemoryPlan *plan);

#endif							/* PBP_MEMORYPLAN_H */

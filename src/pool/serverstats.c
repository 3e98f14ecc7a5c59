/*-------------------------------------------------------------------------
 *
 * serverstats.c
 *	  Counts taken from the server's own statistics.
 *
 * Sessions and the background writer publish these counts, as a rule once a
 * second.  What is seen in the buffer descriptors belongs in descriptors.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pool/pool.h"

/*
 * Allocations that the background writer has published by now.
 *
 * The server's own function caches statistics until the transaction ends, so
 * this count would stand still while the clock hand moves.  This one reads the
 * same memory and keeps the session's cache as it is.  Locks the background
 * writer's statistics, shared.
 */
PbpPublished
pbp_read_published(void)
{
	PgStatShared_BgWriter *shared = &pgStatLocal.shmem->bgwriter;
	PgStat_BgWriterStats stats;
	int64		before_reset;

	pgstat_copy_changecounted_stats(&stats, &shared->stats, sizeof(stats),
									&shared->changecount);
	LWLockAcquire(&shared->lock, LW_SHARED);
	before_reset = shared->reset_offset.buf_alloc;
	LWLockRelease(&shared->lock);

	return (PbpPublished)
	{
		stats.buf_alloc - before_reset, stats.stat_reset_timestamp
	};
}

/*
 * Collects as many databases as fit; returns how many there are.  Nothing may
 * fail during the walk, which holds locks.
 */
static int
walk_databases(PbpDatabases *databases)
{
	dshash_seq_status walk;
	PgStatShared_HashEntry *entry;
	int			found = 0;

	dshash_seq_init(&walk, pgStatLocal.shared_hash, false);
	while ((entry = dshash_seq_next(&walk)) != NULL)
	{
		if (entry->key.kind != PGSTAT_KIND_DATABASE || entry->dropped)
			continue;
		if (found < databases->max_databases)
			databases->oids[found] = entry->key.dboid;
		found++;
	}
	dshash_seq_term(&walk);
	return found;
}

/*
 * Finds the databases that pbp_access_counts() adds up.  The struct must be
 * zeroed before the first call; its array stays until the process ends.
 *
 * Walks through the statistics of all tables and functions, and locks one
 * partition of them at a time, shared.
 */
void
pbp_find_databases(PbpDatabases *databases)
{
	int			found;

	while ((found = walk_databases(databases)) > databases->max_databases)
	{
		Size		bytes = 2 * found * sizeof(Oid);

		databases->oids = databases->oids == NULL ?
			MemoryContextAlloc(TopMemoryContext, bytes) :
			repalloc(databases->oids, bytes);
		databases->max_databases = 2 * found;
	}
	databases->ndatabases = found;
}

static int64
ring_blocks(const PgStat_IO *io, IOOp op)
{
	return pbp_io_blocks(io, IOCONTEXT_BULKREAD, op) +
		pbp_io_blocks(io, IOCONTEXT_BULKWRITE, op) +
		pbp_io_blocks(io, IOCONTEXT_VACUUM, op);
}

/*
 * Accesses that sessions have published.  Discards the statistics that this
 * process has cached, so only a process that keeps none for its own use may
 * call this, with "stats_fetch_consistency" set to "none".
 */
PbpAccessCounts
pbp_access_counts(const PbpDatabases *databases)
{
	PbpAccessCounts counts = {0};

	if (PBP_COUNTS_APART)
	{
		const PgStat_IO *io;

		pgstat_clear_snapshot();
		io = pgstat_fetch_stat_io();
		counts = (PbpAccessCounts) {
			.hits = pbp_io_blocks(io, IOCONTEXT_NORMAL, IOOP_HIT),
			.reads = pbp_io_blocks(io, IOCONTEXT_NORMAL, IOOP_READ),
			.extends = pbp_io_blocks(io, IOCONTEXT_NORMAL, IOOP_EXTEND),
			.ring_reads = ring_blocks(io, IOOP_READ),
			.scan_reads = pbp_io_blocks(io, IOCONTEXT_BULKREAD, IOOP_READ),
			.ring_extends = ring_blocks(io, IOOP_EXTEND),
			/* of pages that sessions wrote, most of which they evicted */
			.write_us = io->stats[B_BACKEND].times[IOOBJECT_RELATION][IOCONTEXT_NORMAL][IOOP_WRITE],
		};
		for (int i = 0; i < BACKEND_NUM_TYPES; i++)
			counts.read_us += io->stats[i].times[IOOBJECT_RELATION][IOCONTEXT_NORMAL][IOOP_READ];
	}
	/* what only databases count, and accesses, where the server does not count them */
	for (int i = 0; i < databases->ndatabases; i++)
	{
		PgStat_StatDBEntry *database = pgstat_fetch_stat_dbentry(databases->oids[i]);

		/* dropped in the meantime */
		if (database == NULL)
			continue;
		counts.active_us += database->active_time;
		if (!PBP_COUNTS_APART)
		{
			counts.hits += database->blocks_hit;
			counts.reads += database->blocks_fetched - database->blocks_hit;
			counts.read_us += database->blk_read_time;
		}
		pfree(database);
	}
	return counts;
}

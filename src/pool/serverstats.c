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

/* Of the moving average of the pages of a table, for each scan. */
#define PAGES_GAIN			0.25

/*
 * Hardly anything but scans reads a table if at most so many of its rows or blocks are asked for
 * otherwise, for each other read or new page: the sample does not miss their loads.  So much of the
 * sums of these remains at each count, once a second.
 */
#define NEGLIGIBLE_ROWS		0.01
#define LATELY				0.99

/* By which the server's number of live rows may be wrong, and with it how much scans have read. */
#define LIVE_ROWS_ERROR		0.1

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

/* The counts of a table at this moment. */
static void
set_counts(PbpScannedTable *table, const PgStat_StatTabEntry *stats)
{
	table->fetched = stats->blocks_fetched;
	table->hits = stats->blocks_hit;
	table->by_index = stats->tuples_fetched;
	table->by_scans = stats->tuples_returned;
	table->changed = stats->tuples_inserted + stats->tuples_updated + stats->tuples_deleted;
}

/* What scans may have read of a table ever, in blocks, if all rows take as many. */
static inline double
blocks_by_rows(const PbpScannedTable *table)
{
	return (double) table->fetched * (double) table->by_scans /
		Max(1, (double) table->by_scans + (double) table->by_index);
}

static int
compare_scanned(const void *one, const void *other)
{
	double		blocks = blocks_by_rows(one);
	double		other_blocks = blocks_by_rows(other);

	return (blocks < other_blocks) - (blocks > other_blocks);
}

/* Keeps those of which scans have read the most.  Indexes have no live rows. */
static void
note_table(PbpCounted *found, Oid database, Oid table, const PgStat_StatTabEntry *stats)
{
	PbpScannedTable counts = {.database = database,.table = table};
	double		least = NBuffers / 4;

	set_counts(&counts, stats);
	if (found->ntables == PBP_SCANNED_TABLES)
		least = blocks_by_rows(&found->tables[PBP_SCANNED_TABLES - 1]);
	if (stats->live_tuples <= 0 || counts.by_scans < stats->live_tuples ||
		blocks_by_rows(&counts) <= least)
		return;
	if (found->ntables < PBP_SCANNED_TABLES)
		found->ntables++;
	found->tables[found->ntables - 1] = counts;
	qsort(found->tables, found->ntables, sizeof(PbpScannedTable), compare_scanned);
}

/*
 * Collects as many databases as fit, and tables; returns how many databases there are.  Nothing
 * may fail during the walk, which holds locks.  A count that changes meanwhile is exact enough
 * for a choice.
 */
static int
walk_statistics(PbpCounted *found)
{
	dshash_seq_status walk;
	PgStatShared_HashEntry *entry;
	int			ndatabases = 0;

	found->ntables = 0;
	dshash_seq_init(&walk, pgStatLocal.shared_hash, false);
	while ((entry = dshash_seq_next(&walk)) != NULL)
	{
		if (entry->dropped)
			continue;
		if (entry->key.kind == PGSTAT_KIND_RELATION)
			note_table(found, entry->key.dboid, pbp_object_of(&entry->key),
					   &((PgStatShared_Relation *) dsa_get_address(pgStatLocal.dsa,
																   entry->body))->stats);
		if (entry->key.kind != PGSTAT_KIND_DATABASE)
			continue;
		if (ndatabases < found->max_databases)
			found->databases[ndatabases] = entry->key.dboid;
		ndatabases++;
	}
	dshash_seq_term(&walk);
	return ndatabases;
}

/*
 * Finds the databases that pbp_access_counts() adds up, and tables for pbp_count_scans().  The
 * struct must be zeroed before the first call; its array stays until the process ends.
 *
 * Walks through the statistics of all tables and functions, and locks one
 * partition of them at a time, shared.
 */
void
pbp_find_counted(PbpCounted *counted)
{
	PbpScannedTable before[PBP_SCANNED_TABLES];
	int			nbefore = counted->ntables;
	int			found;

	memcpy(before, counted->tables, sizeof(before));
	while ((found = walk_statistics(counted)) > counted->max_databases)
	{
		Size		bytes = 2 * found * sizeof(Oid);

		counted->databases = counted->databases == NULL ?
			MemoryContextAlloc(TopMemoryContext, bytes) :
			repalloc(counted->databases, bytes);
		counted->max_databases = 2 * found;
	}
	counted->ndatabases = found;
	/* what is known of a table from before remains */
	for (int i = 0; i < counted->ntables; i++)
		for (int j = 0; j < nbefore; j++)
			if (counted->tables[i].table == before[j].table &&
				counted->tables[i].database == before[j].database)
				counted->tables[i] = before[j];
}

/* The server scans a table of more than a quarter of the pool through a ring. */
bool
pbp_needs_ring(const PbpScannedTable *table)
{
	return table->npages > NBuffers / 4;
}

/* To be called as often as pbp_count_scans(). */
void
pbp_count_reads_beside_scans(PbpCounted *counted, double reads)
{
	counted->reads_lately = LATELY * counted->reads_lately + reads;
}

bool
pbp_is_scanned_alone(const PbpCounted *counted, const PbpScannedTable *table)
{
	return pbp_needs_ring(table) &&
		table->rows_lately <= NEGLIGIBLE_ROWS * counted->reads_lately;
}

/*
 * Of the blocks that were fetched, those of so many scans.  While the size of the table is unknown,
 * whatever else reads blocks of it is taken for a part of them, but for rows that an index finds.
 */
static int64
blocks_of_scans(const PbpScannedTable *table, double scans, int64 fetched, int64 by_index)
{
	if (!(scans > 0))
		return 0;
	if (table->most_pages > 0)
		return (int64) Min((double) fetched, scans * table->most_pages);
	return fetched - by_index;
}

/*
 * What scans have read of a table since the last call; nothing if it was dropped, or its
 * statistics were reset.  The server counts each parallel worker as a scan of its own, but the rows
 * of all together are those of whole scans.
 */
PbpScannedBlocks
pbp_count_scans(PbpScannedTable *table)
{
	PgStat_StatTabEntry *stats = pgstat_fetch_entry(PGSTAT_KIND_RELATION, table->database,
													table->table);
	PbpScannedTable now = *table;
	double		scans;
	int64		fetched;
	int64		by_index;
	int64		blocks;
	int64		reads;

	if (stats == NULL)
		return (PbpScannedBlocks) {0};
	set_counts(&now, stats);
	scans = stats->live_tuples > 0 ?
		(double) (now.by_scans - table->by_scans) / (double) stats->live_tuples : 0;
	pfree(stats);
	fetched = now.fetched - table->fetched;
	by_index = now.by_index - table->by_index;
	blocks = blocks_of_scans(table, scans, fetched, by_index);
	reads = fetched - (now.hits - table->hits);
	/* the server counts rows that are found by an index alone for the index, and not here */
	now.rows_lately = LATELY * table->rows_lately +
		Max(0, Max((double) (by_index + now.changed - table->changed),
				   (1 - LIVE_ROWS_ERROR) * (double) fetched - (double) blocks));
	*table = now;
	if (blocks <= 0)
		return (PbpScannedBlocks) {0};

	if (table->most_pages > 0)
		table->npages = table->most_pages;
	else if (table->npages == 0)
		table->npages = (double) blocks / scans;
	else
		table->npages += PAGES_GAIN * Min(1, scans) * ((double) blocks / scans - table->npages);
	table->scanned += blocks;
	if (!pbp_needs_ring(table))
		return (PbpScannedBlocks) {0};
	reads = Max(0, Min(blocks, reads));
	return (PbpScannedBlocks) {.hits = blocks - reads,.reads = reads};
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
pbp_access_counts(const PbpCounted *counted)
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
			.scan_hits = pbp_io_blocks(io, IOCONTEXT_BULKREAD, IOOP_HIT),
			.scan_reuses = pbp_io_blocks(io, IOCONTEXT_BULKREAD, IOOP_REUSE),
			.ring_extends = ring_blocks(io, IOOP_EXTEND),
			/* of pages that sessions wrote, most of which they evicted */
			.write_us = io->stats[B_BACKEND].times[IOOBJECT_RELATION][IOCONTEXT_NORMAL][IOOP_WRITE],
		};
		for (int i = 0; i < BACKEND_NUM_TYPES; i++)
		{
			counts.read_us += io->stats[i].times[IOOBJECT_RELATION][IOCONTEXT_NORMAL][IOOP_READ];
			counts.scan_us += io->stats[i].times[IOOBJECT_RELATION][IOCONTEXT_BULKREAD][IOOP_READ];
		}
	}
	/* what only databases count, and accesses, where the server does not count them */
	for (int i = 0; i < counted->ndatabases; i++)
	{
		PgStat_StatDBEntry *database = pgstat_fetch_stat_dbentry(counted->databases[i]);

		/* dropped in the meantime */
		if (database == NULL)
			continue;
		counts.active_us += database->active_time;
		if (!PBP_COUNTS_APART)
		{
			counts.hits += PBP_HITS_OF(database);
			counts.reads += PBP_FETCHED_OF(database) - PBP_HITS_OF(database);
			counts.read_us += database->blk_read_time;
		}
		pfree(database);
	}
	return counts;
}

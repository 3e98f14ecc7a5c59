/*-------------------------------------------------------------------------
 *
 * tablefiles.c
 *	  Which files the tables have that scans read.
 *
 * Statistics know a table by its OID, and the pool its pages by its file.  Both
 * have the same number unless the table was rewritten or truncated.  Then the
 * catalogs of its database have the file's, which a worker reads for the
 * sampler: that is connected to no database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_tablespace_d.h"
#include "storage/ipc.h"

#include "base/latency.h"
#include "base/relations.h"
#include "base/worker.h"
#include "os/oscache.h"
#include "sampler/learner.h"

/* A table of which no file with blocks was found is asked for again after so long. */
#define ASK_AGAIN_NS		INT64CONST(30000000000)

/* What a worker is to ask for; tables after the last one are InvalidOid. */
typedef struct Question
{
	Oid			database;
	Oid			tables[PBP_TABLE_FILES];
} Question;

StaticAssertDecl(sizeof(Question) <= BGW_EXTRALEN, "a worker's question fits");

/* The one that was started last; NULL: none runs. */
static BackgroundWorkerHandle *asking = NULL;

/* A file without blocks may be of a table that was dropped, until a checkpoint removes it. */
static bool
take_file(PbpScannedTable *table, PbpLocator locator)
{
	table->most_pages = (BlockNumber) pbp_os_fork_blocks(&locator, MAIN_FORKNUM, table->most_pages);
	table->file = table->most_pages > 0 ? locator : (PbpLocator) {0};
	if (table->most_pages > 0)
		table->npages = Min(table->npages, table->most_pages);
	return table->most_pages > 0;
}

/* True if it has the file that is known, or one of its own number in the usual tablespace. */
static bool
know_file(PbpScannedTable *table)
{
	if (OidIsValid(table->file.relNumber))
	{
		if (take_file(table, table->file))
			return true;
		table->asked_ns = 0;	/* rewritten again */
	}
	return take_file(table, pbp_locator(OidIsValid(table->database) ? DEFAULTTABLESPACE_OID :
										GLOBALTABLESPACE_OID, table->database, table->table));
}

/* What the last worker has found. */
static void
take_answers(PbpCounted *counted)
{
	PbpSharedHeader header = pbp_read_shared_header();

	for (int i = 0; i < counted->ntables; i++)
		for (int j = 0; j < PBP_TABLE_FILES; j++)
		{
			PbpScannedTable *table = &counted->tables[i];
			const PbpTableFile *file = &header.files[j];
			PbpLocator	locator = pbp_locator(file->tablespace, file->database,
											  file->relfilenode);

			if (OidIsValid(file->table) && file->table == table->table &&
				file->database == table->database && take_file(table, locator))
				elog(DEBUG1, "pgbufprobe: table %u of database %u has file %u", file->table,
					 file->database, file->relfilenode);
		}
}

static void
ask(const Question *question)
{
	BackgroundWorker worker;
	MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);

	pbp_describe_worker(&worker, "pgbufprobe table files", "pbp_table_files_main",
						BGW_NEVER_RESTART, 0);
	memcpy(worker.bgw_extra, question, sizeof(*question));
	if (!RegisterDynamicBackgroundWorker(&worker, &asking))
		asking = NULL;
	MemoryContextSwitchTo(before);
}

void
pbp_find_table_files(PbpCounted *counted)
{
	Question	question = {0};
	int			nasked = 0;

	if (asking != NULL)
	{
		if (pbp_worker_runs(asking))
			return;
		pfree(asking);
		asking = NULL;
		take_answers(counted);
	}
	for (int i = 0; i < counted->ntables && nasked < PBP_TABLE_FILES; i++)
	{
		PbpScannedTable *table = &counted->tables[i];

		/* of a table that is known to be small, nothing else is needed */
		if ((table->npages > 0 && !pbp_needs_ring(table) && !OidIsValid(table->file.relNumber)) ||
			know_file(table) || !OidIsValid(table->database) ||
			(table->asked_ns != 0 && pbp_now_ns() - table->asked_ns < ASK_AGAIN_NS) ||
			(nasked > 0 && table->database != question.database))
			continue;
		table->asked_ns = pbp_now_ns();
		question.database = table->database;
		question.tables[nasked++] = table->table;
	}
	if (nasked > 0)
		ask(&question);
}

/* ---- in the worker ---- */

void
pbp_table_files_main(Datum arg pg_attribute_unused())
{
	Question	question;
	PbpTableFile files[PBP_TABLE_FILES] = {0};

	memcpy(&question, MyBgworkerEntry->bgw_extra, sizeof(question));
	pbp_start_worker(question.database);
	pbp_let_die(true);
	StartTransactionCommand();
	for (int i = 0; i < PBP_TABLE_FILES && OidIsValid(question.tables[i]); i++)
	{
		PbpLocator	locator;

		if (find_locator(question.tables[i], &locator))
			files[i] = (PbpTableFile)
		{
			question.database, question.tables[i], locator.spcOid, locator.relNumber
		};
	}
	CommitTransactionCommand();
	pbp_let_die(false);
	memcpy(pbp_lock_shared(LW_EXCLUSIVE)->files, files, sizeof(files));
	pbp_unlock_shared();
	proc_exit(0);
}

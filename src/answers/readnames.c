/*-------------------------------------------------------------------------
 *
 * readnames.c
 *	  Names of the relations with the most reads, in columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "commands/dbcommands.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#include "answers/readnames.h"
#include "pool/poolfuncs.h"

#define FEW_NAMES			64

typedef struct ReadName
{
	PbpRelationKey key;
	Datum		name;
} ReadName;

/* To be called in the memory context where the names remain. */
ReadNames *
create_read_names(void)
{
	HASHCTL		ctl = {.keysize = sizeof(PbpRelationKey),.entrysize = sizeof(ReadName),.hcxt = CurrentMemoryContext};

	return hash_create("pgbufprobe names of relations", FEW_NAMES, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * A relation of this database has its name.  Others, and those that were
 * rewritten or dropped since, have their file.
 */
static char *
find_name(const PbpRelationKey *key)
{
	PbpLocator	locator = pbp_locator(key->tablespace, key->database, key->relfilenode);
	ForkNumber	fork = (ForkNumber) key->fork;
	Oid			relation = relation_of(&locator);
	char	   *database;
	char	   *name;

	if (OidIsValid(relation))
	{
		name = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation)));
		return fork == MAIN_FORKNUM ? name : psprintf("%s (%s)", name, forkNames[fork]);
	}
	name = pbp_relation_path(&locator, fork);
	database = key->database == MyDatabaseId ? NULL : get_database_name(key->database);
	return database == NULL ? name : psprintf("%s in database %s", name, quote_identifier(database));
}

static Datum
name_of(const PbpRelationKey *key, ReadNames *names)
{
	bool		found;
	ReadName   *entry = hash_search(names, key, HASH_ENTER, &found);

	if (!found)
	{
		MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(names));

		entry->name = CStringGetTextDatum(find_name(key));
		MemoryContextSwitchTo(caller);
	}
	return entry->name;
}

/* Their names, and their shares of the reads; NULLs if nothing was read. */
void
add_top_reads(Row *row, const PbpTopRead *top, ReadNames *names)
{
	Datum		relations[PBP_TOP_READS];
	Datum		shares[PBP_TOP_READS];
	int			n = 0;

	while (n < PBP_TOP_READS && top[n].key.relfilenode != 0)
	{
		relations[n] = name_of(&top[n].key, names);
		shares[n] = Float8GetDatum(rint(1e4 * top[n].read_share) / 1e4);
		n++;
	}
	if (n == 0)
	{
		add_null(row);
		add_null(row);
		return;
	}
	add_datum(row, PointerGetDatum(construct_array(relations, n, TEXTOID, -1, false, TYPALIGN_INT)));
	add_datum(row, PointerGetDatum(construct_array(shares, n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
}

/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  From the OID of a relation to its storage, and back.
 *
 * Reads the catalog only.  Neither descriptors nor files require an open
 * relation, so nothing here locks one or waits for DDL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_database.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/relations.h"

/* Value of datconnlimit of a database whose DROP was interrupted. */
#define INVALID_DATABASE	(-2)

#define FIRST_RELATIONS		64	/* that a list has memory for at first */

void
check_has_pages(Form_pg_class form)
{
	if (!RELKIND_HAS_STORAGE(form->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" has no storage", NameStr(form->relname)),
				 errdetail_relkind_not_supported(form->relkind),
				 form->relkind == RELKIND_PARTITIONED_TABLE ||
				 form->relkind == RELKIND_PARTITIONED_INDEX ?
				 errhint("Use a partition, or pgbufprobe_residency(), which lists all partitions.") : 0));
	if (form->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is temporary", NameStr(form->relname)),
				 errdetail("Temporary relations are kept in the local buffers of their session, not in shared buffers.")));
}

void
report_no_relation(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relid)));
}

void
report_no_fork(Oid relid, ForkNumber fork)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		report_no_relation(relid);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"%s\" has no fork \"%s\"", name, forkNames[fork])));
}

/*
 * In a database of many relations, to try forks that cannot exist would be a
 * large part of the work.
 */
static void
set_storage(RelationStorage *relation, Form_pg_class form)
{
	Oid			relfilenode = form->relfilenode;

	if (!OidIsValid(relfilenode))
		relfilenode = RelationMapOidToFilenumber(form->oid, form->relisshared);
	relation->relid = form->oid;
	relation->locator = pbp_locator(OidIsValid(form->reltablespace) ? form->reltablespace :
									MyDatabaseTableSpace,
									form->relisshared ? InvalidOid : MyDatabaseId, relfilenode);
	relation->forks[MAIN_FORKNUM] = true;
	relation->forks[FSM_FORKNUM] = form->relkind != RELKIND_SEQUENCE && form->relam != HASH_AM_OID;
	relation->forks[VISIBILITYMAP_FORKNUM] = RELKIND_HAS_TABLE_AM(form->relkind);
	relation->forks[INIT_FORKNUM] = form->relpersistence == RELPERSISTENCE_UNLOGGED;
}

/* Copies a relation's row of the catalog; false if there is none. */
static bool
read_class(Oid relid, Form_pg_class form)
{
	HeapTuple	tuple;

	AcceptInvalidationMessages();
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	memcpy(form, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
	ReleaseSysCache(tuple);
	return true;
}

/*
 * Returns false if the relation does not exist; raises an error if it has no
 * pages in shared buffers.
 */
bool
find_relation(Oid relid, RelationStorage *relation)
{
	FormData_pg_class form;

	if (!read_class(relid, &form))
		return false;
	check_has_pages(&form);
	set_storage(relation, &form);
	return true;
}

/* Returns false if it has no pages in shared buffers. */
bool
find_locator(Oid relid, PbpLocator *locator)
{
	FormData_pg_class form;
	RelationStorage relation;

	if (!read_class(relid, &form) || !RELKIND_HAS_STORAGE(form.relkind) ||
		form.relpersistence == RELPERSISTENCE_TEMP)
		return false;
	set_storage(&relation, &form);
	*locator = relation.locator;
	return true;
}

/* The relation that owns these pages; InvalidOid if this database does not know it. */
Oid
relation_of(const PbpLocator *locator)
{
	if (OidIsValid(locator->dbOid) && locator->dbOid != MyDatabaseId)
		return InvalidOid;
	return RelidByRelfilenumber(locator->spcOid, locator->relNumber);
}

/* ---- lists ---- */

/* Temporary relations, and those without pages, are left out. */
static void
append_class(RelationList *list, Form_pg_class form)
{
	if (!RELKIND_HAS_STORAGE(form->relkind) || form->relpersistence == RELPERSISTENCE_TEMP)
		return;
	if (list->nrelations == list->max_relations)
	{
		list->max_relations = Max(FIRST_RELATIONS, 2 * list->max_relations);
		list->relations = list->relations == NULL ?
			palloc(list->max_relations * sizeof(RelationStorage)) :
			repalloc_huge(list->relations, (Size) list->max_relations * sizeof(RelationStorage));
	}
	set_storage(&list->relations[list->nrelations++], form);
}

/* Every relation of this database that has pages in shared buffers. */
void
list_all_relations(RelationList *list)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(pg_class, 0, NULL);
	HeapTuple	tuple;

	memset(list, 0, sizeof(*list));
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		append_class(list, (Form_pg_class) GETSTRUCT(tuple));
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
}

/* One relation, or the partitions of a partitioned one. */
void
list_relation(RelationList *list, Oid relid)
{
	FormData_pg_class form;
	ListCell   *lc;

	memset(list, 0, sizeof(*list));
	if (!read_class(relid, &form))
		report_no_relation(relid);
	if (!RELKIND_HAS_PARTITIONS(form.relkind))
	{
		check_has_pages(&form);
		append_class(list, &form);
		return;
	}
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (lfirst_oid(lc) != relid && read_class(lfirst_oid(lc), &form))
			append_class(list, &form);
	}
}

/* The OIDs of all databases that accept connections. */
List *
list_open_databases(void)
{
	Relation	pg_database = table_open(DatabaseRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(pg_database, 0, NULL);
	HeapTuple	tuple;
	List	   *databases = NIL;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);

		if (form->datallowconn && form->datconnlimit != INVALID_DATABASE)
			databases = lappend_oid(databases, form->oid);
	}
	table_endscan(scan);
	table_close(pg_database, AccessShareLock);
	return databases;
}

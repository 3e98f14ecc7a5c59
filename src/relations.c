/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  From the OID of a relation to its storage.
 *
 * Looks into the catalog only: neither descriptors nor files need a relation
 * to be opened, so nothing here takes a lock on one or waits for DDL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relations.h"

/* room that a list begins with */
#define FIRST_RELATIONS		64

static PbpLocator
class_locator(Form_pg_class form)
{
	Oid			relfilenode = form->relfilenode;

	if (!OidIsValid(relfilenode))
		relfilenode = pbp_mapped_relfilenode(form->oid, form->relisshared);
	return pbp_locator(OidIsValid(form->reltablespace) ?
					   form->reltablespace : MyDatabaseTableSpace,
					   form->relisshared ? InvalidOid : MyDatabaseId,
					   relfilenode);
}

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

/* Where a relation's pages are found, or an error; false if there is none. */
bool
find_relation(Oid relid, PbpLocator *locator)
{
	HeapTuple	tuple;

	AcceptInvalidationMessages();
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	check_has_pages((Form_pg_class) GETSTRUCT(tuple));
	*locator = class_locator((Form_pg_class) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);
	return true;
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

PbpLocator
relation_locator(Oid relid)
{
	PbpLocator	locator;

	if (!find_relation(relid, &locator))
		report_no_relation(relid);
	return locator;
}

/* Has a relation got other files since it was looked up?  Then look it up again. */
bool
was_rewritten(Oid relid, PbpLocator *locator)
{
	PbpLocator	before = *locator;

	return find_relation(relid, locator) && !pbp_locator_equals(&before, locator);
}

/* ---- lists ---- */

static RelationStorage *
append_relation(RelationList *list)
{
	if (list->number == list->max)
	{
		list->max = list->max == 0 ? FIRST_RELATIONS : 2 * list->max;
		list->relations = list->relations == NULL ?
			palloc(list->max * sizeof(RelationStorage)) :
			repalloc_huge(list->relations, (Size) list->max * sizeof(RelationStorage));
	}
	return &list->relations[list->number++];
}

/*
 * Looking for forks that are not there is a large part of the work in a
 * database of many relations.
 */
static void
append_class(RelationList *list, Form_pg_class form)
{
	RelationStorage *relation;

	if (!RELKIND_HAS_STORAGE(form->relkind) || form->relpersistence == RELPERSISTENCE_TEMP)
		return;
	relation = append_relation(list);
	relation->relid = form->oid;
	relation->locator = class_locator(form);
	relation->forks[MAIN_FORKNUM] = true;
	relation->forks[FSM_FORKNUM] = form->relkind != RELKIND_SEQUENCE;
	relation->forks[VISIBILITYMAP_FORKNUM] = RELKIND_HAS_TABLE_AM(form->relkind);
	relation->forks[INIT_FORKNUM] = form->relpersistence == RELPERSISTENCE_UNLOGGED;
}

/* Every relation of this database that has storage, but for temporary ones. */
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

static void
list_partitions(RelationList *list, Oid relid)
{
	ListCell   *lc;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();
		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));
		if (!HeapTupleIsValid(tuple))
			continue;			/* dropped meanwhile */
		append_class(list, (Form_pg_class) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
}

/* One relation, or the partitions of one that has no storage of its own. */
void
list_relation(RelationList *list, Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	memset(list, 0, sizeof(*list));
	if (relkind == RELKIND_PARTITIONED_TABLE || relkind == RELKIND_PARTITIONED_INDEX)
		list_partitions(list, relid);
	else
	{
		PbpLocator	locator = relation_locator(relid);
		RelationStorage *relation = append_relation(list);

		relation->relid = relid;
		relation->locator = locator;
		memset(relation->forks, true, sizeof(relation->forks));
	}
}

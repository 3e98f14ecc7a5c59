/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  From the OID of a relation to its storage.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relations.h"

PbpLocator
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
				 errhint("Ask for its partitions, which pg_partition_tree() lists.") : 0));
	if (form->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is temporary", NameStr(form->relname)),
				 errdetail("Temporary relations are kept in the local buffers of their session, not in shared buffers.")));
}

/*
 * Where a relation's pages are found, or an error; false if there is no such
 * relation.
 *
 * Looks into the catalog only: neither descriptors nor files need the relation
 * to be opened, so this takes no lock and never waits for DDL.  A relation
 * that is rewritten meanwhile has the pages of its old file counted.
 */
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

PbpLocator
relation_locator(Oid relid)
{
	PbpLocator	locator;

	if (!find_relation(relid, &locator))
		report_no_relation(relid);
	return locator;
}

/*-------------------------------------------------------------------------
 *
 * relations.h
 *	  From the OID of a relation to its storage, and back.
 *
 * Offers the place of one relation's pages, and lists of relations and of
 * databases; and errors for relations that have none.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RELATIONS_H
#define PBP_RELATIONS_H

#include "catalog/pg_class.h"
#include "nodes/pg_list.h"

#include "base/compat.h"

/* Where a relation's pages are, and which forks it may have. */
typedef struct RelationStorage
{
	Oid			relid;
	PbpLocator	locator;
	bool		forks[MAX_FORKNUM + 1];
} RelationStorage;

typedef struct RelationList
{
	RelationStorage *relations;
	int64		nrelations;
	int64		max_relations;
} RelationList;

extern void check_has_pages(Form_pg_class form);
extern _Noreturn void report_no_relation(Oid relid);
extern _Noreturn void report_no_fork(Oid relid, ForkNumber fork);
extern bool find_relation(Oid relid, RelationStorage *relation);
extern bool find_locator(Oid relid, PbpLocator *locator);
extern Oid	relation_of(const PbpLocator *locator);
extern void list_all_relations(RelationList *list);
extern void list_relation(RelationList *list, Oid relid);
extern List *list_open_databases(void);

#endif							/* PBP_RELATIONS_H */

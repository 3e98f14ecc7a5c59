/*-------------------------------------------------------------------------
 *
 * relations.h
 *	  From the OID of a relation to its storage.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RELATIONS_H
#define PBP_RELATIONS_H

#include "catalog/pg_class.h"

#include "compat.h"

/* A relation, where its pages are, and which forks it may have. */
typedef struct RelationStorage
{
	Oid			relid;
	PbpLocator	locator;
	bool		forks[MAX_FORKNUM + 1];
} RelationStorage;

typedef struct RelationList
{
	RelationStorage *relations;
	int64		number;
	int64		max;
} RelationList;

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern void check_has_pages(Form_pg_class form);
extern bool find_relation(Oid relid, PbpLocator *locator);
extern void report_no_relation(Oid relid);
extern void report_no_fork(Oid relid, ForkNumber fork);
extern PbpLocator relation_locator(Oid relid);
extern bool was_rewritten(Oid relid, PbpLocator *locator);
extern void list_all_relations(RelationList *list);
extern void list_relation(RelationList *list, Oid relid);

#pragma GCC visibility pop

#endif							/* PBP_RELATIONS_H */

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

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern PbpLocator class_locator(Form_pg_class form);
extern void check_has_pages(Form_pg_class form);
extern bool find_relation(Oid relid, PbpLocator *locator);
extern void report_no_relation(Oid relid);
extern PbpLocator relation_locator(Oid relid);

#pragma GCC visibility pop

#endif							/* PBP_RELATIONS_H */

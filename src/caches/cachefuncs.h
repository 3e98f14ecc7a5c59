/*-------------------------------------------------------------------------
 *
 * cachefuncs.h
 *	  What the SQL functions about the page cache share with others: messages
 *	  about what is unknown, and relations that others drop or rewrite.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHEFUNCS_H
#define PBP_CACHEFUNCS_H

#include "base/relations.h"
#include "os/oscache.h"

extern void report_reason(PbpOsTrust trust, Oid relid, int64 others);
extern void report_unreadable(int elevel, const PbpOsVerdict *verdict, int64 others);
extern void check_may_advise(void);
extern Relation open_fork(Oid relid, ForkNumber fork);
extern RelationStorage find_fork(Oid relid, ForkNumber fork);
extern bool must_repeat(RelationStorage *relation, int *attempts);
extern void check_found(bool found, Oid relid, ForkNumber fork);

#endif							/* PBP_CACHEFUNCS_H */

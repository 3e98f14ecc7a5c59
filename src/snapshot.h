/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  Snapshots of the pool: take one, write it as jsonb, and read it back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SNAPSHOT_H
#define PBP_SNAPSHOT_H

#include "descriptors.h"
#include "sweep.h"

/* forks of relations that a snapshot names; it has the sum of all others */
#define PBP_SNAPSHOT_RELATIONS	200

/* the usage counts, and unused buffers */
#define PBP_SNAPSHOT_LEVELS		(PBP_USAGE_LEVELS + 1)

/* One fork of a relation, or the sum of those that are not named. */
typedef struct SnapshotRelation
{
	Oid			relid;
	char	   *name;			/* qualified; NULL: a sum */
	char	   *fork;
	int64		forks;			/* number of forks in the sum */
	int64		buffers;
	int64		dirty;
	int64		usage[PBP_USAGE_LEVELS];
} SnapshotRelation;

typedef struct PoolSnapshot
{
	char	   *run;			/* unique for each start of a server */
	TimestampTz taken_at;
	int64		shared_buffers;
	int64		hand;
	int64		passes;
	int64		ticks;
	int64		allocations;
	bool		was_reset;		/* were the statistics ever reset? */
	TimestampTz reset_at;
	PbpBufferCount levels[PBP_SNAPSHOT_LEVELS];	/* the last one: unused */
	char	   *database;
	int			nrelations;
	SnapshotRelation relations[PBP_SNAPSHOT_RELATIONS];
	SnapshotRelation others;
} PoolSnapshot;

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern void take_snapshot(PoolSnapshot *snapshot);
extern Datum snapshot_to_jsonb(const PoolSnapshot *snapshot);
extern PoolSnapshot *snapshot_arg(FunctionCallInfo fcinfo, int argno, const char *argument);

#pragma GCC visibility pop

#endif							/* PBP_SNAPSHOT_H */

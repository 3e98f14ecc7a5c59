/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  The state of the pool as a value: taken, written as jsonb, and read back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SNAPSHOT_H
#define PBP_SNAPSHOT_H

#include "descriptors.h"
#include "sweep.h"

/* relations and forks that a snapshot names; the rest is a sum */
#define PBP_SNAPSHOT_RELATIONS	200

/* usage counts, and unused buffers */
#define PBP_SNAPSHOT_LEVELS		(PBP_USAGE_LEVELS + 1)

/* A relation and fork, or the sum of those that are not named. */
typedef struct SnapshotRelation
{
	Oid			relid;
	char	   *name;			/* qualified; NULL: a sum */
	char	   *fork;
	int64		forks;			/* that were added up */
	int64		buffers;
	int64		dirty;
	int64		usage[PBP_USAGE_LEVELS];
} SnapshotRelation;

typedef struct PoolSnapshot
{
	char	   *run;			/* tells runs of a server from each other */
	TimestampTz taken_at;
	int64		shared_buffers;
	int64		hand;
	int64		passes;
	int64		ticks;
	int64		allocations;
	bool		was_reset;		/* have the statistics been, ever? */
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

/*-------------------------------------------------------------------------
 *
 * serverstats.h
 *	  Counts taken from the server's own statistics.
 *
 * The buffer allocations that the background writer has published, and the
 * blocks that sessions were given from shared buffers or had read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SERVERSTATS_H
#define PBP_SERVERSTATS_H

#include "datatype/timestamp.h"

/* What the background writer has published since its statistics were reset. */
typedef struct PbpPublished
{
	int64		allocations;
	TimestampTz reset_at;		/* 0: never */
} PbpPublished;

/*
 * Accesses to blocks since the server started or its statistics were reset.
 * Without PBP_COUNTS_APART, "reads" has all of them but the hits.
 */
typedef struct PbpAccessCounts
{
	int64		hits;
	int64		reads;
	int64		extends;		/* blocks added to relations */
	int64		ring_reads;		/* through rings: scans, vacuum, COPY */
	int64		scan_reads;		/* of these, by large scans */
	int64		ring_extends;
	int64		read_us;		/* that "reads" took, where track_io_timing is on */
	int64		write_us;		/* that sessions wrote; likewise, and 0 without
								 * PBP_COUNTS_APART */
	int64		active_us;		/* that sessions were active; of a pipeline of
								 * statements, the last one */
} PbpAccessCounts;

/* Databases with statistics of their own. */
typedef struct PbpDatabases
{
	Oid		   *oids;			/* InvalidOid: relations shared by all databases */
	int			ndatabases;
	int			max_databases;
} PbpDatabases;

extern PbpPublished pbp_read_published(void);
extern void pbp_find_databases(PbpDatabases *databases);
extern PbpAccessCounts pbp_access_counts(const PbpDatabases *databases);

#endif							/* PBP_SERVERSTATS_H */

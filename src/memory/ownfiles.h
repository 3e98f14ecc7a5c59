/*-------------------------------------------------------------------------
 *
 * ownfiles.h
 *	  The size of this server's files, and what the page cache holds of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OWNFILES_H
#define PBP_OWNFILES_H

typedef struct PbpOwnBytes
{
	int64		cached;			/* in the page cache */
	int64		all_cached;		/* beside files of others, at that time */
	int64		data;			/* files of relations */
	int64		wal;			/* and of WAL */
	int64		smallest_scanned;	/* relation that scans read through a ring;
								 * PG_INT64_MAX: none */
} PbpOwnBytes;

extern bool pbp_count_own_files(int64 budget_ns);
extern PbpOwnBytes pbp_own_bytes(void);

#endif							/* PBP_OWNFILES_H */

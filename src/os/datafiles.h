/*-------------------------------------------------------------------------
 *
 * datafiles.h
 *	  All files of relations and of WAL of a data directory, one after the
 *	  other, in as many steps as the caller likes.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DATAFILES_H
#define PBP_DATAFILES_H

#include <dirent.h>

#include "os/osmemory.h"

/* pg_tblspc / tablespace / version / database */
#define PBP_MAX_FOLDERS		4

/*
 * A walk through the data directory.  Between two steps it keeps folders open,
 * unless it is paused.  Files that come and go may be left out.
 */
typedef struct PbpDataFiles
{
	const char *root;			/* the data directory */
	int			area;			/* base, global, pg_tblspc, pg_wal */
	int			depth;			/* open folders */
	int			paused;			/* folders that a pause has closed */
	int			error;			/* errno of a folder that could not be read, or 0 */
	DIR		   *folders[PBP_MAX_FOLDERS];
	size_t		lengths[PBP_MAX_FOLDERS];	/* of their paths */
	long		positions[PBP_MAX_FOLDERS]; /* in folders that a pause has closed */
	char		path[PBP_PATH_BYTES];
} PbpDataFiles;

extern void pbp_begin_data_files(PbpDataFiles *files, const char *root);
extern const char *pbp_next_data_file(PbpDataFiles *files);
extern bool pbp_is_wal_file(const PbpDataFiles *files);
extern void pbp_pause_data_files(PbpDataFiles *files);
extern void pbp_end_data_files(PbpDataFiles *files);

#endif							/* PBP_DATAFILES_H */

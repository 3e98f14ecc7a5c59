/*-------------------------------------------------------------------------
 *
 * datafiles.c
 *	  All files of relations and of WAL of a data directory, one after the other.
 *
 * Temporary files of queries are not among them.
 *
 * Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "datafiles.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Where relations and WAL are, and how many folders deep. */
static const struct
{
	const char *folder;
	int			depth;
}			areas[] = {{"base", 2}, {"global", 1}, {"pg_tblspc", PBP_MAX_FOLDERS}, {"pg_wal", 1}};

#define AREAS				((int) (sizeof(areas) / sizeof(areas[0])))
#define WAL_AREA			(AREAS - 1)

void
pbp_begin_data_files(PbpDataFiles *files, const char *root)
{
	files->root = root;
	files->area = 0;
	files->depth = 0;
	files->error = 0;
}

/* Opens the folder of this path as the innermost; one that is gone, or not the server's, is empty. */
static bool
push_folder(PbpDataFiles *files)
{
	DIR		   *folder = opendir(files->path);

	if (!folder)
	{
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			files->error = errno;
		return false;
	}
	files->folders[files->depth] = folder;
	files->lengths[files->depth++] = strlen(files->path);
	return true;
}

static void
pop_folder(PbpDataFiles *files)
{
	(void) closedir(files->folders[--files->depth]);
	if (files->depth == 0)
		files->area++;
}

/* Sets the path to the next entry of the innermost folder.  Returns false at its end. */
static bool
next_entry(PbpDataFiles *files)
{
	size_t		length = files->lengths[files->depth - 1];
	struct dirent *entry;

	while ((entry = readdir(files->folders[files->depth - 1])) != NULL)
	{
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, "pgsql_tmp", 9) == 0)
			continue;
		if (snprintf(files->path + length, sizeof(files->path) - length, "/%s", entry->d_name) <
			(int) (sizeof(files->path) - length))
			return true;
	}
	return false;
}

/*
 * Returns the path of the next file, valid until the next call; NULL: there are
 * no more, and nothing is open.  Opens a few folders on the way.
 */
const char *
pbp_next_data_file(PbpDataFiles *files)
{
	while (files->area < AREAS)
	{
		if (files->depth == 0)
		{
			(void) snprintf(files->path, sizeof(files->path), "%s/%s", files->root, areas[files->area].folder);
			if (!push_folder(files))
				files->area++;
		}
		else if (!next_entry(files))
			pop_folder(files);
		else if (files->depth == areas[files->area].depth)
			return files->path;
		else
			(void) push_folder(files);
	}
	return NULL;
}

/* Is the last file that was returned one of WAL? */
bool
pbp_is_wal_file(const PbpDataFiles *files)
{
	return files->area == WAL_AREA;
}

/* Ends a walk before its end. */
void
pbp_end_data_files(PbpDataFiles *files)
{
	while (files->depth > 0)
		pop_folder(files);
	files->area = AREAS;
}

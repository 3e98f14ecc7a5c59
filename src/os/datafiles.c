/*-------------------------------------------------------------------------
 *
 * datafiles.c
 *	  All files of relations and of WAL of a data directory, one after the other.
 *
 * Temporary files of queries are not among them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include "os/datafiles.h"

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
	*files = (PbpDataFiles) {.root = root};
}

/* True if the server has no folders of this name; lost+found, for example. */
static bool
is_foreign(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return (*name < '0' || *name > '9') && strncmp(name, "PG_", 3) != 0;
}

/* Opens the folder of this path as the innermost; one that is gone or foreign is empty. */
static bool
push_folder(PbpDataFiles *files)
{
	DIR		   *folder = opendir(files->path);

	if (!folder)
	{
		if (errno != ENOENT && errno != ENOTDIR && (errno != EACCES || !is_foreign(files->path)))
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

	while (errno = 0, (entry = readdir(files->folders[files->depth - 1])) != NULL)
	{
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, "pgsql_tmp", 9) == 0)
			continue;
		if (snprintf(files->path + length, sizeof(files->path) - length, "/%s", entry->d_name) <
			(int) (sizeof(files->path) - length))
			return true;
	}
	if (errno != 0)
		files->error = errno;
	return false;
}

/*
 * Closes all folders until the next step.  An open folder keeps its file system
 * from being unmounted.
 */
void
pbp_pause_data_files(PbpDataFiles *files)
{
	for (int i = 0; i < files->depth; i++)
	{
		files->positions[i] = telldir(files->folders[i]);
		(void) closedir(files->folders[i]);
	}
	files->paused += files->depth;
	files->depth = 0;
}

/*
 * Opens the folders of the last file where a pause has closed them.  Linux numbers
 * the places of a folder for NFS, so that they outlast its descriptor.  A folder
 * that was dropped meanwhile has no more files.
 */
static void
resume(PbpDataFiles *files)
{
	bool		found = true;

	while (found && files->depth < files->paused)
	{
		char	   *end = files->path + files->lengths[files->depth];

		*end = '\0';
		found = push_folder(files);
		*end = '/';
		if (found)
			seekdir(files->folders[files->depth - 1], files->positions[files->depth - 1]);
	}
	files->paused = 0;
	if (files->depth == 0)
		files->area++;
}

/*
 * Returns the path of the next file, valid until the next call; NULL: there are
 * no more, and nothing is open.  Opens a few folders on the way.  A signal that
 * interrupts a call ends the walk, since the next call may wait, too.
 */
const char *
pbp_next_data_file(PbpDataFiles *files)
{
	if (files->paused > 0)
		resume(files);
	while (files->area < AREAS)
	{
		if (files->error == EINTR)
			pbp_end_data_files(files);
		else if (files->depth == 0)
		{
			(void) snprintf(files->path, sizeof(files->path), "%s/%s", files->root,
							areas[files->area].folder);
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

/* True if the last file that was returned is one of WAL. */
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
	files->paused = 0;
	files->area = AREAS;
}

/*
 * datafiles.c
 *	  Does a walk through a data directory find each file of a relation once?
 *
 * Prints TAP.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_tree.h"
#include "os/datafiles.h"

#define MAX_FOUND		1000

static char found[MAX_FOUND][128];
static int	nfound;
static int	nwal;			/* of these, by pbp_is_wal_file() */

static void
make_folder(const char *path)
{
	char		full[256];

	snprintf(full, sizeof(full), "%s%s", tree, path);
	if (mkdir(full, 0700) != 0)
		abort();
}

static void
remove_file(const char *path)
{
	char		full[256];

	snprintf(full, sizeof(full), "%s%s", tree, path);
	if (remove(full) != 0)
		abort();
}

static void
make_tree(void)
{
	static const char *const files[] = {
		"/base/1/2600", "/base/1/2600_fsm", "/base/5/16384", "/base/5/16384.1", "/base/5/t3_16400", "/base/pgsql_tmp/pgsql_tmp7.0",
		"/global/1260", "/pg_wal/000000010000000000000001", "/elsewhere/PG_15_202209061/5/16500",
		"/elsewhere/PG_15_202209061/pgsql_tmp/pgsql_tmp8.0"
	};
	char		target[256];
	char		link[256];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put(files[i], "");
	make_folder("/base/6");
	make_folder("/pg_tblspc");
	snprintf(target, sizeof(target), "%s/elsewhere", tree);
	snprintf(link, sizeof(link), "%s/pg_tblspc/16390", tree);
	if (symlink(target, link) != 0 || symlink("/nonexistent", strcat(link, "1")) != 0)
		abort();
}

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Takes so many steps, or all there are.  Returns false after the last. */
static bool
walk_on(PbpDataFiles *files, int steps)
{
	const char *path;

	while (steps-- > 0)
	{
		path = pbp_next_data_file(files);
		if (!path)
			return false;
		if (nfound < MAX_FOUND)
			snprintf(found[nfound++], sizeof(found[0]), "%s", path + strlen(tree) + 1);
		nwal += pbp_is_wal_file(files);
	}
	return true;
}

static bool
found_are(const char *const *expected, int nexpected)
{
	bool		same = nfound == nexpected;

	qsort(found, (size_t) nfound, sizeof(found[0]), compare);
	for (int i = 0; i < nfound; i++)
	{
		same = same && strcmp(found[i], expected[i]) == 0;
		if (i >= nexpected || strcmp(found[i], expected[i]) != 0)
			printf("# found %s\n", found[i]);
	}
	return same;
}

static const char *const all[] = {
	"base/1/2600", "base/1/2600_fsm", "base/5/16384", "base/5/16384.1", "base/5/t3_16400", "global/1260",
	"pg_tblspc/16390/PG_15_202209061/5/16500", "pg_wal/000000010000000000000001"
};

static void
test_all(void)
{
	PbpDataFiles files;

	pbp_begin_data_files(&files, tree);
	while (walk_on(&files, 1))
		 /* one by one */ ;
	ok(found_are(all, 8), "every file of a relation is found once, also in a tablespace, and those of WAL, and no other");
	ok(nwal == 1, "which of them are of WAL is known");
	ok(pbp_next_data_file(&files) == NULL, "after the last there is none");
}

static void
test_changes(void)
{
	PbpDataFiles files;
	bool		others = true;

	nfound = 0;
	pbp_begin_data_files(&files, tree);
	(void) walk_on(&files, 1);
	remove_file(strncmp(found[0], "base/1", 6) == 0 ? "/base/5/16384" : "/base/1/2600");
	remove_file("/base/6");
	remove_file("/pg_tblspc/16390");
	put("/base/7/16384", "");
	(void) walk_on(&files, MAX_FOUND);
	for (int i = 0; i < nfound; i++)
		others = others && strncmp(found[i], "pg_tblspc", 9) != 0;
	ok(others && nfound >= 6 && nfound <= 7, "files and folders that come and go while the walk goes on");
}

static void
test_end(int before)
{
	PbpDataFiles files;

	pbp_begin_data_files(&files, tree);
	(void) walk_on(&files, 2);
	ok(open_files() > before, "in between, folders are open");
	pbp_end_data_files(&files);
	ok(open_files() == before, "a walk that is ended leaves none open");
	ok(pbp_next_data_file(&files) == NULL, "... and finds nothing");
	pbp_begin_data_files(&files, "/nonexistent");
	ok(pbp_next_data_file(&files) == NULL && files.error == 0, "a data directory that does not exist has no files");
}

static void
test_pauses(int before)
{
	PbpDataFiles files;
	bool		none_open = true;

	nfound = 0;
	pbp_begin_data_files(&files, tree);
	pbp_pause_data_files(&files);
	while (walk_on(&files, 1))
	{
		pbp_pause_data_files(&files);
		pbp_pause_data_files(&files);
		none_open = none_open && open_files() == before;
	}
	ok(found_are(all, 8), "a walk that is paused after each file finds each once");
	ok(none_open && nfound == 8, "... and has no folder open in a pause");

	nfound = 0;
	pbp_begin_data_files(&files, tree);
	(void) walk_on(&files, 2);
	pbp_pause_data_files(&files);
	pbp_end_data_files(&files);
	ok(pbp_next_data_file(&files) == NULL, "a walk that is ended in a pause finds nothing");
}

/* The walk is in a tablespace when that is dropped. */
static void
test_dropped_in_pause(void)
{
	PbpDataFiles files;
	char		link[256];
	char		moved[256];

	nfound = 0;
	pbp_begin_data_files(&files, tree);
	do
		(void) walk_on(&files, 1);
	while (nfound < MAX_FOUND && strncmp(found[nfound - 1], "pg_tblspc", 9) != 0);
	pbp_pause_data_files(&files);
	snprintf(link, sizeof(link), "%s/pg_tblspc/16390", tree);
	snprintf(moved, sizeof(moved), "%s/moved", tree);
	if (rename(link, moved) != 0)
		abort();
	(void) walk_on(&files, MAX_FOUND);
	if (rename(moved, link) != 0)
		abort();
	ok(found_are(all, 8), "after a folder that was dropped in a pause, the walk goes on with the next");
}

static void
test_error(void)
{
	PbpDataFiles files;
	struct rlimit limit;
	struct rlimit none;

	(void) getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 0;
	pbp_begin_data_files(&files, tree);
	(void) setrlimit(RLIMIT_NOFILE, &none);
	(void) walk_on(&files, MAX_FOUND);
	(void) setrlimit(RLIMIT_NOFILE, &limit);
	ok(files.error == EMFILE, "folders that cannot be opened are an error");
}

/* A folder of the server must be readable; lost+found need not be.  Root can read all. */
static void
test_unreadable(void)
{
	PbpDataFiles files;
	char		path[256];
	bool		foreign_ignored;

	snprintf(path, sizeof(path), "%s/base/lost+found", tree);
	make_folder("/base/lost+found");
	(void) chmod(path, 0);
	pbp_begin_data_files(&files, tree);
	(void) walk_on(&files, MAX_FOUND);
	foreign_ignored = files.error == 0;
	snprintf(path, sizeof(path), "%s/base/5", tree);
	(void) chmod(path, 0);
	pbp_begin_data_files(&files, tree);
	(void) walk_on(&files, MAX_FOUND);
	ok(foreign_ignored && (files.error == EACCES || geteuid() == 0),
	   "a folder of the server that cannot be read is an error, another one is not");
	(void) chmod(path, 0700);
}

int
main(void)
{
	int			before = open_files();

	begin_tests("datafiles");
	make_tree();
	test_all();
	test_pauses(before);
	test_dropped_in_pause();
	test_changes();
	ok(open_files() == before, "no folder is left open");
	test_end(before);
	test_error();
	test_unreadable();
	return end_tests();
}

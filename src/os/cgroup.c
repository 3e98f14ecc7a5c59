/*-------------------------------------------------------------------------
 *
 * cgroup.c
 *	  The memory cgroups, v1 or v2, that this process is in.
 *
 * /proc/self/cgroup names the group, /proc/self/mountinfo the folder where its
 * hierarchy is mounted.  In a container, that mount may begin at the
 * container's own group; its ancestors cannot be seen then.  What the figures mean
 * for the page cache belongs in osmemory.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _DEFAULT_SOURCE			/* strsep() */
#endif

#include "os/osmemory.h"

#include <string.h>

/* The parts of a line of mountinfo. */
typedef struct Mount
{
	char	   *root;			/* group that is mounted */
	char	   *folder;			/* where */
	char	   *type;
	char	   *options;		/* of the file system: controllers of v1 */
} Mount;

/* ---- finding the group ---- */

/* True if a list of controllers, of which this leaves nothing, has that of memory. */
static bool
has_memory(char *controllers)
{
	char	   *controller;

	while ((controller = strsep(&controllers, ",")) != NULL)
		if (strcmp(controller, "memory") == 0)
			return true;
	return false;
}

/*
 * Returns the part of the path below the ancestor, which is "" or begins with a
 * slash; NULL: it is not below.  Groups above the root of the namespace are
 * shown as "..", which names no folder.
 */
static const char *
path_below(const char *path, const char *ancestor)
{
	size_t		length = strlen(ancestor);

	if (strcmp(path, "/") == 0)
		path = "";
	if (strcmp(ancestor, "/") == 0)
		length = 0;
	if (strncmp(path, ancestor, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return NULL;
	return strncmp(path + length, "/..", 3) == 0 ? NULL : path + length;
}

/*
 * Reads the path of the memory cgroup from lines such as "4:memory:/a" (v1) and
 * "0::/a" (v2).  Where both exist, the controller is in v1's hierarchy.
 */
static bool
read_group_path(PbpCgroupWalk *walk, char *path)
{
	char		line[PBP_LINE_BYTES];
	FILE	   *file = pbp_open_lines(walk->root, "/proc/self/cgroup");
	bool		found = false;

	walk->v2 = true;
	while (file && walk->v2 && pbp_next_line(file, line))
	{
		char	   *group = line;
		char	   *controllers;
		bool		unnamed;

		(void) strsep(&group, ":");
		controllers = strsep(&group, ":");
		if (!group || strlen(group) >= PBP_PATH_BYTES)
			continue;
		unnamed = *controllers == '\0';
		walk->v2 = !has_memory(controllers);
		if (!walk->v2 || unnamed)
		{
			memcpy(path, group, strlen(group) + 1);
			found = true;
		}
	}
	if (file)
		(void) fclose(file);
	return found;
}

/* Replaces the octal numbers that stand for blanks and backslashes. */
static void
unescape(char *text)
{
	char	   *to = text;

	while (*text)
	{
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3)
		{
			*to++ = (char) ((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 4;
		}
		else
			*to++ = *text++;
	}
	*to = '\0';
}

/*
 * Splits a line such as "35 31 0:32 /group /folder rw shared:7 - cgroup name
 * rw,memory", where the number of fields before the hyphen varies.
 */
static bool
split_mount(char *line, Mount *mount)
{
	char	   *rest = strstr(line, " - ");

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	mount->type = strsep(&rest, " ");
	(void) strsep(&rest, " ");
	mount->options = strsep(&rest, " ");

	for (int i = 0; i < 3; i++)
		(void) strsep(&line, " ");
	mount->root = strsep(&line, " ");
	mount->folder = strsep(&line, " ");
	if (!mount->options || !mount->folder)
		return false;
	unescape(mount->root);
	unescape(mount->folder);
	return true;
}

/*
 * Finds the group's folder: of several mounts that show it, the one that shows
 * most of its ancestors.
 */
static bool
find_folder(PbpCgroupWalk *walk, const char *path)
{
	char		line[PBP_LINE_BYTES];
	FILE	   *file = pbp_open_lines(walk->root, "/proc/self/mountinfo");
	size_t		shortest = SIZE_MAX;

	while (file && pbp_next_line(file, line))
	{
		Mount		mount;
		const char *below;

		if (!split_mount(line, &mount) ||
			strcmp(mount.type, walk->v2 ? "cgroup2" : "cgroup") != 0 ||
			(!walk->v2 && !has_memory(mount.options)))
			continue;
		below = path_below(path, mount.root);
		if (!below || strlen(mount.root) >= shortest ||
			snprintf(walk->folder, sizeof(walk->folder), "%s%s", mount.folder, below) >=
			(int) sizeof(walk->folder))
			continue;
		shortest = strlen(mount.root);
		walk->top = strlen(mount.folder);
	}
	if (file)
		(void) fclose(file);
	return shortest < SIZE_MAX;
}

/*
 * Begins a walk from the process's own group up to its topmost visible
 * ancestor.  Groups that cannot be found are none.  Opens two files.
 */
void
pbp_cgroup_walk(PbpCgroupWalk *walk, const char *root)
{
	char		path[PBP_PATH_BYTES];

	walk->root = root;
	walk->tightest = PBP_NO_LIMIT;
	walk->inherited = PBP_NO_LIMIT;
	walk->at_end = !read_group_path(walk, path) || !find_folder(walk, path);
}

/* ---- reading a group ---- */

/* One that is unknown does not limit. */
static int64_t
smaller_limit(int64_t one, int64_t other)
{
	if (one == PBP_UNKNOWN)
		one = PBP_NO_LIMIT;
	if (other == PBP_UNKNOWN)
		other = PBP_NO_LIMIT;
	return one < other ? one : other;
}

static int64_t
read_number(const PbpCgroupWalk *walk, const char *file)
{
	char		path[PBP_PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s/%s", walk->folder, file) >= (int) sizeof(path))
		return PBP_UNKNOWN;
	return pbp_read_number(walk->root, path);
}

/*
 * Processes are slowed down above memory.high until they are below again, so it
 * is as much a limit as memory.max.
 *
 * In v1, the smallest limit of all ancestors is known, also of those that cannot
 * be seen.  Such an ancestor holds at least what the topmost visible one does.
 */
static void
read_group(PbpCgroupWalk *walk, const char *stat, PbpMemoryUse *group)
{
	bool		v2 = walk->v2;
	PbpNamedNumber numbers[] = {{v2 ? "active_file" : "total_active_file", 0},
	{v2 ? "inactive_file" : "total_inactive_file", 0}, {v2 ? "anon" : "total_rss", 0},
	{v2 ? "workingset_refault_file" : "total_workingset_refault_file", 0},
	{"hierarchical_memory_limit", 0}};
	int64_t		inactive;

	pbp_read_named_numbers(walk->root, stat, numbers, 5);
	group->active_file = numbers[0].value;
	inactive = numbers[1].value;
	group->anon = numbers[2].value;
	group->refaults = numbers[3].value;
	group->file = group->active_file == PBP_UNKNOWN || inactive == PBP_UNKNOWN ||
		group->active_file > INT64_MAX - inactive ? PBP_UNKNOWN : group->active_file + inactive;
	group->used = read_number(walk, v2 ? "memory.current" : "memory.usage_in_bytes");
	group->limit = smaller_limit(read_number(walk, v2 ? "memory.max" : "memory.limit_in_bytes"),
								 v2 ? read_number(walk, "memory.high") : PBP_NO_LIMIT);
	if (v2)
		return;
	walk->inherited = smaller_limit(walk->inherited, numbers[4].value);
	walk->tightest = smaller_limit(walk->tightest, group->limit);
	if (strlen(walk->folder) == walk->top && walk->inherited < walk->tightest)
		group->limit = walk->inherited;
}

/*
 * Reads the next group, and moves up to its parent.  Returns false after the topmost.
 * Opens 3 to 4 files.  Until Linux 5.11, a v1 group may not be limited by its ancestors.
 */
bool
pbp_next_cgroup(PbpCgroupWalk *walk, PbpMemoryUse *group)
{
	char		stat[PBP_PATH_BYTES];
	char	   *slash;

	if (walk->at_end ||
		snprintf(stat, sizeof(stat), "%s/memory.stat", walk->folder) >= (int) sizeof(stat))
		return false;
	read_group(walk, stat, group);
	slash = strrchr(walk->folder, '/');
	walk->at_end = strlen(walk->folder) <= walk->top || !slash;
	if (walk->at_end)
		return true;
	*slash = '\0';
	walk->at_end = !walk->v2 && read_number(walk, "memory.use_hierarchy") == 0;
	return true;
}

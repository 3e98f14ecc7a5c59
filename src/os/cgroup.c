/*-------------------------------------------------------------------------
 *
 * cgroup.c
 *	  The memory cgroups, v1 or v2, that this process is in.
 *
 * /proc/self/cgroup names the group, /proc/self/mountinfo the folder where its
 * hierarchy is mounted.  In a container, that mount may begin at the
 * container's own group; its ancestors cannot be seen then.
 *
 *-------------------------------------------------------------------------
 */
#include "os/cgroup.h"

#include <stdio.h>
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

/* True if the word is an element of this list, which has commas between. */
static bool
list_has(const char *list, const char *word)
{
	size_t		length = strlen(word);

	for (;;)
	{
		if (strcspn(list, ",") == length && strncmp(list, word, length) == 0)
			return true;
		list += strcspn(list, ",");
		if (*list++ == '\0')
			return false;
	}
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
	PbpLines	lines;
	char	   *line;
	bool		found = false;

	walk->v2 = true;
	if (!pbp_open_lines(&lines, walk->root, "/proc/self/cgroup"))
		return false;
	while (walk->v2 && (line = pbp_next_line(&lines)) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || strlen(group + 1) >= PBP_PATH_BYTES)
			continue;
		*group++ = '\0';
		controllers++;
		walk->v2 = !list_has(controllers, "memory");
		if (!walk->v2 || *controllers == '\0')
		{
			memcpy(path, group, strlen(group) + 1);
			found = true;
		}
	}
	pbp_close_lines(&lines);
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

/* Cuts off the next field, which may be empty; NULL: there is none. */
static char *
next_field(char **rest)
{
	char	   *field = *rest;
	char	   *blank = field ? strchr(field, ' ') : NULL;

	if (blank)
		*blank = '\0';
	*rest = blank ? blank + 1 : NULL;
	return field;
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
	mount->type = next_field(&rest);
	(void) next_field(&rest);
	mount->options = next_field(&rest);

	for (int i = 0; i < 3; i++)
		(void) next_field(&line);
	mount->root = next_field(&line);
	mount->folder = next_field(&line);
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
	PbpLines	lines;
	char	   *line;
	size_t		shortest = SIZE_MAX;

	if (!pbp_open_lines(&lines, walk->root, "/proc/self/mountinfo"))
		return false;
	while ((line = pbp_next_line(&lines)) != NULL)
	{
		Mount		mount;
		const char *below;

		if (!split_mount(line, &mount) ||
			strcmp(mount.type, walk->v2 ? "cgroup2" : "cgroup") != 0 ||
			(!walk->v2 && !list_has(mount.options, "memory")))
			continue;
		below = path_below(path, mount.root);
		if (!below || strlen(mount.root) >= shortest ||
			snprintf(walk->folder, sizeof(walk->folder), "%s%s", mount.folder, below) >=
			(int) sizeof(walk->folder))
			continue;
		shortest = strlen(mount.root);
		walk->top = strlen(mount.folder);
	}
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

static bool
file_path(const PbpCgroupWalk *walk, const char *file, char *path)
{
	return snprintf(path, PBP_PATH_BYTES, "%s/%s", walk->folder, file) < PBP_PATH_BYTES;
}

static int64_t
read_number(const PbpCgroupWalk *walk, const char *file)
{
	char		path[PBP_PATH_BYTES];

	return file_path(walk, file, path) ? pbp_read_number(walk->root, path) : PBP_UNKNOWN;
}

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
sum_of(int64_t one, int64_t other)
{
	if (one == PBP_UNKNOWN || other == PBP_UNKNOWN || one > INT64_MAX - other)
		return PBP_UNKNOWN;
	return one + other;
}

/*
 * Processes are slowed down above memory.high until they are below again, so it
 * is as much a limit as memory.max.
 */
static void
read_v2(const PbpCgroupWalk *walk, const char *stat, PbpMemoryUse *group)
{
	PbpNamedNumber numbers[] = {{"active_file", 0}, {"inactive_file", 0}, {"anon", 0}};

	group->limit = smaller_limit(read_number(walk, "memory.max"), read_number(walk, "memory.high"));
	group->used = read_number(walk, "memory.current");
	pbp_read_named_numbers(walk->root, stat, numbers, 3);
	group->file = sum_of(numbers[0].value, numbers[1].value);
	group->active_file = numbers[0].value;
	group->anon = numbers[2].value;
}

/*
 * The smallest limit of all ancestors is known, also of those that cannot be
 * seen.  Such an ancestor holds at least what the topmost visible one does.
 */
static void
read_v1(PbpCgroupWalk *walk, const char *stat, PbpMemoryUse *group)
{
	PbpNamedNumber numbers[] = {{"total_active_file", 0}, {"total_inactive_file", 0},
	{"total_rss", 0}, {"hierarchical_memory_limit", 0}};

	pbp_read_named_numbers(walk->root, stat, numbers, 4);
	group->limit = smaller_limit(read_number(walk, "memory.limit_in_bytes"), PBP_NO_LIMIT);
	group->used = read_number(walk, "memory.usage_in_bytes");
	group->file = sum_of(numbers[0].value, numbers[1].value);
	group->active_file = numbers[0].value;
	group->anon = numbers[2].value;
	walk->inherited = smaller_limit(walk->inherited, numbers[3].value);
	walk->tightest = smaller_limit(walk->tightest, group->limit);
	if (strlen(walk->folder) == walk->top && walk->inherited < walk->tightest)
		group->limit = walk->inherited;
}

/*
 * Moves up to the parent.  Until Linux 5.11, a v1 group may not be limited by
 * its ancestors.
 */
static void
move_up(PbpCgroupWalk *walk)
{
	char	   *slash = strrchr(walk->folder, '/');

	walk->at_end = strlen(walk->folder) <= walk->top || !slash;
	if (walk->at_end)
		return;
	*slash = '\0';
	if (!walk->v2 && read_number(walk, "memory.use_hierarchy") == 0)
		walk->at_end = true;
}

/* Reads the next group.  Returns false after the topmost.  Opens 3 to 4 files. */
bool
pbp_next_cgroup(PbpCgroupWalk *walk, PbpMemoryUse *group)
{
	char		stat[PBP_PATH_BYTES];

	if (walk->at_end || !file_path(walk, "memory.stat", stat))
		return false;
	if (walk->v2)
		read_v2(walk, stat, group);
	else
		read_v1(walk, stat, group);
	move_up(walk);
	return true;
}

/*
 * cgroup.c
 *	  Which memory cgroup limits the server, on hosts and in containers?
 *
 * Writes folders with files as kernels show them and compares what
 * src/os/osmemory.c makes of them.  Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include "machine_tree.h"

static void
test_v2(void)
{
	put_v2("max", "max");
	is_machine("v2 without limits");
	put_v2("max", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v2, a limit of its own: unused memory, and the page cache");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... and the largest size leaves the reserve");
	put_v2("7516192768", "max");
	is_cgroup(7 * GB, 5 * GB, "v2, a limit of the parent");
	put_v2("7516192768", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v2, both: its own leaves less");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... also to the largest size");
	put_v2("6442450944", "10737418240");
	is_cgroup(6 * GB, 4 * GB, "v2, both: the parent leaves less");
	put_v2("max", "max");
	put("/sys/fs/cgroup/db/memory.high", "7516192768\n");
	is_cgroup(7 * GB, 5 * GB, "v2, memory.high");
	put_v2("5368709120", "max");
	is_cgroup(5 * GB, 3 * GB, "v2, a limit below the memory in use");
	put_v2("17179869184", "max");
	is_machine("v2, a limit as large as the machine");
	is(pbp_refaults(tree), 2048, "v2, refaults of its own group");
}

static void
test_v1(void)
{
	put_v1(V1_NONE, V1_NONE, V1_NONE);
	is_machine("v1 without limits");
	is(pbp_refaults(tree), 2048, "v1, refaults of its own group and those below it");
	put_v1(V1_NONE, "4294967296", "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a limit of its own");
	is_largest(3 * GB - 256 * MB - 256 * MB, PBP_EXCEEDS_CGROUP, "... and the largest size leaves the reserve");
	put_v1("7516192768", V1_NONE, "7516192768");
	is_cgroup(7 * GB, 5 * GB, "v1, a limit of the parent");
	put_v1("6442450944", "10737418240", "6442450944");
	is_cgroup(6 * GB, 4 * GB, "v1, both: the parent leaves less");
	put_number("/sys/fs/cgroup/memory/db", "memory.use_hierarchy", 0);
	is_cgroup(10 * GB, 9 * GB, "v1, a parent that does not limit its children");
	put_v1(V1_NONE, "18446744073709551615", "99999999999999999999999");
	is_machine("v1, limits larger than any number");
}

static void
test_hybrid(void)
{
	put_v1(V1_NONE, "4294967296", "4294967296");
	put_mounts(V1_MOUNT "\n40 21 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
	put("/sys/fs/cgroup/unified/z/cgroup.procs", "1\n");
	is_cgroup(4 * GB, 3 * GB, "both versions mounted, memory in v1");
	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "1:name=systemd:/x\n0::/db/main\n");
	is_cgroup(4 * GB, 3 * GB, "both versions mounted, memory in v2");
}

static void
test_containers(void)
{
	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "0::/\n");
	put_v2_group("/sys/fs/cgroup", "5368709120", 3 * GB, 2 * GB, 0);
	is_cgroup(5 * GB, 4 * GB, "v2, a namespace whose root is the container's group");

	put_machine();
	put("/proc/self/cgroup", "4:memory:/docker/abc\n");
	put_mounts("32 21 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	put_v1_group("/sys/fs/cgroup/memory", "4294967296", 3 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a mount of the container's group");
	put_v1_group("/sys/fs/cgroup/memory", "5368709120", 3 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "v1, a limit of an ancestor that cannot be seen");
	put("/proc/self/cgroup", "4:memory:/docker/abc/pg\n");
	put_v1_group("/sys/fs/cgroup/memory/pg", V1_NONE, 2 * GB, 2 * GB, 0, "4294967296");
	is_cgroup(4 * GB, 3 * GB, "... from a group within the container");
	put("/proc/self/cgroup", "4:memory:/docker/abcd\n");
	put_v1_group("/sys/fs/cgroup/memoryd", "4294967296", 2 * GB, 2 * GB, 0, "4294967296");
	is_machine("v1, a mount of another group whose name begins alike");
	put("/proc/self/cgroup", "4:memory:/my group/a\n");
	put_mounts("32 21 0:28 /my\\040group/a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	is_cgroup(4 * GB, 3 * GB, "v1, a mount of a group with a blank in its name");
	put_mounts("32 21 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
	put("/proc/self/cgroup", "4:memory:/docker\n");
	is_machine("v1, a mount of a descendant");

	put_v2("max", "4294967296");
	put("/proc/self/cgroup", "0::/../main\n");
	put_v2_group("/sys/fs/main", "2147483648", GB, GB, 0);
	is_machine("v2, a process outside the root of its namespace");
	put("/proc/self/cgroup", "0::/main\n");
	put_mounts("30 21 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
	is_machine("v2, a mount from outside the namespace");
	put("/proc/self/cgroup", "0::/../db/main\n");
	is_cgroup(4 * GB, 3 * GB, "v2, a process and a mount outside the namespace");
	put_mounts("");
	is_machine("v2, not mounted");
	put("/proc/self/cgroup", "0::/db/gone (deleted)\n");
	put_mounts(V2_MOUNT);
	is_machine("v2, a group that was removed");
}

static void
test_mounts(void)
{
	char		lines[20000];

	put_v2("max", "4294967296");
	put_mounts("30 21 0:26 / /my\\040groups\\134 rw shared:1 master:2 propagate_from:3 - cgroup2  rw");
	put_v2_group("/my groups\\/db/main", "2147483648", GB, GB / 2, 0);
	is_cgroup(2 * GB, GB + GB / 2, "a folder with a blank, and a mount without a source");

	put_v2("7516192768", "max");
	put_mounts("29 21 0:26 /db/main /narrow rw - cgroup2 c rw\n" V2_MOUNT "\n31 21 0:26 /db /wide rw - cgroup2 c rw");
	put_v2_group("/narrow", "max", 3 * GB, 2 * GB, 0);
	is_cgroup(7 * GB, 5 * GB, "of several mounts, the one with most ancestors counts");

	memset(lines, 'x', sizeof(lines));
	memcpy(lines + sizeof(lines) - sizeof("\n" V2_MOUNT), "\n" V2_MOUNT, sizeof("\n" V2_MOUNT));
	put_v2("max", "4294967296");
	put_mounts(lines);
	is_cgroup(4 * GB, 3 * GB, "a line longer than the buffer is left out");
	put("/proc/self/mountinfo", "%s", V2_MOUNT);
	is_cgroup(4 * GB, 3 * GB, "a last line without an end counts");
}

static void
test_extremes(void)
{
	put_v2("max", "1048576");
	read_as(&plain);
	is(memory.cache_bytes, 0, "a tiny limit leaves nothing");
	is(pbp_size_fits(&memory, POOL + MB), PBP_EXCEEDS_CGROUP, "... and no larger size fits");
	is(pbp_size_fits(&memory, POOL), PBP_FITS, "... but today's does");
	put_v2("max", "0");
	is_cgroup(0, 0, "a limit of 0");
	put_v2("max", "4294967296");
	put("/sys/fs/cgroup/db/main/memory.current", "9223372036854775807\n");
	is_cgroup(4 * GB, 0, "a group with more in use than there can be");
	put("/sys/fs/cgroup/db/main/memory.current", "oops\n");
	read_as(&plain);
	ok(!memory.known, "a limited group that does not show what is in use");
	put_v2("max", "4294967296");
	put("/sys/fs/cgroup/db/main/memory.stat", "anon 5\n");
	read_as(&plain);
	ok(!memory.known, "a limited group that does not show its page cache");
	put("/sys/fs/cgroup/db/main/memory.stat", "active_file 9223372036854775807\ninactive_file 5\n");
	read_as(&plain);
	ok(!memory.known, "... or one that is larger than any number");
	put_v2("max", "max");
	put("/sys/fs/cgroup/db/main/memory.stat", "anon 5\n");
	is_machine("a group without a limit need not");
	is(pbp_refaults(tree), PBP_UNKNOWN, "a group that does not show its refaults");
}

/* ---- odd contents ---- */

static const char *const files[] = {
	"/proc/meminfo", "/proc/self/cgroup", "/proc/self/mountinfo", "/proc/sys/vm/min_free_kbytes",
	"/proc/sys/vm/watermark_scale_factor", "/sys/fs/cgroup/db/memory.max", "/sys/fs/cgroup/db/memory.current",
	"/sys/fs/cgroup/db/memory.stat", "/sys/fs/cgroup/db/main/memory.max", "/sys/fs/cgroup/db/main/memory.stat",
	"/sys/fs/cgroup/memory/db/memory.limit_in_bytes", "/sys/fs/cgroup/memory/db/main/memory.usage_in_bytes",
	"/sys/fs/cgroup/memory/db/main/memory.stat", "/sys/fs/cgroup/memory/db/main/memory.use_hierarchy"
};

#define FILE_COUNT		((int) (sizeof(files) / sizeof(files[0])))

static bool
is_consistent(void)
{
	PbpServerMemory server = plain;

	server.unused_bytes = draw(2) ? GB : INT64_MAX;
	server.own_file_bytes = draw(2) ? GB : PBP_UNKNOWN;
	server.all_file_bytes = draw(2) ? 2 * GB : draw(2) ? INT64_MAX : PBP_UNKNOWN;
	read_as(&server);
	return !memory.known ||
		(memory.cache_bytes >= 0 && memory.cache_bytes <= memory.limit_bytes &&
		 pbp_size_fits(&memory, POOL) == PBP_FITS &&
		 (memory.holder == PBP_HELD_BY_MACHINE) >= (memory.rooms[PBP_HELD_BY_CGROUP].available == PBP_NO_LIMIT));
}

static size_t
content_of(const char *path, char *content, size_t room)
{
	char		full[512];
	FILE	   *file;
	size_t		bytes;

	snprintf(full, sizeof(full), "%s%s", tree, path);
	file = fopen(full, "r");
	if (!file)
		return 0;
	bytes = fread(content, 1, room, file);
	fclose(file);
	return bytes;
}

static void
test_truncated(bool v2)
{
	char		content[4096];
	int			wrong = 0;
	int			cuts = 0;

	if (v2)
		put_v2("7516192768", "4294967296");
	else
		put_v1("7516192768", "4294967296", "4294967296");
	for (int i = 0; i < FILE_COUNT; i++)
	{
		size_t		bytes = content_of(files[i], content, sizeof(content));

		for (size_t cut = 0; cut < bytes; cut++, cuts++)
		{
			put_bytes(files[i], content, cut);
			wrong += !is_consistent();
		}
		if (bytes > 0)
			put_bytes(files[i], content, bytes);
	}
	printf("# %d files cut short\n", cuts);
	ok(wrong == 0 && cuts > 500, v2 ? "v2, each file cut at each byte" : "v1, each file cut at each byte");
}

static void
test_garbage(void)
{
	static const char *const pieces[] = {
		"0", "max", "-1", "9223372036854771712", "18446744073709551615", " ", "\n", ":", "kB", " - ", "/", "/db",
		"MemTotal:", "MemFree: ", "Active(file): ", "active_file ", "cgroup2", "memory", "\\040", "\\", "4096", ",", "::"
	};
	char		content[4096];
	int			wrong = 0;
	int			known = 0;

	for (int i = 0; i < 2500; i++)
	{
		const char *path = files[draw(FILE_COUNT)];
		size_t		bytes;

		if (i % 40 == 0)
			(i % 80 ? put_v2("7516192768", "4294967296") : put_v1("7516192768", "4294967296", "4294967296"));
		bytes = content_of(path, content, sizeof(content) - 64);
		for (int change = 0; change < 4; change++)
		{
			const char *piece = pieces[draw(sizeof(pieces) / sizeof(pieces[0]))];

			if (draw(2))
				memcpy(content + draw((unsigned) bytes + 1), piece, strlen(piece));
			else if (bytes > 0)
				content[draw((unsigned) bytes)] = (char) draw(256);
		}
		put_bytes(path, content, bytes);
		wrong += !is_consistent();
		known += memory.known;
	}
	printf("# %d of 2500 known\n", known);
	ok(wrong == 0 && known > 500, "files with garbage in them");
}

int
main(void)
{
	begin_tests("cgroup");
	test_v2();
	test_v1();
	test_hybrid();
	test_containers();
	test_mounts();
	test_extremes();
	test_truncated(true);
	test_truncated(false);
	test_garbage();
	return end_tests();
}

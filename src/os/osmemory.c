/*-------------------------------------------------------------------------
 *
 * osmemory.c
 *	  The page cache that this server can have, and the sizes of shared_buffers
 *	  that fit into its memory.
 *
 * What the server knows about itself belongs in servermemory.c, how cgroups are
 * found in cgroup.c.
 *
 *-------------------------------------------------------------------------
 */
#include "os/osmemory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cgroup.h"

/* No figure is larger, so that sums of a few cannot overflow. */
#define MAX_BYTES			(INT64_C(1) << 60)

static int64_t
between(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* An unknown figure counts as 0. */
static int64_t
bounded(int64_t value)
{
	return between(value, 0, MAX_BYTES);
}

/* ---- the machine ---- */

/*
 * The memory that the kernel keeps free, by evicting pages in the background:
 * the high watermark of all zones.
 */
static int64_t
kept_free(const char *root, int64_t total)
{
	int64_t		min_free = pbp_read_number(root, "/proc/sys/vm/min_free_kbytes");
	int64_t		scale = pbp_read_number(root, "/proc/sys/vm/watermark_scale_factor");
	int64_t		step;

	min_free = min_free > MAX_BYTES / 1024 ? MAX_BYTES : bounded(min_free) * 1024;
	scale = scale == PBP_UNKNOWN ? 10 : between(scale, 0, 10000);
	step = total / 10000 * scale;
	if (step < min_free / 4)
		step = min_free / 4;
	return min_free + 2 * step < total ? min_free + 2 * step : total;
}

/*
 * Where the kernel never promises more memory than there is, the rest of what it
 * may still promise.
 */
static int64_t
promisable(const char *root, int64_t limit, int64_t promised)
{
	bool		strict = pbp_read_number(root, "/proc/sys/vm/overcommit_memory") == 2;

	if (!strict || limit == PBP_UNKNOWN || promised == PBP_UNKNOWN)
		return PBP_NO_LIMIT;
	return bounded(limit) - bounded(promised);
}

/* Free huge pages of this size, without those that are promised to somebody. */
static int64_t
huge_page_room(const char *root, int64_t page_bytes)
{
	char		path[PBP_PATH_BYTES];
	int64_t		room;

	(void) snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%lldkB/free_hugepages",
					(long long) (page_bytes / 1024));
	room = bounded(pbp_read_number(root, path));
	(void) snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%lldkB/resv_hugepages",
					(long long) (page_bytes / 1024));
	room = bounded(room - bounded(pbp_read_number(root, path)));
	return room > MAX_BYTES / page_bytes ? MAX_BYTES : room * page_bytes;
}

/*
 * Returns false if the kernel gives no information.  What it keeps free counts as
 * used.  Also sets the room that promises leave.
 */
static bool
read_machine(const char *root, PbpMemoryUse *machine, int64_t *promise)
{
	enum
	{
		TOTAL, FREE, ACTIVE_FILE, INACTIVE_FILE, ANON, COMMIT_LIMIT, COMMITTED, NUMBERS
	};
	PbpNamedNumber numbers[NUMBERS] = {
		[TOTAL] = {.name = "MemTotal"},
		[FREE] = {.name = "MemFree"},
		[ACTIVE_FILE] = {.name = "Active(file)"},
		[INACTIVE_FILE] = {.name = "Inactive(file)"},
		[ANON] = {.name = "AnonPages"},
		[COMMIT_LIMIT] = {.name = "CommitLimit"},
		[COMMITTED] = {.name = "Committed_AS"},
	};

	pbp_read_named_numbers(root, "/proc/meminfo", numbers, NUMBERS);
	for (int i = 0; i < ANON; i++)
		if (numbers[i].value == PBP_UNKNOWN)
			return false;
	machine->limit = bounded(numbers[TOTAL].value);
	machine->used = machine->limit - bounded(numbers[FREE].value) + kept_free(root, machine->limit);
	machine->active_file = bounded(numbers[ACTIVE_FILE].value);
	machine->file = machine->active_file + bounded(numbers[INACTIVE_FILE].value);
	machine->anon = bounded(numbers[ANON].value);
	*promise = promisable(root, numbers[COMMIT_LIMIT].value, numbers[COMMITTED].value);
	return true;
}

/* ---- capacity ---- */

/*
 * What other files hold.  Pages that were used once do not count: the kernel
 * evicts them before others, whoever reads.
 */
static int64_t
held_by_others(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	if (server->own_file_bytes == PBP_UNKNOWN)
		return 0;
	return between(memory->file - server->own_file_bytes, 0, memory->active_file);
}

/* Negative if more is in use than the limit. */
static int64_t
available(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	return memory->limit - memory->used + memory->file - server->unused_bytes;
}

/* What the page cache of the server's files can grow to. */
static int64_t
capacity(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	return between(available(memory, server) - held_by_others(memory, server), 0, memory->limit);
}

static int64_t
reserve(const PbpMemoryUse *memory)
{
	return (int64_t) ((double) memory->limit * PBP_RESERVE_SHARE +
					  (double) memory->anon * PBP_RESERVE_OF_PRIVATE);
}

/*
 * What shared memory can grow by.  Other files may be evicted for it.  Negative
 * if even today's size leaves less than the reserve.
 */
static int64_t
room(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	return available(memory, server) - reserve(memory);
}

/*
 * Takes a group into account.  A limit of at least the machine's memory has no
 * effect of its own, so that nothing else need be known about it.
 */
static bool
add_group(const PbpMemoryUse *group, const PbpMemoryUse *machine, PbpOsMemory *memory)
{
	PbpMemoryUse limited = {
		.limit = group->limit,
		.used = bounded(group->used),
		.file = bounded(group->file),
		.active_file = bounded(group->active_file),
		.anon = bounded(group->anon),
	};
	int64_t		cache;

	if (group->limit >= machine->limit)
		return true;
	if (group->used == PBP_UNKNOWN || group->file == PBP_UNKNOWN)
		return false;
	cache = capacity(&limited, &memory->server);
	if (cache < memory->cache_bytes)
	{
		memory->cache_bytes = cache;
		memory->limit_bytes = limited.limit;
		memory->holder = PBP_HELD_BY_CGROUP;
	}
	if (room(&limited, &memory->server) < memory->cgroup_room)
		memory->cgroup_room = room(&limited, &memory->server);
	return true;
}

static bool
read_memory(const char *root, PbpOsMemory *memory)
{
	PbpMemoryUse machine;
	PbpCgroupWalk walk;
	PbpMemoryUse group;
	int64_t		promise;

	if (!read_machine(root, &machine, &promise))
		return false;
	memory->limit_bytes = machine.limit;
	memory->cache_bytes = capacity(&machine, &memory->server);
	memory->machine_room = room(&machine, &memory->server);
	if (promise != PBP_NO_LIMIT && promise - reserve(&machine) < memory->machine_room)
		memory->machine_room = promise - reserve(&machine);

	pbp_cgroup_walk(&walk, root);
	while (pbp_next_cgroup(&walk, &group))
		if (!add_group(&group, &machine, memory))
			return false;
	return true;
}

/*
 * Reads all about the memory of the server of this process.  Takes no lock and
 * allocates no memory; opens 7 small files, and 4 for each cgroup.
 *
 * The figures are not read at one time.  While memory is allocated quickly, the
 * capacity may be off by what was allocated meanwhile.
 */
void
pbp_os_memory_read(const char *root, const PbpServerMemory *server, PbpOsMemory *memory)
{
	*memory = (PbpOsMemory) {
		.server = *server,
			.cgroup_room = PBP_NO_LIMIT,
			.huge_page_room = PBP_NO_LIMIT,
	};
	memory->server.pool_bytes = bounded(server->pool_bytes);
	memory->server.unused_bytes = bounded(server->unused_bytes);
	if (server->own_file_bytes != PBP_UNKNOWN)
		memory->server.own_file_bytes = bounded(server->own_file_bytes);
	memory->lru_gen = (bounded(pbp_read_number(root, "/sys/kernel/mm/lru_gen/enabled")) & 1) != 0;
	if (server->huge_page_bytes > 0)
		memory->huge_page_room = huge_page_room(root, server->huge_page_bytes);
	memory->known = read_memory(root, memory);
}

/* ---- other sizes ---- */

/* What shared memory grows by, if shared_buffers has this size. */
static int64_t
growth(const PbpOsMemory *memory, int64_t pool_bytes)
{
	return pbp_pool_bytes(bounded(pool_bytes)) - pbp_pool_bytes(memory->server.pool_bytes);
}

/*
 * Whether shared_buffers can have this size after a restart.  Huge pages are
 * memory that nothing else can use, so a size for which there are enough fits.
 * Those that the kernel could add on demand (nr_overcommit_hugepages) do not
 * count.  In normal pages, page tables grow in all processes.
 */
PbpFit
pbp_size_fits(const PbpOsMemory *memory, int64_t pool_bytes)
{
	int64_t		more = growth(memory, pool_bytes);
	double		with_tables;

	if (more <= 0)
		return PBP_FITS;
	if (memory->server.huge_page_bytes > 0)
		return more <= memory->huge_page_room ? PBP_FITS : PBP_EXCEEDS_HUGE_PAGES;
	if (!memory->known)
		return PBP_FIT_UNKNOWN;
	with_tables = (double) more * (1 + memory->server.page_tables);
	more = with_tables < (double) MAX_BYTES ? (int64_t) with_tables : MAX_BYTES;
	if (more > memory->cgroup_room && memory->cgroup_room <= memory->machine_room)
		return PBP_EXCEEDS_CGROUP;
	return more > memory->machine_room ? PBP_EXCEEDS_MACHINE : PBP_FITS;
}

/*
 * True if this address of the process is in huge pages.  /proc/self/maps has many
 * mappings, so the caller had better keep the answer.
 */
bool
pbp_in_huge_pages(const char *root, const void *address)
{
	PbpLines	lines;
	char	   *line;
	bool		found = false;

	if (!pbp_open_lines(&lines, root, "/proc/self/maps"))
		return false;
	while (!found && (line = pbp_next_line(&lines)) != NULL)
	{
		char	   *end;
		unsigned long long from = strtoull(line, &end, 16);
		unsigned long long to = *end == '-' ? strtoull(end + 1, &end, 16) : 0;

		if (from <= (uintptr_t) address && (uintptr_t) address < to)
		{
			found = strstr(end, "/anon_hugepage") != NULL;
			break;
		}
	}
	pbp_close_lines(&lines);
	return found;
}

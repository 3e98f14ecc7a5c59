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

#include <stdlib.h>
#include <string.h>

static int64_t
between(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* An unknown figure counts as 0. */
static int64_t
bounded(int64_t value)
{
	return between(value, 0, PBP_MAX_MEMORY);
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

	min_free = min_free > PBP_MAX_MEMORY / 1024 ? PBP_MAX_MEMORY : bounded(min_free) * 1024;
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

static int64_t
huge_pages(const char *root, int64_t page_bytes, const char *which)
{
	char		path[PBP_PATH_BYTES];

	(void) snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%lldkB/%s_hugepages",
					(long long) (page_bytes / 1024), which);
	return bounded(pbp_read_number(root, path));
}

/* Free huge pages of this size, without those that are promised to somebody. */
static int64_t
huge_page_room(const char *root, int64_t page_bytes)
{
	int64_t		pages = bounded(huge_pages(root, page_bytes, "free") -
								huge_pages(root, page_bytes, "resv"));

	return pages > PBP_MAX_MEMORY / page_bytes ? PBP_MAX_MEMORY : pages * page_bytes;
}

/* Returns false if the kernel gives no information.  What it keeps free counts as used. */
static bool
read_machine(const char *root, PbpMemoryUse *machine)
{
	enum
	{
		TOTAL, FREE, ACTIVE_FILE, INACTIVE_FILE, ANON, COMMIT_LIMIT, COMMITTED, HUGE_PAGES,
		SWAP_FREE, NUMBERS
	};
	PbpNamedNumber numbers[NUMBERS] = {
		[TOTAL] = {.name = "MemTotal"},
		[FREE] = {.name = "MemFree"},
		[ACTIVE_FILE] = {.name = "Active(file)"},
		[INACTIVE_FILE] = {.name = "Inactive(file)"},
		[ANON] = {.name = "AnonPages"},
		[COMMIT_LIMIT] = {.name = "CommitLimit"},
		[COMMITTED] = {.name = "Committed_AS"},
		[HUGE_PAGES] = {.name = "Hugetlb"},
		[SWAP_FREE] = {.name = "SwapFree"},
	};

	pbp_read_named_numbers(root, "/proc/meminfo", numbers, NUMBERS);
	machine->swaps = numbers[SWAP_FREE].value > 0;
	for (int i = 0; i < ANON; i++)
		if (numbers[i].value == PBP_UNKNOWN)
			return false;
	machine->limit = bounded(numbers[TOTAL].value);
	machine->used = machine->limit - bounded(numbers[FREE].value) + kept_free(root, machine->limit);
	machine->active_file = bounded(numbers[ACTIVE_FILE].value);
	machine->file = machine->active_file + bounded(numbers[INACTIVE_FILE].value);
	machine->anon = bounded(numbers[ANON].value);
	machine->promise = promisable(root, numbers[COMMIT_LIMIT].value, numbers[COMMITTED].value);
	machine->huge_bytes = between(numbers[HUGE_PAGES].value, PBP_UNKNOWN, PBP_MAX_MEMORY);
	return true;
}

/* ---- capacity ---- */

/* Negative if more is in use than the limit. */
static int64_t
available(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	return memory->limit - memory->used + memory->file - server->unused_bytes;
}

/*
 * What the page cache of the server's files can grow to.  Of other files, pages
 * that were used once do not count: the kernel evicts them before others, whoever
 * reads.
 */
static int64_t
capacity(const PbpMemoryUse *memory, const PbpServerMemory *server)
{
	int64_t		others = server->own_file_bytes == PBP_UNKNOWN ? 0 :
		between(memory->file - server->own_file_bytes, 0, memory->active_file);

	return between(available(memory, server) - others, 0, memory->limit);
}

/* What is left of each memory as a rule, whatever the server needs. */
int64_t
pbp_usual_reserve(int64_t limit_bytes, int64_t private_bytes)
{
	return (int64_t) ((double) limit_bytes * PBP_RESERVE_SHARE +
					  (double) private_bytes * PBP_RESERVE_OF_PRIVATE);
}

/*
 * Shared memory can grow by what is available, for which other files may be
 * evicted, less the reserve.  Negative if even today's size leaves less.
 */
static void
limit_growth(int64_t available_bytes, int64_t reserve_bytes, PbpMemoryRoom *room)
{
	if (available_bytes - reserve_bytes < room->less_reserve)
		room->less_reserve = available_bytes - reserve_bytes;
	if (available_bytes < room->available)
		room->available = available_bytes;
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
		memory->private_bytes = limited.anon;
		memory->holder = PBP_HELD_BY_CGROUP;
	}
	limit_growth(available(&limited, &memory->server),
				 pbp_usual_reserve(limited.limit, limited.anon),
				 &memory->rooms[PBP_HELD_BY_CGROUP]);
	return true;
}

/*
 * The page cache of all files: of this process's own group, or of the machine if
 * that is unknown; PBP_UNKNOWN possible.
 */
int64_t
pbp_file_bytes(const char *root)
{
	PbpMemoryUse use;
	PbpCgroupWalk walk;

	pbp_cgroup_walk(&walk, root);
	if (pbp_next_cgroup(&walk, &use) && use.file != PBP_UNKNOWN)
		return bounded(use.file);
	return read_machine(root, &use) ? use.file : PBP_UNKNOWN;
}

/*
 * Pages of files that were evicted, and read into the page cache again, ever: in this process's own
 * group, or on the machine if there is none.  PBP_UNKNOWN possible, as before Linux 5.9.
 */
int64_t
pbp_refaults(const char *root)
{
	PbpMemoryUse group;
	PbpCgroupWalk walk;
	PbpNamedNumber number = {.name = "workingset_refault_file"};

	pbp_cgroup_walk(&walk, root);
	if (pbp_next_cgroup(&walk, &group))
		return group.refaults;
	pbp_read_named_numbers(root, "/proc/vmstat", &number, 1);
	return number.value;
}

/*
 * What the page cache holds of the server's files by now.  Counting them takes
 * minutes, so what it grew by since counts as theirs, too: an empty cache is
 * filled by the server.
 */
static int64_t
own_by_now(const char *root, const PbpServerMemory *server)
{
	int64_t		now;

	if (server->own_file_bytes == PBP_UNKNOWN)
		return PBP_UNKNOWN;
	now = server->all_file_bytes == PBP_UNKNOWN ? PBP_UNKNOWN : pbp_file_bytes(root);
	if (now == PBP_UNKNOWN)
		return bounded(server->own_file_bytes);
	return bounded(bounded(server->own_file_bytes) + now - bounded(server->all_file_bytes));
}

static bool
read_memory(const char *root, PbpOsMemory *memory)
{
	PbpMemoryRoom *room = &memory->rooms[PBP_HELD_BY_MACHINE];
	PbpMemoryUse machine;
	PbpMemoryUse group;
	PbpCgroupWalk walk;
	int64_t		reserve;
	bool		known;

	known = read_machine(root, &machine);
	memory->swaps = machine.swaps;
	if (!known)
		return false;
	reserve = pbp_usual_reserve(machine.limit, machine.anon);
	memory->limit_bytes = machine.limit;
	memory->huge_bytes = machine.huge_bytes;
	memory->private_bytes = machine.anon;
	memory->cache_bytes = capacity(&machine, &memory->server);
	limit_growth(available(&machine, &memory->server), reserve, room);
	limit_growth(machine.promise, reserve, room);

	pbp_cgroup_walk(&walk, root);
	while (pbp_next_cgroup(&walk, &group))
		if (!add_group(&group, &machine, memory))
			return false;
	return true;
}

static PbpEviction
read_eviction(const char *root)
{
	char		line[PBP_LINE_BYTES];
	int			major;
	int			minor;

	if ((bounded(pbp_read_number(root, "/sys/kernel/mm/lru_gen/enabled")) & 1) == 0)
		return PBP_EVICTS_BY_LISTS;
	pbp_read_line(root, "/proc/sys/kernel/osrelease", line);
	if (sscanf(line, "%d.%d", &major, &minor) != 2 || major < 6 || (major == 6 && minor < 8))
		return PBP_EVICTS_BY_OLD_MGLRU;
	return major == 6 && minor < 14 ? PBP_EVICTS_BY_MGLRU_6_8 : PBP_EVICTS_BY_MGLRU_6_14;
}

/*
 * Reads all about the memory of the server of this process.  Takes no lock;
 * opens up to 14 small files, and 4 for each cgroup.
 *
 * The figures are not read at one time.  While memory is allocated quickly, the
 * capacity may be off by what was allocated meanwhile.
 */
void
pbp_os_memory_read(const char *root, const PbpServerMemory *server, PbpOsMemory *memory)
{
	*memory = (PbpOsMemory) {
		.server = *server,
			.rooms = {{PBP_NO_LIMIT, PBP_NO_LIMIT}, {PBP_NO_LIMIT, PBP_NO_LIMIT}},
			.huge_page_room = PBP_NO_LIMIT,
			.huge_bytes = PBP_UNKNOWN,
	};
	memory->server.pool_bytes = bounded(server->pool_bytes);
	memory->server.unused_bytes = bounded(server->unused_bytes);
	memory->server.own_file_bytes = own_by_now(root, server);
	memory->eviction = read_eviction(root);
	if (server->huge_page_bytes > 0)
		memory->huge_page_room = huge_page_room(root, server->huge_page_bytes);
	memory->known = read_memory(root, memory);
}

/* ---- other sizes ---- */

/*
 * What depends on the pool's size, in bytes: a buffer's descriptor, hash table
 * entry and the like are 2.3 % of it.  By default, the buffers for WAL grow with
 * the pool up to 16 MB, and three buffers for transactions up to 8 MB each (from
 * 17 on).
 */
int64_t
pbp_pool_bytes(int64_t shared_buffers)
{
	const int64_t mb = 1024 * 1024;

	return shared_buffers + shared_buffers / 1000 * 23 + between(shared_buffers / 32, 0, 16 * mb) +
		3 * between(shared_buffers / 512, 0, 8 * mb);
}

/* What shared memory grows by, if shared_buffers has this size. */
static int64_t
growth(const PbpOsMemory *memory, int64_t pool_bytes)
{
	return pbp_pool_bytes(bounded(pool_bytes)) - pbp_pool_bytes(memory->server.pool_bytes);
}

/*
 * What page tables may grow by, with a pool of this size: beyond those in use,
 * until all processes that may exist have used all shared memory.
 */
int64_t
pbp_page_tables(const PbpServerMemory *server, int64_t pool_bytes)
{
	double		tables = (double) pbp_pool_bytes(bounded(pool_bytes)) * server->page_tables;

	if (tables >= (double) PBP_MAX_MEMORY)
		return PBP_MAX_MEMORY;
	return bounded((int64_t) tables - bounded(server->page_table_bytes));
}

/*
 * What shared memory can grow by with so much more memory: what is left beyond the
 * needs of the server's processes, or beyond the usual reserve if that is more.
 * The usual reserve grows with the memory.
 */
static int64_t
room_in(const PbpOsMemory *memory, PbpMemoryHolder holder, int64_t more_bytes)
{
	const PbpMemoryRoom *room = &memory->rooms[holder];
	const PbpMemoryNeeds *needs = &memory->server.needs;
	int64_t		needed = bounded(needs->processes) + bounded(needs->queries) +
		bounded(needs->vacuum) + bounded(needs->decoding);
	int64_t		reserved = room->available - room->less_reserve +
		(int64_t) ((double) more_bytes * PBP_RESERVE_SHARE);

	if (room->available == PBP_NO_LIMIT)
		return PBP_NO_LIMIT;
	return room->available + more_bytes - (needed > reserved ? needed : reserved);
}

/*
 * Whether shared_buffers can have this size after a restart.
 *
 * A larger pool must leave room for what may come, not only for what is: for the
 * page tables of as many processes as may exist, if these are in normal pages,
 * and for the needs of the processes, or the usual reserve if that is more.
 *
 * Huge pages are memory that nothing else can use, so a size for which there are
 * enough fits.  Those that the kernel could add on demand
 * (nr_overcommit_hugepages) do not count.
 *
 * A smaller pool needs no memory, but buffers that all sessions can pin.
 */
PbpFit
pbp_size_fits(const PbpOsMemory *memory, int64_t pool_bytes)
{
	const PbpServerMemory *server = &memory->server;
	int64_t		more = growth(memory, pool_bytes);
	int64_t		machine = room_in(memory, PBP_HELD_BY_MACHINE, 0);
	int64_t		cgroup = room_in(memory, PBP_HELD_BY_CGROUP, 0);

	if (more <= 0)
		return more < 0 && pool_bytes < server->least_pool_bytes ? PBP_BELOW_CONNECTIONS : PBP_FITS;
	if (server->huge_page_bytes > 0)
		return more <= memory->huge_page_room ? PBP_FITS : PBP_EXCEEDS_HUGE_PAGES;
	if (!memory->known)
		return PBP_FIT_UNKNOWN;
	more += pbp_page_tables(server, pool_bytes);
	if (more > cgroup && cgroup <= machine)
		return PBP_EXCEEDS_CGROUP;
	return more > machine ? PBP_EXCEEDS_MACHINE : PBP_FITS;
}

/*
 * True if the pool would fit with so much more memory, or less if that is
 * negative, of the machine or of the cgroup that limits the page cache.
 */
bool
pbp_fits_other_memory(const PbpOsMemory *memory, int64_t more_bytes, int64_t pool_bytes)
{
	return memory->known && pool_bytes >= memory->server.least_pool_bytes &&
		growth(memory, pool_bytes) + pbp_page_tables(&memory->server, pool_bytes) <=
		room_in(memory, memory->holder, more_bytes);
}

/*
 * True if this address of the process is in huge pages.  /proc/self/maps has many
 * mappings, so the caller had better keep the answer.
 */
bool
pbp_in_huge_pages(const char *root, const void *address)
{
	char		line[PBP_LINE_BYTES];
	FILE	   *file = pbp_open_lines(root, "/proc/self/maps");
	bool		found = false;

	while (file && pbp_next_line(file, line))
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
	if (file)
		(void) fclose(file);
	return found;
}

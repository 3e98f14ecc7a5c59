/*-------------------------------------------------------------------------
 *
 * servermemory.c
 *	  The memory of this server.
 *
 * What the kernel reports of memory is read in osmemory.c, which needs to know
 * what is here: the pool, how much of it takes memory, and in pages of which
 * size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "utils/memutils.h"

#include "base/compat.h"
#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"
#include "memory/memoryfacts.h"
#include "memory/ownfiles.h"
#include "memory/servermemory.h"
#include "os/oscache.h"

/* Shares of the allowed processor time for counting own files: during a round, and on average. */
#define ROUND_SHARE			0.5
#define COUNTING_SHARE		0.05

/* Pages of the pool that are asked about. */
#define POOL_PROBES			256

/* Tablespaces whose file systems are asked about. */
#define MAX_TABLESPACES		64

/* File systems, as statfs(2) numbers them. */
#define TMPFS				0x01021994
#define RAMFS				0x858458f6

/* ---- the pool ---- */

/*
 * True if the page of this block in the pool takes memory.  The kernel answers
 * without accessing the page.
 */
static bool
takes_memory(int buffer)
{
#ifdef __linux__
	uintptr_t	address = (uintptr_t) BufferBlocks + (uintptr_t) buffer * BLCKSZ;
	unsigned char resident = 1;

	address -= address % (uintptr_t) pbp_os_page_bytes();
	return mincore((void *) address, 1, &resident) != 0 || (resident & 1) != 0;
#else
	return true;
#endif
}

/*
 * Bytes of the pool that no session has used since the server started.  They
 * are at the end of the pool, so that probes at regular distances miss by one
 * distance.  About 0.3 us per probe, and nothing once the pool is full.
 */
static int64
unused_pool_bytes(void)
{
	static bool full = false;
	int			nprobes = Min(NBuffers, POOL_PROBES);
	int			unused = 0;

	if (full)
		return 0;
	for (int i = 0; i < nprobes; i++)
		unused += !takes_memory((int) ((int64) i * NBuffers / nprobes));
	full = unused == 0;
	return (int64) NBuffers * BLCKSZ / nprobes * unused;
}

/* Size of the huge pages of shared memory; 0: it is in normal pages. */
static int64
huge_page_bytes(void)
{
	static int64 bytes = -1;

	if (bytes < 0)
	{
		Size		size = 0;
		int			flags;

		if (pbp_in_huge_pages("", BufferBlocks))
			GetHugePageSize(&size, &flags);
		bytes = (int64) size;
	}
	return bytes;
}

/*
 * Reads all about the memory of this server; the page cache of its files and of
 * all files is as counted in ownfiles.c, or PBP_UNKNOWN.  Takes no lock and
 * allocates no memory; 0.3 to 2 ms of processor time.
 */
static void
read_server_memory(int64 own_file_bytes, int64 all_file_bytes, PbpMemoryFacts *facts)
{
	PbpServerMemory server = {
		.pool_bytes = (int64) NBuffers * BLCKSZ,
		.huge_page_bytes = huge_page_bytes(),
		.own_file_bytes = own_file_bytes,
		.all_file_bytes = all_file_bytes,
	};

	/* Huge pages are taken from the memory when they are reserved. */
	if (server.huge_page_bytes == 0)
		server.unused_bytes = unused_pool_bytes();
	pbp_os_memory_read("", &server, &facts->memory);
	facts->settings = pbp_memory_settings();
	facts->processes = pbp_count_processes(true);
	/* What processes share since they were forked was counted for each. */
	if (facts->memory.known)
		facts->processes.private_bytes = Min(facts->processes.private_bytes, facts->memory.private_bytes);
	pbp_expect_needs(&facts->settings, &facts->processes, pbp_os_page_bytes(), &facts->memory.server);
}

/*
 * The same for a plan of memory.  With pgbufprobe.os_cache off, the kernel is not
 * asked about anything.
 */
void
pbp_read_memory_facts(PbpMemoryFacts *facts)
{
	if (pbp_os_cache_on)
		read_server_memory(PBP_UNKNOWN, PBP_UNKNOWN, facts);
	else
		*facts = (PbpMemoryFacts) {
			.settings = pbp_memory_settings(),
				.processes = pbp_count_processes(false),
				.memory = {.known = false},
		};
}

/* ---- file systems ---- */

/*
 * True if the page cache lies between this folder's files and storage.  A file
 * system in memory has no storage; one that is stacked on another uses the page
 * cache of that.
 */
static bool
has_page_cache(const char *folder)
{
	PbpOsTrust	trust;
	uint32		type;
	bool		in_memory;
	int			fd = OpenTransientFile(folder, O_RDONLY | O_DIRECTORY);

	/* A folder that was dropped meanwhile has no files, nor has what is none. */
	if (fd < 0)
		return true;
	trust = pbp_os_file_system_trust(fd);
	in_memory = pbp_kernel_file_system(fd, &type) && (type == TMPFS || type == RAMFS);
	(void) CloseTransientFile(fd);
	return (trust == PBP_OS_TRUSTED || trust == PBP_OS_STACKED) && !in_memory;
}

static bool
all_have_page_cache(void)
{
	bool		all = has_page_cache("base");
	DIR		   *folder = AllocateDir("pg_tblspc");
	struct dirent *entry;

	for (int i = 0; all && i < MAX_TABLESPACES + 2 && !pbp_must_end() &&
		 (entry = ReadDirExtended(folder, "pg_tblspc", LOG)) != NULL; i++)
	{
		char		path[MAXPGPATH];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "pg_tblspc/%s", entry->d_name);
		all = has_page_cache(path);
	}
	if (folder)
		FreeDir(folder);
	return all;
}

/*
 * Whether the advice's model of the page cache applies to this server.  A few
 * system calls for each of the first tablespaces.
 */
static PbpStorageModel
storage_model(const PbpOsMemory *memory)
{
	if (pbp_direct_io())
		return PBP_STORAGE_DIRECT_IO;
	if (!memory->known)
		return PBP_STORAGE_NO_INFORMATION;
	if (!all_have_page_cache())
		return PBP_STORAGE_FILE_SYSTEM;
	return memory->lru_gen ? PBP_STORAGE_UNPROVEN : PBP_STORAGE_MODELLED;
}

/* ---- for the advice ---- */

/*
 * A round should be short, since the page cache changes meanwhile: pages leave
 * files that are still to be counted for files that have been.  The rest after it
 * is the longer for that.
 */
static void
count_own_files(void)
{
	static int64 next_round_ns = 0;
	static int64 began_ns = 0;
	static int64 spent_ns = 0;	/* in this round */
	int64		now_ns = pbp_now_ns();
	bool		ended;

	if (now_ns < next_round_ns)
		return;
	if (spent_ns == 0)
		began_ns = now_ns;
	ended = pbp_count_own_files((int64) (ROUND_SHARE * pbp_max_cpu_fraction * PBP_CAPACITY_NS));
	spent_ns += pbp_now_ns() - now_ns;
	if (ended)
	{
		next_round_ns = began_ns + (int64) ((double) spent_ns / (COUNTING_SHARE * pbp_max_cpu_fraction));
		spent_ns = 0;
	}
}

/* With pgbufprobe.os_cache off, the kernel is not asked about anything. */
static PbpStorageModel
read_capacity(PbpOsMemory *memory)
{
	PbpMemoryFacts facts;

	if (!pbp_os_cache_on)
	{
		*memory = (PbpOsMemory) {.known = false};
		return PBP_STORAGE_SWITCHED_OFF;
	}
	count_own_files();
	read_server_memory(pbp_own_bytes().cached, pbp_own_bytes().all_cached, &facts);
	*memory = facts.memory;
	return storage_model(memory);
}

/*
 * What the page cache can take at present without evicting pages that were used
 * more than once, by this server or others; PBP_UNKNOWN possible.
 */
int64
pbp_page_cache_room(void)
{
	PbpMemoryFacts facts;

	if (!pbp_os_cache_on)
		return PBP_UNKNOWN;
	read_server_memory(0, PBP_UNKNOWN, &facts);
	return facts.memory.known ? facts.memory.cache_bytes : PBP_UNKNOWN;
}

PbpCapacity *
pbp_create_capacity(void)
{
	PbpCapacity *capacity = MemoryContextAllocZero(TopMemoryContext, sizeof(PbpCapacity));

	capacity->read = read_capacity;
	return capacity;
}

/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the supported PostgreSQL versions.
 *
 * Only this file uses PG_VERSION_NUM.  Each difference is an inline function, a
 * type, or a newer version's name for the same, with one meaning on every
 * version, so that all other code is the same for all of them.  Nothing here
 * decides anything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_COMPAT_H
#define PBP_COMPAT_H

#include <signal.h>

#include "catalog/pg_proc.h"
#include "common/relpath.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/pg_shmem.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"
#include "utils/relmapper.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "pgbufprobe needs PostgreSQL 15 or later"
#endif

#define PBP_SERVER_MAJOR	(PG_VERSION_NUM / 10000)

/* From 16 on, this also exports the function itself. */
#if PG_VERSION_NUM < 160000
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(function) \
	extern PGDLLEXPORT Datum function(PG_FUNCTION_ARGS); \
	extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, function) (void); \
	const Pg_finfo_record *CppConcat(pg_finfo_, function) (void) \
	{ \
		static const Pg_finfo_record info = {1}; \
		return &info; \
	} \
	extern int	no_such_variable
#endif

#if PG_VERSION_NUM >= 180000
#define PBP_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "pgbufprobe", .version = PBP_VERSION)
#else
#define PBP_MODULE_MAGIC PG_MODULE_MAGIC
#define pg_noreturn __attribute__((noreturn))
#endif

#if PG_VERSION_NUM < 190000
#define PG_SIG_IGN			SIG_IGN
#endif

/* ---- processes ---- */

/*
 * What pg_stat_activity shows of a process, which may change at any time.  NULL if
 * it has no entry.
 *
 * The server's functions for that copy all entries with their texts, and take a
 * lock for each, which is too much several times per second.  The array is static,
 * but each process has a pointer to its own element, MyBEEntry.  From 17 on, an
 * element has the index of its PGPROC, and both arrays have the same length.  Up to
 * 16, it has that of the backend ID, which is read once, since it may change at any
 * time.  The pid shows whether the element is this process's.
 */
static inline const volatile PgBackendStatus *
pbp_status_of(const volatile PGPROC *proc)
{
	const volatile PgBackendStatus *status;
#if PG_VERSION_NUM >= 170000
	status = MyBEEntry + (GetNumberFromPGProc(proc) - MyProcNumber);
#else
	BackendId	id = proc->backendId;

	if (id < 1 || id > MaxBackends)
		return NULL;
	status = MyBEEntry + (id - MyBackendId);
#endif
	return status->st_procpid == proc->pid ? status : NULL;
}

/* Up to 15, other names and arguments. */
#if PG_VERSION_NUM < 160000
#define pgstat_get_local_beentry_by_index pgstat_fetch_stat_local_beentry
#define object_aclcheck(class, object, role, mode)	pg_proc_aclcheck(object, role, mode)
#define guc_malloc(elevel, size)	malloc(size)
#endif

/* ---- shared memory ---- */

/*
 * Memory that all processes share once the first of them has asked for it, for as
 * long as the server runs.  Before 17, there is room for a few kilobytes.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#else
#include "storage/lwlock.h"
#include "storage/shmem.h"

static inline void *
GetNamedDSMSegment(const char *name, Size bytes, void (*init) (void *), bool *found)
{
	void	   *address;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	address = ShmemInitStruct(name, bytes, found);
	if (!*found)
		init(address);
	LWLockRelease(AddinShmemInitLock);
	return address;
}
#endif

/* Up to 18, init() has one argument, and each process learns the name of a tranche by itself. */
#if PG_VERSION_NUM >= 190000
#define PBP_INIT_ARGS(address)	void *address, void *arg pg_attribute_unused()
#define LWLockRegisterTranche(tranche, name)	((void) (tranche))
#else
#define PBP_INIT_ARGS(address)	void *address
#define GetNamedDSMSegment(name, bytes, init, found, arg) \
	GetNamedDSMSegment(name, bytes, init, found)
#define LWLockNewTrancheId(name)	LWLockNewTrancheId()
#endif

/* ---- a relation's storage ---- */

#if PG_VERSION_NUM >= 160000
#include "storage/relfilelocator.h"
#include "utils/relfilenumbermap.h"
#else
#include "storage/relfilenode.h"
#include "utils/relfilenodemap.h"

/* 15 has other names for the same. */
#define RelFileLocator		RelFileNode
#define spcOid				spcNode
#define dbOid				dbNode
#define relNumber			relNode
#define rd_locator			rd_node
#define RelFileLocatorEquals RelFileNodeEquals
#define RelationMapOidToFilenumber RelationMapOidToFilenode
#define RelidByRelfilenumber RelidByRelfilenode
#define blk_read_time		n_block_read_time
#define active_time			total_active_time
#define BufTagGetRelFileLocator(tag)	((tag)->rnode)
#define BufTagGetForkNum(tag)			((tag)->forkNum)
#define BufTagMatchesRelFileLocator(tag, locator) RelFileNodeEquals((tag)->rnode, *(locator))
#define BufferTagsEqual(one, other)		BUFFERTAGS_EQUAL(*(one), *(other))
#define InitBufferTag(tag, locator, fork, block) INIT_BUFFERTAG(*(tag), *(locator), fork, block)
#endif

typedef RelFileLocator PbpLocator;

static inline PbpLocator
pbp_locator(Oid tablespace, Oid database, Oid relfilenode)
{
	return (PbpLocator) {.spcOid = tablespace,.dbOid = database,.relNumber = relfilenode};
}

/* ---- files ---- */

/* Path of a fork's first segment, relative to the data directory; palloc'd. */
static inline char *
pbp_relation_path(const PbpLocator *locator, ForkNumber fork)
{
#if PG_VERSION_NUM >= 180000
	return pstrdup(relpathperm(*locator, fork).str);
#else
	return relpathperm(*locator, fork);
#endif
}

/* True if reads of relations bypass the kernel's page cache. */
static inline bool
pbp_direct_io(void)
{
#if PG_VERSION_NUM >= 160000
	return (io_direct_flags & IO_DIRECT_DATA) != 0;
#else
	return false;
#endif
}

/* ---- buffer descriptors ---- */

#if PG_VERSION_NUM >= 190000
typedef uint64 PbpBufState;
#define pbp_read_state(desc)	pg_atomic_read_u64(&(desc)->state)
#define pbp_unlock_header(desc, found)	UnlockBufHdr(desc)
#else
typedef uint32 PbpBufState;
#define pbp_read_state(desc)	pg_atomic_read_u32(&(desc)->state)
#define pbp_unlock_header(desc, found)	UnlockBufHdr(desc, found)
#endif

/* Unlocks the header with another usage count. */
static inline void
pbp_unlock_header_with_usage(BufferDesc *desc, PbpBufState state, int usage)
{
	PbpBufState bits = (PbpBufState) usage * BUF_USAGECOUNT_ONE;

#if PG_VERSION_NUM >= 190000
	/* whichever it does first, setting or unsetting */
	(void) UnlockBufHdrExt(desc, state, bits, BUF_USAGECOUNT_MASK & ~bits, 0);
#else
	UnlockBufHdr(desc, (state & ~BUF_USAGECOUNT_MASK) | bits);
#endif
}

/*
 * Does what the clock sweep does to each header, without changing it: the same
 * atomic operation on the same cache line, at the same cost.  Up to 18 it locks
 * and unlocks the header; from 19 on it is a compare-and-swap, and for a pinned
 * buffer only a read.
 */
static inline PbpBufState
pbp_inspect_header(BufferDesc *desc)
{
#if PG_VERSION_NUM >= 190000
	PbpBufState state = pg_atomic_read_u64(&desc->state);

	for (;;)
	{
		if (BUF_STATE_GET_REFCOUNT(state) != 0)
			return state;
		if (unlikely(state & BM_LOCKED))
			state = WaitBufHdrUnlocked(desc);
		if (pg_atomic_compare_exchange_u64(&desc->state, &state, state))
			return state;
	}
#else
	PbpBufState state = LockBufHdr(desc);

	UnlockBufHdr(desc, state);
	return state;
#endif
}

/* ---- the free list, up to 18 ---- */

/* pbp_on_free_list() reads without a lock, so its answer may be out of date. */
#if PG_VERSION_NUM >= 190000
#define PBP_HAS_FREE_LIST	false
#define pbp_on_free_list(desc)	((void) (desc), false)
#define have_free_buffer()		false
#define StrategyFreeBuffer(desc)	Assert(false)
#else
#define PBP_HAS_FREE_LIST	true
#define pbp_on_free_list(desc)	((desc)->freeNext != FREENEXT_NOT_IN_LIST)
#endif

/* ---- the server's own search for a victim ---- */

/*
 * To be called before each pbp_find_victim().  From 19 on that returns a pinned
 * victim, which needs a free slot in the resource owner and in the backend's
 * table of pins.  The server's function that reserves the latter is static; the
 * search for a block that cannot exist reserves it and finds nothing.
 */
static inline void
pbp_prepare_victim(void)
{
#if PG_VERSION_NUM >= 190000
	ResourceOwnerEnlarge(CurrentResourceOwner);
	(void) ReadRecentBuffer(pbp_locator(InvalidOid, InvalidOid, InvalidOid),
							MAIN_FORKNUM, 0, 1);
#endif
}

/*
 * Runs the server's search.  Up to 18 it returns the victim's header locked;
 * that is unlocked at once, since nothing may be called under this lock, not
 * even the clock.
 */
static inline BufferDesc *
pbp_find_victim(PbpBufState *state)
{
	BufferDesc *desc;
#if PG_VERSION_NUM >= 160000
	bool		from_ring;

	desc = StrategyGetBuffer(NULL, state, &from_ring);
#else
	desc = StrategyGetBuffer(NULL, state);
#endif
#if PG_VERSION_NUM < 190000
	UnlockBufHdr(desc, *state);
#endif
	return desc;
}

/* Unpins a victim, which is pinned from 19 on. */
static inline void
pbp_release_victim(BufferDesc *desc pg_attribute_unused())
{
#if PG_VERSION_NUM >= 190000
	ReleaseBuffer(BufferDescriptorGetBuffer(desc));
#endif
}

/* ---- statistics ---- */

/*
 * The postmaster draws this number each time it creates shared memory: when it
 * starts, and after a crash.
 */
static inline uint32
pbp_shared_memory_id(void)
{
	return ((PGShmemHeader *) UsedShmemSegAddr)->dsm_control;
}

/* Size of all shared memory that was allocated when the server started. */
static inline int64
pbp_shared_memory_bytes(void)
{
	return (int64) ((PGShmemHeader *) UsedShmemSegAddr)->totalsize;
}

/*
 * Buffers that a read stream pins for a read of full size, and for the next one
 * if reads overlap.  Up to 16, no stream pins buffers ahead.
 */
static inline int
pbp_stream_pins(void)
{
#if PG_VERSION_NUM >= 170000
	return io_combine_limit * (effective_io_concurrency > 0 ? 2 : 1);
#else
	return 0;
#endif
}

/* Block accesses of a database. */
#if PG_VERSION_NUM >= 160000
#define PBP_HITS_OF(database)		((database)->blocks_hit)
#define PBP_FETCHED_OF(database)	((database)->blocks_fetched)
#else
#define PBP_HITS_OF(database)		((database)->n_blocks_hit)
#define PBP_FETCHED_OF(database)	((database)->n_blocks_fetched)
#define live_tuples					n_live_tuples
#endif

#if PG_VERSION_NUM >= 190000
#define pgstat_fetch_entry(kind, database, object) pgstat_fetch_entry(kind, database, object, NULL)
#endif

/* The table or index that statistics are of. */
static inline Oid
pbp_object_of(const PgStat_HashKey *key)
{
#if PG_VERSION_NUM >= 180000
	return (Oid) key->objid;
#else
	return key->objoid;
#endif
}

/*
 * True if the server counts reads through rings, and new blocks, separately.  Up
 * to 15 there is no pg_stat_io, so nothing of it is read.
 */
#if PG_VERSION_NUM >= 160000
#define PBP_COUNTS_APART	true
#else
#define PBP_COUNTS_APART	false
#define IOOBJECT_RELATION	0
#define BACKEND_NUM_TYPES	(B_LOGGER + 1)
#define pgstat_fetch_stat_io()	((const PgStat_IO *) NULL)

typedef enum IOContext
{
	IOCONTEXT_BULKREAD, IOCONTEXT_BULKWRITE, IOCONTEXT_NORMAL, IOCONTEXT_VACUUM, CONTEXTS
} IOContext;

typedef enum IOOp
{
	IOOP_EXTEND, IOOP_HIT, IOOP_READ, IOOP_REUSE, IOOP_WRITE, OPS
} IOOp;

typedef struct PgStat_IO
{
	struct
	{
		int64		counts[1][CONTEXTS][OPS];
		int64		times[1][CONTEXTS][OPS];
	}			stats[BACKEND_NUM_TYPES];
} PgStat_IO;
#endif

/* True if a process waits for a block of a relation to be read, by the kernel or for storage. */
static inline bool
pbp_waits_for_read(uint32 wait_event)
{
#if PG_VERSION_NUM >= 180000
	if (wait_event == WAIT_EVENT_AIO_IO_COMPLETION ||
		wait_event == WAIT_EVENT_AIO_IO_URING_EXECUTION ||
		wait_event == WAIT_EVENT_AIO_IO_URING_SUBMIT)
		return true;
#endif
	return wait_event == WAIT_EVENT_DATA_FILE_READ;
}

/* Blocks of relations, of processes of all kinds: one operation may have several. */
static inline int64
pbp_io_blocks(const PgStat_IO *io, IOContext context, IOOp op)
{
	int64		blocks = 0;

	for (int i = 0; i < BACKEND_NUM_TYPES; i++)
#if PG_VERSION_NUM >= 180000
		blocks += op == IOOP_HIT || op == IOOP_REUSE ?
			io->stats[i].counts[IOOBJECT_RELATION][context][op] :
			(int64) (io->stats[i].bytes[IOOBJECT_RELATION][context][op] / BLCKSZ);
#else
		blocks += io->stats[i].counts[IOOBJECT_RELATION][context][op];
#endif
	return blocks;
}

#endif							/* PBP_COMPAT_H */

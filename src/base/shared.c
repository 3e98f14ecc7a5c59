/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  What the processes of the extension share: a header that any of them finds
 *	  at any time, and the segment in which the sampler publishes what it knows.
 *
 * Nothing is requested when the server starts, so that a sampler can be started
 * later.  The segment outlives a sampler that ends by an error, and is dropped
 * by pgbufprobe_stop().  Readers attach to it for one call, so that an idle
 * session has nothing of it mapped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "base/worker.h"

#define NAME			"pgbufprobe"

static PbpSharedHeader *header = NULL;

/* What this process has attached for the current call; NULL: nothing. */
static dsm_segment *attached = NULL;

static void
init_header(PBP_INIT_ARGS(address))
{
	PbpSharedHeader *new_header = address;

	memset(new_header, 0, PBP_HEADER_BYTES);
	new_header->segment = DSM_HANDLE_INVALID;
	LWLockInitialize(&new_header->lock, LWLockNewTrancheId(NAME));
}

/* NULL: this process shares nothing, as in single-user mode. */
PbpSharedHeader *
pbp_shared_header(void)
{
	bool		found;

	if (header == NULL && IsUnderPostmaster)
	{
		header = GetNamedDSMSegment(NAME, PBP_HEADER_BYTES, init_header, &found, NULL);
		LWLockRegisterTranche(header->lock.tranche, NAME);
	}
	return header;
}

/* Nothing may be allocated or raised until it is unlocked. */
PbpSharedHeader *
pbp_lock_shared(LWLockMode mode)
{
	LWLockAcquire(&pbp_shared_header()->lock, mode);
	return header;
}

void
pbp_unlock_shared(void)
{
	LWLockRelease(&header->lock);
}

/* A copy; all zero if this process shares nothing. */
PbpSharedHeader
pbp_read_shared_header(void)
{
	PbpSharedHeader copy = {.segment = DSM_HANDLE_INVALID};

	if (pbp_shared_header() == NULL)
		return copy;
	copy = *pbp_lock_shared(LW_SHARED);
	pbp_unlock_shared();
	return copy;
}

/* ---- for readers ---- */

static bool
is_ours(const PbpSharedHeader *copy, Size bytes)
{
	return strncmp(copy->version, PBP_VERSION, sizeof(copy->version)) == 0 &&
		copy->segment_bytes == bytes;
}

/*
 * Returns the segment until pbp_detach_segment(); NULL: there is none.  Once
 * attached it stays, even if the sampler is stopped meanwhile.
 */
void *
pbp_attach_segment(Size bytes)
{
	PbpSharedHeader copy = pbp_read_shared_header();
	dsm_segment *segment;

	attached = NULL;
	if (copy.segment == DSM_HANDLE_INVALID)
		return NULL;
	if (!is_ours(&copy, bytes))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the sampler is running with another version of the pgbufprobe library"),
				 errdetail("The sampler has version %.16s and shares " UINT64_FORMAT " bytes. This session has version %s and expects %zu bytes.",
						   copy.version, copy.segment_bytes, PBP_VERSION, bytes),
				 errhint("Reconnect if this session has the older version. Otherwise restart the sampler, by pgbufprobe_stop() and pgbufprobe_start(), or with the server if it is preloaded.")));
	segment = dsm_find_mapping(copy.segment);
	if (segment == NULL)
		segment = attached = dsm_attach(copy.segment);
	return segment ? dsm_segment_address(segment) : NULL;
}

void
pbp_detach_segment(void)
{
	if (attached != NULL)
		dsm_detach(attached);
	attached = NULL;
}

/* ---- for the sampler, and those who start and stop it ---- */

/*
 * Attaches the segment until the process ends.  If there is none, or one of another
 * version, it is new, and init() has filled what is not zero.
 */
void *
pbp_keep_segment(Size bytes, void (*init) (void *))
{
	PbpSharedHeader copy = pbp_read_shared_header();
	dsm_segment *segment = NULL;

	if (copy.segment != DSM_HANDLE_INVALID && is_ours(&copy, bytes))
		segment = dsm_attach(copy.segment);
	if (segment == NULL)
	{
		pbp_drop_segment();
		segment = dsm_create(bytes, 0);
		memset(dsm_segment_address(segment), 0, bytes);
		init(dsm_segment_address(segment));
		dsm_pin_segment(segment);
		pbp_lock_shared(LW_EXCLUSIVE);
		strlcpy(header->version, PBP_VERSION, sizeof(header->version));
		header->segment_bytes = bytes;
		header->segment = dsm_segment_handle(segment);
		pbp_unlock_shared();
	}
	dsm_pin_mapping(segment);
	return dsm_segment_address(segment);
}

/* Those who have attached it keep it until they detach it. */
void
pbp_drop_segment(void)
{
	dsm_handle	segment = pbp_lock_shared(LW_EXCLUSIVE)->segment;

	header->segment = DSM_HANDLE_INVALID;
	pbp_unlock_shared();
	if (segment != DSM_HANDLE_INVALID)
		dsm_unpin_segment(segment);
}

/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  What the processes of the extension share: a header that any of them finds
 *	  at any time, and the segment in which the sampler publishes what it knows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SHARED_H
#define PBP_SHARED_H

#include "datatype/timestamp.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"

/* The workers of which there is at most one. */
typedef enum PbpPlace
{
	PBP_SAMPLER,
	PBP_CARRY_OVER
} PbpPlace;

#define PBP_PLACES			(PBP_CARRY_OVER + 1)

#define PBP_HEADER_BYTES	512

/* Room for what only the carry-over knows. */
#define PBP_CARRY_BYTES		256

/*
 * Processes may have loaded different versions of the library, so this is the
 * same in all versions.
 */
typedef struct PbpSharedHeader
{
	char		version[16];	/* of the library that has created the segment */
	uint64		segment_bytes;
	dsm_handle	segment;		/* DSM_HANDLE_INVALID: none */
	uint32		stops;			/* calls of pgbufprobe_stop(), which end the
								 * workers that were started before */
	int32		pids[PBP_PLACES];	/* 0: not running */
	TimestampTz since[PBP_PLACES];	/* when it began to run */
	bool		stopped;		/* and not started since */
	LWLock		lock;			/* protects all of this, and the segment */
	int64		carry[PBP_CARRY_BYTES / sizeof(int64)];
} PbpSharedHeader;

StaticAssertDecl(sizeof(PbpSharedHeader) <= PBP_HEADER_BYTES, "the header has a fixed size");

extern PbpSharedHeader *pbp_shared_header(void);
extern PbpSharedHeader *pbp_lock_shared(LWLockMode mode);
extern void pbp_unlock_shared(void);
extern PbpSharedHeader pbp_read_shared_header(void);

/* for readers */
extern void *pbp_attach_segment(Size bytes);
extern void pbp_detach_segment(void);

/* for the sampler, and those who start and stop it */
extern void pbp_try_segment(Size bytes);
extern void *pbp_keep_segment(Size bytes, void (*init) (void *));
extern void pbp_drop_segment(void);

#endif							/* PBP_SHARED_H */

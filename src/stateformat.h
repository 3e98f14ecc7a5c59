/*-------------------------------------------------------------------------
 *
 * stateformat.h
 *	  The format of the file that survives a restart: a header, named sections,
 *	  and a checksum of both.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STATEFORMAT_H
#define PBP_STATEFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PBP_STATE_MAGIC		UINT64_C(0x7062707374617465)
#define PBP_STATE_VERSION	1

/* What must agree between those who write and read. */
typedef struct PbpStateStamp
{
	uint64_t	magic;
	uint32_t	version;		/* of the format */
	uint32_t	layout;			/* of what is in the sections */
	uint32_t	server_version; /* the major one */
	uint32_t	block_bytes;
	uint64_t	cluster;
	uint64_t	copy;			/* of the cluster: standbys are others */
} PbpStateStamp;

typedef struct PbpStateHeader
{
	PbpStateStamp stamp;
	int64_t		written_at;		/* TimestampTz */
	int64_t		nbuffers;
	char		boot[40];		/* of the machine, in which it was written */
} PbpStateHeader;

/* Followed by so many bytes, which are padded to PBP_STATE_ALIGNMENT. */
typedef struct PbpStateSection
{
	char		name[16];
	uint64_t	bytes;
} PbpStateSection;

#define PBP_STATE_ALIGNMENT 8

/* At the end of the file: of all bytes before. */
typedef uint32_t PbpStateChecksum;

static inline size_t
pbp_state_padding(uint64_t bytes)
{
	return (size_t) (-bytes % PBP_STATE_ALIGNMENT);
}

/*
 * Why a file that was read as a whole cannot be used, given the checksum of all
 * but its last bytes; NULL if it can.
 */
extern const char *pbp_check_state(const void *file, size_t bytes, PbpStateChecksum checksum,
								   const PbpStateStamp *expected);

/* The contents of a section in a file that was checked; NULL: it has none. */
extern const void *pbp_find_section(const void *file, size_t bytes, const char *name,
									size_t *section_bytes);

#endif							/* PBP_STATEFORMAT_H */

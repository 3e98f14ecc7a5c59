/*-------------------------------------------------------------------------
 *
 * carryfile.h
 *	  The file pg_stat/pgbufprobe.maps: a cache map for each file of each
 *	  relation of which a cache has a block.
 *
 * A header, entries with their maps, the length of all, and a CRC-32C.  A file is a
 * segment, so that one map at a time fits into little memory.  Nothing in it is
 * trusted before it is checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYFILE_H
#define PBP_CARRYFILE_H

#include "datatype/timestamp.h"

#include "base/compat.h"
#include "base/newfile.h"
#include "caches/cachemap.h"

typedef struct PbpCarryHeader
{
	uint64		magic;
	uint32		version;
	uint32		block_bytes;
	uint32		segment_blocks;
	int32		nbuffers;
	uint64		cluster;
	TimestampTz saved_at;
	uint64		copy;			/* of the cluster: a base backup is another */
} PbpCarryHeader;

typedef struct PbpCarryFile
{
	Oid			database;		/* InvalidOid: shared by all */
	Oid			tablespace;
	Oid			relfilenode;
	uint32		fork;
	uint32		segment;
} PbpCarryFile;

/* Followed by the map. */
typedef struct PbpCarryEntry
{
	PbpCarryFile file;
	uint32		map_bytes;
} PbpCarryEntry;

/* Most maps are short, so that so many bytes have several entries. */
#define PBP_CARRY_AHEAD		8192

typedef struct PbpCarryReader
{
	File		file;
	int64		next;			/* where the next entry begins */
	int64		end;			/* where the last entry ends */
	int64		file_bytes;
	PbpCarryHeader header;
	bool		is_damaged;
	int			failures;		/* errors of the system */
	int			error;			/* the errno of the last one, after which nothing was
								 * read; 0: none */
	uint8	   *map;			/* room for one */
	int64		ahead_at;		/* what was read of the file at once */
	int64		ahead_end;
	char		ahead[PBP_CARRY_AHEAD];
} PbpCarryReader;

extern void pbp_carry_begin_file(PbpNewFile *file, TimestampTz saved_at);
extern int	pbp_carry_end_file(PbpNewFile *file);
extern void pbp_carry_remove_leftover(void);

/*
 * Returns false if there is none, or if it cannot be used, which is logged; or after
 * an error of the system, which is not.
 */
extern bool pbp_carry_open(PbpCarryReader *reader, bool verify);
extern bool pbp_carry_next(PbpCarryReader *reader, PbpCarryEntry *entry);
extern const uint8 *pbp_carry_map(PbpCarryReader *reader, const PbpCarryEntry *entry);
extern void pbp_carry_log_ignored(const char *why);
extern void pbp_carry_log_unreadable(const PbpCarryReader *reader);
extern bool pbp_carry_mark_restore(void);
extern void pbp_carry_unmark_restore(void);
extern void pbp_carry_close(PbpCarryReader *reader);

#endif							/* PBP_CARRYFILE_H */

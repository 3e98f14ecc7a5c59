/*-------------------------------------------------------------------------
 *
 * carryfile.h
 *	  The file pg_stat/pgbufprobe.maps: a cache map for each file of each
 *	  relation of which a cache has a block.
 *
 * Entries, each followed by its map.  A file is a segment, so that one map at a time
 * fits into little memory.  Nothing in it is trusted before it is checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CARRYFILE_H
#define PBP_CARRYFILE_H

#include "pgstat.h"

#include "base/compat.h"
#include "base/ownfile.h"
#include "caches/cachemap.h"

#define PBP_CARRY_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.maps"

/* Counts the restores that a crash has ended. */
#define PBP_CARRY_MARK		PBP_CARRY_FILE ".restoring"

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
	PbpOwnFile	file;
	bool		is_damaged;		/* it has something impossible */
	uint8	   *map;			/* room for one */
	int64		ahead_at;		/* what was read of the file at once */
	int64		ahead_end;
	char		ahead[PBP_CARRY_AHEAD];
} PbpCarryReader;

extern const PbpFileKind pbp_carry_kind;

extern bool pbp_carry_open(PbpCarryReader *reader, bool verify);
extern bool pbp_carry_next(PbpCarryReader *reader, PbpCarryEntry *entry);
extern const uint8 *pbp_carry_map(PbpCarryReader *reader, const PbpCarryEntry *entry);
extern void pbp_carry_log_unreadable(const PbpCarryReader *reader);
extern void pbp_carry_close(PbpCarryReader *reader);

#endif							/* PBP_CARRYFILE_H */

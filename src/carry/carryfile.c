/*-------------------------------------------------------------------------
 *
 * carryfile.c
 *	  The file that carries cache maps over a restart: how its entries are read.
 *
 * How the file is written and recognized is in ownfile.c, what is saved is decided in
 * carrysave.c, and what is done with it in carryrestore.c and carryload.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_tablespace_d.h"

#include "carry/carry.h"

#define MAGIC			UINT64CONST(0x7062706361727279)
#define VERSION			5

/* A block takes at most a byte of a map. */
#define MIN_MAP_BYTES	(PBP_MAP_HEADER_BYTES + PBP_MAP_CHECKSUM_BYTES)
#define MAX_MAP_BYTES	(MIN_MAP_BYTES + RELSEG_SIZE)

const PbpFileKind pbp_carry_kind = {
	.path = PBP_CARRY_FILE,.temporary = PBP_CARRY_FILE ".tmp",.magic = MAGIC,.version = VERSION,
	.goes_on = pbp_carry_goes_on
};

void
pbp_carry_log_unreadable(const PbpCarryReader *reader)
{
	errno = reader->file.error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", PBP_CARRY_FILE),
			 errdetail("It remains, and nothing is saved.")));
}

bool
pbp_carry_open(PbpCarryReader *reader, bool verify)
{
	memset(reader, 0, sizeof(*reader));
	if (!pbp_open_own_file(&reader->file, &pbp_carry_kind, verify))
		return false;
	reader->map = palloc(MAX_MAP_BYTES);
	return true;
}

/* The checksum may be right and the entry wrong: the file may have been made by hand. */
static bool
is_possible(const PbpCarryReader *reader, const PbpCarryEntry *entry)
{
	const PbpFileKey *key = &entry->key;

	return entry->map_bytes >= MIN_MAP_BYTES && entry->map_bytes <= MAX_MAP_BYTES &&
		entry->map_bytes <= reader->file.end - reader->file.next - (int64) sizeof(*entry) &&
		(key->locator.spcOid == GLOBALTABLESPACE_OID) == !OidIsValid(key->locator.dbOid) &&
		(uint32) key->fork <= MAX_FORKNUM && key->segment < MaxBlockNumber / RELSEG_SIZE + 1;
}

/* Reads the next entry; false after the last one, or if the file is damaged or unreadable. */
bool
pbp_carry_next(PbpCarryReader *reader, PbpCarryEntry *entry)
{
	PbpOwnFile *file = &reader->file;

	if (file->next >= file->end)
		return false;
	if (file->end - file->next < (int64) sizeof(*entry) ||
		!pbp_read_own_file(file, entry, sizeof(*entry), file->next) || !is_possible(reader, entry))
	{
		reader->is_damaged = file->error == 0;
		return false;
	}
	file->next += (int64) sizeof(*entry) + entry->map_bytes;
	return true;
}

/*
 * The map of the entry that was read last, valid until the next call; NULL: it
 * cannot be used.
 */
const uint8 *
pbp_carry_map(PbpCarryReader *reader, const PbpCarryEntry *entry)
{
	uint8	   *map = reader->map;
	PbpMapHeader header;

	if (!pbp_read_own_file(&reader->file, map, entry->map_bytes,
						   reader->file.next - entry->map_bytes) ||
		pbp_verify_map(map, entry->map_bytes, &header) != NULL ||
		header.fork != (uint32) entry->key.fork || header.nblocks > RELSEG_SIZE)
		return NULL;
	return map;
}

void
pbp_carry_close(PbpCarryReader *reader)
{
	FileClose(reader->file.file);
	pfree(reader->map);
}

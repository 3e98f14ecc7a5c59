/*-------------------------------------------------------------------------
 *
 * stateformat.c
 *	  The format of the file that survives a restart: is it whole, and does it
 *	  belong here?
 *
 * No size in the file is trusted before its checksum, and none leads beyond its
 * end.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "stateformat.h"

#include <string.h>

/*
 * The checksum comes first: a file that is torn, or not ours, says nothing that
 * can be trusted.
 */
const char *
pbp_check_state(const void *file, size_t bytes, PbpStateChecksum checksum, const PbpStateStamp *expected)
{
	PbpStateChecksum written;
	PbpStateStamp stamp;

	if (bytes < sizeof(PbpStateHeader) + sizeof(written))
		return "it is too short";
	memcpy(&written, (const char *) file + bytes - sizeof(written), sizeof(written));
	memcpy(&stamp, file, sizeof(stamp));
	if (written != checksum || stamp.magic != expected->magic)
		return "it is damaged";
	if (stamp.version != expected->version || stamp.layout != expected->layout)
		return "it was written by another version of pgbufprobe";
	if (stamp.server_version != expected->server_version || stamp.block_bytes != expected->block_bytes)
		return "it was written by another version of PostgreSQL";
	if (stamp.cluster != expected->cluster)
		return "it is that of another database cluster";
	if (stamp.copy != expected->copy)
		return "it was copied from another server, or restored";
	return NULL;
}

const void *
pbp_find_section(const void *file, size_t bytes, const char *name, size_t *section_bytes)
{
	const char *next = (const char *) file + sizeof(PbpStateHeader);
	const char *end = (const char *) file + bytes - sizeof(PbpStateChecksum);
	PbpStateSection section;

	while ((size_t) (end - next) >= sizeof(section))
	{
		memcpy(&section, next, sizeof(section));
		next += sizeof(section);
		if (section.bytes > (uint64_t) (end - next) ||
			pbp_state_padding(section.bytes) > (uint64_t) (end - next) - section.bytes)
			return NULL;
		if (strncmp(section.name, name, sizeof(section.name)) == 0)
		{
			*section_bytes = (size_t) section.bytes;
			return next;
		}
		next += section.bytes + pbp_state_padding(section.bytes);
	}
	return NULL;
}

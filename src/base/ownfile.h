/*-------------------------------------------------------------------------
 *
 * ownfile.h
 *	  Files that this extension keeps in pg_stat: a stamp, which says where the
 *	  file belongs, what is in it, its length, and a checksum of all before.
 *
 * A new file replaces an older one as a whole: it is written under another name
 * and renamed.  Nothing here fails with more than a message in the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OWNFILE_H
#define PBP_OWNFILE_H

#include "datatype/timestamp.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

typedef struct PbpFileKind
{
	const char *path;
	const char *temporary;		/* its name while it is written */
	uint64		magic;
	uint32		version;		/* of its format */
	uint32		layout;			/* of the structs in it */
	bool		(*goes_on) (void);	/* false: reading is to end; NULL: it never is */
} PbpFileKind;

/* Those who write and read must agree, but for nbuffers and written_at. */
typedef struct PbpFileStamp
{
	uint64		magic;
	uint32		version;
	uint32		layout;
	uint32		server_version; /* the major one */
	uint32		block_bytes;
	uint32		segment_blocks;
	int32		nbuffers;		/* of the server that wrote the file */
	uint64		cluster;
	uint64		copy;			/* of the cluster: a base backup is another */
	TimestampTz written_at;
} PbpFileStamp;

/* ---- writing ---- */

typedef struct PbpNewFile
{
	const PbpFileKind *kind;
	FILE	   *file;			/* NULL: could not be opened */
	pg_crc32c	checksum;
	int64		bytes;
	int			error;			/* the errno of the first failure; or 0 */
} PbpNewFile;

extern void pbp_begin_new_file(PbpNewFile *file, const PbpFileKind *kind, TimestampTz now);
extern void pbp_put_in_new_file(PbpNewFile *file, const void *bytes, size_t nbytes);

/*
 * Neither calls fsync(), which may take long: until it ends, the process holds up
 * DROP DATABASE and others who wait for each process of the server.  So an operating
 * system that crashes may leave a damaged file, which its checksum shows.
 */
extern int	pbp_end_new_file(PbpNewFile *file);
extern bool pbp_replace_by_new_file(PbpNewFile *file);

extern void pbp_discard_new_file(PbpNewFile *file);

/* ---- reading ---- */

typedef struct PbpOwnFile
{
	const PbpFileKind *kind;
	File		file;
	PbpFileStamp stamp;
	int64		next;			/* place of what is to be read next */
	int64		end;			/* of what is between the stamp and the length */
	int			failures;		/* errors of the system */
	int			error;			/* the errno of the last one, after which nothing was
								 * read; 0: none */
} PbpOwnFile;

extern bool pbp_open_own_file(PbpOwnFile *file, const PbpFileKind *kind, bool verify);
extern bool pbp_read_own_file(PbpOwnFile *file, void *bytes, size_t nbytes, int64 at);
extern void pbp_log_ignored_file(const char *path, const char *why);
extern void pbp_remove_own_file(const char *path);

/* ---- crashes ---- */

/* What counts the crashes of this server while a file is in use, in a file of its own. */
extern uint64 pbp_count_crashes(const char *mark_path);
extern void pbp_write_mark(const char *mark_path, uint64 crashes);

#endif							/* PBP_OWNFILE_H */

/*-------------------------------------------------------------------------
 *
 * newfile.h
 *	  A file with a checksum at its end, which replaces an older one as a whole:
 *	  it is written under another name and renamed.
 *
 * Nothing here fails with more than a message in the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_NEWFILE_H
#define PBP_NEWFILE_H

#include "port/pg_crc32c.h"

typedef struct PbpNewFile
{
	const char *path;
	const char *temporary;		/* its name while it is written */
	FILE	   *file;			/* NULL: could not be opened */
	pg_crc32c	checksum;
	int64		bytes;
	int			error;			/* the errno of the first failure; or 0 */
} PbpNewFile;

extern void pbp_begin_new_file(PbpNewFile *file, const char *path, const char *temporary);
extern void pbp_put_in_new_file(PbpNewFile *file, const void *bytes, size_t nbytes);

/*
 * Neither calls fsync(), which may take long: until it ends, the process holds up
 * DROP DATABASE and others who wait for each process of the server.  So an operating
 * system that crashes may leave a damaged file, which its checksum shows.
 */
extern int	pbp_end_new_file(PbpNewFile *file);
extern bool pbp_replace_by_new_file(PbpNewFile *file);

extern void pbp_discard_new_file(PbpNewFile *file);

#endif							/* PBP_NEWFILE_H */

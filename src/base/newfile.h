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
 * Replace the file.  If that must not wait for storage, an operating system that
 * crashes soon after may leave a file that is damaged.
 */
extern bool pbp_finish_new_file(PbpNewFile *file, bool may_wait);
extern void pbp_discard_new_file(PbpNewFile *file);

#endif							/* PBP_NEWFILE_H */

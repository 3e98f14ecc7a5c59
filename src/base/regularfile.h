/*-------------------------------------------------------------------------
 *
 * regularfile.h
 *	  Opens regular files for reading, and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_REGULARFILE_H
#define PBP_REGULARFILE_H

#include <sys/stat.h>

/* errno if a file is neither regular nor a directory; open(2) has it for a socket. */
#define PBP_NOT_REGULAR		ENXIO

extern int	pbp_open_regular_file(const char *path, struct stat *status);

#endif							/* PBP_REGULARFILE_H */

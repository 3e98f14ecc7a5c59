/*-------------------------------------------------------------------------
 *
 * regularfile.c
 *	  Opens regular files for reading, and nothing else.
 *
 * Opening a FIFO waits for its writer, and opening a device may have any effect.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "storage/fd.h"

#include "base/regularfile.h"

static bool
check_kind(const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		errno = S_ISDIR(status->st_mode) ? EISDIR : PBP_NOT_REGULAR;
	return S_ISREG(status->st_mode);
}

/*
 * Opens a file as a transient one, and sets its status.  Returns -1 and sets errno
 * if it cannot be opened, or is not regular.  Symbolic links are followed, because
 * tablespaces are such links.  O_NONBLOCK matters if a FIFO takes the file's place
 * between both calls.
 */
int
pbp_open_regular_file(const char *path, struct stat *status)
{
	int			file;
	int			error;

	if (stat(path, status) != 0 || !check_kind(status))
		return -1;
	file = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (file < 0 || (fstat(file, status) == 0 && check_kind(status)))
		return file;
	error = errno;
	(void) CloseTransientFile(file);
	errno = error;
	return -1;
}

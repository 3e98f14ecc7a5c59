/*-------------------------------------------------------------------------
 *
 * newfile.c
 *	  A file with a checksum at its end, which replaces an older one as a whole.
 *
 * What is in the file is known to those who call this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"

#include "base/newfile.h"

/* Opening a FIFO would wait for a reader. */
static void
remove_fifo(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
		(void) unlink(path);
}

void
pbp_begin_new_file(PbpNewFile *file, const char *path, const char *temporary)
{
	memset(file, 0, sizeof(*file));
	file->path = path;
	file->temporary = temporary;
	INIT_CRC32C(file->checksum);
	remove_fifo(temporary);
	file->file = AllocateFile(temporary, PG_BINARY_W);
	if (file->file == NULL)
		file->error = errno;
}

void
pbp_put_in_new_file(PbpNewFile *file, const void *bytes, size_t nbytes)
{
	if (file->error != 0)
		return;
	COMP_CRC32C(file->checksum, bytes, nbytes);
	errno = 0;
	if (nbytes > 0 && fwrite(bytes, nbytes, 1, file->file) != 1)
		file->error = errno != 0 ? errno : ENOSPC;
	file->bytes += (int64) nbytes;
}

static void
close_file(PbpNewFile *file)
{
	if (file->file != NULL && FreeFile(file->file) != 0 && file->error == 0)
		file->error = errno;
	file->file = NULL;
}

/* Returns the descriptor of the file, which is complete; or -1 after an error. */
int
pbp_end_new_file(PbpNewFile *file)
{
	pg_crc32c	checksum = file->checksum;

	FIN_CRC32C(checksum);
	pbp_put_in_new_file(file, &checksum, sizeof(checksum));
	if (file->error == 0 && fflush(file->file) != 0)
		file->error = errno;
	return file->error == 0 ? fileno(file->file) : -1;
}

/* After pbp_end_new_file().  If that fails, the old file remains. */
bool
pbp_replace_by_new_file(PbpNewFile *file)
{
	close_file(file);
	errno = file->error;
	if (errno != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", file->temporary)));
	else if (rename(file->temporary, file->path) == 0)
		return true;
	else
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not rename file \"%s\" to \"%s\": %m", file->temporary, file->path)));
	(void) unlink(file->temporary);
	return false;
}

/* The old file remains. */
void
pbp_discard_new_file(PbpNewFile *file)
{
	close_file(file);
	(void) unlink(file->temporary);
}

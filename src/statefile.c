/*-------------------------------------------------------------------------
 *
 * statefile.c
 *	  The file that survives a restart.
 *
 * What its sections have is known to those who call this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "procfile.h"
#include "statefile.h"

#define STATE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/pgbufprobe.stat"
#define NEW_STATE_FILE	STATE_FILE ".tmp"

/* Larger than any, so that no damaged directory entry makes us read for long. */
#define MAX_BYTES		((off_t) 1024 * 1024 * 1024)

/*
 * A backup, and so a standby, has the file of the primary.  The control file is
 * written in place, so it has the same inode as long as the server, and none that
 * a copy has.
 */
static uint64
inode_of_control_file(void)
{
	struct stat status;

	return stat(XLOG_CONTROL_FILE, &status) == 0 ? (uint64) status.st_ino : 0;
}

static PbpStateStamp
own_stamp(uint32 layout)
{
	PbpStateStamp stamp = {
		.magic = PBP_STATE_MAGIC,
		.version = PBP_STATE_VERSION,
		.layout = layout,
		.server_version = PBP_SERVER_MAJOR,
		.block_bytes = BLCKSZ,
		.cluster = GetSystemIdentifier(),
		.copy = inode_of_control_file(),
	};

	return stamp;
}

/* Empty where the kernel does not say it. */
static void
read_boot(char *boot, size_t size)
{
	PbpLines	lines;
	char	   *line = NULL;

	memset(boot, 0, size);
	if (pbp_open_lines(&lines, "", "/proc/sys/kernel/random/boot_id"))
		line = pbp_next_line(&lines);
	if (line != NULL)
		strlcpy(boot, line, size);
	pbp_close_lines(&lines);
}

/* ----------------------------------------------------------------
 *		Writing
 * ----------------------------------------------------------------
 */

void
pbp_begin_state(PbpStateWriter *writer, uint32 layout)
{
	PbpStateHeader header = {
		.stamp = own_stamp(layout),
		.written_at = GetCurrentTimestamp(),
		.nbuffers = NBuffers,
	};

	memset(writer, 0, sizeof(*writer));
	pbp_begin_new_file(&writer->file, STATE_FILE, NEW_STATE_FILE);
	read_boot(header.boot, sizeof(header.boot));
	pbp_put_in_new_file(&writer->file, &header, sizeof(header));
}

void
pbp_begin_section(PbpStateWriter *writer, const char *name, Size bytes)
{
	PbpStateSection section = {.bytes = bytes};

	Assert(writer->left == 0);
	strlcpy(section.name, name, sizeof(section.name));
	pbp_put_in_new_file(&writer->file, &section, sizeof(section));
	writer->left = bytes;
	writer->padding = pbp_state_padding(bytes);
}

void
pbp_put_state(void *arg, const void *bytes, size_t nbytes)
{
	static const char zeros[PBP_STATE_ALIGNMENT] = {0};
	PbpStateWriter *writer = arg;

	Assert(nbytes <= writer->left);
	pbp_put_in_new_file(&writer->file, bytes, nbytes);
	writer->left -= nbytes;
	if (writer->left > 0)
		return;
	pbp_put_in_new_file(&writer->file, zeros, writer->padding);
	writer->padding = 0;
}

bool
pbp_finish_state(PbpStateWriter *writer, bool may_wait)
{
	return pbp_finish_new_file(&writer->file, may_wait);
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

static void
log_unreadable(void)
{
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", STATE_FILE)));
}

static void
log_ignored(const char *why)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("ignoring file \"%s\", because %s", STATE_FILE, why)));
}

/* All of the file; NULL: none, or an error, which is logged. */
static void *
read_file(Size *bytes)
{
	FILE	   *file = AllocateFile(STATE_FILE, PG_BINARY_R);
	void	   *contents = NULL;
	struct stat status;

	if (file == NULL)
	{
		if (errno != ENOENT)
			log_unreadable();
		return NULL;
	}
	if (fstat(fileno(file), &status) != 0)
		log_unreadable();
	else if (!S_ISREG(status.st_mode) || status.st_size == 0 || status.st_size > MAX_BYTES)
		log_ignored("its size is impossible");
	else if ((contents = MemoryContextAllocExtended(CurrentMemoryContext, (Size) status.st_size,
													MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM)) == NULL)
		log_ignored("there is not enough memory to read it");
	else if (fread(contents, (size_t) status.st_size, 1, file) != 1)
	{
		log_unreadable();
		pfree(contents);
		contents = NULL;
	}
	*bytes = (Size) status.st_size;
	FreeFile(file);
	return contents;
}

void
pbp_read_state_file(PbpState *state, uint32 layout)
{
	PbpStateStamp expected = own_stamp(layout);
	pg_crc32c	checksum;
	const char *why;
	char		boot[sizeof(state->header->boot)];

	memset(state, 0, sizeof(*state));
	state->header = read_file(&state->bytes);
	if (state->header == NULL)
		return;
	INIT_CRC32C(checksum);
	if (state->bytes > sizeof(checksum))
		COMP_CRC32C(checksum, state->header, state->bytes - sizeof(checksum));
	FIN_CRC32C(checksum);
	why = pbp_check_state(state->header, state->bytes, checksum, &expected);
	if (why != NULL)
	{
		log_ignored(why);
		pfree(state->header);
		state->header = NULL;
		return;
	}
	read_boot(boot, sizeof(boot));
	state->same_boot = memcmp(boot, state->header->boot, sizeof(boot)) == 0;
}

/* A file that cannot be removed would undo a reset, so that is said. */
void
pbp_remove_state_file(void)
{
	if (unlink(STATE_FILE) != 0 && errno != ENOENT)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", STATE_FILE)));
}

/*-------------------------------------------------------------------------
 *
 * ownfile.h
 *	  Files that this extension keeps in the data directory: a stamp, which
 *	  says where the file belongs, what is in it, and a checksum of both.
 *
 * Nothing here fails with more than a message in the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OWNFILE_H
#define PBP_OWNFILE_H

/* After an error of the system, reading is tried again these many times. */
#define PBP_MAX_FAILURES		6
#define PBP_AFTER_FAILURE_MS	500

/* What must agree between those who write and read. */
typedef struct PbpFileStamp
{
	uint64		magic;			/* of this kind of file */
	uint32		version;		/* of its format */
	uint32		layout;			/* of what is in it */
	uint32		server_version; /* the major one */
	uint32		block_bytes;
	uint64		cluster;
	uint64		copy;			/* of the cluster: a base backup is another */
	int64		file_bytes;		/* with stamp and checksum */
} PbpFileStamp;

extern uint64 pbp_copy_of_cluster(void);
extern PbpFileStamp pbp_own_stamp(uint64 magic, uint32 version, uint32 layout);

extern char *pbp_read_own_file(const char *path, const PbpFileStamp *expected, Size *bytes);
extern void pbp_log_ignored_file(const char *path, const char *why);
extern void pbp_remove_own_file(const char *path);

/* What counts the crashes of this server, in a file of its own. */
extern uint64 pbp_count_crashes(const char *mark_path);
extern void pbp_write_mark(const char *mark_path, uint64 crashes);

/* A file that was being read when the server crashed, or was in use at two crashes, is not used again. */
extern bool pbp_guard_reading(const char *path, uint64 *crashes);
extern void pbp_guard_use(const char *path, uint64 crashes);
extern void pbp_unguard_file(const char *path);

#endif							/* PBP_OWNFILE_H */

/*-------------------------------------------------------------------------
 *
 * statefile.h
 *	  The file that survives a restart, pg_stat/pgbufprobe.stat.  It is written
 *	  under another name and renamed, so that it is whole or not there.  Nothing
 *	  here fails with more than a message in the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STATEFILE_H
#define PBP_STATEFILE_H

#include "newfile.h"
#include "stateformat.h"

typedef struct PbpStateWriter
{
	PbpNewFile	file;
	uint64		left;			/* bytes of the section that are to come */
	size_t		padding;		/* behind them */
} PbpStateWriter;

/* A file that was read and checked. */
typedef struct PbpState
{
	PbpStateHeader *header;		/* palloc'd, with all that follows; NULL: there
								 * is no file that can be used */
	Size		bytes;
	bool		same_boot;		/* has the machine not been booted since? */
} PbpState;

/* The layout stands for the sizes and meaning of what the sections have. */
extern void pbp_begin_state(PbpStateWriter *writer, uint32 layout);
extern void pbp_begin_section(PbpStateWriter *writer, const char *name, Size bytes);
extern void pbp_put_state(void *writer, const void *bytes, size_t nbytes);

/* Replaces the file, as pbp_finish_new_file() does. */
extern bool pbp_finish_state(PbpStateWriter *writer, bool may_wait);

extern void pbp_read_state_file(PbpState *state, uint32 layout);
extern void pbp_remove_state_file(void);

#endif							/* PBP_STATEFILE_H */

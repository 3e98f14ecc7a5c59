/*-------------------------------------------------------------------------
 *
 * procfile.h
 *	  Small text files of the kernel, as in /proc and /sys: lines, numbers, and
 *	  numbers with names.
 *
 * Paths are relative to a root folder, which is "" but for tests.  What is
 * missing, unreadable or no number is unknown: nothing fails, allocates memory
 * or leaves a descriptor open.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROCFILE_H
#define PBP_PROCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PBP_PATH_BYTES		4096
#define PBP_LINE_BYTES		8192

/* Numbers are at least 0. */
#define PBP_UNKNOWN			INT64_C(-1)
#define PBP_NO_LIMIT		INT64_MAX

/* A file that is read line by line. */
typedef struct PbpLines
{
	int			fd;				/* -1 after the last line */
	size_t		start;			/* of the next line */
	size_t		end;			/* of what was read */
	int64_t		bytes;			/* read in all */
	bool		overlong;		/* within a line that is too long */
	char		buffer[PBP_LINE_BYTES];
} PbpLines;

/* A number to be found by its name. */
typedef struct PbpNamedNumber
{
	const char *name;
	int64_t		value;
} PbpNamedNumber;

extern bool pbp_open_lines(PbpLines *lines, const char *root, const char *path);
extern char *pbp_next_line(PbpLines *lines);
extern void pbp_close_lines(PbpLines *lines);
extern int64_t pbp_parse_number(const char *text);
extern int64_t pbp_read_number(const char *root, const char *path);
extern void pbp_read_named_numbers(const char *root, const char *path,
								   PbpNamedNumber *numbers, int nnumbers);

#endif							/* PBP_PROCFILE_H */

/*-------------------------------------------------------------------------
 *
 * procfile.h
 *	  Small text files of the kernel, as in /proc and /sys: lines, numbers, and
 *	  numbers with names.
 *
 * Paths are relative to a root folder, which is "" but for tests.  What is
 * missing, unreadable or no number is unknown: nothing fails.
 *
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROCFILE_H
#define PBP_PROCFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PBP_PATH_BYTES		4096
#define PBP_LINE_BYTES		8192

/* Numbers are at least 0. */
#define PBP_UNKNOWN			INT64_C(-1)
#define PBP_NO_LIMIT		INT64_MAX

/* A number to be found by its name. */
typedef struct PbpNamedNumber
{
	const char *name;
	int64_t		value;
} PbpNamedNumber;

extern FILE *pbp_open_lines(const char *root, const char *path);
extern bool pbp_next_line(FILE *file, char *line);
extern int64_t pbp_parse_number(const char *text);
extern int64_t pbp_read_number(const char *root, const char *path);
extern void pbp_read_named_numbers(const char *root, const char *path, PbpNamedNumber *numbers,
								   int nnumbers);

#endif							/* PBP_PROCFILE_H */

/*-------------------------------------------------------------------------
 *
 * procfile.c
 *	  Small text files of the kernel: lines, numbers, and numbers with names.
 *
 * What the numbers mean does not belong here.
 *
 *-------------------------------------------------------------------------
 */
#include "os/osmemory.h"

#include <stdlib.h>
#include <string.h>

/* Returns NULL if there is no such file. */
FILE *
pbp_open_lines(const char *root, const char *path)
{
	char		full_path[PBP_PATH_BYTES];

	if (snprintf(full_path, sizeof(full_path), "%s%s", root, path) >= (int) sizeof(full_path))
		return NULL;
	return fopen(full_path, "r");
}

/*
 * Reads the next line, which has no more than PBP_LINE_BYTES, without its end.
 * Longer lines are left out.  Returns false after the last.
 */
bool
pbp_next_line(FILE *file, char *line)
{
	bool		unfinished = false;

	while (fgets(line, PBP_LINE_BYTES, file))
	{
		bool		is_rest = unfinished;
		size_t		length = strcspn(line, "\n");

		line[length] = '\0';
		unfinished = length == PBP_LINE_BYTES - 1;
		if (!unfinished && !is_rest)
			return true;
	}
	return false;
}

/*
 * Parses a decimal number, a hexadecimal one with "0x", or "max".  A larger one
 * than fits is PBP_NO_LIMIT, and one followed by "kB" is converted to bytes.
 */
int64_t
pbp_parse_number(const char *text)
{
	const char *digits = text + strspn(text, " \t");
	char	   *end;
	long long	value;

	if (strncmp(digits, "max", 3) == 0 && digits[3 + strspn(digits + 3, " \t\n")] == '\0')
		return PBP_NO_LIMIT;
	if (*digits < '0' || *digits > '9')
		return PBP_UNKNOWN;
	value = strtoll(digits, &end, strncmp(digits, "0x", 2) == 0 ? 16 : 10);
	end += strspn(end, " \t");
	if (strncmp(end, "kB", 2) == 0)
	{
		end += 2;
		value = value > PBP_NO_LIMIT / 1024 ? PBP_NO_LIMIT : value * 1024;
	}
	end += strspn(end, " \t\n");
	return *end == '\0' ? (int64_t) value : PBP_UNKNOWN;
}

/* Reads the first line of a file; "" if there is none. */
void
pbp_read_line(const char *root, const char *path, char *line)
{
	FILE	   *file = pbp_open_lines(root, path);

	if (!file || !pbp_next_line(file, line))
		*line = '\0';
	if (file)
		(void) fclose(file);
}

/* Reads a file whose first line is a number. */
int64_t
pbp_read_number(const char *root, const char *path)
{
	char		line[PBP_LINE_BYTES];

	pbp_read_line(root, path, line);
	return pbp_parse_number(line);
}

/*
 * Reads numbers out of a file with lines such as "MemFree:   123 kB" or
 * "anon 123".  Those that it does not have are unknown; of several with one
 * name, the first counts.
 */
void
pbp_read_named_numbers(const char *root, const char *path, PbpNamedNumber *numbers, int nnumbers)
{
	char		line[PBP_LINE_BYTES];
	FILE	   *file = pbp_open_lines(root, path);

	for (int i = 0; i < nnumbers; i++)
		numbers[i].value = PBP_UNKNOWN;
	while (file && pbp_next_line(file, line))
	{
		size_t		length = strcspn(line, ": \t");

		for (int i = 0; i < nnumbers; i++)
			if (numbers[i].value == PBP_UNKNOWN && strlen(numbers[i].name) == length &&
				strncmp(numbers[i].name, line, length) == 0)
				numbers[i].value = pbp_parse_number(line + length + (line[length] == ':'));
	}
	if (file)
		(void) fclose(file);
}

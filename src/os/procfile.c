/*-------------------------------------------------------------------------
 *
 * procfile.c
 *	  Small text files of the kernel: lines, numbers, and numbers with names.
 *
 * What the numbers mean does not belong here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "os/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No file that is read here is larger, so that no reading goes on forever. */
#define MAX_BYTES			(INT64_C(16) * 1024 * 1024)

bool
pbp_open_lines(PbpLines *lines, const char *root, const char *path)
{
	char		full_path[PBP_PATH_BYTES];

	lines->fd = -1;
	lines->start = lines->end = 0;
	lines->bytes = 0;
	lines->overlong = false;
	if (snprintf(full_path, sizeof(full_path), "%s%s", root, path) >= (int) sizeof(full_path))
		return false;
	lines->fd = open(full_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return lines->fd >= 0;
}

void
pbp_close_lines(PbpLines *lines)
{
	if (lines->fd >= 0)
		(void) close(lines->fd);
	lines->fd = -1;
}

/* Moves what remains to the front and reads on.  Returns false at the end. */
static bool
fill_buffer(PbpLines *lines)
{
	size_t		kept = lines->end - lines->start;
	ssize_t		result = 0;

	if (lines->fd < 0)
		return false;
	memmove(lines->buffer, lines->buffer + lines->start, kept);
	lines->start = 0;
	lines->end = kept;
	if (lines->bytes < MAX_BYTES)
		do
			result = read(lines->fd, lines->buffer + kept, sizeof(lines->buffer) - 1 - kept);
		while (result < 0 && errno == EINTR);
	if (result <= 0)
	{
		pbp_close_lines(lines);
		return false;
	}
	lines->end += (size_t) result;
	lines->bytes += result;
	return true;
}

/*
 * Returns the next line without its end, valid until the next call; NULL: there
 * is none, and the file is closed.  Lines that are too long are left out.
 */
char *
pbp_next_line(PbpLines *lines)
{
	for (;;)
	{
		char	   *line = lines->buffer + lines->start;
		size_t		bytes = lines->end - lines->start;
		char	   *newline = memchr(line, '\n', bytes);
		bool		complete = !lines->overlong;

		if (newline)
		{
			*newline = '\0';
			lines->start += (size_t) (newline - line) + 1;
			lines->overlong = false;
			if (complete)
				return line;
		}
		else if (bytes == sizeof(lines->buffer) - 1)
		{
			lines->overlong = true;
			lines->start = lines->end;
		}
		else if (!fill_buffer(lines))
		{
			/* The last line may have no end. */
			lines->buffer[lines->end] = '\0';
			bytes = lines->end - lines->start;
			line = lines->buffer + lines->start;
			lines->start = lines->end;
			return bytes > 0 && complete ? line : NULL;
		}
	}
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

/* Reads a file whose first line is a number. */
int64_t
pbp_read_number(const char *root, const char *path)
{
	PbpLines	lines;
	const char *line;
	int64_t		number = PBP_UNKNOWN;

	if (!pbp_open_lines(&lines, root, path))
		return PBP_UNKNOWN;
	line = pbp_next_line(&lines);
	if (line)
		number = pbp_parse_number(line);
	pbp_close_lines(&lines);
	return number;
}

/*
 * Reads numbers out of a file with lines such as "MemFree:   123 kB" or
 * "anon 123".  Those that it does not have are unknown; of several with the
 * same name, the first counts.
 */
void
pbp_read_named_numbers(const char *root, const char *path, PbpNamedNumber *numbers, int nnumbers)
{
	PbpLines	lines;
	char	   *line;

	for (int i = 0; i < nnumbers; i++)
		numbers[i].value = PBP_UNKNOWN;
	if (!pbp_open_lines(&lines, root, path))
		return;
	while ((line = pbp_next_line(&lines)) != NULL)
	{
		size_t		length = strcspn(line, ": \t");

		for (int i = 0; i < nnumbers; i++)
			if (numbers[i].value == PBP_UNKNOWN &&
				strlen(numbers[i].name) == length &&
				strncmp(numbers[i].name, line, length) == 0)
				numbers[i].value = pbp_parse_number(line + length + (line[length] == ':'));
	}
}

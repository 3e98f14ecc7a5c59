/*
 * state_file.c
 *	  The file that survives a restart, damaged in every way: cut at each length,
 *	  each byte changed, of other versions and clusters.  Prints TAP.
 *
 * A file ends where memory does, so that reading beyond its end crashes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/stateformat.h"

static int	tests;

static const PbpStateStamp stamp = {PBP_STATE_MAGIC, PBP_STATE_VERSION, 77, 15, 8192, UINT64_C(7000000000000000001), 4711};

typedef struct File
{
	char	   *bytes;
	size_t		nbytes;
} File;

static void
ok(bool passed, const char *what)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, what);
}

/* CRC-32C, bit by bit, as the server computes it. */
static uint32_t
checksum_of(const char *bytes, size_t nbytes)
{
	uint32_t	crc = UINT32_MAX;

	for (size_t i = 0; i < nbytes; i++)
	{
		crc ^= (unsigned char) bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (UINT32_C(0x82F63B78) & -(crc & 1));
	}
	return ~crc;
}

/* ---- files ---- */

static void
put(File *file, const void *bytes, size_t nbytes)
{
	memcpy(file->bytes + file->nbytes, bytes, nbytes);
	file->nbytes += nbytes;
}

static void
put_section(File *file, const char *name, const char *content, uint64_t nbytes)
{
	PbpStateSection section = {.bytes = nbytes};

	strcpy(section.name, name);
	put(file, &section, sizeof(section));
	put(file, content, strlen(content));
	put(file, "\0\0\0\0\0\0\0", pbp_state_padding(strlen(content)));
}

static void
put_checksum(File *file)
{
	uint32_t	checksum = checksum_of(file->bytes, file->nbytes);

	put(file, &checksum, sizeof(checksum));
}

static File
begin_file(const PbpStateStamp *its_stamp)
{
	PbpStateHeader header = {.stamp = *its_stamp};
	File		file = {calloc(1, 1000), 0};

	put(&file, &header, sizeof(header));
	return file;
}

static File
whole_file(const PbpStateStamp *its_stamp)
{
	File		file = begin_file(its_stamp);

	put_section(&file, "history", "some samples of the pool", 24);
	put_section(&file, "empty", "", 0);
	put_section(&file, "learner", "seventeen bytes..", 17);
	put_checksum(&file);
	return file;
}

/* A copy of its first bytes, at the end of memory. */
static char *
at_end_of_memory(const char *bytes, size_t nbytes)
{
	static char *memory = NULL;
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);

	if (memory == NULL)
	{
		memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) != 0)
			exit(1);
	}
	memcpy(memory + page - nbytes, bytes, nbytes);
	return memory + page - nbytes;
}

static const char *
check(const char *bytes, size_t nbytes, const PbpStateStamp *expected)
{
	const char *copy = at_end_of_memory(bytes, nbytes);

	return pbp_check_state(copy, nbytes, checksum_of(copy, nbytes > 4 ? nbytes - 4 : 0), expected);
}

static bool
is_refused_for(const File *file, const char *word)
{
	const char *why = check(file->bytes, file->nbytes, &stamp);

	return why != NULL && strstr(why, word) != NULL;
}

/* ---- tests ---- */

static void
find_sections(void)
{
	File		file = whole_file(&stamp);
	const char *copy = at_end_of_memory(file.bytes, file.nbytes);
	size_t		nbytes = 99;
	const char *found = pbp_find_section(copy, file.nbytes, "learner", &nbytes);

	ok(check(file.bytes, file.nbytes, &stamp) == NULL, "a whole file is accepted");
	ok(found != NULL && nbytes == 17 && memcmp(found, "seventeen bytes..", 17) == 0, "a section is found by its name");
	found = pbp_find_section(copy, file.nbytes, "empty", &nbytes);
	ok(found != NULL && nbytes == 0, "so is one without content");
	ok(pbp_find_section(copy, file.nbytes, "predictions", &nbytes) == NULL, "and none that is not there");
	free(file.bytes);
}

static void
damage(void)
{
	File		file = whole_file(&stamp);
	size_t		accepted = 0;

	for (size_t nbytes = 0; nbytes < file.nbytes; nbytes++)
		accepted += check(file.bytes, nbytes, &stamp) == NULL;
	ok(accepted == 0, "cut at any byte, it is refused");
	for (size_t i = 0; i < file.nbytes; i++)
		for (int change = 1; change < 256; change++)
		{
			file.bytes[i] ^= (char) change;
			accepted += check(file.bytes, file.nbytes, &stamp) == NULL;
			file.bytes[i] ^= (char) change;
		}
	ok(accepted == 0, "any byte changed to any other, it is refused");
	file.nbytes++;
	ok(is_refused_for(&file, "damaged"), "one byte longer, it is refused");
	memset(file.bytes, 0, file.nbytes);
	ok(is_refused_for(&file, "damaged"), "so are zeros");
	free(file.bytes);
}

/* Each is whole, with a checksum that is right. */
static void
refuse_others(void)
{
	struct
	{
		PbpStateStamp stamp;
		const char *word;
		const char *what;
	}			others[] = {
		{stamp, "damaged", "another kind of file"},
		{stamp, "pgbufprobe", "another version of the format"},
		{stamp, "pgbufprobe", "another layout"},
		{stamp, "PostgreSQL", "another major version"},
		{stamp, "PostgreSQL", "another block size"},
		{stamp, "cluster", "another cluster"},
		{stamp, "copied", "another copy of the cluster"},
	};

	others[0].stamp.magic++;
	others[1].stamp.version--;
	others[2].stamp.layout++;
	others[3].stamp.server_version++;
	others[4].stamp.block_bytes *= 2;
	others[5].stamp.cluster++;
	others[6].stamp.copy++;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
	{
		File		file = whole_file(&others[i].stamp);
		char		what[100];

		snprintf(what, sizeof(what), "%s is refused, with the reason", others[i].what);
		ok(is_refused_for(&file, others[i].word), what);
		free(file.bytes);
	}
}

/* Whoever computes the checksum can write any size. */
static void
ignore_sizes(void)
{
	static const uint64_t sizes[] = {25, 32, 40, 48, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX};
	size_t		found = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		File		file = begin_file(&stamp);
		size_t		nbytes;

		put_section(&file, "history", "some samples of the pool", sizes[i]);
		put_checksum(&file);
		found += pbp_find_section(at_end_of_memory(file.bytes, file.nbytes), file.nbytes, "history", &nbytes) != NULL;
		found += pbp_find_section(at_end_of_memory(file.bytes, file.nbytes), file.nbytes, "learner", &nbytes) != NULL;
		free(file.bytes);
	}
	ok(found == 0, "a section that would end beyond the file is not there");
}

int
main(void)
{
	find_sections();
	damage();
	refuse_others();
	ignore_sizes();
	printf("1..%d\n", tests);
	return 0;
}

/*-------------------------------------------------------------------------
 *
 * cachemap.h
 *	  The format of a cache map: for each block of a fork, whether shared buffers
 *	  held it, with which usage count, and whether the page cache held it.
 *
 * A header, runs of blocks in the same state, and a CRC-32C of both.  All
 * numbers are little-endian, so that a map can be carried to another machine.
 * Needs nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CACHEMAP_H
#define PBP_CACHEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PBP_MAP_HEADER_BYTES	48
#define PBP_MAP_CHECKSUM_BYTES	4
#define PBP_MAP_MAX_BLOCKS		UINT32_MAX

/*
 * A level is 0 for a block that is not in shared buffers, and otherwise its
 * usage count plus one.  A state is a level and what the page cache has.
 */
#define PBP_MAP_MAX_USAGE		5
#define PBP_MAP_LEVELS			(PBP_MAP_MAX_USAGE + 2)
#define PBP_MAP_STATES			(3 * PBP_MAP_LEVELS)

/* What the page cache has of a block. */
typedef enum PbpMapOs
{
	PBP_MAP_OS_NOT,
	PBP_MAP_OS_CACHED,
	PBP_MAP_OS_KEPT				/* it also had it some time before */
} PbpMapOs;

typedef struct PbpMapHeader
{
	uint32_t	block_bytes;
	uint32_t	fork;
	bool		os_known;		/* false: the page cache was not asked */
	uint64_t	nblocks;

	/* of what it was taken */
	uint64_t	system;			/* identifier of the database cluster */
	uint32_t	database;		/* OID; 0 for a shared relation */
	uint32_t	relation;		/* OID; 0 if unknown */
} PbpMapHeader;

/* Consecutive blocks in the same state. */
typedef struct PbpMapRun
{
	uint64_t	nblocks;
	int			state;
} PbpMapRun;

typedef void (*PbpMapSink) (void *arg, const void *bytes, size_t nbytes);

typedef struct PbpMapWriter
{
	PbpMapSink	sink;			/* gets the runs */
	void	   *arg;
	PbpMapRun	run;			/* not written yet */
} PbpMapWriter;

typedef struct PbpMapReader
{
	const uint8_t *next;
	const uint8_t *end;
} PbpMapReader;

static inline int
pbp_map_state(int level, PbpMapOs os)
{
	return level + (int) os * PBP_MAP_LEVELS;
}

static inline int
pbp_map_level(int state)
{
	return state % PBP_MAP_LEVELS;
}

static inline PbpMapOs
pbp_map_os(int state)
{
	return (PbpMapOs) (state / PBP_MAP_LEVELS);
}

extern void pbp_map_add(PbpMapWriter *writer, int state, uint64_t nblocks);
extern void pbp_map_end(PbpMapWriter *writer);
extern void pbp_map_put_header(uint8_t *place, const PbpMapHeader *header);
extern void pbp_map_put_checksum(uint8_t *place, uint32_t checksum);

extern const char *pbp_map_check(const uint8_t *map, size_t bytes, uint32_t checksum,
								 uint32_t block_bytes, PbpMapHeader *header);
extern void pbp_map_read(PbpMapReader *reader, const uint8_t *map, size_t bytes);
extern bool pbp_map_next(PbpMapReader *reader, PbpMapRun *run);

#endif							/* PBP_CACHEMAP_H */

/*-------------------------------------------------------------------------
 *
 * cachemap.h
 *	  The format of a cache map: for each block of a fork, whether shared buffers
 *	  held it, with which usage count, and whether the page cache held it.
 *
 * A header, runs of blocks in the same state, and a CRC-32C of both.  All
 * numbers are little-endian, so that a map can be carried to another machine.
 *
 * Storage needs nearly as long for a few blocks as for some more.  So the unit
 * of a restore is not a block but an extent: all that the caches held of some
 * neighbors.
 *
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

/*
 * Blocks of an extent.  4 MB of blocks of 8 kB: enough to keep a disk busy, and
 * sessions wait no longer than that takes to read.  A segment has a whole number
 * of extents.
 */
#define PBP_EXTENT_BLOCKS	512

/*
 * A request takes as long as reading this many further blocks, so smaller gaps are read
 * with their neighbors.
 */
#define PBP_REQUEST_BLOCKS	8
#define PBP_MAX_GAP			(PBP_REQUEST_BLOCKS - 1)

/*
 * Extents of a band are worth about twice as much as those of the next lower one.
 * The lowest band has the blocks that are probably not missed: those that the
 * page cache alone held, and not yet at the save before.
 */
#define PBP_EXTENT_BANDS	8
#define PBP_LAST_BAND		0

/* States of blocks, a bit for each. */
#define PBP_STATE_BIT(state)	(UINT32_C(1) << (state))
#define PBP_STATES_LAST_BAND	PBP_STATE_BIT(PBP_MAP_LEVELS * PBP_MAP_OS_CACHED)
#define PBP_STATES_OTHER_BANDS	(~PBP_STATES_LAST_BAND & ~PBP_STATE_BIT(0))

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

typedef struct PbpExtent
{
	uint32_t	first;			/* place of its first block in the map */
	int			nblocks;
	int			nwanted;
	uint8_t		states[PBP_EXTENT_BLOCKS];	/* 0: not wanted */
} PbpExtent;

typedef struct PbpExtentReader
{
	uint32_t	wanted;			/* states, without 0 */
	PbpMapReader reader;
	PbpMapRun	run;			/* what is left of the present one */
	uint64_t	next;			/* place of its first block */
} PbpExtentReader;

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

extern void pbp_extents_read(PbpExtentReader *reader, const uint8_t *map, size_t bytes,
							 uint32_t wanted);
extern bool pbp_extent_next(PbpExtentReader *reader, PbpExtent *extent);
extern bool pbp_next_run(const uint8_t *marks, int nmarks, int max_gap, int *first, int *end);
extern int	pbp_extent_band(const PbpExtent *extent, bool last);

#endif							/* PBP_CACHEMAP_H */

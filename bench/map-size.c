/*
 * map-size.c
 *	  How large cache maps are, and what they take to write, check and read.
 *
 * Writes maps of synthetic blocks as cachetake.c does, a segment at a time, and
 * reads them back.  Drawing the blocks is not measured, nor is the checksum,
 * which the server computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/cachemap.h"

#define SEGMENT_BLOCKS	131072
#define BLOCK_BYTES		8192

/*
 * What may be cached of a relation.  Runs of 1.9 blocks are those in the page
 * cache of a table that pgbench read by skewed lookups, as are 13 and 42 %.
 *
 * Shared buffers hold each block with the same probability; the page cache
 * holds runs of blocks, whose lengths have this mean.
 */
typedef struct Shape
{
	const char *name;
	double		shared;
	double		os;
	double		os_run;			/* 0: as long as the map */
	bool		worst;			/* each block in another state than the one before */
} Shape;

static const Shape shapes[] = {
	{"best: nothing cached", 0, 0, 0, false},
	{"best: all in the page cache", 0, 1, 0, false},
	{"scans: pool 0, page cache 50 % in runs of 1000", 0, 0.5, 1000, false},
	{"cold: pool 2.5 %, page cache 10 % in runs of 1.9", 0.025, 0.1, 1.9, false},
	{"lookups: pool 13 %, all in the page cache", 0.13, 1, 0, false},
	{"lookups: pool 13 %, page cache 42 % in runs of 1.9", 0.13, 0.42, 1.9, false},
	{"large: pool 25 %, page cache 50 % in runs of 1.9", 0.25, 0.5, 1.9, false},
	{"worst: no two neighbors alike", 0, 0, 0, true},
};

/* Usage counts in a pool under Zipf lookups, in thousandths; the last ones are the highest. */
static const int usage_shares[PBP_MAP_MAX_USAGE + 1] = {430, 449, 47, 16, 20, 38};

typedef struct Map
{
	uint8_t    *bytes;
	size_t		nbytes;
	size_t		room;
} Map;

static uint64_t random_state = UINT64_C(88172645463325252);

static double
draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double) (random_state >> 11) / 9007199254740992.0;
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

static void
append(void *arg, const void *bytes, size_t nbytes)
{
	Map		   *map = arg;

	if (map->nbytes + nbytes > map->room)
	{
		map->room = 2 * (map->nbytes + nbytes);
		map->bytes = realloc(map->bytes, map->room);
		if (map->bytes == NULL)
			exit(1);
	}
	memcpy(map->bytes + map->nbytes, bytes, nbytes);
	map->nbytes += nbytes;
}

static int
draw_level(void)
{
	int			left = (int) (draw() * 1000);
	int			usage = 0;

	while (usage < PBP_MAP_MAX_USAGE && left >= usage_shares[usage])
		left -= usage_shares[usage++];
	return usage + 1;
}

/*
 * Draws the next blocks; "os" is the page cache's state of the last one.  Is any
 * of them cached?
 */
static bool
draw_blocks(const Shape *shape, uint8_t *states, uint64_t nblocks, bool *os)
{
	double		leave = shape->os_run == 0 ? 0 : 1 / shape->os_run;
	double		enter = leave * shape->os / (1 - shape->os + (shape->os == 1));
	bool		any = false;

	for (uint64_t i = 0; i < nblocks; i++)
	{
		if (shape->worst)
			states[i] = (uint8_t) (i % PBP_MAP_STATES);
		else
		{
			if (leave > 0 && draw() < (*os ? leave : enter))
				*os = !*os;
			states[i] = (uint8_t) pbp_map_state(shape->shared > 0 && draw() < shape->shared ?
												draw_level() : 0, *os);
		}
		any |= states[i] != 0;
	}
	return any;
}

/* Returns the nanoseconds. */
static double
write_map(const Shape *shape, uint64_t nblocks, Map *map)
{
	static uint8_t states[SEGMENT_BLOCKS];
	static const uint8_t zeros[PBP_MAP_HEADER_BYTES];
	PbpMapHeader header = {BLOCK_BYTES, 0, true, nblocks, 1, 1, 1};
	PbpMapWriter writer = {append, map, {0, 0}};
	bool		os = shape->os == 1;
	double		ns = 0;

	map->nbytes = 0;
	append(map, zeros, PBP_MAP_HEADER_BYTES);
	for (uint64_t done = 0; done < nblocks; done += SEGMENT_BLOCKS)
	{
		uint64_t	count = nblocks - done < SEGMENT_BLOCKS ? nblocks - done : SEGMENT_BLOCKS;
		double		start;
		bool		any = draw_blocks(shape, states, count, &os);

		start = cpu_ns();
		if (!any)
			pbp_map_add(&writer, 0, count);
		for (uint64_t i = 0; any && i < count; i++)
			pbp_map_add(&writer, states[i], 1);
		ns += cpu_ns() - start;
	}
	pbp_map_end(&writer);
	pbp_map_put_header(map->bytes, &header);
	append(map, zeros, PBP_MAP_CHECKSUM_BYTES);
	return ns;
}

static double
check_map(const Map *map)
{
	PbpMapHeader header;
	double		start = cpu_ns();
	const char *reason = pbp_map_check(map->bytes, map->nbytes, 0, BLOCK_BYTES, &header);

	if (reason != NULL)
	{
		fprintf(stderr, "map-size: %s\n", reason);
		exit(1);
	}
	return cpu_ns() - start;
}

/* One of the passes in which a map is restored, one for each level. */
static double
read_map(const Map *map, uint64_t *nruns)
{
	PbpMapReader reader;
	PbpMapRun	run;
	double		start = cpu_ns();

	*nruns = 0;
	pbp_map_read(&reader, map->bytes, map->nbytes);
	while (pbp_map_next(&reader, &run))
		++*nruns;
	return cpu_ns() - start;
}

int
main(int argc, char **argv)
{
	uint64_t	nblocks = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	Map			map = {NULL, 0, 0};

	if (nblocks == 0 || nblocks > PBP_MAP_MAX_BLOCKS)
		return 2;
	printf("%-52s %11s %12s %9s %9s %9s %9s\n", "", "MB", "bytes/block", "runs of", "write", "check", "read");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
	{
		double		write_ns = write_map(&shapes[i], nblocks, &map);
		double		check_ns = check_map(&map);
		uint64_t	nruns;
		double		read_ns = read_map(&map, &nruns);
		double		n = (double) nblocks;

		printf("%-52s %11.6f %12.6f %9.1f %9.3f %9.3f %9.3f\n", shapes[i].name, map.nbytes / 1048576.0, map.nbytes / n,
			   n / nruns, write_ns / n, check_ns / n, read_ns / n);
	}
	printf("Runs in blocks; processor times in ns per block of the relation.\n");
	free(map.bytes);
	return 0;
}

/*
 * kernel_policies.c
 *	  Compares the simulated policies of the page cache with what kernels did.
 *
 * The loads read blocks of 8 kB from a file in a cgroup of 48 MB, without readahead: what a
 * pool of 1024 buffers misses of uniform accesses, and of accesses to a hot set.  Each figure
 * was measured on that kernel, of 50000 reads the share that the device had to serve.  With
 * "hot" or "uniform", a file, and the statistics of its device as arguments, the program
 * measures these figures; ci/mglru calls it so.
 */
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/cachesets.h"
#include "tap.h"

#define HEAP_PAGES		18432
#define ROWS			(HEAP_PAGES * UINT64_C(55))
#define INDEX_PAGES		((int) (ROWS / 330) + 1)
#define ALL_PAGES		(HEAP_PAGES + INDEX_PAGES)
#define BUFFERS			1024
#define READS			50000
#define WINDOWS			8

/* Blocks that the cgroup had in its page cache, when full. */
#define CAPACITY		6078

#define BLOCK_BYTES		8192
#define STORAGE_BYTES	((size_t) 6 * 1024 * 1024)

typedef struct Measured
{
	const char *kernel;
	bool		hot;
	PbpEviction eviction;
	double		ratios[WINDOWS];
} Measured;

static const Measured measured[] = {
	{"Linux 6.12 without MGLRU", true, PBP_EVICTS_BY_LISTS,
	{0.2327, 0.1455, 0.1481, 0.1473, 0.1507, 0.1462, 0.1469, 0.1472}},
	{"Linux 6.12 without MGLRU", false, PBP_EVICTS_BY_LISTS,
	{0.5824, 0.5395, 0.5400, 0.5430, 0.5420, 0.5425, 0.5390, 0.5424}},
	{"Linux 6.12", true, PBP_EVICTS_BY_MGLRU_6_8,
	{0.2604, 0.1500, 0.1422, 0.1398, 0.1384, 0.1326, 0.1317, 0.1300}},
	{"Linux 6.12", false, PBP_EVICTS_BY_MGLRU_6_8,
	{0.6371, 0.5772, 0.5554, 0.5394, 0.5263, 0.5155, 0.5098, 0.5045}},
	{"Linux 7.2 without MGLRU", true, PBP_EVICTS_BY_LISTS,
	{0.2327, 0.1454, 0.1482, 0.1472, 0.1503, 0.1463, 0.1469, 0.1465}},
	{"Linux 7.2 without MGLRU", false, PBP_EVICTS_BY_LISTS,
	{0.5815, 0.5407, 0.5383, 0.5429, 0.5421, 0.5436, 0.5395, 0.5404}},
	{"Linux 7.2", true, PBP_EVICTS_BY_MGLRU_6_14,
	{0.2611, 0.1868, 0.1870, 0.1838, 0.1895, 0.1842, 0.1847, 0.1824}},
	{"Linux 7.2", false, PBP_EVICTS_BY_MGLRU_6_14,
	{0.6398, 0.6107, 0.6101, 0.6120, 0.6117, 0.6108, 0.6143, 0.6136}},
};

/* ---- the load ---- */

static uint64_t state[2];
static int	buffers[BUFFERS];
static int	usage[BUFFERS];
static int	buffer_of[ALL_PAGES];
static int	hand;
static int	waiting;			/* a heap page that is to be read; -1: none */

static uint64_t
draw_bits(void)
{
	uint64_t	a = state[0];
	uint64_t	b = state[1];

	state[0] = b;
	a ^= a << 23;
	state[1] = a ^ b ^ (a >> 18) ^ (b >> 5);
	return state[1] + b;
}

static void
begin_load(void)
{
	state[0] = UINT64_C(2654435761) + 1;
	state[1] = UINT64_C(88172645463325252);
	for (int i = 0; i < 20; i++)
		draw_bits();
	for (int i = 0; i < BUFFERS; i++)
		buffers[i] = -1;
	for (int i = 0; i < ALL_PAGES; i++)
		buffer_of[i] = -1;
	memset(usage, 0, sizeof(usage));
	hand = 0;
	waiting = -1;
}

/* Returns true if the pool lacks the page, and loads it. */
static bool
misses(int page)
{
	if (buffer_of[page] >= 0)
	{
		if (usage[buffer_of[page]] < 5)
			usage[buffer_of[page]]++;
		return false;
	}
	for (; buffers[hand] >= 0 && usage[hand] > 0; hand = (hand + 1) % BUFFERS)
		usage[hand]--;
	if (buffers[hand] >= 0)
		buffer_of[buffers[hand]] = -1;
	buffers[hand] = page;
	usage[hand] = 1;
	buffer_of[page] = hand;
	hand = (hand + 1) % BUFFERS;
	return true;
}

/* The next page that the pool reads: each access is one to an index, and one to a table. */
static int
next_read(bool hot)
{
	for (;;)
	{
		uint64_t	row;
		int			page = waiting;

		waiting = -1;
		if (page < 0)
		{
			row = hot && draw_bits() % 20 > 0 ? draw_bits() % (ROWS * 3 / 10) : draw_bits() % ROWS;
			waiting = (int) (row / 55);
			page = HEAP_PAGES + (int) (row / 330);
		}
		if (misses(page))
			return page;
	}
}

/* ---- the cache ---- */

/* Only one of its caches is used, and all pages have records. */
static CacheSet *
make_cache(Advice *advice, PbpEviction eviction)
{
	CacheSet   *set;

	*advice = (Advice) {.nbuffers = BUFFERS,.sampling_rate = 1};
	advice->head.kept = UINT32_MAX;
	if (!pbp_advice_init_storage(advice, malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES))
		abort();
	pbp_advice_set_eviction(advice, eviction, true);
	pbp_advice_set_os_cache(advice, CAPACITY);
	set = advice->cache_sets[0];
	for (int i = 0; i < ALL_PAGES; i++)
		*cached_page(set, (uint32_t) i) = (CachedPage) {0};
	return set;
}

static void
compare(const Measured *kernel)
{
	static Advice advice;
	CacheSet   *set = make_cache(&advice, kernel->eviction);
	double		worst = 0;

	begin_load();
	printf("# %s, %s:", kernel->kernel, kernel->hot ? "hot set" : "uniform");
	for (int i = 0; i < WINDOWS; i++)
	{
		int			nreads = 0;
		double		ratio;

		for (int j = 0; j < READS; j++)
			nreads += set->policy->read(set, BASELINE, (uint16_t) next_read(kernel->hot)) != CACHE_HIT;
		ratio = (double) nreads / READS;
		printf(" %.4f (%.4f)", ratio, kernel->ratios[i]);
		worst = fmax(worst, fabs(ratio - kernel->ratios[i]));
	}
	printf("\n");
	okf(worst < 0.01, "%s, %s: as measured, within %.4f", kernel->kernel, kernel->hot ? "hot set" : "uniform", worst);
	free(set);
}

/* Bytes that the device has read. */
static double
device_reads(const char *statistics)
{
	FILE	   *file = fopen(statistics, "r");
	double		sectors;

	if (file == NULL || fscanf(file, "%*f %*f %lf", &sectors) != 1)
		abort();
	fclose(file);
	return 512 * sectors;
}

/* What the kernel of this machine does. */
static int
measure(bool hot, const char *path, const char *statistics)
{
	static char block[BLOCK_BYTES];
	int			file = open(path, O_RDONLY);

	begin_load();
	for (int i = 0; i < WINDOWS; i++)
	{
		double		before = device_reads(statistics);

		for (int j = 0; j < READS; j++)
			if (pread(file, block, BLOCK_BYTES, (off_t) next_read(hot) * BLOCK_BYTES) != BLOCK_BYTES)
				return 1;
		printf("%s%.4f", i > 0 ? ", " : "", (device_reads(statistics) - before) / BLOCK_BYTES / READS);
		fflush(stdout);
	}
	printf("\n");
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 4)
		return measure(strcmp(argv[1], "hot") == 0, argv[2], argv[3]);
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
		compare(&measured[i]);
	return end_of_tests();
}

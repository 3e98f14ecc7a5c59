/*
 * latency.c
 *	  Compares the percentiles of src/base/latency.c with those of sorted times.
 *
 * Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/latency.h"
#include "random.h"
#include "tap.h"

#define TIMES	10000000
#define CLOCK_NS	25

static void
compares(bool passed, const char *what, double seen, double expected)
{
	ok(passed, what);
	if (!passed)
		printf("# seen %g, expected %g\n", seen, expected);
}

static void
is_within_1_percent(double seen, double expected, const char *what)
{
	compares(fabs(seen - expected) <= 0.01 * expected, what, seen, expected);
}

static int
compare(const void *a, const void *b)
{
	const int64_t *one = a;
	const int64_t *other = b;

	return (*one > *other) - (*one < *other);
}

/* From tens of nanoseconds to minutes, most of them short, as searches are. */
static int64_t
some_time(int shape)
{
	static Random random = {88172645463325252u};
	double		r = next_share(&random);

	if (shape == 0)
		return (int64_t) (20 * pow(r + 1e-10, -1.2));
	if (shape == 1)
		return (int64_t) (1000 + 9000 * r);
	return r < 0.97 ? 15 : (int64_t) (1e6 + 1e8 * next_share(&random));
}

static void
compare_percentiles(int shape, int64_t *times)
{
	static PbpLatency latency;
	static const double shares[] = {0.01, 0.5, 0.95, 0.99, 0.999, 0.99999, 1.0};
	double		sum = 0;
	char		what[100];

	memset(&latency, 0, sizeof(latency));
	for (int i = 0; i < TIMES; i++)
	{
		times[i] = some_time(shape);
		sum += (double) times[i];
		pbp_latency_add(&latency, times[i] + CLOCK_NS);
	}
	latency.clock_ns = CLOCK_NS;
	qsort(times, TIMES, sizeof(times[0]), compare);

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
	{
		int64_t		rank = (int64_t) ceil(shares[i] * TIMES);

		snprintf(what, sizeof(what), "times of shape %d: percentile %g", shape, 100 * shares[i]);
		is_within_1_percent(pbp_latency_percentile_ns(&latency, shares[i]),
							(double) times[rank - 1], what);
	}
	snprintf(what, sizeof(what), "times of shape %d: average", shape);
	compares(fabs(pbp_latency_avg_ns(&latency) * TIMES - sum) <= 1e-9 * sum, what,
	   pbp_latency_avg_ns(&latency), sum / TIMES);
	snprintf(what, sizeof(what), "times of shape %d: longest", shape);
	compares(pbp_latency_max_ns(&latency) == (double) times[TIMES - 1], what,
	   pbp_latency_max_ns(&latency), (double) times[TIMES - 1]);
}

/* Around each power of two, where a mistake by one would show. */
static void
compare_borders(void)
{
	static PbpLatency latency;
	int			far_off = 0;

	memset(&latency, 0, sizeof(latency));
	for (int log2 = 0; log2 < PBP_LATENCY_MAX_LOG2; log2++)
	{
		for (int64_t ns = ((int64_t) 1 << log2) - 1; ns <= ((int64_t) 1 << log2) + 1; ns++)
		{
			double		seen;

			latency.count = 0;
			for (int i = 0; i < PBP_LATENCY_BUCKETS; i++)
				latency.buckets[i] = 0;
			latency.max_ns = INT64_MAX;
			latency.clock_ns = 0;
			pbp_latency_add(&latency, ns);
			seen = pbp_latency_percentile_ns(&latency, 1);
			if (fabs(seen - (double) ns) > 0.005 * (double) ns)
				far_off++;
		}
	}
	compares(far_off == 0, "borders of all powers of two are within 0.5 %", far_off, 0);
}

static void
compare_extremes(void)
{
	static PbpLatency latency;

	memset(&latency, 0, sizeof(latency));
	compares(pbp_latency_avg_ns(&latency) == 0, "nothing counted: average 0",
	   pbp_latency_avg_ns(&latency), 0);
	compares(pbp_latency_percentile_ns(&latency, 0.5) == 0, "nor a percentile",
	   pbp_latency_percentile_ns(&latency, 0.5), 0);
	pbp_latency_finish(&latency);
	compares(latency.clock_ns > 0, "reading the clock costs something", latency.clock_ns, 20);
	pbp_latency_add(&latency, 0);
	compares(pbp_latency_max_ns(&latency) == 0, "a time below the clock's cost is 0, not negative",
	   pbp_latency_max_ns(&latency), 0);
	pbp_latency_add(&latency, INT64_MAX);
	compares(latency.buckets[PBP_LATENCY_BUCKETS - 1] == 1, "a time beyond the last bucket is in the last bucket",
	   (double) latency.buckets[PBP_LATENCY_BUCKETS - 1], 1);
}

int
main(void)
{
	int64_t    *times = malloc(TIMES * sizeof(int64_t));

	for (int shape = 0; shape < 3; shape++)
		compare_percentiles(shape, times);
	compare_borders();
	compare_extremes();
	free(times);
	return end_of_tests();
}

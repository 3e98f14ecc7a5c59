/*-------------------------------------------------------------------------
 *
 * latency.c
 *	  Percentiles of many short times: a histogram with buckets of constant
 *	  relative width.
 *
 *-------------------------------------------------------------------------
 */
#define _POSIX_C_SOURCE 199309L

#include "base/latency.h"

#include <time.h>

#define CLOCK_RUNS		50
#define CLOCK_READINGS	50

static int64_t
read_clock(clockid_t clock)
{
	struct timespec now = {0};

	(void) clock_gettime(clock, &now);
	return (int64_t) now.tv_sec * PBP_NS_PER_S + now.tv_nsec;
}

int64_t
pbp_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t
pbp_cpu_now_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * To be called after the last time: measures the time between two readings of the clock
 * when nothing happens between them.
 *
 * It is an average, because the clock may advance in larger steps than this
 * time; and the lowest of many short runs, because an interrupt in one of them
 * is not the clock's cost.
 */
void
pbp_latency_finish(PbpLatency *latency)
{
	int64_t		least = INT64_MAX;

	for (int run = 0; run < CLOCK_RUNS; run++)
	{
		int64_t		sum = 0;

		for (int i = 0; i < CLOCK_READINGS; i++)
		{
			int64_t		start = pbp_now_ns();

			sum += pbp_now_ns() - start;
		}
		if (sum < least)
			least = sum;
	}
	latency->clock_ns = (double) least / CLOCK_READINGS;
}

static double
without_clock(const PbpLatency *latency, double ns)
{
	return ns > latency->clock_ns ? ns - latency->clock_ns : 0;
}

static int
bucket_of(int64_t ns)
{
	int			log2;

	if (ns < PBP_LATENCY_STEPS)
		return (int) ns;

	log2 = 63 - __builtin_clzll((unsigned long long) ns);
	if (log2 >= PBP_LATENCY_MAX_LOG2)
		return PBP_LATENCY_BUCKETS - 1;

	/* the leading bit gives the power of two, the bits after it the step */
	return (log2 - PBP_LATENCY_STEPS_LOG2) * PBP_LATENCY_STEPS +
		(int) (ns >> (log2 - PBP_LATENCY_STEPS_LOG2));
}

/* The middle of the times that belong to a bucket. */
static double
bucket_middle_ns(int bucket)
{
	int			shift = bucket / PBP_LATENCY_STEPS - 1;
	int64_t		lowest;

	if (shift <= 0)
		return bucket;

	lowest = (int64_t) (bucket % PBP_LATENCY_STEPS + PBP_LATENCY_STEPS) << shift;
	return (double) lowest + ((double) ((int64_t) 1 << shift) - 1) / 2;
}

/* Counts the time between two readings of the clock. */
void
pbp_latency_add(PbpLatency *latency, int64_t elapsed_ns)
{
	if (elapsed_ns < 0)
		elapsed_ns = 0;
	latency->buckets[bucket_of(elapsed_ns)]++;
	latency->count++;
	latency->sum_ns += elapsed_ns;
	if (elapsed_ns > latency->max_ns)
		latency->max_ns = elapsed_ns;
}

double
pbp_latency_avg_ns(const PbpLatency *latency)
{
	if (latency->count == 0)
		return 0;
	return without_clock(latency, (double) latency->sum_ns / (double) latency->count);
}

double
pbp_latency_max_ns(const PbpLatency *latency)
{
	return without_clock(latency, (double) latency->max_ns);
}

/* The smallest time that a share p (0 < p <= 1) of all times do not exceed. */
double
pbp_latency_percentile_ns(const PbpLatency *latency, double p)
{
	double		rank = p * (double) latency->count;
	int64_t		seen = 0;

	for (int i = 0; i < PBP_LATENCY_BUCKETS; i++)
	{
		seen += latency->buckets[i];
		if (seen > 0 && (double) seen >= rank)
		{
			double		middle = bucket_middle_ns(i);

			if (middle > (double) latency->max_ns)
				middle = (double) latency->max_ns;
			return without_clock(latency, middle);
		}
	}
	return 0;
}

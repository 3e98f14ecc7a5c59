/*-------------------------------------------------------------------------
 *
 * latency.h
 *	  Percentiles of many short times in bounded memory.
 *
 * Offers the clock, and a histogram of times with its sum, average, maximum and
 * percentiles.  Uses nothing of PostgreSQL and compiles alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_LATENCY_H
#define PBP_LATENCY_H

#include <stdint.h>

#define PBP_NS_PER_S			INT64_C(1000000000)

/*
 * Each time below PBP_LATENCY_STEPS nanoseconds has its own bucket.  Above,
 * each power of two is divided into PBP_LATENCY_STEPS: the middle of a bucket is
 * within 1 / (2 * PBP_LATENCY_STEPS) = 0.4 % of all times in it.  The last
 * power of two ends at 2^43 ns, about two and a half hours.
 */
#define PBP_LATENCY_STEPS_LOG2	7
#define PBP_LATENCY_STEPS		(1 << PBP_LATENCY_STEPS_LOG2)
#define PBP_LATENCY_MAX_LOG2	43
#define PBP_LATENCY_BUCKETS \
	((PBP_LATENCY_MAX_LOG2 - PBP_LATENCY_STEPS_LOG2 + 1) * PBP_LATENCY_STEPS)

/*
 * Times are counted as the clock measures them.  The cost of reading the clock
 * is measured at the end, and subtracted from results.  All of it is zero to begin.
 */
typedef struct PbpLatency
{
	double		clock_ns;		/* cost of a pair of readings */
	int64_t		count;
	int64_t		sum_ns;
	int64_t		max_ns;
	int64_t		buckets[PBP_LATENCY_BUCKETS];
} PbpLatency;

extern int64_t pbp_now_ns(void);
extern int64_t pbp_cpu_now_ns(void);	/* used by this thread */
extern void pbp_latency_add(PbpLatency *latency, int64_t elapsed_ns);
extern void pbp_latency_finish(PbpLatency *latency);
extern double pbp_latency_avg_ns(const PbpLatency *latency);
extern double pbp_latency_max_ns(const PbpLatency *latency);
extern double pbp_latency_percentile_ns(const PbpLatency *latency, double p);

#endif							/* PBP_LATENCY_H */

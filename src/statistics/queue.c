/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  How long a storage read takes where sessions read more or less than today.
 *
 * How much reads delay each other cannot be seen from how much their times differ: those of a
 * device that serves many at once differ, too.  But it can be seen from reads that began while
 * none, one or more sessions were reading.
 *
 *-------------------------------------------------------------------------
 */
#include "statistics/queue.h"

/* How exactly shares of a read's time are found by halving. */
#define SOLVED				1e-6

/* Reads delay each other by so many times as much as one after the other could, not by chance. */
#define MORE_THAN_SERVED	1.5

/*
 * What a read takes before a device that serves one after the other, if each session reads again
 * so long after the end of its last read: the exact mean where times are random ("mean value
 * analysis").  A read finds as many others there as would be with one session less.
 */
static double
time_served(double service, double between, double sessions)
{
	double		found = 0;
	double		time = service;

	for (int i = 1; i <= sessions; i++)
	{
		time = service * (1 + found);
		found = i * time / (between + time);
	}
	return time;
}

/* The longest service with which a read takes no longer than today. */
static double
longest_service(const PbpQueue *queue)
{
	double		service = 0;

	for (double step = 0.5; step > SOLVED; step /= 2)
		if (time_served(service + step, queue->between, queue->sessions) <= 1)
			service += step;
	return service;
}

/* What a read takes today, beside its time in the queue. */
static double
time_beside(const PbpQueue *queue, double service)
{
	double		beside = 0;

	for (double step = 0.5; step > SOLVED; step /= 2)
		if (beside + step +
			time_served(service, queue->between + beside + step, queue->sessions) <= 1)
			beside += step;
	return beside;
}

/* How many nanoseconds longer a read takes for each session that was reading when it began. */
static PbpFigure
slope_of_times(const int64_t *ns, const int *reading, int ntimes)
{
	double		mean_reading = 0;
	double		mean = 0;
	double		squares = 0;
	double		scatter = 0;
	PbpFigure	slope = {0, 0};

	for (int i = 0; i < ntimes; i++)
	{
		mean_reading += (double) reading[i] / ntimes;
		mean += (double) ns[i] / ntimes;
	}
	for (int i = 0; i < ntimes; i++)
		squares += (reading[i] - mean_reading) * (reading[i] - mean_reading);
	/* all had as many others: anything is possible */
	if (squares < 0.5)
		return (PbpFigure) {0, INFINITY};
	for (int i = 0; i < ntimes; i++)
		slope.value += (reading[i] - mean_reading) * ((double) ns[i] - mean) / squares;
	for (int i = 0; i < ntimes; i++)
	{
		double		off = (double) ns[i] - mean - slope.value * (reading[i] - mean_reading);

		scatter += off * off / (ntimes - 2);
	}
	slope.error = PBP_DEVIATIONS * sqrt(scatter / squares);
	return slope;
}

/* The mean of such a share of the times, the quickest ones. */
static double
quick_time(const int64_t *ns, int ntimes, double share)
{
	double		quick = 0;
	int			nquick = 0;

	for (int i = 0; i < ntimes; i++)
	{
		int			quicker = 0;

		for (int j = 0; j < ntimes; j++)
			quicker += ns[j] < ns[i];
		if (quicker < share * ntimes)
		{
			quick += (double) ns[i];
			nquick++;
		}
	}
	return nquick > 0 ? quick / nquick : 0;
}

PbpQueue
pbp_queue_of_reads(const int64_t *ns, const int *reading, int ntimes, double mean_ns,
				   double waiting, double sessions)
{
	PbpFigure	slope = slope_of_times(ns, reading, ntimes);
	PbpQueue	queue = {.sessions = rint(fmax(1, sessions))};
	double		longest;

	if (!(waiting > 0 && sessions > 0 && mean_ns > 0))
		return (PbpQueue) {0};
	queue.between = fmax(0, queue.sessions / waiting - 1);
	longest = longest_service(&queue);
	queue.service = fmax(0, fmin(longest, slope.value / mean_ns));
	queue.most_service = fmax(0, fmin(longest, (slope.value + slope.error) / mean_ns));
	queue.beside = time_beside(&queue, queue.service);
	queue.least_beside = time_beside(&queue, queue.most_service);
	queue.limited = slope.value - slope.error > MORE_THAN_SERVED * longest * mean_ns;
	/* sessions that do not wait are not at the limit, nor are as many of the probes */
	if (queue.limited)
		queue.quick = fmin(1, quick_time(ns, ntimes, 1 - fmin(1, waiting / queue.sessions)) /
						   mean_ns);
	return queue;
}

/* If sessions do as much between today's reads, and then read so many times as much. */
static double
relative_time(const PbpQueue *queue, double service, double beside, double reads)
{
	return beside + time_served(reads * service, queue->between + reads * beside,
								queue->sessions) / reads;
}

/*
 * At a limit of operations, storage serves as many reads as today, unless sessions need fewer: then
 * all are quick.
 *
 * Otherwise, where fewer are read, none takes longer than today, nor less than one that finds no
 * other, and the device works no faster than it can ("asymptotic bounds").  Where more are read,
 * none takes less than today, and the longest service counts: until it has happened, nobody knows.
 */
PbpFigure
pbp_time_in_queue(const PbpQueue *queue, double reads)
{
	double		time;
	double		least;

	if (queue->sessions == 0 || !(reads > 0) || isinf(reads) || reads == 1)
		return (PbpFigure) {1, 0};
	if (queue->limited)
	{
		time = fmax(queue->quick, 1 + queue->between - queue->between / reads);
		return (PbpFigure) {time, fabs(1 - time)};
	}
	if (reads > 1)
	{
		time = relative_time(queue, queue->most_service, queue->least_beside, reads);
		return (PbpFigure) {time, time - 1};
	}
	time = relative_time(queue, queue->service, queue->beside, reads);
	least = fmax(queue->least_beside + queue->most_service,
				 queue->sessions * queue->most_service - queue->between / reads);
	return (PbpFigure) {time, fmax(1 - time, time - least)};
}

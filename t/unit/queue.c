/*
 * queue.c
 *	  Cases of src/statistics/queue.c: how long reads take with more or fewer of them, by known times and before simulated
 *	  devices.  Prints TAP.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "statistics/queue.h"
#include "figures.h"
#include "random.h"
#include "tap.h"

#define PROBES			120

static Random chance = {1};

static bool
is(PbpFigure time, double low, double value, double high)
{
	return fabs(time.value - value) < 1e-5 && fabs(time.value - time.error - low) < 1e-5 && fabs(time.value + time.error - high) < 1e-5;
}

/* ---- known times ---- */

static void
known_queues(void)
{
	int64_t		ns[20];
	int			reading[20];
	PbpQueue	queue;
	PbpFigure	time;

	/* 1 ms, and 0.5 ms for each other read */
	for (int i = 0; i < 20; i++)
	{
		reading[i] = i % 4;
		ns[i] = 1000000 + 500000 * reading[i];
	}
	/* one session of two waits, each of whose reads takes 2 ms, after 2 ms of other things */
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 1, 2);
	ok(queue.sessions == 2 && near(queue.between, 1) && near(queue.service, 0.25) && near(queue.service, queue.most_service),
	   "the share of a read's time by which it delays each other one");
	/* one session alone would be in the queue for 0.25 of 2 of its time */
	ok(fabs(queue.beside - (1 - 0.25 * (1 + 0.25 / (1 + queue.beside + 0.25)))) < 1e-5, "the rest waits for none");
	ok(is(pbp_time_in_queue(&queue, 1), 1, 1, 1), "as many reads, as long");
	time = pbp_time_in_queue(&queue, 0.5);
	ok(near(time.value, queue.beside + 0.25 * (1 + 0.125 / (1 + queue.beside / 2 + 0.125))), "half of the reads find fewer others");
	ok(time.error >= 1 - time.value && time.value - time.error <= queue.beside + 0.25, "or as many as today, or none");
	time = pbp_time_in_queue(&queue, 4);
	ok(near(time.value, queue.beside + 0.25 * (1 + 1 / (1 + 4 * queue.beside + 1))) && near(time.error, time.value - 1), "more reads find more");
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 0.5, 1);
	time = pbp_time_in_queue(&queue, 4);
	ok(near(time.value, 1) && time.error < 1e-5, "those of a single session wait for none");
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 4, 4);
	ok(near(queue.service, 0.25) && queue.between == 0 && fabs(pbp_time_in_queue(&queue, 0.5).value - 1) < 1e-5,
	   "sessions that do nothing but read keep storage as busy with fewer");
	ok(fabs(pbp_time_in_queue(&queue, 3).value - 1) < 1e-5, "or with more");
}

static void
unknown_queues(void)
{
	int64_t		ns[20];
	int			reading[20];
	PbpQueue	queue;

	for (int i = 0; i < 20; i++)
	{
		reading[i] = 2;
		ns[i] = 1000000 * (1 + i % 3);
	}
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 2, 4);
	ok(queue.service == 0 && queue.most_service > 0.3 && queue.least_beside < 1e-5, "if there were as many others each time, they may not matter, or be all");
	for (int i = 0; i < 20; i++)
	{
		reading[i] = i % 2;
		ns[i] = 1000000 * (3 - reading[i]);
	}
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 2, 4);
	ok(queue.service == 0 && queue.most_service == 0 && is(pbp_time_in_queue(&queue, 0.1), 1, 1, 1), "others do not make a read faster");
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 0, 4);
	ok(is(pbp_time_in_queue(&queue, 0.1), 1, 1, 1) && is(pbp_time_in_queue(&queue, 9), 1, 1, 1), "as long as today where no session waits");
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, NAN, 4);
	ok(is(pbp_time_in_queue(&queue, 0.1), 1, 1, 1) && is(pbp_time_in_queue(&queue, INFINITY), 1, 1, 1), "or where that is unknown");
	queue = pbp_queue_of_reads(ns, reading, 20, 2e6, 9, 4);
	ok(queue.between == 0 && queue.most_service <= 0.25, "no more sessions wait than there are");
}

/* Of four sessions, two wait on average: at times none, or all. */
static void
limits_of_operations(void)
{
	int64_t		ns[20];
	int			reading[20];
	PbpQueue	queue;

	for (int i = 0; i < 20; i++)
	{
		reading[i] = i % 2 * 4;
		ns[i] = 100000 + 2475000 * reading[i];
	}
	queue = pbp_queue_of_reads(ns, reading, 20, 1e6, 2, 4);
	ok(queue.limited && near(queue.between, 1) && near(queue.quick, 0.1), "reads delay each other by more than storage is busy: a limit of operations");
	ok(is(pbp_time_in_queue(&queue, 0.8), 0.5, 0.75, 1), "fewer reads, as many in a second: sessions do more between them");
	ok(is(pbp_time_in_queue(&queue, 0.3), 2 * queue.quick - 1, queue.quick, 1), "below the limit, all are quick");
	ok(is(pbp_time_in_queue(&queue, 2), 1, 1.5, 2), "more reads wait longer, until as many are served");
	for (int i = 0; i < 20; i++)
		ns[i] = 100000 + 300000 * reading[i];
	queue = pbp_queue_of_reads(ns, reading, 20, 1e6, 2, 4);
	ok(!queue.limited && near(queue.service, 0.3), "a device that is as busy as possible is none");
}

/* Of all queues, more reads mean that all of them wait longer. */
static void
all_queues(void)
{
	bool		grows = true;
	bool		has_today = true;

	for (int sessions = 1; sessions <= 100; sessions += 9)
		for (double waiting = 0.1; waiting < sessions; waiting *= 1.5)
		{
			PbpQueue	queue = pbp_queue_of_reads(NULL, NULL, 0, 1e6, waiting, sessions);
			double		before = 0;

			queue.service = queue.most_service;
			queue.beside = queue.least_beside;
			for (double reads = 0.01; reads < 20; reads += 0.05)
			{
				PbpFigure	time = pbp_time_in_queue(&queue, reads);

				grows = grows && reads * time.value > before;
				has_today = has_today && fabs(1 - time.value) <= time.error + 1e-4;
				before = reads * time.value;
			}
		}
	ok(grows, "more reads, more waiting");
	ok(has_today, "all intervals have reads that take as long as today");
}

/* ---- simulated devices ---- */

#define MOST_SESSIONS	16
#define SIMULATED_SECONDS	300
#define SLICE			0.02	/* of a limit of operations */
#define MOST_READS		3000	/* in a second */
#define SERVERS			4
#define QUICK_SECONDS	0.0001

typedef enum Kind
{
	ONE_AFTER_THE_OTHER,
	EVENLY,						/* likewise, each in the same time */
	LIMITED,					/* quick within a limit of operations */
	FOUR_AT_ONCE,
	ALL_AT_ONCE
} Kind;

static const char *const kinds[] = {"one after the other", "one after the other, evenly", "limit of operations", "four at once", "all at once"};

typedef struct Device
{
	Kind		kind;
	double		free_at[SERVERS];
	double		slice;			/* when the last one began */
	int			served;			/* in it */
} Device;

static double
drawn_seconds(double mean)
{
	return -mean * log(1 - next_share(&chance));
}

/* From the moment at which one of these serves nobody. */
static double
served_at(Device *device, int servers, double now, double seconds)
{
	double	   *first = &device->free_at[0];

	for (int i = 1; i < servers; i++)
		if (device->free_at[i] < *first)
			first = &device->free_at[i];
	return *first = fmax(now, *first) + seconds;
}

static double
end_of_read(Device *device, double now)
{
	switch (device->kind)
	{
		case ONE_AFTER_THE_OTHER:
			return served_at(device, 1, now, drawn_seconds(1.0 / MOST_READS));
		case EVENLY:
			return served_at(device, 1, now, 1.0 / MOST_READS);
		case FOUR_AT_ONCE:
			return served_at(device, SERVERS, now, drawn_seconds((double) SERVERS / MOST_READS));
		case ALL_AT_ONCE:
			return now + drawn_seconds(1.0 / MOST_READS);
		case LIMITED:
			if (now >= device->slice + SLICE || device->served == (int) (MOST_READS * SLICE))
			{
				device->slice = fmax(device->slice + SLICE, SLICE * floor(now / SLICE));
				device->served = 0;
			}
			device->served++;
			return fmax(now, device->slice) + QUICK_SECONDS;
	}
	return now;
}

/* What sessions and probes measure. */
typedef struct Reads
{
	double		ns;				/* mean of the sessions' */
	double		waiting;		/* sessions, on average */
	int64_t		probes[PROBES];
	int			reading[PROBES];
} Reads;

/* Each session works, and then reads with this chance.  Once a second, a probe reads, too. */
static Reads
simulate(Kind kind, int sessions, double work_seconds, double chance_of_read)
{
	Device		device = {.kind = kind};
	Reads		reads = {0};
	double		next[MOST_SESSIONS + 1] = {0};	/* when it does something; the last one is the probe */
	double		until[MOST_SESSIONS] = {0};	/* when a session's read ends */
	double		seconds = 0;
	int			nreads = 0;
	int			nprobes = 0;

	next[sessions] = SIMULATED_SECONDS - PROBES - 1;
	for (;;)
	{
		int			i = 0;
		double		now;
		double		end;

		for (int j = 1; j <= sessions; j++)
			if (next[j] < next[i])
				i = j;
		now = end = next[i];
		if (now >= SIMULATED_SECONDS)
			break;
		if (i == sessions)
		{
			end = end_of_read(&device, now);
			for (int j = 0; j < sessions && nprobes < PROBES; j++)
				reads.reading[nprobes] += until[j] > now;
			if (nprobes < PROBES)
				reads.probes[nprobes++] = (int64_t) (1e9 * (end - now));
			next[i] = now + 0.5 + next_share(&chance);
			continue;
		}
		if (next_share(&chance) < chance_of_read)
		{
			until[i] = end = end_of_read(&device, now);
			seconds += end - now;
			nreads++;
		}
		next[i] = end + drawn_seconds(work_seconds);
	}
	reads.ns = 1e9 * seconds / nreads;
	reads.waiting = seconds / SIMULATED_SECONDS;
	return reads;
}

/* Sums over cases. */
typedef struct Accuracy
{
	int			cases;
	int			covered;
	double		errors;			/* as a share of all time that a session has */
	double		widths;
	double		unchanged;		/* errors if reads took as long as today */
} Accuracy;

static void
add_case(Accuracy *sum, Kind kind, int sessions, double work_ms, double r)
{
	double		chance_of_read = fmin(1, 1 / r);
	Reads		there = simulate(kind, sessions, work_ms / 1e3, fmin(1, r));
	Reads		today = simulate(kind, sessions, work_ms / 1e3, chance_of_read);
	PbpQueue	queue = pbp_queue_of_reads(today.probes, today.reading, PROBES, today.ns, today.waiting, sessions);
	PbpFigure	time = pbp_time_in_queue(&queue, r);
	/* of a session's time, what it waits today, and would with so many times as many reads of that time */
	double		share = r * chance_of_read * today.ns / (chance_of_read * today.ns + work_ms * 1e6);
	double		error = share * (time.value - there.ns / today.ns);

	sum->cases++;
	sum->covered += fabs(error) <= share * time.error + 0.005;
	sum->errors += fabs(error);
	sum->widths += share * time.error;
	sum->unchanged += share * fabs(1 - there.ns / today.ns);
}

/* A device with few sessions that do little else, to many that do a lot. */
static Accuracy
accuracy(Kind kind, const double *reads)
{
	static const struct
	{
		int			sessions;
		double		work_ms;
	}			loads[] = {{4, 0.05}, {4, 0.3}, {4, 1}, {16, 3}, {16, 6}};
	Accuracy	sum = {0};

	for (int i = 0; i < (int) (sizeof(loads) / sizeof(loads[0])); i++)
		for (int j = 0; j < 3; j++)
			add_case(&sum, kind, loads[i].sessions, loads[i].work_ms, reads[j]);
	printf("# %s, %g times as many reads and others: %d of %d, mean error %.3f of all time, half of interval %.3f, error of today's time %.3f\n",
		   kinds[kind], reads[0], sum.covered, sum.cases, sum.errors / sum.cases, sum.widths / sum.cases, sum.unchanged / sum.cases);
	return sum;
}

static void
simulated_devices(void)
{
	static const double fewer[] = {0.25, 0.5, 0.8};
	static const double more[] = {1.25, 2, 6};

	for (int kind = ONE_AFTER_THE_OTHER; kind <= ALL_AT_ONCE; kind++)
	{
		Accuracy	with_fewer = accuracy(kind, fewer);
		Accuracy	with_more = accuracy(kind, more);

		/* at the limit of operations, reads become quick at once, or slow, which nothing has shown before */
		okf(with_fewer.covered >= (kind == LIMITED ? 0.7 : 1) * with_fewer.cases, "%s, fewer reads: intervals have the truth", kinds[kind]);
		okf(with_fewer.errors < 0.02 * with_fewer.cases || with_fewer.errors < 0.7 * with_fewer.unchanged,
			"%s: which is closer than today's time, or both are close", kinds[kind]);
		okf(with_more.covered >= (kind == LIMITED ? 0.5 : 0.8) * with_more.cases, "%s, more reads: intervals have the truth", kinds[kind]);
		if (kind == ONE_AFTER_THE_OTHER || kind == EVENLY)
			okf(with_more.errors < 0.7 * with_more.unchanged, "%s, more reads: which is closer than today's time, too", kinds[kind]);
	}
}

int
main(void)
{
	known_queues();
	unknown_queues();
	limits_of_operations();
	all_queues();
	simulated_devices();
	return end_of_tests();
}

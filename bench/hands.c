/*
 * hands.c
 *	  Prints what several hands, and batches of 64 buffers, change for the clock sweep:
 *	  the misses of exact pools, and the time of a search in a model of the sweep.
 *
 * The model has the descriptors of a pool, each in a cache line of its own, and the
 * counters of hands, which all threads share.  For each buffer inspected, a thread adds
 * to a counter, or has done so for a batch, and exchanges the usage count.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exact_policies.h"

/* ---- misses ---- */

#define POOL		4096
#define ACCESSES	(160 * POOL)

static const int policies[] = {PBP_CLOCK_TODAY, PBP_CLOCK_2_HANDS, PBP_CLOCK_4_HANDS, PBP_CLOCK_BATCHES};

#define SWEEPS		4

static void
print_misses(Kind kind)
{
	Recording	trace = {.pages = malloc(sizeof(int) * ACCESSES), .naccesses = ACCESSES, .first = ACCESSES / 2,
	.npages = trace_pages(POOL)};
	Trace		source;
	bool		bulk;

	trace_init(&source, kind, POOL, 1 + (uint64_t) kind, ACCESSES / 4);
	for (int i = 0; i < ACCESSES; i++)
		trace.pages[i] = next_page(&source, &bulk);
	printf("misses;%s", kind_names[kind]);
	for (int i = 0; i < SWEEPS; i++)
		printf(";%.4f", exact_miss_ratio(&trace, policies[i], POOL));
	printf("\n");
	free(trace.pages);
}

/* ---- the time of a search ---- */

#define BUFFERS		131072		/* 1 GB */
#define BATCH		64
#define MOST_HANDS	4
#define MOST_THREADS	8
#define SEARCHES	150000		/* of each thread */
#define USES		8			/* of other buffers, after each search, if there are any */
#define ROUNDS		5

/* In a cache line of its own. */
typedef struct Counter
{
	_Alignas(64) atomic_uint value;
} Counter;

static Counter usage[BUFFERS];
static Counter hands[MOST_HANDS];

typedef struct Sweep
{
	unsigned	nhands;
	bool		batches;
	bool		searches;		/* false: only the uses */
	bool		uses;
} Sweep;

/* One thread, and the buffers that it has yet to inspect. */
typedef struct Session
{
	const Sweep *sweep;
	pthread_barrier_t *barrier;
	unsigned	turn;
	unsigned	next;
	unsigned	left;
	uint64_t	random;
} Session;

static unsigned
next_buffer(Session *session)
{
	unsigned	size = BUFFERS / session->sweep->nhands;
	unsigned	part = session->turn % session->sweep->nhands;

	if (!session->sweep->batches)
		return part * size + atomic_fetch_add(&hands[part].value, 1) % size;
	if (session->left == 0)
	{
		session->next = atomic_fetch_add(&hands[0].value, BATCH) % BUFFERS;
		session->left = BATCH;
	}
	session->left--;
	return session->next++;
}

/* Until a buffer at 0 is taken, for a page that is used once. */
static void
search(Session *session)
{
	for (;;)
	{
		atomic_uint *count = &usage[next_buffer(session)].value;
		unsigned	before = atomic_load(count);

		if (atomic_compare_exchange_strong(count, &before, before == 0 ? 1 : before - 1) && before == 0)
			break;
	}
	session->turn++;
}

static void
use_buffers(Session *session)
{
	for (int i = 0; i < USES; i++)
	{
		atomic_uint *count;
		unsigned	before;

		session->random = session->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		count = &usage[(session->random >> 40) % BUFFERS].value;
		before = atomic_load(count);
		/* as the server, which writes nothing at the maximum */
		if (before < USAGE_MAX)
			atomic_compare_exchange_strong(count, &before, before + 1);
	}
}

static void *
run_session(void *arg)
{
	Session    *session = arg;

	pthread_barrier_wait(session->barrier);
	for (int i = 0; i < SEARCHES; i++)
	{
		if (session->sweep->searches)
			search(session);
		if (session->sweep->uses)
			use_buffers(session);
	}
	return NULL;
}

/* In nanoseconds of a processor, so that it does not matter how many processors the threads share. */
static double
time_of_search(const Sweep *sweep, int nthreads)
{
	pthread_t	threads[MOST_THREADS];
	Session		sessions[MOST_THREADS];
	pthread_barrier_t barrier;
	struct timespec begin;
	struct timespec end;

	for (int i = 0; i < BUFFERS; i++)
		atomic_store(&usage[i].value, 1);
	/* batches begin at a multiple of their length */
	for (int i = 0; i < MOST_HANDS; i++)
		atomic_store(&hands[i].value, 0);
	pthread_barrier_init(&barrier, NULL, (unsigned) nthreads + 1);
	for (int i = 0; i < nthreads; i++)
	{
		sessions[i] = (Session) {.sweep = sweep, .barrier = &barrier, .turn = (unsigned) i, .random = (uint64_t) i + 1};
		pthread_create(&threads[i], NULL, run_session, &sessions[i]);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	pthread_barrier_destroy(&barrier);
	return ((double) (end.tv_sec - begin.tv_sec) * 1e9 + (double) (end.tv_nsec - begin.tv_nsec)) / SEARCHES / nthreads;
}

/* The median of some rounds, in each of which all sweeps take their turn. */
static void
print_times(int nthreads, bool uses)
{
	static const Sweep sweeps[SWEEPS] = {{1, false, true, false}, {2, false, true, false}, {4, false, true, false}, {1, true, true, false}};
	double		times[SWEEPS][ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
	{
		const Sweep none = {.nhands = 1, .uses = true};
		double		of_uses = uses ? time_of_search(&none, nthreads) : 0;

		for (int i = 0; i < SWEEPS; i++)
		{
			Sweep		sweep = sweeps[i];

			sweep.uses = uses;
			times[i][round] = time_of_search(&sweep, nthreads) - of_uses;
		}
	}
	printf("%s;%d", uses ? "search beside uses" : "search", nthreads);
	for (int i = 0; i < SWEEPS; i++)
		printf(";%.0f", quantile(times[i], ROUNDS, 0.5));
	printf("\n");
}

int
main(void)
{
	for (Kind kind = UNIFORM; kind < KINDS; kind++)
		if (kind != RING_SCANS)
			print_misses(kind);
	for (int uses = 0; uses <= 1; uses++)
		for (int nthreads = 1; nthreads <= MOST_THREADS; nthreads *= 2)
			print_times(nthreads, uses);
	return 0;
}

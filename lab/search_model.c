/*
 * search_model.c
 *	  Prints the time of a search for a victim by one hand of the clock sweep, by two and
 *	  four hands, each over a part of the pool, and by one hand of which each session takes
 *	  64 buffers at a time.
 *
 * It is a model, as a stock server has one hand: the descriptors of a pool, each in a cache
 * line of its own, and the counters of hands, which all threads share.  For each buffer
 * inspected, a thread adds to a counter, or has done so for a batch, and exchanges the usage
 * count.  Each search is followed by uses of other buffers, whose time is subtracted.
 * Threads contend only if there are as many processors.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BUFFERS		131072		/* 1 GB */
#define USAGE_MAX	5			/* BM_MAX_USAGE_COUNT */
#define BATCH		64
#define MOST_HANDS	4
#define MOST_THREADS	8
#define SEARCHES	150000		/* of each thread */
#define USES		8			/* of other buffers, after each search */

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
		use_buffers(session);
	}
	return NULL;
}

/*
 * Of a search and the uses after it, in nanoseconds of a processor, so that it does not matter
 * how many processors the threads share.
 */
static double
time_of_turn(const Sweep *sweep, int nthreads)
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

int
main(void)
{
	static const Sweep uses = {.nhands = 1};
	static const struct
	{
		const char *name;
		Sweep		sweep;
	}			sweeps[] = {
		{"clock 5", {1, false, true}}, {"clock 5, 2 hands", {2, false, true}},
		{"clock 5, 4 hands", {4, false, true}}, {"clock 5, batches of 64", {1, true, true}}
	};

	for (int nthreads = 1; nthreads <= MOST_THREADS; nthreads *= 2)
	{
		double		of_uses = time_of_turn(&uses, nthreads);

		for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
			printf("%s\t%d\t%.1f\n", sweeps[i].name, nthreads,
				   time_of_turn(&sweeps[i].sweep, nthreads) - of_uses);
	}
	return 0;
}

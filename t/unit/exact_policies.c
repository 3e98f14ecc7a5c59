/*
 * exact_policies.c
 *	  Replacement policies that run a recorded trace in pools of one size, in full.
 *
 * They share no code with src/simulator/policies.c, nor its methods: each page has a
 * record, and the optimum knows the future.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exact_policies.h"

const double policy_sizes[PBP_POLICY_SIZES] = {0.5, 1, 2};

const char *const policy_names[PBP_POLICY_COUNT] = {
	"maximum 5", "maximum 1", "maximum 2", "maximum 15", "2 hands", "4 hands", "batches", "LRU", "S3-FIFO", "optimum"
};

/* How much the misses of this access count. */
static double
weight_of(const Recording *trace, int64_t i)
{
	return i < trace->first ? 0 : trace->weights ? trace->weights[i] : 1;
}

static double
ratio_of(const Recording *trace, double misses)
{
	double		accesses = 0;

	for (int64_t i = trace->first; i < trace->naccesses; i++)
		accesses += weight_of(trace, i);
	return misses / accesses;
}

static int *
new_array(int64_t n, int value)
{
	int		   *array = malloc(sizeof(int) * (size_t) n);

	for (int64_t i = 0; i < n; i++)
		array[i] = value;
	return array;
}

/* ---- the clock sweep ---- */

typedef struct Clock
{
	int		   *buffer_of;
	int		   *page_of;
	int		   *usage;
	int			hand;
} Clock;

/* The page that has to leave; NONE: the buffer is free. */
static int
move_hand(Clock *clock, int nbuffers)
{
	while (clock->usage[clock->hand] > 0)
	{
		clock->usage[clock->hand]--;
		clock->hand = (clock->hand + 1) % nbuffers;
	}
	return clock->page_of[clock->hand];
}

/* Instead of the page that is there, if there is any. */
static void
put_page(Clock *clock, int buffer, int page)
{
	if (clock->page_of[buffer] != NONE)
		clock->buffer_of[clock->page_of[buffer]] = NONE;
	clock->page_of[buffer] = page;
	clock->buffer_of[page] = buffer;
	clock->usage[buffer] = 1;
}

static void
clock_free(Clock *clock)
{
	free(clock->buffer_of);
	free(clock->page_of);
	free(clock->usage);
}

static double
exact_clock(const Recording *trace, int nbuffers, int usage_max, ExactEvicted *counted)
{
	Clock		clock = {new_array(trace->npages, NONE), new_array(nbuffers, NONE), new_array(nbuffers, 0), 0};
	int64_t    *evicted_at = calloc((size_t) trace->npages, sizeof(int64_t));	/* number of its eviction */
	bool	   *used_again = calloc((size_t) trace->npages, sizeof(bool));
	int64_t		nevicted = 0;
	double		misses = 0;

	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		bool		counts = i >= trace->first;
		int			page = trace->pages[i];
		int			victim;

		if (clock.buffer_of[page] != NONE)
		{
			int		   *count = &clock.usage[clock.buffer_of[page]];

			*count += *count < usage_max;
			used_again[page] = true;
			continue;
		}
		victim = move_hand(&clock, nbuffers);
		if (victim != NONE)
		{
			evicted_at[victim] = ++nevicted;
			counted->pages += counts && victim < counted->limit;
			counted->used_once += counts && victim < counted->limit && !used_again[victim];
		}
		counted->read_again += counts && page < counted->limit && evicted_at[page] > 0 &&
			nevicted - evicted_at[page] <= nbuffers;
		used_again[page] = false;
		put_page(&clock, clock.hand, page);
		clock.hand = (clock.hand + 1) % nbuffers;
		misses += weight_of(trace, i);
	}
	clock_free(&clock);
	free(evicted_at);
	free(used_again);
	return ratio_of(trace, misses);
}

ExactEvicted
exact_evicted(const Recording *trace, int nbuffers, int limit)
{
	ExactEvicted counted = {.limit = limit};

	exact_clock(trace, nbuffers, 5, &counted);
	return counted;
}

/* ---- several hands ---- */

/*
 * The pool is divided into parts, one after the other.  Misses go to these in turn; each has a hand that goes round in
 * its part.
 */
static double
exact_parts(const Recording *trace, int nbuffers, int nparts)
{
	Clock		clock = {new_array(trace->npages, NONE), new_array(nbuffers, NONE), new_array(nbuffers, 0), 0};
	int		   *usage = clock.usage;
	int		   *hands = new_array(nparts, 0);
	int64_t		nmisses = 0;
	double		misses = 0;

	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		int			page = trace->pages[i];
		int			part = (int) (nmisses % nparts);
		int			first = (int) ((int64_t) nbuffers * part / nparts);
		int			size = (int) ((int64_t) nbuffers * (part + 1) / nparts) - first;
		int			buffer;

		if (clock.buffer_of[page] != NONE)
		{
			usage[clock.buffer_of[page]] += usage[clock.buffer_of[page]] < 5;
			continue;
		}
		for (; usage[first + hands[part]] > 0; hands[part] = (hands[part] + 1) % size)
			usage[first + hands[part]]--;
		buffer = first + hands[part];
		hands[part] = (hands[part] + 1) % size;
		put_page(&clock, buffer, page);
		nmisses++;
		misses += weight_of(trace, i);
	}
	clock_free(&clock);
	free(hands);
	return ratio_of(trace, misses);
}

#define SESSIONS	8

/*
 * Sessions miss in turn.  Each inspects the buffers that it has taken from the hand, 64 at a time, or those up to the end of
 * the pool.  Free buffers are used first.
 */
static double
exact_batches(const Recording *trace, int nbuffers)
{
	Clock		clock = {new_array(trace->npages, NONE), new_array(nbuffers, NONE), new_array(nbuffers, 0), 0};
	int		   *usage = clock.usage;
	int			taken[SESSIONS];
	int			left[SESSIONS] = {0};
	int			hand = 0;
	int64_t		nmisses = 0;
	double		misses = 0;

	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		int			page = trace->pages[i];
		int			session = (int) (nmisses % SESSIONS);
		int			buffer = (int) nmisses;

		if (clock.buffer_of[page] != NONE)
		{
			usage[clock.buffer_of[page]] += usage[clock.buffer_of[page]] < 5;
			continue;
		}
		while (nmisses >= nbuffers)
		{
			if (left[session] == 0)
			{
				taken[session] = hand;
				left[session] = nbuffers - hand < 64 ? nbuffers - hand : 64;
				hand = (hand + left[session]) % nbuffers;
			}
			buffer = taken[session]++;
			left[session]--;
			if (usage[buffer] == 0)
				break;
			usage[buffer]--;
		}
		put_page(&clock, buffer, page);
		nmisses++;
		misses += weight_of(trace, i);
	}
	clock_free(&clock);
	return ratio_of(trace, misses);
}

/* ---- heaps, for what is evicted by a time ---- */

typedef struct Entry
{
	int64_t		time;
	int			page;
} Entry;

/* The latest time first.  What is outdated is found when it comes out. */
typedef struct Heap
{
	int64_t		n;
	Entry	   *entries;
} Heap;

static void
heap_add(Heap *heap, int64_t time, int page)
{
	int64_t		i = heap->n++;

	for (; i > 0 && heap->entries[(i - 1) / 2].time < time; i = (i - 1) / 2)
		heap->entries[i] = heap->entries[(i - 1) / 2];
	heap->entries[i] = (Entry) {time, page};
}

static Entry
heap_take(Heap *heap)
{
	Entry		first = heap->entries[0];
	Entry		last = heap->entries[--heap->n];
	int64_t		i = 0;

	for (;;)
	{
		int64_t		child = 2 * i + 1;

		if (child >= heap->n)
			break;
		child += child + 1 < heap->n && heap->entries[child + 1].time > heap->entries[child].time;
		if (heap->entries[child].time <= last.time)
			break;
		heap->entries[i] = heap->entries[child];
		i = child;
	}
	heap->entries[i] = last;
	return first;
}

/*
 * Evicts the page with the latest time, which each access sets: to that of the next access of the
 * page, or the earlier, the later this one is.
 */
static double
evict_by_time(const Recording *trace, int nbuffers, const int64_t *times)
{
	Heap		heap = {0, malloc(sizeof(Entry) * (size_t) trace->naccesses)};
	int64_t    *time_of = malloc(sizeof(int64_t) * (size_t) trace->npages);
	int		   *is_in = new_array(trace->npages, 0);
	int			used = 0;
	double		misses = 0;

	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		int			page = trace->pages[i];

		if (!is_in[page])
		{
			misses += weight_of(trace, i);
			for (used++; used > nbuffers;)
			{
				Entry		entry = heap_take(&heap);

				if (is_in[entry.page] && time_of[entry.page] == entry.time)
				{
					is_in[entry.page] = 0;
					used--;
				}
			}
			is_in[page] = 1;
		}
		time_of[page] = times[i];
		heap_add(&heap, times[i], page);
	}
	free(heap.entries);
	free(time_of);
	free(is_in);
	return ratio_of(trace, misses);
}

static double
exact_lru(const Recording *trace, int nbuffers)
{
	int64_t    *times = malloc(sizeof(int64_t) * (size_t) trace->naccesses);
	double		ratio;

	for (int64_t i = 0; i < trace->naccesses; i++)
		times[i] = -i;
	ratio = evict_by_time(trace, nbuffers, times);
	free(times);
	return ratio;
}

/* Belady's MIN. */
static double
exact_optimum(const Recording *trace, int nbuffers)
{
	int64_t    *times = malloc(sizeof(int64_t) * (size_t) trace->naccesses);
	int64_t    *next = malloc(sizeof(int64_t) * (size_t) trace->npages);
	double		ratio;

	/* those that are never used again come first, each at a time of its own */
	for (int page = 0; page < trace->npages; page++)
		next[page] = trace->naccesses + page;
	for (int64_t i = trace->naccesses - 1; i >= 0; i--)
	{
		times[i] = next[trace->pages[i]];
		next[trace->pages[i]] = i;
	}
	ratio = evict_by_time(trace, nbuffers, times);
	free(times);
	free(next);
	return ratio;
}

/* ---- S3-FIFO ---- */

/* A queue of pages, long enough for the whole trace. */
typedef struct Queue
{
	int64_t		first;
	int64_t		end;
	int		   *pages;
} Queue;

enum
{
	NOWHERE,
	IN_SMALL,
	IN_MAIN
};

typedef struct S3Fifo
{
	int			nbuffers;
	int		   *where;
	int		   *uses;
	int64_t    *ghost_since;	/* number of the ghost; 0: it is none */
	int64_t		nghosts;		/* ever */
	Queue		small;
	Queue		main;
} S3Fifo;

static void
evict_small(S3Fifo *cache)
{
	int			page = cache->small.pages[cache->small.first++];

	if (cache->uses[page] >= 2)
	{
		cache->where[page] = IN_MAIN;
		cache->main.pages[cache->main.end++] = page;
	}
	else
	{
		cache->where[page] = NOWHERE;
		cache->ghost_since[page] = ++cache->nghosts;
	}
	cache->uses[page] = 0;
}

static void
evict_main(S3Fifo *cache)
{
	int			page = cache->main.pages[cache->main.first++];

	if (cache->uses[page] > 0)
	{
		cache->uses[page]--;
		cache->main.pages[cache->main.end++] = page;
	}
	else
		cache->where[page] = NOWHERE;
}

static bool
is_ghost(const S3Fifo *cache, int page)
{
	int64_t		since = cache->ghost_since[page];

	return since > 0 && cache->nghosts - since < (int64_t) (0.9 * cache->nbuffers);
}

static void
admit(S3Fifo *cache, int page)
{
	bool		returns = is_ghost(cache, page);
	Queue	   *queue = returns ? &cache->main : &cache->small;

	while (cache->small.end - cache->small.first + cache->main.end - cache->main.first >=
		   cache->nbuffers)
	{
		if (10 * (cache->small.end - cache->small.first) >= cache->nbuffers)
			evict_small(cache);
		else
			evict_main(cache);
	}
	cache->ghost_since[page] = 0;
	cache->where[page] = returns ? IN_MAIN : IN_SMALL;
	queue->pages[queue->end++] = page;
}

/* A page returns to the main queue at most once for each access. */
static double
exact_s3_fifo(const Recording *trace, int nbuffers)
{
	int64_t		most = 2 * trace->naccesses;
	S3Fifo		cache = {
		.nbuffers = nbuffers,
		.where = new_array(trace->npages, NOWHERE),
		.uses = new_array(trace->npages, 0),
		.ghost_since = calloc((size_t) trace->npages, sizeof(int64_t)),
		.small.pages = new_array(most, NONE),
		.main.pages = new_array(most, NONE),
	};
	double		misses = 0;

	for (int64_t i = 0; i < trace->naccesses; i++)
	{
		int			page = trace->pages[i];

		if (cache.where[page] == NOWHERE)
		{
			misses += weight_of(trace, i);
			admit(&cache, page);
		}
		else
			cache.uses[page] += cache.uses[page] < 3;
	}
	free(cache.where);
	free(cache.uses);
	free(cache.ghost_since);
	free(cache.small.pages);
	free(cache.main.pages);
	return ratio_of(trace, misses);
}

/* ---- all ---- */

double
exact_miss_ratio(const Recording *trace, int policy, int nbuffers)
{
	static const int usage_maxima[] = {5, 1, 2, 15};
	ExactEvicted evicted = {0};

	switch (policy)
	{
		case PBP_CLOCK_2_HANDS:
			return exact_parts(trace, nbuffers, 2);
		case PBP_CLOCK_4_HANDS:
			return exact_parts(trace, nbuffers, 4);
		case PBP_CLOCK_BATCHES:
			return exact_batches(trace, nbuffers);
		case PBP_LRU:
			return exact_lru(trace, nbuffers);
		case PBP_S3_FIFO:
			return exact_s3_fifo(trace, nbuffers);
		case PBP_OPTIMUM:
			return exact_optimum(trace, nbuffers);
		default:
			return exact_clock(trace, nbuffers, usage_maxima[policy], &evicted);
	}
}

/* ---- recordings ---- */

/* The accesses of a run, without those through rings. */
Recording
record_run(const Run *run)
{
	int		   *pages = malloc(sizeof(int) * (size_t) run->window_end);
	Recording	trace = {.pages = pages,.npages = trace_pages(run->nbuffers)};
	Trace		source;

	trace_init(&source, run->kind, run->nbuffers, run->seed, run->move_at);
	while (source.count < run->window_end)
	{
		bool		bulk;
		int			page = next_page(&source, &bulk);

		if (bulk)
			continue;
		if (source.count <= run->window_start)
			trace.first++;
		pages[trace.naccesses++] = page;
	}
	return trace;
}

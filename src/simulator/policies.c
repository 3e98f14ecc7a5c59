/*-------------------------------------------------------------------------
 *
 * policies.c
 *	  Replacement policies in simulated pools.
 *
 * Each policy is a function that takes one use of a page into one pool, and says
 * whether the pool misses it.  All share records of pages: those in the pools, and
 * others that were used lately.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/policies.h"

#include <string.h>

#define SIZES				PBP_POLICY_SIZES
#define CLOCKS				(PBP_CLOCK_BATCHES + 1)

/* A page without a use while so many pools' worth of other pages are used is forgotten. */
#define RECORDS_PER_PAGE	6

/* Older records that are tried for a new page. */
#define TRIED_RECORDS		32

#define NONE				UINT32_MAX	/* no page: the end of a chain, or no record for one more */
#define ABSENT				UINT8_MAX	/* as a usage count */
#define NEVER				(-1)	/* as a time */

/* ---- records and pools ---- */

typedef struct PolicyPage
{
	uint32_t	fingerprint;	/* tells it from others of its chain */
	uint32_t	next;			/* in its chain */
	uint32_t	newer;			/* in the order of last uses */
	uint32_t	older;
	int64_t		used_at;		/* step of its last use, see Optimum */
	uint8_t		nearest;		/* the smallest LRU pool that holds it; SIZES: none does */
	uint8_t		counts[CLOCKS][SIZES];	/* usage count, or ABSENT */
	uint8_t		queues[SIZES];	/* of S3-FIFO: see QUEUE_* */
} PolicyPage;

/* Parts of a pool that have a hand each, at most. */
#define PARTS				4

/* Sessions that take batches of buffers in turn; 8 have 512 buffers at a time. */
#define SESSIONS			8

/* Slots that a session has taken, and not inspected yet. */
typedef struct Batch
{
	uint32_t	next;
	uint32_t	end;
} Batch;

typedef struct ClockPool
{
	uint32_t	nslots;
	uint32_t	nfilled;
	uint32_t	turn;			/* of a part of the pool, or a session: for each miss the next */
	uint32_t	hands[PARTS];	/* of parts, each from its own first slot */
	Batch		batches[SESSIONS];
	uint32_t   *slots;
} ClockPool;

typedef struct Fifo
{
	uint32_t	room;
	uint32_t	npages;
	uint32_t	oldest;			/* place of it */
	uint32_t   *pages;
} Fifo;

/*
 * S3-FIFO, by Yang and others (SOSP 2023): new pages pass a small queue, from which they enter the
 * main queue if they were used more than once meanwhile.  Others leave, but are remembered in the
 * ghost queue.  If they return from there, they enter the main queue at once.
 */
typedef struct QueuePool
{
	Fifo		small;
	Fifo		main;
	Fifo		ghosts;
} QueuePool;

/* Where S3-FIFO has a page, and how often it was used since, at most MOST_USES. */
#define QUEUE_NONE			0
#define QUEUE_SMALL			0x10
#define QUEUE_MAIN			0x20
#define QUEUE_GHOSTS		0x30
#define QUEUE_MASK			0xf0
#define MOST_USES			3

/* Share of a pool that the small queue has. */
#define SMALL_SHARE			0.1

/* Pages that were used last.  The order of all records is that of all these pools. */
typedef struct LruPool
{
	uint32_t	npages;
	uint32_t	last;			/* the one to be evicted next, unless it is empty */
} LruPool;

/*
 * What the optimum would hit.  A pool keeps a page from one use to the next if it can keep it all
 * that time.  Whoever plans these stays in the order of their ends gets the most of them, and so
 * each is decided when it ends.  Time is divided into short steps; a stay may not begin before the
 * latest step that is full.
 */
typedef struct Optimum
{
	int64_t		full;			/* the latest step with no more room; NEVER: none */
	uint32_t   *kept;			/* pages that are kept in each of the last steps */
} Optimum;

/* A step lasts until today's policy has missed this part of the smallest pool. */
#define STEPS_PER_POOL		64
#define STEPS				4096

struct PbpPolicies
{
	uint32_t	sizes[SIZES];
	uint32_t	max_sizes[SIZES];
	uint8_t		usage_max[CLOCKS];
	uint32_t	batch;			/* in slots */

	uint32_t	max_pages;		/* records */
	uint32_t	npages;
	uint32_t	nheads;
	PolicyPage *pages;			/* one more, of no page, is between the newest and the oldest */
	uint32_t   *heads;

	ClockPool	clocks[CLOCKS][SIZES];
	QueuePool	queues[SIZES];
	LruPool		lru[SIZES];
	Optimum		optimum[SIZES];
	int64_t		now;			/* the step */
	uint32_t	step_misses;
};

/* ---- memory ---- */

static uint32_t
size_of(double npages, int size)
{
	static const double factors[SIZES] = {0.5, 1, 2};
	double		wanted = factors[size] * npages;

	return wanted < PARTS ? PARTS : (uint32_t) (wanted + 0.5);
}

/*
 * Divides the memory behind the struct, for so many pages in a pool of today's size, and returns how
 * much this takes with it.
 */
static size_t
place(PbpPolicies *policies, uint32_t npages)
{
	uint32_t   *next;

	policies->max_pages = RECORDS_PER_PAGE * (npages + 1);
	policies->nheads = policies->max_pages / 2 + 1;
	policies->pages = (PolicyPage *) (policies + 1);
	policies->heads = (uint32_t *) (policies->pages + policies->max_pages + 1);
	next = policies->heads + policies->nheads;
	for (int size = 0; size < SIZES; size++)
	{
		uint32_t	room = size_of(npages, size);
		QueuePool  *queues = &policies->queues[size];

		policies->max_sizes[size] = policies->sizes[size] = room;
		for (int clock = 0; clock < CLOCKS; clock++)
		{
			policies->clocks[clock][size].slots = next;
			next += room;
		}
		queues->small = (Fifo) {.room = room,.pages = next};
		queues->main = (Fifo) {.room = room,.pages = next + room};
		queues->ghosts = (Fifo) {.room = room,.pages = next + 2 * room};
		policies->optimum[size].full = NEVER;
		policies->optimum[size].kept = next + 3 * room;
		next += 3 * room + STEPS;
	}
	return (size_t) ((char *) next - (char *) policies);
}

size_t
pbp_policies_bytes(uint32_t npages)
{
	PbpPolicies policies;

	return place(&policies, npages);
}

PbpPolicies *
pbp_policies_init(void *memory, uint32_t npages, int usage_max, double sampling_rate)
{
	PbpPolicies *policies = memory;

	memset(policies, 0, sizeof(*policies));
	place(policies, npages);
	memset(policies->usage_max, usage_max, sizeof(policies->usage_max));
	policies->usage_max[PBP_CLOCK_1] = 1;
	policies->usage_max[PBP_CLOCK_2] = 2;
	policies->usage_max[PBP_CLOCK_15] = 15;
	policies->batch = (uint32_t) (sampling_rate * PBP_BATCH_BUFFERS + 0.5);
	if (policies->batch == 0)
		policies->batch = 1;
	policies->pages[policies->max_pages].newer = policies->max_pages;
	policies->pages[policies->max_pages].older = policies->max_pages;
	for (uint32_t i = 0; i < policies->nheads; i++)
		policies->heads[i] = NONE;
	for (int size = 0; size < SIZES; size++)
		memset(policies->optimum[size].kept, 0, sizeof(uint32_t) * STEPS);
	pbp_policies_resize(policies, npages);
	return policies;
}

/* ---- the order of last uses ---- */

static void
take_out(PbpPolicies *policies, uint32_t page)
{
	const PolicyPage *record = &policies->pages[page];

	policies->pages[record->newer].older = record->older;
	policies->pages[record->older].newer = record->newer;
}

/* After a newer one. */
static void
put_in(PbpPolicies *policies, uint32_t page, uint32_t newer)
{
	PolicyPage *record = &policies->pages[page];

	record->newer = newer;
	record->older = policies->pages[newer].older;
	policies->pages[record->older].newer = page;
	policies->pages[newer].older = page;
}

/* The page that was used least recently leaves. */
static void
shorten(PbpPolicies *policies, int size)
{
	LruPool    *pool = &policies->lru[size];
	PolicyPage *last = &policies->pages[pool->last];

	if (last->nearest <= size)
		last->nearest = (uint8_t) (size + 1);
	pool->last = last->newer;
	pool->npages--;
}

static void
make_newest(PbpPolicies *policies, uint32_t page, bool is_new)
{
	PolicyPage *record = &policies->pages[page];

	for (int size = 0; size < SIZES; size++)
	{
		LruPool    *pool = &policies->lru[size];

		if (record->nearest > size)
		{
			while (pool->npages >= policies->sizes[size])
				shorten(policies, size);
			if (pool->npages++ == 0)
				pool->last = page;
		}
		else if (pool->last == page && pool->npages > 1)
			pool->last = record->newer;
	}
	if (!is_new)
		take_out(policies, page);
	put_in(policies, page, policies->max_pages);
	record->nearest = 0;
}

/* ---- records ---- */

static inline uint32_t *
head_of(PbpPolicies *policies, uint32_t fingerprint)
{
	uint64_t	mixed = fingerprint * UINT64_C(0x9E3779B97F4A7C15) >> 32;

	return &policies->heads[mixed * policies->nheads >> 32];
}

static uint32_t
find_page(PbpPolicies *policies, uint32_t fingerprint)
{
	uint32_t	page = *head_of(policies, fingerprint);

	while (page != NONE && policies->pages[page].fingerprint != fingerprint)
		page = policies->pages[page].next;
	return page;
}

static void
unlink_page(PbpPolicies *policies, uint32_t page)
{
	uint32_t   *link = head_of(policies, policies->pages[page].fingerprint);

	while (*link != page)
		link = &policies->pages[*link].next;
	*link = policies->pages[page].next;
}

/* True if any pool, or the ghost queue of one, has the page. */
static bool
is_held(const PolicyPage *page)
{
	bool		held = page->nearest < SIZES;

	for (int size = 0; size < SIZES; size++)
	{
		held |= page->queues[size] != QUEUE_NONE;
		for (int clock = 0; clock < CLOCKS; clock++)
			held |= page->counts[clock][size] != ABSENT;
	}
	return held;
}

/*
 * The record of the page that was used before all others.  Those that a pool still holds are
 * passed over, until all that are newer but no longer in the largest LRU pool have been tried.
 */
static uint32_t
free_page(PbpPolicies *policies)
{
	if (policies->npages < policies->max_pages)
		return policies->npages++;
	for (int i = 0; i < TRIED_RECORDS; i++)
	{
		uint32_t	page = policies->pages[policies->max_pages].newer;

		if (policies->pages[page].nearest < SIZES)
			break;
		take_out(policies, page);
		if (!is_held(&policies->pages[page]))
		{
			unlink_page(policies, page);
			return page;
		}
		put_in(policies, page, policies->lru[SIZES - 1].last);
	}
	return NONE;
}

static uint32_t
add_page(PbpPolicies *policies, uint32_t fingerprint)
{
	uint32_t	page = free_page(policies);
	uint32_t   *head = head_of(policies, fingerprint);

	if (page == NONE)
		return NONE;
	policies->pages[page] = (PolicyPage) {
		.fingerprint = fingerprint,.next = *head,.used_at = NEVER,.nearest = SIZES,
	};
	memset(policies->pages[page].counts, ABSENT, sizeof(policies->pages[page].counts));
	*head = page;
	return page;
}

/* ---- the policies: each returns true if the pool misses the page ---- */

/* With several hands, each has a part of the pool, which is every second or fourth slot. */
static uint32_t
move_hand(ClockPool *pool, uint32_t nhands)
{
	uint32_t	part = pool->turn & (nhands - 1);
	uint32_t	slot = pool->hands[part] + part;

	if (slot >= pool->nslots)
	{
		pool->hands[part] = 0;
		slot = part;
	}
	pool->hands[part] += nhands;
	return slot;
}

/* There is one hand.  A session that has inspected its batch takes the next one from it. */
static uint32_t
move_on_in_batch(ClockPool *pool, uint32_t nslots)
{
	Batch	   *batch = &pool->batches[pool->turn % SESSIONS];

	if (batch->next >= batch->end || batch->next >= pool->nslots)
	{
		batch->next = pool->hands[0] < pool->nslots ? pool->hands[0] : 0;
		batch->end = pool->hands[0] = batch->next + nslots;
	}
	return batch->next++;
}

static uint32_t
next_slot(const PbpPolicies *policies, int clock, ClockPool *pool)
{
	switch (clock)
	{
		case PBP_CLOCK_2_HANDS:
			return move_hand(pool, 2);
		case PBP_CLOCK_4_HANDS:
			return move_hand(pool, 4);
		case PBP_CLOCK_BATCHES:
			return move_on_in_batch(pool, policies->batch);
		default:
			return move_hand(pool, 1);
	}
}

/* A slot for a page, by the server's algorithm. */
static uint32_t
victim_slot(PbpPolicies *policies, int clock, int size)
{
	ClockPool  *pool = &policies->clocks[clock][size];

	if (pool->nfilled < pool->nslots)
		return pool->nfilled++;
	for (;;)
	{
		uint32_t	slot = next_slot(policies, clock, pool);
		uint8_t    *usage = &policies->pages[pool->slots[slot]].counts[clock][size];

		if (*usage == 0)
		{
			*usage = ABSENT;
			return slot;
		}
		(*usage)--;
	}
}

static bool
use_in_clock(PbpPolicies *policies, int clock, int size, uint32_t page, unsigned amount)
{
	uint8_t    *usage = &policies->pages[page].counts[clock][size];
	bool		missed = *usage == ABSENT;
	unsigned	raised = (missed ? 0 : *usage) + amount;

	if (missed)
	{
		policies->clocks[clock][size].slots[victim_slot(policies, clock, size)] = page;
		policies->clocks[clock][size].turn++;
	}
	*usage = (uint8_t) (raised < policies->usage_max[clock] ? raised : policies->usage_max[clock]);
	return missed;
}

static void
push(Fifo *fifo, uint32_t page)
{
	uint32_t	place = fifo->oldest + fifo->npages++;

	fifo->pages[place < fifo->room ? place : place - fifo->room] = page;
}

static uint32_t
pop(Fifo *fifo)
{
	uint32_t	page = fifo->pages[fifo->oldest];

	fifo->oldest = fifo->oldest + 1 < fifo->room ? fifo->oldest + 1 : 0;
	fifo->npages--;
	return page;
}

/* A page that has returned from the ghost queue has left it, though its place remains. */
static void
remember_ghost(PbpPolicies *policies, int size, uint32_t page)
{
	Fifo	   *ghosts = &policies->queues[size].ghosts;
	uint32_t	room = (uint32_t) ((1 - SMALL_SHARE) * policies->sizes[size]);

	while (ghosts->npages > 0 && ghosts->npages >= room)
	{
		uint8_t    *queue = &policies->pages[pop(ghosts)].queues[size];

		if (*queue == QUEUE_GHOSTS)
			*queue = QUEUE_NONE;
	}
	policies->pages[page].queues[size] = QUEUE_GHOSTS;
	push(ghosts, page);
}

/* The oldest of the small queue moves to the main or the ghost queue. */
static void
shift_small(PbpPolicies *policies, int size)
{
	QueuePool  *pool = &policies->queues[size];
	uint32_t	page = pop(&pool->small);
	uint8_t    *queue = &policies->pages[page].queues[size];

	if ((*queue & ~QUEUE_MASK) > 1)
	{
		*queue = QUEUE_MAIN;
		push(&pool->main, page);
	}
	else
		remember_ghost(policies, size, page);
}

/* The oldest of the main queue leaves, or returns to its end, with one use less. */
static void
shift_main(PbpPolicies *policies, int size)
{
	QueuePool  *pool = &policies->queues[size];
	uint32_t	page = pop(&pool->main);
	uint8_t    *queue = &policies->pages[page].queues[size];

	if (*queue == QUEUE_MAIN)
		*queue = QUEUE_NONE;
	else
	{
		(*queue)--;
		push(&pool->main, page);
	}
}

static void
make_room(PbpPolicies *policies, int size)
{
	QueuePool  *pool = &policies->queues[size];

	while (pool->small.npages + pool->main.npages >= policies->sizes[size])
	{
		if (pool->main.npages == 0 ||
			pool->small.npages >= SMALL_SHARE * policies->sizes[size])
			shift_small(policies, size);
		else
			shift_main(policies, size);
	}
}

static bool
use_in_queues(PbpPolicies *policies, int size, uint32_t page, unsigned amount)
{
	QueuePool  *pool = &policies->queues[size];
	uint8_t    *queue = &policies->pages[page].queues[size];
	unsigned	which = *queue & QUEUE_MASK;
	bool		missed = which == QUEUE_NONE || which == QUEUE_GHOSTS;
	unsigned	uses = amount - 1;

	if (!missed)
		uses = (*queue & ~QUEUE_MASK) + amount;
	else
	{
		/* before room is made, which may forget this ghost */
		which = which == QUEUE_GHOSTS ? QUEUE_MAIN : QUEUE_SMALL;
		*queue = (uint8_t) which;
		make_room(policies, size);
		push(which == QUEUE_MAIN ? &pool->main : &pool->small, page);
	}
	*queue = (uint8_t) (which | (uses < MOST_USES ? uses : MOST_USES));
	return missed;
}

static bool
use_at_best(PbpPolicies *policies, int size, uint32_t page)
{
	Optimum    *optimum = &policies->optimum[size];
	int64_t		step = policies->pages[page].used_at;

	if (optimum->full >= step)
		return true;
	if (step < policies->now - STEPS + 1)
		step = policies->now - STEPS + 1;
	for (; step < policies->now; step++)
		if (++optimum->kept[step % STEPS] >= policies->sizes[size])
			optimum->full = step;
	return false;
}

static bool
use_page(PbpPolicies *policies, int policy, int size, uint32_t page, unsigned amount)
{
	switch (policy)
	{
		case PBP_LRU:
			return policies->pages[page].nearest > size;
		case PBP_S3_FIFO:
			return use_in_queues(policies, size, page, amount);
		case PBP_OPTIMUM:
			return use_at_best(policies, size, page);
		default:
			return use_in_clock(policies, policy, size, page, amount);
	}
}

/* ---- uses ---- */

/* The next step of the optimum, if this use has ended one. */
static void
move_on(PbpPolicies *policies, uint32_t missed)
{
	policies->step_misses += (missed & pbp_policy_bit(PBP_CLOCK_TODAY, PBP_POLICY_HALF)) != 0;
	if (policies->step_misses * STEPS_PER_POOL < policies->sizes[PBP_POLICY_HALF])
		return;
	policies->step_misses = 0;
	policies->now++;
	for (int size = 0; size < SIZES; size++)
		policies->optimum[size].kept[policies->now % STEPS] = 0;
}

uint32_t
pbp_policies_use(PbpPolicies *policies, uint32_t fingerprint, unsigned amount)
{
	uint32_t	page = find_page(policies, fingerprint);
	bool		is_new = page == NONE;
	uint32_t	missed = 0;

	if (is_new)
		page = add_page(policies, fingerprint);
	if (page == NONE)
		return 0;
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		for (int size = 0; size < SIZES; size++)
			if (use_page(policies, policy, size, page, amount))
				missed |= pbp_policy_bit(policy, size);
	make_newest(policies, page, is_new);
	policies->pages[page].used_at = policies->now;
	move_on(policies, missed);
	return missed;
}

/* ---- sizes ---- */

void
pbp_policies_resize(PbpPolicies *policies, double npages)
{
	for (int size = 0; size < SIZES; size++)
	{
		uint32_t	wanted = size_of(npages, size);

		policies->sizes[size] = wanted < policies->max_sizes[size] ? wanted :
			policies->max_sizes[size];
		for (int clock = 0; clock < CLOCKS; clock++)
		{
			ClockPool  *pool = &policies->clocks[clock][size];

			pool->nslots = policies->sizes[size];
			while (pool->nfilled > pool->nslots)
				policies->pages[pool->slots[--pool->nfilled]].counts[clock][size] = ABSENT;
		}
	}
}

bool
pbp_policies_have_batches(const PbpPolicies *policies)
{
	return policies->batch > 1;
}

double
pbp_policies_size(const PbpPolicies *policies, int size)
{
	return policies->sizes[size];
}

double
pbp_policies_filled_share(const PbpPolicies *policies, int size)
{
	const ClockPool *pool = &policies->clocks[PBP_CLOCK_TODAY][size];

	return (double) pool->nfilled / pool->nslots;
}

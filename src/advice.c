/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Miss ratio at other sizes of the buffer pool: miniature pools, one a
 *	  size, that live through what was seen of the real one.
 *
 * A page that is loaded stays two turns of the hand, so scans of the
 * descriptors see nearly every load; and a usage count that is above what the
 * hand has left of it tells of touches.  These events, of a sample of pages
 * chosen by a hash of their tag, are played to a clock sweep of each size,
 * with as many buffers as the sample's share of such a pool.  How much more or
 * less often each misses than the miniature of today's size, scaled back by
 * the share, is added to the measured miss ratio: what the sampling and the
 * scans distort, they distort in both.
 *
 * Holds no PostgreSQL state and calls nothing of the server, so that a
 * simulator can compile it alone.  When to scan is the caller's decision.
 *
 *-------------------------------------------------------------------------
 */
#include "advice.h"

#include <math.h>
#include <string.h>

#define FACTORS			PBP_ADVICE_FACTORS
#define TODAY			PBP_ADVICE_TODAY

static const double factors[FACTORS] = {
	0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2, 3, 4
};

/*
 * Memory for each sampled page of today's pool: records for a little more than
 * the largest size holds, since a page may be in a small pool and not in a
 * large one; and some slack for chance in how many pages are sampled.
 */
#define PAGES_PER_RESIDENT	5.0
#define EVENTS_PER_RESIDENT	1.6
#define MEETINGS_PER_RESIDENT	1.1
#define SLACK_DEVIATIONS	2.0

/* What one scan says of how many pages are sampled, against all before. */
#define RESIDENTS_GAIN		0.02

/*
 * Counters lose half their weight in this many pools' worth of reads.  Reads
 * are what turns the hand and what there is to learn from; an idle server
 * forgets nothing.
 */
#define HALF_LIFE_POOLS		2.0
#define SHORT_HALF_LIFE_POOLS	0.5

/*
 * Sessions publish their reads once a second or later, as lumps.  Were older
 * ones to weigh much less at once, reads would seem more than the loads that
 * were seen long before them.  So no scan takes more than this off: to halve a
 * weight needs 34 scans that bring reads, however many these are.
 */
#define LEAST_WEIGHT		0.98
#define LEAST_SHORT_WEIGHT	0.8

/* A figure stands on at least that many sampled loads. */
#define ENOUGH_LOADS		50.0

/* A larger size is told when so many pools' worth of loads came after it was learnt. */
#define MATURE_POOLS		0.05

/* Misses of which it is unsure that they are some, as a share of accesses. */
#define TOLERATED_UNSURE	0.01

/*
 * Smaller sizes live on uses between two scans, which are partly guesses: what
 * they add to the misses may be off by so much, by the simulator.
 */
#define UNSEEN_SHARE		0.1

/*
 * Turns of a miniature's hand between two scans; more, and the order of uses
 * within that time, which nobody knows, decides what it keeps.  Less where
 * many counts are at the maximum, which hides uses.  Four scans a turn of the
 * pool are within this for half its size, by the simulator.
 */
#define TOLERATED_TURNS		1.0

/*
 * Where knowledge is lost again and again, nothing new is known.  The usual
 * share of scans that begin with a loss, and the share that is too many.
 */
#define LOST_GAIN			0.1
#define TOLERATED_LOST		0.5

/*
 * A page that comes back was read, through a ring or not.  So many times more
 * of them than the server counts, and its count is not what to build on: it
 * does not have the reads of somebody, such as the replay of WAL.
 */
#define TOLERATED_UNCOUNTED	1.5

/*
 * Any page that comes was read or is new.  So many times more of them than the
 * server counts, and today's miss ratio is that of few of its accesses.
 */
#define WORTHLESS_UNCOUNTED	3.0

/*
 * Where the scans met no more than this share of what came into the pool, they
 * say nothing of other sizes.  That says nothing where large scans count as
 * others: their pages come and go between two scans.
 */
#define WORTHLESS_SEEN		0.1

/*
 * Of pages whose usage count is at the maximum it is not known which is used
 * more, so that a size without room for all of them is unknown.  What one scan
 * says of their share, against all before.
 */
#define SATURATED_GAIN		0.05

/*
 * The state of a page in 64 bits: its usage count in each miniature (ABSENT:
 * not there) and, at the last scan, in the real pool; how often it is used
 * between two scans, as a level; whether it was used since knowledge was lost;
 * and the number of the last scan that met it.  That wraps around: one in some
 * hundred pages that come back after very many scans is taken for one that
 * stayed.
 */
#define BITS				4
#define ABSENT				15
#define USAGE_LIMIT			7	/* leaves the highest bit to ABSENT and sums */
#define EACH_SIZE			(ALL_ABSENT / ABSENT)
#define ALL_ABSENT			((UINT64_C(1) << (BITS * FACTORS)) - 1)
#define REAL_SHIFT			(BITS * FACTORS)
#define RATE_SHIFT			(REAL_SHIFT + BITS)
#define RATE_BITS			6
#define MET					(UINT64_C(1) << (RATE_SHIFT + RATE_BITS))
#define SCAN_SHIFT			(RATE_SHIFT + RATE_BITS + 1)
#define SCAN_MASK			((UINT64_C(1) << (64 - SCAN_SHIFT)) - 1)

/*
 * Rates by level, four to an octave: from 2^-10 to 2^5.75 touches between two
 * scans.
 */
#define RATE_LEVELS			64
#define RATE_LEVEL_OF_1		40
#define RATE_STEPS			4.0
#define LOG2_E				1.4426950408889634
#define RATE_UNKNOWN		36
#define RATE_GAIN			0.09	/* what a touch says against all before */

/*
 * What happened to a page: its index, above it whether it was a load, and how
 * often it was used.
 */
#define LOAD				(UINT32_C(1) << 27)
#define AMOUNT_SHIFT		28
#define INDEX_MASK			(LOAD - 1)

#define NOBODY				UINT32_MAX

/* Records whose turn comes so much later are fetched into the caches. */
#define FETCHED_AHEAD		8

/* Between two checks for interrupts: some milliseconds, if each is a load. */
#define STEPS_PER_CHECK		2048

typedef struct Page
{
	uint32_t	print;			/* tells it from others of its chain */
	uint32_t	next;			/* in its chain */
	uint64_t	state;
} Page;

/* Where a scan met a page. */
typedef struct Meeting
{
	int32_t		buffer;
	uint32_t	index;
} Meeting;

/* A clock sweep over a sample's share of a pool of one size. */
typedef struct Miniature
{
	uint32_t	first;			/* of all miniatures' slots */
	uint32_t	room;			/* for slots */
	uint32_t	slots;
	uint32_t	used;
	uint32_t	hand;
	uint32_t	learnt;			/* pages met since knowledge was lost, at most
								 * slots */
	bool		learning;		/* its misses may be for want of memory of the
								 * past */
	double		accesses;		/* by the server's count, while all this was
								 * counted */
	double		today;			/* misses of today's size */
	double		extra;			/* misses more than those of today's size */
	double		unsure;			/* misses that are perhaps none; this and the
								 * next are soon forgotten */
	double		unsure_of;		/* accesses */
	double		differing;		/* accesses that today's size met otherwise */
	double		steps;			/* of the hand */
	double		scans;
} Miniature;

/* Where the hand stands; cut up once, and not for each buffer. */
typedef struct Clock
{
	int64_t		ticks;
	int64_t		turns;
	int			hand;
} Clock;

typedef struct Advice
{
	PbpAdvice	base;
	double		rate;
	int			nbuffers;
	bool		rings_apart;	/* does the server count their reads apart? */
	int			usage_max;
	uint32_t	npages;
	uint32_t	nheads;
	uint32_t	max_events;
	uint32_t	max_meetings;
	uint32_t	pages_used;		/* records that were ever in use */
	uint32_t	reclaimer;		/* where the search for a free record stands */
	bool		full;			/* there is none, as far as this scan goes */
	size_t		pages_at;		/* offsets in the block */
	size_t		heads_at;
	size_t		meetings_at;
	size_t		events_at;
	size_t		slots_at;
	uint64_t	random;
	double		rates[RATE_LEVELS];

	/* this scan and the last */
	bool		scanning;
	bool		lost;			/* what happened since the last is not known */
	bool		counted;		/* the last one's figures count */
	uint32_t	events;
	uint32_t	last_events;
	uint32_t	meetings;
	uint32_t	last_meetings;
	uint32_t	next_meeting;	/* of the last scan, to compare with */
	uint32_t	residents;
	uint32_t	at_maximum;		/* of them */
	uint32_t	loaded;
	uint32_t	new_loaded;
	PbpAdviceCounts fresh;		/* told since the last scan's end */
	uint64_t	scan;
	Clock		now;
	Clock		last;
	int64_t		first_ticks;	/* since knowledge was lost */

	double		usual_residents;

	double		saturated;		/* usual share of residents at the maximum */
	double		lost_share;		/* usual share of scans that began with a loss */

	/* decaying, except for the counts */
	double		scans;
	double		turned;			/* ticks */
	PbpAdviceTotals totals;
	Miniature	miniatures[FACTORS];
} Advice;

void		(*pbp_advice_check_interrupts) (void) = NULL;

/* For a loop, in its i-th step. */
static inline void
check_interrupts(uint32_t i)
{
	if (i % STEPS_PER_CHECK == 0 && pbp_advice_check_interrupts != NULL)
		pbp_advice_check_interrupts();
}

static inline Page *
pages(const Advice *advice)
{
	return (Page *) ((char *) advice + advice->pages_at);
}

static inline uint32_t *
heads(const Advice *advice)
{
	return (uint32_t *) ((char *) advice + advice->heads_at);
}

/* What one scan of two met, in the order of buffers. */
static inline Meeting *
meetings(const Advice *advice, uint64_t scan)
{
	return (Meeting *) ((char *) advice + advice->meetings_at) + (scan % 2) * advice->max_meetings;
}

/* What one scan of two found. */
static inline uint32_t *
events(const Advice *advice, uint64_t scan)
{
	return (uint32_t *) ((char *) advice + advice->events_at) + (scan % 2) * advice->max_events;
}

static inline uint32_t *
slots(const Advice *advice)
{
	return (uint32_t *) ((char *) advice + advice->slots_at);
}

static inline unsigned
field(uint64_t state, int shift)
{
	return (unsigned) (state >> shift) & ABSENT;
}

static inline void
set_field(uint64_t *state, int shift, unsigned value)
{
	*state = (*state & ~((uint64_t) ABSENT << shift)) | (uint64_t) value << shift;
}

static inline unsigned
level_of(uint64_t state)
{
	return (unsigned) (state >> RATE_SHIFT) & (RATE_LEVELS - 1);
}

static inline void
set_level(uint64_t *state, unsigned level)
{
	*state &= ~((uint64_t) (RATE_LEVELS - 1) << RATE_SHIFT);
	*state |= (uint64_t) level << RATE_SHIFT;
}

double
pbp_advice_factor(int i)
{
	return factors[i];
}

static uint64_t
next_random(Advice *advice)
{
	uint64_t	x = advice->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	advice->random = x;
	return x;
}

static double
next_share(Advice *advice)
{
	return (double) (next_random(advice) >> 11) / 9007199254740992.0;
}

/* One of the two whole numbers around, so that this is the mean. */
static double
rounded(Advice *advice, double mean)
{
	return floor(mean + next_share(advice));
}

/* How many there are of events that come by chance; no more than most. */
static int
some_events(Advice *advice, double mean, int most)
{
	double		limit;
	double		product;
	int			found = 0;

	if (mean <= 0)
		return 0;
	if (mean > 2 * most)
		return most;
	limit = exp(-mean);
	for (product = next_share(advice); product > limit && found < most; product *= next_share(advice))
		found++;
	return found;
}

/* ----------------------------------------------------------------
 *		Memory
 * ----------------------------------------------------------------
 */

/* Lay out the block for a rate; what it takes. */
static size_t
lay_out(Advice *advice, double rate)
{
	double		residents = rate * advice->nbuffers;
	double		slack = SLACK_DEVIATIONS * sqrt(residents);
	uint32_t	nslots = 0;

	if (PAGES_PER_RESIDENT * (residents + slack) >= INDEX_MASK)
		return SIZE_MAX;		/* an event could not name them */

	for (int i = 0; i < FACTORS; i++)
	{
		Miniature  *miniature = &advice->miniatures[i];

		miniature->first = nslots;
		miniature->room = (uint32_t) (factors[i] * (residents + slack) + 1);
		miniature->slots = miniature->room;
		nslots += miniature->room;
	}
	advice->npages = (uint32_t) (PAGES_PER_RESIDENT * (residents + slack)) + 1;
	advice->nheads = advice->npages / 2 + 1;
	advice->max_events = (uint32_t) (EVENTS_PER_RESIDENT * (residents + slack)) + 1;
	advice->max_meetings = (uint32_t) (MEETINGS_PER_RESIDENT * (residents + slack)) + 1;

	advice->pages_at = (sizeof(Advice) + 7) & ~(size_t) 7;
	advice->heads_at = advice->pages_at + sizeof(Page) * advice->npages;
	advice->meetings_at = advice->heads_at + sizeof(uint32_t) * advice->nheads;
	advice->events_at = advice->meetings_at + 2 * sizeof(Meeting) * advice->max_meetings;
	advice->slots_at = advice->events_at + 2 * sizeof(uint32_t) * advice->max_events;
	return advice->slots_at + sizeof(uint32_t) * nslots;
}

/*
 * The highest rate, to a millionth of itself, whose block fits.  Negative:
 * none.
 */
static double
fitting_rate(Advice *advice, size_t bytes, double limit)
{
	double		low = 0;
	double		high = limit;

	if (lay_out(advice, high) <= bytes)
		return high;
	if (lay_out(advice, low) > bytes)
		return -1;
	while (high - low > 1e-6 * high)
	{
		double		middle = (low + high) / 2;

		if (lay_out(advice, middle) <= bytes)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Begin to learn in a block of memory aligned for any type.  NULL where it is
 * too small for even one page.
 */
PbpAdvice *
pbp_advice_init(void *memory, size_t bytes, int nbuffers, double rate_limit,
				bool rings_apart)
{
	Advice	   *advice = memory;
	double		rate;

	if (bytes < sizeof(Advice) || nbuffers < 1)
		return NULL;
	memset(advice, 0, sizeof(*advice));
	advice->nbuffers = nbuffers;
	advice->rings_apart = rings_apart;
	rate = fitting_rate(advice, bytes, rate_limit > 0 && rate_limit < 1 ? rate_limit : 1);
	if (rate <= 0)
		return NULL;
	lay_out(advice, rate);

	advice->rate = rate;
	advice->base.threshold = rate >= 1 ? UINT64_MAX : (uint64_t) ldexp(rate, 64);
	advice->random = UINT64_C(0x9E3779B97F4A7C15);
	advice->lost = true;
	for (int i = 0; i < RATE_LEVELS; i++)
		advice->rates[i] = exp2((i - RATE_LEVEL_OF_1) / RATE_STEPS);
	for (uint32_t i = 0; i < advice->nheads; i++)
		heads(advice)[i] = NOBODY;
	return &advice->base;
}

double
pbp_advice_rate(const PbpAdvice *base)
{
	return ((const Advice *) base)->rate;
}

/* ----------------------------------------------------------------
 *		Records of pages
 * ----------------------------------------------------------------
 */

/* Sampled keys are small numbers: mix, so that all heads serve. */
static inline uint32_t *
head_of(const Advice *advice, uint32_t print)
{
	uint64_t	mixed = (print * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

	return &heads(advice)[mixed * advice->nheads >> 32];
}

static uint32_t
find_page(const Advice *advice, uint64_t key)
{
	uint32_t	print = (uint32_t) key;
	uint32_t	index = *head_of(advice, print);

	while (index != NOBODY && pages(advice)[index].print != print)
		index = pages(advice)[index].next;
	return index;
}

/*
 * The same during a scan.  Nearly always the page is where the last scan met
 * it, whose list is walked side by side; its records are fetched ahead.
 */
static uint32_t
find_page_at(Advice *advice, uint64_t key, int buffer)
{
	Meeting    *last = meetings(advice, advice->scan - 1);
	uint32_t	next = advice->next_meeting;

	while (next < advice->last_meetings && last[next].buffer < buffer)
	{
		if (next + FETCHED_AHEAD < advice->last_meetings)
			__builtin_prefetch(&pages(advice)[last[next + FETCHED_AHEAD].index]);
		next++;
	}
	advice->next_meeting = next;
	if (next < advice->last_meetings && last[next].buffer == buffer &&
		pages(advice)[last[next].index].print == (uint32_t) key)
		return last[next].index;
	return find_page(advice, key);
}

static void
unlink_page(Advice *advice, uint32_t index)
{
	uint32_t   *link = head_of(advice, pages(advice)[index].print);

	while (*link != index)
		link = &pages(advice)[*link].next;
	*link = pages(advice)[index].next;
}

static inline uint64_t
scan_of(uint64_t state)
{
	return state >> SCAN_SHIFT;
}

static inline bool
met_in_scan(uint64_t state, uint64_t scan)
{
	return scan_of(state) == (scan & SCAN_MASK);
}

/* In no miniature, and not in the real pool by the last two scans. */
static inline bool
is_forgotten(const Advice *advice, uint64_t state)
{
	return (state & ALL_ABSENT) == ALL_ABSENT &&
		!met_in_scan(state, advice->scan) && !met_in_scan(state, advice->scan - 1);
}

/*
 * Room for one more page.  Records of forgotten pages are found by a search
 * that goes on where the last one stopped, so that no eviction has to look
 * whether it was the last.  Once it was in vain it will be so for the rest of
 * the scan: miniatures change at its end, and until then no page is met less.
 */
static uint32_t
new_page(Advice *advice)
{
	if (advice->pages_used < advice->npages)
		return advice->pages_used++;
	if (advice->full)
		return NOBODY;

	for (uint32_t tried = 0; tried < advice->npages; tried++)
	{
		uint32_t	index = advice->reclaimer;

		advice->reclaimer = index + 1 < advice->npages ? index + 1 : 0;
		if (is_forgotten(advice, pages(advice)[index].state))
		{
			unlink_page(advice, index);
			return index;
		}
	}
	advice->full = true;
	return NOBODY;
}

static uint32_t
add_page(Advice *advice, uint64_t key)
{
	uint32_t	index = new_page(advice);
	uint32_t   *head;

	if (index == NOBODY)
	{
		advice->totals.dropped++;
		return NOBODY;
	}
	head = head_of(advice, (uint32_t) key);
	pages(advice)[index].print = (uint32_t) key;
	pages(advice)[index].next = *head;
	/* as if last met long ago, in no scan that counts */
	pages(advice)[index].state = ALL_ABSENT | ((advice->scan - 2) & SCAN_MASK) << SCAN_SHIFT;
	*head = index;
	return index;
}

/* ----------------------------------------------------------------
 *		Miniatures
 * ----------------------------------------------------------------
 */

/* A slot for a page that is not in the miniature, by the server's algorithm. */
static uint32_t
victim_slot(Advice *advice, int i)
{
	Miniature  *miniature = &advice->miniatures[i];
	uint32_t   *slot = &slots(advice)[miniature->first];
	int			shift = BITS * i;

	if (miniature->used < miniature->slots)
		return miniature->used++;

	for (;;)
	{
		uint32_t	hand = miniature->hand;
		uint64_t   *state = &pages(advice)[slot[hand]].state;
		unsigned	usage = field(*state, shift);

		miniature->hand = hand + 1 < miniature->slots ? hand + 1 : 0;
		miniature->steps++;
		if (usage == 0)
		{
			set_field(state, shift, ABSENT);
			return hand;
		}
		set_field(state, shift, usage - 1);
	}
}

/*
 * Give a miniature as many buffers as there are sampled pages in such a share
 * of the real pool: chance may have put more or less into the sample than its
 * rate says.
 */
static void
resize(Advice *advice, int i, double residents)
{
	Miniature  *miniature = &advice->miniatures[i];
	uint32_t   *slot = &slots(advice)[miniature->first];
	double		wanted = fmax(1, factors[i] * residents + 0.5);

	bool		was_full = miniature->learnt == miniature->slots;

	miniature->slots = wanted < miniature->room ? (uint32_t) wanted : miniature->room;
	while (miniature->used > miniature->slots)
		set_field(&pages(advice)[slot[--miniature->used]].state, BITS * i, ABSENT);
	if (miniature->hand >= miniature->slots)
		miniature->hand = 0;
	if (was_full || miniature->learnt > miniature->slots)
		miniature->learnt = miniature->slots;
}

/* The sizes whose miniature is without the page: the lowest bit of each. */
static inline uint64_t
absent_sizes(uint64_t state)
{
	return state >> (BITS - 1) & EACH_SIZE;
}

/*
 * A page is used `amount` times at once, and then in every miniature.  All
 * usage counts rise in one addition: no sum leaves its 4 bits, and one above
 * the maximum shows in the highest of them after another.
 */
static void
use_page(Advice *advice, uint32_t index, uint64_t absent, unsigned amount)
{
	uint64_t	usage_max = (uint64_t) advice->usage_max;
	uint64_t   *state = &pages(advice)[index].state;
	uint64_t	sums;
	uint64_t	excess;

	for (int i = 0; i < FACTORS; i++)
		if (absent >> (BITS * i) & 1)
			slots(advice)[advice->miniatures[i].first + victim_slot(advice, i)] = index;

	sums = (*state & ALL_ABSENT & ~(absent * ABSENT)) + amount * EACH_SIZE;
	excess = ((sums + (USAGE_LIMIT - usage_max) * EACH_SIZE) >> (BITS - 1) & EACH_SIZE) * ABSENT;
	*state &= ~ALL_ABSENT;
	*state |= (sums & ~excess) | (usage_max * EACH_SIZE & excess);
}

/*
 * What was learnt of a size before its miniature was full is worth less than
 * what comes now: begin anew.
 */
static void
forget_counts(Miniature *miniature)
{
	miniature->accesses = 0;
	miniature->today = 0;
	miniature->extra = 0;
	miniature->differing = 0;
	miniature->steps = 0;
	miniature->scans = 0;
}

static void
count_use(Miniature *miniature, bool missed, bool today, bool filling)
{
	miniature->today += today;
	miniature->extra += missed - today;
	miniature->differing += missed != today;
	miniature->unsure += missed && filling;
}

/* Play what a scan found of one page to all miniatures. */
static void
play_event(Advice *advice, uint32_t event, bool counts)
{
	uint32_t	index = event & INDEX_MASK;
	uint64_t   *state = &pages(advice)[index].state;
	uint64_t	absent = absent_sizes(*state);
	bool		today = absent >> (BITS * TODAY) & 1;
	bool		is_new = !(*state & MET);

	*state |= MET;
	use_page(advice, index, absent, event >> AMOUNT_SHIFT);
	if (absent == 0 && !is_new)
		return;					/* nothing to count */

	for (int i = 0; i < FACTORS; i++)
	{
		Miniature  *miniature = &advice->miniatures[i];
		bool		full = miniature->learnt == miniature->slots;

		if (counts)
			count_use(miniature, absent >> (BITS * i) & 1, today, i > TODAY && !full);
		miniature->learnt += is_new && !full;
	}
}

/*
 * Play all events of a scan, in random order: nobody knows the true one, and
 * that of the buffers would favour those behind the hand.
 *
 * This is when the next scan is over.  A page that was loaded and has gone
 * since was read through a ring, as large scans and vacuum do; it would come
 * and go so in any pool, and does not count.
 */
static void
play_events(Advice *advice, uint64_t scan, uint32_t nevents, bool counts)
{
	uint32_t   *event = events(advice, scan);

	for (uint32_t left = nevents; left > 0; left--)
	{
		uint32_t	chosen = (uint32_t) ((next_random(advice) >> 32) * left >> 32);
		uint32_t	last = event[left - 1];

		check_interrupts(left);
		event[left - 1] = event[chosen];
		event[chosen] = last;
	}

	for (uint32_t i = nevents; i-- > 0;)
	{
		uint64_t	state = pages(advice)[event[i] & INDEX_MASK].state;

		check_interrupts(i);
		if (i >= FETCHED_AHEAD)
			__builtin_prefetch(&pages(advice)[event[i - FETCHED_AHEAD] & INDEX_MASK], 1);
		if (event[i] & LOAD)
		{
			if (!met_in_scan(state, advice->scan))
				continue;
			advice->loaded += counts;
			advice->new_loaded += counts && (state & ALL_ABSENT) == ALL_ABSENT;
		}
		play_event(advice, event[i], counts);
	}
}

/* ----------------------------------------------------------------
 *		Scans
 * ----------------------------------------------------------------
 */

static inline Clock
clock_at(const Advice *advice, int64_t ticks)
{
	return (Clock)
	{
		ticks, ticks / advice->nbuffers, (int) (ticks % advice->nbuffers)
	};
}

/*
 * What happened since the last scan is not known: nothing that this scan
 * finds may count, and larger sizes have to be learnt again.
 */
void
pbp_advice_gap(PbpAdvice *base)
{
	Advice	   *advice = (Advice *) base;

	if (!advice->lost && advice->totals.scans > 0)
		advice->totals.gaps++;
	advice->lost = true;
}

void
pbp_advice_begin(PbpAdvice *base, int64_t ticks)
{
	Advice	   *advice = (Advice *) base;

	/* a page stays two turns: after more, loads may have come and gone */
	if (ticks < advice->last.ticks || ticks - advice->last.ticks > 2 * (int64_t) advice->nbuffers)
		pbp_advice_gap(base);
	advice->lost_share += LOST_GAIN * (advice->lost - advice->lost_share);
	if (advice->lost)
	{
		advice->first_ticks = ticks;
		for (uint32_t i = 0; i < advice->pages_used; i++)
		{
			check_interrupts(i);
			pages(advice)[i].state &= ~MET;
		}
		for (int i = 0; i < FACTORS; i++)
		{
			advice->miniatures[i].learnt = 0;
			advice->miniatures[i].learning = true;
		}
	}
	advice->scanning = true;
	advice->full = false;
	advice->scan++;
	advice->now = clock_at(advice, ticks);
	advice->events = 0;
	advice->last_meetings = advice->meetings;
	advice->meetings = 0;
	advice->next_meeting = 0;
	advice->residents = 0;
	advice->at_maximum = 0;
	advice->loaded = 0;
	advice->new_loaded = 0;
}

/* How often the hand has come by a buffer. */
static inline int64_t
visits(Clock clock, int buffer)
{
	return clock.turns + (buffer < clock.hand);
}

/*
 * How often a page that stayed was used since the last scan.
 *
 * Each visit of the hand took one from its usage count, and would have evicted
 * it at 0; so much is certain.  While the count is at the maximum, further
 * use does not show: there, the page is taken to go on as it did while it
 * could be seen.  Its rate is learnt from the part of the time in which its
 * count could rise.
 */
static int
touches_of(Advice *advice, uint64_t *state, int buffer, int usage)
{
	int			before = (int) field(*state, REAL_SHIFT);
	double		rate = advice->rates[level_of(*state)];
	int64_t		nvisits = visits(advice->now, buffer);
	int64_t		passes = nvisits - visits(advice->last, buffer);
	int			seen = usage - before + (int) passes;
	double		open = 1;		/* share of the time in which use could show */

	if (seen < 0)
		return 0;
	if (before == advice->usage_max)
	{
		int64_t		last_visit = (nvisits - 1) * advice->nbuffers + buffer;

		open = passes == 0 ? 0 : fmin(1, (double) (advice->now.ticks - last_visit) /
									  (double) (advice->now.ticks - advice->last.ticks));
	}
	if (usage == advice->usage_max && seen > 0)
		open /= 2;				/* until it reached the maximum */

	if (open > 0)
	{
		double		level = level_of(*state) + RATE_GAIN * RATE_STEPS * LOG2_E * (seen - open * rate);

		level = fmin(RATE_LEVELS - 1, fmax(0, rounded(advice, level)));
		set_level(state, (unsigned) level);
		rate = advice->rates[(int) level];
	}
	return seen + some_events(advice, (1 - open) * rate, usage);
}

/*
 * Several uses happened at several times, while there is room to say so.  A
 * page in constant use needs no such care, and of a load the rest hardly ever
 * matters.
 */
static void
add_events(Advice *advice, uint32_t event, int amount)
{
	uint32_t   *list = events(advice, advice->scan);
	uint32_t	room = advice->max_events - advice->events;
	int			usage_max = advice->usage_max;

	if (amount <= 0)
		return;
	if (room == 0)
		advice->totals.dropped++;
	else if (!(event & LOAD) && amount < usage_max && (uint32_t) amount <= room / 4)
	{
		for (int i = 0; i < amount; i++)
			list[advice->events++] = event | UINT32_C(1) << AMOUNT_SHIFT;
	}
	else
		list[advice->events++] = event | (uint32_t) (amount < usage_max ? amount : usage_max) << AMOUNT_SHIFT;
}

/* One sampled page of the scan; each page once, in the order of buffers. */
void
pbp_advice_page(PbpAdvice *base, uint64_t key, int buffer, int usage, int usage_max)
{
	Advice	   *advice = (Advice *) base;
	uint32_t	index = find_page_at(advice, key, buffer);
	uint64_t   *state;
	int			amount;
	bool		load;

	advice->usage_max = usage_max < USAGE_LIMIT ? usage_max : USAGE_LIMIT;
	if (usage > advice->usage_max)
		usage = advice->usage_max;
	advice->residents++;
	advice->at_maximum += usage == advice->usage_max;
	if (index == NOBODY)
		index = add_page(advice, key);
	if (index == NOBODY)
		return;
	state = &pages(advice)[index].state;
	if (met_in_scan(*state, advice->scan))
		return;					/* it moved while the scan went on */
	if (advice->meetings < advice->max_meetings)
		meetings(advice, advice->scan)[advice->meetings++] = (Meeting){buffer, index};

	load = advice->lost || !met_in_scan(*state, advice->scan - 1);
	if (load)
	{
		set_level(state, RATE_UNKNOWN);
		amount = usage > 0 ? usage : 1;
	}
	else
		amount = touches_of(advice, state, buffer, usage);

	set_field(state, REAL_SHIFT, (unsigned) usage);
	*state &= (UINT64_C(1) << SCAN_SHIFT) - 1;
	*state |= (advice->scan & SCAN_MASK) << SCAN_SHIFT;
	add_events(advice, index | (load ? LOAD : 0), amount);
}

static void
decay(Advice *advice, double reads)
{
	double		weight = fmax(LEAST_WEIGHT, exp2(-reads / (HALF_LIFE_POOLS * advice->nbuffers)));
	double		short_weight = fmax(LEAST_SHORT_WEIGHT, exp2(-reads / (SHORT_HALF_LIFE_POOLS * advice->nbuffers)));
	PbpAdviceTotals *totals = &advice->totals;

	for (int i = 0; i < FACTORS; i++)
	{
		Miniature  *miniature = &advice->miniatures[i];

		miniature->accesses *= weight;
		miniature->today *= weight;
		miniature->extra *= weight;
		miniature->unsure *= short_weight;
		miniature->unsure_of *= short_weight;
		miniature->differing *= weight;
		miniature->steps *= weight;
		miniature->scans *= weight;
	}
	totals->accesses *= weight;
	totals->reads *= weight;
	totals->extends *= weight;
	totals->ring_reads *= weight;
	totals->ring_extends *= weight;
	totals->loads *= weight;
	totals->new_loads *= weight;
	advice->scans *= weight;
	advice->turned *= weight;
}

/* Add accesses to the figures; or take them off, by a sign of -1. */
static void
count_accesses(Advice *advice, const PbpAdviceCounts *counts, int sign)
{
	PbpAdviceTotals *totals = &advice->totals;
	double		accesses = sign * ((double) counts->hits + (double) counts->reads);

	totals->accesses += accesses;
	totals->reads += sign * (double) counts->reads;
	totals->extends += sign * (double) counts->extends;
	totals->ring_reads += sign * (double) counts->ring_reads;
	totals->ring_extends += sign * (double) counts->ring_extends;
	for (int i = 0; i < FACTORS; i++)
	{
		advice->miniatures[i].accesses += accesses;
		advice->miniatures[i].unsure_of += accesses;
	}
}

static void
count_scan(Advice *advice)
{
	PbpAdviceTotals *totals = &advice->totals;

	totals->loads += advice->loaded;
	totals->new_loads += advice->new_loaded;
	totals->sampled_loads += advice->loaded;
	for (int i = 0; i < FACTORS; i++)
		advice->miniatures[i].scans++;
	advice->scans++;
	advice->turned += (double) (advice->now.ticks - advice->last.ticks);
	/* last, so that reads weigh no more than the loads that they are */
	decay(advice, (double) advice->fresh.reads + (double) advice->fresh.extends);
}

/* The share of the pool that is in the sample, by chance and rate. */
static double
share_of_pool(const Advice *advice)
{
	return advice->usual_residents > 0 ? advice->usual_residents / advice->nbuffers : advice->rate;
}

/*
 * Misses that are perhaps none, as a share of the accesses of late: in a larger
 * size that is not yet full, of pages that were perhaps there before the first
 * scan.
 */
static double
unsure_share(const Advice *advice, int i)
{
	const Miniature *miniature = &advice->miniatures[i];

	if (miniature->unsure_of <= 0)
		return 1;				/* of no access, none is sure */
	return miniature->unsure / share_of_pool(advice) / miniature->unsure_of;
}

/*
 * Chance has put more or less of the pool into the sample than the rate says:
 * follow that, slowly, and not what else makes the residents few, as dropping
 * a table does.
 */
static void
follow_residents(Advice *advice)
{
	double		expected = advice->rate * advice->nbuffers;
	double		slack = SLACK_DEVIATIONS * sqrt(expected);
	double		weight = advice->usual_residents > 0 ? RESIDENTS_GAIN : 1;

	if (advice->now.ticks < advice->nbuffers)
		return;					/* the pool was perhaps not full */
	advice->usual_residents += weight * (advice->residents - advice->usual_residents);
	advice->usual_residents = fmin(fmax(advice->usual_residents, fmax(1, expected - slack)), expected + slack);
	for (int i = 0; i < FACTORS; i++)
		resize(advice, i, advice->usual_residents);
}

/* A larger size has been learnt when it is full, or hardly meets new pages. */
static void
finish_learning(Advice *advice)
{
	for (int i = TODAY + 1; i < FACTORS; i++)
	{
		Miniature  *miniature = &advice->miniatures[i];

		if (!miniature->learning ||
			(miniature->learnt < miniature->slots && unsure_share(advice, i) > TOLERATED_UNSURE / 2))
			continue;
		miniature->learning = false;
		forget_counts(miniature);
	}
}

/*
 * What the server has counted since the last call; to be called at any time,
 * also when no scan comes for long.  While the figures count, these are in them
 * at once; the end of the next scan confirms them, or finds that they do not
 * belong to what it saw.
 */
void
pbp_advice_accesses(PbpAdvice *base, const PbpAdviceCounts *counts)
{
	Advice	   *advice = (Advice *) base;
	PbpAdviceCounts *fresh = &advice->fresh;

	fresh->hits += counts->hits;
	fresh->reads += counts->reads;
	fresh->extends += counts->extends;
	fresh->ring_reads += counts->ring_reads;
	fresh->ring_extends += counts->ring_extends;
	if (advice->counted)
		count_accesses(advice, counts, 1);
}

/*
 * The scan is over.  The figures of the first turn after a loss do not count,
 * while the miniatures find their order; nor do the accesses since the last
 * scan, whose loads are not known then.
 */
void
pbp_advice_end(PbpAdvice *base, int64_t ticks)
{
	Advice	   *advice = (Advice *) base;
	bool		too_long = ticks - advice->now.ticks > advice->nbuffers;
	bool		counts;

	if (!advice->scanning)
		return;
	if (too_long)
		pbp_advice_gap(base);
	counts = !advice->lost && advice->now.ticks - advice->first_ticks >= advice->nbuffers;

	follow_residents(advice);
	if (advice->residents > 0)
		advice->saturated += SATURATED_GAIN * ((double) advice->at_maximum / advice->residents - advice->saturated);
	/* these are of the scan before, whose reads have to count, too */
	play_events(advice, advice->scan - 1, advice->last_events, counts && advice->counted);
	if (counts != advice->counted)
		count_accesses(advice, &advice->fresh, counts ? 1 : -1);
	advice->counted = counts;
	advice->last_events = advice->events;
	if (advice->lost)
	{
		play_events(advice, advice->scan, advice->events, false);
		advice->last_events = 0;
	}
	if (counts)
		count_scan(advice);
	memset(&advice->fresh, 0, sizeof(advice->fresh));
	if (counts && advice->now.ticks - advice->first_ticks >= 2 * (int64_t) advice->nbuffers)
		finish_learning(advice);
	advice->totals.scans++;
	advice->last = advice->now;
	advice->lost = too_long;	/* the next one begins anew */
	advice->scanning = false;
}

/* ----------------------------------------------------------------
 *		Answers
 * ----------------------------------------------------------------
 */

/* A number of events of sampled pages as a share of all accesses. */
static double
scaled(const Advice *advice, int i, double count)
{
	return count / share_of_pool(advice) / advice->miniatures[i].accesses;
}

static double
turns_between_scans(const Miniature *miniature)
{
	return miniature->scans > 0 ? miniature->steps / miniature->slots / miniature->scans : 0;
}

/* Loads against the reads and new pages that they should be. */
static double
seen_share(const Advice *advice)
{
	const PbpAdviceTotals *totals = &advice->totals;

	return totals->loads / advice->rate / (totals->reads + totals->extends);
}

/* Are so many more pages loaded than the server counts, by a factor? */
static bool
too_few_counted(const Advice *advice, double loads, double counted, double factor)
{
	return advice->totals.loads >= ENOUGH_LOADS && loads / share_of_pool(advice) > factor * counted;
}

/* Are hardly any loads met of what the server counts? */
static bool
too_few_seen(const Advice *advice)
{
	const PbpAdviceTotals *totals = &advice->totals;

	return advice->rings_apart &&
		(totals->reads + totals->extends) * advice->rate >= ENOUGH_LOADS &&
		seen_share(advice) < WORTHLESS_SEEN;
}

/* Why nothing is known of any size, also today's. */
static PbpAdviceReason
reason_of_all(const Advice *advice)
{
	const PbpAdviceTotals *totals = &advice->totals;

	if (advice->lost_share > TOLERATED_LOST)
		return PBP_ADVICE_RARE_SCANS;
	if (totals->accesses <= 0 && totals->loads > 0)
		return PBP_ADVICE_UNPUBLISHED;
	if (totals->accesses <= 0)
		return totals->scans > 0 && advice->last.ticks < advice->nbuffers ?
			PBP_ADVICE_NOTHING_EVICTED : PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, totals->loads,
						totals->reads + totals->extends + totals->ring_reads + totals->ring_extends,
						WORTHLESS_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	return too_few_seen(advice) ? PBP_ADVICE_UNSEEN : PBP_ADVICE_KNOWN;
}

static PbpAdviceReason
reason_of(const Advice *advice, int i)
{
	const Miniature *miniature = &advice->miniatures[i];
	const PbpAdviceTotals *totals = &advice->totals;
	PbpAdviceReason of_all = reason_of_all(advice);

	if (of_all != PBP_ADVICE_KNOWN || i == TODAY)
		return of_all;
	if (miniature->accesses <= 0)
		return PBP_ADVICE_LEARNING;
	if (too_few_counted(advice, totals->loads - totals->new_loads,
						totals->reads + totals->ring_reads, TOLERATED_UNCOUNTED))
		return PBP_ADVICE_UNCOUNTED;
	if (i < TODAY && turns_between_scans(miniature) > TOLERATED_TURNS * (1 - advice->saturated))
		return PBP_ADVICE_FAST_HAND;
	if (i < TODAY && advice->saturated > factors[i])
		return PBP_ADVICE_SATURATED;
	if (totals->loads < ENOUGH_LOADS)
		return PBP_ADVICE_LITTLE_EVIDENCE;
	/* a larger size forgot its counts when it had learnt */
	if (i > TODAY && (miniature->learning || miniature->today < ENOUGH_LOADS ||
					  miniature->today < MATURE_POOLS * advice->usual_residents ||
					  unsure_share(advice, i) > TOLERATED_UNSURE))
		return PBP_ADVICE_LEARNING;
	return PBP_ADVICE_KNOWN;
}

/*
 * The measured miss ratio, and what the miniature's misses are more or less
 * than those of today's size.  As far as these are gone, their number says how
 * many there were better than the sample's share of the pool does: where all
 * are gone, none is left.  But where large scans count as others, the reads
 * that no scan met are theirs, as they would be in a pool of any size.
 */
static double
estimate(const Advice *advice, int i)
{
	const Miniature *miniature = &advice->miniatures[i];
	double		measured = advice->totals.reads / advice->totals.accesses;
	double		met = advice->rings_apart ? measured : measured * fmin(1, seen_share(advice));
	double		by_share = measured + scaled(advice, i, miniature->extra);
	double		gone = 0;

	if (i > TODAY && miniature->today > 0)
		gone = fmax(0, -miniature->extra / miniature->today);
	return fmin(1, fmax(0, gone * (measured - gone * met) + (1 - gone) * by_share));
}

/*
 * What a pool of the i-th size would miss.  A larger pool of the same pages
 * may miss a little more often by bad luck; where a figure says so, chance in
 * the sample is the likelier reason, so the ones nearer to today's bound it.
 */
void
pbp_advice_row(const PbpAdvice *base, int i, PbpAdviceRow *row)
{
	const Advice *advice = (const Advice *) base;
	const Miniature *miniature = &advice->miniatures[i];
	int			step = i < TODAY ? -1 : 1;
	double		bound;

	row->factor = factors[i];
	row->reason = reason_of(advice, i);
	row->miss_ratio = row->uncertainty = NAN;
	if (row->reason != PBP_ADVICE_KNOWN)
		return;

	bound = advice->totals.reads / advice->totals.accesses;
	for (int j = TODAY; j != i; j += step)
		if (reason_of(advice, j + step) == PBP_ADVICE_KNOWN)
			bound = step > 0 ? fmin(bound, estimate(advice, j + step)) : fmax(bound, estimate(advice, j + step));
	row->miss_ratio = bound;
	row->uncertainty = scaled(advice, i, 1.96 * sqrt(miniature->differing)) + unsure_share(advice, i);
	if (i < TODAY)
		row->uncertainty += UNSEEN_SHARE * scaled(advice, i, fabs(miniature->extra));
}

void
pbp_advice_totals(const PbpAdvice *base, PbpAdviceTotals *totals)
{
	const Advice *advice = (const Advice *) base;

	*totals = advice->totals;
	totals->self_error = totals->reads + totals->extends > 0 ? seen_share(advice) - 1 : NAN;
	totals->scans_per_turn = advice->turned > 0 ?
		advice->scans * advice->nbuffers / advice->turned : NAN;
}

/*
 * The smallest size whose pool would hold the page now; -1 where none would,
 * or the page is not in the sample.
 */
int
pbp_advice_band(const PbpAdvice *base, uint64_t key)
{
	const Advice *advice = (const Advice *) base;
	uint32_t	index;

	if (!pbp_advice_sampled(base, key))
		return -1;
	index = find_page(advice, key);
	for (int i = 0; index != NOBODY && i < FACTORS; i++)
		if (field(pages(advice)[index].state, BITS * i) != ABSENT)
			return i;
	return -1;
}

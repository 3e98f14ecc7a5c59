/*-------------------------------------------------------------------------
 *
 * internal.h
 *	  What the simulator has counted, and what its files offer each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_INTERNAL_H
#define PBP_INTERNAL_H

#include "base/stats.h"
#include "simulator/policies.h"
#include "simulator/simulator.h"
#include "simulator/workingset.h"

#define FACTORS				PBP_ADVICE_FACTORS
#define BASELINE			PBP_ADVICE_BASELINE	/* the size that runs */

/* Parts of the sample, by hash.  Leaving out one after the other shows errors by chance. */
#define GROUPS				16

#define HALF				PBP_ADVICE_HALF
#define DOUBLE				PBP_ADVICE_DOUBLE

/* Periods of time that are remembered. */
#define PERIODS				16

/* Simulated page caches: of today's memory, of less and of more. */
#define CACHE_SETS			3

#define PAGE_BITS			27
#define INVALID_PAGE		((UINT32_C(1) << PAGE_BITS) - 1)
#define LEVELS				(1 << LEVEL_BITS)
#define LEVELS_PER_OCTAVE	4.0

/* Passes of the hand until it shows how many misses are doubtful. */
#define IN_ORDER_PASSES		2

/* Between two checks for interrupts: some milliseconds, if each is a load. */
#define STEPS_PER_CHECK		2048

/* More sampled pages than this are in a pool by chance only. */
#define SLACK_DEVIATIONS	2.0

/* A larger size is unknown above this share of doubtful misses. */
#define TOLERATED_DOUBT		0.01

/* ---- the state of a page ----
 *
 * In 64 bits, the same memory holds a sample that is larger by a fifth, and one
 * addition raises the usage counts of all simulated pools.
 */

#define COUNT_BITS			4
#define ABSENT				UINT64_C(15)	/* the page is not in that pool */
#define EVICTED				UINT64_C(8)	/* from that pool: plus the phase of its eviction */
#define PHASES				7
#define USAGE_LIMIT			7	/* leaves the highest bit to ABSENT and sums */
#define ALL_ABSENT			((UINT64_C(1) << (COUNT_BITS * PBP_ADVICE_FACTORS)) - 1)
#define EACH_SIZE			(ALL_ABSENT / ABSENT)	/* 1 in each count */

#define USAGE_BITS			3
#define LEVEL_BITS			6
#define LOOK_BITS			(64 - COUNT_BITS * PBP_ADVICE_FACTORS - USAGE_BITS - LEVEL_BITS - 4)

/* The number of the look wraps around.  A look that does not meet the page clears it. */
typedef struct PageState
{
	uint64_t	counts:COUNT_BITS * PBP_ADVICE_FACTORS; /* usage in each simulated pool */
	uint64_t	usage:USAGE_BITS;	/* in the real pool, at the last look */
	uint64_t	level:LEVEL_BITS;	/* of its uses in a pass of the hand; once evicted, the phase of
								 * that, see evicted.c */
	uint64_t	used:1;			/* since knowledge was lost */
	uint64_t	dirty:1;		/* in the real pool, when last observed */
	uint64_t	used_again:1;	/* since its load into the real pool */
	uint64_t	evicted:1;		/* from the real pool, not long ago */
	uint64_t	look:LOOK_BITS; /* the last one, if it met the page; or 0 */
} PageState;

_Static_assert(sizeof(PageState) == sizeof(uint64_t), "the state of a page has 64 bits");
_Static_assert(LOOK_BITS > 2, "a look differs from those before it");

static inline unsigned
count_in_pool(PageState state, int size)
{
	return (unsigned) ((uint64_t) state.counts >> (COUNT_BITS * size) & ABSENT);
}

static inline void
set_count_in_pool(PageState *state, int size, uint64_t count)
{
	uint64_t	counts = state->counts;

	counts &= ~(ABSENT << (COUNT_BITS * size));
	state->counts = counts | count << (COUNT_BITS * size);
}

/* The sizes whose pool is without the page: the lowest bit of each count. */
static inline uint64_t
absent_sizes(PageState state)
{
	return (uint64_t) state.counts >> (COUNT_BITS - 1) & EACH_SIZE;
}

static inline uint64_t
size_bit(int size)
{
	return UINT64_C(1) << (COUNT_BITS * size);
}

static inline bool
has_size(uint64_t sizes, int size)
{
	return sizes >> (COUNT_BITS * size) & 1;
}

/* As if what happens at some sizes were what happens today. */
static inline uint64_t
as_today(uint64_t absent, uint64_t sizes)
{
	return has_size(absent, PBP_ADVICE_BASELINE) ? absent | sizes : absent & ~sizes;
}

static inline bool
absent_everywhere(PageState state)
{
	return absent_sizes(state) == EACH_SIZE;
}

/*
 * How many phases of evictions have begun since this pool evicted the page, by the number of the
 * phase now; PHASES: it is not known to have done so.  Wraps around.
 */
static inline unsigned
phases_absent(PageState state, int size, uint64_t phase)
{
	unsigned	count = count_in_pool(state, size);

	return count == ABSENT ? PHASES : (unsigned) ((phase + PHASES - (count - EVICTED)) % PHASES);
}

static inline unsigned
look_field(uint64_t look)
{
	return 1 + (unsigned) (look % ((1 << LOOK_BITS) - 1));
}

static inline bool
met_in_look(PageState state, uint64_t look)
{
	return state.look == look_field(look);
}

/*
 * Raise all counts at once, those of absent pages from 0.  No sum leaves its bits, and one above
 * the maximum shows in the highest bit after another addition.
 */
static inline void
raise_counts(PageState *state, uint64_t absent, uint64_t amount, uint64_t usage_max)
{
	uint64_t	sums = (state->counts & ~(absent * ABSENT)) + amount * EACH_SIZE;
	uint64_t	raised = sums + (USAGE_LIMIT - usage_max) * EACH_SIZE;
	uint64_t	excess = raised >> (COUNT_BITS - 1) & EACH_SIZE;

	excess *= ABSENT;
	state->counts = (sums & ~excess) | (usage_max * EACH_SIZE & excess);
}

/* ---- what is counted ---- */

typedef struct PageRecord
{
	uint32_t	fingerprint;	/* tells it from others of its chain */
	uint32_t	next;			/* in its chain */
	PageState	state;
} PageRecord;

/* Records in a hash table.  Pages are named by their index. */
typedef struct PageTable
{
	uint32_t	max_pages;
	uint32_t	npages;			/* records that were ever in use */
	uint32_t	nheads;
	uint32_t	reclaimer;		/* where the search for a free record stands */
	bool		exhausted;		/* this look cannot find a free record */
	PageRecord *pages;
	uint32_t   *heads;
} PageTable;

/* Where a look met a page. */
typedef struct Meeting
{
	int32_t		buffer;
	uint32_t	page;
} Meeting;

/* What happened to a page, and how often; "again" if the same look found another use of it. */
typedef struct Event
{
	uint32_t	page:PAGE_BITS;
	uint32_t	load:1;
	uint32_t	again:1;
	uint32_t	amount:COUNT_BITS - 1;
} Event;

/* All that one look met, in the order of buffers, and what it found. */
typedef struct LookLists
{
	uint32_t	nmeetings;
	uint32_t	nevents;
	Meeting    *meetings;
	Event	   *events;
} LookLists;

/*
 * A page that returns after so many phases would have stayed in a pool of the next size.  If it
 * returns in one of the first of these, it would have stayed in a pool that is slightly larger; in
 * one of the last, only in one that is hardly smaller than the next size.
 */
#define PHASES_TO_NEXT		5

/* A clock sweep over the sample's share of a pool of one size. */
typedef struct SimulatedPool
{
	uint32_t	max_slots;
	uint32_t	nslots;
	uint32_t	nfilled;
	uint32_t	hand;
	uint32_t	nlearned;		/* pages used since knowledge was lost, at most nslots */
	bool		learning;		/* some misses may be warm-up artifacts */
	uint64_t	phase;			/* of evictions; see PHASES_TO_NEXT */
	double		evictions;		/* in this phase */
	uint32_t   *slots;			/* their pages */
	double		kept;			/* of the pages that only scans read, the share that it holds */
} SimulatedPool;

/* What decays of one size. */
typedef struct SizeCounters
{
	double		accesses;		/* by the server, while the rest was counted */
	double		skipped;		/* those while its pool was filled again */
	double		baseline_misses[GROUPS];
	double		extra_misses[GROUPS];	/* more than those of the baseline */
	double		misses_again;	/* none if uses between two looks come together */
	double		steps;			/* of the simulated hand */
	double		to_next;		/* misses that a pool of the next size avoids */
	double		near_this;		/* of these, a slightly larger one, too */
	double		near_next;		/* or only one that is hardly smaller */
	double		dirty_evictions;
} SizeCounters;

/* What one look finds, or all of them, in numbers of sampled pages; nothing but doubles. */
typedef struct Findings
{
	double		residents[GROUPS];
	double		scanned;		/* of them, by large scans alone */
	double		saturated;		/* of them, at the maximum usage count */
	double		loads[GROUPS];
	double		new_loads;
} Findings;

/* What decays; nothing but doubles. */
typedef struct Counters
{
	Findings	found;
	double		saturated_accesses; /* accesses times the share of residents at
									 * the maximum usage count */
	double		load_accesses;	/* and ticks, without a light load that is not learned */
	double		load_ticks;
	double		load_seconds;
	double		ticks;
	SizeCounters sizes[FACTORS];
} Counters;

/* What is halved in each period; nothing but doubles. */
typedef struct RecentCounters
{
	double		accesses;
	double		doubtful_misses[FACTORS];	/* perhaps warm-up artifacts */
} RecentCounters;

/* What the server counted in a period, or in the last seconds. */
typedef struct Period
{
	double		accesses;
	double		reads;
} Period;

/* The last periods. */
typedef struct Time
{
	double		age;			/* of the one that runs, which ends at 1 */
	int			nperiods;		/* that have ended and are remembered */
	bool		changed;		/* another load than before is followed */
	Period		periods[PERIODS + 1];	/* the one that runs first, then the latest */
} Time;

/* A load at a small share of the pace that is remembered; its sum decays. */
typedef struct LightLoad
{
	int64_t		ticks;			/* of the hand, at the last report */
	PbpAdviceCounts sum;
	double		lasted;			/* seconds */
	double		busy;			/* share of the last seconds with its accesses */
	bool		quiet;			/* the load now is no part of what is learned */
	bool		idle;			/* and not even a light load */
	Period		lately;			/* of light loads alone */
} LightLoad;

/* How much of learning is done. */
typedef struct Progress
{
	double		share;			/* of what must be seen; the largest so far */
	double		first_share;	/* that was above 0 */
	double		seconds;		/* since then */
} Progress;

/* Where the clock hand stands.  Computed once, and not for each buffer. */
typedef struct HandPosition
{
	int64_t		ticks;			/* buffers that it has passed, ever */
	int64_t		passes;
	int			buffer;
} HandPosition;

/* What the real pool has evicted; see evicted.c. */
typedef struct EvictedPages
{
	uint64_t	phase;			/* of evictions, since knowledge was lost */
	double		in_phase;		/* evictions in this phase */
	uint32_t	at_last_look;	/* that it has found */
} EvictedPages;

/* This look and the last. */
typedef struct LookState
{
	uint64_t	number;
	bool		looking;
	bool		lost;			/* what happened since the last is unknown */
	bool		counted;		/* the last one's figures count */
	double		passed;			/* ticks, since a look with fresh accesses */
	double		passed_counted; /* of these, with events that count */
	double		fresh_share;	/* of the fresh accesses that have been counted */
	uint32_t	next_meeting;	/* of the last look, to compare with */
	HandPosition now;
	HandPosition last;
	int64_t		first_ticks;	/* since knowledge was lost */
	Findings	found;
	PbpAdviceCounts fresh;		/* reported since the last look's end */
} LookState;

/* Moving averages over looks. */
typedef struct Averages
{
	double		residents;		/* 0: none yet */
	double		scanned_share;	/* of these, by large scans alone */
	double		lost_share;		/* of looks */
} Averages;

/* What is compared with the baseline for each relation. */
enum
{
	MISSES_AT_HALF,				/* of the pool; at half and double the size in turn */
	MISSES_AT_DOUBLE,
	WAITS_AT_HALF,				/* for storage, below the simulated pool */
	WAITS_AT_DOUBLE,
	EFFECTS
};

/* What decays of one relation, but for sampled_loads; nothing but doubles. */
typedef struct RelationCounters
{
	double		loads;
	double		waits;			/* of these, for storage, by the simulation */
	double		sampled_loads;
	double		extra[EFFECTS]; /* more than the baseline has */
	double		differing[EFFECTS]; /* only one of both has these */
	double		evicted;		/* by the real pool */
	double		read_again;		/* of these, soon */
} RelationCounters;

typedef struct RelationRecord
{
	bool		used;
	PbpRelationKey key;
	RelationCounters counters;
	/* for answers: */
	uint32_t	npages;			/* in use, in the window of relations */
	uint32_t	nhidden;		/* pages whose uses do not show */
} RelationRecord;

#define PBP_MAX_RELATIONS	512

/* The first record stands for all relations that have none. */
typedef struct Relations
{
	uint32_t	nrecords;
	uint32_t	nused;
	uint32_t	nheads;			/* of the hash table */
	RelationRecord *records;
	uint16_t   *heads;			/* numbers of records; 0: none */
	uint16_t   *of_page;		/* by page record */
	uint32_t	observed;		/* page whose relation is wanted */
	bool		refused;		/* a relation has found no room */
	int64_t		evicted_second;
	PbpWorkingSet working_set;
} Relations;

/* What decays of other policies; nothing but doubles. */
typedef struct PolicyCounters
{
	double		misses[PBP_POLICY_COUNT][PBP_POLICY_SIZES][GROUPS];
	double		skipped[PBP_POLICY_SIZES];	/* of today's policy, while pools were not in order */
	double		doubtful_misses[PBP_POLICY_SIZES];	/* of it, before that size was filled */
	double		uses;
} PolicyCounters;

/* Other policies, which see the same uses as the simulated pools. */
typedef struct PolicyRun
{
	PbpPolicies *policies;
	uint32_t	max_pages;		/* in a pool of today's size, for which there is memory */
	uint32_t	kept;			/* pages whose fingerprint is not above this are watched */
	bool		learned[PBP_POLICY_SIZES];
	double		turned_over[PBP_POLICY_SIZES];	/* pools that today's policy has missed since a
												 * loss of knowledge */
	PolicyCounters counters;
} PolicyRun;

typedef struct Advice
{
	PbpAdviceHead head;
	Relations  *relations;		/* NULL: none are watched */
	PolicyRun  *policies;		/* NULL: none but the server's own */
	double		sampling_rate;
	int			nbuffers;
	int			usage_max;
	bool		rings_apart;	/* the server counts their reads apart */
	bool		limited;		/* the page cache, by a cgroup, rather than by the machine */
	PbpAdviceFacts facts;
	bool		relations_crowded;	/* a relation has found no room, ever */
	bool		all_relations_wanted;	/* by this look */
	uint64_t	random;
	double		use_rates[LEVELS];	/* uses in a pass, by level */

	PageTable	table;
	SimulatedPool pools[FACTORS];
	uint64_t	refilling;		/* sizes that were learned, but whose pools do not
								 * hold yet what came while no look did; nothing
								 * is counted of them meanwhile */
	uint32_t	max_meetings;
	uint32_t	max_events;
	LookLists	lists[2];		/* of this look and the last */

	LookState	look;
	Averages	averages;
	EvictedPages evicted;
	PbpEvicted	fresh_evicted;	/* since the last report */
	PbpAdviceCounts server;		/* has counted this; decays as the next one does */
	Counters	counters;
	RecentCounters recent;
	Time		time;
	Period		lately;			/* the last seconds */
	LightLoad	light;
	Progress	progress[FACTORS];
	uint64_t	version;		/* another one after each change */
	struct CacheSet *cache_sets[CACHE_SETS]; /* simulated page caches, or NULL */
	int64_t		nsampled_loads; /* these four do not decay */
	int64_t		nlooks;
	int64_t		ngaps;
	int64_t		ndropped;
} Advice;

/* The latest version of any advice. */
extern uint64_t pbp_advice_version;

/* What was answered until now is outdated. */
static inline void
outdate_answers(Advice *advice)
{
	advice->version = ++pbp_advice_version;
}

static inline LookLists *
lists_of(Advice *advice, uint64_t look)
{
	return &advice->lists[look % 2];
}

/* For a loop, in its i-th step. */
static inline void
check_interrupts(uint32_t i)
{
	if (i % STEPS_PER_CHECK == 0 && pbp_advice_check_interrupts != NULL)
		pbp_advice_check_interrupts();
}

static inline unsigned
group_of(uint32_t fingerprint)
{
	return fingerprint % GROUPS;
}

/* The chain of a page in a hash table.  Keys of sampled pages are small numbers, so mix them. */
static inline uint32_t
chain_of(uint32_t fingerprint, uint32_t nchains)
{
	return (uint32_t) ((fingerprint * UINT64_C(0x9E3779B97F4A7C15) >> 32) * nchains >> 32);
}

/* Still in the sample. */
static inline bool
remains(const Advice *advice, uint32_t page)
{
	return advice->table.pages[page].fingerprint <= advice->head.kept;
}

static inline double
sum_of_groups(const double *counts)
{
	double		sum = 0;

	for (int i = 0; i < GROUPS; i++)
		sum += counts[i];
	return sum;
}

/* Of the sample. */
static inline double
all_loads(const Advice *advice)
{
	return sum_of_groups(advice->counters.found.loads);
}

/* The counters of a page's relation. */
static inline RelationCounters *
counters_of_page(const Relations *relations, uint32_t page)
{
	return &relations->records[relations->of_page[page]].counters;
}

/* The share of the pool that is in the sample, by chance and rate. */
static inline double
share_of_pool(const Advice *advice)
{
	return advice->averages.residents > 0 ?
		advice->averages.residents / advice->nbuffers : advice->sampling_rate;
}

/* How often the hand has visited a buffer. */
static inline int64_t
visits(HandPosition hand, int buffer)
{
	return hand.passes + (buffer < hand.buffer);
}

/* Since the last look. */
static inline int64_t
new_visits(const Advice *advice, int buffer)
{
	return visits(advice->look.now, buffer) - visits(advice->look.last, buffer);
}

/* Passes of the hand since knowledge was lost. */
static inline double
passes_watched(const Advice *advice)
{
	return (double) (advice->look.now.ticks - advice->look.first_ticks) / advice->nbuffers;
}

/* Since the last look. */
static inline double
ticks_passed(const Advice *advice)
{
	return (double) (advice->look.now.ticks - advice->look.last.ticks);
}

static inline uint64_t
next_random(Advice *advice)
{
	uint64_t	x = advice->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	advice->random = x;
	return x;
}

static inline double
next_share(Advice *advice)
{
	return (double) (next_random(advice) >> 11) / 9007199254740992.0;
}

/* One of the two integers around the mean, so that this is the expectation. */
static inline double
rounded(Advice *advice, double mean)
{
	return floor(mean + next_share(advice));
}

/* accesses.c */
extern void pbp_confirm_accesses(Advice *advice, bool counts);
extern void pbp_count_look(Advice *advice);
extern double pbp_moved(const Advice *advice);
extern double pbp_moved_until(const Advice *advice);
extern const Period *pbp_counted_lately(const Advice *advice);

/* periods.c */
extern void pbp_pass_time(Advice *advice, const PbpAdviceCounts *counts, double age, double moved);
extern double pbp_usual_difference(const Advice *advice);
extern double pbp_variation_error(const Advice *advice);

/* observe.c */
extern uint64_t pbp_absent_from(const Advice *advice, uint64_t key);

/* evicted.c */
extern void pbp_follow_load(Advice *advice, uint32_t page, bool met);
extern void pbp_follow_gone(Advice *advice);

/* pools.c */
extern void pbp_thin_pools(Advice *advice, double share);
extern void pbp_resize_pools(Advice *advice);
extern uint64_t pbp_not_kept(Advice *advice);
extern unsigned pbp_near_phases(const Advice *advice, int i);
extern void pbp_play_events(Advice *advice, uint64_t look, bool counts);

/* policyruns.c; without policies, only thinning does nothing */
extern void pbp_play_policies(Advice *advice, uint32_t fingerprint, unsigned amount, bool counts);
extern void pbp_follow_policies(Advice *advice);
extern void pbp_thin_policies(Advice *advice);

/* relationreads.c */
extern void pbp_scale_relations(Advice *advice, double share, double share_of_records);
extern void pbp_count_event(Relations *relations, Event event, uint64_t absent, uint64_t waits);
extern void pbp_decay_relations(Relations *relations, double weight);
extern void pbp_reduce_effects(Relations *relations, int size, bool only_waits, double weight);

/* cachesizes.c; returns the share of the records of today's memory that remain */
extern double pbp_scale_caches(Advice *advice, double share);

/* pagecaches.c; without caches, these do nothing */
extern uint64_t pbp_play_misses(Advice *advice, uint32_t fingerprint, uint64_t absent, bool counts);
extern void pbp_play_write(Advice *advice, uint32_t fingerprint, int size);
extern void pbp_doubt_caches(Advice *advice);
extern void pbp_resize_caches(Advice *advice);
extern void pbp_decay_caches(Advice *advice, double weight, double recent_weight);

/* learning.c */
extern double pbp_seconds_left(const Progress *progress);
extern double pbp_counted_doubt(const Advice *advice, int i);
extern bool pbp_size_is_learning(const Advice *advice, int i);
extern void pbp_learn(Advice *advice);
extern void pbp_follow_learning(Advice *advice);

#endif							/* PBP_INTERNAL_H */

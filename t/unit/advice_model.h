/*
 * advice_model.h
 *	  A bench: one exact pool that runs a load, observed by the advice as the sampler
 *	  would do it.
 *
 * Tests of miss ratios use it.  Loads are in proportion to the pool, and the truth is
 * what pools of other sizes miss in the same load.  Tests of storage reads have scenes,
 * see storage_model.h; there is no third harness.
 */
#ifndef ADVICE_MODEL_H
#define ADVICE_MODEL_H

#include "statistics/figures.h"
#include "exact_caches.h"
#include "random.h"
#include "tap.h"

#define SAMPLES			3		/* drawn of the pages, in the same run */
#define SETTLE_POOLS	7		/* pools' worth of reads before the window */
#define MOVED_POOLS		12		/* and after the working set has moved */
#define WINDOW_POOLS	6
#define IDLE_POOLS		20		/* of accesses, to a look while nothing moves */
#define IDLE_SECONDS	5		/* instead, if the load takes time */
#define SMALLEST		1		/* index of the smallest size that must be right */
#define TODAY			5

typedef enum Kind
{
	UNIFORM,
	ZIPF,
	TWO_SETS,
	SCANS,						/* of small tables, through the pool */
	RING_SCANS,					/* of large ones, through a ring */
	MOVING,
	PGBENCH,
	KINDS,
	NEARLY_FITS = KINDS,		/* these are for tests of their own */
	NEW_PAGES,
	WIDE,						/* all pages of six pools alike */
	LOOP,						/* over 1.3 pools */
	SLOW_TURNS,					/* of two sets of 0.85 pools */
	FAST_TURNS,
	NIGHT_AND_DAY,
	PERIODIC_SCAN				/* of 1.5 pools, not through a ring */
} Kind;

/* Accesses in a second of loads that take time; and the night before a day. */
#define NIGHT_PACE		50000
#define DAY_PACE		7500
#define PHASE			240		/* seconds of a night, and of a day */
#define NIGHT			((int64_t) PHASE * NIGHT_PACE)
#define DAY				((int64_t) PHASE * DAY_PACE)

typedef struct Trace
{
	Kind		kind;
	int			nbuffers;		/* of today's pool */
	Random		random;
	int64_t		count;
	bool		timed;
	double		seconds;		/* 0 if it takes no time */
	int64_t		move_at;		/* the working set moves, or never */
	int			scanned;
	int			step;			/* of a transaction */
	int			row;			/* that it is about */
} Trace;

/* Of reads of sampled pages from the page cache: how many more this serves than the simulated one. */
typedef struct Compared
{
	double		reads;
	double		served_more;
} Compared;

typedef struct Run
{
	Kind		kind;
	int			nbuffers;
	uint64_t	seed;
	bool		timed;			/* the load takes time */
	double		looks_per_pass;
	uint64_t	sample_seed;	/* of the first sample; 0: the usual one */
	PbpAdvice  *advice[SAMPLES];
	double		uncounted;		/* share of the reads that the server does not count */
	bool		rings_together; /* their reads count as others */
	bool		totals;			/* of memory other than today's are simulated */
	Compared	compared[SAMPLES];	/* until they are taken */
	int			written_from;	/* this page and those after it are dirty; 0: none */
	int			scanned_from;	/* only scans read them; likewise */
	uint32_t	(*relation_of) (int page);	/* NULL: no relations are watched */
	int64_t		second;			/* of the next look, if relations are watched */
	int64_t		thin_at;		/* after so many reads, an eighth of the sample
								 * remains; 0: all of it */
	bool		pauses;			/* no look in three of six pools' worth of reads */
	int			missed_percent; /* of the looks, by chance */
	int			missed;			/* in turn, before the next look */
	Random		chance;
	int64_t		window_start;	/* in accesses */
	int64_t		window_end;
	int64_t		move_at;
} Run;

typedef struct Watch
{
	int64_t		ticks;
	int64_t		count;
	int64_t		hits;
	int64_t		reads;
	int64_t		ring_reads;
	int64_t		ring_hits;
	double		seconds;
} Watch;

/* A pool that runs a trace in steps, observed by one advice. */
typedef struct Bench
{
	Run			run;
	Pool		pool;
	Trace		trace;
	Watch		watch;
} Bench;

extern const char *const kind_names[KINDS];

/* advice_traces.c */
extern int trace_pages(int nbuffers);
extern void trace_init(Trace *trace, Kind kind, int nbuffers, uint64_t seed, int64_t move_at);
extern int next_page(Trace *trace, bool *bulk);
extern uint64_t key_of(int page, uint64_t seed);

/* advice_run.c */
extern uint64_t sample_seed(const Run *run, int sample);
extern PbpAdviceCounts count_accesses(const Run *run, const Pool *pool, const Watch *watch);
extern void look_only(Run *run, int sample, const Pool *pool);
extern void look_at_pool(Run *run, int sample, const Pool *pool, const Watch *watch);
extern void look_and_watch(Run *run, const Pool *pool, int64_t count, double seconds, Watch *watch);
extern void watch_pool(Run *run, const Pool *pool, const Trace *trace, Watch *watch);
extern void run_today(Run *run);
extern double true_miss_ratio(const Run *run, double factor);
extern void start(Run *run, int samples, size_t bytes, double rate);
extern void finish(Run *run);
extern PbpAdviceRow row_of(const PbpAdvice *advice, int i);
extern PbpAdviceStorageRow storage_row_of(const PbpAdvice *advice, int i);
extern PbpAdviceTotals totals_of(const PbpAdvice *advice);
extern double worst_error(const Run *run, int from, int to);
extern void watch_relations(Run *run, uint32_t (*relation_of) (int page), size_t bytes);
extern int count_known(const PbpAdvice *advice, int from);
extern int count_reason(const PbpAdvice *advice, int from, PbpAdviceReason reason);
extern bool all_unknown(const PbpAdvice *advice, int from, PbpAdviceReason reason);
extern double quantile(double *values, int nvalues, double share);
extern void bench_start_run(Bench *bench, const Run *run, int samples, size_t bytes, double rate);
extern void bench_start(Bench *bench, Kind kind, int nbuffers, size_t bytes, double rate);
extern void bench_step(Bench *bench, bool watched);
extern void bench_run(Bench *bench, double pools, bool watched);
extern void bench_learn(Bench *bench, Kind kind, double pools);
extern void bench_finish(Bench *bench);

#endif							/* ADVICE_MODEL_H */

/*
 * advice_run.c
 *	  Benches, and pools of other sizes that run their loads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advice_model.h"

uint64_t
sample_seed(const Run *run, int sample)
{
	return (run->sample_seed > 0 ? run->sample_seed : 1000) + (uint64_t) sample;
}

/* The server's counts of accesses since the last look. */
PbpAdviceCounts
count_accesses(const Run *run, const Pool *pool, const Watch *watch)
{
	int64_t		ring_reads = pool->ring_reads - watch->ring_reads;
	PbpAdviceCounts counts = {0};

	counts.reads = (int64_t) ((1 - run->uncounted) * (double) (pool->reads - watch->reads));
	if (run->rings_together)
		counts.reads += ring_reads;
	else
		counts.ring_reads = counts.scan_reads = ring_reads;
	counts.accesses = (double) (pool->hits - watch->hits) + counts.reads;
	counts.scan_hits = pool->ring_hits - watch->ring_hits;
	if (run->scanned_from > 0)
	{
		counts.alone_reads = counts.scan_reads;
		counts.alone_hits = counts.scan_hits;
	}
	return counts;
}

void
look_only(Run *run, int sample, const Pool *pool)
{
	PbpAdvice  *advice = run->advice[sample];

	if (run->relation_of != NULL)
		pbp_advice_look_time(advice, run->second++);
	pbp_advice_begin(advice, pool->ticks);
	for (int i = 0; i < pool->used; i++)
	{
		int			page = pool->page[i];
		uint64_t	key = key_of(page, sample_seed(run, sample));

		if (!pbp_advice_sampled(advice, key))
			continue;
		pbp_advice_observe(advice, key, i, pool->usage[i], run->written_from > 0 && page >= run->written_from,
						   run->scanned_from > 0 && page >= run->scanned_from);
		if (run->relation_of != NULL && pbp_advice_head(advice)->wants_relation)
			pbp_advice_set_relation(advice, &(PbpRelationKey) {.relfilenode = run->relation_of(page)});
	}
	pbp_advice_end(advice, pool->ticks);
}

void
look_at_pool(Run *run, int sample, const Pool *pool, const Watch *watch)
{
	PbpAdviceCounts counts = count_accesses(run, pool, watch);

	pbp_advice_accesses(run->advice[sample], &counts);
	look_only(run, sample, pool);
}

/* All samples look at what has happened since the last look, in these seconds, until this access. */
void
look_and_watch(Run *run, const Pool *pool, int64_t count, double seconds, Watch *watch)
{
	PbpAdviceCounts counts = count_accesses(run, pool, watch);

	counts.seconds = seconds;
	for (int i = 0; i < SAMPLES && run->advice[i]; i++)
	{
		pbp_advice_accesses(run->advice[i], &counts);
		look_only(run, i, pool);
	}
	*watch = (Watch) {pool->ticks, count, pool->hits, pool->reads, pool->ring_reads, pool->ring_hits, watch->seconds + seconds};
}

static bool
is_idle(const Run *run, const Trace *trace, const Watch *watch)
{
	if (trace->timed)
		return trace->seconds - watch->seconds >= IDLE_SECONDS;
	return trace->count - watch->count >= (int64_t) IDLE_POOLS * run->nbuffers;
}

/* Scan whenever the sampler would. */
void
watch_pool(Run *run, const Pool *pool, const Trace *trace, Watch *watch)
{
	if (pool->ticks - watch->ticks < (1 + run->missed) * run->nbuffers / run->looks_per_pass && !is_idle(run, trace, watch))
		return;
	look_and_watch(run, pool, trace->count, trace->seconds - watch->seconds, watch);
	for (run->missed = 0; below(&run->chance, 100) < run->missed_percent;)
		run->missed++;
}

/* ---- benches ---- */

/* The pool is empty, and the load begins.  The run is given. */
static void
bench_begin(Bench *bench)
{
	const Run  *run = &bench->run;

	pool_init(&bench->pool, run->nbuffers, trace_pages(run->nbuffers));
	trace_init(&bench->trace, run->kind, run->nbuffers, run->seed, INT64_MAX);
	bench->trace.timed = run->timed;
}

void
bench_start_run(Bench *bench, const Run *run, int samples, size_t bytes, double rate)
{
	*bench = (Bench) {.run = *run};
	start(&bench->run, samples, bytes, rate);
	bench_begin(bench);
}

void
bench_start(Bench *bench, Kind kind, int nbuffers, size_t bytes, double rate)
{
	bench_start_run(bench, &(Run) {.kind = kind, .nbuffers = nbuffers, .seed = 7, .looks_per_pass = 8}, 1, bytes, rate);
}

/* One access, and a look if one is due. */
void
bench_step(Bench *bench, bool watched)
{
	bool		bulk;
	int			page = next_page(&bench->trace, &bulk);

	pool_access(&bench->pool, page, bulk);
	if (watched)
		watch_pool(&bench->run, &bench->pool, &bench->trace, &bench->watch);
}

/* For a number of pools' worth of reads, with or without looks. */
void
bench_run(Bench *bench, double pools, bool watched)
{
	int64_t		reads = bench->pool.reads + (int64_t) (pools * bench->run.nbuffers);

	while (bench->pool.reads < reads)
		bench_step(bench, watched);
}

/* 8192 buffers, observed from the start for a number of pools' worth of reads. */
void
bench_learn(Bench *bench, Kind kind, double pools)
{
	bench_start(bench, kind, 8192, 8192 * 10, 1.0 / 20);
	bench_run(bench, pools, true);
}

void
bench_finish(Bench *bench)
{
	pool_free(&bench->pool);
	finish(&bench->run);
}

/* ---- pools of all sizes in one load ---- */

static void
thin_samples(Run *run)
{
	for (int i = 0; i < SAMPLES && run->thin_at > 0; i++)
		pbp_advice_thin(run->advice[i], 0.125);
	run->thin_at = 0;
}

/* Runs the baseline pool under observation, and finds the window. */
void
run_today(Run *run)
{
	Bench		bench = {.run = *run};
	const Pool *pool = &bench.pool;
	Trace	   *trace = &bench.trace;
	int64_t		reads = (int64_t) SETTLE_POOLS * run->nbuffers;

	bench_begin(&bench);
	bench.run.window_start = bench.run.window_end = 0;
	while (bench.run.window_end == 0)
	{
		bench_step(&bench, false);
		if (!run->pauses || pool->reads / run->nbuffers % 6 < 3)
			watch_pool(&bench.run, pool, trace, &bench.watch);
		if (pool->reads == bench.run.thin_at)
			thin_samples(&bench.run);
		if (pool->reads < reads)
			continue;
		if (run->kind == MOVING && trace->move_at == INT64_MAX)
		{
			trace->move_at = trace->count;
			reads += (int64_t) MOVED_POOLS * run->nbuffers;
		}
		else if (bench.run.window_start == 0)
		{
			bench.run.window_start = trace->count;
			reads += (int64_t) WINDOW_POOLS * run->nbuffers;
		}
		else
			bench.run.window_end = trace->count;
	}
	bench.run.move_at = trace->move_at;
	*run = bench.run;
	pool_free(&bench.pool);
}

/* What a pool of another size misses in the same window. */
double
true_miss_ratio(const Run *run, double factor)
{
	Pool		pool;
	Trace		trace;
	int64_t		hits = 0;
	int64_t		reads = 0;
	int64_t		ring_reads = 0;
	double		ratio;

	pool_init(&pool, (int) (factor * run->nbuffers), trace_pages(run->nbuffers));
	trace_init(&trace, run->kind, run->nbuffers, run->seed, run->move_at);
	while (trace.count < run->window_end)
	{
		bool		bulk;
		int			page = next_page(&trace, &bulk);

		pool_access(&pool, page, bulk);
		if (trace.count == run->window_start)
		{
			hits = pool.hits;
			reads = pool.reads;
			ring_reads = pool.ring_reads;
		}
	}
	reads = pool.reads - reads + (run->rings_together ? pool.ring_reads - ring_reads : 0);
	ratio = (double) reads / (double) (pool.hits - hits + reads);
	pool_free(&pool);
	return ratio;
}

void
start(Run *run, int samples, size_t bytes, double rate)
{
	memset(run->advice, 0, sizeof(run->advice));
	for (int i = 0; i < samples; i++)
	{
		run->advice[i] = pbp_advice_init(malloc(bytes), bytes, run->nbuffers, USAGE_MAX, rate, !run->rings_together);
		pbp_advice_facts(run->advice[i])->smallest_scanned = INT64_MAX;
	}
}

void
finish(Run *run)
{
	for (int i = 0; i < SAMPLES; i++)
		free(run->advice[i]);
}

/* From now on, looks ask for the relation of a page, by the function given. */
void
watch_relations(Run *run, uint32_t (*relation_of) (int page), size_t bytes)
{
	run->relation_of = relation_of;
	ok(pbp_advice_watch_relations(run->advice[0], malloc(bytes), bytes), "there is room for relations");
}

/* ---- what is known ---- */

PbpAdviceRow
row_of(const PbpAdvice *advice, int i)
{
	return pbp_advice_row(advice, i);
}

PbpAdviceStorageRow
storage_row_of(const PbpAdvice *advice, int i)
{
	return pbp_advice_storage_row(advice, i);
}

PbpAdviceTotals
totals_of(const PbpAdvice *advice)
{
	return pbp_advice_totals(advice);
}

/* Of these sizes' miss ratios in the first sample; INFINITY: one is unknown. */
double
worst_error(const Run *run, int from, int to)
{
	double		worst = 0;

	for (int i = from; i <= to; i++)
	{
		PbpAdviceRow row = row_of(run->advice[0], i);

		worst = fmax(worst, row.reason == PBP_ADVICE_KNOWN ?
					 fabs(row.ratio.value - true_miss_ratio(run, row.factor)) : INFINITY);
	}
	return worst;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		one = *(const double *) a;
	double		other = *(const double *) b;

	return (one > other) - (one < other);
}

/* Sorts.  0 for none. */
double
quantile(double *values, int nvalues, double share)
{
	qsort(values, (size_t) nvalues, sizeof(double), compare_doubles);
	return nvalues > 0 ? values[(int) (share * (nvalues - 1) + 0.5)] : 0;
}

/* How many of these rows have a figure. */
int
count_known(const PbpAdvice *advice, int from)
{
	int			known = 0;

	for (int i = from; i < PBP_ADVICE_FACTORS; i++)
	{
		PbpAdviceRow row = row_of(advice, i);

		known += row.reason == PBP_ADVICE_KNOWN || !isnan(row.ratio.value);
	}
	return known;
}

int
count_reason(const PbpAdvice *advice, int from, PbpAdviceReason reason)
{
	int			found = 0;

	for (int i = from; i < PBP_ADVICE_FACTORS; i++)
		found += row_of(advice, i).reason == reason;
	return found;
}

bool
all_unknown(const PbpAdvice *advice, int from, PbpAdviceReason reason)
{
	return count_known(advice, from) == 0 &&
		count_reason(advice, from, reason) == PBP_ADVICE_FACTORS - from;
}

/*
 * days_worker.c
 *	  The worker: what src/sampler does each second, in a server whose time is
 *	  simulated.
 *
 * All that is learned and computed is the product's own code.  Where that is in a
 * file that includes postgres.h, the comment names the function that is repeated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "days.h"
#include "os/osmemory.h"

/* Pages of both caches together, and those that the page cache must have. */
#define ALL_PAGES			8192
#define LEAST_CACHE_PAGES	4096

/* sampler/learner.c */
#define ENOUGH_PAGES		4000.0
#define HALF_LIFE_MIX		20.0
#define HALF_LIFE_MIX_POOLS	0.75

/* sampler/sessiontimes.c */
#define HALF_LIFE			60.0

/* sampler/hours.c */
#define HOURS_OF_DAY		24
#define HOURS_OF_WEEK		168
#define NEARLY_ALL_HOURS	0.9

/* sampler/report.c */
#define LARGE_SELF_ERROR	0.2

/* What a server of 4 GB gives: a small pool stands for the sample of a large one. */
#define ADVICE_BYTES		((size_t) 4 * 1024 * 1024)

/* ---- the server ---- */

/* What a pool leaves. */
int
cache_pages(int nbuffers)
{
	return ALL_PAGES - (int) (pbp_pool_bytes((int64_t) nbuffers * BUFFER_BYTES) / BUFFER_BYTES);
}

/* That sessions have waited for reads, ever. */
double
waited_ms(const Memory *memory)
{
	return STORAGE_MS * (double) memory->storage_reads +
		CACHED_MS * (double) (memory->reads - memory->storage_reads);
}

static inline int64_t
now_ns(const Worker *worker)
{
	return worker->second * INT64_C(1000000000);
}

/* Of the system's clock. */
static inline int64_t
clock_second(const Worker *worker)
{
	return worker->second + worker->clock_error;
}

/* ---- looks ---- */

/* visit_buffer() of sampler/learner.c */
static void
visit_buffer(Worker *worker, int buffer)
{
	const Pool *pool = worker->pool;
	int			page = buffer < pool->used ? pool->page[buffer] : NONE;
	uint64_t	key = key_of(page, pbp_advice_head(worker->advice)->salt);
	PbpRelationKey relation;
	bool		loaded;
	int			number;

	if (page == NONE || !pbp_advice_sampled(worker->advice, key))
		return;
	loaded = pbp_look_page(&worker->look, key, buffer, pool->usage[buffer], false, false);
	relation = (PbpRelationKey) {.relfilenode = 1 + (uint32_t) table_of(page)};
	if (pbp_advice_head(worker->advice)->wants_relation)
		pbp_advice_set_relation(worker->advice, &relation);
	if (!loaded)
		return;
	pbp_count_reads(&worker->loads, &relation, 1);
	number = pbp_advice_simulates(worker->advice, key) ?
		pbp_served_load(&worker->served, key, now_ns(worker)) : -1;
	if (number >= 0)
		worker->probed_pages[number] = page;
}

static void
read_range(void *arg, int first, int end)
{
	for (int i = first; i < end; i++)
		visit_buffer(arg, i);
}

static void
read_buffers(void *arg, const int *buffers, int nbuffers)
{
	for (int i = 0; i < nbuffers; i++)
		visit_buffer(arg, buffers[i]);
}

/* Several times in a pass, and for each report. */
void
worker_look(Worker *worker)
{
	const Pool *pool = worker->pool;

	if (pool->used < pool->nbuffers)
		pbp_look_is_incomplete(&worker->look);
	pbp_advice_look_time(worker->advice, worker->second);
	pbp_look_begin(&worker->look, pool->ticks);
	if (pbp_advice_head(worker->advice)->lost)
		pbp_served_forget_answers(&worker->served);
	pbp_look_end(&worker->look, pool->ticks);
	worker->look_ticks = pool->ticks;
}

/* probe_pages() of sampler/probing.c, for all that are remembered */
static void
probe_pages(Worker *worker, const Memory *memory)
{
	for (int i = 0; i < PBP_SERVED_PAGES; i++)
		if (pbp_served_has_page(&worker->served, i))
			pbp_served_answer(&worker->served, i,
							  (PbpCacheAnswer) {memory->cache.pages[worker->probed_pages[i]].list != NONE, NAN},
							  pbp_advice_caches(worker->advice, worker->served.pages[i].key));
}

/* ---- reports ---- */

/* pbp_count_session_time() of sampler/sessiontimes.c */
static void
count_session_time(Worker *worker, const SessionTimes *fresh)
{
	SessionTimes *times = &worker->times;
	double		weight = exp2(-fresh->seconds / HALF_LIFE);

	times->seconds = weight * times->seconds + fresh->seconds;
	times->active_ms = weight * times->active_ms + fresh->active_ms;
	if (fresh->reads == 0)
		return;
	times->reads = weight * times->reads + fresh->reads;
	times->read_ms = weight * times->read_ms + fresh->read_ms;
}

/* pbp_report_times() there; probes are as exact as those of a quiet machine */
static PbpReadTimes
read_times(const Worker *worker)
{
	const SessionTimes *times = &worker->times;
	PbpFigure	measured = times->reads >= 50 ?
		(PbpFigure) {times->read_ms * 1e6 / times->reads, 0} : PBP_NO_FIGURE;

	return pbp_read_times((PbpFigure) {CACHED_MS * 1e6, CACHED_MS * 1e5},
						  (PbpFigure) {STORAGE_MS * 1e6, STORAGE_MS * 1e5},
						  measured,
						  pbp_storage_share(&worker->rows[PBP_ADVICE_BASELINE],
											&worker->storage[PBP_ADVICE_BASELINE]),
						  (PbpFigure) {0, 0});
}

/* follow_mix() of sampler/learner.c */
static void
follow_mix(Worker *worker, const PbpAdviceCounts *counts)
{
	static PbpRelationsReport relations;
	PbpReadMix	learned = {0};
	PbpReadMix	lately;
	double		pools = counts->reads / worker->nbuffers;

	pbp_advice_report_relations(worker->advice, &relations);
	pbp_expect_mix(&relations, worker->totals.reads, 1, &learned);
	pbp_fade_read_counts(&worker->lately_read,
						 exp2(-counts->seconds / HALF_LIFE_MIX - pools / HALF_LIFE_MIX_POOLS));
	pbp_add_read_counts(&worker->lately_read, &worker->loads);
	pbp_mix_of_reads(&worker->lately_read, &lately);
	pbp_advice_facts(worker->advice)->other_mix =
		pbp_unusual_mix(&worker->usual_mix, pbp_mix_distance(&learned, &lately),
						worker->totals.change == PBP_LIGHT_LOAD ? 0 : counts->seconds);
	memset(&worker->loads, 0, sizeof(worker->loads));
}

/* place_of_hour() and pbp_count_hour() of sampler/hours.c */
static void
count_hour(Worker *worker, const PbpHourShare *share)
{
	int64_t		begins_at = clock_second(worker) / HOUR_SECONDS * HOUR_SECONDS;
	PbpHour    *hours = worker->hours;
	int			i = worker->nhours - 1;

	while (i >= 0 && hours[i].begins_at != begins_at)
		i--;
	if (i < 0)
	{
		if (worker->nhours == HOURS)
			memmove(hours, hours + 1, (size_t) --worker->nhours * sizeof(PbpHour));
		i = worker->nhours++;
		hours[i] = (PbpHour) {.begins_at = begins_at,.nbuffers = worker->nbuffers};
	}
	pbp_add_to_hour(&hours[i], share);
}

/* What happened since the last report. */
static PbpAdviceCounts
fresh_counts(Worker *worker, const Memory *memory, double seconds)
{
	PbpAdviceCounts counts = {
		.accesses = memory->pool.hits + memory->pool.reads - worker->counted.accesses,
		.reads = memory->pool.reads - worker->counted.reads,
		.seconds = seconds,
	};

	pbp_add_doubles(&worker->counted, &counts, sizeof(counts));
	worker->naccesses += counts.accesses;
	return counts;
}

static SessionTimes
fresh_times(Worker *worker, const Memory *memory, const PbpAdviceCounts *counts)
{
	double		ms = waited_ms(memory) - worker->counted_ms;

	worker->counted_ms += ms;
	return (SessionTimes)
	{
		.seconds = counts->seconds,.reads = counts->reads,.read_ms = ms,
		.active_ms = ms + WORK_MS * counts->accesses
	};
}

static void
read_figures(Worker *worker)
{
	worker->totals = pbp_advice_totals(worker->advice);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		worker->rows[i] = pbp_advice_row(worker->advice, i);
		worker->storage[i] = pbp_advice_storage_row(worker->advice, i);
	}
}

/* What the worker does each second: work() of sampler/sampler.c, and publish() of learner.c. */
void
worker_report(Worker *worker, const Memory *memory, double seconds)
{
	PbpAdviceCounts counts = fresh_counts(worker, memory, seconds);
	SessionTimes fresh = fresh_times(worker, memory, &counts);
	PbpHourShare share = {
		.seconds = seconds,
		.accesses = counts.accesses,
		.reads = (double) counts.reads,
		.active_ms = fresh.active_ms,
		.counted_ms = fresh.active_ms,
		.read_ms = fresh.read_ms,
		.misses = worker->rows,
		.storage = worker->storage,
		.fits = worker->fits,
	};

	pbp_advice_accesses(worker->advice, &counts);
	count_session_time(worker, &fresh);
	worker_look(worker);
	probe_pages(worker, memory);
	pbp_advice_set_os_cache(worker->advice, cache_pages(worker->nbuffers));
	pbp_served_calibrate(&worker->served, worker->advice, true);
	read_figures(worker);
	share.apart = pbp_advice_accesses_apart(worker->advice, &counts);
	share.times = read_times(worker);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (worker->rows[i].reason == PBP_ADVICE_KNOWN)
		{
			worker->accesses[i] += share.accesses - share.apart;
			worker->misses[i] += (share.accesses - share.apart) * worker->rows[i].ratio.value;
		}
	count_hour(worker, &share);
	follow_mix(worker, &counts);
}

/* ---- decisions ---- */

/* sum_hours() of sampler/hours.c */
void
worker_sum_hours(const Worker *worker, int hours, PbpHoursSum *sum)
{
	int64_t		now = clock_second(worker);
	int64_t		first = now / HOUR_SECONDS * HOUR_SECONDS - hours * HOUR_SECONDS;

	memset(sum, 0, sizeof(*sum));
	sum->wanted_seconds = (double) (now - first);
	for (int i = 0; i < worker->nhours; i++)
		if (worker->hours[i].begins_at >= first && worker->hours[i].begins_at <= now)
			pbp_sum_hour(sum, &worker->hours[i]);
}

static PbpDecision
decide(Worker *worker, const PbpCompared *waiting)
{
	PbpDecisionInput input = {
		.fits = worker->fits,
		.misses = worker->rows,
		.storage = worker->storage,
		.waiting = waiting,
		.active_ms = worker->times.active_ms / worker->times.seconds,
		.varies = worker->totals.varies,
		.hours = &worker->last_hours,
		.watched_seconds = (double) worker->second,
		.wanted_hours = HOURS_OF_DAY,
		.advised_before = pbp_size_of_factor((double) worker->advised_buffers / worker->nbuffers),
		.loaded = worker->naccesses >= worker->nbuffers,
		.evicted = worker->pool->ticks > 0,
		.unsettled = worker->totals.change != PBP_NO_CHANGE ||
		fabs(worker->totals.self_error) > LARGE_SELF_ERROR,
	};

	return pbp_decide(&input);
}

/* pbp_decide_report() of sampler/report.c, and pbp_sum_decision_hours() of hours.c */
void
worker_decide(Worker *worker)
{
	PbpCompared waiting[PBP_ADVICE_FACTORS];
	PbpWaitingInput now = {
		.accesses = worker->totals.seconds > 0 ?
		worker->totals.accesses / worker->totals.seconds : NAN,
		.times = read_times(worker),
		.misses = &worker->rows[PBP_ADVICE_BASELINE],
		.storage = &worker->storage[PBP_ADVICE_BASELINE],
		.varies = worker->totals.varies,
	};

	worker_sum_hours(worker, HOURS_OF_WEEK, &worker->last_hours);
	if (worker->last_hours.seconds < NEARLY_ALL_HOURS * worker->last_hours.wanted_seconds)
		worker_sum_hours(worker, HOURS_OF_DAY, &worker->last_hours);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		waiting[i] = pbp_waiting(&now, &worker->rows[i], &worker->storage[i]);
	worker->decision = decide(worker, waiting);
	if (worker->decision.verdict != PBP_VERDICT_UNKNOWN)
		worker->advised_buffers = (int64_t) (pbp_advice_factor(worker->decision.size) *
											 worker->nbuffers);
}

/* ---- beginning and end ---- */

/* create_advice() of sampler/learner.c */
static void
create_advice(Worker *worker, uint64_t salt)
{
	size_t		relations_bytes = 16384 + 20 * (size_t) worker->nbuffers;

	worker->advice = pbp_advice_init(malloc(ADVICE_BYTES), ADVICE_BYTES, worker->nbuffers,
									 USAGE_MAX, ENOUGH_PAGES / worker->nbuffers, true);
	pbp_advice_head(worker->advice)->salt = salt;
	pbp_advice_watch_relations(worker->advice, malloc(relations_bytes), relations_bytes);
	pbp_advice_init_storage(worker->advice, malloc(ADVICE_BYTES), ADVICE_BYTES, BUFFER_BYTES);
	pbp_advice_facts(worker->advice)->smallest_scanned = INT64_MAX;
}

void
worker_start(Worker *worker, const Memory *memory, uint64_t salt)
{
	worker->nbuffers = memory->pool.nbuffers;
	worker->pool = &memory->pool;
	worker->look_ticks = worker->pool->ticks;
	create_advice(worker, salt);
	pbp_look_init(&worker->look, worker->advice,
				  &(PbpLookReader) {worker, read_range, read_buffers});
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		worker->fits[i] = i <= PBP_ADVICE_BASELINE ||
			cache_pages((int) (pbp_advice_factor(i) * worker->nbuffers)) >= LEAST_CACHE_PAGES;
}

void
worker_finish(Worker *worker)
{
	free(worker->advice);
}

/*-------------------------------------------------------------------------
 *
 * sampler.c
 *	  The background worker: when to look at the pool, when to take a sample,
 *	  and how long to sleep.
 *
 * A look at the pool, several times during a pass of the hand, feeds the
 * advice (learner.c), which must not miss a page that comes and goes.  A
 * sample, once per pgbufprobe.history_interval, is added to the history
 * (history.c).  In between, the worker sleeps until the hand has moved on, and
 * long enough to stay within its share of a processor.  Every five minutes and
 * when it ends, it saves all for the next start (statefile.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "carry/carry.h"
#include "pool/pool.h"
#include "sampler/learner.h"
#include "sampler/pace.h"

/*
 * The maximum is how late the start of a load is noticed.  The worker sleeps
 * longer only to stay within its share of a processor.
 */
#define MIN_SLEEP_NS	INT64CONST(1000000)
#define MAX_SLEEP_NS	INT64CONST(1000000000)

/*
 * What signals take while the worker sleeps delays the next round by so much at most.
 * Without that limit, signals that take more than the allowed share would end all rounds.
 */
#define MAX_DELAY_NS	10000000000.0

/*
 * A sample of the history reads every buffer if that takes at most this share
 * of the allowed processor time.  Otherwise it estimates the counts from up to
 * MAX_READ buffers, with errors of up to about half a percent of the pool.
 */
#define SAMPLE_SHARE	0.5
#define MIN_READ		1024
#define MAX_READ		32768

/* What a buffer takes if all are read in turn, and one of a random sample, which is in no cache. */
#define READ_NS			2.5
#define RANDOM_READ_NS	100.0

/* Time between two saves, and if a setting has changed. */
#define SAVE_NS			INT64CONST(300000000000)
#define SAVE_SOON_NS	INT64CONST(1000000000)

/* How long what was restored is used before it counts as harmless. */
#define SAVE_RESTORED_NS	INT64CONST(60000000000)

/* pgbufprobe is in shared_preload_libraries. */
bool		pbp_sampler_is_preloaded = false;

typedef struct Sampler
{
	PbpLearner	learner;
	PbpClock	clock;			/* when last read */
	PbpHandPace pace;

	PbpNextSample step;			/* of the coarse history: since its last sample */

	int64		save_ns;		/* when to save the next time */
	int64		may_save_ns;	/* not before */

	int64		cpu_ns;			/* used up to the end of the last sleep */
	double		owed_ns;		/* of that, without what was slept for it */
	bool		resting;		/* until all of that is paid */
} Sampler;

/* ---- registration ---- */

void
pbp_sampler_register(void)
{
	pbp_sampler_is_preloaded = true;
	(void) pbp_register_worker(PBP_SAMPLER);
}

/* ---- looks and samples ---- */

static void
read_clock(Sampler *sampler)
{
	PbpClock	clock = pbp_read_clock();
	int64		ticks = pbp_ticks_between(sampler->clock, clock);
	PbpMoment  *now = &sampler->pace.now;

	now->ns = pbp_now_ns();
	now->cpu_ns = pbp_cpu_now_ns();
	/* while the hand seems to be behind, it counts from where it was */
	if (ticks == 0)
		return;
	now->ticks += ticks;
	sampler->clock = clock;
}

static void
look_at_pool(Sampler *sampler)
{
	pbp_pace_look(&sampler->pace);
	pbp_learner_begin_look(&sampler->learner, sampler->pace.now.ticks);
	read_clock(sampler);
	pbp_learner_end_look(&sampler->learner, sampler->pace.now.ticks);
	sampler->learner.interval.sample.looks++;
}

/* If not, there is no need to look. */
static bool
is_learning(const Sampler *sampler)
{
	return sampler->learner.advice != NULL;
}

/* True if a look must wait until the speed of the hand is known. */
static bool
must_wait(const Sampler *sampler)
{
	return is_learning(sampler) && sampler->pace.njudged == 0;
}

static int64
history_interval_ns(void)
{
	return (int64) pbp_history_interval_ms * 1000000;
}

/*
 * Adds a sample to the step of the coarse history that it ends in.  Steps end at
 * multiples of their length, so that those of all servers can be compared.
 */
static void
follow_step(Sampler *sampler)
{
	const int64 length = PBP_COARSE_SECONDS * USECS_PER_SEC;
	const PbpSample *sample = &sampler->learner.interval.sample;
	PbpSample  *step = &sampler->step.sample;
	PbpSample	before = *step;

	*step = *sample;
	for (Size i = 0; i < PBP_SAMPLE_COUNTS; i++)
		(&step->elapsed_ns)[i] += (&before.elapsed_ns)[i];
	step->read_ms += before.read_ms;
	step->read_ms_seconds += before.read_ms_seconds;
	pbp_add_read_counts(&sampler->step.reads, &sampler->learner.interval.reads);
	if (before.taken_at == 0 || before.taken_at / length == sample->taken_at / length)
		return;
	pbp_top_reads(&sampler->step.reads, step->top_reads);
	pbp_put_sample(PBP_COARSE_HISTORY, step);
	memset(&sampler->step, 0, sizeof(sampler->step));
	step->taken_at = sample->taken_at;
}

/*
 * The pool now, and what happened since the last sample.  Counts all buffers if there is
 * time for that, and otherwise estimates.
 */
static void
take_sample(Sampler *sampler)
{
	double		allowed_ns = SAMPLE_SHARE * pbp_max_cpu_fraction * (double) history_interval_ns();
	PbpSample  *sample = &sampler->learner.interval.sample;
	PbpSample	last = *sample;

	sample->taken_at = GetCurrentTimestamp();
	sample->taken_ns = pbp_now_ns();
	sample->ticks = sampler->pace.now.ticks;
	sample->allocations = pbp_read_published().allocations;
	sample->histogram = pbp_histogram(NULL, NBuffers * READ_NS <= allowed_ns ? NBuffers :
									  (int) Max(MIN_READ,
												Min(MAX_READ, allowed_ns / RANDOM_READ_NS)));
	if (last.taken_ns != 0)
	{
		sample->elapsed_ns = sample->taken_ns - last.taken_ns;
		sample->new_ticks = sample->ticks - last.ticks;
		/* fewer than before after a reset of statistics */
		sample->new_allocations = Max(0, sample->allocations - last.allocations);
	}
	pbp_top_reads(&sampler->learner.interval.reads, sample->top_reads);
	pbp_put_sample(PBP_FINE_HISTORY, sample);
	follow_step(sampler);
	sampler->learner.interval = (PbpNextSample) {
		.sample.taken_ns = sample->taken_ns,
		.sample.ticks = sample->ticks,
		.sample.allocations = sample->allocations,
	};
}

/* When the next sample is due; 0: none has been taken. */
static int64
next_sample_ns(const Sampler *sampler)
{
	int64		last_ns = sampler->learner.interval.sample.taken_ns;

	return last_ns == 0 ? 0 : last_ns + history_interval_ns();
}

static double
sleep_to_latest_look(const Sampler *sampler)
{
	return is_learning(sampler) ? pbp_sleep_to_latest_look(&sampler->pace) : INFINITY;
}

/* What signals take while the worker sleeps is owed up to a limit. */
static double
owed_now(const Sampler *sampler)
{
	return (double) (pbp_cpu_now_ns() - sampler->cpu_ns) +
		Min(sampler->owed_ns, MAX_DELAY_NS * pbp_max_cpu_fraction);
}

/* Do what is due. */
static void
work(Sampler *sampler)
{
	PbpLearner *learner = &sampler->learner;
	bool		learning = is_learning(sampler);
	double		kept = 1;		/* of the sample */
	bool		waits;
	bool		samples;

	read_clock(sampler);
	pbp_follow_speed(&sampler->pace);
	if (learning)
		kept = pbp_fit_sample(&sampler->pace, pbp_max_cpu_fraction,
							  pbp_advice_rate(learner->advice));
	if (kept < 1)
		(void) pbp_advice_thin(learner->advice, kept);
	else if (kept > 1 && pbp_advice_widen(learner->advice, kept))
		pbp_look_is_incomplete(&learner->look);
	waits = must_wait(sampler);
	samples = !waits && pbp_now_ns() >= next_sample_ns(sampler);
	pbp_learner_count(learner, false);
	/* free buffers take pages anywhere in the pool; there may be some for a short time only */
	if (learning && have_free_buffer())
		pbp_look_is_incomplete(&learner->look);
	if (learning && !waits &&
		(samples || pbp_look_is_due(&sampler->pace, learner->look.incomplete)))
		look_at_pool(sampler);
	/* the next report would come a second after one that knows of no look */
	if (!waits)
		pbp_learner_publish(learner);
	if (samples)
		take_sample(sampler);
	sampler->resting = pbp_must_rest(owed_now(sampler), pbp_max_cpu_fraction,
									 sleep_to_latest_look(sampler));
	if (sampler->resting)
	{
		/* what has been seen so far counts, with its accesses; what follows will be unknown */
		pbp_learner_count(learner, true);
		read_clock(sampler);
		look_at_pool(sampler);
	}
}

/* How long to sleep if nothing is owed: until a sample or, while learning, a look is due. */
static int64
wanted_sleep_ns(const Sampler *sampler, int64 used_ns)
{
	double		to_look = INFINITY;
	int64		sleep;

	if (must_wait(sampler))
		return PBP_FIRST_LOOK_NS;
	if (is_learning(sampler))
		to_look = pbp_sleep_to_look(&sampler->pace, sampler->learner.look.incomplete,
									(double) used_ns, pbp_max_cpu_fraction);
	sleep = (int64) Min(to_look, (double) MAX_SLEEP_NS);
	sleep = Min(sleep, next_sample_ns(sampler) - pbp_now_ns());
	return Max(sleep, MIN_SLEEP_NS);
}

/* ---- settings, resets and restarts ---- */

static void
save(Sampler *sampler)
{
	pbp_save_state();
	sampler->may_save_ns = pbp_now_ns() + SAVE_SOON_NS;
	sampler->save_ns = pbp_now_ns() + SAVE_NS;
}

/* A preloaded sampler finds this worker running; a started one starts it if it is wanted. */
static void
start_carry_over(void)
{
	if (!pbp_is_preloaded_worker())
		pbp_carry_launch(DatumGetUInt32(MyBgworkerEntry->bgw_main_arg));
}

static void
save_if_due(Sampler *sampler)
{
	if (pbp_now_ns() >= sampler->save_ns)
		save(sampler);
}

/* Returns true if a setting of the sampler has changed, after which all is saved soon. */
static bool
reload_settings(Sampler *sampler)
{
	if (pbp_reload_settings())
		start_carry_over();
	if (!pbp_sampler_settings_changed())
		return false;
	sampler->save_ns = Min(sampler->save_ns, sampler->may_save_ns);
	return true;
}

/* What was measured before means nothing now. */
static void
begin(Sampler *sampler)
{
	pbp_noticed_resets = pbp_count_resets();
	sampler->clock = pbp_read_clock();
	sampler->cpu_ns = pbp_cpu_now_ns();
	pbp_begin_pace(&sampler->pace, NBuffers, &(PbpMoment) {
				   .ns = pbp_now_ns(),.cpu_ns = sampler->cpu_ns,.ticks = pbp_ticks(sampler->clock)
	});
	memset(&sampler->learner.interval, 0, sizeof(sampler->learner.interval));
	memset(&sampler->step, 0, sizeof(sampler->step));
}

/* Forget all; what was saved is outdated, too. */
static void
start_over(Sampler *sampler)
{
	begin(sampler);
	pbp_restart_learner(&sampler->learner);
	sampler->save_ns = sampler->may_save_ns;
}

/*
 * Begins to learn.  A worker that is not the server's first finds the history in
 * shared memory.  What was restored is saved soon: two crashes before that set the
 * file aside, and one with a prediction would be made a second time.
 */
static void
start(Sampler *sampler)
{
	begin(sampler);
	(void) pbp_sampler_settings_changed();
	sampler->save_ns = pbp_now_ns() + SAVE_NS;
	if (pbp_history_begins)
		sampler->save_ns = pbp_restore_state() ? 0 : pbp_now_ns() + SAVE_RESTORED_NS;
	pbp_restart_learner(&sampler->learner);
}

/* ---- the worker ---- */

/*
 * Takes the sampler's place, and attaches what it publishes.  Where there is no
 * room for that, the worker ends for good: else it would fail every five seconds.
 */
static void
join(Datum arg)
{
	PG_TRY();
	{
		pbp_take_place(PBP_SAMPLER, arg);
		pbp_keep_results();
	}
	PG_CATCH();
	{
		EmitErrorReport();
		ereport(LOG,
				(errmsg("the sampler of pgbufprobe has ended, because it could not allocate %zu bytes of dynamic shared memory",
						sizeof(PbpResults)),
				 errhint("When there is room, pgbufprobe_start() starts it without a restart.")));
		proc_exit(0);
	}
	PG_END_TRY();
}

/* Between two looks. */
static void
check_interrupts(Sampler *sampler)
{
	if (pbp_must_end())
	{
		save(sampler);
		pbp_end_worker();
	}
	CHECK_FOR_INTERRUPTS();
}

/*
 * Sleeps until a round is due: by the time, or because a setting has changed, and in either
 * case not before the processor time used is the allowed share.
 */
static void
sleep_until_due(Sampler *sampler)
{
	const int64 start_ns = pbp_now_ns();
	const int64 start_cpu_ns = pbp_cpu_now_ns();
	const double owed_ns = owed_now(sampler);
	int64		wanted_ns = wanted_sleep_ns(sampler, start_cpu_ns - sampler->cpu_ns);
	int64		cpu_ns;
	double		paid_ns;

	for (;;)
	{
		double		owed_sleep_ns;
		int64		end_ns;
		int64		left_ns;

		if (reload_settings(sampler))
			wanted_ns = 0;
		owed_sleep_ns = sampler->resting ? owed_ns / pbp_rest_fraction(pbp_max_cpu_fraction) :
			pbp_sleep_for_debt(owed_ns, pbp_max_cpu_fraction, sleep_to_latest_look(sampler));
		end_ns = start_ns + Max(wanted_ns, (int64) owed_sleep_ns);
		left_ns = end_ns - pbp_now_ns();
		if (left_ns <= 0 || !pbp_sampler_on)
			break;
		pbp_announce_sample(Max(end_ns, next_sample_ns(sampler)));
		pbp_worker_wait((left_ns + 999999) / 1000000);
		check_interrupts(sampler);
	}
	cpu_ns = pbp_cpu_now_ns();
	paid_ns = (double) (pbp_now_ns() - start_ns) *
		(sampler->resting ? pbp_rest_fraction(pbp_max_cpu_fraction) : pbp_max_cpu_fraction);
	sampler->owed_ns = Max(0, owed_ns - paid_ns) + (double) (cpu_ns - start_cpu_ns);
	sampler->learner.interval.sample.cpu_ns += cpu_ns - sampler->cpu_ns;
	sampler->cpu_ns = cpu_ns;
}

/* Wait until pgbufprobe.sampler is on. */
static void
wait_while_off(Sampler *sampler)
{
	pbp_announce_sample(0);
	while (!pbp_sampler_on)
	{
		save_if_due(sampler);
		/* what has changed is saved soon, and nothing else happens */
		pbp_worker_wait(sampler->save_ns > sampler->may_save_ns ? -1 : SAVE_SOON_NS / 1000000);
		check_interrupts(sampler);
		(void) reload_settings(sampler);
		MemoryContextReset(CurrentMemoryContext);
	}
	start_over(sampler);
}

void
pbp_sampler_main(Datum arg)
{
	Sampler    *sampler;
	MemoryContext round_context;

	pbp_start_worker(InvalidOid);
	join(arg);
	start_carry_over();
	/* reading a few counts must not copy all statistics */
	SetConfigOption("stats_fetch_consistency", "none", PGC_SUSET, PGC_S_OVERRIDE);
	pbp_advice_check_interrupts = pbp_check_interrupts_of_look;

	sampler = MemoryContextAllocZero(TopMemoryContext, sizeof(Sampler));
	sampler->learner.context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe advice",
													 ALLOCSET_DEFAULT_SIZES);
	round_context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe sampler",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);
	start(sampler);
	for (;;)
	{
		check_interrupts(sampler);
		if (!pbp_sampler_on)
			wait_while_off(sampler);
		if (pbp_noticed_resets != pbp_count_resets())
			start_over(sampler);
		if (sampler->learner.memory_kb != pbp_advice_memory_kb)
			pbp_restart_learner(&sampler->learner);
		work(sampler);
		save_if_due(sampler);
		MemoryContextReset(round_context);
		sleep_until_due(sampler);
	}
}

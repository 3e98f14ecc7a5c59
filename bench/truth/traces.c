/*
 * traces.c
 *	  How true the advice is where time matters: loads that change or pause, and
 *	  recorded traces.
 *
 * A figure is about the time that is remembered when it is asked for.  So it is
 * compared with the exact model's ratio of that time: each part of the trace weighs
 * what is left of its accesses in the counters.  Where the load has changed, figures
 * are compared with the second half of the load that runs when they are asked for.
 *
 * "half" compares figures of a recorded trace with its second half, which may be
 * hundreds of times as long as what is remembered.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/osmemory.h"
#include "statistics/prediction.h"
#include "truth.h"

#define MOST_ACCESSES	100000000
#define MOST_STRETCHES	32

/* The pace of recorded traces, which have no times: five million accesses are 83 minutes. */
#define ACCESSES_PER_SECOND	1000.0

/* When the sampler finds that other relations are read than was learned */
#define RELATIONS			2
#define HALF_LIFE_MIX		20.0
#define HALF_LIFE_MIX_POOLS	0.75

/* Accesses to one set of relations at one pace. */
typedef struct Stretch
{
	int			end;			/* one more than the last of its accesses */
	double		pace;			/* accesses per second */
	int			relation;
	bool		unwatched;		/* without a look */
} Stretch;

typedef struct Recording
{
	char		name[100];
	int			naccesses;
	int			npages;
	int		   *pages;
	int			nstretches;
	Stretch		stretches[MOST_STRETCHES];
	int			scanned;		/* so many of the last pages are a table that is scanned
								 * through a ring by pools of less than four times this */
} Recording;

/* The sampler, which looks at the pool after a tenth of a pass, or after five seconds. */
typedef struct Observer
{
	Run			run;
	Memory		memory;
	Watch		watch;
	double		seconds;		/* since the last look */
	int			stretch;
	double		weights[SAMPLES][PARTS];	/* of what is remembered */
	double		fresh[RELATIONS];	/* reads since the last look */
	double		lately[RELATIONS];
	double		learned[RELATIONS]; /* those that are remembered */
	double		usual_mix;
	bool		probing;
} Observer;

/* ---- exact models ---- */

/* Pages that a pool leaves of four times today's. */
static int
pages_beside(const Run *run, int nbuffers)
{
	int64_t		pool_bytes = pbp_pool_bytes((int64_t) nbuffers * BLOCK_BYTES);

	return 4 * run->nbuffers - (int) (pool_bytes / BLOCK_BYTES);
}

static int
part_of(const Recording *recording, int access)
{
	return (int) ((int64_t) access * PARTS / recording->naccesses);
}

static void
memory_start(Memory *memory, const Recording *recording, int nbuffers, int os_cache)
{
	memory_init(memory, recording->npages, nbuffers, os_cache, BLOCK_BYTES);
	if (recording->scanned > nbuffers / 4)
		memory->rings_from = recording->npages - recording->scanned;
}

/* Without room for a page cache, all misses wait. */
static const Truth *
replay(const Recording *recording, int nbuffers, int os_cache)
{
	char		model[100];
	Truth	   *truth;
	Memory		memory;

	snprintf(model, sizeof(model), "%.40s, %d accesses by part, %d + %d", recording->name,
			 recording->naccesses, nbuffers, os_cache);
	truth = find_truth(model);
	if (truth)
		return truth;
	truth = keep_truth(model, NAN, NAN);
	make_parts(truth);
	memory_start(&memory, recording, nbuffers, os_cache);
	for (int i = 0; i < recording->naccesses; i++)
	{
		int			part = part_of(recording, i);
		int64_t		reads = memory.reads;
		int64_t		storage_reads = memory.storage_reads;

		memory_access(&memory, recording->pages[i]);
		truth->misses[part] += memory.reads > reads;
		truth->waits[part] += memory.storage_reads > storage_reads;
	}
	memory_free(&memory);
	keep_parts(truth);
	return truth;
}

/* Of counts in each part, as a share of the accesses there. */
static double
weighted_ratio(const Recording *recording, const int *counts, const double *weights)
{
	double		sum = 0;
	double		weight = 0;

	for (int i = 0; i < PARTS; i++)
	{
		sum += weights[i] * counts[i];
		weight += weights[i];
	}
	return sum / weight / recording->naccesses * PARTS;
}

/* ---- what is observed ---- */

/* All samples see today's pool, and know of the page cache. */
static void
observer_start(Observer *observer, const Recording *recording, int nbuffers, double rate)
{
	Run		   *run = &observer->run;
	int			os_cache;

	memset(observer, 0, sizeof(*observer));
	run->nbuffers = nbuffers;
	run->rings_together = recording->scanned > 0;
	os_cache = pages_beside(run, nbuffers);
	start(run, SAMPLES, (size_t) nbuffers * 60, rate);
	for (int j = 0; j < SAMPLES; j++)
	{
		pbp_advice_init_storage(run->advice[j], malloc(STORAGE_BYTES), STORAGE_BYTES, BLOCK_BYTES);
		pbp_advice_set_os_cache(run->advice[j], os_cache);
		if (recording->scanned > 0)
			pbp_advice_facts(run->advice[j])->smallest_scanned = recording->scanned;
	}
	memory_start(&observer->memory, recording, nbuffers, os_cache);
}

static void
observer_finish(Observer *observer)
{
	memory_free(&observer->memory);
	finish(&observer->run);
}

/*
 * A look reduces what is left of the parts before by as much as all that is counted,
 * and adds what it counts of its own accesses.  Returns by how much it has reduced them.
 * One that leaves the counters as they were has counted nothing: 0.
 */
static double
weigh_look(Observer *observer, int sample, double before, const PbpAdviceCounts *counts, int part)
{
	const PbpAdvice *advice = observer->run.advice[sample];
	double	   *weights = observer->weights[sample];
	double		after = totals_of(advice).accesses;
	double		counted = counts->accesses - pbp_advice_accesses_apart(advice, counts);

	if (fabs(after - before) <= 1e-9 * after)
		return 0;
	weights[part] += counted;
	for (int i = 0; i <= part; i++)
		weights[i] *= after / (before + counted);
	return after / (before + counted);
}

/* Whether other relations are read now than was learned, as the sampler finds it. */
static void
follow_mix(Observer *observer, const PbpAdviceCounts *counts, double weight)
{
	double		pools = (double) counts->reads / observer->run.nbuffers;
	double		recent_weight = exp2(-counts->seconds / HALF_LIFE_MIX -
									 pools / HALF_LIFE_MIX_POOLS);
	double		lately = 0;
	double		learned = 0;
	double		distance = 0;
	double		other;

	for (int i = 0; i < RELATIONS; i++)
	{
		observer->lately[i] = recent_weight * (observer->lately[i] + observer->fresh[i]);
		if (weight > 0)
			observer->learned[i] = weight * (observer->learned[i] + observer->fresh[i]);
		lately += observer->lately[i];
		learned += observer->learned[i];
		observer->fresh[i] = 0;
	}
	for (int i = 0; i < RELATIONS && learned > 0 && lately > 0; i++)
		distance += fabs(observer->lately[i] / lately - observer->learned[i] / learned) / 2;
	other = pbp_unusual_mix(&observer->usual_mix, distance,
							totals_of(observer->run.advice[0]).change == PBP_LIGHT_LOAD ? 0 :
							counts->seconds);
	for (int j = 0; j < SAMPLES; j++)
		pbp_advice_facts(observer->run.advice[j])->other_mix = other;
}

static void
observer_look(Observer *observer, const Recording *recording, int access)
{
	Run		   *run = &observer->run;
	Pool	   *pool = &observer->memory.pool;
	PbpAdviceCounts counts = count_accesses(run, pool, &observer->watch);
	double		before[SAMPLES];
	double		weight = 0;

	counts.seconds = observer->seconds;
	for (int j = 0; j < SAMPLES; j++)
		before[j] = totals_of(run->advice[j]).accesses;
	look_and_watch(run, pool, access + 1, observer->seconds, &observer->watch);
	for (int j = 0; j < SAMPLES; j++)
		weight = weigh_look(observer, j, before[j], &counts, part_of(recording, access));
	follow_mix(observer, &counts, weight);
	if (observer->probing)
	{
		ask_for_all(&observer->memory);
		calibrate(run);
	}
	observer->seconds = 0;
}

static void
observe_access(Observer *observer, const Recording *recording, int access)
{
	const Stretch *stretch;
	const Memory *memory = &observer->memory;
	const Pool *pool = &memory->pool;
	int64_t		reads = memory->reads;

	while (access >= recording->stretches[observer->stretch].end)
		observer->stretch++;
	stretch = &recording->stretches[observer->stretch];
	access_and_compare(&observer->run, &observer->memory, recording->pages[access]);
	if (stretch->unwatched)
	{
		memset(observer->run.compared, 0, sizeof(observer->run.compared));
		if (access + 1 == stretch->end)
			memset(observer->memory.answers, NONE, (size_t) observer->memory.npages);
	}
	observer->seconds += 1 / stretch->pace;
	observer->fresh[stretch->relation] += (double) (memory->reads - reads);
	if (!stretch->unwatched &&
		(pool->ticks - observer->watch.ticks >= pool->nbuffers / 10 || observer->seconds >= 5))
		observer_look(observer, recording, access);
}

/* ---- what is compared ---- */

static void
compare(const Run *run, const Recording *recording, double weights[SAMPLES][PARTS], Sums *misses,
		Sums *storage)
{
	const Truth *today = replay(recording, run->nbuffers, pages_beside(run, run->nbuffers));

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		int			nbuffers = (int) (pbp_advice_factor(i) * run->nbuffers);
		int			os_cache = pages_beside(run, nbuffers);
		const Truth *truth = replay(recording, nbuffers, os_cache);

		for (int j = 0; j < SAMPLES; j++)
		{
			const PbpAdvice *advice = run->advice[j];

			if (i != TODAY)
				add_compared(advice, row_of(advice, i).ratio,
							 weighted_ratio(recording, truth->misses, weights[j]),
							 weighted_ratio(recording, today->misses, weights[j]), &misses->figures,
							 &misses->changes);
			if (os_cache >= 0)
				add_compared(advice, storage_row_of(advice, i).ratio,
							 weighted_ratio(recording, truth->waits, weights[j]),
							 weighted_ratio(recording, today->waits, weights[j]),
							 &storage->figures, &storage->changes);
		}
	}
}

/* All accesses from one to another weigh as much. */
static void
weigh_time(const Recording *recording, int from, int to, double weights[SAMPLES][PARTS])
{
	memset(weights, 0, sizeof(double) * SAMPLES * PARTS);
	for (int j = 0; j < SAMPLES; j++)
		for (int part = part_of(recording, from); part <= part_of(recording, to - 1); part++)
			weights[j][part] = 1;
}

/* ---- loads that change ---- */

#define POOL		8192
#define POOL_RATE	0.2			/* of its pages are sampled */
#define PACE		1000.0
#define LIGHT_PACE	(0.02 * PACE)

/* What the figures are of. */
typedef enum Line
{
	SMALL_SCANS,
	LARGE_SCANS,
	SOON_AFTER_CHANGE,
	AFTER_CHANGE,
	LONG_AFTER_CHANGE,
	LIGHT_LOAD,
	AFTER_LIGHT_LOAD,
	LOOPS,
	LONE_LOOPS,
	OTHER_WHILE_PAUSING,
	OTHER_AFTER_PAUSES,
	IN_TURN,
	EARLY,
	LITTLE_DATA,
	LINES
} Line;

static const char *const line_names[LINES] = {
	"small scans", "large scans", "half a pool after a change", "two pools after a change",
	"eight pools after a change", "light load", "after a light load", "loops",
	"loops nearly alone", "another load in pauses", "another load after pauses",
	"two queries in turn", "early", "little data"
};

/* A stretch of a load. */
typedef struct Phase
{
	Kind		kind;
	int			relation;
	double		accesses;		/* in pools' worth */
	double		looped;			/* pools' worth of pages that are read in turn */
	int			percent;		/* of the accesses are to these */
	double		pace;			/* 0: PACE */
	bool		unwatched;
} Phase;

/* When figures are asked for. */
typedef struct Asking
{
	Line		line;
	int			phase;			/* from 1 on; 0: there is no other asking */
	double		pools;			/* when this phase has read so many; 0: at its end */
	bool		remembered;		/* compared with the time that is remembered, not with the
								 * second half of the phase */
} Asking;

typedef struct Story
{
	const char *name;
	Phase		phases[8];		/* up to one without accesses */
	int			times;			/* that these are repeated */
	bool		rings;			/* looped pages are read through them */
	Asking		askings[8];
} Story;

static Sums misses[LINES];
static Sums storage[LINES];

static void
record_phase(Recording *recording, const Phase *phase)
{
	Trace		trace;
	int			looped = 0;
	int			end = recording->naccesses + (int) (phase->accesses * POOL);

	trace_init(&trace, phase->kind, POOL, 1 + (uint64_t) recording->nstretches, INT64_MAX);
	while (recording->naccesses < end)
	{
		bool		bulk;
		int			page = phase->relation * trace_pages(POOL) + next_page(&trace, &bulk);

		if (phase->looped > 0 && below(&trace.random, 100) < phase->percent)
			page = RELATIONS * trace_pages(POOL) + looped++ % (int) (phase->looped * POOL);
		recording->pages[recording->naccesses++] = page;
	}
	recording->stretches[recording->nstretches++] = (Stretch) {
		end, phase->pace > 0 ? phase->pace : PACE, phase->relation, phase->unwatched
	};
}

static void
record_story(Recording *recording, const Story *story)
{
	double		looped = 0;
	double		accesses = 0;
	int			times = story->times > 0 ? story->times : 1;

	for (const Phase *phase = story->phases; phase->accesses > 0; phase++)
	{
		accesses += times * phase->accesses;
		looped = fmax(looped, phase->looped);
	}
	memset(recording, 0, sizeof(*recording));
	snprintf(recording->name, sizeof(recording->name), "%s", story->name);
	recording->npages = RELATIONS * trace_pages(POOL) + (int) (looped * POOL);
	recording->scanned = story->rings ? (int) (looped * POOL) : 0;
	recording->pages = malloc(sizeof(int) * (size_t) (accesses * POOL));
	for (int i = 0; i < times; i++)
		for (const Phase *phase = story->phases; phase->accesses > 0; phase++)
			record_phase(recording, phase);
}

static bool
is_due(const Asking *asking, const Observer *observer, const Recording *recording, int access,
	   int64_t reads)
{
	if (asking->phase != observer->stretch + 1)
		return false;
	return asking->pools > 0 ? reads >= (int64_t) (asking->pools * POOL) :
		access + 1 == recording->stretches[observer->stretch].end;
}

static void
ask(const Asking *asking, Observer *observer, const Recording *recording)
{
	static double weights[SAMPLES][PARTS];
	int			from = asking->phase > 1 ? recording->stretches[asking->phase - 2].end : 0;
	int			to = recording->stretches[asking->phase - 1].end;

	weigh_time(recording, from + (to - from) / 2, to, weights);
	compare(&observer->run, recording, asking->remembered ? observer->weights : weights,
			&misses[asking->line], &storage[asking->line]);
}

static void
compare_story(const Story *story)
{
	static Recording recording;
	static Observer observer;
	const Asking *asking = story->askings;
	int64_t		reads = 0;		/* before the phase */

	record_story(&recording, story);
	observer_start(&observer, &recording, POOL, POOL_RATE);
	observer.probing = true;
	start_probes();
	for (int i = 0; i < recording.naccesses && asking->phase > 0; i++)
	{
		int			stretch = observer.stretch;

		observe_access(&observer, &recording, i);
		if (observer.stretch != stretch)
			reads = observer.memory.reads;
		for (; is_due(asking, &observer, &recording, i, observer.memory.reads - reads); asking++)
			ask(asking, &observer, &recording);
	}
	if (asking->phase > 0)
		die("ask in time in", story->name);
	observer_finish(&observer);
	free(recording.pages);
}

/* One in about six reads is through a ring. */
static void
compare_scans(Kind kind, double scanned, Line line)
{
	char		name[100];
	int			percent = kind == ZIPF ? 3 : 8;

	snprintf(name, sizeof(name), "%s, %d %% scans of %g", kind_names[kind], percent, scanned);
	compare_story(&(Story) {
		.name = name,.rings = true,
		.phases = {{kind,.accesses = 80,.looped = scanned,.percent = percent}},
		.askings = {{line, 1,.remembered = true}}
	});
}

/* The second load must read eight pools. */
static void
compare_change(Kind from, Kind to, double accesses)
{
	char		name[100];

	snprintf(name, sizeof(name), "%s to %s", kind_names[from], kind_names[to]);
	compare_story(&(Story) {
		.name = name,
		.phases = {{from,.accesses = 40}, {to,.accesses = accesses,.relation = 1}},
		.askings = {{SOON_AFTER_CHANGE, 2, 0.5}, {AFTER_CHANGE, 2, 2}, {LONG_AFTER_CHANGE, 2, 8}}
	});
}

/* Between two times of a heavy load. */
static void
compare_light_load(Kind heavy, Kind light)
{
	char		name[100];

	snprintf(name, sizeof(name), "light %s in %s", kind_names[light], kind_names[heavy]);
	compare_story(&(Story) {
		.name = name,
		.phases = {
			{heavy,.accesses = 60},
			{light,.accesses = 3,.relation = 1,.pace = LIGHT_PACE},
			{heavy,.accesses = 30},
		},
		.askings = {
			{LIGHT_LOAD, 2}, {AFTER_LIGHT_LOAD, 3, 1}, {AFTER_LIGHT_LOAD, 3, 4}
		}
	});
}

/* Of nearly the size of a pool, beside lookups or nearly alone, where all of it fits or nothing. */
static void
compare_loop(double size, bool lone)
{
	char		name[100];
	int			percent = lone ? 98 : 33;

	snprintf(name, sizeof(name), "%d %% loop of %g", percent, size);
	compare_story(&(Story) {
		.name = name,
		.phases = {{ZIPF,.accesses = lone ? 30 : 60,.looped = size,.percent = percent}},
		.askings = {{lone ? LONE_LOOPS : LOOPS, 1,.remembered = true}}
	});
}

/* Another load is not seen at all, or right after a pause. */
static void
compare_pauses(Kind load, Kind other)
{
	char		name[100];

	snprintf(name, sizeof(name), "%s, %s in pauses", kind_names[load], kind_names[other]);
	compare_story(&(Story) {
		.name = name,.times = 4,
		.phases = {
			{load,.accesses = 20},
			{other,.accesses = 10,.relation = 1,.unwatched = true},
		},
		.askings = {
			{OTHER_WHILE_PAUSING, 5,.remembered = true}, {OTHER_WHILE_PAUSING, 7,.remembered = true}
		}
	});
	snprintf(name, sizeof(name), "%s, %s after pauses", kind_names[load], kind_names[other]);
	compare_story(&(Story) {
		.name = name,.times = 4,
		.phases = {
			{load,.accesses = 10},
			{load,.accesses = 10,.unwatched = true},
			{other,.accesses = 10,.relation = 1},
		},
		.askings = {
			{OTHER_AFTER_PAUSES, 10,.remembered = true}, {OTHER_AFTER_PAUSES, 12,.remembered = true}
		}
	});
}

/* Each reads other relations, for about half a minute. */
static void
compare_turns(Kind query, Kind other)
{
	char		name[100];

	snprintf(name, sizeof(name), "%s, %s in turn", kind_names[query], kind_names[other]);
	compare_story(&(Story) {
		.name = name,.times = 8,
		.phases = {{query,.accesses = 4}, {other,.accesses = 4,.relation = 1}},
		.askings = {
			{IN_TURN, 13,.remembered = true}, {IN_TURN, 14,.remembered = true},
			{IN_TURN, 15,.remembered = true}, {IN_TURN, 16,.remembered = true}
		}
	});
}

/* Asked soon after the first look at a pool that has run for long. */
static void
compare_early(Kind kind)
{
	char		name[100];

	snprintf(name, sizeof(name), "early, %s", kind_names[kind]);
	compare_story(&(Story) {
		.name = name,
		.phases = {{kind,.accesses = 40,.unwatched = true}, {kind,.accesses = 60}},
		.askings = {{EARLY, 2, 1}, {EARLY, 2, 1.5}, {EARLY, 2, 2}, {EARLY, 2, 4}, {EARLY, 2, 8}}
	});
}

void
compare_stories(void)
{
	static const double sizes[] = {1.25, 3, 0.5, 0.75, 1.5, 2};
	static Sums all;
	static Sums all_storage;

	compare_scans(ZIPF, 0.6, SMALL_SCANS);
	compare_scans(ZIPF, 6, LARGE_SCANS);
	compare_change(ZIPF, UNIFORM, 60);
	compare_change(UNIFORM, ZIPF, 60);
	for (int i = 0; i < (quick ? 2 : 6); i++)
	{
		compare_loop(0.98 * sizes[i], false);
		compare_loop(1.02 * sizes[i], false);
		if (sizes[i] > 1)
		{
			compare_loop(0.98 * sizes[i], true);
			compare_loop(1.02 * sizes[i], true);
		}
	}
	compare_light_load(ZIPF, UNIFORM);
	compare_pauses(ZIPF, UNIFORM);
	compare_turns(ZIPF, UNIFORM);
	compare_early(ZIPF);
	if (!quick)
	{
		compare_scans(UNIFORM, 0.6, SMALL_SCANS);
		compare_scans(UNIFORM, 6, LARGE_SCANS);
		compare_change(TWO_SETS, PGBENCH, 200);
		compare_change(PGBENCH, TWO_SETS, 60);
		compare_light_load(UNIFORM, ZIPF);
		compare_pauses(UNIFORM, ZIPF);
		compare_turns(PGBENCH, TWO_SETS);
		compare_early(UNIFORM);
	}
	compare_story(&(Story) {
		.name = "little data",
		.phases = {{UNIFORM,.accesses = 60}},
		.askings = {{LITTLE_DATA, 1,.remembered = true}}
	});
	for (int i = 0; i < LINES; i++)
	{
		print_tally("misses", line_names[i], &misses[i].figures);
		print_tally("storage", line_names[i], &storage[i].figures);
		add_sums(&all, &misses[i]);
		add_sums(&all_storage, &storage[i]);
	}
	print_sums("all misses, with time", "", &all);
	print_sums("all storage reads, with time", "", &all_storage);
}

/* ---- recorded traces ---- */

/* What today's pool is, as a share of all pages, in percent. */
static const int shares[] = {1, 2, 5, 10, 20, 50};

/* Smaller pools, of 2 MB, are left out. */
#define LEAST_BUFFERS	256

/*
 * Adds a file to those that were read before.  Keys have 32 bits, big-endian; each
 * is a page, numbered in the order in which they come: by key, one more than its page.
 */
static void
read_recording(const char *path, Recording *recording, int *numbers)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	FILE	   *file = fopen(path, "rb");
	unsigned char key[4];
	int			before = recording->naccesses;

	if (file == NULL)
		die("open", path);
	while (fread(key, 1, 4, file) == 4 && recording->naccesses < MOST_ACCESSES)
	{
		uint32_t	number = (uint32_t) key[0] << 24 | (uint32_t) key[1] << 16 |
			(uint32_t) key[2] << 8 | key[3];
		int		   *page = &numbers[number * UINT32_C(0x9E3779B1) >> 8];

		if (*page == 0)
			*page = ++recording->npages;
		recording->pages[recording->naccesses++] = *page - 1;
	}
	fclose(file);
	recording->stretches[recording->nstretches++] =
		(Stretch) {.end = recording->naccesses,.pace = ACCESSES_PER_SECOND};
	snprintf(recording->name + strlen(recording->name),
			 sizeof(recording->name) - strlen(recording->name), "%s%.*s", before ? ", " : "",
			 (int) strcspn(name, "."), name);
}

/* The time that figures are compared over, and their tallies. */
typedef struct Time
{
	const char *name;
	Sums		misses;
	Sums		storage;
} Time;

enum
{
	REMEMBERED,
	HALF,						/* the second one of the last file */
	TIMES
};

static void
compare_share(const Recording *recording, int percent, Time *sums)
{
	static Observer observer;
	static double half[SAMPLES][PARTS];
	static Time times[TIMES];
	int			nbuffers = (int) (percent / 100.0 * recording->npages);
	int			from = recording->nstretches > 1 ? recording->stretches[0].end : 0;

	observer_start(&observer, recording, nbuffers, fmin(1, 4000.0 / nbuffers));
	for (int i = 0; i < recording->naccesses; i++)
		observe_access(&observer, recording, i);
	weigh_time(recording, from + (recording->naccesses - from) / 2, recording->naccesses, half);
	memset(times, 0, sizeof(times));
	for (int time = 0; time < TIMES; time++)
	{
		char		name[64];

		compare(&observer.run, recording, time == HALF ? half : observer.weights,
				&times[time].misses, &times[time].storage);
		snprintf(name, sizeof(name), "%s, %.24s, %d %%", sums[time].name, recording->name, percent);
		print_tally("misses", name, &times[time].misses.figures);
		print_tally("storage", name, &times[time].storage.figures);
		add_sums(&sums[time].misses, &times[time].misses);
		add_sums(&sums[time].storage, &times[time].storage);
	}
	observer_finish(&observer);
}

static void
compare_recording(char **paths, int npaths, Time *sums)
{
	Recording	recording = {.pages = malloc(sizeof(int) * MOST_ACCESSES)};
	int		   *numbers = calloc(1 << 24, sizeof(int));

	for (int i = 0; i < npaths; i++)
		read_recording(paths[i], &recording, numbers);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if ((!quick || shares[i] == 10) && shares[i] / 100.0 * recording.npages >= LEAST_BUFFERS)
			compare_share(&recording, shares[i], sums);
	free(recording.pages);
	free(numbers);
}

/* Each alone, and two one after the other. */
void
compare_recordings(char **paths, int npaths)
{
	static Time sums[TIMES] = {{.name = "remembered"}, {.name = "half"}};

	for (int i = 0; i < npaths; i++)
		compare_recording(&paths[i], 1, sums);
	if (npaths == 2)
		compare_recording(paths, 2, sums);
	for (int time = 0; time < TIMES; time++)
	{
		print_sums("all recorded misses", sums[time].name, &sums[time].misses);
		print_sums("all recorded storage reads", sums[time].name, &sums[time].storage);
	}
}

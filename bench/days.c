/*
 * days.c
 *	  Ten days and 400 days of a server in simulated time: how often its advice
 *	  changes, whether it is dangerous, and whether figures stay true.
 *
 * The truth is what sessions would have waited for under the same accesses, by exact
 * models of both caches at each size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/latency.h"
#include "days.h"
#include "days_counters.h"

#define DAY_MINUTES		1440
#define DAYS			10
#define SEEDS			2
#define MINUTES			(DAYS * DAY_MINUTES)
#define MONTH_END		8		/* day on which the report runs; day 0 is a Monday */

/* Of server time between two reports of the worker, and looks that it needs in a pass. */
#define STEP			30
#define LOOKS_PER_PASS	6

/* An advised size at which sessions wait so much longer, in all days or in the last ones. */
#define DANGEROUS		1.01
#define WEEK			7

/* Accesses per second, and shares of them. */
#define PACE			30.0
#define QUIET			0.015	/* at night */
#define WEEKEND			0.3

/*
 * Lookups are skewed.  Most accesses of the batch are of an index, the others of any page of
 * its table.  The report reads its table in turn.
 */
#define LOOKUP_PAGES	6000
#define BATCH_PAGES		9000
#define BATCH_INDEX		300
#define COLD_BATCH		30		/* percent */
#define REPORT_PAGES	4000
#define PAGES			(LOOKUP_PAGES + BATCH_PAGES + REPORT_PAGES)

/* ---- the load ---- */

/* A load, hour by hour. */
typedef struct Days
{
	Random		random;
	double		pace;
	int			step;
	int64_t		second;
	int64_t		nreported;		/* accesses of the report, ever */

	/* this hour */
	int			naccesses;
	int		   *pages;
	int			nsteps;
	int			ends[HOUR_SECONDS / STEP];	/* of steps */
} Days;

static void
days_init(Days *days, uint64_t seed, double pace, int step)
{
	memset(days, 0, sizeof(*days));
	days->random.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	days->pace = pace;
	days->step = step;
	days->pages = malloc(sizeof(int) * (size_t) (3 * pace * HOUR_SECONDS));
}

Table
table_of(int page)
{
	return page < LOOKUP_PAGES ? LOOKUPS : page < LOOKUP_PAGES + BATCH_PAGES ? BATCH : REPORT;
}

static double
share_of_pace(Table table, int64_t second)
{
	int			hour = (int) (second / HOUR_SECONDS % 24);
	int64_t		day = second / DAY_SECONDS;

	switch (table)
	{
		case LOOKUPS:
			if (hour < 8 || hour >= 20)
				return QUIET;
			return day % 7 >= 5 ? WEEKEND : 1;
		case BATCH:
			return hour >= 1 && hour < 4;
		default:
			return day == MONTH_END && hour >= 14 && hour < 16;
	}
}

static int
next_page_of(Days *days, Table table)
{
	Random	   *random = &days->random;
	int			rank;

	switch (table)
	{
		case LOOKUPS:
			rank = (int) exp(next_share(random) * log(LOOKUP_PAGES + 1.0)) - 1;
			return (int) ((uint64_t) rank * 2654435761u % LOOKUP_PAGES);
		case BATCH:
			if (below(random, 100) < COLD_BATCH)
				return LOOKUP_PAGES + below(random, BATCH_PAGES);
			return LOOKUP_PAGES + below(random, BATCH_INDEX);
		default:
			return LOOKUP_PAGES + BATCH_PAGES + (int) (days->nreported++ / 2 % REPORT_PAGES);
	}
}

static void
next_step(Days *days)
{
	double		shares[TABLES];
	double		sum = 0;
	int			naccesses;

	for (int table = 0; table < TABLES; table++)
		sum += shares[table] = share_of_pace((Table) table, days->second);
	naccesses = (int) (sum * days->pace * days->step + next_share(&days->random));
	for (int i = 0; i < naccesses; i++)
	{
		double		chosen = next_share(&days->random) * sum;
		int			table = 0;

		while (table < TABLES - 1 && (chosen -= shares[table]) >= 0)
			table++;
		days->pages[days->naccesses++] = next_page_of(days, (Table) table);
	}
	days->ends[days->nsteps++] = days->naccesses;
	days->second += days->step;
}

static void
next_hour(Days *days)
{
	days->naccesses = days->nsteps = 0;
	for (int i = 0; i < HOUR_SECONDS / days->step; i++)
		next_step(days);
}

/* ---- exact models ---- */

#define MOST_MODELS		40

/* Both caches, with a pool of one size. */
typedef struct Model
{
	Memory		memory;
	double		ms[DAYS];		/* that sessions wait */
} Model;

static Model models[MOST_MODELS];
static int	nmodels;

/* Adds it if there is none yet. */
static Model *
model_of(int nbuffers)
{
	for (int i = 0; i < nmodels; i++)
		if (models[i].memory.pool.nbuffers == nbuffers)
			return &models[i];
	if (nmodels == MOST_MODELS)
		abort();
	memset(&models[nmodels], 0, sizeof(Model));
	memory_init(&models[nmodels].memory, PAGES, nbuffers, cache_pages(nbuffers), BUFFER_BYTES);
	return &models[nmodels++];
}

static void
models_finish(void)
{
	while (nmodels > 0)
		memory_free(&models[--nmodels].memory);
}

static void
models_play(const Days *days, int day)
{
	for (int i = 0; i < nmodels; i++)
	{
		double		before = waited_ms(&models[i].memory);

		for (int j = 0; j < days->naccesses; j++)
			memory_access(&models[i].memory, days->pages[j]);
		models[i].ms[day] += waited_ms(&models[i].memory) - before;
	}
}

/* ---- a server under observation ---- */

/* A decision. */
typedef struct Minute
{
	uint8_t		kind;
	uint8_t		verdict;
	uint8_t		size;
} Minute;

typedef struct Server
{
	int			nbuffers;
	int			decision_seconds;
	uint64_t	seed;
	Memory		memory;
	Worker		worker;
	int			nminutes;
	Minute		minutes[MINUTES];
} Server;

static void
server_start(Server *server, uint64_t seed)
{
	server->seed = seed;
	memory_init(&server->memory, PAGES, server->nbuffers, cache_pages(server->nbuffers),
				BUFFER_BYTES);
	memset(&server->worker, 0, sizeof(Worker));
	worker_start(&server->worker, &server->memory, 1000 * seed);
	server->nminutes = 0;
}

static void
server_finish(Server *server)
{
	worker_finish(&server->worker);
	memory_free(&server->memory);
}

/* The worker looks in time, and reports at the end of the step. */
static void
server_step(Server *server, const int *pages, int naccesses, int seconds)
{
	const Pool *pool = &server->memory.pool;

	for (int i = 0; i < naccesses; i++)
	{
		memory_access(&server->memory, pages[i]);
		if (pool->ticks - server->worker.look_ticks >= server->nbuffers / LOOKS_PER_PASS)
			worker_look(&server->worker);
	}
	server->worker.second += seconds;
	worker_report(&server->worker, &server->memory, seconds);
}

static void
note_decision(Server *server)
{
	const PbpDecision *decision = &server->worker.decision;

	worker_decide(&server->worker);
	server->minutes[server->nminutes++] = (Minute)
	{
		(uint8_t) decision->kind, (uint8_t) decision->verdict, (uint8_t) decision->size
	};
}

static void
server_play(Server *server, const Days *days)
{
	int			begin = 0;

	for (int i = 0; i < days->nsteps; i++)
	{
		server_step(server, days->pages + begin, days->ends[i] - begin, days->step);
		begin = days->ends[i];
		if (server->worker.second % server->decision_seconds == 0)
			note_decision(server);
	}
}

/* ---- ten days ---- */

static double
true_ms(int nbuffers, int first_day)
{
	const Model *model = model_of(nbuffers);
	double		sum = 0;

	for (int day = first_day; day < DAYS; day++)
		sum += model->ms[day];
	return sum;
}

static int
buffers_of(const Server *server, int size)
{
	return (int) (pbp_advice_factor(size) * server->nbuffers);
}

/* What sessions would have waited at a size since this day, as a share of what they did. */
static double
cost_of(const Server *server, int size, int first_day)
{
	return true_ms(buffers_of(server, size), first_day) / true_ms(server->nbuffers, first_day);
}

static int
best_size(const Server *server)
{
	int			best = PBP_ADVICE_BASELINE;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		if (server->worker.fits[i] && cost_of(server, i, 0) < cost_of(server, best, 0))
			best = i;
	return best;
}

/* Of the advice of some minutes. */
typedef struct Sums
{
	int			nminutes;
	int			nunknown;
	int			nverdicts;		/* another kind or verdict than the minute before */
	int			nsizes;			/* another size than the last that was known */
	int			ndangerous;
	double		regret;			/* of what is known */
	double		largest_regret;
} Sums;

typedef struct Walk
{
	Minute		before;
	int			size;			/* the last that was known; -1: none */
} Walk;

static void
add_minute(const Server *server, int minute, Walk *walk, Sums *sums)
{
	const Minute *now = &server->minutes[minute];
	bool		known = now->verdict != PBP_VERDICT_UNKNOWN;
	double		cost = cost_of(server, now->size, 0);
	double		regret = cost / cost_of(server, best_size(server), 0) - 1;

	sums->nminutes++;
	sums->nunknown += !known;
	sums->nverdicts += minute > 0 &&
		(now->kind != walk->before.kind || now->verdict != walk->before.verdict);
	sums->nsizes += known && walk->size >= 0 && now->size != walk->size;
	sums->ndangerous += known &&
		fmax(cost, cost_of(server, now->size, DAYS - WEEK)) > DANGEROUS;
	sums->regret += known ? regret : 0;
	sums->largest_regret = known ? fmax(sums->largest_regret, regret) : sums->largest_regret;
	walk->before = *now;
	if (known)
		walk->size = now->size;
}

static void
print_heading(void)
{
	printf("%-8s %4s %5s %4s %8s %8s %9s %6s %10s %7s %8s\n", "ten days", "seed", "best", "day",
		   "advised", "unknown", "verdicts", "sizes", "dangerous", "regret", "largest");
}

/* "Regret" is what sessions wait longer at the advised size than at the best one, as a share. */
static void
print_sums(const Server *server, const char *day, const Sums *sums, const Walk *walk)
{
	printf("%-8d %4d %5d %4s %8d %8.3f %9d %6d %10.3f %7.3f %8.3f\n", server->nbuffers,
		   (int) server->seed, buffers_of(server, best_size(server)), day,
		   walk->size >= 0 ? buffers_of(server, walk->size) : server->nbuffers,
		   (double) sums->nunknown / sums->nminutes, sums->nverdicts, sums->nsizes,
		   (double) sums->ndangerous / sums->nminutes,
		   sums->regret / fmax(1, sums->nminutes - sums->nunknown), sums->largest_regret);
}

static void
add_sums(Sums *all, const Sums *sums)
{
	all->nminutes += sums->nminutes;
	all->nunknown += sums->nunknown;
	all->nverdicts += sums->nverdicts;
	all->nsizes += sums->nsizes;
	all->ndangerous += sums->ndangerous;
	all->regret += sums->regret;
	all->largest_regret = fmax(all->largest_regret, sums->largest_regret);
}

static void
print_server(const Server *server)
{
	Walk		walk = {.size = -1};
	Sums		all = {0};

	for (int day = 0; day < DAYS; day++)
	{
		Sums		sums = {0};
		char		name[8];

		for (int minute = day * DAY_MINUTES; minute < (day + 1) * DAY_MINUTES; minute++)
			add_minute(server, minute, &walk, &sums);
		snprintf(name, sizeof(name), "%d", day + 1);
		print_sums(server, name, &sums, &walk);
		add_sums(&all, &sums);
	}
	print_sums(server, "all", &all, &walk);
	fflush(stdout);
}

/* Three sizes under one load. */
static void
play_days(Server *servers, int nservers, uint64_t seed)
{
	static Days days;

	days_init(&days, seed, PACE, STEP);
	for (int i = 0; i < nservers; i++)
	{
		server_start(&servers[i], seed);
		for (int j = 0; j < PBP_ADVICE_FACTORS; j++)
			if (servers[i].worker.fits[j])
				model_of(buffers_of(&servers[i], j));
	}
	for (int hour = 0; hour < 24 * DAYS; hour++)
	{
		next_hour(&days);
		models_play(&days, hour / 24);
		for (int i = 0; i < nservers; i++)
			server_play(&servers[i], &days);
	}
	for (int i = 0; i < nservers; i++)
	{
		print_server(&servers[i]);
		server_finish(&servers[i]);
	}
	models_finish();
	free(days.pages);
}

/* ---- 400 days ---- */

#define YEAR			400
#define YEAR_STEP		180
#define YEAR_PACE		1.0
#define YEAR_BUFFERS	512
#define YEAR_DECISIONS	1800
#define CLOCK_BACK		100		/* day on which the system's clock is set back by an hour */
#define CLOCK_FORWARD	200		/* and forward by a day */

/* Thursdays whose figures are compared; the exact models begin three days before each. */
static const int checked_days[] = {
	3, 10, 17, 24, 101, 108, 115, 122, 206, 213, 220, 227, 374, 381, 388, 395
};

#define CHECKED_DAYS	((int) (sizeof(checked_days) / sizeof(checked_days[0])))
#define WARM_DAYS		3

/* What an exact model has counted. */
typedef struct Counted
{
	int64_t		accesses;
	int64_t		reads;
	int64_t		storage_reads;
} Counted;

/* Between two days that are compared. */
typedef struct Since
{
	int			ndecisions;
	int			nunknown;
	int			nsizes;
	int64_t		cpu_ns;			/* of the server and its worker */
	int64_t		nsteps;
} Since;

typedef struct Year
{
	Server		server;
	Days		days;
	int			ncompared;
	int			size;			/* the last that was advised */
	Since		since;
	Counted		before[PBP_ADVICE_FACTORS];
} Year;

/* As if the server and the worker had run for decades. */
static void
begin_late(Server *server)
{
	server->memory.pool.ticks = (int64_t) (UINT32_MAX - 1000) * server->nbuffers;
	server->worker.look_ticks = server->memory.pool.ticks;
	server->worker.second = (INT32_MAX / DAY_SECONDS - 30) * (int64_t) DAY_SECONDS;
	server->worker.look.number = UINT32_MAX - UINT32_C(1000);
	begin_counters_late(server->worker.advice);
}

static Counted
counted_at(const Server *server, int size)
{
	const Memory *memory = &model_of(buffers_of(server, size))->memory;

	return (Counted) {memory->accesses, memory->reads, memory->storage_reads};
}

static double
mean(const double *values, int nvalues)
{
	double		sum = 0;

	for (int i = 0; i < nvalues; i++)
		sum += values[i] / nvalues;
	return sum;
}

static void
print_year_heading(void)
{
	printf("\n%-8s %8s %8s %6s %6s %8s %8s %8s %8s %10s %8s\n", "400 days", "advised", "unknown",
		   "sizes", "known", "misses", "largest", "storage", "largest", "correction", "us/step");
}

/* Errors of the ratios of all sizes in this day, and what happened since the last such line. */
static void
compare_day(Year *year, int day)
{
	static PbpHoursSum sum;
	const Worker *worker = &year->server.worker;
	const Since *since = &year->since;
	PbpAdviceStorageTotals totals;
	double		misses[PBP_ADVICE_FACTORS];
	double		storage[PBP_ADVICE_FACTORS];
	int			nknown = 0;

	worker_sum_hours(worker, 24, &sum);
	totals = pbp_advice_storage_totals(worker->advice);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpHourWaiting *size = &sum.sizes[i];
		const Counted *before = &year->before[i];
		Counted		now = counted_at(&year->server, i);
		double		accesses = (double) (now.accesses - before->accesses);

		if (worker->accesses[i] <= 0 || size->accesses <= 0)
			continue;
		misses[nknown] = fabs(worker->misses[i] / worker->accesses[i] -
							  (double) (now.reads - before->reads) / accesses);
		storage[nknown++] = fabs(size->storage_reads / size->accesses -
								 (double) (now.storage_reads - before->storage_reads) / accesses);
	}
	printf("day %-4d %8d %8.3f %6d %6d %8.4f %8.4f %8.4f %8.4f %10.3f %8.0f\n", day + 1,
		   buffers_of(&year->server, year->size), (double) since->nunknown / since->ndecisions,
		   since->nsizes, nknown, mean(misses, nknown), quantile(misses, nknown, 1),
		   mean(storage, nknown), quantile(storage, nknown, 1), totals.correction,
		   (double) since->cpu_ns / 1e3 / (double) since->nsteps);
	fflush(stdout);
}

static void
count_decisions(Year *year)
{
	Server	   *server = &year->server;

	for (int i = 0; i < server->nminutes; i++)
	{
		bool		known = server->minutes[i].verdict != PBP_VERDICT_UNKNOWN;

		year->since.ndecisions++;
		year->since.nunknown += !known;
		year->since.nsizes += known && server->minutes[i].size != year->size;
		if (known)
			year->size = server->minutes[i].size;
	}
	server->nminutes = 0;
}

static void
play_day(Year *year, bool with_models)
{
	for (int hour = 0; hour < 24; hour++)
	{
		int64_t		start_ns;

		next_hour(&year->days);
		if (with_models)
			models_play(&year->days, 0);
		start_ns = pbp_cpu_now_ns();
		server_play(&year->server, &year->days);
		year->since.cpu_ns += pbp_cpu_now_ns() - start_ns;
		year->since.nsteps += year->days.nsteps;
		count_decisions(year);
	}
}

static void
play_year(void)
{
	static Year year = {
		.server = {.nbuffers = YEAR_BUFFERS,.decision_seconds = YEAR_DECISIONS},
		.size = PBP_ADVICE_BASELINE
	};

	days_init(&year.days, 1, YEAR_PACE, YEAR_STEP);
	server_start(&year.server, 1);
	begin_late(&year.server);
	print_year_heading();
	for (int day = 0; day < YEAR && year.ncompared < CHECKED_DAYS; day++)
	{
		int			next = checked_days[year.ncompared];
		bool		with_models = day >= next - WARM_DAYS;

		year.server.worker.clock_error += day == CLOCK_BACK ? -HOUR_SECONDS :
			day == CLOCK_FORWARD ? DAY_SECONDS : 0;
		for (int i = 0; i < PBP_ADVICE_FACTORS && with_models; i++)
			year.before[i] = counted_at(&year.server, i);
		memset(year.server.worker.accesses, 0, sizeof(year.server.worker.accesses));
		memset(year.server.worker.misses, 0, sizeof(year.server.worker.misses));
		play_day(&year, with_models);
		if (day < next)
			continue;
		compare_day(&year, day);
		models_finish();
		year.ncompared++;
		year.since = (Since) {0};
	}
	server_finish(&year.server);
	free(year.days.pages);
}

int
main(void)
{
	/* too small, about right, and too large */
	static Server servers[] = {
		{.nbuffers = 512,.decision_seconds = 60},
		{.nbuffers = 1536,.decision_seconds = 60},
		{.nbuffers = 3072,.decision_seconds = 60},
	};

	print_heading();
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		play_days(servers, sizeof(servers) / sizeof(servers[0]), seed);
	play_year();
	return 0;
}

/*
 * advice_saved.c
 *	  Restarts of a server: advice that was saved and restored, elsewhere in
 *	  memory, above a pool that is empty again.  Prints TAP.
 *
 * The page cache keeps its pages.  Beside the restarted server runs one that
 * never stops, with the same load.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/advice_relations.h"
#include "storage_model.h"

#define POOL			8192
#define OS_PAGES		(4 * POOL)
#define ADVICE_BYTES	((size_t) POOL * 20)
#define RELATION_BYTES	((size_t) 256 * 1024)
#define LOOKS_PER_PASS	8
#define RELATIONS		8

typedef struct Server
{
	Run			run;
	Memory		memory;
	LoadTrace	trace;
	Watch		watch;
	int64_t		second;			/* of the advice */
	void	   *blocks[3];
} Server;

/* All answers at one time. */
typedef struct Answers
{
	PbpAdviceRow rows[PBP_ADVICE_FACTORS];
	PbpAdviceStorageRow storage[PBP_ADVICE_FACTORS];
	PbpAdviceTotals totals;
	PbpRelationsReport relations;
} Answers;

typedef struct Bytes
{
	char	   *bytes;
	size_t		nbytes;
} Bytes;

/* ---- servers ---- */

static PbpAdvice *
create_advice(void **blocks, int nbuffers, size_t bytes)
{
	PbpAdvice  *advice;

	blocks[0] = malloc(bytes);
	blocks[1] = malloc(RELATION_BYTES);
	blocks[2] = malloc(STORAGE_BYTES);
	advice = pbp_advice_init(blocks[0], bytes, nbuffers, USAGE_MAX, 1.0 / 10, true);
	pbp_advice_watch_relations(advice, blocks[1], RELATION_BYTES);
	pbp_advice_init_storage(advice, blocks[2], STORAGE_BYTES, BLOCK_BYTES);
	return advice;
}

static void
server_start(Server *server, Load load)
{
	memset(server, 0, sizeof(*server));
	server->run.nbuffers = POOL;
	server->run.advice[0] = create_advice(server->blocks, POOL, ADVICE_BYTES);
	server->second = 1000;
	pbp_advice_set_os_cache(server->run.advice[0], OS_PAGES);
	memory_init(&server->memory, load_pages(POOL * 4), POOL, OS_PAGES, BLOCK_BYTES);
	load_init(&server->trace, load, POOL * 4, 7);
}

static void
free_blocks(void **blocks)
{
	for (int i = 0; i < 3; i++)
		free(blocks[i]);
}

static void
server_stop(Server *server)
{
	free_blocks(server->blocks);
	memory_free(&server->memory);
}

/* The relation of a page is its number, modulo some. */
static void
look(Server *server)
{
	PbpAdvice  *advice = server->run.advice[0];
	const Pool *pool = &server->memory.pool;
	PbpAdviceCounts counts = count_accesses(&server->run, pool, &server->watch);

	counts.seconds = 1;
	pbp_advice_accesses(advice, &counts);
	pbp_advice_look_time(advice, server->second++);
	pbp_advice_begin(advice, pool->ticks);
	for (int i = 0; i < pool->used; i++)
	{
		uint64_t	key = key_of(pool->page[i], 1);

		if (!pbp_advice_sampled(advice, key))
			continue;
		pbp_advice_observe(advice, key, i, pool->usage[i], false);
		if (advice->wants_relation)
			pbp_advice_set_relation(advice, &(PbpRelationKey) {.relfilenode = (uint32_t) pool->page[i] % RELATIONS});
	}
	pbp_advice_end(advice, pool->ticks);
	server->watch = (Watch) {pool->ticks, server->memory.accesses, pool->hits, pool->reads, 0};
}

static void
step(Server *server)
{
	memory_access(&server->memory, load_next(&server->trace));
	if (server->memory.pool.ticks - server->watch.ticks >= POOL / LOOKS_PER_PASS ||
		server->memory.accesses - server->watch.count >= POOL)
		look(server);
}

/* For so many pools' worth of reads. */
static void
server_run(Server *server, double pools)
{
	int64_t		reads = server->memory.reads + (int64_t) (pools * POOL);

	while (server->memory.reads < reads)
		step(server);
}

static void
ask(const PbpAdvice *advice, Answers *answers)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		pbp_advice_row(advice, i, &answers->rows[i]);
		pbp_advice_storage_row(advice, i, PBP_ADVICE_FIXED, &answers->storage[i]);
	}
	pbp_advice_totals(advice, &answers->totals);
	pbp_advice_report_relations(advice, &answers->relations);
}

/* ---- restarts ---- */

static void
put(void *arg, const void *bytes, size_t nbytes)
{
	Bytes	   *saved = arg;

	memcpy(saved->bytes + saved->nbytes, bytes, nbytes);
	saved->nbytes += nbytes;
}

static Bytes
save(PbpAdvice *advice)
{
	size_t		expected = pbp_advice_saved_bytes(advice);
	Bytes		saved = {malloc(expected + 1), 0};

	pbp_advice_save(advice, put, &saved);
	if (saved.nbytes != expected)
	{
		printf("Bail out! %zu bytes instead of %zu\n", saved.nbytes, expected);
		exit(1);
	}
	return saved;
}

/* In other memory, while what was there is overwritten. */
static bool
restart(Server *server, int64_t seconds)
{
	Bytes		saved = save(server->run.advice[0]);
	void	   *blocks[3];
	PbpAdvice  *advice = create_advice(blocks, POOL, ADVICE_BYTES);
	bool		restored = pbp_advice_restore(advice, saved.bytes, saved.nbytes);

	memset(server->blocks[0], 0xFF, ADVICE_BYTES);
	memset(server->blocks[1], 0xFF, RELATION_BYTES);
	memset(server->blocks[2], 0xFF, STORAGE_BYTES);
	free_blocks(server->blocks);
	memset(saved.bytes, 0xFF, saved.nbytes);
	free(saved.bytes);

	server->run.advice[0] = advice;
	memcpy(server->blocks, blocks, sizeof(blocks));
	pool_free(&server->memory.pool);
	pool_init(&server->memory.pool, POOL, load_pages(POOL * 4));
	for (int i = 0; i < POOL; i++)
		server->memory.evictable[i] = NONE;
	server->memory.reads = 0;
	server->watch = (Watch) {0, server->memory.accesses, 0, 0, 0};
	server->second += seconds;
	return restored;
}

/* ---- comparisons ---- */

/* The largest difference of the ratios, in uncertainties of before; infinite if one became unknown. */
static double
difference(const Answers *before, const Answers *after)
{
	double		most = 0;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		const PbpAdviceRow *row = &before->rows[i];
		const PbpAdviceStorageRow *storage = &before->storage[i];

		if (row->reason != after->rows[i].reason || storage->reason != after->storage[i].reason)
			return INFINITY;
		if (row->reason == PBP_ADVICE_KNOWN)
			most = fmax(most, fabs(after->rows[i].miss_ratio - row->miss_ratio) / (row->uncertainty + 0.002));
		if (storage->reason == PBP_STORAGE_KNOWN)
			most = fmax(most, fabs(after->storage[i].storage_ratio - storage->storage_ratio) / (storage->uncertainty + 0.002));
	}
	return most;
}

static int
count_answers(const Answers *answers)
{
	int			known = 0;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		known += (answers->rows[i].reason == PBP_ADVICE_KNOWN) + (answers->storage[i].reason == PBP_STORAGE_KNOWN);
	return known;
}

/* Are there the same relations, each with about the same share of the reads? */
static bool
same_relations(const PbpRelationsReport *before, const PbpRelationsReport *after)
{
	if (before->nrows != RELATIONS || after->nrows != RELATIONS)
		return false;
	for (int i = 0; i < RELATIONS; i++)
		for (int j = 0; j < RELATIONS; j++)
			if (before->rows[i].key.relfilenode == after->rows[j].key.relfilenode &&
				fabs(before->rows[i].read_share - after->rows[j].read_share) > before->rows[i].read_share_error)
				return false;
	return true;
}

/* ---- tests ---- */

/* While the pool fills and for some passes after that, the answers stand. */
static void
follow_restart(Load load)
{
	static Answers before,
				after,
				control_answers;
	Server		server;
	Server		control;
	char		what[100];
	double		most = 0;

	server_start(&server, load);
	server_start(&control, load);
	server_run(&server, 25);
	server_run(&control, 25);
	ask(server.run.advice[0], &before);
	restart(&server, 3);

	ask(server.run.advice[0], &after);
	printf("# %s: %d answers, %.3f uncertainties apart\n", load_names[load], count_answers(&before), difference(&before, &after));
	snprintf(what, sizeof(what), "%s: after a restart, before the first look, all that was known is", load_names[load]);
	ok(count_answers(&before) > PBP_ADVICE_FACTORS && difference(&before, &after) < 0.1, what);
	snprintf(what, sizeof(what), "%s: so are the relations", load_names[load]);
	ok(same_relations(&before.relations, &after.relations), what);

	for (int i = 0; i < 30; i++)
	{
		server_run(&server, 0.1);
		ask(server.run.advice[0], &after);
		most = fmax(most, difference(&before, &after));
	}
	printf("# %s: at most %.3f uncertainties apart, self_error from %.4f to %.4f\n", load_names[load], most,
		   before.totals.self_error, after.totals.self_error);
	snprintf(what, sizeof(what), "%s: while the pool fills and in the next passes, the answers stay", load_names[load]);
	ok(most < 1, what);
	snprintf(what, sizeof(what), "%s: so do the relations", load_names[load]);
	ok(same_relations(&before.relations, &after.relations), what);
	snprintf(what, sizeof(what), "%s: loads agree with reads as before", load_names[load]);
	ok(fabs(after.totals.self_error - before.totals.self_error) < 0.03, what);

	server_run(&server, 12);
	while (control.memory.accesses < server.memory.accesses)
		step(&control);
	ask(server.run.advice[0], &after);
	ask(control.run.advice[0], &control_answers);
	printf("# %s: later, %.3f uncertainties apart from a server that never stopped; self_error %.4f and %.4f\n", load_names[load],
		   difference(&control_answers, &after), after.totals.self_error, control_answers.totals.self_error);
	snprintf(what, sizeof(what), "%s: later, they are those of a server that never stopped", load_names[load]);
	ok(difference(&control_answers, &after) < 1, what);
	snprintf(what, sizeof(what), "%s: counted is on top of what was counted before", load_names[load]);
	ok(after.totals.sampled_loads > before.totals.sampled_loads &&
	   after.totals.gaps == before.totals.gaps && after.totals.looks > before.totals.looks, what);
	server_stop(&server);
	server_stop(&control);
}

/* The reads of a pool that is filled again and again never count. */
static void
restart_often(void)
{
	static Answers before,
				after;
	Server		server;

	server_start(&server, ACCOUNTS);
	server_run(&server, 25);
	ask(server.run.advice[0], &before);
	for (int i = 0; i < 10; i++)
	{
		restart(&server, 3);
		server_run(&server, 0.7 + i * 0.05);
	}
	ask(server.run.advice[0], &after);
	printf("# %.3f uncertainties apart, self_error from %.4f to %.4f\n", difference(&before, &after),
		   before.totals.self_error, after.totals.self_error);
	ok(difference(&before, &after) < 0.1, "ten restarts, each before the pool was full: the answers stand");
	ok(after.totals.sampled_loads == before.totals.sampled_loads && after.totals.reads <= before.totals.reads,
	   "and no read was counted");
	server_stop(&server);
}

/* A gap while the pool fills does not forget; a later one does. */
static void
lose_knowledge(void)
{
	static Answers answers;
	Server		server;
	int			known;

	server_start(&server, ACCOUNTS);
	server_run(&server, 25);
	restart(&server, 3);
	ask(server.run.advice[0], &answers);
	known = count_answers(&answers);
	server_run(&server, 0.5);
	pbp_advice_gap(server.run.advice[0]);
	server_run(&server, 0.2);
	ask(server.run.advice[0], &answers);
	ok(count_answers(&answers) == known, "a gap while the pool fills: what is known stays");
	server_run(&server, 5);
	ask(server.run.advice[0], &answers);
	ok(count_answers(&answers) == known, "and is learned further");
	pbp_advice_gap(server.run.advice[0]);
	server_run(&server, 0.2);
	ask(server.run.advice[0], &answers);
	ok(count_answers(&answers) < known, "a gap later: larger sizes must be learned again");
	server_stop(&server);
}

static void
restart_machine(void)
{
	static Answers answers;
	Server		server;
	int			learning = 0;

	server_start(&server, ACCOUNTS);
	server_run(&server, 25);
	restart(&server, 60);
	pbp_advice_doubt_os_cache(server.run.advice[0]);
	ask(server.run.advice[0], &answers);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		learning += answers.rows[i].reason == PBP_ADVICE_KNOWN && answers.storage[i].reason == PBP_STORAGE_LEARNING;
	printf("# %d sizes\n", learning);
	ok(learning >= 8, "an empty page cache: miss ratios are known, and storage reads must be learned again");
	server_run(&server, 30);
	ask(server.run.advice[0], &answers);
	ok(answers.storage[TODAY].reason == PBP_STORAGE_KNOWN, "which they are");
	server_stop(&server);
}

/* Time goes on while the server is down. */
static void
keep_working_set(void)
{
	static Answers before,
				after;
	Server		server;

	server_start(&server, UNIFORM_PAGES);
	server_run(&server, 80);
	ask(server.run.advice[0], &before);
	restart(&server, 10);
	server_run(&server, 3);
	ask(server.run.advice[0], &after);
	printf("# window of 5 minutes: %.0f pages, then %.0f\n", before.relations.windows[1].pages, after.relations.windows[1].pages);
	ok(before.relations.windows[1].known && after.relations.windows[1].known &&
	   fabs(after.relations.windows[1].pages - before.relations.windows[1].pages) < 0.1 * before.relations.windows[1].pages,
	   "pages in use: a short restart leaves them known");
	restart(&server, 100);
	server_run(&server, 3);
	ask(server.run.advice[0], &after);
	ok(!after.relations.windows[0].known && !after.relations.windows[1].known && after.relations.windows[2].known,
	   "a longer one those windows alone in which it is short");
	server_stop(&server);
}

/* Other parameters, other memory, fewer or more bytes: nothing is restored, and nothing changes. */
static void
refuse(void)
{
	Server		server;
	Bytes		saved;
	void	   *blocks[3];
	PbpAdvice  *advice = create_advice(blocks, POOL, ADVICE_BYTES);
	char	   *untouched = malloc(ADVICE_BYTES);
	size_t		accepted = 0;

	server_start(&server, ACCOUNTS);
	server_run(&server, 3);
	saved = save(server.run.advice[0]);
	memcpy(untouched, advice, ADVICE_BYTES);
	for (size_t nbytes = 0; nbytes < saved.nbytes; nbytes++)
		accepted += pbp_advice_restore(advice, saved.bytes, nbytes);
	accepted += pbp_advice_restore(advice, saved.bytes, saved.nbytes + 1);
	ok(accepted == 0 && memcmp(untouched, advice, ADVICE_BYTES) == 0, "any other number of bytes: nothing is restored or touched");
	ok(pbp_advice_restore(advice, saved.bytes, saved.nbytes), "all bytes: all is restored");
	free_blocks(blocks);

	advice = create_advice(blocks, POOL * 2, ADVICE_BYTES);
	ok(!pbp_advice_restore(advice, saved.bytes, saved.nbytes), "another size of the pool: nothing is restored");
	free_blocks(blocks);
	advice = create_advice(blocks, POOL, ADVICE_BYTES / 2);
	ok(!pbp_advice_restore(advice, saved.bytes, saved.nbytes), "less memory: nothing is restored");
	free_blocks(blocks);
	blocks[0] = malloc(ADVICE_BYTES);
	advice = pbp_advice_init(blocks[0], ADVICE_BYTES, POOL, USAGE_MAX, 1.0 / 10, true);
	ok(!pbp_advice_restore(advice, saved.bytes, saved.nbytes), "no memory for relations and page caches: nothing is restored");
	free(blocks[0]);
	free(untouched);
	free(saved.bytes);
	server_stop(&server);
}

int
main(void)
{
	follow_restart(ACCOUNTS);
	follow_restart(ZIPF_PAGES);
	follow_restart(UNIFORM_PAGES);
	restart_often();
	lose_knowledge();
	restart_machine();
	keep_working_set();
	refuse();
	printf("1..%d\n", tests);
	return 0;
}

/*
 * look.c
 *	  A look sees every page that it should, without reading every buffer.
 *
 * Runs src/simulator/look.c over a model of the buffer pool and compares what each look
 * sees with all that the pool holds.  Prints TAP.  This pool is not that of
 * exact_caches.c, because here reads overlap: buffers are pinned, and pages arrive in
 * another order than the hand has passed their buffers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/look.h"
#include "advice_model.h"

#define BUFFERS			3000
#define PAGES			12000	/* of which the sample has room for each */
#define MAX_IN_FLIGHT	100
#define ADVICE_BYTES	(8 * 1024 * 1024)

/* A buffer that a read is about to fill is pinned and keeps its old page. */
typedef struct Buffer
{
	int			page;
	int			usage;
	int			pins;
	bool		victim;
} Buffer;

static Buffer pool[BUFFERS];
static int	buffer_of[PAGES];
static int64_t ticks;
static int	in_flight;			/* reads that go on at a time */
static int	nflights;
static int	flight_buffer[MAX_IN_FLIGHT];
static int	flight_page[MAX_IN_FLIGHT];

static PbpLook look;
static bool seen[BUFFERS];
static int64_t buffers_read;
static Random drawn = {88172645463325252u};

/* ---- the pool ---- */

static void
place(int buffer, int page)
{
	if (pool[buffer].page != NONE)
		buffer_of[pool[buffer].page] = NONE;
	pool[buffer] = (Buffer) {.page = page,.usage = 1};
	buffer_of[page] = buffer;
}

/* One of the reads in flight ends, in an order of its own. */
static void
end_read(void)
{
	int			chosen = below(&drawn, nflights);

	place(flight_buffer[chosen], flight_page[chosen]);
	nflights--;
	flight_buffer[chosen] = flight_buffer[nflights];
	flight_page[chosen] = flight_page[nflights];
}

static int
sweep(void)
{
	for (;;)
	{
		int			buffer = (int) (ticks++ % BUFFERS);

		if (pool[buffer].pins > 0)
			continue;
		if (pool[buffer].usage == 0)
			return buffer;
		pool[buffer].usage--;
	}
}

static void
access_page(int page)
{
	int			buffer = buffer_of[page];

	if (buffer != NONE && !pool[buffer].victim)
	{
		pool[buffer].usage += pool[buffer].usage < USAGE_MAX;
		return;
	}
	for (int i = 0; i < nflights; i++)
		if (flight_page[i] == page || (buffer != NONE && flight_buffer[i] == buffer))
			return;				/* somebody reads it, or writes it first */
	while (nflights >= in_flight && nflights > 0)
		end_read();
	buffer = sweep();
	pool[buffer].pins = 1;
	pool[buffer].victim = true;
	flight_buffer[nflights] = buffer;
	flight_page[nflights++] = page;
	if (in_flight == 0)
		end_read();
}

/* Popular pages and others. */
static void
run(int accesses)
{
	for (int i = 0; i < accesses; i++)
		access_page(below(&drawn, below(&drawn, 2) > 0 ? PAGES / 10 : PAGES));
}

/* ---- the look ---- */

static void
read_buffer(int buffer)
{
	const Buffer *it = &pool[buffer];

	buffers_read++;
	if (it->page != NONE && !it->victim && pbp_advice_sampled(look.advice, key_of(it->page, 1)))
	{
		seen[buffer] = true;
		pbp_look_page(&look, key_of(it->page, 1), buffer, it->usage, false, false);
	}
	else if (it->pins > 0)
		pbp_look_pinned(&look, buffer);
}

static void
read_range(void *arg, int first, int end)
{
	(void) arg;
	for (int i = first; i < end; i++)
		read_buffer(i);
}

static void
read_buffers(void *arg, const int *buffers, int nbuffers)
{
	(void) arg;
	for (int i = 0; i < nbuffers; i++)
		read_buffer(buffers[i]);
}

/* Pages of the sample that a look did not see. */
static int
unseen_by_look(void)
{
	int			unseen = 0;

	memset(seen, 0, sizeof(seen));
	pbp_look_begin(&look, ticks);
	pbp_look_end(&look, ticks);
	for (int i = 0; i < BUFFERS; i++)
		unseen += pool[i].page != NONE && !pool[i].victim && !seen[i] &&
			pbp_advice_sampled(look.advice, key_of(pool[i].page, 1));
	return unseen;
}

static void
begin(int reads_in_flight)
{
	static void *memory = NULL;
	PbpLookReader reader = {NULL, read_range, read_buffers};

	free(memory);
	memory = malloc(ADVICE_BYTES);
	for (int i = 0; i < PAGES; i++)
		buffer_of[i] = NONE;
	for (int i = 0; i < BUFFERS; i++)
		pool[i] = (Buffer) {.page = NONE};
	ticks = 0;
	nflights = 0;
	in_flight = reads_in_flight;
	pbp_look_init(&look, pbp_advice_init(memory, ADVICE_BYTES, BUFFERS, USAGE_MAX, 0.3, true),
				  &reader);
	run(20 * BUFFERS);
	(void) unseen_by_look();
}

/* ---- tests ---- */

static void
test_sees_all(int reads_in_flight, int accesses, const char *what)
{
	int			unseen = 0;
	int64_t		first_tick;
	int64_t		first_look;
	int64_t		budget;

	begin(reads_in_flight);
	buffers_read = 0;
	first_tick = ticks;
	first_look = (int64_t) look.number;
	while (ticks - first_tick < 100 * BUFFERS)
	{
		run(1 + below(&drawn, 2 * accesses));
		unseen += unseen_by_look();
	}
	ok(unseen == 0, what);
	ok(pbp_look_missed_share(&look) == 0, "... and the checks find that nothing was missed");

	/* the range with its overlap, known and pinned buffers; and the checks */
	budget = ticks - first_tick + ((int64_t) look.number - first_look) *
		(int64_t) (256 + 0.35 * BUFFERS + MAX_IN_FLIGHT) + 16 * BUFFERS;
	ok(buffers_read < budget, "... without reading the other buffers");
}

static void
test_several_passes(void)
{
	int			unseen = 0;

	begin(10);
	for (int i = 0; i < 20; i++)
	{
		int64_t		before = ticks;

		while (ticks - before < (int64_t) BUFFERS * (i % 4) + i)
			run(10);
		unseen += unseen_by_look();
	}
	ok(unseen == 0, "a look after several passes of the hand sees every page");
}

/* As after DROP TABLE: pages leave, and others take their buffers at once. */
static void
replace_anywhere(int npages)
{
	for (int i = 0; i < npages; i++)
	{
		int			buffer = below(&drawn, BUFFERS);
		int			page = below(&drawn, PAGES);

		if (pool[buffer].pins == 0 && buffer_of[page] == NONE)
			place(buffer, page);
	}
}

static void
test_free_buffers(void)
{
	int			unseen = 0;

	begin(10);
	for (int i = 0; i < 50; i++)
	{
		run(500);
		replace_anywhere(300);
		pbp_look_is_incomplete(&look);
		unseen += unseen_by_look();
	}
	ok(unseen == 0, "a look sees pages that free buffers have taken");
	ok(isnan(pbp_look_missed_share(&look)), "... and these do not count as missed");
}

static void
test_check(void)
{
	int64_t		first_tick;
	double		share;

	begin(10);
	first_tick = ticks;
	while (ticks - first_tick < 100 * BUFFERS)
	{
		run(200);
		replace_anywhere(20);
		(void) unseen_by_look();
	}
	share = pbp_look_missed_share(&look);
	printf("# %g of the loads missed\n", share);
	ok(share > 0.02 && share < 0.5, "checks find pages that were loaded where no look expects them");
	(void) unseen_by_look();
	look.check_ticks = 0;
	ok(unseen_by_look() == 0, "... and the look that checks sees them");
}

static void
test_pinned_overflow(void)
{
	begin(0);
	for (int i = 0; i < BUFFERS; i++)
		pool[i].pins += i % 2;
	look.incomplete = true;
	(void) unseen_by_look();
	ok(!look.incomplete, "many pinned buffers are remembered");
	for (int i = 0; i < BUFFERS; i++)
		pool[i].pins = 0;
	for (int i = 0; i < PBP_MAX_PINNED; i++)
		pbp_look_pinned(&look, i % BUFFERS);
	pbp_look_begin(&look, ticks);
	for (int i = 0; i < PBP_MAX_PINNED; i++)
		pbp_look_pinned(&look, i % BUFFERS);
	pbp_look_end(&look, ticks);
	ok(look.incomplete, "more than fit make the next look read all");
	buffers_read = 0;
	ok(unseen_by_look() == 0 && buffers_read >= BUFFERS, "... which it does");
}

int
main(void)
{
	test_sees_all(0, 20, "looks see every page, a few buffers apart");
	test_sees_all(0, 1000, "looks see every page, a fraction of a pass apart");
	test_sees_all(10, 100, "looks see every page while ten reads go on");
	test_sees_all(MAX_IN_FLIGHT, 300, "looks see every page while a hundred reads go on");
	test_several_passes();
	test_free_buffers();
	test_check();
	test_pinned_overflow();
	return end_of_tests();
}

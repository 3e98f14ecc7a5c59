/*-------------------------------------------------------------------------
 *
 * look.c
 *	  A look at the pool: which buffers are read.
 *
 * A page enters the pool in a buffer that the clock hand has just passed, from
 * the free list, or through a ring.  The buffer of a victim keeps its old page
 * until that has been written, and is pinned meanwhile.  So buffers that were
 * passed and pinned are read again by the next look.
 *
 * Loads from the free list and after a loss of knowledge can be anywhere: then
 * the whole pool is read.  Loads through rings are none that the advice wants.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/look.h"

#include <limits.h>
#include <string.h>

#include "simulator/internal.h"

/* Many are read twice: sessions may not have pinned the victims that the hand gave them yet. */
#define OVERLAP				256

/* Buffers that are read by one call. */
#define BATCH				256

/* Passes between checks: two whole scans in a pass.  A page cannot come and go between them. */
#define PASSES_PER_CHECK	32
#define CHECK_GAIN			0.1

void
pbp_look_init(PbpLook *look, PbpAdvice *advice, const PbpLookReader *reader)
{
	memset(look, 0, sizeof(*look));
	look->advice = advice;
	look->reader = *reader;
	look->incomplete = true;
	look->whole_ticks = -1;
}

void
pbp_look_is_incomplete(PbpLook *look)
{
	look->incomplete = true;
}

static PbpPinnedList *
pinned_of(PbpLook *look, uint64_t number)
{
	return &look->pinned[number % 2];
}

/* The next buffer where the last look observed a page, without advancing; INT_MAX: no more. */
static int
next_known(const PbpLook *look)
{
	const LookLists *last = lists_of(look->advice, look->advice->look.number - 1);

	return look->next_known < last->nmeetings ? last->meetings[look->next_known].buffer : INT_MAX;
}

static int
next_pinned(PbpLook *look)
{
	const PbpPinnedList *last = pinned_of(look, look->number - 1);

	return look->next_pinned < last->nbuffers ? last->buffers[look->next_pinned] : INT_MAX;
}

/* Takes the next buffer of both lists.  INT_MAX: there is none before end. */
static int
take_next(PbpLook *look, int end)
{
	int			known = next_known(look);
	int			pinned = next_pinned(look);
	int			buffer = known < pinned ? known : pinned;

	if (buffer >= end)
		return INT_MAX;
	look->next_known += known == buffer;
	look->next_pinned += pinned == buffer;
	return buffer;
}

static void
skip_to(PbpLook *look, int first)
{
	while (take_next(look, first) != INT_MAX)
		 /* not again */ ;
}

/* Read the last look's buffers from first to before end. */
static void
read_again(PbpLook *look, int first, int end)
{
	int			buffers[BATCH];
	int			nbuffers;

	skip_to(look, first);
	do
	{
		nbuffers = 0;
		while (nbuffers < BATCH && (buffers[nbuffers] = take_next(look, end)) != INT_MAX)
			nbuffers++;
		look->reader.read_buffers(look->reader.arg, buffers, nbuffers);
	} while (nbuffers == BATCH);
}

/* True if a partial look would have read this buffer.  To be called in the order of buffers. */
static bool
is_expected(PbpLook *look, int buffer)
{
	const Advice *advice = look->advice;
	int64_t		behind = (advice->look.now.ticks - 1 - buffer + advice->nbuffers) % advice->nbuffers;

	if (behind < advice->look.now.ticks - advice->look.last.ticks + OVERLAP)
		return true;
	skip_to(look, buffer);
	return next_known(look) == buffer || next_pinned(look) == buffer;
}

static void
read_range(PbpLook *look, int64_t ticks, int64_t passed)
{
	int			nbuffers = look->advice->nbuffers;
	int			end = (int) (ticks % nbuffers);
	int			first = (int) ((ticks - passed) % nbuffers);

	if (first <= end)
	{
		read_again(look, 0, first);
		look->reader.read_range(look->reader.arg, first, end);
		read_again(look, end, nbuffers);
	}
	else
	{
		look->reader.read_range(look->reader.arg, 0, end);
		read_again(look, end, first);
		look->reader.read_range(look->reader.arg, first, nbuffers);
	}
}

void
pbp_look_begin(PbpLook *look, int64_t ticks)
{
	int			nbuffers = look->advice->nbuffers;
	int64_t		passed = ticks - look->advice->look.last.ticks + OVERLAP;

	look->number++;
	look->next_known = 0;
	look->next_pinned = 0;
	look->missed = 0;
	pinned_of(look, look->number)->nbuffers = 0;
	look->whole = look->incomplete || ticks >= look->check_ticks ||
		passed < OVERLAP || passed >= nbuffers || ticks < passed;

	pbp_advice_begin(look->advice, ticks);
	if (look->whole)
		look->reader.read_range(look->reader.arg, 0, nbuffers);
	else
		read_range(look, ticks, passed);
}

/* Counts what was missed since the pool was read as a whole, if none of it has left. */
static void
check(PbpLook *look)
{
	int			nbuffers = look->advice->nbuffers;
	int64_t		ticks = look->advice->look.now.ticks;
	bool		counts = !look->incomplete && look->whole_ticks >= 0 &&
		ticks - look->whole_ticks <= nbuffers;

	if (counts)
	{
		look->checked_loads += look->loads - CHECK_GAIN * look->checked_loads;
		look->missed_loads += look->missed - CHECK_GAIN * look->missed_loads;
	}
	look->check_ticks = ticks + (counts ? (int64_t) PASSES_PER_CHECK * nbuffers : nbuffers / 2);
	look->whole_ticks = ticks;
	look->loads = 0;
	look->incomplete = false;
}

void
pbp_look_end(PbpLook *look, int64_t ticks)
{
	if (look->whole)
		check(look);
	if (pinned_of(look, look->number)->nbuffers == PBP_MAX_PINNED)
		look->incomplete = true;
	if (pbp_advice_end(look->advice, ticks))
		look->incomplete = true;
}

/* Returns true if the page is known to have been loaded since the last look. */
bool
pbp_look_page(PbpLook *look, uint64_t key, int buffer, int usage, bool dirty, bool scanned)
{
	if (!pbp_advice_observe(look->advice, key, buffer, usage, dirty, scanned))
		return false;
	look->loads++;
	if (look->whole && !is_expected(look, buffer))
		look->missed++;
	return true;
}

void
pbp_look_pinned(PbpLook *look, int buffer)
{
	PbpPinnedList *list = pinned_of(look, look->number);

	if (list->nbuffers < PBP_MAX_PINNED)
		list->buffers[list->nbuffers++] = buffer;
}

double
pbp_look_missed_share(const PbpLook *look)
{
	return look->checked_loads > 0 ? look->missed_loads / look->checked_loads : NAN;
}

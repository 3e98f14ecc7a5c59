/*-------------------------------------------------------------------------
 *
 * sweep.c
 *	  The clock sweep: the cost of searches for a victim buffer, replayed on a
 *	  private overlay or run live, and the position of the hand.
 *
 * Full scans of the descriptors belong in descriptors.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/spin.h"

#include "base/worker.h"
#include "pool/pool.h"

/* buffers inspected between two checks for interrupts, about a millisecond */
#define INSPECTED_PER_CHECK		32768

#define SMALLEST_PAGE			4096	/* of memory */

/* overlay: the replay has not taken this free buffer yet */
#define OVERLAY_ON_FREE_LIST	0x80
/* overlay: how often the replay has decremented the usage count */
#define OVERLAY_DECREMENTS		0x7F

StaticAssertDecl(BM_MAX_USAGE_COUNT <= OVERLAY_DECREMENTS,
				 "usage counts must fit the overlay");

typedef struct Replay
{
	bool		worst;			/* assume the highest usage count everywhere */
	int64		left;			/* buffers that it may still inspect */
	uint8	   *overlay;		/* one byte per buffer */
	int			free_left;		/* free buffers not taken yet */
	int			free_next;		/* where to search for the next one */

	/* private stand-ins for the server's control structure */
	pg_atomic_uint32 hand;
	pg_atomic_uint32 allocations;
	slock_t		free_list_lock;
} Replay;

/* Buffers that a live run took from the free list, in that order. */
typedef struct HeldBuffers
{
	int			nheld;
	int		   *buf_ids;
	bool	   *is_held;		/* for each buffer */
} HeldBuffers;

/*
 * Makes the kernel map these descriptors into this process before the clock
 * starts: a backend pays for that once, and not in its searches and scans.
 * Reads one descriptor per page, so the processor's caches stay cold.
 */
void
pbp_map_descriptors(int first, int end)
{
	for (int i = first; i < end; i += SMALLEST_PAGE / sizeof(BufferDescPadded))
	{
		CHECK_FOR_INTERRUPTS();
		(void) pbp_read_state(GetBufferDescriptor(i));
	}
}

/*
 * Reads the hand and its passes at one instant, under the strategy spinlock.
 *
 * The second argument must be NULL: otherwise the server's function would reset
 * a counter that the background writer depends on.
 */
PbpClock
pbp_read_clock(void)
{
	PbpClock	clock;

	clock.hand = StrategySyncStart(&clock.passes, NULL);
	return clock;
}

int64
pbp_ticks(PbpClock clock)
{
	return (int64) clock.passes * NBuffers + clock.hand;
}

/*
 * True if any page has been evicted since the server started, except from rings.
 * Without a free list, the first pass hands out unused buffers.
 */
bool
pbp_has_evicted(void)
{
	return pbp_ticks(pbp_read_clock()) > (PBP_HAS_FREE_LIST ? 0 : NBuffers);
}

/*
 * Correct even if the server's 32-bit counter of passes has wrapped around.
 *
 * 0 if the hand seems to be behind: a process that has yet to count a pass may
 * be interrupted for so long that the hand of a small pool passes once more.
 */
int64
pbp_ticks_between(PbpClock from, PbpClock to)
{
	int64		passes = (int32) (to.passes - from.passes);

	return Max(passes * NBuffers + (to.hand - from.hand), 0);
}

/* Measures the speed of the clock hand, for at least this long. */
PbpClockRate
pbp_watch_clock(int64 duration_ms)
{
	PbpClock	from = pbp_read_clock();
	int64		from_ns = pbp_now_ns();
	int64		left_ns;
	PbpClockRate rate = {0};

	while ((left_ns = from_ns + duration_ms * 1000000 - pbp_now_ns()) > 0)
		pbp_worker_wait(left_ns / 1000000 + 1);
	rate.seconds = (double) (pbp_now_ns() - from_ns) / 1e9;
	rate.ticks = (double) pbp_ticks_between(from, pbp_read_clock());
	return rate;
}

/* The state is that of the victim, or 0 if the search was stopped. */
static void
add_search(PbpSweepCost *cost, int64 elapsed_ns, int64 inspected, PbpBufState state)
{
	if (!cost->stopped)
	{
		cost->victims++;
		pbp_latency_add(&cost->latency, elapsed_ns);
	}
	if (inspected > 0)
	{
		cost->sweeps++;
		cost->sweep_ns += (double) elapsed_ns;
	}
	cost->inspected += inspected;
	cost->dirty_victims += (state & BM_DIRTY) != 0;
}

/* ---- replay ---- */

/*
 * Marks the free buffers that are unpinned and unused.  The server's search
 * removes all others from the free list.
 */
static void
mark_free_buffers(Replay *replay)
{
	for (int i = 0; i < NBuffers; i++)
	{
		BufferDesc *desc = GetBufferDescriptor(i);
		PbpBufState state = pbp_read_state(desc);

		if (pbp_on_free_list(desc) &&
			BUF_STATE_GET_REFCOUNT(state) == 0 &&
			BUF_STATE_GET_USAGECOUNT(state) == 0)
		{
			replay->overlay[i] = OVERLAY_ON_FREE_LIST;
			replay->free_left++;
		}
		if (i % INSPECTED_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Takes the next buffer from the replayed free list, as the server does. */
static void
replay_free_buffer(Replay *replay, PbpSweepCost *cost)
{
	int64		start;
	BufferDesc *desc;
	PbpBufState state;

	while (!(replay->overlay[replay->free_next] & OVERLAY_ON_FREE_LIST))
		if (++replay->free_next % INSPECTED_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	desc = GetBufferDescriptor(replay->free_next);
	replay->overlay[replay->free_next] = 0;
	replay->free_left--;

	start = pbp_now_ns();
	pg_atomic_fetch_add_u32(&replay->allocations, 1);
	SpinLockAcquire(&replay->free_list_lock);
	SpinLockRelease(&replay->free_list_lock);
	state = pbp_inspect_header(desc);
	add_search(cost, pbp_now_ns() - start, 0, state);
	cost->from_freelist++;
}

/* Moves the replayed hand by one buffer; returns the buffer that it was at. */
static uint32
replay_tick(Replay *replay)
{
	uint32		victim = pg_atomic_fetch_add_u32(&replay->hand, 1);

	if (victim >= (uint32) NBuffers)
	{
		victim = 0;
		pg_atomic_write_u32(&replay->hand, 1);
	}
	return victim;
}

/*
 * Moves the replayed hand to the next victim and sets its state.  Returns false
 * if the replay has inspected as many buffers as it may.
 *
 * Follows the server's search step by step: the same order, the same atomic
 * operations on the same headers, and one on a private hand.  Only the
 * decrement goes to the overlay instead of the header, so no usage count
 * changes.  To other sessions this backend looks like one that searches for a
 * victim: it locks each header in turn up to PostgreSQL 18.
 */
static bool
replay_search(Replay *replay, PbpBufState *victim_state, int64 *inspected)
{
	int			without_change = NBuffers;

	pg_atomic_fetch_add_u32(&replay->allocations, 1);
	while (replay->left-- > 0)
	{
		uint32		victim = replay_tick(replay);
		uint8	   *decrements = &replay->overlay[victim];
		PbpBufState state = pbp_inspect_header(GetBufferDescriptor(victim));
		int			usage = replay->worst ? BM_MAX_USAGE_COUNT : BUF_STATE_GET_USAGECOUNT(state);

		(*inspected)++;
		if (BUF_STATE_GET_REFCOUNT(state) != 0)
		{
			if (--without_change == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
						 errmsg("no unpinned buffers available"),
						 errdetail("Every buffer was pinned when the replay inspected it.")));
		}
		else if (usage > (*decrements & OVERLAY_DECREMENTS))
		{
			(*decrements)++;
			without_change = NBuffers;
		}
		else
		{
			*victim_state = state;
			return true;
		}

		if (*inspected % INSPECTED_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return false;
}

static void
replay_victims(const PbpSweepPlan *plan, PbpSweepCost *cost)
{
	Replay		replay = {
		.worst = plan->scenario == PBP_WORST,
		.left = plan->max_inspected,
		.overlay = palloc_extended(NBuffers, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO),
	};

	pg_atomic_init_u32(&replay.allocations, 0);
	SpinLockInit(&replay.free_list_lock);
	pbp_map_descriptors(0, NBuffers);
	if (!replay.worst && have_free_buffer())
		mark_free_buffers(&replay);
	pg_atomic_init_u32(&replay.hand,
					   (uint32) (((int64) pbp_read_clock().hand + plan->start) % NBuffers));
	for (int i = 0; i < plan->victims && !cost->stopped; i++)
	{
		CHECK_FOR_INTERRUPTS();

		if (replay.free_left > 0)
			replay_free_buffer(&replay, cost);
		else
		{
			int64		inspected = 0;
			int64		start = pbp_now_ns();
			PbpBufState state = 0;

			cost->stopped = !replay_search(&replay, &state, &inspected);
			add_search(cost, pbp_now_ns() - start, inspected, state);
		}
	}
	pfree(replay.overlay);
}

/* ---- live ---- */

/*
 * If the hand has not moved, the victim came from the free list.  If it has,
 * maybe only for other sessions, one without a tag did so too, unless the hand
 * has just passed it or this run has held it before.
 */
static bool
came_from_free_list(const HeldBuffers *held, const BufferDesc *desc,
					PbpBufState state, PbpClock before, PbpClock after)
{
	int			id = desc->buf_id;

	if (!PBP_HAS_FREE_LIST)
		return false;
	if (pbp_ticks_between(before, after) == 0)
		return true;
	return !(state & BM_TAG_VALID) && !held->is_held[id] &&
		(after.hand + NBuffers - 1) % NBuffers != id;
}

/*
 * A used buffer need not go back to the list.  Nor twice one that another
 * session used and freed meanwhile.  An additional free buffer does no harm.
 */
static void
hold_free_buffer(HeldBuffers *held, const BufferDesc *desc, PbpBufState state)
{
	if (state & BM_TAG_VALID || held->is_held[desc->buf_id])
		return;
	held->buf_ids[held->nheld++] = desc->buf_id;
	held->is_held[desc->buf_id] = true;
}

/*
 * Puts all buffers back, the last one first, which restores the list's order.
 *
 * A buffer that another session has taken in the meantime is left alone.  One
 * that is taken between the check and the push does no harm: the server removes
 * used buffers when it finds them on the list.
 */
static void
give_back_held(int code pg_attribute_unused(), Datum arg)
{
	HeldBuffers *held = (HeldBuffers *) DatumGetPointer(arg);

	while (held->nheld > 0)
	{
		BufferDesc *desc = GetBufferDescriptor(held->buf_ids[--held->nheld]);
		PbpBufState state = LockBufHdr(desc);
		bool		still_free = !(state & BM_TAG_VALID) &&
			BUF_STATE_GET_REFCOUNT(state) == 0;

		pbp_unlock_header(desc, state);
		if (still_free)
			StrategyFreeBuffer(desc);
	}
}

/* Runs the server's own search and releases the victim. */
static void
live_search(HeldBuffers *held, PbpSweepCost *cost)
{
	PbpClock	before;
	PbpClock	after;
	PbpBufState state;
	BufferDesc *desc;
	int64		start;
	int64		elapsed_ns;
	int64		inspected = 0;

	pbp_prepare_victim();
	before = pbp_read_clock();

	start = pbp_now_ns();
	desc = pbp_find_victim(&state);
	elapsed_ns = pbp_now_ns() - start;

	after = pbp_read_clock();
	pbp_release_victim(desc);

	if (came_from_free_list(held, desc, state, before, after))
	{
		hold_free_buffer(held, desc, state);
		cost->from_freelist++;
	}
	else
		inspected = pbp_ticks_between(before, after);
	add_search(cost, elapsed_ns, inspected, state);
}

/*
 * Buffers from the free list go back to its head, where the next search would
 * find them again.  So they are held until the end, which may be an error, a
 * cancel or the end of this process.  Nothing may fail after a search, so there is
 * room for all of them from the beginning.
 */
static void
live_victims(int victims, PbpSweepCost *cost)
{
	HeldBuffers held = {
		.buf_ids = palloc_extended(Min(victims, NBuffers) * sizeof(int), MCXT_ALLOC_HUGE),
		.is_held = palloc_extended(NBuffers, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO),
	};

	pbp_map_descriptors(0, NBuffers);
	PG_ENSURE_ERROR_CLEANUP(give_back_held, PointerGetDatum(&held));
	{
		for (int i = 0; i < victims; i++)
		{
			CHECK_FOR_INTERRUPTS();
			live_search(&held, cost);
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_back_held, PointerGetDatum(&held));
	give_back_held(0, PointerGetDatum(&held));

	pfree(held.buf_ids);
	pfree(held.is_held);
}

/*
 * Times the search for each of many victims.
 *
 * A replay (current, worst) changes nothing shared, and does what the server
 * would do if no other session did anything.  It locks what the server's search
 * locks, one header at a time, and takes its time, about 20 ns per buffer.
 * Memory: one byte per buffer.
 *
 * A live run moves the hand and ages usage counts, as any search does.  Its
 * inspected buffers include those that other sessions' searches pass at the
 * same time.  While it holds buffers from the free list, other sessions do not
 * find them there.  It cannot be interrupted within a search, nor while it puts
 * buffers back, and ignores max_inspected.  Memory: one byte per buffer, and 4
 * bytes for each buffer from the free list; address space as if all were from there.
 */
void
pbp_sweep_cost(const PbpSweepPlan *plan, PbpSweepCost *cost)
{
	memset(cost, 0, sizeof(*cost));
	if (plan->scenario == PBP_LIVE)
		live_victims(plan->victims, cost);
	else
		replay_victims(plan, cost);

	pbp_latency_finish(&cost->latency);
	cost->sweep_ns = Max(cost->sweep_ns - (double) cost->sweeps * cost->latency.clock_ns, 0);
}

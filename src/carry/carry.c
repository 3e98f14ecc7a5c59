/*-------------------------------------------------------------------------
 *
 * carry.c
 *	  The worker that carries both caches over a restart: when to save, when to
 *	  restore, and how long to sleep.
 *
 * It saves once per pgbufprobe.carry_over_interval and when it ends.
 * After a start of the server, it first restores what was saved; until that is
 * complete, the old file remains.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"
#include "carry/carry.h"
#include "pool/pool.h"

/* Restores that end by an error before no other one is tried. */
#define MAX_ATTEMPTS	3

/* A save that has failed is tried again after this time, or the interval if that is shorter. */
#define TRY_AGAIN_S		60

bool		pbp_carry_has_no_slot = false;

void
pbp_carry_register(void)
{
	pbp_carry_has_no_slot = !pbp_register_worker(PBP_CARRY_OVER);
}

/*
 * Does so on a running server, beside a sampler that was started there.  The caches
 * are warm, so the worker only saves.
 */
void
pbp_carry_launch(uint32 stops)
{
	if (!pbp_carry_over_on || pbp_read_shared_header().pids[PBP_CARRY_OVER] != 0)
		return;
	if (!pbp_launch_worker(PBP_CARRY_OVER, stops, NULL))
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start the worker that carries both caches over a restart, because no background worker slot is free"),
				 errhint("When one of the %d slots of max_worker_processes is free, reload the settings.", max_worker_processes)));
}

/* ---- how far it is, and whether it goes on ---- */

StaticAssertDecl(sizeof(PbpCarryProgress) <= PBP_CARRY_BYTES, "the header must have room for it");

PbpCarryProgress *
pbp_carry_lock(void)
{
	return (PbpCarryProgress *) pbp_lock_shared(LW_EXCLUSIVE)->carry;
}

PbpCarryProgress
pbp_carry_progress(void)
{
	PbpSharedHeader header = pbp_read_shared_header();

	return *(PbpCarryProgress *) header.carry;
}

/* Reloads settings; false if the worker must end or carry_over is off. */
bool
pbp_carry_goes_on(void)
{
	CHECK_FOR_INTERRUPTS();
	(void) pbp_reload_settings();
	return !pbp_must_end() && pbp_carry_over_on;
}

/* Sleeps until a time by pbp_now_ns(), unless the worker must end or carry_over is off. */
void
pbp_carry_sleep_until(int64 until_ns)
{
	int64		left_ns;

	while (pbp_carry_goes_on() && (left_ns = until_ns - pbp_now_ns()) > 0)
		pbp_worker_wait(left_ns / 1000000 + 1);
}

/* ---- the schedule ---- */

/*
 * Both restore into free buffers only, and count what the other has read as
 * present, so neither disturbs the other.
 */
static void
log_autoprewarm(void)
{
	static bool logged = false;
	const char *autoprewarm = GetConfigOption("pg_prewarm.autoprewarm", true, false);
	const char *libraries = GetConfigOption("shared_preload_libraries", false, false);

	if (logged || !pbp_carry_over_on || autoprewarm == NULL || strcmp(autoprewarm, "on") != 0 ||
		strstr(libraries, "pg_prewarm") == NULL)
		return;
	logged = true;
	ereport(LOG,
			(errmsg("both \"pgbufprobe.carry_over\" and \"pg_prewarm.autoprewarm\" are enabled"),
			 errhint("\"pgbufprobe.carry_over\" also restores usage counts and the page cache, so \"pg_prewarm.autoprewarm\" is not needed.")));
}

/* Restores what was saved, once after a start of the server. */
static void
restore(void)
{
	PbpCarryProgress *progress = pbp_carry_lock();
	bool		wanted = pbp_carry_over_on && !progress->settled;
	bool		given_up = wanted && progress->attempts++ >= MAX_ATTEMPTS;

	if (given_up)
		progress->incomplete = true;
	if (wanted)
		progress->wanted_buffers = NBuffers;
	if (wanted && progress->wanted_ns == 0)
		progress->wanted_ns = pbp_now_ns();
	pbp_unlock_shared();
	if (wanted && !given_up)
		pbp_carry_restore();
	progress = pbp_carry_lock();
	progress->settled = progress->settled || !pbp_must_end();
	/* given up after errors */
	if (progress->ended_ns == 0)
		progress->begun_ns = 0;
	pbp_unlock_shared();
}

/*
 * After a restore that has failed in part, or if the file cannot be read, it
 * remains until the load has brought as many pages into shared buffers as the
 * restore was to, or for a day: then, what the caches hold is better.
 */
static bool
may_save(void)
{
	PbpCarryProgress progress = pbp_carry_progress();
	int64		missing = progress.wanted_buffers;

	if (!progress.incomplete || pbp_now_ns() - progress.wanted_ns > SECS_PER_DAY * PBP_NS_PER_S)
		return true;
	for (int i = 0; i < NBuffers && missing > 0; i++)
		missing -= pbp_holds_page(pbp_read_state(GetBufferDescriptor(i)));
	return missing <= 0;
}

/* Saves when that is due and at the end, and sleeps in between. */
static void
run(MemoryContext round_context)
{
	int64		last_ns = pbp_is_preloaded_worker() ? pbp_now_ns() : 0;
	bool		saved = true;

	for (;;)
	{
		int			after_s;
		bool		may_be_due;
		int64		left_ns;
		PbpCarryProgress *progress;

		MemoryContextReset(round_context);
		(void) pbp_carry_goes_on();
		if (pbp_must_end())
			break;
		log_autoprewarm();
		/* turned on: save at once */
		if (!pbp_carry_over_on)
			last_ns = 0;
		may_be_due = pbp_carry_over_on && pbp_carry_over_interval_s != 0;
		after_s = saved ? pbp_carry_over_interval_s : Min(pbp_carry_over_interval_s, TRY_AGAIN_S);
		left_ns = last_ns == 0 ? 0 : last_ns + after_s * PBP_NS_PER_S - pbp_now_ns();
		if (may_be_due && left_ns <= 0)
		{
			saved = may_save() && pbp_carry_save(false);
			last_ns = pbp_now_ns();
			continue;
		}
		progress = pbp_carry_lock();
		progress->phase = !pbp_carry_over_on ? PBP_CARRY_OFF :
			progress->ended_ns != 0 ? PBP_CARRY_DONE : PBP_CARRY_WAITING;
		pbp_unlock_shared();
		pbp_worker_wait(may_be_due ? left_ns / 1000000 + 1 : -1);
	}
	/* A restore that is not complete keeps its file, so that the next start begins it again. */
	if (pbp_carry_over_on && pbp_carry_progress().settled && may_save())
		(void) pbp_carry_save(true);
}

void
pbp_carry_main(Datum arg)
{
	MemoryContext round_context;

	pbp_start_worker(InvalidOid);
	pbp_take_place(PBP_CARRY_OVER, arg);

	round_context = AllocSetContextCreate(TopMemoryContext, "pgbufprobe carry-over",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);
	log_autoprewarm();
	/* what an immediate shutdown has left incomplete */
	(void) unlink(pbp_carry_kind.temporary);
	if (pbp_is_preloaded_worker())
		restore();
	else
	{
		/* the caches are warm */
		pbp_carry_lock()->settled = true;
		pbp_unlock_shared();
	}
	MemoryContextSwitchTo(round_context);
	run(round_context);
	pbp_end_worker();
}

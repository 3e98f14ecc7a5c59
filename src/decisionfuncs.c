/*-------------------------------------------------------------------------
 *
 * decisionfuncs.c
 *	  The SQL function about other sizes of the pool, and what it says where a
 *	  figure is unknown or uncertain.  The decision among these sizes is
 *	  prepared here, and put into words in checkup_size.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "args.h"
#include "decisionfuncs.h"
#include "oscache.h"
#include "rows.h"
#include "sampler.h"
#include "words.h"

#define ADVICE_COLS			19

PG_FUNCTION_INFO_V1(pgbufprobe_advice);

/* in the order of PbpAdviceMemory */
static const char *const memory_names[] = {"fixed", "added"};

/* in the order of PbpFit */
static const char *const fit_names[] = {"yes", NULL, "machine", "cgroup", "huge pages"};

/* What one row is about. */
typedef struct AdviceOfSize
{
	const PbpAdviceReport *report;
	double		factor;
	bool		is_all_data;	/* of the server, at a size that has all */
	PbpFit		fit;
	const char *mark;
	bool		has_room;		/* it fits into memory, or memory is added */
	PbpAdviceRow misses;
	PbpAdviceStorageRow storage;
} AdviceOfSize;

/* Why there are no estimates for any size; NULL if there are. */
const char *
missing_advice(const PbpAdviceReport *report)
{
	if (!pbp_sampler_is_loaded())
		return "pgbufprobe is not in shared_preload_libraries, so no sampler is running";
	if (!pbp_sampler_on)
		return "pgbufprobe.sampler is off";
	if (pbp_sampler_has_no_slot())
		return "the sampler could not be registered, because max_worker_processes is too low";
	if (report->since == 0)
		return "the sampler has not taken its first sample yet";
	if (report->has_memory)
		return NULL;
	return pbp_advice_memory_kb == 0 ? "pgbufprobe.advice_memory is 0" :
		pbp_advice_memory_kb < 0 ? "the pool is too small for estimates, or memory could not be allocated" :
		"pgbufprobe.advice_memory is too small, or could not be allocated";
}

/* NULL: the miss ratio is known.  The share may be NaN. */
const char *
words_of_reason(PbpAdviceReason reason, double learned_share)
{
	switch (reason)
	{
		case PBP_ADVICE_KNOWN:
			return NULL;
		case PBP_ADVICE_NOTHING_EVICTED:
			return "the clock hand has not completed a pass yet";
		case PBP_ADVICE_LEARNING:
			return isnan(learned_share) ? "too few pages had been evicted and read again" :
				psprintf("still learning: %.0f %% of the reads needed have been seen", floor(100 * learned_share));
		case PBP_ADVICE_LITTLE_EVIDENCE:
			return "too few recent reads for an estimate";
		case PBP_ADVICE_RARE_LOOKS:
			return "the clock hand is too fast for the sampler; a higher pgbufprobe.max_cpu_fraction allows more looks";
		case PBP_ADVICE_FAST_HAND:
			return "in a pool this small, the clock hand would complete too many passes between two looks";
		case PBP_ADVICE_UNPUBLISHED:
			return PBP_COUNTS_APART ?
				"reads are not counted, because transactions have not reported their statistics yet or WAL is being replayed" :
				"reads are not counted, because track_counts is off, transactions have not reported their statistics yet, or WAL is being replayed";
		case PBP_ADVICE_UNCOUNTED:
			return "more pages are loaded than the server counts as reads, because WAL is being replayed or statistics have not been reported yet";
		case PBP_ADVICE_UNSEEN:
			return "most reads were not observed, because their pages were evicted before the next scan";
		case PBP_ADVICE_SATURATED:
			return "more pages are in constant use than this size can hold, and usage counts do not show which are used most";
	}
	return "unknown";
}

/* Why the miss ratio of one size is unknown; NULL if it is known. */
const char *
unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row)
{
	const char *missing = missing_advice(report);

	return missing != NULL ? missing : words_of_reason(row->reason, row->learned_share);
}

/* What limits the value of a known estimate; NULL if nothing. */
const char *
caveat_of_advice(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	if (totals->self_error < -LARGE_SELF_ERROR)
		return psprintf(PBP_COUNTS_APART ?
						"the worker saw only %.0f %% of the reads, because large scans or a fast clock hand evicted pages between two looks" :
						"the worker saw only %.0f %% of the reads; the others may be those of large scans and temporary tables",
						100 * (1 + totals->self_error));
	if (totals->self_error > LARGE_SELF_ERROR)
		return psprintf(PBP_COUNTS_APART ?
						"%.0f %% more pages were loaded than the server counts as reads, because COPY added pages, WAL is being replayed, or statistics have not been reported yet" :
						"%.0f %% more pages were loaded than the server counts as reads, because WAL is being replayed or statistics have not been reported yet",
						100 * totals->self_error);
	if (totals->ring_reads > totals->reads)
		return "large scans read even more through ring buffers, which is not counted here";
	return NULL;
}

static bool
is_no_obstacle(PbpFit fit)
{
	return fit == PBP_FITS || fit == PBP_FIT_UNKNOWN;
}

/* Does this size fit, as far as known? */
bool
may_fit(const PbpAdviceReport *report, int size)
{
	return size == PBP_ADVICE_BASELINE || !report->storage.has_memory || is_no_obstacle(report->storage.fits[size]);
}

/* Why reads from storage are unknown of all sizes; NULL if they are not. */
const char *
unknown_storage_model(const PbpAdviceReport *report)
{
	if (!report->storage.has_memory)
		return "memory to simulate the page cache could not be allocated";
	/* the worker may not know that yet */
	if (!pbp_os_cache_on)
		return "pgbufprobe.os_cache is off";
	switch (report->storage.model)
	{
		case PBP_STORAGE_MODELLED:
		case PBP_STORAGE_UNPROVEN:
			return NULL;
		case PBP_STORAGE_SWITCHED_OFF:
			return "pgbufprobe.os_cache is off";
		case PBP_STORAGE_DIRECT_IO:
			return "the server bypasses the page cache";
		case PBP_STORAGE_FILE_SYSTEM:
			return "a file system is in memory or has a cache of its own";
		case PBP_STORAGE_NO_INFORMATION:
			return "the kernel does not report its memory";
	}
	return "unknown";
}

/* Which size is best?  To be called where advice is not missing. */
PbpDecision
decide_size(const PbpAdviceReport *report)
{
	bool		fits[PBP_ADVICE_FACTORS];
	PbpDecisionInput input = {.fits = fits,.misses = report->rows};

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		fits[i] = may_fit(report, i);
	if (unknown_storage_model(report) == NULL)
		input.storage = report->storage.fixed;
	input.watched_seconds = (double) (GetCurrentTimestamp() - report->since) / USECS_PER_SEC;
	return pbp_decide(&input);
}

/* Why it is unknown which accesses wait for storage; NULL if it is known. */
static const char *
unknown_storage(const AdviceOfSize *advice)
{
	const char *unknown = unknown_storage_model(advice->report);

	if (unknown != NULL)
		return psprintf("storage reads are unknown, because %s", unknown);
	switch (advice->storage.reason)
	{
		case PBP_STORAGE_KNOWN:
			return NULL;
		case PBP_STORAGE_NO_CAPACITY:
			return "storage reads are unknown, because the size of the page cache is";
		case PBP_STORAGE_NO_ROOM:
			return "this size takes more than the page cache has";
		case PBP_STORAGE_NO_MISS_RATIO:
			return "storage reads are unknown, because the miss ratio is";
		case PBP_STORAGE_LEARNING:
			return psprintf("storage reads are unknown: %.0f %% of the reads needed have been seen",
							floor(100 * advice->storage.learned_share));
		case PBP_STORAGE_LITTLE_EVIDENCE:
			return "storage reads are unknown, because there were too few recent misses";
	}
	return "unknown";
}

/* Why there are no figures for this size; NULL if there are. */
static const char *
unknown_size(const AdviceOfSize *advice)
{
	if (missing_advice(advice->report) == NULL && !advice->has_room)
		return "this size does not fit into memory";
	return unknown_advice(advice->report, &advice->misses);
}

/* Time per second that sessions wait for reads; NaN: unknown. */
static double
read_ms_per_second(const AdviceOfSize *advice)
{
	const PbpAdviceReport *report = advice->report;
	double		misses = advice->misses.miss_ratio;
	double		served = misses > 0 ? Max(1 - advice->storage.storage_ratio / misses, 0) : 1;
	double		ns = 0;

	if (unknown_storage_model(report) != NULL || isnan(advice->storage.storage_ratio) || !(report->totals.seconds > 0) ||
		(served > 0 && report->os_read_ns < 0) || (served < 1 && report->storage_read_ns < 0))
		return NAN;
	if (served > 0)
		ns += served * report->os_read_ns;
	if (served < 1)
		ns += (1 - served) * report->storage_read_ns;
	return misses * report->totals.accesses / report->totals.seconds * ns / 1e6;
}

/* What to keep in mind about the storage reads of this size; NULL: nothing. */
static const char *
note_of_storage(const AdviceOfSize *advice)
{
	const PbpAdviceReport *report = advice->report;
	const char *unknown = unknown_storage(advice);

	if (unknown != NULL)
		return unknown;
	if (report->storage.model == PBP_STORAGE_UNPROVEN)
		return "storage reads are those of the kernel's classic lists, but this kernel evicts by MGLRU";
	if (!isnan(read_ms_per_second(advice)))
		return NULL;
	return report->storage_read_ns < 0 ?
		"times are unknown, because too few reads from storage have been timed" :
		"times are unknown, because too few reads from the page cache have been timed";
}

static const char *
note_of(const AdviceOfSize *advice)
{
	const char *caveat = advice->is_all_data ?
		"all data would be in the pool and read once; the intervals end where those of smaller sizes do" :
		caveat_of_advice(advice->report);
	const char *of_storage = note_of_storage(advice);

	if (caveat == NULL || of_storage == NULL)
		return caveat ? caveat : of_storage;
	return psprintf("%s; %s", caveat, of_storage);
}

/* A share of accesses, and the interval around it; three NULLs if unknown. */
static void
add_interval(Row *row, double share, double uncertainty)
{
	add_number(row, share);
	add_number(row, isnan(share) ? NAN : Max(share - uncertainty, 0));
	add_number(row, isnan(share) ? NAN : Min(share + uncertainty, 1));
}

/* Figures about the workload and the method, the same for all sizes. */
static void
add_evidence(Row *row, const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	add_measure(row, totals->seconds);
	add_rounded(row, totals->reads);
	add_count(row, totals->sampled_loads);
	add_number(row, totals->self_error);
	add_number(row, report->storage.has_memory ? report->storage.totals.self_error : NAN);
	add_number(row, report->missed_loads);
}

static void
emit_advice(ReturnSetInfo *rsinfo, const AdviceOfSize *advice)
{
	const char *unknown = unknown_size(advice);
	bool		is_read = advice->report->storage.has_memory && missing_advice(advice->report) == NULL && pbp_os_cache_on;
	bool		has_cache = is_read && unknown_storage_model(advice->report) == NULL &&
		advice->storage.reason != PBP_STORAGE_NO_CAPACITY;
	Row			row = {0};

	add_measure(&row, advice->factor);
	add_rounded(&row, advice->factor * NBuffers * BLCKSZ);
	add_known_count(&row, has_cache && advice->storage.os_cache_pages >= 0,
					advice->storage.os_cache_pages * BLCKSZ);
	add_text(&row, is_read ? fit_names[advice->fit] : NULL);
	add_text(&row, advice->mark);
	if (unknown != NULL)
	{
		while (row.ncols < ADVICE_COLS - 1)
			add_null(&row);
		add_text(&row, unknown);
		emit_row(rsinfo, &row, ADVICE_COLS);
		return;
	}
	add_interval(&row, advice->misses.miss_ratio, advice->misses.uncertainty);
	add_interval(&row, has_cache ? advice->storage.storage_ratio : NAN, advice->storage.uncertainty);
	add_number(&row, has_cache ? read_ms_per_second(advice) : NAN);
	add_evidence(&row, advice->report);
	add_text(&row, note_of(advice));
	emit_row(rsinfo, &row, ADVICE_COLS);
}

/* ---- marks ---- */

/* The knee of storage reads if today's are known, else that of misses. */
static int
knee_of(const PbpAdviceReport *report, const PbpAdviceStorageRow *storage)
{
	bool		by_storage = unknown_storage_model(report) == NULL &&
		storage[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_KNOWN;
	double		ratios[PBP_ADVICE_FACTORS];

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		ratios[i] = by_storage ? storage[i].storage_ratio : report->rows[i].miss_ratio;
	return pbp_knee(ratios);
}

static const char *
mark_of(int size, int knee, int advised)
{
	const char *mark = size == PBP_ADVICE_BASELINE ? "today" : size == advised ? "advised" : NULL;

	if (size != knee)
		return mark;
	return mark ? psprintf("%s, knee", mark) : "knee";
}

/* ---- rows ---- */

/*
 * The size that has all data, as long as these do not grow.  It misses no more
 * than any smaller one.
 */
static AdviceOfSize
advice_of_all_data(const PbpAdviceReport *report, PbpAdviceMemory memory)
{
	const PbpAdviceRow *today = &report->rows[PBP_ADVICE_BASELINE];
	AdviceOfSize advice = {
		.report = report,
		.factor = (double) report->storage.data_bytes / BLCKSZ / NBuffers,
		.is_all_data = true,
		.fit = report->storage.data_fit,
		.mark = "all data",
		.has_room = memory == PBP_ADVICE_ADDED || is_no_obstacle(report->storage.data_fit),
		.misses = *today,
		.storage = report->storage.fixed[PBP_ADVICE_BASELINE],
	};

	if (memory == PBP_ADVICE_FIXED)
		advice.storage.os_cache_pages -= (int64) ((advice.factor - 1) * NBuffers);
	if (today->reason != PBP_ADVICE_KNOWN)
		return advice;
	advice.misses.uncertainty += advice.misses.miss_ratio;
	for (int i = PBP_ADVICE_BASELINE + 1; i < PBP_ADVICE_FACTORS; i++)
		if (report->rows[i].reason == PBP_ADVICE_KNOWN)
			advice.misses.uncertainty = Min(advice.misses.uncertainty,
											report->rows[i].miss_ratio + report->rows[i].uncertainty);
	advice.misses.miss_ratio = 0;
	if (advice.storage.reason == PBP_STORAGE_KNOWN)
	{
		advice.storage.storage_ratio = 0;
		advice.storage.uncertainty = advice.misses.uncertainty;
	}
	return advice;
}

static void
emit_sizes(ReturnSetInfo *rsinfo, const PbpAdviceReport *report, PbpAdviceMemory memory)
{
	const PbpStorageReport *storage = &report->storage;
	const PbpAdviceStorageRow *rows = memory == PBP_ADVICE_ADDED ? storage->added : storage->fixed;
	bool		missing = missing_advice(report) != NULL;
	int			knee = missing ? -1 : knee_of(report, rows);
	int			advised = missing || memory == PBP_ADVICE_ADDED ? -1 : decide_size(report).size;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		emit_advice(rsinfo, &(AdviceOfSize) {
			.report = report,
			.factor = pbp_advice_factor(i),
			.fit = storage->fits[i],
			.mark = mark_of(i, knee, advised),
			.has_room = memory == PBP_ADVICE_ADDED || may_fit(report, i),
			.misses = report->rows[i],
			.storage = rows[i],
		});
	if (!missing && storage->has_memory &&
		storage->data_bytes > pbp_advice_factor(PBP_ADVICE_FACTORS - 1) * NBuffers * BLCKSZ)
	{
		AdviceOfSize all_data = advice_of_all_data(report, memory);

		emit_advice(rsinfo, &all_data);
	}
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceMemory memory = parse_name(fcinfo, 0, "memory", memory_names, lengthof(memory_names));
	PbpAdviceReport *report = palloc0(sizeof(*report));

	if (pbp_sampler_is_loaded())
		pbp_read_advice(report);
	InitMaterializedSRF(fcinfo, 0);
	emit_sizes((ReturnSetInfo *) fcinfo->resultinfo, report, memory);
	pfree(report);
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * decisionfuncs.c
 *	  The SQL function about other sizes of the pool, and what it says where a
 *	  figure is unknown or uncertain.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "args.h"
#include "decisionfuncs.h"
#include "oscache.h"
#include "rows.h"
#include "sampler.h"
#include "words.h"

#define ADVICE_COLS			23

/* a share of the reads; a larger error makes estimates uncertain */
#define LARGE_SELF_ERROR	0.2

PG_FUNCTION_INFO_V1(pgbufprobe_advice);

/* in the order of PbpAdviceMemory */
static const char *const memory_names[] = {"fixed", "added"};

/* in the order of PbpFit */
static const char *const fit_names[] = {"yes", NULL, "machine", "cgroup", "huge pages"};

/* in the same order */
static const char *const obstacles[] = {
	NULL, NULL, "memory of the machine", "limit of the memory cgroup", "reserved huge pages"
};

/* What one row is about. */
typedef struct AdviceOfSize
{
	const PbpAdviceReport *report;
	int			size;
	bool		has_room;		/* it fits into memory, or memory is added */
	const PbpAdviceRow *misses;
	const PbpAdviceStorageRow *storage;
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

/* NULL: the miss ratio is known. */
const char *
words_of_reason(PbpAdviceReason reason)
{
	switch (reason)
	{
		case PBP_ADVICE_KNOWN:
			return NULL;
		case PBP_ADVICE_NOTHING_EVICTED:
			return "the clock hand has not completed a pass yet";
		case PBP_ADVICE_LEARNING:
			return "still learning, because too few pages have been evicted and read again so far";
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

	return missing != NULL ? missing : words_of_reason(row->reason);
}

/* What limits the value of a known estimate; NULL if nothing. */
static const char *
caveat_of_advice(const PbpAdviceReport *report, double factor)
{
	const PbpAdviceTotals *totals = &report->totals;

	if (totals->self_error < -LARGE_SELF_ERROR)
		return PBP_COUNTS_APART ?
			"many reads were not observed, because large scans or a fast clock hand evicted their pages between two looks" :
			"many reads were not observed; before PostgreSQL 16, these include reads by large scans and of temporary tables";
	if (totals->self_error > LARGE_SELF_ERROR)
		return PBP_COUNTS_APART ?
			"more pages were loaded than the server counts as reads, because COPY added pages, WAL is being replayed, or statistics have not been reported yet" :
			"more pages were loaded than the server counts as reads, because WAL is being replayed or statistics have not been reported yet";
	if (!pbp_os_cache_on)
		return "the share that the page cache serves is unknown, because pgbufprobe.os_cache is off";
	if (totals->ring_reads > totals->reads)
		return factor > 1 ?
			"large scans read even more through ring buffers; if repeated often, they would occupy part of a larger pool" :
			"large scans read even more through ring buffers, which is not counted here";
	return NULL;
}

/* What the advice says about the first size that is at least this many times today's. */
Prediction
predict_size(const PbpAdviceReport *report, double factor)
{
	const PbpAdviceRow *today = &report->rows[PBP_ADVICE_BASELINE];
	Prediction	result = {.today = NAN,.then = NAN,.os_share = -1};
	int			i = 0;

	while (pbp_advice_factor(i) < factor)
		i++;
	if (unknown_advice(report, today) == NULL)
		result.today = today->miss_ratio;
	result.unknown = unknown_advice(report, &report->rows[i]);
	if (result.unknown == NULL && !(result.today > 0))
		result.unknown = "nothing was read recently";
	if (result.unknown != NULL)
		return result;
	result.then = report->rows[i].miss_ratio;
	if (report->storage.has_memory)
		result.obstacle = obstacles[report->storage.fits[i]];
	if (fabs(report->totals.self_error) > LARGE_SELF_ERROR)
		result.caveat = caveat_of_advice(report, factor);
	return result;
}

/* Time of some reads, of which the page cache serves this share; -1: unknown. */
static double
read_ms(const PbpAdviceReport *report, double reads, double os_share)
{
	double		ns = 0;

	if (os_share < 0 ||
		(os_share > 0 && report->os_read_ns < 0) || (os_share < 1 && report->storage_read_ns < 0))
		return -1;
	if (os_share > 0)
		ns += os_share * report->os_read_ns;
	if (os_share < 1)
		ns += (1 - os_share) * report->storage_read_ns;
	return reads * ns / 1e6;
}

/* NaN: unknown. */
static void
add_number(Row *row, double number)
{
	if (isnan(number))
		add_null(row);
	else
		add_measure(row, number);
}

/* Why it is unknown which accesses wait for storage; NULL if it is known. */
static const char *
unknown_storage(const AdviceOfSize *advice)
{
	const PbpStorageReport *storage = &advice->report->storage;

	if (!storage->has_memory)
		return "storage reads are unknown, because memory to simulate the page cache could not be allocated";
	switch (storage->model)
	{
		case PBP_STORAGE_MODELLED:
		case PBP_STORAGE_UNPROVEN:
			break;
		case PBP_STORAGE_SWITCHED_OFF:
			return "storage reads are unknown, because pgbufprobe.os_cache is off";
		case PBP_STORAGE_DIRECT_IO:
			return "storage reads are unknown, because the server bypasses the page cache";
		case PBP_STORAGE_FILE_SYSTEM:
			return "storage reads are unknown, because a file system is in memory or has a cache of its own";
		case PBP_STORAGE_NO_INFORMATION:
			return "storage reads are unknown, because the kernel does not report its memory";
	}
	switch (advice->storage->reason)
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
			return psprintf("storage reads are unknown, because only %.0f %% of the reads needed have been seen",
							floor(100 * advice->storage->learned_share));
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
	return unknown_advice(advice->report, advice->misses);
}

static const char *
note_of(const AdviceOfSize *advice)
{
	const char *caveat = caveat_of_advice(advice->report, pbp_advice_factor(advice->size));
	const char *unknown = unknown_storage(advice);

	if (unknown == NULL && advice->report->storage.model == PBP_STORAGE_UNPROVEN)
		unknown = "storage reads are those of the kernel's classic lists, but this kernel evicts by MGLRU";
	if (caveat == NULL || unknown == NULL)
		return caveat ? caveat : unknown;
	return psprintf("%s; %s", caveat, unknown);
}

/* A share of accesses, and the interval around it; three NULLs if unknown. */
static void
add_interval(Row *row, double share, double uncertainty)
{
	add_number(row, share);
	add_number(row, isnan(share) ? NAN : Max(share - uncertainty, 0));
	add_number(row, isnan(share) ? NAN : Min(share + uncertainty, 1));
}

/* Time per second that sessions wait for reads; NaN: unknown. */
static double
read_ms_per_second(const AdviceOfSize *advice)
{
	const PbpAdviceTotals *totals = &advice->report->totals;
	double		misses = advice->misses->miss_ratio;
	double		served = misses > 0 ? 1 - advice->storage->storage_ratio / misses : 1;
	double		ms;

	if (isnan(served) || !(totals->seconds > 0))
		return NAN;
	ms = read_ms(advice->report, misses * totals->accesses / totals->seconds, Max(served, 0));
	return ms >= 0 ? ms : NAN;
}

static void
add_reads(Row *row, const AdviceOfSize *advice)
{
	const PbpAdviceReport *report = advice->report;
	double		today = report->totals.reads;
	double		reads = advice->misses->miss_ratio * report->totals.accesses;
	double		os_share = -1;
	double		ms = read_ms(report, fabs(today - reads), os_share);

	add_rounded(row, reads);
	add_quotient(row, reads, today);
	add_rounded(row, today - reads);
	add_known_measure(row, os_share);
	add_number(row, ms < 0 ? NAN : reads <= today ? ms : -ms);
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
	const PbpStorageReport *storage = &advice->report->storage;
	const char *unknown = unknown_size(advice);
	double		factor = pbp_advice_factor(advice->size);
	bool		is_read = storage->has_memory && missing_advice(advice->report) == NULL;
	bool		has_cache = is_read && advice->storage->reason != PBP_STORAGE_NO_CAPACITY;
	Row			row = {0};

	add_measure(&row, factor);
	add_rounded(&row, factor * NBuffers * BLCKSZ);
	add_known_count(&row, has_cache && advice->storage->os_cache_pages >= 0,
					advice->storage->os_cache_pages * BLCKSZ);
	add_text(&row, is_read ? fit_names[storage->fits[advice->size]] : NULL);
	if (unknown != NULL)
	{
		while (row.ncols < ADVICE_COLS - 1)
			add_null(&row);
		add_text(&row, unknown);
		emit_row(rsinfo, &row, ADVICE_COLS);
		return;
	}
	add_interval(&row, advice->misses->miss_ratio, advice->misses->uncertainty);
	add_interval(&row, has_cache ? advice->storage->storage_ratio : NAN, advice->storage->uncertainty);
	add_number(&row, has_cache ? read_ms_per_second(advice) : NAN);
	add_reads(&row, advice);
	add_evidence(&row, advice->report);
	add_text(&row, note_of(advice));
	emit_row(rsinfo, &row, ADVICE_COLS);
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceMemory memory = parse_name(fcinfo, 0, "memory", memory_names, lengthof(memory_names));
	PbpAdviceReport *report = palloc0(sizeof(*report));
	const PbpStorageReport *storage = &report->storage;

	if (pbp_sampler_is_loaded())
		pbp_read_advice(report);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		emit_advice((ReturnSetInfo *) fcinfo->resultinfo, &(AdviceOfSize) {
			.report = report,
			.size = i,
			.has_room = memory == PBP_ADVICE_ADDED || !storage->has_memory || obstacles[storage->fits[i]] == NULL,
			.misses = &report->rows[i],
			.storage = memory == PBP_ADVICE_ADDED ? &storage->added[i] : &storage->fixed[i],
		});
	pfree(report);
	return (Datum) 0;
}

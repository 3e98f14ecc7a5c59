/*-------------------------------------------------------------------------
 *
 * decisionfuncs.c
 *	  The SQL function about other sizes of the pool.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "answers/reasons.h"
#include "base/rows.h"
#include "base/settings.h"
#include "sampler/sampler.h"

#define ADVICE_COLS			15

PG_FUNCTION_INFO_V1(pgbufprobe_advice);

/* in the order of PbpFit */
static const char *const fit_names[] = {"yes", NULL, "machine", "cgroup", "huge pages", "connections"};

/* What one row is about. */
typedef struct AdviceOfSize
{
	const PbpAdviceReport *report;
	double		factor;
	bool		is_all_data;	/* of the server, at a size that has all */
	PbpFit		fit;
	const char *mark;
	bool		has_room;		/* it fits into memory */
	PbpAdviceRow misses;
	PbpAdviceStorageRow storage;
} AdviceOfSize;

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
			return psprintf("storage reads are unknown: %.0f %% of the reads needed have been seen%s",
							floor(100 * advice->storage.learned_share),
							rest_of_learning(advice->report, advice->storage.seconds_left));
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
static PbpCompared
waiting_of(const AdviceOfSize *advice)
{
	PbpWaitingInput input = pbp_waiting_input(advice->report);

	if (unknown_storage_model(advice->report) != NULL)
		return (PbpCompared) {NAN, NAN, NAN, NAN};
	return pbp_waiting(&input, &advice->misses, &advice->storage);
}

/* True of the row whose note has what concerns all sizes. */
static bool
is_of_today(const AdviceOfSize *advice)
{
	return advice->factor == 1;
}

/* What to keep in mind about the storage reads of this size; NULL: nothing. */
static const char *
note_of_storage(const AdviceOfSize *advice)
{
	const PbpAdviceReport *report = advice->report;
	const char *unknown = unknown_storage(advice);

	if (unknown != NULL)
		return unknown;
	if (report->storage.model == PBP_STORAGE_UNPROVEN && is_of_today(advice))
		return "all sizes: storage reads are those of the kernel's classic lists, but this kernel evicts by MGLRU";
	if (!isnan(waiting_of(advice).value))
		return NULL;
	return isnan(report->times.storage.value) ?
		"times are unknown, because too few reads from storage have been timed" :
		"times are unknown, because too few reads from the page cache have been timed";
}

static const char *
note_of(const AdviceOfSize *advice)
{
	const char *caveat = is_of_today(advice) ? caveat_of_advice(advice->report) : NULL;

	if (caveat != NULL)
		caveat = psprintf("all sizes: %s", caveat);
	if (advice->is_all_data)
		caveat = "all data would be in the pool and read once; the intervals end where those of smaller sizes do";
	return join_notes(origin_of_report(advice->report), join_notes(caveat, note_of_storage(advice)));
}

static void
emit_advice(ReturnSetInfo *rsinfo, const AdviceOfSize *advice)
{
	const char *unknown = unknown_size(advice);
	bool		is_read = advice->report->storage.has_memory && missing_advice(advice->report) == NULL && pbp_os_cache_on;
	bool		has_cache = is_read && unknown_storage_model(advice->report) == NULL &&
		advice->storage.reason != PBP_STORAGE_NO_CAPACITY;
	PbpCompared waiting = has_cache ? waiting_of(advice) : (PbpCompared) {NAN, NAN, NAN, NAN};
	Row			row = {0};

	add_measure(&row, advice->factor * (double) advice->report->nbuffers / NBuffers);
	add_rounded(&row, advice->factor * (double) advice->report->nbuffers * BLCKSZ);
	add_known_count(&row, has_cache && advice->storage.os_cache_pages >= 0,
					advice->storage.os_cache_pages * BLCKSZ);
	add_text(&row, is_read ? fit_names[advice->fit] : NULL);
	add_text(&row, advice->mark);
	if (unknown != NULL)
	{
		add_nulls(&row, ADVICE_COLS - 1);
		add_text(&row, join_notes(origin_of_report(advice->report), unknown));
		emit_row(rsinfo, &row, ADVICE_COLS);
		return;
	}
	add_interval(&row, advice->misses.miss_ratio, advice->misses.uncertainty, 1);
	add_interval(&row, has_cache ? advice->storage.storage_ratio : NAN, advice->storage.uncertainty, 1);
	add_interval(&row, waiting.value, waiting.error, INFINITY);
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
	return pbp_knee(ratios, PBP_ADVICE_FACTORS, pbp_advice_factor);
}

static const char *
mark_of(const PbpAdviceReport *report, int size, int knee, int advised)
{
	bool		is_today = (int64) (pbp_advice_factor(size) * (double) report->nbuffers) == NBuffers;
	const char *mark = is_today ? "today" : size == advised && size != PBP_ADVICE_BASELINE ? "advised" : NULL;

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
advice_of_all_data(const PbpAdviceReport *report)
{
	const PbpAdviceRow *today = &report->rows[PBP_ADVICE_BASELINE];
	AdviceOfSize advice = {
		.report = report,
		.factor = (double) report->storage.data_bytes / BLCKSZ / (double) report->nbuffers,
		.is_all_data = true,
		.fit = report->storage.data_fit,
		.mark = "all data",
		.has_room = report->storage.data_fit == PBP_FITS || report->storage.data_fit == PBP_FIT_UNKNOWN,
		.misses = *today,
		.storage = report->storage.fixed[PBP_ADVICE_BASELINE],
	};

	advice.storage.os_cache_pages -= (int64) ((advice.factor - 1) * (double) report->nbuffers);
	if (today->reason != PBP_ADVICE_KNOWN)
		return advice;
	advice.misses.uncertainty += advice.misses.miss_ratio;
	for (int i = PBP_ADVICE_BASELINE + 1; i < PBP_ADVICE_FACTORS; i++)
		if (report->rows[i].reason == PBP_ADVICE_KNOWN)
			advice.misses.uncertainty = Min(advice.misses.uncertainty,
											report->rows[i].miss_ratio + report->rows[i].uncertainty);
	advice.misses.miss_ratio = advice.misses.write_ratio = 0;
	advice.misses.change_error = advice.misses.uncertainty;
	if (advice.storage.reason == PBP_STORAGE_KNOWN)
	{
		advice.storage.storage_ratio = 0;
		advice.storage.uncertainty = advice.storage.change_error = advice.misses.uncertainty;
	}
	return advice;
}

static void
emit_sizes(ReturnSetInfo *rsinfo, const PbpAdviceReport *report)
{
	const PbpStorageReport *storage = &report->storage;
	bool		missing = missing_advice(report) != NULL;
	int			knee = missing ? -1 : knee_of(report, storage->fixed);
	int			advised = missing ? -1 : report->decision.size;

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		emit_advice(rsinfo, &(AdviceOfSize) {
			.report = report,
			.factor = pbp_advice_factor(i),
			.fit = storage->fits[i],
			.mark = mark_of(report, i, knee, advised),
			.has_room = pbp_may_fit(report, i) || storage->fits[i] == PBP_BELOW_CONNECTIONS,
			.misses = report->rows[i],
			.storage = storage->fixed[i],
		});
	if (!missing && storage->has_memory &&
		storage->data_bytes > pbp_advice_factor(PBP_ADVICE_FACTORS - 1) * (double) report->nbuffers * BLCKSZ)
	{
		AdviceOfSize all_data = advice_of_all_data(report);

		emit_advice(rsinfo, &all_data);
	}
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();

	if (report->nbuffers == 0)
		report->nbuffers = NBuffers;
	InitMaterializedSRF(fcinfo, 0);
	emit_sizes((ReturnSetInfo *) fcinfo->resultinfo, report);
	pfree(report);
	return (Datum) 0;
}

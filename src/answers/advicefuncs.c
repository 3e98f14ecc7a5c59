/*-------------------------------------------------------------------------
 *
 * advicefuncs.c
 *	  SQL functions about other sizes of the pool, which relations would gain or
 *	  lose by them, and how many distinct pages are in use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "answers/answers.h"
#include "base/settings.h"

/* of the reads of a relation: a change below that is none, and hidden by an error above both */
#define SMALL_CHANGE		0.1

PG_FUNCTION_INFO_V1(pgbufprobe_advice);
PG_FUNCTION_INFO_V1(pgbufprobe_working_set);
PG_FUNCTION_INFO_V1(pgbufprobe_advice_relations);

/* ---- sizes ---- */

/* in the order of PbpFit */
static const char *const fit_names[] = {
	"yes", NULL, "machine", "cgroup", "huge pages", "connections"
};

/* What one row is about. */
typedef struct AdviceOfSize
{
	const PbpAdviceReport *report;
	double		factor;
	bool		is_all_data;	/* of the server, at a size that has all */
	PbpFit		fit;
	const char *mark;
	bool		has_room;		/* for both caches, though perhaps not for what may come */
	PbpAdviceRow misses;
	PbpAdviceStorageRow storage;
} AdviceOfSize;

/* What to keep in mind about a size with figures.  Today's has what concerns all sizes. */
static const char *
note_of(const AdviceOfSize *advice, double scans_share, bool has_times)
{
	const PbpAdviceReport *report = advice->report;
	const char *caveat = advice->factor == 1 ? caveat_of_advice(report) : NULL;
	const char *unknown_model = unknown_storage_model(report);
	const char *about_storage = unknown_model == NULL ? unknown_waits_of(report, &advice->storage) :
		psprintf("storage reads are unknown, because %s", unknown_model);

	if (advice->is_all_data)
		caveat = "all data would be in the pool and read once; "
			"the intervals end where those of smaller sizes do";
	else if (caveat != NULL)
		caveat = psprintf("all sizes: %s", caveat);
	else if (advice->fit == PBP_EXCEEDS_MACHINE || advice->fit == PBP_EXCEEDS_CGROUP)
		caveat = "leaves less memory than may be needed: "
			"see reserved_bytes of pgbufprobe_memory_consumers()";
	else if (advice->fit == PBP_EXCEEDS_HUGE_PAGES)
		caveat = "needs more huge pages";
	if (about_storage != NULL)
		return join_notes(origin_of_report(report), caveat, about_storage);
	if (report->storage.model == PBP_STORAGE_UNPROVEN && advice->factor == 1)
		about_storage = "all sizes: storage reads are those of MGLRU from Linux 6.8 on, "
			"but this kernel has an older one";
	else if (!has_times)
		about_storage = isnan(report->times.storage.value) ?
			"times are unknown, because too few reads from storage have been timed" :
			"times are unknown, because too few reads from the page cache have been timed";
	else if (scans_share >= NOTABLE_SCANS)
		about_storage = psprintf("%.0f %% of this time is for large scans", 100 * scans_share);
	return join_notes(origin_of_report(report), caveat, about_storage);
}

static void
emit_advice(FunctionCallInfo fcinfo, const AdviceOfSize *advice)
{
	const PbpAdviceReport *report = advice->report;
	const PbpAdviceStorageRow *storage = &advice->storage;
	bool		missing = missing_advice(report) != NULL;
	bool		has_cache = !missing && unknown_storage_model(report) == NULL &&
		storage->reason != PBP_STORAGE_NO_CAPACITY;
	bool		knows_fit = !missing && report->storage.has_memory && pbp_os_cache_on;
	const char *unknown = missing || advice->has_room ? unknown_advice(report, &advice->misses) :
		"this size does not fit into memory";
	PbpWaitingInput input = pbp_waiting_input(report);
	PbpCompared waiting = PBP_NOT_COMPARED;
	Row			row = {0};

	if (has_cache)
		waiting = pbp_waiting(&input, &advice->misses, storage);
	add_number(&row, advice->factor * (double) report->nbuffers / NBuffers);
	add_rounded(&row, advice->factor * (double) report->nbuffers * BLCKSZ);
	add_known_count(&row, has_cache && storage->os_cache_pages >= 0,
					storage->os_cache_pages * BLCKSZ);
	add_text(&row, knows_fit ? fit_names[advice->fit] : NULL);
	add_text(&row, advice->mark);
	if (unknown != NULL)
		emit_noted(fcinfo, &row, 15, join_notes(origin_of_report(report), unknown));
	else
	{
		add_interval(&row, advice->misses.ratio.value, advice->misses.ratio.error, 1);
		add_interval(&row, has_cache ? storage->ratio.value : NAN, storage->ratio.error, 1);
		add_interval(&row, waiting.value, waiting.error, INFINITY);
		add_text(&row, note_of(advice, pbp_share_of_scans(&input, storage, waiting.value),
								  !isnan(waiting.value)));
		emit_row(fcinfo, &row);
	}
}

/* The knee of storage reads if today's are known, else that of misses. */
static int
knee_of(const PbpAdviceReport *report)
{
	const PbpAdviceStorageRow *storage = report->storage.fixed;
	bool		by_storage = unknown_storage_model(report) == NULL &&
		storage[PBP_ADVICE_BASELINE].reason == PBP_STORAGE_KNOWN;
	double		ratios[PBP_ADVICE_FACTORS];

	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		ratios[i] = by_storage ? storage[i].ratio.value : report->rows[i].ratio.value;
	return pbp_knee(ratios, PBP_ADVICE_FACTORS, pbp_advice_factor);
}

/*
 * The size that has all data, as long as these do not grow.  It misses no more
 * than any smaller one.
 */
static AdviceOfSize
advice_of_all_data(const PbpAdviceReport *report)
{
	const PbpStorageReport *storage = &report->storage;
	double		factor = (double) storage->data_bytes / BLCKSZ / (double) report->nbuffers;
	AdviceOfSize advice = {
		.report = report,
		.factor = factor,
		.is_all_data = true,
		.fit = storage->data_fit,
		.mark = "all data",
		.has_room = storage->data_fit == PBP_FITS || storage->data_fit == PBP_FIT_UNKNOWN,
		.misses = report->rows[PBP_ADVICE_BASELINE],
		.storage = storage->fixed[PBP_ADVICE_BASELINE],
	};
	double		most = advice.misses.ratio.error + advice.misses.ratio.value;

	advice.storage.os_cache_pages -= (int64) ((factor - 1) * (double) report->nbuffers);
	if (advice.misses.reason != PBP_ADVICE_KNOWN)
		return advice;
	for (int i = PBP_ADVICE_BASELINE + 1; i < PBP_ADVICE_FACTORS; i++)
		if (report->rows[i].reason == PBP_ADVICE_KNOWN)
			most = Min(most, report->rows[i].ratio.value + report->rows[i].ratio.error);
	advice.misses.write_ratio = 0;
	advice.misses.ratio = (PbpCompared) {.error = most,.change_error = most};
	if (advice.storage.reason == PBP_STORAGE_KNOWN)
	{
		advice.storage.ratio = advice.misses.ratio;
		advice.storage.scans = (PbpCompared) {0};
	}
	return advice;
}

Datum
pgbufprobe_advice(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();
	const PbpStorageReport *storage = &report->storage;
	bool		missing = missing_advice(report) != NULL;
	int			knee = missing ? -1 : knee_of(report);
	int			advised = missing ? PBP_ADVICE_BASELINE : report->decision.size;
	double		largest = pbp_advice_factor(PBP_ADVICE_FACTORS - 1);

	if (report->nbuffers == 0)
		report->nbuffers = NBuffers;
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		double		factor = pbp_advice_factor(i);
		bool		is_today = (int64) (factor * (double) report->nbuffers) == NBuffers;
		bool		is_advised = i == advised && i != PBP_ADVICE_BASELINE;

		emit_advice(fcinfo, &(AdviceOfSize) {
			.report = report,
			.factor = factor,
			.fit = storage->fits[i],
			.mark = join(", ", is_today ? "today" : is_advised ? "advised" : NULL,
						 i == knee ? "knee" : NULL),
			.has_room = report->may_fit[i] || storage->fits[i] == PBP_BELOW_CONNECTIONS ||
				storage->fixed[i].os_cache_pages > 0,
			.misses = report->rows[i],
			.storage = storage->fixed[i],
		});
	}
	if (!missing && storage->has_memory &&
		storage->data_bytes > largest * (double) report->nbuffers * BLCKSZ)
	{
		AdviceOfSize all_data = advice_of_all_data(report);

		emit_advice(fcinfo, &all_data);
	}
	return (Datum) 0;
}

/* ---- working set ---- */

/* Why nothing is known of any relation; NULL if something is. */
static const char *
missing_relations(const PbpAdviceReport *report)
{
	const char *missing = missing_advice(report);

	if (missing == NULL && !report->relations.has_memory)
		return "pgbufprobe.advice_memory is too small";
	return missing;
}

/* Why the pages in use are unknown in this time; NULL if they are known. */
static const char *
unknown_window(const PbpAdviceReport *report, const PbpWindow *window)
{
	const char *missing = missing_relations(report);

	if (missing != NULL || window->known)
		return missing;
	return psprintf("observed without a gap for only %d s", window->watched_seconds);
}

/* In bytes, and never less than none. */
static void
add_bytes_in_use(Row *row, double pages, double error)
{
	add_rounded(row, pages * BLCKSZ);
	add_rounded(row, isnan(pages) ? NAN : fmax(pages - error, 0) * BLCKSZ);
	add_rounded(row, (pages + error) * BLCKSZ);
}

Datum
pgbufprobe_working_set(PG_FUNCTION_ARGS)
{
	PbpAdviceReport *report = pbp_read_advice();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < PBP_WINDOWS; i++)
	{
		const PbpWindow *window = &report->relations.windows[i];
		const char *note = unknown_window(report, window);
		Row			row = {0};

		add_datum(&row, Int32GetDatum(pbp_window_seconds(i) / 60));
		if (note == NULL)
		{
			add_bytes_in_use(&row, window->pages, window->error);
			if (window->hidden > Max(window->pages, window->error))
				note = psprintf("most usage counts are at the maximum, which hides uses, "
								"so %s more may be in use",
								pretty_size((int64) rint(window->hidden)));
		}
		emit_noted(fcinfo, &row, 5, join_notes(origin_of_report(report), note));
	}
	return (Datum) 0;
}

/* ---- relations ---- */

/* What is asked of all relations. */
typedef struct Question
{
	const PbpAdviceReport *report;
	bool		twice;			/* today's size; false: half of it */
	const char *unknown_window; /* why the pages in use are unknown; NULL: they are known */
	const char *unknown;		/* all that is unknown of all relations; NULL: nothing */
} Question;

/* True if the change of its reads is less than this share of them, as far as is known. */
static bool
is_small(PbpChange change, double reads)
{
	return fabs(change.reads) + change.error < SMALL_CHANGE * reads;
}

/* An estimate and its interval; all NULL if unknown. */
static void
add_estimate(Row *row, double value, double error)
{
	add_rounded(row, value);
	add_rounded(row, floor(value - error));
	add_rounded(row, ceil(value + error));
}

/* Why a relation has no name. */
static const char *
missing_name(const PbpRelationKey *key)
{
	if (!OidIsValid(key->database) || key->database == MyDatabaseId)
		return "its file was dropped, truncated or rewritten, "
			"or its transaction has not been committed";
	return get_database_name(key->database) != NULL ? "of another database" :
		"its database was dropped";
}

static void
emit_relation(FunctionCallInfo fcinfo, const void *item, void *arg)
{
	const PbpRelationRow *relation = item;
	const PbpRelationKey *key = &relation->key;
	const Question *question = arg;
	const PbpAdviceReport *report = question->report;
	PbpLocator	locator = pbp_locator(key->tablespace, key->database, key->relfilenode);
	PbpChange	change = question->twice ? relation->saved : relation->added;
	PbpChange	storage = question->twice ? relation->storage_saved : relation->storage_added;
	double		sign = question->twice ? 1 : -1;	/* half the size adds reads */
	bool		is_noise = fabs(storage.reads) < storage.error &&
		storage.error > SMALL_CHANGE * relation->loads;
	const char *name = "all other relations";
	const char *meaning = NULL;
	Row			row = {0};

	if (relation->others)
		add_nulls(&row, 4);
	else
	{
		add_storage(&row, &locator, (ForkNumber) key->fork);
		name = row.nulls[row.ncols - 1] ? missing_name(key) : NULL;
		if (is_small(relation->saved, relation->loads) &&
			is_small(relation->added, relation->loads))
			meaning = "neither size changes its reads much: "
				"its pages are evicted before they are used again";
	}
	add_number(&row, relation->read_share);
	add_estimate(&row, sign * change.reads, change.error);
	add_estimate(&row, is_noise ? NAN : sign * storage.reads, storage.error);
	add_bytes_in_use(&row, relation->pages, relation->pages_error);
	add_number(&row, relation->read_again);
	add_text(&row, join_notes(
		origin_of_report(report), name, meaning,
		is_noise ? "storage reads: the change is smaller than its error" : NULL,
		isnan(relation->pages) && question->unknown_window == NULL ?
		"working set: no use shows, but usage counts at the maximum hide uses" : NULL,
		question->unknown == NULL || relation == report->relations.rows ? question->unknown :
		"for what is unknown of all relations, see the first row"));
	emit_row(fcinfo, &row);
}

Datum
pgbufprobe_advice_relations(PG_FUNCTION_ARGS)
{
	double		factor = PG_GETARG_FLOAT8(0);
	int			size = factor == 2 ? PBP_ADVICE_DOUBLE : PBP_ADVICE_HALF;
	PbpAdviceReport *report;
	const PbpRelationsReport *relations;
	const char *missing;

	if (factor != 2 && factor != 0.5)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid size_factor %g", factor),
				 errhint("Valid factors are 2 and 0.5.")));
	report = pbp_read_advice();
	relations = &report->relations;
	missing = missing_relations(report);
	if (missing == NULL && relations->nrows == 0)
		missing = "no page of the sample has been read or used yet";
	if (missing != NULL)
	{
		Row			row = {0};

		InitMaterializedSRF(fcinfo, 0);
		emit_noted(fcinfo, &row, 16, missing);
	}
	else
	{
		const char *window = unknown_window(report, &relations->windows[PBP_WINDOW_OF_RELATIONS]);
		Question	question = {
			.report = report,
			.twice = factor == 2,
			.unknown_window = window,
			.unknown = join_notes(unknown_advice(report, &report->rows[size]),
								  unknown_waits(report, size),
								  window ? psprintf("working set: %s", window) : NULL),
		};

		emit_rows(fcinfo, relations->rows, relations->nrows, sizeof(PbpRelationRow), emit_relation,
				  &question);
	}
	return (Datum) 0;
}

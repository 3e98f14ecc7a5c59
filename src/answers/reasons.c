/*-------------------------------------------------------------------------
 *
 * reasons.c
 *	  Words for what is unknown or uncertain in a report of the advice.
 *
 * Each function returns NULL where there is nothing to say.  src/statistics finds
 * the reasons: missratios.c those of miss ratios, storageratios.c those of storage reads.
 * docs/troubleshooting.md explains them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "answers/answers.h"
#include "base/settings.h"

/* Reads that no look saw, as a share of all, that are worth a note. */
#define NOTABLE_SELF_ERROR	0.1

const char *
join_texts(const char *separator, const char *const *texts, int ntexts)
{
	const char *joined = NULL;

	for (int i = 0; i < ntexts; i++)
		if (texts[i] != NULL)
			joined = joined ? psprintf("%s%s%s", joined, separator, texts[i]) : texts[i];
	return joined;
}

/* ---- sizes ---- */

/* Why there are no estimates for any size; NULL if there are. */
const char *
missing_advice(const PbpAdviceReport *report)
{
	if (!pbp_sampler_on)
		return "nothing watches this server, because pgbufprobe.sampler is off";
	if (!pbp_sampler_has_results())
		return NO_SAMPLER "; " HOW_TO_START;
	if (report->made_at == 0)
		return "the sampler has not taken its first sample yet";
	if (report->has_memory)
		return NULL;
	return pbp_advice_memory_kb == 0 ? "pgbufprobe.advice_memory is 0" :
		pbp_advice_memory_kb < 0 ?
		"the pool is too small for estimates, or memory is not available" :
		"pgbufprobe.advice_memory is too small, or not available";
}

/* NULL: the miss ratio is known.  The share may be NaN. */
const char *
words_of_reason(PbpAdviceReason reason, double learned_share)
{
	static const char *const words[] = {
		[PBP_ADVICE_NOTHING_EVICTED] = "the clock hand has not completed a pass yet",
		[PBP_ADVICE_LEARNING] = "too few pages had been evicted and read again",
		[PBP_ADVICE_LITTLE_EVIDENCE] = "too few recent reads for an estimate",
		[PBP_ADVICE_RARE_LOOKS] = "the clock hand is too fast for the sampler",
		[PBP_ADVICE_UNPUBLISHED] = PBP_COUNTS_APART ?
		"reads are not counted; transactions have not reported their statistics yet, "
		"or WAL is being replayed" :
		"reads are not counted; track_counts is off, transactions have not reported "
		"their statistics yet, or WAL is being replayed",
		[PBP_ADVICE_UNCOUNTED] = "more pages are loaded than the server counts as reads; "
		"WAL is being replayed, or statistics have not been reported yet",
		[PBP_ADVICE_UNSEEN] = "too few of the reads were seen",
		[PBP_ADVICE_SATURATED] = "more pages are in constant use than this size can hold; "
		"usage counts do not show which are used most",
		[PBP_ADVICE_SCANS] = "a pool of this size might hold the tables of large scans; "
		"today these are read past shared buffers",
		[PBP_ADVICE_CLIFF] = "near this size, slightly more memory would change much; "
		"many pages are read in turn",
		[PBP_ADVICE_CHANGED] = "the load has changed, and too little of it has been seen",
	};

	StaticAssertDecl(lengthof(words) == PBP_LAST_ADVICE_REASON + 1, "words_of_reason");
	if (reason == PBP_ADVICE_LEARNING && !isnan(learned_share))
		return psprintf("still learning: %.0f %% of the reads needed have been seen",
						floor(100 * learned_share));
	if (reason == PBP_ADVICE_UNSEEN && !isnan(learned_share))
		return psprintf("the sampler saw only %.0f %% of the reads; the others are of VACUUM, "
						"temporary tables, or pages evicted before its next look",
						floor(100 * learned_share));
	return words[reason];
}

/* How long the rest of learning takes; an empty string if that is unknown. */
static const char *
rest_of_learning(const PbpAdviceReport *report, double seconds_left)
{
	return report->is_from_before || !(seconds_left > 0) ? "" :
		psprintf("; at this pace, the rest takes about %s", pretty_duration(seconds_left));
}

/* Until today's size, half and twice of it are known.  NaN: this is unknown. */
double
seconds_left(const PbpAdviceReport *report)
{
	static const int needed[] = {PBP_ADVICE_HALF, PBP_ADVICE_BASELINE, PBP_ADVICE_DOUBLE};
	double		seconds = NAN;

	for (size_t i = 0; i < lengthof(needed); i++)
	{
		seconds = fmax(seconds, report->rows[needed[i]].seconds_left);
		if (pbp_knows_storage(report) && report->may_fit[needed[i]])
			seconds = fmax(seconds, report->storage.fixed[needed[i]].seconds_left);
	}
	return seconds;
}

/* Why the miss ratio of one size is unknown; NULL if it is known. */
const char *
unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row)
{
	const char *missing = missing_advice(report);

	if (missing != NULL || row->reason == PBP_ADVICE_KNOWN)
		return missing;
	if (row->reason == PBP_ADVICE_CHANGED && report->totals.change == PBP_LIGHT_LOAD)
		return "the load has less than a tenth of its usual pace; "
			"it is learned only if it reads and lasts";
	return psprintf("%s%s", words_of_reason(row->reason, row->learned_share),
					rest_of_learning(report, row->seconds_left));
}

/* What limits the value of a known estimate; NULL if nothing. */
const char *
caveat_of_advice(const PbpAdviceReport *report)
{
	const PbpAdviceTotals *totals = &report->totals;

	if (totals->change == PBP_LIGHT_LOAD)
		return "figures are those of the load before, and intervals include the one now, "
			"which has less than a tenth of its pace";
	if (totals->change == PBP_OTHER_MISSES)
		return psprintf("the load has changed, and the estimates follow it: "
						"%s of the last block accesses were reads",
						pretty_percent(totals->lately));
	if (totals->change == PBP_OTHER_RELATIONS)
		return "the load has changed, and the estimates follow it: "
			"other relations are read than before";
	if (totals->self_error < -LARGE_SELF_ERROR)
		return psprintf("the sampler saw only %.0f %% of the reads%s",
						100 * (1 + totals->self_error),
						PBP_COUNTS_APART ? ", because large scans or a fast clock hand evicted "
						"pages between two looks" :
						"; the others may be those of VACUUM and temporary tables");
	if (totals->self_error < -NOTABLE_SELF_ERROR)
		return psprintf("no look saw %.0f %% of the reads, which are taken for %s",
						-100 * totals->self_error, PBP_COUNTS_APART ? "reads like the others" :
						"those of VACUUM or temporary tables, and remain at any size");
	if (totals->ring_reads > totals->reads)
		return "large scans, VACUUM or COPY read even more through ring buffers, "
			"which is no part of the miss ratio";
	if (totals->self_error > LARGE_SELF_ERROR)
		return psprintf("%.0f %% more pages were loaded than the server counts as reads, because "
						"%s have not been reported yet", 100 * totals->self_error,
						PBP_COUNTS_APART ?
						"COPY added pages, WAL is being replayed, or statistics" :
						"WAL is being replayed or statistics");
	return NULL;
}

/* When a report was made, if that was before the server started; otherwise NULL. */
const char *
origin_of_report(const PbpAdviceReport *report)
{
	double		age = (double) (GetCurrentTimestamp() - report->made_at) / USECS_PER_SEC;

	if (!report->is_from_before)
		return NULL;
	return psprintf("from before the restart, %s old%s", pretty_duration(Max(age, 0)),
					report->nbuffers == NBuffers ? "" :
					psprintf(", with shared_buffers of %s", pretty_size(report->nbuffers)));
}

/* Why reads from storage are unknown of all sizes; NULL if they are not. */
const char *
unknown_storage_model(const PbpAdviceReport *report)
{
	static const char *const words[] = {
		[PBP_STORAGE_SWITCHED_OFF] = "pgbufprobe.os_cache is off",
		[PBP_STORAGE_DIRECT_IO] = "the server bypasses the page cache",
		[PBP_STORAGE_FILE_SYSTEM] = "a file system is in memory or has a cache of its own",
		[PBP_STORAGE_NO_INFORMATION] = "the kernel does not report its memory",
	};

	StaticAssertDecl(lengthof(words) == PBP_LAST_STORAGE_MODEL + 1, "unknown_storage_model");
	if (!report->storage.has_memory)
		return "memory to simulate the page cache could not be allocated";
	/* the worker may not know yet that it is off */
	return words[pbp_os_cache_on ? report->storage.model : PBP_STORAGE_SWITCHED_OFF];
}

/* Why storage reads are unknown below a pool whose miss ratio is known. */
const char *
unknown_waits_of(const PbpAdviceReport *report, const PbpAdviceStorageRow *row)
{
	if (row->reason == PBP_STORAGE_NO_CAPACITY)
		return "the size of the page cache is unknown";
	if (row->reason == PBP_STORAGE_NO_ROOM)
		return "this size takes more than the page cache has";
	if (row->reason == PBP_STORAGE_LEARNING)
		return psprintf("too few reads to know which wait for storage; "
						"%.0f %% of those needed have been seen%s",
						floor(100 * row->learned_share),
						rest_of_learning(report, row->seconds_left));
	return row->reason == PBP_STORAGE_KNOWN ? NULL :
		"too few recent reads to know which wait for storage";
}

/* Why storage reads of one size are unknown, unless its miss ratio is unknown, too. */
const char *
unknown_waits(const PbpAdviceReport *report, int size)
{
	const PbpAdviceStorageRow *row = &report->storage.fixed[size];
	const PbpAdviceStorageRow *today = &report->storage.fixed[PBP_ADVICE_BASELINE];

	if (unknown_advice(report, &report->rows[size]) != NULL)
		return NULL;
	if (!report->storage.has_memory || row->reason == PBP_STORAGE_NO_CAPACITY)
		return "unknown which reads wait for storage; see the notes of pgbufprobe_advice()";
	return unknown_waits_of(report, today->reason != PBP_STORAGE_KNOWN ? today : row);
}

/*-------------------------------------------------------------------------
 *
 * answers.h
 *	  What the files of this folder share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ANSWERS_H
#define PBP_ANSWERS_H

#include "base/relations.h"
#include "base/sqlvalues.h"
#include "base/words.h"
#include "caches/caches.h"
#include "pool/pool.h"
#include "sampler/history.h"

/* Facts gathered before the first question of the checkup. */
typedef struct Checkup
{
	Oid			function;		/* that answers */
	PbpHistogram histogram;
	int64		used;			/* buffers */
	int64		unused;
	bool		evicted;		/* any page since server start */
	PbpClockRate rate;
	const PbpAdviceReport *advice;
	PbpSweepCost next;			/* a replay of the next searches */
	PbpDuplicates duplicates;	/* of a sample of the pool */
	double		twice;			/* buffers whose page the page cache has, too; NaN: unknown */
} Checkup;

/* One answer.  Report and console show these sentences as they are. */
typedef struct Answer
{
	PbpVerdict	verdict;
	const char *text;			/* at most MAX_ANSWER bytes with usual figures */
	const char *action;			/* NULL: nothing to do, which is fine */
	const char *detail;			/* NULL: there is no more to say */
} Answer;

/* Share of the waiting from which that of large scans is worth a word. */
#define NOTABLE_SCANS		0.1

#define ASK_AGAIN			"Let the real workload run longer and ask again."

/* So that topic, verdict and answer fit into 100 columns. */
#define MAX_ANSWER			72

/* Texts with a separator between them, but for those that are NULL; NULL: all are. */
#define join(separator, ...) \
	join_texts(separator, (const char *const[]) {__VA_ARGS__}, \
			   lengthof(((const char *const[]) {__VA_ARGS__})))
#define join_notes(...)		join("; ", __VA_ARGS__)
#define join_sentences(...) join(" ", __VA_ARGS__)

/* checkup.c */
extern const char *const verdict_names[];
extern char *pretty_waiting(const PbpCompared *waiting);
extern void judge(Answer *answer, PbpVerdict verdict, const char *action);
extern void answer_unknown(Answer *answer, const char *reason);

/* checkupsize.c */
extern PbpVerdict verdict_of_size(const PbpAdviceReport *report);
extern void answer_size(const Checkup *checkup, Answer *answer);

/* memoryfuncs.c */
extern void answer_memory(const Checkup *checkup, Answer *answer);

/* reasons.c: each returns NULL if there is nothing to say */
extern const char *join_texts(const char *separator, const char *const *texts, int ntexts);
extern const char *missing_advice(const PbpAdviceReport *report);
extern const char *words_of_reason(PbpAdviceReason reason, double learned_share);
extern double seconds_left(const PbpAdviceReport *report);
extern const char *unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row);
extern const char *caveat_of_advice(const PbpAdviceReport *report);
extern const char *origin_of_report(const PbpAdviceReport *report);
extern const char *unknown_storage_model(const PbpAdviceReport *report);
extern const char *unknown_waits_of(const PbpAdviceReport *report, const PbpAdviceStorageRow *row);
extern const char *unknown_waits(const PbpAdviceReport *report, int size);

/* samplerfuncs.c */
#define NO_SAMPLER			"nothing watches this server, because no sampler is running"
#define HOW_TO_START		"SELECT pgbufprobe_start() starts one without a restart"

extern void check_sampler_runs(void);
extern const char *start_action(Oid neighbor);

#endif							/* PBP_ANSWERS_H */

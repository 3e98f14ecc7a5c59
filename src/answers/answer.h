/*-------------------------------------------------------------------------
 *
 * answer.h
 *	  What the files of the checkup share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ANSWER_H
#define PBP_ANSWER_H

#include "caches/residency.h"
#include "pool/descriptors.h"
#include "pool/poolfuncs.h"
#include "pool/sweep.h"
#include "sampler/sampler.h"

/* Facts gathered before the first question. */
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
} Checkup;

/* Sentences; their templates are in sentences.h. */
typedef struct Answer
{
	const char *verdict;
	const char *text;			/* at most MAX_ANSWER bytes */
	const char *action;			/* NULL: nothing to do, which is fine */
	const char *detail;			/* NULL: there is no more to say */
} Answer;

/* So that topic, verdict and answer fit into 100 columns. */
#define MAX_ANSWER	72

extern const char *name_of_verdict(PbpVerdict verdict);
extern PbpVerdict verdict_of_size(const PbpAdviceReport *report);
extern char *pretty_waiting(const PbpCompared *waiting);
extern const char *join_sentences(const char *one, const char *other);
extern void add_detail(Answer *answer, const char *sentence);
extern void judge(Answer *answer, const char *verdict, const char *action);
extern void answer_unknown(Answer *answer, const char *reason);

/* checkupsize.c */
extern void answer_size(const Checkup *checkup, Answer *answer);

/* plannercache.c */
extern void answer_planner_cache(const Checkup *checkup, Answer *answer);

#endif							/* PBP_ANSWER_H */

/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  An answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "answers/answer.h"

/* in the order of PbpVerdict and PbpConfidence */
static const char *const verdict_names[] = {"unknown", "fine", "look", "act"};
static const char *const confidence_names[] = {"unknown", "likely", "sure"};

const char *
name_of_verdict(PbpVerdict verdict)
{
	return verdict_names[verdict];
}

const char *
name_of_confidence(PbpConfidence confidence)
{
	return confidence_names[confidence];
}

void
judge(Answer *answer, const char *verdict, const char *action)
{
	answer->verdict = verdict;
	answer->action = action;
}

void
answer_unknown(Answer *answer, const char *reason)
{
	answer->verdict = "unknown";
	answer->text = psprintf("Unknown: %s.", reason);
}

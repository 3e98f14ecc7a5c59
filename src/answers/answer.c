/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  An answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "answers/answer.h"

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

/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  An answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "answers/answer.h"
#include "base/words.h"

/* in the order of PbpVerdict */
static const char *const verdict_names[] = {"unknown", "fine", "consider", "change"};

const char *
name_of_verdict(PbpVerdict verdict)
{
	return verdict_names[verdict];
}

/* Of reads in each second, with its interval. */
char *
pretty_waiting(const PbpCompared *waiting)
{
	return psprintf("%s ms (%s to %s)", pretty_number(waiting->value), pretty_number(Max(waiting->value - waiting->error, 0)),
					pretty_number(waiting->value + waiting->error));
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
	judge(answer, "unknown", ASK_AGAIN);
	answer->text = psprintf("Unknown: %s.", reason);
}

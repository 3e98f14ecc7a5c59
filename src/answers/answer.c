/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  An answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "answers/answer.h"
#include "answers/sentences.h"
#include "base/words.h"

/* in the order of PbpVerdict */
static const char *const verdict_names[] = {"unknown", "fine", "consider", "change"};

const char *
name_of_verdict(PbpVerdict verdict)
{
	return verdict_names[verdict];
}

/* Milliseconds in each second, with the interval. */
char *
pretty_waiting(const PbpCompared *waiting)
{
	return pretty_interval(waiting->value, Max(waiting->value - waiting->error, 0), waiting->value + waiting->error, "ms");
}

/* Either may be NULL. */
const char *
join_sentences(const char *one, const char *other)
{
	if (one == NULL || other == NULL)
		return one ? one : other;
	return psprintf("%s %s", one, other);
}

/* NULL: there is nothing to add. */
void
add_detail(Answer *answer, const char *sentence)
{
	answer->detail = join_sentences(answer->detail, sentence);
}

void
judge(Answer *answer, const char *verdict, const char *action)
{
	answer->verdict = verdict;
	answer->action = action;
}

/* What comes behind a semicolon is detail. */
void
answer_unknown(Answer *answer, const char *reason)
{
	const char *rest = strstr(reason, "; ");

	judge(answer, "unknown", ASK_AGAIN);
	answer->text = psprintf(SAY_UNKNOWN, rest ? (int) (rest - reason) : (int) strlen(reason), reason);
	if (rest != NULL)
	{
		char	   *detail = psprintf("%s.", rest + 2);

		detail[0] = pg_toupper((unsigned char) detail[0]);
		answer->detail = detail;
	}
}

/*-------------------------------------------------------------------------
 *
 * checkupsize.h
 *	  The first answer of the checkup.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_CHECKUPSIZE_H
#define PBP_CHECKUPSIZE_H

#include "answers/answer.h"

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern void answer_size(const Checkup *checkup, Answer *answer);

#pragma GCC visibility pop

#endif							/* PBP_CHECKUPSIZE_H */

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

extern void answer_size(const Checkup *checkup, Answer *answer);

#endif							/* PBP_CHECKUPSIZE_H */

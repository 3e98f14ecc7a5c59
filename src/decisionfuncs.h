/*-------------------------------------------------------------------------
 *
 * decisionfuncs.h
 *	  Helpers of decisionfuncs.c that other SQL functions use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_DECISIONFUNCS_H
#define PBP_DECISIONFUNCS_H

#include "sampler.h"

/* What the advice says about one size. */
typedef struct Prediction
{
	const char *unknown;		/* why nothing is predicted; NULL: it is */
	const char *caveat;			/* why it is uncertain; NULL: it is not */
	const char *obstacle;		/* that the size exceeds; NULL: it fits, or
								 * that is unknown */
	double		today;			/* miss ratio; NaN: unknown */
	double		then;
	double		os_share;		/* of the reads saved or added, served by the
								 * page cache; -1: unknown */
} Prediction;

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern Prediction predict_size(const PbpAdviceReport *report, double factor);
extern const char *words_of_reason(PbpAdviceReason reason);
extern const char *missing_advice(const PbpAdviceReport *report);
extern const char *unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row);

#pragma GCC visibility pop

#endif							/* PBP_DECISIONFUNCS_H */

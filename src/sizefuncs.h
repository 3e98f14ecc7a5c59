/*-------------------------------------------------------------------------
 *
 * sizefuncs.h
 *	  What other SQL functions share with those about other sizes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SIZEFUNCS_H
#define PBP_SIZEFUNCS_H

#include "sampler.h"

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

/* beyond this, a share of the reads, figures of the advice are uncertain */
#define LARGE_SELF_ERROR	0.2

/* How fast the clock hand moves. */
typedef struct TurnRate
{
	double		seconds;		/* for which it was watched */
	double		ticks;
} TurnRate;

extern TurnRate turn_rate(int64 duration_ms);
extern const char *unknown_advice(const PbpAdviceReport *report, const PbpAdviceRow *row);
extern const char *caveat_of_advice(const PbpAdviceReport *report, double factor);

#pragma GCC visibility pop

#endif							/* PBP_SIZEFUNCS_H */

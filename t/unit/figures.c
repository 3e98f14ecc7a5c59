/*
 * figures.c
 *	  Figures that are compared, and mixes of reads.
 */
#include <math.h>

#include "figures.h"

bool
near(double one, double other)
{
	return fabs(one - other) <= 1e-9 * fmax(1, fabs(other));
}

/* Shares of three relations, of which those that are not read are absent. */
PbpReadMix
mix_of(double first, double second, double third)
{
	const double shares[] = {first, second, third};
	PbpReadMix	mix = {0};

	for (uint32_t i = 0; i < 3; i++)
		if (shares[i] > 0)
			mix.relations[mix.nrelations++] = (PbpReadShare) {{1, 1, i + 1, 0}, shares[i], 0.02};
	return mix;
}

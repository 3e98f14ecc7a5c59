/*
 * figures.h
 *	  Figures that are compared, and mixes of reads.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "statistics/prediction.h"

extern bool near(double one, double other);
extern PbpReadMix mix_of(double first, double second, double third);

#endif							/* FIGURES_H */

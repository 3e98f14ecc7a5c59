/*
 * days_counters.h
 *	  Counters of the advice that wrap around, close to where they do so.
 */
#ifndef DAYS_COUNTERS_H
#define DAYS_COUNTERS_H

#include "simulator/simulator.h"

extern void begin_counters_late(PbpAdvice *advice);

#endif							/* DAYS_COUNTERS_H */

/*
 * random.h
 *	  Random numbers, which are the same in every run.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

typedef struct Random
{
	uint64_t	state;			/* not 0 */
} Random;

extern double next_share(Random *random);
extern int	below(Random *random, int n);
extern double normal(Random *random);

/* As below(), of one sequence for the whole program. */
extern uint32_t draw(uint32_t n);

#endif							/* RANDOM_H */

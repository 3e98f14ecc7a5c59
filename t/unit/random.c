/*
 * random.c
 *	  Random numbers, which are the same in every run.
 */
#include <math.h>

#include "random.h"

/* xorshift */
static uint64_t
next_random(Random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state * UINT64_C(0x2545F4914F6CDD1D);
}

double
next_share(Random *random)
{
	return (double) (next_random(random) >> 11) / 9007199254740992.0;
}

int
below(Random *random, int n)
{
	return (int) ((next_random(random) >> 32) * (uint64_t) n >> 32);
}

/* Of mean 0 and standard deviation 1. */
double
normal(Random *random)
{
	return sqrt(-2 * log(1 - next_share(random))) * cos(2 * acos(-1) * next_share(random));
}

uint32_t
draw(uint32_t n)
{
	static Random random = {88172645463325252u};

	return (uint32_t) below(&random, (int) n);
}

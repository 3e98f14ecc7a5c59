/*
 * top_reads.c
 *	  Cases of src/sampler/topreads.c: the relations with the most reads, counted exactly and by a reference that has
 *	  room for all.  Prints TAP.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "random.h"
#include "sampler/topreads.h"
#include "tap.h"

#define MANY			1000

static PbpRelationKey
relation(uint32_t number)
{
	return (PbpRelationKey) {5, 1663, number, 0};
}

static void
read_of(PbpReadCounts *counts, uint32_t number, int times)
{
	PbpRelationKey key = relation(number);

	for (int i = 0; i < times; i++)
		pbp_count_reads(counts, &key, 1);
}

static void
few(void)
{
	PbpReadCounts counts = {0};
	PbpTopRead	top[PBP_TOP_READS];

	pbp_top_reads(&counts, top);
	ok(top[0].key.relfilenode == 0, "nothing read: no relation");
	read_of(&counts, 7, 1);
	read_of(&counts, 8, 3);
	pbp_top_reads(&counts, top);
	ok(top[0].key.relfilenode == 8 && top[1].key.relfilenode == 7 && top[2].key.relfilenode == 0 &&
	   top[0].read_share == 0.75f && top[1].read_share == 0.25f, "two relations, that with the most reads first");
}

static void
forks(void)
{
	PbpReadCounts counts = {0};
	PbpTopRead	top[PBP_TOP_READS];
	PbpRelationKey key = relation(7);

	read_of(&counts, 7, 2);
	key.fork = 1;
	pbp_count_reads(&counts, &key, 1);
	key.fork = 0;
	key.database = 6;
	pbp_count_reads(&counts, &key, 1);
	pbp_top_reads(&counts, top);
	ok(top[0].read_share == 0.5f && top[1].read_share == 0.25f && top[2].read_share == 0.25f && top[3].key.relfilenode == 0,
	   "forks and databases count apart");
}

/* Relation n is read about 1 / n times as often as the first, in random order. */
static void
many(void)
{
	PbpReadCounts counts = {0};
	PbpTopRead	top[PBP_TOP_READS];
	double		exact[MANY + 1] = {0};
	double		reads = 0;
	Random		random = {1};
	bool		right = true;

	for (int i = 0; i < 100000; i++)
	{
		uint32_t	number = 1 + (uint32_t) (pow(MANY, next_share(&random)) - 1);

		read_of(&counts, number, 1);
		exact[number]++;
		reads++;
	}
	pbp_top_reads(&counts, top);
	for (uint32_t i = 0; i < PBP_TOP_READS; i++)
	{
		right &= top[i].key.relfilenode == i + 1 && top[i].read_share <= exact[i + 1] / reads + 1e-6 &&
			top[i].read_share > 0.8 * exact[i + 1] / reads;
		if (!right)
			printf("# %u: %u, %g of %g\n", i, top[i].key.relfilenode, top[i].read_share, exact[i + 1] / reads);
	}
	ok(counts.ncounts == PBP_COUNTED_READS && right, "of a thousand relations, the five with the most reads, with no more than they have");
}

/* One relation more than there is room for. */
static void
one_too_many(void)
{
	PbpReadCounts counts = {0};
	PbpTopRead	top[PBP_TOP_READS];

	for (uint32_t i = 1; i <= PBP_COUNTED_READS; i++)
		read_of(&counts, i, 10);
	read_of(&counts, 100, 2);
	pbp_top_reads(&counts, top);
	ok(top[0].key.relfilenode != 100 && fabs(top[0].read_share * counts.reads - 10) < 1e-3, "reads of the relation whose place is taken count for none");
}

static void
sums(void)
{
	PbpReadCounts one = {0};
	PbpReadCounts other = {0};
	PbpTopRead	top[PBP_TOP_READS];

	read_of(&one, 7, 6);
	read_of(&one, 8, 2);
	read_of(&other, 8, 5);
	read_of(&other, 9, 3);
	pbp_add_read_counts(&one, &other);
	pbp_top_reads(&one, top);
	ok(one.reads == 16 && top[0].key.relfilenode == 8 && top[0].read_share == 7 / 16.0f && top[1].key.relfilenode == 7 &&
	   top[2].key.relfilenode == 9 && top[2].read_share == 3 / 16.0f, "sums of two times");
}

/* Relation 7 has three quarters of the reads, later one half. */
static void
mixes(void)
{
	PbpReadCounts counts = {0};
	PbpReadMix	mix;

	read_of(&counts, 7, 60);
	read_of(&counts, 8, 20);
	pbp_mix_of_reads(&counts, &mix);
	ok(mix.nrelations == 0, "few reads: no mix");
	read_of(&counts, 7, 240);
	read_of(&counts, 8, 80);
	pbp_mix_of_reads(&counts, &mix);
	ok(mix.nrelations == 2 && mix.relations[0].key.relfilenode == 7 && mix.relations[0].share == 0.75 &&
	   mix.relations[0].error > 0.07 && mix.relations[0].error < 0.1 && fabs(mix.others) < 1e-9, "the mix of two relations");
	pbp_fade_read_counts(&counts, 0.5);
	read_of(&counts, 8, 100);
	pbp_mix_of_reads(&counts, &mix);
	ok(counts.reads == 300 && mix.relations[0].share == 0.5 && mix.relations[1].share == 0.5, "older reads fade");
}

int
main(void)
{
	few();
	forks();
	many();
	one_too_many();
	sums();
	mixes();
	return end_of_tests();
}

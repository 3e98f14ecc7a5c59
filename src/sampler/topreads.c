/*-------------------------------------------------------------------------
 *
 * topreads.c
 *	  The relations with the most reads in a short time.
 *
 *-------------------------------------------------------------------------
 */
#include "sampler/topreads.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

/* Fewer reads do not show of which relations they are. */
#define ENOUGH_READS		100

/* So many reads of one relation come together, as those of a range. */
#define READS_TOGETHER		4.0

void
pbp_count_reads(PbpReadCounts *counts, const PbpRelationKey *key, double reads)
{
	int			i;
	int			fewest = 0;

	counts->reads += reads;
	for (i = 0; i < counts->ncounts; i++)
	{
		if (memcmp(&counts->counts[i].key, key, sizeof(*key)) == 0)
			break;
		if (counts->counts[i].reads < counts->counts[fewest].reads)
			fewest = i;
	}
	if (i == PBP_COUNTED_READS)
	{
		i = fewest;
		counts->counts[i].key = *key;
		counts->counts[i].others = counts->counts[i].reads;
	}
	else if (i == counts->ncounts)
		counts->counts[counts->ncounts++] = (PbpReadCount) {.key = *key};
	counts->counts[i].reads += reads;
}

static double
certain_reads(const PbpReadCount *count)
{
	return count->reads - count->others;
}

void
pbp_add_read_counts(PbpReadCounts *sum, const PbpReadCounts *counts)
{
	double		reads = sum->reads + counts->reads;

	for (int i = 0; i < counts->ncounts; i++)
		pbp_count_reads(sum, &counts->counts[i].key, certain_reads(&counts->counts[i]));
	sum->reads = reads;
}

void
pbp_fade_read_counts(PbpReadCounts *counts, double weight)
{
	counts->reads *= weight;
	for (int i = 0; i < counts->ncounts; i++)
	{
		counts->counts[i].reads *= weight;
		counts->counts[i].others *= weight;
	}
}

/* Of a sample of the reads. */
void
pbp_mix_of_reads(const PbpReadCounts *counts, PbpReadMix *mix)
{
	*mix = (PbpReadMix) {.others = 1};
	if (counts->reads < ENOUGH_READS)
		return;
	for (int i = 0; i < counts->ncounts; i++)
	{
		double		share = certain_reads(&counts->counts[i]) / counts->reads;

		mix->others -= share;
		mix->relations[mix->nrelations++] = (PbpReadShare)
		{
			counts->counts[i].key, share,
			PBP_DEVIATIONS * sqrt(READS_TOGETHER * share * (1 - share) / counts->reads)
		};
	}
}

/* Largest first. */
void
pbp_top_reads(const PbpReadCounts *counts, PbpTopRead *top)
{
	const PbpReadCount *all = counts->counts;
	bool		taken[PBP_COUNTED_READS] = {false};

	memset(top, 0, PBP_TOP_READS * sizeof(*top));
	for (int n = 0; n < PBP_TOP_READS && n < counts->ncounts; n++)
	{
		int			most = -1;

		for (int i = 0; i < counts->ncounts; i++)
			if (!taken[i] && (most < 0 || certain_reads(&all[i]) > certain_reads(&all[most])))
				most = i;
		taken[most] = true;
		top[n].key = all[most].key;
		top[n].read_share = (float) (certain_reads(&all[most]) / counts->reads);
	}
}

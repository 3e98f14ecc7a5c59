/*-------------------------------------------------------------------------
 *
 * served.h
 *	  How much of what misses the pool the page cache serves, compared with the
 *	  simulated one.
 *
 * Some pages of the sample are remembered, whether they are in the pool or not.
 * The caller asks the kernel and the simulation about them again and again.  When
 * the pool loads such a page, the latest answers say whether either cache served
 * the load.  So a page counts as often as it is loaded.
 *
 * Both answers are about the same loads, and of the same time.  So it makes no
 * difference which pages are remembered and for how long, that the load has
 * changed since, or that either cache has evicted some pages.
 *
 * The pages are chosen by a hash of their tags, so they are a random sample of
 * all pages that the pool has ever loaded.
 *
 * The kernel also says which pages it has evicted recently, and so does the
 * simulation.  A larger page cache would have these, so both are compared at a
 * second size, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SERVED_H
#define PBP_SERVED_H

#include "statistics/figures.h"

#define PBP_SERVED_PAGES	4096

/* Half the width of an interval that says too little. */
#define PBP_SERVED_LARGEST_ERROR	0.125

/* These decay. */
typedef struct PbpServedCounts
{
	float		loads;			/* for which there were both answers */
	float		served;			/* of these, by the page cache */
	float		served_more;	/* by this one alone, less those by the simulated one alone */
	float		differing;		/* by one of both alone */
} PbpServedCounts;

typedef struct PbpServedPage
{
	bool		known;			/* whether the next two fields are, since the last load */
	bool		asked;			/* whether the caller asks about the page */
	PbpCacheAnswer kernel;
	PbpCacheAnswer simulated;
	uint64_t	key;
	int64_t		loaded_ns;		/* when last */
	PbpServedCounts cached;
	PbpServedCounts recent;		/* by a page cache that has what either evicted recently, too */
} PbpServedPage;

/* All of it may be zero to begin. */
typedef struct PbpServed
{
	uint32_t	precedence[PBP_SERVED_PAGES];	/* of each page; 0: there is none */
	PbpServedPage pages[PBP_SERVED_PAGES];
	int			checked;		/* where the search for old pages stands */
	int			halvings;		/* of the places that are used */
	double		returns;		/* loads in this round of questions, but for those soon after
								 * another one */
	double		most_returns;	/* in a round, as a share of the pages; decays */
	double		late_share;		/* of loads in the last one, by which answers may be wrong */

	/* These decay. */
	double		known_loads;
	double		unknown_loads;	/* without an answer */

	/* Since the last calibration. */
	double		fresh_loads;	/* known ones */
	double		fresh_served_more;
} PbpServed;

extern int	pbp_served_load(PbpServed *served, uint64_t key, int64_t now_ns);
extern void pbp_served_answer(PbpServed *served, int page, PbpCacheAnswer kernel,
							  PbpCacheAnswer simulated);
extern bool pbp_served_has_page(const PbpServed *served, int page);
extern void pbp_served_end_round(PbpServed *served, int64_t round_ns);
extern void pbp_served_forget_page(PbpServed *served, int page);
extern void pbp_served_forget_answers(PbpServed *served);
extern void pbp_served_forget_loads(PbpServed *served);
extern PbpFigure pbp_served_more(const PbpServed *served, double new_share);
extern PbpRecentShares pbp_served_recent(const PbpServed *served, double new_share);

/*
 * Corrects the size of the simulated page caches by what was found here; by nothing if pages are
 * not asked about now.
 */
extern void pbp_served_calibrate(PbpServed *served, PbpAdvice *advice, bool asked);

#endif							/* PBP_SERVED_H */

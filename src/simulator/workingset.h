/*-------------------------------------------------------------------------
 *
 * workingset.h
 *	  How many distinct pages were used in the last minutes.
 *
 * Time is divided into epochs of some seconds.  Pages of the advice's sample are
 * remembered with the last epoch in which they were used.  If there are too
 * many, only every second page is kept, chosen by its hash, then every fourth,
 * and so on.  So a page that returns is never counted twice.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WORKINGSET_H
#define PBP_WORKINGSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PBP_EPOCH_SECONDS	5
#define PBP_WINDOWS			4
#define PBP_WINDOW_OF_RELATIONS 1	/* the one that is counted by relation */

/* After all halvings, one page in 2^PBP_MAX_HALVINGS of the sample is kept. */
#define PBP_MAX_HALVINGS	20

/* A page of the sample, by 32 bits of its hash; 0: an unused slot. */
typedef struct PbpUsedPage
{
	uint32_t	page;
	uint16_t	epoch;			/* of its last use; wraps around */
	uint16_t	relation;
} PbpUsedPage;

/* What is known of one window, which ends with the last whole epoch. */
typedef struct PbpWindow
{
	bool		known;			/* it was watched as a whole */
	int			watched_seconds;	/* without a gap */
	int			halvings;		/* of the pages that were counted */
	uint32_t	nsampled;
	double		pages;			/* estimate, with its 95 % error */
	double		error;
	double		hidden;			/* filled by the caller */
} PbpWindow;

/* Times are numbers of epochs. */
typedef struct PbpWorkingSet
{
	double		sampling_rate;	/* of the pages that are reported */
	PbpUsedPage *slots;			/* a hash table */
	uint32_t	nslots;
	uint32_t	npages;
	int			halvings;		/* pages are kept whose hash ends with this number of zero bits */
	int64_t		halved_epoch;	/* when that changed */
	int64_t		kept_since[PBP_MAX_HALVINGS + 1];	/* all pages that a number of them leaves */
	int64_t		watched_since[PBP_WINDOWS];
	int64_t		look_second;	/* of the last look */
	int64_t		epoch;			/* of the uses that are reported */
	int64_t		purged_epoch;
	PbpWindow	windows[PBP_WINDOWS];	/* at the end of the last epoch */
} PbpWorkingSet;

extern int	pbp_window_seconds(int window);

/* Has room for at least one page per 16 bytes.  Returns false if these are too few. */
extern bool pbp_init_working_set(PbpWorkingSet *set, void *memory, size_t bytes,
								 double sampling_rate);

/*
 * A look begins.  Uses that are reported next were found by the one before.  Returns true if an
 * epoch has ended with that.  Then the windows are counted, and the pages of each relation in the
 * window PBP_WINDOW_OF_RELATIONS.
 */
extern bool pbp_begin_uses(PbpWorkingSet *set, int64_t second, uint32_t *by_relation,
						   size_t nrelations);

/* What happened before the look that has begun is unknown. */
extern void pbp_forget_uses(PbpWorkingSet *set);

/* A page was used, at least once in this epoch. */
extern void pbp_report_use(PbpWorkingSet *set, uint32_t page, uint16_t relation);

/* From now on pages up to this one are reported, which are so many times as many. */
extern void pbp_scale_uses(PbpWorkingSet *set, uint32_t last_page, double share);

extern void pbp_estimate_pages(const PbpWorkingSet *set, int halvings, double nsampled,
							   double *pages, double *error);
extern int	pbp_shortest_window(const PbpWorkingSet *set, uint32_t page);

/* From now on these pages are of no known relation, which is 0. */
extern void pbp_forget_relations(PbpWorkingSet *set, const bool *forgotten);

static inline bool
pbp_is_kept(uint32_t page, int halvings)
{
	return (page & ((UINT32_C(1) << halvings) - 1)) == 0;
}

#endif							/* PBP_WORKINGSET_H */

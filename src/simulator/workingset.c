/*-------------------------------------------------------------------------
 *
 * workingset.c
 *	  How many distinct pages were used in the last minutes.
 *
 * Which pages were used is found in observe.c.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/workingset.h"

#include <string.h>

#include "base/stats.h"

static const int window_seconds[PBP_WINDOWS] = {60, 300, 900, 3600};

#define LONGEST				(PBP_WINDOWS - 1)

/* Fewer are not worth their memory.  More hardly improve on 4,000 to 9,000 pages an hour. */
#define MIN_SLOTS			64
#define MAX_SLOTS			12288

/* Looks further apart than this share of a window leave a gap in it. */
#define TOLERATED_PAUSE		0.25

/* Old pages must go before their epoch, which has 16 bits, wraps around. */
#define PURGE_EPOCHS		16384

int
pbp_window_seconds(int window)
{
	return window_seconds[window];
}

bool
pbp_init_working_set(PbpWorkingSet *set, void *memory, size_t bytes, double sampling_rate)
{
	size_t		nslots = bytes / sizeof(PbpUsedPage);

	memset(set, 0, sizeof(*set));
	set->sampling_rate = sampling_rate;
	set->slots = memory;
	set->nslots = (uint32_t) (nslots < MAX_SLOTS ? nslots : MAX_SLOTS);
	if (nslots < MIN_SLOTS)
		return false;
	pbp_forget_uses(set);
	return true;
}

static inline int
window_epochs(int window)
{
	return window_seconds[window] / PBP_EPOCH_SECONDS;
}

static inline bool
was_used_in(const PbpUsedPage *used, int window, int64_t last_epoch)
{
	/* a negative age is that of a page in use after the window */
	return (int16_t) ((uint16_t) last_epoch - used->epoch) < window_epochs(window);
}

/* ---- the hash table ---- */

/* The slot of a page, or the empty one where it belongs. */
static PbpUsedPage *
find_slot(const PbpWorkingSet *set, uint32_t page)
{
	uint32_t	slot = (uint32_t) ((uint64_t) (page * UINT32_C(0x9E3779B1)) * set->nslots >> 32);

	while (set->slots[slot].page != 0 && set->slots[slot].page != page)
		slot = slot + 1 < set->nslots ? slot + 1 : 0;
	return &set->slots[slot];
}

/*
 * Remove pages above this one, and those that no window needs.  From an empty slot
 * on, all others are inserted again in their order, at their old place or before it.
 */
static void
purge(PbpWorkingSet *set, uint32_t last_page)
{
	uint32_t	slot = 0;

	while (set->slots[slot].page != 0)
		slot++;
	for (uint32_t i = 1; i < set->nslots; i++)
	{
		PbpUsedPage used;

		slot = slot + 1 < set->nslots ? slot + 1 : 0;
		used = set->slots[slot];
		if (used.page == 0)
			continue;
		set->slots[slot].page = 0;
		if (used.page <= last_page && pbp_is_kept(used.page, set->halvings) &&
			was_used_in(&used, LONGEST, set->epoch))
			*find_slot(set, used.page) = used;
		else
			set->npages--;
	}
	set->purged_epoch = set->epoch;
}

static uint32_t
max_pages(const PbpWorkingSet *set)
{
	return set->nslots / 4 * 3;
}

/* Make the table at most as full as this, by keeping fewer pages if need be. */
static void
make_room(PbpWorkingSet *set)
{
	purge(set, UINT32_MAX);
	while (set->npages > max_pages(set) / 8 * 7 && set->halvings < PBP_MAX_HALVINGS)
	{
		set->halvings++;
		set->halved_epoch = set->epoch;
		purge(set, UINT32_MAX);
	}
}

/* Keep more pages again, if those of the longest window would have room. */
static void
use_room(PbpWorkingSet *set)
{
	if (set->halvings == 0 || set->epoch - set->halved_epoch < window_epochs(LONGEST))
		return;
	purge(set, UINT32_MAX);
	set->halved_epoch = set->epoch;
	if (set->npages < max_pages(set) / 3)
		set->kept_since[--set->halvings] = set->epoch;
}

/* ---- windows ---- */

/* The first window in which this page was used; PBP_WINDOWS: none. */
int
pbp_shortest_window(const PbpWorkingSet *set, uint32_t page)
{
	const PbpUsedPage *used = find_slot(set, page);
	int			window = used->page != 0 ? 0 : PBP_WINDOWS;

	while (window < PBP_WINDOWS && !was_used_in(used, window, set->epoch - 1))
		window++;
	return window;
}

/* From a number of sampled pages to one of all pages, with its error. */
void
pbp_estimate_pages(const PbpWorkingSet *set, int halvings, double nsampled, double *pages,
				   double *error)
{
	double		rate = ldexp(set->sampling_rate, -halvings);

	*pages = nsampled / rate;
	*error = pbp_count_error(nsampled, rate) / rate;
}

/* The fewest halvings that have left pages which were kept during the whole window. */
static int
halvings_of_window(const PbpWorkingSet *set, int window)
{
	int			halvings = set->halvings;

	while (halvings < PBP_MAX_HALVINGS &&
		   set->kept_since[halvings] > set->epoch - window_epochs(window))
		halvings++;
	return halvings;
}

/* The windows that end before this epoch. */
static void
count_windows(PbpWorkingSet *set, uint32_t *by_relation, size_t nrelations)
{
	PbpWindow  *windows = set->windows;

	memset(by_relation, 0, sizeof(uint32_t) * nrelations);
	for (int i = 0; i < PBP_WINDOWS; i++)
	{
		int64_t		watched = set->epoch - set->watched_since[i];
		bool		known = watched >= window_epochs(i);

		windows[i] = (PbpWindow) {
			.known = known,
			.watched_seconds = watched > 0 ? (int) (watched * PBP_EPOCH_SECONDS) : 0,
			.halvings = known ? halvings_of_window(set, i) : set->halvings,
		};
	}
	for (uint32_t slot = 0; slot < set->nslots; slot++)
	{
		const PbpUsedPage *used = &set->slots[slot];

		/* what is in no window is in no shorter one */
		for (int i = LONGEST; i >= 0 && used->page != 0 &&
			 was_used_in(used, i, set->epoch - 1); i--)
			if (pbp_is_kept(used->page, windows[i].halvings))
			{
				windows[i].nsampled++;
				if (i == PBP_WINDOW_OF_RELATIONS)
					by_relation[used->relation]++;
			}
	}
	for (int i = 0; i < PBP_WINDOWS; i++)
		pbp_estimate_pages(set, windows[i].halvings, windows[i].nsampled, &windows[i].pages,
						   &windows[i].error);
}

/* ---- uses ---- */

void
pbp_report_use(PbpWorkingSet *set, uint32_t page, uint16_t relation)
{
	PbpUsedPage *used;

	if (page == 0 || !pbp_is_kept(page, set->halvings))
		return;					/* 0 marks an unused slot */
	used = find_slot(set, page);
	if (used->page == 0)
	{
		if (set->npages >= max_pages(set))
		{
			make_room(set);
			if (!pbp_is_kept(page, set->halvings) || set->npages >= max_pages(set))
				return;
			used = find_slot(set, page);
		}
		set->npages++;
		used->page = page;
		used->relation = relation;
	}
	used->epoch = (uint16_t) set->epoch;
}

void
pbp_scale_uses(PbpWorkingSet *set, uint32_t last_page, double share)
{
	set->sampling_rate *= share;
	purge(set, last_page);
}

static int64_t
epoch_of(int64_t second)
{
	return second / PBP_EPOCH_SECONDS;
}

/* Everything begins with the next epoch. */
void
pbp_forget_uses(PbpWorkingSet *set)
{
	memset(set->slots, 0, sizeof(PbpUsedPage) * set->nslots);
	memset(set->windows, 0, sizeof(set->windows));
	set->npages = 0;
	set->halvings = 0;
	set->epoch = set->halved_epoch = set->purged_epoch = epoch_of(set->look_second);
	for (int i = 0; i <= PBP_MAX_HALVINGS; i++)
		set->kept_since[i] = set->epoch + 1;
	for (int i = 0; i < PBP_WINDOWS; i++)
		set->watched_since[i] = set->epoch + 1;
}

bool
pbp_begin_uses(PbpWorkingSet *set, int64_t second, uint32_t *by_relation, size_t nrelations)
{
	int64_t		epoch = epoch_of(set->look_second);
	int64_t		seconds = second - set->look_second;
	bool		ended = epoch > set->epoch;

	if (ended)
	{
		set->epoch = epoch;
		count_windows(set, by_relation, nrelations);
		if (epoch - set->purged_epoch > PURGE_EPOCHS)
			purge(set, UINT32_MAX);
		use_room(set);
	}
	set->look_second = second;
	/* the uses that a look finds after a long pause may be older than a window */
	if (seconds > TOLERATED_PAUSE * window_seconds[LONGEST])
		pbp_forget_uses(set);
	for (int i = 0; i < PBP_WINDOWS; i++)
		if (seconds > TOLERATED_PAUSE * window_seconds[i])
			set->watched_since[i] = epoch_of(second) + 1;
	return ended;
}

void
pbp_forget_relations(PbpWorkingSet *set, const bool *forgotten)
{
	for (uint32_t slot = 0; slot < set->nslots; slot++)
		if (forgotten[set->slots[slot].relation])
			set->slots[slot].relation = 0;
}

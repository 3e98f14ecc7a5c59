/*-------------------------------------------------------------------------
 *
 * relationreads.c
 *	  Which relations read the most, and which would gain or lose by another
 *	  size of the pool.
 *
 * The relation of a page is asked for when the page is loaded, and kept beside
 * its record as a small number.  Events are counted for this number as they
 * are for all pages in pools.c.  So the relations add up to the figures
 * of the advice.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

#include <string.h>

/* Page records for each relation's record, within limits. */
#define PAGES_PER_RELATION	40
#define MIN_RELATIONS		16

/* If there is no room, this share of the relations has to leave. */
#define EVICTED_SHARE		0.25
#define WEIGHT_OF_PAGE		0.1

/* While a relation has no record, one look in this many asks for all relations. */
#define LOOKS_PER_ROUND		64

/* Pages at the maximum usage count that are counted for an answer. */
#define MAX_COUNTED			4096

/* What is aligned most comes first. */
bool
pbp_advice_watch_relations(PbpAdvice *advice, void *memory, size_t bytes)
{
	Relations  *relations = memory;
	uint32_t	max_pages = advice->table.max_pages;
	uint32_t	n = max_pages / PAGES_PER_RELATION;
	size_t		taken;

	if (bytes < sizeof(Relations))
		return false;
	memset(relations, 0, sizeof(Relations));
	n = n < MIN_RELATIONS ? MIN_RELATIONS : n > PBP_MAX_RELATIONS ? PBP_MAX_RELATIONS : n;
	relations->nrecords = n + 1;
	relations->nheads = 2 * n;
	relations->records = (RelationRecord *) (relations + 1);
	relations->heads = (uint16_t *) (relations->records + relations->nrecords);
	relations->of_page = relations->heads + relations->nheads;
	taken = (size_t) ((char *) (relations->of_page + max_pages) - (char *) relations);
	taken = (taken + sizeof(PbpUsedPage) - 1) / sizeof(PbpUsedPage) * sizeof(PbpUsedPage);
	if (taken >= bytes)
		return false;
	memset(relations->records, 0, taken - sizeof(Relations));
	if (!pbp_init_working_set(&relations->working_set, (char *) relations + taken,
							  bytes - taken, advice->sampling_rate))
		return false;
	advice->relations = relations;
	return true;
}

/* ---- numbers of relations ---- */

/* The place of a relation in the hash table, or the empty one where it belongs. */
static uint16_t *
find_head(const Relations *relations, const PbpRelationKey *key)
{
	uint64_t	hash = (uint64_t) key->database << 32 | key->relfilenode;
	uint32_t	head;

	hash = (hash ^ ((uint64_t) key->tablespace << 8 | key->fork)) * UINT64_C(0x9E3779B97F4A7C15);
	hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	head = (uint32_t) ((hash >> 32) * relations->nheads >> 32);
	while (relations->heads[head] != 0 &&
		   memcmp(&relations->records[relations->heads[head]].key, key, sizeof(*key)) != 0)
		head = head + 1 < relations->nheads ? head + 1 : 0;
	return &relations->heads[head];
}

/* Returns the number of a relation; 0 if there is no room for it. */
static uint16_t
number_of(Relations *relations, const PbpRelationKey *key)
{
	uint16_t   *head = find_head(relations, key);
	uint16_t	number = 1;

	if (*head != 0)
		return *head;
	if (relations->nused == relations->nrecords - 1)
	{
		relations->refused = true;
		return 0;
	}
	while (relations->records[number].used)
		number++;
	relations->records[number] = (RelationRecord) {.used = true,.key = *key};
	relations->nused++;
	*head = number;
	return number;
}

void
pbp_advice_set_relation(PbpAdvice *advice, const PbpRelationKey *key)
{
	Relations  *relations = advice->relations;

	if (advice->head.wants_relation && relations->of_page[relations->observed] == 0)
		relations->of_page[relations->observed] = number_of(relations, key);
}

/* ---- eviction ---- */

/*
 * Make room: a share of the relations, the least important ones, counts among the others.  A page
 * that has a record is worth less than one that was loaded, but its relation is more likely to be
 * read than another.
 */
static void
evict_relations(Advice *advice)
{
	Relations  *relations = advice->relations;
	bool		victims[PBP_MAX_RELATIONS + 1] = {false};
	double		weights[PBP_MAX_RELATIONS + 1];

	for (uint32_t i = 0; i < relations->nrecords; i++)
	{
		const RelationCounters *counters = &relations->records[i].counters;

		weights[i] = counters->loads + counters->differing[MISSES_AT_HALF];
	}
	for (uint32_t i = 0; i < advice->table.npages; i++)
		weights[relations->of_page[i]] += WEIGHT_OF_PAGE;
	weights[0] = INFINITY;
	for (uint32_t wanted = (uint32_t) (EVICTED_SHARE * relations->nused); wanted > 0; wanted--)
	{
		uint32_t	least = 0;

		for (uint32_t i = 1; i < relations->nrecords; i++)
			if (relations->records[i].used && weights[i] < weights[least])
				least = i;
		victims[least] = true;
		pbp_add_doubles(&relations->records[0].counters, &relations->records[least].counters,
						sizeof(RelationCounters));
		relations->records[0].npages += relations->records[least].npages;
		relations->records[least] = (RelationRecord) {0};
		relations->nused--;
	}
	memset(relations->heads, 0, sizeof(uint16_t) * relations->nheads);
	for (uint32_t i = 1; i < relations->nrecords; i++)
		if (relations->records[i].used)
			*find_head(relations, &relations->records[i].key) = (uint16_t) i;
	for (uint32_t i = 0; i < advice->table.npages; i++)
		if (victims[relations->of_page[i]])
			relations->of_page[i] = 0;
	pbp_forget_relations(&relations->working_set, victims);
}

/* ---- epochs ---- */

/*
 * So many pages of each relation were used in its window.  Others are hidden, as their uses do not
 * show: the hand has not lowered their maximum count meanwhile.
 */
static void
note_pages(Advice *advice, const uint32_t *npages)
{
	Relations  *relations = advice->relations;
	PbpWorkingSet *set = &relations->working_set;
	const LookLists *met = lists_of(advice, advice->look.number);
	uint32_t	step = met->nmeetings / MAX_COUNTED + 1;

	for (uint32_t i = 0; i < relations->nrecords; i++)
	{
		relations->records[i].npages = npages[i];
		relations->records[i].nhidden = 0;
	}
	for (uint32_t i = 0; i < met->nmeetings; i += step)
	{
		const PageRecord *page = &advice->table.pages[met->meetings[i].page];

		if ((int) page->state.usage < advice->usage_max)
			continue;
		for (int j = pbp_shortest_window(set, page->fingerprint) - 1; j >= 0; j--)
		{
			if (!pbp_is_kept(page->fingerprint, set->windows[j].halvings))
				continue;
			set->windows[j].hidden += ldexp(step / advice->sampling_rate, set->windows[j].halvings);
			if (j == PBP_WINDOW_OF_RELATIONS)
				relations->records[relations->of_page[met->meetings[i].page]].nhidden += step;
		}
	}
}

void
pbp_advice_look_time(PbpAdvice *advice, int64_t second)
{
	Relations  *relations = advice->relations;
	uint32_t	npages[PBP_MAX_RELATIONS + 1];

	if (relations == NULL)
		return;
	if (pbp_begin_uses(&relations->working_set, second, npages, relations->nrecords))
		note_pages(advice, npages);
	advice->relations_crowded |= relations->refused;
	advice->all_relations_wanted = advice->relations_crowded &&
		advice->look.number % LOOKS_PER_ROUND == 0;
	if (relations->refused && second > relations->evicted_second)
	{
		relations->evicted_second = second;
		relations->refused = false;
		evict_relations(advice);
	}
}

/* ---- another sample ---- */

/* It has so many times as many pages, and of those with records of page caches. */
void
pbp_scale_relations(Advice *advice, double share, double share_of_records)
{
	Relations  *relations = advice->relations;

	if (relations == NULL)
		return;
	pbp_decay_relations(relations, share);
	pbp_reduce_effects(relations, BASELINE, true, share_of_records / share);
	pbp_scale_uses(&relations->working_set, advice->head.kept, share);
	for (uint32_t page = 0; page < advice->table.npages; page++)
		if (!remains(advice, page))
			relations->of_page[page] = 0;
}

/* ---- counters ---- */

/* A page was used: which sizes of the pool missed it, and at which that waited for storage. */
void
pbp_count_event(Relations *relations, Event event, uint64_t absent, uint64_t waits)
{
	RelationCounters *counters = counters_of_page(relations, event.page);

	if (event.load)
	{
		counters->loads++;
		counters->waits += has_size(waits, BASELINE);
		counters->sampled_loads++;
	}
	for (int effect = 0; effect < EFFECTS; effect++)
	{
		uint64_t	sizes = effect < WAITS_AT_HALF ? absent : waits;
		bool		today = has_size(sizes, BASELINE);

		if (has_size(sizes, effect % 2 == 0 ? HALF : DOUBLE) == today)
			continue;
		counters->extra[effect] += today ? -1 : 1;
		counters->differing[effect]++;
	}
}

void
pbp_decay_relations(Relations *relations, double weight)
{
	for (uint32_t i = 0; i < relations->nrecords; i++)
	{
		RelationCounters *counters = &relations->records[i].counters;
		double		sampled_loads = counters->sampled_loads;

		pbp_scale_doubles(counters, sizeof(*counters), weight);
		counters->sampled_loads = sampled_loads;
	}
}

/* This size has been learned: its misses, or only its waits, count less from before. */
void
pbp_reduce_effects(Relations *relations, int size, bool only_waits, double weight)
{
	const bool	reduced[EFFECTS] = {
		[MISSES_AT_DOUBLE] = size == DOUBLE && !only_waits,
		[WAITS_AT_HALF] = size == HALF || size == BASELINE,
		[WAITS_AT_DOUBLE] = size == DOUBLE || size == BASELINE,
	};

	for (uint32_t i = 0; relations != NULL && i < relations->nrecords; i++)
		for (int effect = 0; effect < EFFECTS; effect++)
			if (reduced[effect])
			{
				relations->records[i].counters.extra[effect] *= weight;
				relations->records[i].counters.differing[effect] *= weight;
			}
}

/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Records of sampled pages: a hash table of fixed size that reuses the
 *	  records of forgotten pages.
 *
 *-------------------------------------------------------------------------
 */
#include "simulator/internal.h"

/* Records that are needed so much later are fetched into the caches. */
#define FETCHED_AHEAD		8

/* Sets the size of the table, and returns its bytes, or SIZE_MAX. */
size_t
pbp_set_table_size(PageTable *table, double npages)
{
	if (npages >= (UINT32_C(1) << PAGE_BITS) - 1)
		return SIZE_MAX;		/* an event could not name them */
	table->max_pages = (uint32_t) npages + 1;
	table->nheads = table->max_pages / 2 + 1;
	return sizeof(PageRecord) * table->max_pages + sizeof(uint32_t) * table->nheads;
}

/* Begins with an empty table at this address, and returns where its memory ends. */
void *
pbp_place_table(PageTable *table, void *memory)
{
	table->pages = memory;
	table->heads = (uint32_t *) (table->pages + table->max_pages);
	for (uint32_t i = 0; i < table->nheads; i++)
		table->heads[i] = INVALID_PAGE;
	return table->heads + table->nheads;
}

/* Keys of sampled pages are small numbers: mix them, to use all heads. */
static inline uint32_t *
head_of(const PageTable *table, uint32_t fingerprint)
{
	uint64_t	mixed = (fingerprint * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

	return &table->heads[mixed * table->nheads >> 32];
}

static uint32_t
find_page(const PageTable *table, uint64_t key)
{
	uint32_t	fingerprint = (uint32_t) key;
	uint32_t	page = *head_of(table, fingerprint);

	while (page != INVALID_PAGE && table->pages[page].fingerprint != fingerprint)
		page = table->pages[page].next;
	return page;
}

bool
pbp_advice_holds(const PbpAdvice *base, uint64_t key)
{
	const Advice *advice = (const Advice *) base;
	uint32_t	page = find_page(&advice->table, key);

	return page != INVALID_PAGE &&
		met_in_look(advice->table.pages[page].state, advice->look.number);
}

/*
 * Finds a page during a look.  Nearly every page is still in the buffer where
 * the last look met it.  That look's list spares the hash table and names the
 * records to prefetch, which more than halves the time.  A page that the last
 * look met in another buffer has left the pool and returned.
 */
uint32_t
pbp_find_page_at(Advice *advice, uint64_t key, int buffer, bool *moved)
{
	const MeetingList *last = meetings_of(advice, advice->look.number - 1);
	const Meeting *meetings = last->meetings;
	const PageRecord *pages = advice->table.pages;
	uint32_t	next = advice->look.next_meeting;

	while (next < last->nmeetings && meetings[next].buffer < buffer)
	{
		if (next + FETCHED_AHEAD < last->nmeetings)
			__builtin_prefetch(&pages[meetings[next + FETCHED_AHEAD].page]);
		next++;
	}
	advice->look.next_meeting = next;
	*moved = false;
	if (next < last->nmeetings && meetings[next].buffer == buffer &&
		pages[meetings[next].page].fingerprint == (uint32_t) key)
		return meetings[next].page;
	*moved = last->nmeetings < advice->max_meetings;
	return find_page(&advice->table, key);
}

static void
unlink_page(PageTable *table, uint32_t page)
{
	uint32_t   *head = head_of(table, table->pages[page].fingerprint);
	uint32_t	before = *head;

	if (before == page)
	{
		*head = table->pages[page].next;
		return;
	}
	while (table->pages[before].next != page)
		before = table->pages[before].next;
	table->pages[before].next = table->pages[page].next;
}

/* In no simulated pool, and not in the real one by the last two looks. */
static inline bool
is_forgotten(PageState state, uint64_t look)
{
	return absent_everywhere(state) && !met_in_look(state, look) && !met_in_look(state, look - 1);
}

/*
 * A record for one more page.  The search for a forgotten page continues where
 * the last one stopped.  If it fails, it would fail for the rest of the look:
 * simulated pools change at the look's end only.
 */
static uint32_t
free_page(PageTable *table, uint64_t look)
{
	if (table->npages < table->max_pages)
		return table->npages++;
	if (table->exhausted)
		return INVALID_PAGE;

	for (uint32_t tried = 0; tried < table->max_pages; tried++)
	{
		uint32_t	page = table->reclaimer;

		table->reclaimer = page + 1 < table->max_pages ? page + 1 : 0;
		if (is_forgotten(table->pages[page].state, look))
		{
			unlink_page(table, page);
			return page;
		}
	}
	table->exhausted = true;
	return INVALID_PAGE;
}

/* A page that has no record yet. */
uint32_t
pbp_add_page(Advice *advice, uint64_t key)
{
	PageTable  *table = &advice->table;
	uint32_t	page = free_page(table, advice->look.number);
	uint32_t   *head;

	if (page == INVALID_PAGE)
	{
		advice->ndropped++;
		return INVALID_PAGE;
	}
	head = head_of(table, (uint32_t) key);
	table->pages[page].fingerprint = (uint32_t) key;
	table->pages[page].next = *head;
	table->pages[page].epoch = 0;
	table->pages[page].state = (PageState){.counts = ALL_ABSENT};
	*head = page;
	if (advice->relations != NULL)
		advice->relations->of_page[page] = 0;
	return page;
}

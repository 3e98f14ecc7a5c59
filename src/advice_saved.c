/*-------------------------------------------------------------------------
 *
 * advice_saved.c
 *	  What the advice has learned survives a restart of the server.
 *
 * After a restart, the pool is empty, and nothing is where the last look met it.
 * The simulated pools and page caches are as they were: they follow what happens,
 * but nothing counts until the real pool is full again.  So the reads that
 * fill it do not count as misses.
 *
 * Saved are the structs and the used part of each array.  Pointers are those of
 * the memory that this is restored in.  Compiles without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "advice_storage.h"

#include <math.h>
#include <string.h>

/* Increase this when something that is saved changes its meaning. */
#define SAVED_VERSION		1

#define MAX_PARTS			(FACTORS + 16)

typedef struct Part
{
	void	   *start;
	size_t		bytes;
} Part;

/* The structs; those that are not used are all zeros. */
typedef struct SavedStructs
{
	Advice		advice;
	Relations	relations;
	Storage		storage;
} SavedStructs;

_Static_assert(sizeof(SavedStructs) == sizeof(Advice) + sizeof(Relations) + sizeof(Storage),
			   "the structs are saved one after the other");

static int
add_part(Part *parts, int nparts, void *start, size_t count, size_t item_bytes)
{
	parts[nparts] = (Part) {start, count * item_bytes};
	return nparts + 1;
}

/* The used part of each array. */
static int
list_parts(const Advice *advice, Part *parts)
{
	const PageTable *table = &advice->table;
	const Relations *relations = advice->relations;
	const Storage *storage = advice->storage;
	int			n = 0;

	n = add_part(parts, n, table->pages, table->npages, sizeof(PageRecord));
	n = add_part(parts, n, table->heads, table->nheads, sizeof(uint32_t));
	for (int i = 0; i < FACTORS; i++)
		n = add_part(parts, n, advice->pools[i].slots, advice->pools[i].nfilled, sizeof(uint32_t));
	if (relations != NULL)
	{
		n = add_part(parts, n, relations->records, relations->nrecords, sizeof(RelationRecord));
		n = add_part(parts, n, relations->npages, relations->nrecords, sizeof(uint32_t));
		n = add_part(parts, n, relations->heads, relations->nheads, sizeof(uint16_t));
		n = add_part(parts, n, relations->of_page, table->npages, sizeof(uint16_t));
		n = add_part(parts, n, relations->working_set.slots, relations->working_set.nslots, sizeof(PbpUsedPage));
	}
	if (storage != NULL)
	{
		n = add_part(parts, n, storage->pages, storage->npages, sizeof(CachedPage));
		n = add_part(parts, n, storage->heads, storage->nheads, sizeof(uint16_t));
	}
	return n;
}

static size_t
sum_of_parts(const Part *parts, int nparts)
{
	size_t		bytes = 0;

	for (int i = 0; i < nparts; i++)
		bytes += parts[i].bytes;
	return bytes;
}

uint32_t
pbp_advice_layout(void)
{
	const size_t sizes[] = {
		SAVED_VERSION, sizeof(void *), FACTORS, sizeof(Advice), sizeof(PageRecord), sizeof(Relations),
		sizeof(RelationRecord), sizeof(PbpUsedPage), sizeof(Storage), sizeof(CachedPage)
	};
	uint32_t	layout = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		layout = (layout ^ (uint32_t) sizes[i]) * UINT32_C(0x01000193);
	return layout;
}

size_t
pbp_advice_saved_bytes(const PbpAdvice *base)
{
	Part		parts[MAX_PARTS];

	return sizeof(SavedStructs) + sum_of_parts(parts, list_parts((const Advice *) base, parts));
}

/* Between two looks. */
void
pbp_advice_save(PbpAdvice *base, PbpPutBytes put, void *arg)
{
	static const SavedStructs unused;
	Advice	   *advice = (Advice *) base;
	Part		parts[MAX_PARTS];
	int			nparts = list_parts(advice, parts);

	if (advice->relations != NULL)
		pbp_keep_uses(&advice->relations->working_set);
	put(arg, advice, sizeof(Advice));
	put(arg, advice->relations != NULL ? advice->relations : &unused.relations, sizeof(Relations));
	put(arg, advice->storage != NULL ? advice->storage : &unused.storage, sizeof(Storage));
	for (int i = 0; i < nparts; i++)
		put(arg, parts[i].start, parts[i].bytes);
}

/* Were both begun in the same way?  Then they divide their memory alike. */
static bool
is_alike(const SavedStructs *saved, const Advice *advice)
{
	const Advice *other = &saved->advice;
	bool		alike = other->sampling_rate == advice->sampling_rate &&
		other->nbuffers == advice->nbuffers &&
		other->usage_max == advice->usage_max &&
		other->rings_apart == advice->rings_apart &&
		other->table.max_pages == advice->table.max_pages &&
		other->max_events == advice->max_events &&
		(other->relations != NULL) == (advice->relations != NULL) &&
		(other->storage != NULL) == (advice->storage != NULL);

	for (int i = 0; i < FACTORS; i++)
		alike &= other->pools[i].max_slots == advice->pools[i].max_slots;
	if (alike && advice->relations != NULL)
		alike = saved->relations.nrecords == advice->relations->nrecords &&
			saved->relations.working_set.nslots == advice->relations->working_set.nslots;
	if (alike && advice->storage != NULL)
		alike = saved->storage.max_pages == advice->storage->max_pages &&
			saved->storage.block_bytes == advice->storage->block_bytes;
	return alike;
}

/* Let the arrays be where this advice has them, and the structs where they are. */
static void
keep_places(SavedStructs *saved, const Advice *advice)
{
	saved->advice.table.pages = advice->table.pages;
	saved->advice.table.heads = advice->table.heads;
	for (int i = 0; i < FACTORS; i++)
		saved->advice.pools[i].slots = advice->pools[i].slots;
	for (int i = 0; i < 2; i++)
	{
		saved->advice.meetings[i] = (MeetingList) {0, advice->meetings[i].meetings};
		saved->advice.events[i] = (EventList) {0, advice->events[i].events};
	}
	if (advice->relations != NULL)
	{
		saved->advice.relations = &saved->relations;
		saved->relations.records = advice->relations->records;
		saved->relations.npages = advice->relations->npages;
		saved->relations.heads = advice->relations->heads;
		saved->relations.of_page = advice->relations->of_page;
		saved->relations.working_set.slots = advice->relations->working_set.slots;
	}
	if (advice->storage != NULL)
	{
		saved->advice.storage = &saved->storage;
		saved->storage.pages = advice->storage->pages;
		saved->storage.heads = advice->storage->heads;
	}
}

/* Do the used parts fit, and are the bytes just those? */
static bool
is_complete(const Part *parts, int nparts, const Advice *advice, size_t bytes)
{
	bool		fits = advice->table.npages <= advice->table.max_pages;

	for (int i = 0; i < FACTORS; i++)
		fits &= advice->pools[i].nfilled <= advice->pools[i].max_slots;
	if (advice->storage != NULL)
		fits &= advice->storage->npages <= advice->storage->max_pages;
	return fits && bytes == sizeof(SavedStructs) + sum_of_parts(parts, nparts);
}

/*
 * The next look finds other pages in the buffers, and none of them is known to be
 * a load.  What the server counted since the last look belongs to none.
 */
static void
begin_new_life(Advice *advice)
{
	PbpAdviceCounts fresh = advice->look.fresh;

	if (advice->look.counted)
		pbp_count_accesses(advice, &fresh, -1);
	advice->look = (LookState)
	{
		.number = advice->look.number,
		.lost = true,
		.restored = true,
		.warming_up = true,
	};
	for (uint32_t i = 0; i < advice->table.npages; i++)
		advice->table.pages[i].state.look = 0;
	advice->base.wants_relation = false;
}

/* The structs that were saved take the place of those of this advice. */
static void
replace_structs(Advice *advice, const SavedStructs *saved)
{
	Relations  *relations = advice->relations;
	Storage    *storage = advice->storage;

	if (relations != NULL)
		*relations = saved->relations;
	if (storage != NULL)
		*storage = saved->storage;
	*advice = saved->advice;
	advice->relations = relations;
	advice->storage = storage;
}

bool
pbp_advice_restore(PbpAdvice *base, const void *bytes, size_t nbytes)
{
	Advice	   *advice = (Advice *) base;
	SavedStructs saved;
	Part		parts[MAX_PARTS];
	int			nparts;
	const char *next = (const char *) bytes + sizeof(saved);

	if (nbytes < sizeof(saved))
		return false;
	memcpy(&saved, bytes, sizeof(saved));
	if (!is_alike(&saved, advice))
		return false;
	keep_places(&saved, advice);
	nparts = list_parts(&saved.advice, parts);
	if (!is_complete(parts, nparts, &saved.advice, nbytes))
		return false;

	for (int i = 0; i < nparts; i++)
	{
		memcpy(parts[i].start, next, parts[i].bytes);
		next += parts[i].bytes;
	}
	replace_structs(advice, &saved);
	begin_new_life(advice);
	return true;
}

void
pbp_advice_doubt_os_cache(PbpAdvice *base)
{
	pbp_doubt_caches(((Advice *) base)->storage);
}

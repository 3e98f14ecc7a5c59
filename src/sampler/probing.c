/*-------------------------------------------------------------------------
 *
 * probing.c
 *	  Probes of the page cache: remembered pages of the sample are looked up
 *	  there, and some of them are read and timed.
 *
 * No transaction is needed.  In one, the worker would be canceled in recovery
 * conflicts: the replay of DROP TABLESPACE cancels all transactions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "base/latency.h"
#include "base/settings.h"
#include "base/worker.h"
#include "os/oscache.h"
#include "sampler/learner.h"

/* Pages that are looked up between two looks at the clock, sorted by file. */
#define BATCH			64

/* Of the processor time that is allowed, to look up pages. */
#define PROBING_SHARE	0.1

/*
 * A page that the page cache did not hold, and has not evicted recently, returns
 * there only through the pool, or when the pool writes it.  So it is looked up once
 * in this many rounds, and in the others, only the simulation is asked about it.
 */
#define UNCACHED_ROUNDS	8

/*
 * Between two calls.  In each, at most one block is read from storage and one
 * from the page cache, since a read keeps the block there.
 */
#define PROBE_NS		INT64CONST(1000000000)
#define AFTER_ERROR_NS	(300 * PROBE_NS)

/* A page to be looked up. */
typedef struct Probe
{
	PbpFileKey	key;			/* first, by which they are sorted */
	BlockNumber block;			/* of the segment */
	int			page;
} Probe;

/*
 * The pool has loaded this page of the sample, as a look at that time has found.  Only pages that
 * the simulated page caches have can be compared with them.
 */
void
pbp_remember_load(PbpProbing *probing, const PbpAdvice *advice, uint64 key, const BufferTag *tag,
				  int64 now_ns)
{
	int			page = -1;

	if (pbp_advice_simulates(advice, key))
		page = pbp_served_load(&probing->served, key, now_ns);
	if (page >= 0)
		probing->tags[page] = *tag;
}

/* ---- looking up pages ---- */

/*
 * Time a read of the block, unless this call has timed one from its tier.  Of a
 * page in the pool, nobody would read it now.
 */
static void
time_read(PbpProbing *probing, const PbpOsFile *file, const Probe *probe, bool cached)
{
	PbpTimedReads *reads = cached ? &probing->os_reads : &probing->storage_reads;
	int			number = reads->nreads % PBP_READ_TIMES;
	int			reading;

	if (!reads->may_read ||
		pbp_advice_holds(probing->advice, probing->served.pages[probe->page].key))
		return;
	reading = cached ? 0 : pbp_count_working().reading;
	if (pbp_os_time_read(file, probe->block, &reads->ns[number]))
	{
		reads->reading[number] = reading;
		reads->nreads++;
		reads->may_read = false;
		if (!cached)
			pbp_os_drop_blocks(file, probe->block, 1);
	}
}

static int
compare_files(const void *one, const void *other)
{
	return memcmp(one, other, sizeof(PbpFileKey));
}

/*
 * Look up pages of one file.  Forget them if it cannot be opened, was truncated,
 * or the kernel's answers about it cannot be trusted.
 */
static void
probe_file(PbpProbing *probing, const Probe *probes, int nprobes)
{
	PbpOsFile	file;
	bool		found = pbp_os_open(&probes->key, PBP_OS_AUTO, &file);
	bool		trusted = found && file.trust == PBP_OS_TRUSTED;

	PG_TRY();
	{
		for (int i = 0; i < nprobes; i++)
		{
			if (trusted && (int64) (probes[i].block + 1) * BLCKSZ <= file.bytes)
			{
				bool		cached = pbp_os_block(&file, probes[i].block);
				PbpCacheAnswer answer = {.cached = cached,.recent = NAN};
				uint64		key = probing->served.pages[probes[i].page].key;

				if (file.method == PBP_OS_CACHESTAT)
					answer.recent = cached || pbp_os_recent_block(&file, probes[i].block);
				pbp_served_answer(&probing->served, probes[i].page, answer,
								  pbp_advice_caches(probing->advice, key));
				time_read(probing, &file, &probes[i], cached);
			}
			else
				pbp_served_forget_page(&probing->served, probes[i].page);
		}
	}
	PG_FINALLY();
	{
		/* no transaction closes it after an error */
		if (found)
			pbp_os_close(&file);
	}
	PG_END_TRY();
}

/* The next pages that are to be looked up, at most BATCH and of one round. */
static int
next_probes(PbpProbing *probing, Probe *probes)
{
	int			nprobes = 0;

	while (nprobes < BATCH && probing->next < PBP_SERVED_PAGES)
	{
		int			number = probing->next++;
		const PbpServedPage *page = &probing->served.pages[number];
		const BufferTag *tag = &probing->tags[number];

		if (!pbp_served_has_page(&probing->served, number))
			continue;
		if (page->known && page->kernel.cached == 0 && !(page->kernel.recent > 0) &&
			(number + probing->round) % UNCACHED_ROUNDS != 0)
			pbp_served_answer(&probing->served, number, page->kernel,
							  pbp_advice_caches(probing->advice, page->key));
		else
			probes[nprobes++] = (Probe) {
				.key = {
					BufTagGetRelFileLocator(tag), BufTagGetForkNum(tag), tag->blockNum / RELSEG_SIZE
				},
				.block = tag->blockNum % RELSEG_SIZE,
				.page = number,
			};
	}
	return nprobes;
}

static void
probe_batch(PbpProbing *probing)
{
	Probe		probes[BATCH];
	int			nprobes = next_probes(probing, probes);
	int			first = 0;

	qsort(probes, nprobes, sizeof(Probe), compare_files);
	for (int end = 1; end <= nprobes && !pbp_must_end(); end++)
		if (end == nprobes || compare_files(&probes[first], &probes[end]) != 0)
		{
			probe_file(probing, &probes[first], end - first);
			first = end;
		}
}

/* As many pages as there is time for, at most one round. */
static void
probe_pages(PbpProbing *probing)
{
	int64		start_ns = pbp_cpu_now_ns();
	int64		allowed_ns = (int64) (PROBING_SHARE * pbp_max_cpu_fraction * PROBE_NS);

	if (probing->next == 0)
		probing->round_began_ns = pbp_now_ns();
	do
		probe_batch(probing);
	while (probing->next < PBP_SERVED_PAGES && pbp_cpu_now_ns() - start_ns < allowed_ns);
	if (probing->next < PBP_SERVED_PAGES)
		return;
	pbp_served_end_round(&probing->served, pbp_now_ns() - probing->round_began_ns);
	probing->next = 0;
	probing->round++;
}

/*
 * Look up remembered pages, unless that was done a moment ago.  The right time
 * is after a look: a page that is loaded between the look and its probe seems to
 * have been cached before.  Without looks, hardly any page is loaded.  An error
 * is logged and suspends probing.
 */
void
pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice, bool after_look)
{
	MemoryContext context = CurrentMemoryContext;

	if (!pbp_os_cache_on)
		pbp_served_forget_answers(&probing->served);
	if (!pbp_os_cache_on || pbp_now_ns() - probing->probed_ns < (after_look ? 1 : 2) * PROBE_NS)
		return;
	probing->storage_reads.may_read = probing->os_reads.may_read = true;
	probing->advice = advice;
	probing->probed_ns = pbp_now_ns();
	/* cached facts about file systems expire */
	SetCurrentStatementStartTimestamp();
	PG_TRY();
	{
		probe_pages(probing);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		EmitErrorReport();
		FlushErrorState();
		probing->probed_ns += AFTER_ERROR_NS;
	}
	PG_END_TRY();
}

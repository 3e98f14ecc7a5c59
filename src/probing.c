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

#include <math.h>

#include "access/xact.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "latency.h"
#include "oscache.h"
#include "probing.h"

/* pages whose tags are remembered */
#define REMEMBERED		512
#define CONSIDERED		64		/* one page of so many, in each look */

#define PROBES			8		/* at a time */
#define ENOUGH_PROBES	8		/* of a band */
#define PROBES_HALVED	256		/* older probes of a band then count half */
#define BEYOND			PBP_ADVICE_FACTORS	/* the band of pages that not even the
											 * largest size would hold any more */
#define MOST_UNCERTAIN	0.25	/* share of misses of which it is unknown whether
								 * the page cache serves them */
#define READ_TIMES		31		/* latest reads whose times are kept */
#define ENOUGH_TIMES	5

/*
 * Between two rounds.  In each, at most one block is read from storage and one
 * from the page cache, since a read keeps the block there.
 */
#define PROBE_NS		INT64CONST(1000000000)
#define AFTER_ERROR_NS	(300 * PROBE_NS)

typedef struct RememberedPage
{
	bool		used;
	uint64		key;
	BufferTag	tag;
} RememberedPage;

/* Times of the latest reads. */
typedef struct ReadTimes
{
	int64		ns[READ_TIMES];
	int64		nreads;			/* ever */
	bool		may_read;		/* in this round, still */
} ReadTimes;

/* A mean in which old values fade. */
typedef struct Mean
{
	double		sum;
	double		count;
} Mean;

struct PbpProbing
{
	RememberedPage remembered[REMEMBERED];
	int			next_probe;
	int64		probed_ns;		/* later after an error */
	Mean		in_os_cache[BEYOND + 1];	/* by band */
	ReadTimes	os_reads;
	ReadTimes	storage_reads;
};

PbpProbing *
pbp_create_probing(void)
{
	return MemoryContextAllocZero(TopMemoryContext, sizeof(PbpProbing));
}

/* Forgets all pages and figures, but not when probes are due. */
void
pbp_reset_probing(PbpProbing *probing)
{
	memset(probing->remembered, 0, sizeof(probing->remembered));
	memset(probing->in_os_cache, 0, sizeof(probing->in_os_cache));
	probing->os_reads.nreads = probing->storage_reads.nreads = 0;
}

/*
 * Remember some pages of the sample, also after their eviction, as long as it
 * depends on the pool's size whether they are resident.  Each look considers
 * only a few, to save time.
 */
void
pbp_remember_page(PbpProbing *probing, const PbpAdvice *advice, uint64 look,
				  uint64 key, const BufferTag *tag)
{
	RememberedPage *page = &probing->remembered[(key >> 16) % REMEMBERED];

	if ((key + look) % CONSIDERED != 0 ||
		(page->used && pbp_advice_band(advice, page->key) != 0))
		return;
	page->used = true;
	page->key = key;
	page->tag = *tag;
}

static void
add_to_mean(Mean *mean, double value)
{
	if (mean->count >= PROBES_HALVED)
	{
		mean->sum /= 2;
		mean->count /= 2;
	}
	mean->sum += value;
	mean->count++;
}

/* Time a read of the block, unless this round has timed one from its tier. */
static void
time_read(PbpProbing *probing, const PbpOsFile *file, BlockNumber block, bool cached)
{
	ReadTimes  *reads = cached ? &probing->os_reads : &probing->storage_reads;
	int64		read_ns;

	if (!reads->may_read || !pbp_os_time_read(file, block, &read_ns))
		return;
	reads->ns[reads->nreads++ % READ_TIMES] = read_ns;
	reads->may_read = false;
	if (!cached)
		pbp_os_drop_block(file, block);
}

/*
 * Look up a page in the page cache.  Forget it if its file cannot be opened, or
 * no size would hold it any more.
 */
static void
probe_page(PbpProbing *probing, const PbpAdvice *advice, RememberedPage *page)
{
	int			band = pbp_advice_band(advice, page->key);
	BlockNumber block = page->tag.blockNum % RELSEG_SIZE;
	PbpLocator	locator = pbp_tag_locator(&page->tag);
	PbpOsFile	file;

	page->used = false;
	if (band < 0)
		band = BEYOND;
	if (band == 0 ||
		!pbp_os_open(&locator, pbp_tag_fork(&page->tag),
					 page->tag.blockNum / RELSEG_SIZE, PBP_OS_AUTO, &file) ||
		file.fd < 0)
		return;
	page->used = band != BEYOND;
	if (file.trust == PBP_OS_TRUSTED && (int64) (block + 1) * BLCKSZ <= file.bytes)
	{
		uint8		bitmap[PBP_BITMAP_BYTES(1)];
		PbpOsBlocks blocks;
		bool		cached;

		pbp_os_map(&file, block, 1, bitmap, &blocks);
		cached = blocks.cached > 0;
		add_to_mean(&probing->in_os_cache[band], cached);
		time_read(probing, &file, block, cached);
	}
	pbp_os_close(&file);
}

/* All conditions of reading the page cache's state and of reading files. */
bool
pbp_probe_is_due(const PbpProbing *probing)
{
	return pbp_os_cache_on && pbp_now_ns() - probing->probed_ns >= PROBE_NS;
}

/* Probe some remembered pages.  An error is logged and suspends probing. */
void
pbp_probe_pages(PbpProbing *probing, const PbpAdvice *advice)
{
	MemoryContext context = CurrentMemoryContext;

	probing->storage_reads.may_read = probing->os_reads.may_read = true;
	probing->probed_ns = pbp_now_ns();
	/* cached facts about file systems expire */
	SetCurrentStatementStartTimestamp();
	PG_TRY();
	{
		for (int i = 0; i < PROBES; i++)
		{
			RememberedPage *page = &probing->remembered[probing->next_probe];

			probing->next_probe = (probing->next_probe + 1) % REMEMBERED;
			if (page->used)
				probe_page(probing, advice, page);
		}
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		EmitErrorReport();
		FlushErrorState();
		/* closes what is open */
		AtEOXact_Files(false);
		probing->probed_ns += AFTER_ERROR_NS;
	}
	PG_END_TRY();
}

static int
compare_times(const void *a, const void *b)
{
	int64		one = *(const int64 *) a;
	int64		other = *(const int64 *) b;

	return (one > other) - (one < other);
}

/*
 * The median, since one read that waits for a processor may take longer than
 * all others together.  -1: unknown.
 */
static double
usual_time(const ReadTimes *reads)
{
	int			nknown = (int) Min(reads->nreads, READ_TIMES);
	int64		sorted[READ_TIMES];

	if (nknown < ENOUGH_TIMES)
		return -1;
	memcpy(sorted, reads->ns, nknown * sizeof(int64));
	qsort(sorted, nknown, sizeof(int64), compare_times);
	return (double) sorted[nknown / 2];
}

void
pbp_report_read_times(const PbpProbing *probing, PbpAdviceReport *report)
{
	report->os_read_ns = usual_time(&probing->os_reads);
	report->storage_read_ns = usual_time(&probing->storage_reads);
}

/*
 * Share of the reads between today's size and another that the page cache
 * serves.  -1: unknown for more than a tenth of them, since a band had too few
 * probes, a size between is unknown, or nothing is probed now.
 */
static double
os_cache_share(const PbpProbing *probing, const PbpAdviceReport *report, int factor)
{
	int			from = Min(factor, PBP_ADVICE_BASELINE);
	int			to = Max(factor, PBP_ADVICE_BASELINE);
	double		reads = report->rows[from].miss_ratio - report->rows[to].miss_ratio;
	double		known = 0;
	double		cached = 0;

	/* a band has the pages that its size would hold, and the next smaller not */
	for (int band = from + 1; band <= to; band++)
	{
		const Mean *in_os_cache = &probing->in_os_cache[band];
		double		avoided = report->rows[band - 1].miss_ratio - report->rows[band].miss_ratio;

		if (avoided > 0 && in_os_cache->count >= ENOUGH_PROBES)
		{
			known += avoided;
			cached += avoided * in_os_cache->sum / in_os_cache->count;
		}
	}
	return pbp_os_cache_on && known > 0 && known >= 0.9 * reads ? cached / known : -1;
}

/* Accesses that the page cache serves, as a share of all. */
typedef struct ServedBounds
{
	double		low;
	double		high;
	double		variance;		/* by the number of probes, of both */
} ServedBounds;

/*
 * Adds the misses of a band.  Pages beyond the largest size return late, and the
 * page cache may have evicted them by then.
 */
static void
add_band(const PbpProbing *probing, int band, double misses, ServedBounds *bounds)
{
	const Mean *in_os_cache = &probing->in_os_cache[band];
	double		share;

	if (in_os_cache->count < ENOUGH_PROBES)
	{
		bounds->high += misses;
		return;
	}
	share = in_os_cache->sum / in_os_cache->count;
	bounds->low += band != BEYOND ? misses * share : 0;
	bounds->high += misses * share;
	/* not 0 where all probes agree */
	share = (in_os_cache->sum + 1) / (in_os_cache->count + 2);
	bounds->variance += misses * misses * share * (1 - share) / in_os_cache->count;
}

/* The misses of today's size, from band to band. */
static ServedBounds
served_bounds(const PbpProbing *probing, const PbpAdvice *advice, double misses)
{
	ServedBounds bounds = {0};
	PbpAdviceRow row;

	for (int band = PBP_ADVICE_BASELINE + 1; band < PBP_ADVICE_FACTORS; band++)
	{
		pbp_advice_row(advice, band, &row);
		if (row.reason != PBP_ADVICE_KNOWN)
		{
			bounds.high += misses;
			return bounds;
		}
		add_band(probing, band, Max(misses - row.miss_ratio, 0), &bounds);
		misses = Min(misses, row.miss_ratio);
	}
	add_band(probing, BEYOND, misses, &bounds);
	return bounds;
}

/*
 * The share of today's misses that the page cache serves: of all shares within
 * the error of the probes, the one next to the simulated share.  -1: they leave
 * too many possible.
 */
double
pbp_served_share(const PbpProbing *probing, const PbpAdvice *advice, double simulated)
{
	PbpAdviceRow today;
	ServedBounds bounds;
	double		error;

	pbp_advice_row(advice, PBP_ADVICE_BASELINE, &today);
	if (!pbp_os_cache_on || today.reason != PBP_ADVICE_KNOWN || !(today.miss_ratio > 0))
		return -1;
	bounds = served_bounds(probing, advice, today.miss_ratio);
	if (bounds.high - bounds.low > MOST_UNCERTAIN * today.miss_ratio)
		return -1;
	error = 1.96 * sqrt(bounds.variance);
	return Max(Min(Max(simulated, (bounds.low - error) / today.miss_ratio),
				   Min((bounds.high + error) / today.miss_ratio, 1)), 0);
}

/* To be called when the report has its rows. */
void
pbp_report_os_cache_shares(const PbpProbing *probing, PbpAdviceReport *report)
{
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
		report->os_cache_share[i] = os_cache_share(probing, report, i);
}

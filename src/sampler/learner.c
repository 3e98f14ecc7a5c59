/*-------------------------------------------------------------------------
 *
 * learner.c
 *	  What the worker feeds to the advice, and when it publishes the result.
 *
 * The advice learns from looks at the pool, from the server's counts of
 * accesses, and from probes of the page cache.  When to look is decided in
 * sampler.c, and which buffers a look reads in look.c; they are read here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/latency.h"
#include "base/settings.h"
#include "memory/servermemory.h"
#include "os/oscache.h"
#include "sampler/learner.h"

/* sessions publish their counts of accesses as often */
#define COUNT_NS		INT64CONST(1000000000)

/* maximum age of published advice while the worker is awake */
#define PUBLISH_NS		INT64CONST(1000000000)

/*
 * Databases and tables are searched again after this many times the duration of a search,
 * which takes tenths of a second where there are millions of tables.
 */
#define FIND_RARELY		1000

/* Large scans may take this share of the processor time that is allowed. */
#define SCANS_SHARE		0.5

/*
 * Half-life, in seconds and in pools' worth of reads, of the reads that show
 * whether the same relations are read as before.  It is shorter than that of what
 * is learned.
 */
#define HALF_LIFE_MIX		20.0
#define HALF_LIFE_MIX_POOLS	0.75

/*
 * Of the pool; a larger sample takes more time and hardly improves the figures.
 * To keep the most used pages apart from the sample does not improve them either:
 * chance matters among those that a smaller pool barely holds.
 */
#define ENOUGH_PAGES	4000.0

/* A sample of 2,000 pages; a thousandth of a pool of 16 MB has 50, and four times the error */
#define LEAST_BYTES		((Size) 512 * 1024)

/* Room for a few more than ENOUGH_PAGES; most of it is never touched */
#define ENOUGH_BYTES	((Size) 4 * 1024 * 1024)

/* This part of the memory is for relations and pages in use. */
#define RELATIONS_SHARE	6

/*
 * Memory for the simulated page caches: records of 50,000 pages.  A page cache
 * of 256 GB above which a pool of 16 GB runs has 31,000 of these, one page in
 * 1,100.  It is at most this share of the pool, too.
 */
#define STORAGE_BYTES	((Size) 4 * 1024 * 1024)
#define STORAGE_SHARE	0.01

/* Memory for page caches of other totals, as a share of that for today's total. */
#define TOTALS_SHARE	0.58

/* Memory for other replacement policies, as a share of all other memory of the advice. */
#define POLICIES_SHARE	0.5

/* Buffers that a look prefetches. */
#define FETCHED_AHEAD		48

/* ---- reports ---- */

static int64
bytes_of_size(int i)
{
	return (int64) (pbp_advice_factor(i) * NBuffers) * BLCKSZ;
}

static void
report_totals(const PbpCapacity *capacity, const PbpAdvice *advice, PbpAdviceReport *report)
{
	double		both = (double) pbp_both_caches(report);

	for (int i = 0; i < PBP_TOTALS; i++)
		for (int j = 0; j < PBP_SPLITS && i != PBP_TOTAL_TODAY; j++)
		{
			PbpAdviceSplit *split = &report->storage.splits[i][j];

			*split = pbp_advice_split(advice, i, j);
			split->fits = pbp_fits_other_memory(&capacity->memory,
												(int64) ((pbp_total_factor(i) - 1) * both),
												bytes_of_size(split->size));
		}
}

/* To be called when the capacity was followed. */
static void
report_storage(const PbpCapacity *capacity, const PbpAdvice *advice, PbpStorageReport *report)
{
	report->model = capacity->model;
	report->memory = capacity->memory;
	report->data_bytes = pbp_own_bytes().data;
	report->data_fit = pbp_size_fits(&capacity->memory, report->data_bytes);
	report->totals = pbp_advice_storage_totals(advice);
	for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
	{
		report->fits[i] = pbp_size_fits(&capacity->memory, bytes_of_size(i));
		report->fixed[i] = pbp_advice_storage_row(advice, i);
	}
}

static void
report_policies(const PbpLearner *learner, PbpAdviceReport *report)
{
	report->has_policies = learner->policies != NULL;
	if (!report->has_policies)
		return;
	for (int policy = 0; policy < PBP_POLICY_COUNT; policy++)
		for (int size = 0; size < PBP_POLICY_SIZES; size++)
			report->policies[policy][size] = pbp_advice_policy_row(learner->advice, policy, size);
}

/* Whether other relations are read now than was learned.  Nothing is of a light load. */
static void
follow_mix(PbpLearner *learner, const PbpAdviceReport *report, const PbpReadMix *learned)
{
	PbpReadMix	lately;
	const PbpAdviceCounts *fresh = &learner->fresh.counts;
	double		pools = fresh->reads / NBuffers;

	pbp_fade_read_counts(&learner->lately_read,
						 exp2(-fresh->seconds / HALF_LIFE_MIX - pools / HALF_LIFE_MIX_POOLS));
	pbp_add_read_counts(&learner->lately_read, &learner->fresh.reads);
	pbp_mix_of_reads(&learner->lately_read, &lately);
	pbp_advice_facts(learner->advice)->other_mix =
		pbp_unusual_mix(&learner->usual_mix, pbp_mix_distance(learned, &lately),
						report->totals.change == PBP_LIGHT_LOAD ? 0 : fresh->seconds);
}

/* What was counted since the last report goes into this hour and the next sample. */
static void
use_fresh_counts(PbpLearner *learner, const PbpAdviceReport *report, const PbpReadMix *learned)
{
	const PbpFreshCounts *fresh = &learner->fresh;
	PbpSample  *sample = &learner->interval.sample;
	PbpHourShare share = {
		.seconds = fresh->counts.seconds,
		.accesses = fresh->counts.accesses,
		.apart = pbp_advice_accesses_apart(learner->advice, &fresh->counts),
		.reads = fresh->counts.reads,
		.active_ms = fresh->sessions.active_ms,
		.counted_ms = fresh->sessions.counted.working_ms,
		.read_ms = pbp_waited_ms(&learner->sessions, &fresh->sessions,
								 fresh->counts.reads, report),
		.times = report->times,
		.misses = report->rows,
		.storage = pbp_knows_storage(report) ? report->storage.fixed : NULL,
		.fits = report->may_fit,
		.memory = (double) pbp_both_caches(report),
	};

	if (share.seconds <= 0)
		return;
	if (report->storage.has_totals &&
		report->storage.fixed[PBP_ADVICE_BASELINE].reason != PBP_STORAGE_NO_CAPACITY)
		share.splits = report->storage.splits;
	pbp_count_hour(report->made_at, &share);
	sample->accesses += (int64) share.accesses;
	sample->reads += (int64) share.reads;
	sample->scan_reads += fresh->counts.scan_reads;
	sample->scan_hits += fresh->counts.scan_hits;
	sample->scan_reuses += fresh->counts.scan_reuses;
	if (!isnan(share.read_ms))
	{
		sample->read_ms += share.read_ms;
		sample->read_ms_seconds += share.seconds;
	}
	pbp_add_read_counts(&learner->interval.reads, &fresh->reads);
	follow_mix(learner, report, learned);
	memset(&learner->fresh, 0, sizeof(learner->fresh));
}

/*
 * All that is known now.  Without advice, the report says why there is none.  Times and
 * the decision are made of the other figures, so they come last.
 */
static void
publish(PbpLearner *learner)
{
	PbpAdviceReport report = {0};
	PbpAdviceCounts counts = learner->fresh.counts;
	PbpReadMix	learned = {0};

	report.made_at = GetCurrentTimestamp();
	report.nbuffers = NBuffers;
	report.watched_seconds = (double) (pbp_now_ns() - learner->begun_ns) / PBP_NS_PER_S;
	report.has_memory = learner->advice != NULL;
	report.loaded = learner->naccesses >= NBuffers;
	if (learner->advice != NULL)
	{
		report.totals = pbp_advice_totals(learner->advice);
		report.missed_loads = pbp_look_missed_share(&learner->look);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			report.rows[i] = pbp_advice_row(learner->advice, i);
		pbp_advice_report_relations(learner->advice, &report.relations);
		report_policies(learner, &report);
		report.storage.has_memory = learner->has_storage;
		report.storage.has_totals = learner->has_totals;
		if (learner->has_storage)
			report_storage(&learner->capacity, learner->advice, &report.storage);
		for (int i = 0; i < PBP_ADVICE_FACTORS; i++)
			report.may_fit[i] = i == PBP_ADVICE_BASELINE || !learner->has_storage ||
				report.storage.fits[i] == PBP_FITS || report.storage.fits[i] == PBP_FIT_UNKNOWN;
		if (learner->has_totals)
			report_totals(&learner->capacity, learner->advice, &report);
	}
	pbp_report_times(&learner->sessions, &learner->probing, &report);
	pbp_expect_mix(&report.relations, report.totals.reads, 1, &learned);
	if (learner->advice != NULL)
	{
		use_fresh_counts(learner, &report, &learned);
		pbp_decide_report(&report);
	}
	pbp_put_advice(&report);
	pbp_check_predictions(&report, &counts, &learned);
}

/* ---- looks ---- */

/*
 * A hash of what identifies a page, of which each range has a random share of the pages.
 * It takes a third of the scan's time, so it mixes no better than necessary.
 */
static inline uint64
key_of_block(const PbpLocator *locator, ForkNumber fork, BlockNumber block, uint64 salt)
{
	uint64		file = (uint64) locator->dbOid << 32 | locator->relNumber;
	uint64		key = (uint64) block << 32 | (locator->spcOid * (MAX_FORKNUM + 1) + fork);

	key += file * UINT64CONST(0x9e3779b97f4a7c15) + salt;

	/* the final steps of MurmurHash3, which map no two keys to one */
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

static inline uint64
page_key(PbpAdvice *advice, const BufferTag *tag)
{
	PbpLocator	locator = BufTagGetRelFileLocator(tag);

	return key_of_block(&locator, BufTagGetForkNum(tag), tag->blockNum,
						pbp_advice_head(advice)->salt);
}

/*
 * Reads a page without its header's lock, which sessions want, too.  A tag
 * changes only under that lock.  Another page that entered, under it, during
 * the few nanoseconds in between, would not be noticed; the tag might then be
 * half of each page's, and the advice would know one page that does not exist.
 */
static pg_attribute_always_inline bool
read_page(BufferDesc *desc, PbpBufState *state, BufferTag *tag)
{
	*state = pbp_read_state(desc);
	if (!pbp_holds_page(*state))
		return false;
	if (unlikely(*state & BM_LOCKED))
		return pbp_read_page(desc, state, tag);
	pg_read_barrier();
	*tag = desc->tag;
	pg_read_barrier();
	return pbp_holds_page(pbp_read_state(desc));
}

/* True if hardly anything but large scans reads its table. */
static bool
is_scanned_alone(const PbpCounted *counted, PbpLocator locator)
{
	for (int i = 0; i < counted->ntables; i++)
		if (RelFileLocatorEquals(counted->tables[i].file, locator))
			return pbp_is_scanned_alone(counted, &counted->tables[i]);
	return false;
}

/* Takes note of a page of the sample. */
static void
visit_page(PbpLearner *learner, uint64 key, int buffer, PbpBufState state, const BufferTag *tag)
{
	int			usage = Min(BUF_STATE_GET_USAGECOUNT(state), BM_MAX_USAGE_COUNT);
	PbpLocator	locator = BufTagGetRelFileLocator(tag);
	bool		loaded = pbp_look_page(&learner->look, key, buffer, usage, (state & BM_DIRTY) != 0,
									   is_scanned_alone(&learner->counted, locator));

	if (pbp_advice_head(learner->advice)->wants_relation || loaded)
	{
		PbpRelationKey relation = {
			.database = locator.dbOid,
			.tablespace = locator.spcOid,
			.relfilenode = locator.relNumber,
			.fork = (uint32) BufTagGetForkNum(tag),
		};

		if (pbp_advice_head(learner->advice)->wants_relation)
			pbp_advice_set_relation(learner->advice, &relation);
		if (loaded)
			pbp_count_reads(&learner->fresh.reads, &relation, 1);
	}
	if (loaded)
		pbp_remember_load(&learner->probing, learner->advice, key, tag, learner->look_ns);
}

/*
 * A session pins its victim while it writes the old page.  A session that uses a page
 * raises the usage count, unless it reads through a ring.  The page of any other buffer
 * that is pinned may be about to be replaced.
 */
static pg_attribute_always_inline void
visit_buffer(PbpLearner *learner, int buffer)
{
	PbpAdvice  *advice = learner->advice;
	BufferDesc *desc = GetBufferDescriptor(buffer);
	PbpBufState state = pbp_read_state(desc);
	BufferTag	tag;

	if (pbp_holds_page(state) &&
		pbp_advice_sampled(advice, page_key(advice, &desc->tag)) &&
		read_page(desc, &state, &tag))
	{
		uint64		key = page_key(advice, &tag);
		bool		is_victim = BUF_STATE_GET_REFCOUNT(state) != 0 &&
			BUF_STATE_GET_USAGECOUNT(state) == 0;

		if (pbp_advice_sampled(advice, key) && !is_victim)
		{
			visit_page(learner, key, buffer, state, &tag);
			return;
		}
	}
	if (unlikely(BUF_STATE_GET_REFCOUNT(state) != 0))
		pbp_look_pinned(&learner->look, buffer);
}

/*
 * Reads the buffers from first to before end: about 5 ns each.  Those that sessions
 * have just used are in the caches of other processors, and are fetched ahead.
 */
static void
read_range(void *arg, int first, int end)
{
	for (int i = first; i < end; i++)
	{
		if (i % PBP_BUFFERS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
		__builtin_prefetch(GetBufferDescriptor(Min(i + FETCHED_AHEAD, end - 1)));
		visit_buffer(arg, i);
	}
}

/*
 * Reads some buffers, which mostly hold pages of the sample.  Each is on another
 * page of memory, and prefetching them all first takes a third of the time.
 */
static void
read_buffers(void *arg, const int *buffers, int nbuffers)
{
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < nbuffers; i++)
		__builtin_prefetch(GetBufferDescriptor(buffers[i]));
	for (int i = 0; i < nbuffers; i++)
		visit_buffer(arg, buffers[i]);
}

/* ---- the beginning ---- */

/*
 * Returns NULL if none is wanted, or if there is not enough memory: the history
 * continues without advice.  In a tiny pool, there is no room for a page of the page caches,
 * or of those of other totals.
 */
static PbpAdvice *
create_advice(PbpLearner *learner)
{
	Size		bytes = pbp_advice_memory_kb >= 0 ? (Size) pbp_advice_memory_kb * 1024 :
		MAXALIGN(Min(Max((Size) NBuffers * BLCKSZ / 1000, LEAST_BYTES), ENOUGH_BYTES));
	Size		advice_bytes = MAXALIGN_DOWN(bytes - bytes / RELATIONS_SHARE);
	Size		storage_bytes = MAXALIGN(Min((Size) (STORAGE_SHARE * NBuffers * BLCKSZ),
											 STORAGE_BYTES));
	Size		totals_bytes = (Size) (TOTALS_SHARE * (double) storage_bytes);
	char	   *memory;
	PbpAdvice  *advice;

	learner->has_storage = learner->has_totals = false;
	learner->bytes = bytes + storage_bytes + totals_bytes;
	if (bytes == 0)
		return NULL;
	memory = MemoryContextAllocExtended(learner->context, learner->bytes,
										MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (memory == NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory for the advice"),
				 errdetail("Failed on request of size %zu.", learner->bytes),
				 errhint("Lower \"pgbufprobe.advice_memory\" and reload the settings.")));
		return NULL;
	}
	advice = pbp_advice_init(memory, advice_bytes, NBuffers, BM_MAX_USAGE_COUNT,
							 pbp_advice_memory_kb < 0 ? ENOUGH_PAGES / NBuffers : 0,
							 PBP_COUNTS_APART);
	if (advice == NULL)
		return NULL;
	/* so that servers with equal data do not share the errors of one sample */
	pbp_advice_head(advice)->salt = pg_prng_uint64(&pg_global_prng_state);
	pbp_advice_watch_relations(advice, memory + advice_bytes, bytes - advice_bytes);

	memory += bytes;
	learner->has_storage = pbp_advice_init_storage(advice, memory, storage_bytes, BLCKSZ);
	memory += storage_bytes;
	learner->has_totals = learner->has_storage &&
		pbp_advice_init_totals(advice, memory, totals_bytes);
	return advice;
}

/* Begins or ends to simulate other replacement policies, if the setting has changed. */
static void
follow_policies(PbpLearner *learner)
{
	Size		bytes = Min(pbp_advice_policies_bytes(learner->advice),
							(Size) (POLICIES_SHARE * learner->bytes));

	if (learner->wants_policies == pbp_policies_on)
		return;
	learner->wants_policies = pbp_policies_on;
	if (pbp_policies_on)
		learner->policies = MemoryContextAllocExtended(learner->context, bytes,
													   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (!pbp_advice_watch_policies(learner->advice, pbp_policies_on ? learner->policies : NULL,
								   bytes) && learner->policies != NULL)
	{
		pfree(learner->policies);
		learner->policies = NULL;
	}
}

/* Forgets all, and publishes that. */
void
pbp_restart_learner(PbpLearner *learner)
{
	MemoryContextReset(learner->context);
	learner->memory_kb = pbp_advice_memory_kb;
	learner->begun_ns = pbp_now_ns();
	learner->counted_ns = 0;
	memset(&learner->fresh, 0, sizeof(learner->fresh));
	memset(&learner->sessions, 0, sizeof(learner->sessions));
	memset(&learner->lately_read, 0, sizeof(learner->lately_read));
	learner->usual_mix = 0;
	memset(&learner->probing, 0, sizeof(learner->probing));
	pbp_reset_decisions();
	learner->advice = create_advice(learner);
	learner->wants_policies = false;
	learner->policies = NULL;
	memset(&learner->capacity, 0, sizeof(learner->capacity));
	if (learner->advice != NULL)
	{
		follow_policies(learner);
		pbp_look_init(&learner->look, learner->advice,
					  &(PbpLookReader){learner, read_range, read_buffers});
		pbp_follow_capacity(&learner->capacity, pbp_read_capacity, learner->advice, BLCKSZ);
	}
	publish(learner);
}

void
pbp_learner_begin_look(PbpLearner *learner, int64 ticks)
{
	learner->look_ns = pbp_now_ns();
	pbp_advice_look_time(learner->advice, learner->look_ns / PBP_NS_PER_S);
	pbp_look_begin(&learner->look, ticks);
	/* pages may have been loaded that no look saw */
	if (pbp_advice_head(learner->advice)->lost)
		pbp_served_forget_answers(&learner->probing.served);
}

void
pbp_learner_end_look(PbpLearner *learner, int64 ticks)
{
	pbp_look_end(&learner->look, ticks);
	pbp_advice_take_evicted(learner->advice, &learner->interval.sample.evicted);
	pbp_probe_pages(&learner->probing, learner->advice, true);
}

/* ---- counts ---- */

/*
 * How large the tables are that scans read through a ring, and of these, those that hardly anything
 * else reads.  0: their statistics show none.
 */
static void
note_scanned_tables(const PbpLearner *learner)
{
	int64		smallest = 0;
	int64		alone = 0;

	for (int i = 0; i < learner->counted.ntables; i++)
	{
		const PbpScannedTable *table = &learner->counted.tables[i];
		int64		npages = (int64) table->npages;

		if (!pbp_needs_ring(table))
			continue;
		smallest = smallest == 0 ? npages : Min(smallest, npages);
		alone += pbp_is_scanned_alone(&learner->counted, table) ? npages : 0;
	}
	pbp_advice_facts(learner->advice)->smallest_scanned = smallest;
	pbp_advice_facts(learner->advice)->scanned_alone = alone;
}

/*
 * Plays blocks that a scan has come to: it reads them in turn, and then from the first.  Returns
 * how many there was time for.
 */
static int64
play_scan(PbpLearner *learner, const PbpScannedTable *table, int64 first, int64 nblocks,
		  int64 end_ns)
{
	PbpLocator	locator = OidIsValid(table->file.relNumber) ? table->file :
		pbp_locator(InvalidOid, table->database, table->table);
	int64		npages = Max(1, (int64) table->npages);
	uint64		salt = pbp_advice_head(learner->advice)->salt;
	bool		alone = pbp_is_scanned_alone(&learner->counted, table);

	for (int64 i = 0; i < nblocks; i++)
	{
		if (i % PBP_BUFFERS_PER_CHECK == 0)
		{
			pbp_check_interrupts_of_look();
			if (pbp_cpu_now_ns() >= end_ns)
				return i;
		}
		pbp_advice_scan(learner->advice,
						key_of_block(&locator, MAIN_FORKNUM, (first + i) % npages, salt), alone);
	}
	return nblocks;
}

/*
 * What has been counted by now, and what large scans have read since the last time.  A session
 * publishes both at once, so nothing may take long between these two reads; and tables come first,
 * so that no scan of a table is not among the reads of its database yet.
 *
 * What large scans read goes through the page cache, past the pool, where no look sees it.  The
 * simulated pools tell which blocks they hold; of a table whose file is unknown, the server's
 * count does.  Tables in the page cache may be scanned faster than there is time for; then a part
 * of each is played, and the next time the one that follows.  A block is expected to take as long
 * as the last time; if it does not, play ends after twice the time.
 */
static PbpScannedBlocks
note_scans(PbpLearner *learner, int64 passed_ns, PbpAccessCounts *now)
{
	PbpScannedTable *tables = learner->counted.tables;
	int			ntables = learner->counted.ntables;
	int64		first[PBP_SCANNED_TABLES];
	int64		nblocks[PBP_SCANNED_TABLES];
	int64		all = 0;
	int64		played = 0;
	PbpScannedBlocks sum = {0};
	double		most_ns = SCANS_SHARE * pbp_max_cpu_fraction * (double) passed_ns;
	double		share;
	int64		start_ns;

	for (int i = 0; i < ntables; i++)
	{
		PbpScannedTable *table = &tables[i];
		PbpScannedBlocks scanned;
		bool		alone;

		first[i] = table->scanned;
		scanned = pbp_count_scans(table);
		alone = pbp_is_scanned_alone(&learner->counted, table);
		nblocks[i] = scanned.reads;
		if (OidIsValid(table->file.relNumber) || alone)
			nblocks[i] += scanned.hits;
		all += nblocks[i];
		sum.hits += scanned.hits;
		sum.reads += scanned.reads;
		if (alone)
		{
			sum.alone_hits += scanned.hits;
			sum.alone_reads += scanned.reads;
		}
	}
	*now = pbp_access_counts(&learner->counted);
	share = most_ns / Max((double) all * learner->scanned_block_ns, 1);
	start_ns = pbp_cpu_now_ns();
	for (int i = 0; i < ntables; i++)
	{
		int64		n = play_scan(learner, &tables[i], first[i],
								  (int64) (Min(share, 1) * (double) nblocks[i]),
								  start_ns + (int64) (2 * most_ns));

		tables[i].scanned -= nblocks[i] - n;
		played += n;
	}
	if (played > 0)
		learner->scanned_block_ns = (double) (pbp_cpu_now_ns() - start_ns) / (double) played;
	if (all > 0)
		sum.skipped = (int64) ((double) sum.reads * (double) (all - played) / (double) all);
	return sum;
}

/* What has been counted since the last time, by the server's counts now. */
static void
use_counts(PbpLearner *learner, const PbpAccessCounts *now, const PbpScannedBlocks *scanned,
		   int64 refaults, double seconds)
{
	const PbpAccessCounts *before = &learner->accesses;
	PbpAdviceCounts counts = {
		.accesses = now->hits - before->hits + now->reads - before->reads,
		.reads = now->reads - before->reads,
		.extends = now->extends - before->extends,
		.ring_reads = now->ring_reads - before->ring_reads,
		.scan_reads = now->scan_reads - before->scan_reads,
		.scan_hits = now->scan_hits - before->scan_hits,
		.scan_reuses = now->scan_reuses - before->scan_reuses,
		.alone_reads = scanned->alone_reads,
		.alone_hits = scanned->alone_hits,
		.scan_skipped = scanned->skipped,
		.ring_extends = now->ring_extends - before->ring_extends,
		.seconds = seconds,
	};
	PbpSessionTime time = pbp_take_session_time(&learner->sessions, before, now);

	/* after a reset of these statistics */
	if (now->hits < before->hits || counts.reads < 0 || counts.extends < 0 ||
		counts.ring_reads < 0 || counts.scan_reads < 0 || counts.scan_hits < 0 ||
		counts.scan_reuses < 0 || counts.ring_extends < 0)
		return;
	if (!PBP_COUNTS_APART)
	{
		counts.scan_reads = counts.ring_reads = Min(scanned->reads, counts.reads);
		counts.scan_hits = Min(scanned->hits, counts.accesses - counts.reads);
		counts.reads -= counts.scan_reads;
		counts.accesses -= counts.scan_reads + counts.scan_hits;
	}
	if (learner->refaults != PBP_UNKNOWN && refaults >= learner->refaults)
	{
		counts.refaults = (double) (refaults - learner->refaults) * pbp_os_page_bytes() / BLCKSZ;
		counts.refault_seconds = seconds;
	}
	pbp_count_reads_beside_scans(&learner->counted, counts.reads + counts.extends);
	pbp_advice_accesses(learner->advice, &counts);
	learner->naccesses += counts.accesses;
	pbp_add_doubles(&learner->fresh.counts, &counts, sizeof(counts));
	pbp_add_doubles(&learner->fresh.sessions, &time, sizeof(time));
	pbp_count_session_time(&learner->sessions, &counts, &time);
}

/*
 * Notes the WAL that was written, which goes through the page cache as well, and
 * whether a checkpoint or restartpoint has begun, each at another place of WAL.
 */
static void
note_wal(PbpLearner *learner)
{
	uint64		position = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetXLogWriteRecPtr();
	XLogRecPtr	checkpoint = GetRedoRecPtr();
	int64		file_bytes = pbp_own_bytes().wal;

	if (learner->wal_position != 0 && file_bytes > 0)
		pbp_advice_write_wal(learner->advice, learner->wal_position, position, (uint64) file_bytes);
	if (learner->checkpoint != InvalidXLogRecPtr && learner->checkpoint != checkpoint)
		pbp_advice_checkpoint(learner->advice);
	learner->wal_position = position;
	learner->checkpoint = checkpoint;
}

/*
 * Pass on what the server has counted since the last call.  Due also while the
 * hand stands still: a transaction publishes its accesses at its end.
 */
void
pbp_learner_count(PbpLearner *learner, bool at_once)
{
	int64		start = pbp_now_ns();
	bool		is_first = learner->counted_ns == 0;
	int64		passed_ns = is_first ? 0 : start - learner->counted_ns;
	int64		data = pbp_own_bytes().data;
	PbpScannedBlocks scanned;
	PbpAccessCounts now;
	int64		refaults;

	if (learner->advice == NULL)
		return;
	pbp_count_processes(&learner->sessions, start);
	if (!is_first && passed_ns < COUNT_NS && !at_once)
		return;
	if (start >= learner->find_counted_ns)
	{
		pbp_find_counted(&learner->counted);
		learner->find_counted_ns = start + FIND_RARELY * (pbp_now_ns() - start);
	}
	pbp_find_table_files(&learner->counted);
	scanned = note_scans(learner, passed_ns, &now);
	refaults = pbp_os_cache_on ? pbp_refaults("") : PBP_UNKNOWN;
	if (!is_first)
		use_counts(learner, &now, &scanned, refaults, (double) passed_ns / 1e9);
	note_wal(learner);
	note_scanned_tables(learner);
	pbp_advice_facts(learner->advice)->data_pages = data < 0 ? INFINITY : (double) (data / BLCKSZ);
	learner->accesses = now;
	learner->refaults = refaults;
	learner->counted_ns = pbp_now_ns();
}

void
pbp_learner_publish(PbpLearner *learner)
{
	int64		now_ns = pbp_now_ns();

	if (learner->advice == NULL || now_ns - learner->published_ns < PUBLISH_NS)
		return;
	learner->published_ns = now_ns;
	follow_policies(learner);
	pbp_probe_pages(&learner->probing, learner->advice, false);
	pbp_follow_capacity(&learner->capacity, pbp_read_capacity, learner->advice, BLCKSZ);
	pbp_served_calibrate(&learner->probing.served, learner->advice, pbp_os_cache_on);
	publish(learner);
}

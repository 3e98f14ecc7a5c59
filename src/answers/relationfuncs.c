/*-------------------------------------------------------------------------
 *
 * relationfuncs.c
 *	  The SQL function about the relations in the pool, and how long their pages
 *	  stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/args.h"
#include "pool/poolfuncs.h"
#include "sampler/history.h"

#define RELATIONS_COLS		11

PG_FUNCTION_INFO_V1(pgbufprobe_relations);

/* Largest first, then by OIDs for a stable order. */
static int
compare_relations(const void *a, const void *b)
{
	const PbpRelationCount *one = a;
	const PbpRelationCount *other = b;
	int64		difference = other->buffers - one->buffers;

	CHECK_FOR_INTERRUPTS();
	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return memcmp(one, other, offsetof(PbpRelationCount, dirty));
}

static void
emit_relation(ReturnSetInfo *rsinfo, const void *item, void *arg)
{
	const PbpRelationCount *count = item;
	const PbpClockRate *recent = arg;
	int64		usage_sum = 0;
	Row			row = {0};

	for (int i = 0; i < PBP_USAGE_LEVELS; i++)
		usage_sum += i * count->usage[i];

	add_storage(&row, &count->locator, count->fork);
	add_counted(&row, count->buffers, count->buffers_error, NBuffers);
	add_count(&row, count->dirty);
	add_quotient(&row, (double) usage_sum, (double) count->buffers);
	add_datum(&row, usagecounts_array(count->usage));
	add_quotient(&row, count->stay * recent->seconds, recent->ticks);
	emit_row(rsinfo, &row, RELATIONS_COLS);
}

Datum
pgbufprobe_relations(PG_FUNCTION_ARGS)
{
	int			nread = sample_arg(fcinfo, 0);
	int			nrelations;
	PbpRelationCount *counts = pbp_count_relations(nread, &nrelations);
	PbpClockRate recent;

	(void) pbp_recent_history(&recent);
	qsort(counts, nrelations, sizeof(*counts), compare_relations);
	emit_rows(fcinfo, counts, nrelations, sizeof(*counts), emit_relation, &recent);
	pfree(counts);
	return (Datum) 0;
}

# Every function works in a read-only transaction and on a hot standby, where replay and live search agree too.

use strict;
use warnings;

use Server;
use Test::More;

my $pool = 2048;

# What each function says, as far as it can be known beforehand.
my @answers = (
	[ 'replay', 'current worst',
		q{SELECT string_agg(scenario, ' ') FROM pgbufprobe_sweep_cost(10)} ],
	[ 'live search', 'live', q{SELECT scenario FROM pgbufprobe_sweep_cost(10, 'live')} ],
	[ 'scans', 'read lock match', q{SELECT string_agg(method, ' ') FROM pgbufprobe_scan_cost(1)} ],
	[ 'histogram', $pool, q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram()} ],
	[ 'histogram of a relation and list of relations', 't',
		q{SELECT (SELECT coalesce(sum(buffers), 0) FROM pgbufprobe_relations() WHERE relation = 'pages'::regclass)
		       = (SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram('pages'))} ],
	[ 'clock', "$pool|t",
		q{SELECT buffers, hand BETWEEN 0 AND buffers - 1 FROM pgbufprobe_clock()} ],
	# Nobody else is there to move the hand.
	[ 'clock rate', 't', q{SELECT seconds_per_pass IS NULL FROM pgbufprobe_clock('10 ms')} ],
	# From now to now.
	[ 'snapshot', 't',
		qq{SELECT sum((level->>'buffers')::bigint) = $pool FROM jsonb_array_elements(pgbufprobe_snapshot()->'usagecounts') level} ],
	[ 'difference of snapshots', "7|$pool|$pool|0",
		q{SELECT count(*), sum(from_buffers), sum(to_buffers), max(passes) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot())} ],
	[ 'difference of relations', 't|0',
		q{SELECT count(*) > 0, sum(to_buffers) - sum(from_buffers) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot(), by_relation => true)} ],
	# Before the standby was made.
	[ 'difference from a snapshot that is kept', '7|t',
		q{SELECT count(*), sum(from_buffers) = sum(to_buffers) FROM kept, pgbufprobe_snapshot_diff(state)} ],
	[ 'how long pages stay', 't|0',
		q{SELECT count(*) > 0, count(stay_seconds) FROM pgbufprobe_relations()} ],
	[ 'cache maps', 't|t',
		q{SELECT count(*) > 0, bool_and(length(map) >= 52) FROM pgbufprobe_cache_map()} ],
	# Nothing is missing, since this map is of this moment.
	[ 'a restored cache map', 't|0|0',
		q{SELECT requested = already_present, read, skipped
		    FROM pgbufprobe_cache_map('pages', 'main'), pgbufprobe_cache_restore('pages', map, target => 'shared_buffers')} ],
	[ 'a cache map of the primary', 't|t',
		q{SELECT requested > 0, requested = already_present + read + skipped
		    FROM kept, pgbufprobe_cache_restore('pages', map, target => 'shared_buffers')} ],
	[ 'status', 'not started|off', 'SELECT sampler, carry_over FROM pgbufprobe_status()' ],
	[ 'advice', '11|0|1',
		q{SELECT count(*), count(miss_ratio), count(DISTINCT note) FROM pgbufprobe_advice()} ],
	[ 'relations of the advice', '1|0|1',
		q{SELECT count(*), count(read_fraction), count(note) FROM pgbufprobe_advice_relations()} ],
	[ 'policies', '30|0|30',
		q{SELECT count(*), count(miss_ratio), count(note) FROM pgbufprobe_policies()} ],
	[ 'working set', '4|0|4',
		q{SELECT count(*), count(bytes), count(note) FROM pgbufprobe_working_set()} ],
	[ 'memory consumers', '13|t|t',
		q{SELECT count(*), sum(today_bytes) FILTER (WHERE consumer <> 'total') = sum(today_bytes) FILTER (WHERE consumer = 'total'),
			bool_and(reserved_bytes IS NULL AND (today_bytes IS NOT NULL OR note IS NOT NULL)) FROM pgbufprobe_memory_consumers()} ],
	[ 'memory', '1|1|0', q{SELECT count(*), count(note), count(storage_ratio) FROM pgbufprobe_memory('today')} ],
	[ 'checkup', '9|9',
		q{SELECT count(*), count(*) FILTER (WHERE verdict IN ('fine', 'consider', 'change', 'unknown') AND answer <> '')
		    FROM pgbufprobe_checkup()} ]);

my $primary = start_server('primary', "shared_buffers = $pool\n$no_background_writes", allows_streaming => 1);

# Enough pages to fill the pool.
ask($primary, keyed_pages('pages', $pool + 500) . qq(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept AS SELECT pgbufprobe_snapshot() AS state, map FROM pgbufprobe_cache_map('pages', 'main');
-- What must agree of a replay and the live search after it. All is done once
-- before, since a session's first use of a catalog moves usage counts.
CREATE FUNCTION announced_and_done(victims int, OUT announced text, OUT done text)
LANGUAGE plpgsql AS \$\$
DECLARE
	n int;
	counts record;
BEGIN
	FOREACH n IN ARRAY ARRAY[1, victims] LOOP
		SELECT inspected, from_freelist, dirty_victims INTO counts
		  FROM pgbufprobe_sweep_cost(n, 'current');
		announced := row_to_json(counts);
		SELECT inspected, from_freelist, dirty_victims INTO counts
		  FROM pgbufprobe_sweep_cost(n, 'live');
		done := row_to_json(counts);
	END LOOP;
END \$\$;
));

my $standby = init_standby($primary);
$standby->start;
$primary->wait_for_catchup($standby);

# What the questions to the primary have written must have been replayed, since replay uses buffers. A checkpoint makes
# sure that all of it is sent.
sub replay_all
{
	ask($primary, 'CHECKPOINT');
	$primary->wait_for_catchup($standby);
	return;
}

sub all_answer
{
	my ($node, $where, $begin) = @_;

	for (@answers)
	{
		my ($what, $expected, $query) = @$_;

		# Asked twice: the first use of a catalog may evict what is counted.
		my @got = split /\n/, ask($node, "$begin; $query; $query; COMMIT");
		is($got[1], $expected, "$where: $what");
	}
}

sub all_as_announced
{
	my ($where) = @_;

	for my $victims (1, 300, 2 * $pool)
	{
		my ($announced, $done) = split /\|/, ask($standby, "SELECT * FROM announced_and_done($victims)");
		is($done, $announced, "$where: as announced; victims: $victims");
	}
}

all_answer($primary, 'read-only transaction', 'BEGIN READ ONLY');

# Counted by the session itself, so that what others write does not show. The
# first call may leave hint bits behind.
for (@answers)
{
	my ($what, undef, $query) = @$_;
	unlike(ask($primary, "$query; EXPLAIN (ANALYZE, WAL) $query"), qr/WAL:/, "no WAL: $what");
}

replay_all();
all_answer($standby, 'standby', 'BEGIN');
all_as_announced('standby, unused buffers left');

# The server of a snapshot from the primary was another.
is( ask($standby, 'SELECT DISTINCT passes FROM kept, pgbufprobe_snapshot_diff(state)'),
	'', 'standby: how the hand moved since a snapshot of the primary is unknown');
is( ask($primary, 'SELECT DISTINCT passes >= 0 FROM kept, pgbufprobe_snapshot_diff(state)'),
	't', 'on the primary it is known');

# What asks for a sampler says why it cannot.
has_error($standby, "SELECT pgbufprobe_$_()", '55000: nothing watches', "standby: $_ says why not")
  for qw(history hours predictions history_reset);

ask($standby, $by_index . 'SELECT sum(length(page)) FROM pages WHERE id > 0');
is( ask($standby, 'SELECT buffers FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL'),
	0, 'the standby has filled its pool');
replay_all();
all_answer($standby, 'standby with a full pool', 'BEGIN');
all_as_announced('standby with a full pool');

$standby->stop;
$primary->stop;
done_testing();

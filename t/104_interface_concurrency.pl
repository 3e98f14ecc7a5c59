# Several sessions at once. The clock rate is what another session moves the hand by. While a load writes to a small
# pool, every function runs in a loop, the rows of each call are consistent, and the load has no error.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $pool = 2048;
my $seconds = 5;

# A page that got into a buffer of another would not match its checksum.
my $node = start_server(
	'main', qq(
shared_buffers = $pool
bgwriter_lru_maxpages = 0
bgwriter_delay = 10ms
checkpoint_timeout = 30s
max_wal_size = 64MB
),
	extra => ['--data-checksums']);
ask($node, 'CREATE EXTENSION pgbufprobe');
# Four times the pool.
$node->command_ok(
	[ 'pgbench', '-i', '-q', '-s', '5', $node->connstr('postgres') ],
	'pgbench has made its tables');

# ---------------------------------------------------------------------------
# The clock is watched

# All in a session that has been used, since a new one may need buffers itself.
my $session = $node->background_psql('postgres');
my $live = q{SELECT inspected FROM pgbufprobe_sweep_cost(10000, 'live')};
my $allocations = q{SELECT allocations FROM pgbufprobe_clock()};
my $is_watched = q{SELECT count(*) FROM pg_stat_activity
	WHERE application_name = 'watching' AND wait_event_type = 'Extension'};
$session->query_safe("$_; $_") for $live, $allocations, $is_watched;

# The search must begin and end while the other session watches, and that one's query must take little longer than its
# watch. Otherwise both are made again.
my ($watching, $inspected, $is_within, $per_second, $seconds_watched);
for (1 .. 10)
{
	$watching = start_psql($node, 'watching', '-c',
		q{SELECT buffers / seconds_per_pass, extract(epoch FROM clock_timestamp() - statement_timestamp()) FROM pgbufprobe_clock('3 s')});
	wait_for { $session->query_safe($is_watched) == 1 || has_ended($watching) };
	$is_within = $session->query_safe($is_watched) == 1;
	$inspected = $session->query_safe($live);
	$is_within &&= $session->query_safe($is_watched) == 1;
	$watching->{run}->finish;
	($per_second, $seconds_watched) = split /\|/, $watching->{out};
	$is_within &&= $seconds_watched < 3.5;
	last if $is_within;
}
ok($is_within, 'a session watches the clock');
my $seen = $per_second * $seconds_watched / $inspected;
ok($seen >= 0.999 && $seen < 1.2, 'it sees what another session inspects') or diag("$watching->{out} of $inspected");

# The background writer publishes now and then, at the latest after 50 times its
# delay, half a second here. It has published all when nothing came in a second,
# and must have missed nothing, however often the clock was read meanwhile.
sub published_allocations
{
	my ($at_least) = @_;
	my ($now, $last, $same) = (-1, -1, 0);

	wait_for
	{
		$last = $now;
		$now = $session->query_safe($allocations);
		$same = $now == $last ? $same + 1 : 0;
		return $now >= $at_least && $same == 10;
	};
	return $now;
}

# What is more than that was from before, and came late.
my $published;
for (1 .. 5)
{
	my $before = published_allocations(0);
	$session->query_safe($live);
	$published = published_allocations($before + 10000) - $before;
	last if $published <= 10000;
}
is($published, 10000, 'the background writer publishes every allocation');
$session->quit;

# ---------------------------------------------------------------------------
# The load

# What holds at every call. Where it does not, a division by zero ends the run.
my %always = (
	'pgbufprobe_usagecount_histogram()' =>
	  "sum(buffers) = $pool AND bool_and(dirty <= buffers)",
	q{pgbufprobe_usagecount_histogram('pgbench_accounts')} =>
	  "sum(buffers) BETWEEN 1 AND $pool AND bool_and(dirty <= buffers)",
	'pgbufprobe_relations()' =>
	  "sum(buffers) BETWEEN 1 AND $pool AND bool_and(dirty <= buffers
	   AND buffers = (SELECT sum(n) FROM unnest(usagecounts) n))",
	'pgbufprobe_clock()' =>
	  "bool_and(hand BETWEEN 0 AND $pool - 1)",
	q{pgbufprobe_clock('20 ms')} =>
	  "bool_and(clock_timestamp() - statement_timestamp() >= '20 ms' AND (seconds_per_pass > 0) IS NOT FALSE AND hand BETWEEN 0 AND $pool - 1)",
	'pgbufprobe_scan_cost(5)' => "bool_and(min_ms <= max_ms AND coalesce(matched, 0) <= $pool)");

# Each search that is not served by the free list inspects one buffer or more. From 19 on there is no such list.
my $no_list = $node->pg_version->major >= 19 ? 'AND from_freelist = 0' : '';
for my $scenario ('current', 'worst', 'live')
{
	$always{"pgbufprobe_sweep_cost(500, '$scenario')"} =
	  'bool_and(p99_us <= max_us AND avg_us <= max_us AND inspected >= 500 - from_freelist AND dirty_victims <= 500 ' . $no_list . ')';
}

my $probes = write_script(
	$node, 'probes',
	join '',
	map {
		(my $condition = $always{$_}) =~ s/\s+/ /g;
		"SELECT 1 / coalesce($condition, false)::int FROM $_;\n" } sort keys %always);
# Gives buffers back to the free list, again and again.
my $churn = write_script($node, 'churn', q{DROP TABLE IF EXISTS churn;
CREATE TABLE churn AS SELECT generate_series(1, 30000) AS n;
TRUNCATE churn;
});

$node->append_conf(
	'postgresql.conf', q(
autovacuum = on
bgwriter_lru_maxpages = 100
bgwriter_delay = 200ms
log_statement = none
));
$node->reload;

# Again, until each has run often enough: a slow machine needs longer.
my %transactions;
for my $round (1 .. 10)
{
	my $aborted = 0;

	for my $run (
		start_pgbench($node, 'load', $seconds, '-c', '4', '-j', '2'),
		start_pgbench($node, 'churn', $seconds, '-c', '1', '-f', $churn),
		start_pgbench($node, 'probes', $seconds, '-c', '2', '-j', '2', '-f', $probes))
	{
		my $count = finish_pgbench($run);

		$aborted = 1 unless defined $count;
		$transactions{ $run->{name} } += $count // 0;
	}
	last if $aborted || !grep { $_ <= 10 } values %transactions;
}
for my $name (sort keys %transactions)
{
	cmp_ok($transactions{$name}, '>', 10, "$name: ran again and again");
	note("$name: $transactions{$name} transactions");
}

is( ask($node, q(
		SELECT count(DISTINCT balance) FROM (
			SELECT sum(abalance) FROM pgbench_accounts
			UNION ALL SELECT sum(bbalance) FROM pgbench_branches
			UNION ALL SELECT sum(tbalance) FROM pgbench_tellers
			UNION ALL SELECT sum(delta) FROM pgbench_history) sums(balance))),
	1, 'the balances of accounts, branches, tellers and history are the same');

SKIP:
{
	skip 'no amcheck', 1 unless create_if_available($node, 'amcheck');
	is( ask($node, q(
			SELECT relname, count(bt_index_check(oid, true)) FROM pg_class
			 WHERE relname LIKE 'pgbench%' AND relkind = 'i' GROUP BY relname ORDER BY relname;
			SELECT count(*) FROM pg_class c, verify_heapam(c.oid)
			 WHERE relname LIKE 'pgbench%' AND relkind = 'r')),
		"pgbench_accounts_pkey|1\npgbench_branches_pkey|1\npgbench_tellers_pkey|1\n0",
		'amcheck finds nothing in tables and indexes');
}

# Autovacuum may give a few back to the free list, or be about to use one.
ok( wait_for
	{
		ask($node, $by_index . q(
			SELECT sum(abalance) FROM pgbench_accounts WHERE aid > 0;
		));
		ask($node, 'SELECT buffers FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL') == 0;
	}, 'every buffer can still be used');
has_no_crash($node);

$node->stop;
done_testing();

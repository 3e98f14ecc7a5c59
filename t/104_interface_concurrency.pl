# Several sessions at once. The rate of the clock is what another session
# moves it by; and under a writing load on a small pool, with every function in
# a loop, what they say holds at each call, and the load does not notice them.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $pool = 2048;
my $seconds = 5;

my $node = PostgreSQL::Test::Cluster->new('main');
# A page that got into a buffer of another would not match its checksum.
$node->init(extra => ['--data-checksums']);
$node->append_conf(
	'postgresql.conf', qq(
shared_buffers = $pool
autovacuum = off
bgwriter_lru_maxpages = 0
bgwriter_delay = 10ms
checkpoint_timeout = 30s
max_wal_size = 64MB
));
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pgbufprobe');
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

# Asks until it is told so; gives up after half a minute.
sub ask_until
{
	my ($query, $told_so) = @_;
	my $answer;

	for (1 .. 600)
	{
		$answer = $session->query_safe($query);
		last if $told_so->($answer);
		usleep(50_000);
	}
	return $answer;
}

my ($ticks, $err) = ('', '');
my $watching = IPC::Run::start(
	[
		'psql', '-XAtq',
		'-c', q{SELECT ticks FROM pgbufprobe_clock_rate('3 s')},
		'-d', $node->connstr('postgres') . ' application_name=watching'
	],
	'>', \$ticks,
	'2>', \$err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
is(ask_until($is_watched, sub { $_[0] == 1 }), 1, 'a session watches the clock');
my $inspected = $session->query_safe($live);
$watching->finish;
is($ticks, "$inspected\n", 'it sees what another session inspects');

# The background writer publishes now and then, at the latest after 50 times its
# delay, half a second here. It has published all when nothing came in a second,
# and must have missed nothing, however often the clock was read meanwhile.
sub published_allocations
{
	my ($at_least) = @_;
	my ($last, $same) = (-1, 0);

	return ask_until(
		$allocations,
		sub {
			my ($now) = @_;
			$same = $now == $last ? $same + 1 : 0;
			$last = $now;
			return $now >= $at_least && $same == 20;
		});
}

my $published = published_allocations(0);
$session->query_safe($live);
is(published_allocations($published + 10000) - $published,
	10000, 'the background writer publishes every allocation');
$session->quit;

# ---------------------------------------------------------------------------
# The load

# What holds at every call. Where it does not, a division by zero ends the run.
# Of a product of two rounded figures, 0.2 % may be missing.
my %always = (
	'pgbufprobe_usagecount_histogram()' =>
	  "sum(buffers) = $pool AND bool_and(dirty <= buffers AND pinned <= buffers)",
	q{pgbufprobe_usagecount_histogram('pgbench_accounts')} =>
	  "sum(buffers) BETWEEN 1 AND $pool AND bool_and(dirty <= buffers AND pinned <= buffers)",
	'pgbufprobe_relations()' =>
	  "sum(buffers) BETWEEN 1 AND $pool AND bool_and(dirty <= buffers AND pinned <= buffers
	   AND buffers = (SELECT sum(n) FROM unnest(usagecounts) n))",
	'pgbufprobe_clock()' =>
	  "bool_and(ticks = passes * $pool + hand AND hand BETWEEN 0 AND $pool - 1)",
	q{pgbufprobe_clock_rate('20 ms')} =>
	  'bool_and(ticks_per_second * seconds BETWEEN 0.998 * ticks AND 1.002 * ticks
	   AND (seconds_per_pass IS NULL) = (ticks = 0))',
	'pgbufprobe_scan_cost(5)' =>
	  "bool_and(min_ms <= avg_ms AND avg_ms <= max_ms AND coalesce(matched, 0) <= $pool)");

# Each search that is not served by the free list looks at one buffer or more. From 19 on there is no such list.
my $no_list = $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000 ? 'AND from_freelist = 0' : '';
for my $scenario ('current', 'worst', 'live')
{
	$always{"pgbufprobe_sweep_cost(500, '$scenario')"} =
	  'bool_and(p50_us <= p95_us AND p95_us <= p99_us AND p99_us <= max_us
	   AND inspected_max <= inspected AND inspected >= victims - from_freelist
	   AND skipped_pinned <= inspected AND dirty_victims <= victims ' . $no_list . ')';
}

sub script
{
	my ($name, $content) = @_;
	my $path = $node->basedir . "/$name.sql";

	append_to_file($path, $content);
	return $path;
}

sub start_pgbench
{
	my ($name, @options) = @_;
	my $run = { name => $name, out => '' };

	$run->{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-T', $seconds, @options, $node->connstr('postgres') ],
		'>', \$run->{out},
		'2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $run;
}

my $probes = script(
	'probes',
	join '',
	map {
		(my $condition = $always{$_}) =~ s/\s+/ /g;
		"SELECT 1 / coalesce($condition, false)::int FROM $_;\n"
	} sort keys %always);
# Gives buffers back to the free list, again and again.
my $churn = script(
	'churn', q{DROP TABLE IF EXISTS churn;
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
		start_pgbench('load', '-c', '4', '-j', '2'),
		start_pgbench('churn', '-c', '1', '-f', $churn),
		start_pgbench('probes', '-c', '2', '-j', '2', '-f', $probes))
	{
		ok($run->{run}->finish, "$run->{name}: no client was aborted") or $aborted = 1, diag($run->{out});
		$transactions{ $run->{name} } += $run->{out} =~ /actually processed: (\d+)/ ? $1 : 0;
	}
	last if $aborted || !grep { $_ <= 10 } values %transactions;
}
for my $name (sort keys %transactions)
{
	cmp_ok($transactions{$name}, '>', 10, "$name: ran again and again");
	note("$name: $transactions{$name} transactions");
}

is( $node->safe_psql(
		'postgres', q(
		SELECT count(DISTINCT balance) FROM (
			SELECT sum(abalance) FROM pgbench_accounts
			UNION ALL SELECT sum(bbalance) FROM pgbench_branches
			UNION ALL SELECT sum(tbalance) FROM pgbench_tellers
			UNION ALL SELECT sum(delta) FROM pgbench_history) sums(balance))),
	1, 'the balances of accounts, branches, tellers and history are the same');

SKIP:
{
	skip 'no amcheck', 1
	  if $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'}) == 0;
	is( $node->safe_psql(
			'postgres', q(
			CREATE EXTENSION amcheck;
			SELECT relname, count(bt_index_check(oid, true)) FROM pg_class
			 WHERE relname LIKE 'pgbench%' AND relkind = 'i' GROUP BY relname ORDER BY relname;
			SELECT count(*) FROM pg_class c, verify_heapam(c.oid)
			 WHERE relname LIKE 'pgbench%' AND relkind = 'r')),
		"pgbench_accounts_pkey|1\npgbench_branches_pkey|1\npgbench_tellers_pkey|1\n0",
		'amcheck finds nothing in tables and indexes');
}

# By the index and not by a scan, which would go through a ring of few buffers.
$node->safe_psql(
	'postgres', q(
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	SELECT sum(abalance) FROM pgbench_accounts WHERE aid > 0;
));
is( $node->safe_psql('postgres',
		'SELECT buffers FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL'),
	0, 'every buffer can still be used');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/,
	'no process has crashed');

$node->stop;
done_testing();

# A call that takes long can be cancelled, timed out and terminated. The session, if it is still there, and the
# server stay as they were.

use strict;
use warnings;

use Server;
use Test::More;

my $pool = 16384;

# Each takes seconds at least, far longer than it takes to get at it.
my %long = (
	current => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'current')},
	worst => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'worst')},
	live => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'live')},
	scan => q{SELECT count(*) FROM generate_series(9901, 10000) n, pgbufprobe_scan_cost(n)},
	watch => q{SELECT count(*) FROM pgbufprobe_clock_rate('1 h')},
	page_lifetime => q{SELECT count(*) FROM pgbufprobe_page_lifetime('1 h')},
	cache_map => q{SELECT count(pgbufprobe_cache_map('pg_class')) FROM generate_series(1, 1000000)},
	snapshots => q{SELECT count(pgbufprobe_snapshot()) FROM generate_series(1, 1000000)},
	differences => q{SELECT count(*) FROM (SELECT pgbufprobe_snapshot_diff_relations(state, state)
		FROM (SELECT pgbufprobe_snapshot() AS state OFFSET 0) s, generate_series(1, 1000000) OFFSET 0) d},
	checkup => q{SELECT count(*) FROM generate_series(1, 1000) n, LATERAL (SELECT n, * FROM pgbufprobe_checkup() OFFSET 0) c});

# What a session shows that can still be used.
my $check = q{SELECT 'buffers', sum(buffers) FROM pgbufprobe_usagecount_histogram()};
my $usable = "buffers|$pool\n";

my $node = start_server('main', "shared_buffers = $pool");
$node->safe_psql('postgres', 'CREATE EXTENSION pgbufprobe');
my $started_at =
  $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# A session that runs these queries, one after the other.
sub start_session
{
	my ($name, @queries) = @_;
	return start_psql($node, $name, map { ('-c', $_) } @queries);
}

# Does this to a session in the middle of its first query; waits for its end.
sub end_by
{
	my ($function, $session) = @_;
	my $running = qq{FROM pg_stat_activity WHERE application_name = '$session->{name}'
		AND state = 'active' AND now() - query_start > '100 ms'};

	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT $running)")
	  or die "\"$session->{name}\" did not start";
	is($node->safe_psql('postgres', "SELECT $function(pid) $running"),
		't', "$session->{name}: $function() finds it running");
	$session->{run}->finish;
}

for my $name (sort keys %long)
{
	my $session = start_session($name, $long{$name}, $check);
	end_by('pg_cancel_backend', $session);
	like($session->{err}, qr/canceling statement due to user request/,
		"$name: cancelled");
	is($session->{out}, $usable, "$name: the session can be used after a cancel");

	$session = start_session($name, q{SET statement_timeout = '300 ms'},
		$long{$name}, 'RESET statement_timeout', $check);
	$session->{run}->finish;
	like($session->{err}, qr/canceling statement due to statement timeout/,
		"$name: timed out");
	is($session->{out}, $usable, "$name: the session can be used after a timeout");

	$session = start_session($name, $long{$name}, $check);
	end_by('pg_terminate_backend', $session);
	like($session->{err}, qr/terminating connection due to administrator command/,
		"$name: terminated");
	is($session->{out}, '', "$name: the session is gone");
}

# A header that was left locked would stop the second of these, and a pin
# would show.
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('}
		  . join(q{', '}, keys %long) . q{')}),
	0, 'no session is left');
is( $node->safe_psql('postgres',
		q{SELECT matched >= 0 FROM pgbufprobe_scan_cost(1) WHERE method = 'lock'}),
	't', 'no buffer is left locked');
is( $node->safe_psql('postgres',
		'SELECT sum(pinned) FROM pgbufprobe_usagecount_histogram()'),
	0, 'no buffer is left pinned');

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'),
	$started_at, 'the server has not been restarted');

# A shutdown does not wait for a sweep either.
my $session = start_session('last', $long{live});
$node->poll_query_until('postgres',
	q{SELECT EXISTS (SELECT FROM pg_stat_activity
	  WHERE application_name = 'last' AND state = 'active')});
$node->stop('fast');
$session->{run}->finish;
like($session->{err}, qr/terminating connection due to administrator command/,
	'a live sweep is ended by a shutdown');
has_no_crash($node);

done_testing();

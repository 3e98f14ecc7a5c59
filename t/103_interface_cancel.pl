# A call that takes long can be cancelled, which a timeout does too, and terminated. The session, if it is still there, and the
# server stay as they were.

use strict;
use warnings;

use Server;
use Test::More;

my $pool = 16384;

# Each takes seconds at least, as a rule far longer than it takes to get at it.
my %long = (
	current => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'current')},
	worst => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'worst')},
	live => q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'live')},
	scan => q{SELECT count(*) FROM generate_series(9901, 10000) n, pgbufprobe_scan_cost(n)},
	watch => q{SELECT count(*) FROM pgbufprobe_clock('1 h')},
	cache_map => q{SELECT count(*) FROM (SELECT pgbufprobe_cache_map('pg_class', 'main') FROM generate_series(1, 1000000) OFFSET 0) m},
	snapshots => q{SELECT count(pgbufprobe_snapshot()) FROM generate_series(1, 1000000)},
	differences => q{SELECT count(*) FROM (SELECT pgbufprobe_snapshot_diff(state, state, true)
		FROM (SELECT pgbufprobe_snapshot() AS state OFFSET 0) s, generate_series(1, 1000000) OFFSET 0) d},
	checkup => q{SELECT count(*) FROM generate_series(1, 1000) n, LATERAL (SELECT n, * FROM pgbufprobe_checkup() OFFSET 0) c});

# What a session shows that can still be used.
my $check = q{SELECT 'buffers', sum(buffers) FROM pgbufprobe_usagecount_histogram()};
my $usable = "buffers|$pool\n";

my $node = start_server('main', "shared_buffers = $pool");
ask($node, 'CREATE EXTENSION pgbufprobe');

# A session that runs these queries, one after the other.
sub start_session
{
	my ($name, @queries) = @_;
	return start_psql($node, $name, map { ('-c', $_) } @queries);
}

# Does this to a session in the middle of its first query, which another one follows; waits for its end. A query that has
# ended before says nothing, so there is another session then.
sub ended_by
{
	my ($function, $name) = @_;
	my $running = qq{FROM pg_stat_activity WHERE application_name = '$name'
		AND state = 'active' AND now() - query_start > '100 ms'};
	my ($session, $found);

	for (1 .. 5)
	{
		$session = start_session($name, $long{$name}, $check);
		wait_for
		{
			$found = ask($node, "SELECT $function(pid) $running");
			return $found ne '' || has_ended($session);
		} or die "\"$name\" did not start";
		$session->{run}->finish;
		last if $found ne '';
	}
	is($found, 't', "$name: $function() finds it running");
	return $session;
}

for my $name (sort keys %long)
{
	my $session = ended_by('pg_cancel_backend', $name);
	like($session->{err}, qr/canceling statement due to user request/, "$name: cancelled");
	is($session->{out}, $usable, "$name: the session can be used after a cancel");

	$session = ended_by('pg_terminate_backend', $name);
	like($session->{err}, qr/terminating connection due to administrator command/,
		"$name: terminated");
	is($session->{out}, '', "$name: the session is gone");
}

# A header that was left locked would stop the second of these, and a pin
# would show.
ok( $node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('}
		  . join(q{', '}, keys %long) . q{')}), 'no session is left');
is( ask($node, q{SELECT matched >= 0 FROM pgbufprobe_scan_cost(1) WHERE method = 'lock'}),
	't', 'no buffer is left locked');
SKIP:
{
	skip 'this server has no pg_buffercache', 1 unless create_if_available($node, 'pg_buffercache');
	# But for a moment, by who writes pages.
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_buffercache WHERE pinning_backends > 0'), 'no buffer is left pinned');
}

# A shutdown does not wait for a sweep either. A sweep that has ended before says nothing.
my $session;
for (1 .. 5)
{
	$session = start_session('last', $long{live});
	wait_for
	{
		return has_ended($session) || ask($node, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'last' AND state = 'active'}) == 1;
	};
	$node->stop('fast');
	$session->{run}->finish;
	last if $session->{out} eq '';
	$node->start;
}
like($session->{err}, qr/terminating connection due to administrator command/,
	'a live sweep is ended by a shutdown');
has_no_crash($node);

done_testing();

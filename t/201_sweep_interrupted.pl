# A live sweep holds the buffers that it takes from the free list until it ends. However it ends, all of them are on
# the list again and can be used.

use strict;
use warnings;

use Server;
use Test::More;

my $pool = 16384;
my $live = q{SELECT count(*) FROM pgbufprobe_sweep_cost(100000000, 'live')};

# A launcher of replication would read a catalog when it starts, which may be late.
my $node = start_server('main', "shared_buffers = $pool\nmax_logical_replication_workers = 0\n$no_background_writes");

# Enough pages to fill the pool.
ask($node, 'CREATE EXTENSION pgbufprobe;' . keyed_pages('pages', $pool + 500, 'UNLOGGED'));

# Where there is no pg_buffercache, the histogram says how many are unused, as oracle.sql
# proves on servers that have it.
my $has_buffercache = create_if_available($node, 'pg_buffercache');
my $unused_query =
  $has_buffercache
  ? q{SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NULL}
  : q{SELECT buffers FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL};

# With an empty pool.
$node->restart;

# From 19 on there is no free list: the hand finds unused buffers.
my $has_free_list = $node->pg_version->major < 19;

my $free_query = qq{
	SELECT from_freelist, ($unused_query)
	  FROM pgbufprobe_sweep_cost(2 * $pool, 'current')};

# The unused buffers, all of which are on the list.
sub unused_buffers
{
	my ($after) = @_;
	my ($listed, $unused) = split /\|/, ask($node, $free_query);

	is($listed, $has_free_list ? $unused : 0, "$after: every unused buffer is on the free list");
	return $unused;
}

# Done twice, since the first time may read pages of catalogs into the pool.
sub loses_none
{
	my ($what, $interrupted_sweep) = @_;

	$interrupted_sweep->();
	my $before = unused_buffers($what);
	$interrupted_sweep->();
	is(unused_buffers("$what again"), $before, "$what: no unused buffer is lost");
	cmp_ok($before, '>', $pool / 2, "$what: most of the pool is unused");
}

sub read_pages
{
	my ($from, $to) = @_;
	return ask($node, $by_index . "SELECT sum(length(page)) FROM pages WHERE id BETWEEN $from AND $to");
}

sub start_live
{
	my $session = start_psql($node, 'live', '-c', $live);

	# Though its query is active, it may not have begun.
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 AND (SELECT from_freelist = 0 FROM pgbufprobe_sweep_cost(1, 'current'))
			FROM pg_stat_activity WHERE application_name = 'live' AND state = 'active' AND now() - query_start > '100 ms'}),
		'the live sweep is on, and holds what was on the free list');
	return $session;
}

sub end_live
{
	my ($session, $function, $error) = @_;

	ask($node, "SELECT $function(pid) FROM pg_stat_activity WHERE application_name = 'live'");
	$session->{run}->finish;
	like($session->{err}, $error, "it is ended by $function()");
}

# Two sessions that read the same page of a catalog for the first time at once
# take a buffer each, and up to 15 the server forgets to put the spare one on
# its list again. So what is used below is used here, in one session.
ask($node, qq(
SELECT pg_cancel_backend(pid), pg_terminate_backend(pid), now() - query_start > '100 ms', state
  FROM pg_stat_activity WHERE application_name = 'nobody';
SELECT EXISTS (SELECT FROM pg_stat_activity);
DO \$\$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$;
SELECT count(*) FROM pgbufprobe_sweep_cost(1, 'live');
SELECT from_freelist = 0 FROM pgbufprobe_sweep_cost(1, 'current');
$free_query;
));
unused_buffers('at first');

loses_none('cancelled',
	sub { end_live(start_live(), 'pg_cancel_backend', qr/due to user request/) });
loses_none('terminated',
	sub { end_live(start_live(), 'pg_terminate_backend', qr/due to administrator command/) });

# At many instants, most of them before the list has come to its end. Set in the
# same query, so that no other statement is timed out.
my $timeouts = 40;
my $script = join '',
  map { "SET statement_timeout = " . (1 + $_ % 5) . " \\; $live;\n" } 1 .. $timeouts;
loses_none(
	'timed out',
	sub {
		my ($rc, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
		is($out, '', 'no live sweep comes to its end');
		# On a busy machine a SET is timed out, too.
		cmp_ok(scalar(() = $err =~ /due to statement timeout/g),
			'>=', $timeouts, 'every live sweep is timed out');
	});

# The buffers are back when the error is caught, not when the session ends.
loses_none(
	'caught',
	sub {
		my ($status, $out);
		# Again if the time is over before the block that catches the error, or if what comes after it takes as long.
		for my $attempt (1 .. 10)
		{
			($status, $out) = $node->psql(
				'postgres', qq(
				BEGIN;
				SET LOCAL statement_timeout = '100 ms';
				DO \$\$
				BEGIN
					PERFORM pgbufprobe_sweep_cost(100000000, 'live');
				EXCEPTION WHEN query_canceled THEN
					NULL;
				END \$\$;
				SET LOCAL statement_timeout = 0;
				$free_query;
				COMMIT));
			last if $status == 0;
		}
		my ($listed, $unused) = split /\|/, $out;
		is($listed, $has_free_list ? $unused : 0, 'the list is complete in the same transaction');
	});

my $unused = unused_buffers('before reading');

# What others take meanwhile is theirs.
my $session = start_live();
read_pages(1, 2000);
end_live($session, 'pg_cancel_backend', qr/due to user request/);
cmp_ok(unused_buffers('read meanwhile'), '<', $unused, 'buffers that are used meanwhile stay used');
SKIP:
{
	skip 'this server has no pg_buffercache', 1 unless $has_buffercache;
	is(ask($node, 'SELECT count(*) FROM pg_buffercache WHERE pinning_backends > 0'), 0, 'no buffer is left pinned');
}

# All that was given back can be used.
read_pages(1, $pool + 500);
is(unused_buffers('read all'), 0, 'no buffer remains unused');

has_no_crash($node);

$node->stop;
done_testing();

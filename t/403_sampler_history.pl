# The history gives the speed of the hand as long as the worker takes samples, however rarely that is, and whatever
# the wall clock says.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Test::More;

sub watched { return "max(watched_seconds) FROM pgbufprobe_page_lifetime('10 ms')" }

# ---------------------------------------------------------------------------
# A pool whose scans cost more than the worker's share of a processor: it sleeps for far longer than the interval

my $node = sampler_node('large', "shared_buffers = 1GB\npgbufprobe.max_cpu_fraction = 0.0001\n");
my $rarely = q{coalesce(max(seconds) > 3 AND max(taken_at) < now() - interval '2 s', false) FROM pgbufprobe_history()};
becomes_true($node, $rarely, 'samples come far apart');
is( ask($node, "SELECT (SELECT $rarely), max(watched_seconds) > 3 FROM pgbufprobe_page_lifetime('10 ms')"), 't|t',
	'and give the speed of the hand between two of them');
my $pid = worker_pid($node);
kill 'STOP', $pid;
becomes_true($node, 'NOT (max(watched_seconds) > 3) ' . "FROM pgbufprobe_page_lifetime('10 ms')",
	'a worker that does not come back: the hand is watched');
kill 'CONT', $pid;
$node->stop;

# ---------------------------------------------------------------------------
# The wall clock

my $shift = PostgreSQL::Test::Utils::tempdir() . '/seconds';
{
	local $ENV{SHIFT_CLOCK} = $shift;
	$node = sampler_node('clock', '', 'shift_clock');
}
await_samples($node, 5);
set($node, history_interval => '10min');
becomes_true($node, q{max(taken_at) < now() - interval '1 s' FROM pgbufprobe_history()}, 'no sample comes for ten minutes');
my $before = ask($node, 'SELECT ' . watched());
cmp_ok($before, '>', 0.3, 'the samples before give the speed of the hand');
SKIP:
{
	append_to_file($shift, '400');
	# As where a library cannot be preloaded.
	skip 'the clock of this server cannot be shifted', 3
	  if ask($node, q{SELECT max(taken_at) > now() - interval '390 s' FROM pgbufprobe_history()}) eq 't';
	is(ask($node, 'SELECT ' . watched()), $before, 'six minutes later: the newest samples still count, the next one is not due');
	unlink $shift or die $!;
	append_to_file($shift, '36000');
	is(ask($node, q{SELECT max(taken_at) < now() - interval '9 h' FROM pgbufprobe_history()}), 't', 'the clock is put forward');
	is(ask($node, 'SELECT ' . watched()), $before, 'and the same samples count');
}

set($node, sampler => 'off');
becomes_true($node, "max(watched_seconds) < 0.3 FROM pgbufprobe_page_lifetime('10 ms')", 'sampler off: the hand is watched');
set($node, sampler => 'on');
becomes_true($node, 'count(*) > 0 FROM pgbufprobe_history() WHERE seconds IS NULL AND taken_at = (SELECT max(taken_at) FROM pgbufprobe_history())',
	'sampler on: the newest sample has none before it');
cmp_ok(ask($node, 'SELECT ' . watched()), '<', 0.3, 'and the speed of the hand is not taken from those before');
$node->stop;

done_testing();

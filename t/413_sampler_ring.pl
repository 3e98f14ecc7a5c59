# The ring of samples when it is full, while the worker is off, and on a standby that is promoted.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

# ---------------------------------------------------------------------------
# A full ring

my $node = sampler_node('ring', "pgbufprobe.history_size = 10\n");
await_samples($node, 5);
my $early = ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()');
$node->poll_query_until('postgres', "SELECT min(taken_at) > '$early' FROM pgbufprobe_history()");
is(ask($node, "SELECT $samples"), 10, 'a full ring has as many samples as it was made for');
my $newest = ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()');
$node->poll_query_until('postgres', "SELECT min(taken_at) >= '$newest' FROM pgbufprobe_history()");
is( ask($node, "SELECT count(*), count(seconds), array_agg(taken_at) = array_agg(taken_at ORDER BY taken_at) FROM pgbufprobe_history()"),
	'10|10|t', 'once round and on: the newest ones, oldest first, and none is a beginning');
samples_are_right($node, 'a full ring');
has_error($node, 'SET pgbufprobe.history_size = 20',
	'55P02: parameter "pgbufprobe.history_size" cannot be changed without restarting the server', 'the ring stays as large as it is');
stop_sampler($node);
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $samples"), 0, 'reset: a full ring is empty');
set($node, sampler => 'on');
becomes_true($node, "$samples = 10 AND $beginnings = 0", 'and fills again');
samples_are_right($node, 'a ring that was reset');
$node->stop;

# ---------------------------------------------------------------------------
# Off from the start

$node = sampler_node('off', "pgbufprobe.sampler = off\n");
becomes_true($node, "wait_event_type = 'Extension' $worker", 'off from the start: the worker waits');
stop_sampler($node);
is(ask($node, "SELECT $samples"), 0, 'off from the start: no sample was ever taken');
is( ask($node, 'SELECT count(*), count(estd_miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'11|0|nothing watches this server, because pgbufprobe.sampler is off|t', 'off from the start: no advice, and why');
is(ask($node, q{SELECT count(*) > 0, count(seconds_per_pass) FROM pgbufprobe_page_lifetime('10 ms')}), 't|0',
	'off from the start: page lifetime is measured by watching');
set($node, sampler => 'on');
await_samples($node, 3);
samples_are_right($node, 'off from the start, then on');
$node->stop;

# ---------------------------------------------------------------------------
# A standby, and what becomes of it

my $primary = sampler_node('primary');
make_pages($primary);
my $standby = init_standby($primary);
$standby->start;
$primary->wait_for_catchup($standby);
await_samples($standby, 3);
samples_are_right($standby, 'standby');
is(ask($standby, "SELECT pg_is_in_recovery(), $beginnings"), 't|1', 'standby: it has a history');
ask($standby, 'SELECT pgbufprobe_history_reset()');
await_samples($standby, 2);
my $pid = worker_pid($standby);
my $begun = ask($standby, "SELECT $beginnings");
my $oldest = ask($standby, 'SELECT min(taken_at) FROM pgbufprobe_history()');
$standby->promote;
await_samples($standby, 3);
is(ask($standby, 'SELECT pg_is_in_recovery()'), 'f', 'promoted: it is a primary');
is(worker_pid($standby), $pid, 'promoted: the worker continues');
is(ask($standby, "SELECT min(taken_at) = '$oldest', $beginnings = $begun FROM pgbufprobe_history()"), 't|t',
	'promoted: history goes on, without a gap');
ask($standby, 'CALL load(3)');
await_samples($standby, 2);
samples_are_right($standby, 'promoted');
$standby->stop;
$primary->stop;

done_testing();

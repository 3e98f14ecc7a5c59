# The background worker survives cancels, ends and crashes, and its history does. Then the pool is emptied.

use strict;
use warnings;

use Checkup;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# ---------------------------------------------------------------------------
# Cancelled, terminated, killed

my $node = sampler_node('main', "restart_after_crash = on\n");
my $pid = worker_pid($node);

make_pages($node);
await_samples($node, 3);
is(ask($node, "SELECT pg_cancel_backend(pid) $worker"), 't', 'the worker is cancelled');
my $begun = ask($node, "SELECT $beginnings");
await_samples($node, 3);
is(worker_pid($node), $pid, 'cancelled: the worker continues');
is(ask($node, "SELECT $beginnings"), $begun, 'cancelled: no sample is lost');

my $oldest = ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()');
is(ask($node, "SELECT pg_terminate_backend(pid) $worker"), 't', 'the worker is terminated');
becomes_true($node, "count(*) = 1 $worker AND pid <> $pid", 'terminated: it comes back');
await_samples($node, 3);
is(ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()'), $oldest, 'terminated: the ring is still there');
is(ask($node, "SELECT $beginnings"), $begun + 1, 'terminated: nothing is said of the time between');
samples_are_right($node, 'terminated');

$node->restart;
# so that the file that was read counts as harmless
ok(save_history($node), 'restarted: all is saved again');
await_samples($node, 2);
my $snapshot = ask($node, 'SELECT pgbufprobe_snapshot()');
my $before_crash = ask($node, 'SELECT now()');
$pid = worker_pid($node);
kill 'KILL', $pid;
ok(poll_through_crash($node, "SELECT count(*) = 1 $worker AND pid <> $pid"), 'killed: the server recovers, and it comes back');
await_samples($node, 3);
is(ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()'), $oldest, 'killed: the history that was saved is there again');
is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE seconds IS NULL AND taken_at > '$before_crash'"), 1, 'killed: it goes on with a sample that has none before it');
ask($node, 'CALL load(5)');
await_samples($node, 2);
samples_are_right($node, 'killed');
# The hand has gone farther by then than that of the other run had.
is( ask($node, qq{
		SELECT bool_and((after->>'passes')::bigint > ('$snapshot'::jsonb->>'passes')::bigint), count(*), count(passes), count(to_buffers - from_buffers)
		  FROM pgbufprobe_snapshot() AS after, pgbufprobe_snapshot_diff('$snapshot', after)}),
	't|7|0|7', 'killed: a snapshot from before is of another run');
is(ask($node, 'SELECT count(passes) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot())'), 7,
	'killed: two of this run are compared');

# ---------------------------------------------------------------------------
# What the checkup says of a pool that was full, and of which most is free now

ask($node, 'CREATE TABLE dropped (LIKE pages INCLUDING STORAGE)');
ask($node, "INSERT INTO dropped SELECT i, repeat('x', 5000) FROM generate_series(1, 2 * $pool) i");
like(checkup($node)->{pool}{says}, qr/^fine (FULL|NEARLY_FULL \S+ [kM]B,) 16 MB$/, 'checkup: the pool is full');
ask($node, 'DROP TABLE dropped');
like(checkup($node)->{pool}{says}, qr/^fine NOT_FULL /, 'checkup: now it is not');
like(checkup($node)->{'page lifetime'}{says},
	$node->pg_version->major < 19 ? qr/^fine FREE_FIRST \S+ MB$/ : qr/^(unknown UNKNOWN|fine (NOT_EVICTED|STAY)) /,
	'checkup: free buffers serve first, where there is a list of them');
$node->stop;
my $log = slurp_file($node->logfile);
is(scalar(() = $log =~ /was terminated by signal/g), 1, 'one process has crashed, on purpose');
unlike($log, qr/PANIC|TRAP:/, 'and no other');

done_testing();

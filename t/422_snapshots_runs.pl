# A snapshot knows the run of the server: it is the same for each role, and another one after a restart and a crash.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# What a role needs to take and compare snapshots.
my $needed = join ', ', map { "pgbufprobe_$_" } qw(snapshot snapshot_diff clock usagecount_histogram relations);

my $node = start_server('main', "shared_buffers = 2048\nrestart_after_crash = on\n$no_background_writes");
ask($node, qq{
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	CREATE ROLE plain LOGIN;
	CREATE EXTENSION pgbufprobe;
	GRANT EXECUTE ON FUNCTION $needed TO plain;
	CREATE TABLE kept (label text PRIMARY KEY, state jsonb NOT NULL);
	INSERT INTO kept VALUES ('one', pgbufprobe_snapshot());
	CREATE TABLE grown AS SELECT repeat('x', 500) FROM generate_series(1, 5000);
	SELECT count(*) FROM pgbufprobe_sweep_cost(5000, 'live');
	INSERT INTO kept VALUES ('two', pgbufprobe_snapshot())});

# Of the two snapshots that are kept.
sub difference
{
	return join "\n", map { ask($node, "SELECT d.* FROM kept b, kept a, pgbufprobe_snapshot_diff(b.state, a.state, $_) d
		WHERE b.label = 'one' AND a.label = 'two'") } 'false', 'true';
}

sub run_by { return ask($node, q{SELECT pgbufprobe_snapshot()->>'run'}, 'postgres', @_) }

my $difference = difference();
my $run = run_by();
is(run_by('monitor'), $run, 'a member of pg_monitor sees the same run of the server');
is(run_by('plain'), $run, 'so does a role with the function and nothing else');
my $parallel = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
is(ask($node, qq{SET $parallel = on; SET parallel_setup_cost = 0; SELECT pgbufprobe_snapshot()->>'run'}), $run, 'and a parallel worker');

# What is known after a restart or a crash, of what was before; and that all agree on the new run.
sub is_another_run
{
	my ($how) = @_;
	my $now = run_by();

	isnt($now, $run, "$how: another run");
	is(run_by($_), $now, "$how: also for $_") for 'monitor', 'plain';
	is(ask($node, q{SELECT count(*), count(to_buffers - from_buffers), count(passes) FROM kept, pgbufprobe_snapshot_diff(state) WHERE label = 'two'}),
		'7|7|0', "$how: how the hand came here is unknown");
	is(ask($node, q{SELECT count(*) > 100, bool_or(to_buffers < from_buffers)
			FROM kept, pgbufprobe_snapshot_diff(state, by_relation => true) WHERE label = 'two'}), 't|t', "$how: relations can be compared");
	is(difference(), $difference, "$how: snapshots of the old run compare as before");
	$run = $now;
	return;
}

$node->restart;
is_another_run('restart');

my $checkpointer = ask($node, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
my $before_crash = ask($node, 'SELECT pgbufprobe_snapshot()');
kill 'KILL', $checkpointer;
poll_through_crash($node, "SELECT pid <> $checkpointer FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
  or die 'the server did not come back';
is_another_run('crash');
is(ask($node, "SELECT count(*), count(passes) FROM pgbufprobe_snapshot_diff('$before_crash', pgbufprobe_snapshot())", 'postgres', 'plain'),
	'7|0', 'crash: a role without privileges does not compare counts across it');

# When statistics are reset, the hand does not start at 0.
is( ask($node, q{
		CREATE TEMP TABLE before AS SELECT pgbufprobe_snapshot() AS state;
		SELECT pg_stat_reset_shared('bgwriter');
		SELECT count(*), count(passes) FROM before, pgbufprobe_snapshot_diff(state)}),
	"\n7|7", 'the way of the hand is known across a reset');

unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal (?!9)/, 'no process has crashed but that one');
$node->stop;
done_testing();

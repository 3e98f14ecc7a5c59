# The worker ends with the server, in every shutdown mode, without a message in the log, also if a file system does not
# answer. After somebody has terminated it, it starts again. Whoever terminates it, it saves first.

use strict;
use warnings;

use Faults;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# Stops the server, and says what it has logged of that.
sub stop_silently
{
	my ($node, $mode, $what) = @_;
	my $pid = worker_pid($node);
	my $from = -s $node->logfile;

	$node->stop($mode);
	ok(wait_for { !kill 0, $pid }, "$what, $mode shutdown: the worker ends");
	is(sampler_log($node, $from), '', "$what, $mode shutdown: and nothing is logged of it");
}

my $node = sampler_node('main');

for my $mode (qw(fast smart immediate))
{
	await_samples($node, 2);
	stop_silently($node, $mode, 'at work');
	$node->start;
}

set($node, sampler => 'off');
becomes_true($node, "wait_event_type = 'Extension' $worker", 'sampler off: the worker waits');
set($node, decision_hours => 24 + $_ % 2) for 1 .. 200;
my $begin = -s $node->logfile;
my $memory;
ask($node, "SELECT pg_log_backend_memory_contexts(pid) $worker");
ok(wait_for { ($memory) = slurp_file($node->logfile, $begin) =~ /; pgbufprobe sampler: (\d+) total/ }, 'sampler off: the log has its memory');
is($memory, 8192, 'sampler off: settings that are reloaded leave nothing behind');
for my $mode (qw(fast smart immediate))
{
	becomes_true($node, "wait_event_type = 'Extension' $worker", 'sampler off: the worker waits');
	stop_silently($node, $mode, 'sampler off');
	$node->start;
}

# So that it sleeps as long as it ever does.
set($node, sampler => 'on', history_interval => '1h', advice_memory => '0');
for my $mode (qw(fast smart))
{
	becomes_true($node, 'count(*) = 1 FROM pgbufprobe_history() WHERE taken_at > pg_postmaster_start_time()', 'a long sleep');
	stop_silently($node, $mode, 'asleep');
	$node->start;
}

# ---------------------------------------------------------------------------
# Terminated

for my $setting ('on', 'off')
{
	set($node, sampler => $setting);
	becomes_true($node, "wait_event_type = 'Extension' $worker", "sampler $setting: the worker waits");
	my $pid = worker_pid($node);
	my $from = -s $node->logfile;
	ask($node, "SELECT pg_terminate_backend(pid) $worker");
	becomes_true($node, "count(*) = 1 $worker AND pid <> $pid", "sampler $setting, terminated: a new worker is started");
	like(sampler_log($node, $from), qr/background worker "pgbufprobe sampler" \(PID $pid\) exited with exit code 1/,
		"sampler $setting, terminated: the log says so");
}
set($node, sampler => 'on', history_interval => '100ms', advice_memory => '-1');
await_samples($node, 2);

# ---------------------------------------------------------------------------
# All processes are terminated, as by systemd, and the worker first

for my $round (1 .. 3)
{
	my $newest = ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()');
	my $postmaster = $node->{_pid};

	kill 'TERM', worker_pid($node), $postmaster or die $!;
	ok(wait_for { !kill 0, $postmaster }, 'all terminated: the server stops');
	$node->_update_pid(0);
	$node->start;
	await_samples($node, 1);
	is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at = '$newest'"), 1, 'all terminated: what happened until then was saved');
}

# ---------------------------------------------------------------------------
# A file system that does not answer until a signal interrupts the call

for my $call ('open', 'readdir')
{
	$node->stop;
	set_faults('pgbufprobe sampler', 'base', $call => { hangs => 1 });
	start_with_faults($node);
	my $hung = worker_pid($node);
	ok(wait_for { fault_counts()->{$call}{delayed} > 0 }, "$call() hangs");
	ok(stop_within($node, 60), "$call() hangs: the server stops");
	ok(!kill(0, $hung), "$call() hangs: and so does the worker");
	clear_faults();
	$node->start;
}

# ---------------------------------------------------------------------------
# A standby, and one that shuts down on its own when it has reached its target

my $standby = init_standby($node);
$standby->start;
for my $mode (qw(fast smart immediate))
{
	await_samples($standby, 2);
	stop_silently($standby, $mode, 'standby');
	$standby->start;
}
await_samples($standby, 2);
$standby->stop;

ask($node, q{SELECT pg_create_restore_point('target')});
ask($node, q{SELECT pg_switch_wal()});
$standby->append_conf('postgresql.conf', "recovery_target_name = 'target'\nrecovery_target_action = 'shutdown'\n");
my $from = -s $standby->logfile;
# Not as other servers: that may be called a failure.
PostgreSQL::Test::Utils::run_log([ 'pg_ctl', '-w', '-D', $standby->data_dir, '-l', $standby->logfile, 'start' ]);
logs($standby, $from, qr/database system is shut down/, 'a recovery target: the standby shuts down');
like(slurp_file($standby->logfile, $from), qr/shutdown at recovery target/, 'a recovery target: by itself');
is(sampler_log($standby, $from), '', 'a recovery target: and nothing is logged of the worker');
$node->stop;

done_testing();

# Limits: a server without room for the worker says so; it keeps to its share of a processor while settings are reloaded;
# with the largest memory for the advice, it does not make others wait, whatever it is doing, and closes what it opens.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(stat time usleep);

# ---------------------------------------------------------------------------
# No room for the worker

my $node = sampler_node('full', "max_worker_processes = 0\n");
is(ask($node, "SELECT count(*) $worker"), 0, 'no background workers: there is none');
knows_nothing($node, 'no sampler is running', 'no background workers');
has_error($node, 'SELECT pgbufprobe_start()', '53400: could not start the sampler, because no .* slot is free\nDETAIL:  max_worker_processes is 0\. Running background workers: none\.',
	'no background workers: a start says so');
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
await_samples($node, 1);
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE note LIKE '%no sampler%'}), 0,
	'room for it: nothing of that any more');
$node->stop;

# ---------------------------------------------------------------------------
# Reloads

$node = sampler_node('reloads', "pgbufprobe.max_cpu_fraction = 0.01\npgbufprobe.history_interval = 10min\n");
my $saved = state_file($node);
ok(save_history($node, history_interval => '11min'), 'a setting has changed: all is saved');
my $pid = worker_pid($node);
my $reloads = q{DO $$ BEGIN FOR i IN 1..2000 LOOP PERFORM pg_reload_conf(), pg_sleep(0.005); END LOOP; END $$};
SKIP:
{
	skip 'the kernel does not count the time of a process in nanoseconds', 1
	  if !processor_seconds($pid);
	my ($used, $begun) = (processor_seconds($pid), time);
	my @file = (stat $saved)[ 1, 9 ];
	my $share;
	# What it was about to do when this began counts less and less. Each reload at once would take seven times the share.
	ok( within(
			$PostgreSQL::Test::Utils::timeout_default,
			sub {
				ask($node, $reloads);
				$share = (processor_seconds($pid) - $used) / (time - $begun);
				return $share < 0.015;
			}),
		'reloads: the share of a processor is kept') or diag($share);
	is(join(' ', (stat $saved)[ 1, 9 ]), "@file", 'reloads that change nothing: nothing is saved');
}
my $reloading = start_psql($node, 'reloads', '-c', $reloads);
ok(save_history($node, history_interval => '100ms'), 'a setting is changed between other reloads: all is saved');
await_samples($node, 2);
set($node, sampler => 'off');
becomes_true($node, q{note LIKE '%pgbufprobe.sampler is off' FROM pgbufprobe_advice() LIMIT 1}, 'and the setting takes effect');
$reloading->{run}->kill_kill;
$node->stop;

# ---------------------------------------------------------------------------
# The largest memory

$node = sampler_node('memory');
my ($largest) = ask($node, q{SELECT max_val FROM pg_settings WHERE name = 'pgbufprobe.advice_memory'});
cmp_ok($largest, '<=', 16 * 1024, 'the memory for the advice has a limit, beyond which a look would take too long');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.advice_memory = ' . ($largest + 1),
	'22023: ' . ($largest + 1) . ' (kB )?is outside the valid range for parameter "pgbufprobe.advice_memory"', 'more than that');
$node->append_conf('postgresql.conf', "shared_buffers = 4GB\npgbufprobe.advice_memory = $largest\n");
$node->restart;
await_samples($node, 3);
$pid = worker_pid($node);
# DROP DATABASE waits until each process has noticed it.
for my $i (1 .. 10)
{
	ask($node, 'CREATE DATABASE another');
	ask($node, 'CREATE TABLE filled AS SELECT generate_series(1, 10000) AS i', 'another');
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'another'}) or die 'a session does not end';
	ask($node, q{SET statement_timeout = '60 s'; DROP DATABASE another});
}
is(worker_pid($node), $pid, 'databases are dropped while it is at work, and it goes on');

# What uses the pool, the server's files, and all that the worker shares with others.
my $work = q{
	CHECKPOINT;
	SELECT count(*) FROM filled;
	SELECT count(*) FROM pgbufprobe_relations();
	SELECT count(*) FROM pgbufprobe_history();
	SELECT count(*) FROM pgbufprobe_advice();
	SELECT count(*) FROM pgbufprobe_predictions();
	DROP TABLE filled;
	SELECT 'done'};

sub is_at_work { return slurp_file("/proc/$pid/stat") =~ /\) R / }

# Stops the worker while it looks at the pool or counts its buffers, which takes milliseconds; then it would hold for ever
# what it holds meanwhile. Returns whether another session can work.
sub works_beside_stopped_worker
{
	my ($session, $done);

	# So that free buffers become fewer, and it looks at the whole pool.
	ask($node, "CREATE TABLE filled AS SELECT repeat('x', 5000) FROM generate_series(1, 2000)");
	do
	{
		1 until is_at_work();
		usleep(rand 5000);
	} until is_at_work();
	kill 'STOP', $pid;
	$session = start_psql($node, 'beside', '-c', $work);
	$done = within(60, sub { $session->{run}->pump_nb; $session->{out} =~ /done/ });
	kill 'CONT', $pid;
	$session->{run}->finish;
	return $done;
}
# It copies what it has found in a microsecond, under a lock that others need.
cmp_ok(scalar(grep { works_beside_stopped_worker() } 1 .. 12), '>=', 11, 'whenever it is stopped, it holds nothing that others need');
my @open = grep { m{/(base|global|pg_wal|pg_tblspc)\b} } open_files($pid);
cmp_ok(scalar @open, '<', 20, 'it has few files open, after having counted all') or diag(join "\n", @open);
$node->stop;

# ---------------------------------------------------------------------------
# An error in a probe of the page cache

my $other_file = temp_path('other_file');
$node = sampler_node('error', '', OTHER_FILE => $other_file);
SKIP:
{
	skip 'the kernel has no cachestat', 4 if ask($node, q{SELECT count(cached_bytes) FROM pgbufprobe_os_cache('pg_class', method => 'cachestat')}) == 0;
	make_pages($node);
	$pid = worker_pid($node);
	put_file($other_file, '');
	ok( wait_for
		{
			ask($node, 'CALL load(1)');
			slurp_file($node->logfile) =~ /ERROR:  could not get page cache state of file/;
		}, 'a probe fails');
	await_samples($node, 1);
	is(worker_pid($node), $pid, 'a probe failed: the worker goes on');
	@open = open_files($pid);
	is(scalar(grep { m{/base/} } @open), 0, 'a probe failed: its file is closed');
	is(scalar(grep { m{/PG_VERSION$} } @open), 1, 'a probe failed: what another library opened is still open');
}
$node->stop;
has_no_crash($node);

done_testing();

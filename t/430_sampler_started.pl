# A sampler that is started on a running server, without preloading: start, stop, what ends it, and who may do so.

use strict;
use warnings;

use Checkup;
use File::Spec;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $runs = 'The sampler runs until the server stops. Ask pgbufprobe_checkup() in some minutes.';
my $has_stopped = 'The sampler has stopped. What it has learned is saved for the next start.';
my $running = "sampler = 'running' FROM pgbufprobe_status()";
my $small_shm = temp_path('small_shm');
my $node = init_server('stock', qq(
shared_buffers = $pool
pgbufprobe.history_interval = 100ms
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
restart_after_crash = on
), allows_streaming => 1);
start_with($node, SMALL_SHM => $small_shm);
ask($node, 'CREATE EXTENSION pgbufprobe');
make_pages($node);

# The segments of dynamic shared memory of two megabytes and more that a process has mapped.
sub segments_of
{
	my ($pid) = @_;
	no warnings 'portable';

	open my $maps, '<', "/proc/$pid/maps" or die "the maps of process $pid: $!";
	return map { m{(/dev/shm/PostgreSQL\.\d+)} ? $1 : () } grep { /^(\w+)-(\w+) / && hex($2) - hex($1) > 2_000_000 } <$maps>;
}

sub start { return ask($node, 'SELECT pgbufprobe_start()') }
sub stop { return ask($node, 'SELECT pgbufprobe_stop()') }

# ---------------------------------------------------------------------------
# Before

is(ask($node, 'SELECT sampler, since, preloaded FROM pgbufprobe_status()'), 'not started||f', 'nobody has started one');
is(ask($node, 'SELECT running FROM pgbufprobe_metrics_sampler'), '0', 'collectors see that nobody watches');
is( ask($node, q{SELECT topic, verdict, action FROM pgbufprobe_checkup() WHERE topic IN ('size', 'memory')}),
	"size|unknown|SELECT pgbufprobe_start();\nmemory|unknown|SELECT pgbufprobe_start();", 'checkup: unknown, and what to do');
like(ask($node, 'SELECT verdict, note FROM pgbufprobe_verdict()'), qr/^unknown\|nothing watches/, 'verdict: unknown');
ask($node, 'CREATE SCHEMA aside; CREATE ROLE watcher IN ROLE pg_monitor; CREATE ROLE starter IN ROLE pg_monitor');
ask($node, 'GRANT EXECUTE ON FUNCTION pgbufprobe_start() TO starter');
my $action = q{SELECT action FROM pgbufprobe_checkup() WHERE topic = 'size'};
like(as_role($node, 'watcher', $action), qr/^SELECT pgbufprobe_start\(\); starts the sampler without a restart\. A superuser may call it, or a role to which "\w+" has granted EXECUTE\.$/,
	'who may not start it learns who may');
is(as_role($node, 'starter', $action), 'SELECT pgbufprobe_start();', 'a role with the privilege gets the call');
ask($node, 'ALTER EXTENSION pgbufprobe SET SCHEMA aside');
is(ask($node, 'SELECT action FROM aside.pgbufprobe_checkup() LIMIT 1'), 'SELECT aside.pgbufprobe_start();', 'elsewhere: with its schema');
ask($node, 'ALTER EXTENSION pgbufprobe SET SCHEMA public');
is(stop(), 'No sampler was running.', 'nothing to stop');
is(ask($node, 'SELECT running FROM pgbufprobe_metrics_sampler'), '', 'but no alert after a stop');

# A session loads the library in any way, which starts nothing.
ask($node, "LOAD 'pgbufprobe'");
$node->append_conf('postgresql.conf', "session_preload_libraries = pgbufprobe\n");
$node->reload;
becomes_true($node, "current_setting('session_preload_libraries') = 'pgbufprobe' AND current_setting('pgbufprobe.sampler') = 'on'", 'each session loads the library');
is(ask($node, 'SELECT sampler, preloaded FROM pgbufprobe_status()'), 'stopped|f', 'which starts nothing');
is(as_role($node, 'starter', 'SELECT pgbufprobe_start()'), $runs, 'and a sampler can be started');
is(stop(), $has_stopped, 'and stopped');
$node->append_conf('postgresql.conf', "session_preload_libraries = ''\n");
$node->reload;
becomes_true($node, "current_setting('session_preload_libraries') = ''", 'until none does');

# A pooled session, which has loaded the library before.
my $session = $node->background_psql('postgres');
$session->set_query_timer_restart;
is($session->query_safe('SELECT sampler FROM pgbufprobe_status()'), 'stopped', 'a session has loaded the library before');

# ---------------------------------------------------------------------------
# Started

is(as_role($node, 'starter', 'SELECT pgbufprobe_start()'), $runs, 'a start');
is($session->query_safe('SELECT sampler FROM pgbufprobe_status()'), 'running', 'that session sees it from then on');
is(start(), 'The sampler is running already, until the server stops.', 'a second start changes nothing');
becomes_true($node, "$samples > 2", 'samples are taken');
is(ask($node, 'SELECT running FROM pgbufprobe_metrics_sampler'), '1', 'collectors see it');
my $answers;
for (1 .. 10)
{
	wait_for { ($answers = checkup($node))->{size}{says} !~ /has not taken its first sample/ };
	last if $answers->{size}{says} =~ /WATCHED/;
	# more than half a minute has passed
	stop();
	start();
}
like($answers->{size}{says}, qr/^unknown WATCHED [12]?\d, 30$/, 'in the first half minute, nothing is decided');
like($answers->{size}{action}, sentence('ASK_IN_SECONDS'), 'but when to ask again is said');
like("$answers->{memory}{says} $answers->{memory}{action}", qr/^unknown UNKNOWN .* again\.$/, 'nor is how much memory is needed');
cmp_ok($session->query_safe('SELECT count(*) FROM pgbufprobe_history()'), '>', 2, 'that session reads the history');
is( ask($node, 'SELECT sum(size) FROM pg_shmem_allocations WHERE name ILIKE \'%pgbufprobe%\''),
	$node->pg_version < 17 ? '512' : '', 'the main segment has a header, and no more');
my ($segment) = segments_of(worker_pid($node));
ok(-e $segment, 'the history is in dynamic shared memory');
is(join(' ', grep { $_ eq $segment } segments_of($session->query_safe('SELECT pg_backend_pid()'))), '', 'of which that session has nothing mapped any more');
$session->quit;
ok(load_until($node, 10, 'count(miss_ratio) > 0 FROM pgbufprobe_advice()'), 'there is advice');

# The settings of a file, although no library was loaded when the server read it.
set($node, history_interval => '200ms');
becomes_true($node, 'min(seconds) > 0.19 FROM (SELECT seconds FROM pgbufprobe_history() ORDER BY taken_at DESC LIMIT 3) AS last', 'a reload reaches it');
set($node, history_interval => '100ms');

# ---------------------------------------------------------------------------
# Ended, by others and by a crash

my $pid = worker_pid($node);
ask($node, "SELECT pg_terminate_backend($pid)");
becomes_true($node, "pid <> $pid $worker", 'terminated: the postmaster starts it again');
becomes_true($node, "$samples > 2", 'and it finds its history');
ask($node, "SELECT pg_terminate_backend(pid) $worker");
becomes_true($node, "NOT EXISTS (SELECT $worker)", 'terminated again');
is(stop(), $has_stopped, 'stopped while it waits to be restarted');
ok(!-e $segment, 'its memory is free');
is(start(), $runs, 'started again at once');
is(ask($node, "SELECT count(*) $worker"), 1, 'there is one worker');
becomes_true($node, "$samples > 2", 'with the history of the file');
# That of before would come back after five seconds, and end.
my $from = -s $node->logfile;
is(ask($node, "SELECT count(*) $worker AND pg_sleep(6) IS NOT NULL"), 1, 'and still one when the other would be back');

ask($node, 'CREATE DATABASE other');
is(ask($node, 'CREATE EXTENSION pgbufprobe; SELECT sampler FROM pgbufprobe_status()', 'other'), 'running', 'another database sees it');
# which does not wait for it
drop_database($node, 'other');
ask($node, 'DROP EXTENSION pgbufprobe');
is(ask($node, "SELECT count(*) $worker"), 1, 'DROP EXTENSION does not end it');
ask($node, 'CREATE EXTENSION pgbufprobe');
becomes_true($node, $running, 'and a new one finds it');

ask($node, 'SELECT pgbufprobe_stop()');
start();
becomes_true($node, "$samples > 0", 'what was saved comes back');
$from = -s $node->logfile;
my $killed = ask($node, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
kill 'KILL', $killed;
ok(poll_through_crash($node, "SELECT $running WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $killed)"),
	'a crash of the server: it runs again');
ok(poll_through_crash($node, "SELECT $samples > 2"), 'with the history of the file');

# ---------------------------------------------------------------------------
# Stopped

is(stop(), $has_stopped, 'stopped');
is(ask($node, "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pgbufprobe%'"), 0, 'the worker is gone');
is(ask($node, 'SELECT sampler, since FROM pgbufprobe_status()'), 'stopped|', 'the status says so');
is(ask($node, 'SELECT running FROM pgbufprobe_metrics_sampler'), '', 'and no alert');
has_error($node, 'SELECT pgbufprobe_history()', '55000: nothing watches', 'nothing watches again');

# Many at once.
my $script = write_script($node, 'starts', "SELECT pgbufprobe_start();\n");
$node->command_like([ 'pgbench', '-n', '-c', 8, '-t', 25, '-f', $script, 'postgres' ], qr{actually processed: 200/200}, '200 starts, eight at once, succeed');
is(ask($node, "SELECT count(*) $worker"), 1, 'and there is one worker');

# ---------------------------------------------------------------------------
# What prevents a start

# Before 17, a setting that no file has is unknown until the library is loaded.
ask($node, "LOAD 'pgbufprobe'; ALTER SYSTEM SET pgbufprobe.sampler = off");
$node->reload;
becomes_true($node, "sampler = 'off' FROM pgbufprobe_status()", 'switched off');
like(start(), qr/^A sampler is running already, but pgbufprobe.sampler is off, so it waits/, 'a start says that it waits');
stop();
like(start(), qr/^Nothing was started, because pgbufprobe.sampler is off\./, 'and none is started while it is off');
ask($node, "LOAD 'pgbufprobe'; ALTER SYSTEM RESET pgbufprobe.sampler");
$node->reload;
ok(wait_for { ask($node, 'SELECT pgbufprobe_start()') eq $runs }, 'switched on, it starts');
stop();

SKIP:
{
	skip 'this server allocates shared memory by another call', 3 unless slurp_file($node->config_data('--bindir') . '/postgres') =~ /posix_fallocate/;
	put_file($small_shm, '');
	has_error($node, 'SELECT pgbufprobe_start()', '53100: could not resize shared memory segment "[^"]*" to \d{7} bytes: No space left on device', 'no room: an error with the size');
	is(ask($node, 'SELECT sampler FROM pgbufprobe_status()'), 'stopped', 'nothing was started');
	unlink $small_shm;
	is(start(), $runs, 'with room, it starts');
	stop();
}

$node->append_conf('postgresql.conf', "max_worker_processes = 1\n");
$node->restart;
becomes_true($node, q{count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'logical replication launcher'}, 'another worker runs');
has_error($node, 'SELECT pgbufprobe_start()',
	qr/53400: could not start the sampler, because no background worker slot is free\nDETAIL:  max_worker_processes is 1\. Running background workers: logical replication launcher\.\nHINT:  Without a restart,/,
	'no slot: who holds them');
is(ask($node, 'SELECT sampler FROM pgbufprobe_status()'), 'not started', 'nothing was started');
$node->append_conf('postgresql.conf', "max_worker_processes = 2\npgbufprobe.carry_over = on\n");
$node->restart;
$from = -s $node->logfile;
is(start(), $runs, 'with one slot, the sampler starts');
logs($node, $from, qr/WARNING:  could not start the worker that carries both caches over a restart, because no background worker slot is free/,
	'and the log says that there is none for the carry-over');
is(ask($node, 'SELECT carry_over FROM pgbufprobe_status()'), 'no worker', 'the status, too');
await_samples($node, 5);
is(scalar(() = slurp_file($node->logfile, $from) =~ /could not start the worker/g), 1, 'it is tried once, and at each reload');
$node->reload;
ok(wait_for { 2 == (() = slurp_file($node->logfile, $from) =~ /could not start the worker/g) }, 'reloaded: once more');

# ---------------------------------------------------------------------------
# Another version of the library

my $directory = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir());
my $other = "$directory/pgbufprobe.so";
my @objects = grep { $_ ne 'src/base/shared.o' } glob('*.o src/*/*.o');
command_ok(
	[
		'cc', '-shared', '-fPIC', '-D_GNU_SOURCE', '-DPBP_VERSION="0.9"', '-Isrc', '-I' . $node->config_data('--includedir-server'),
		'-o', $other, 'src/base/shared.c', @objects], 'a library of another version');
chmod 0755, $directory, $other;
my $old = "CREATE FUNCTION old_reset() RETURNS void LANGUAGE C STRICT AS '$other', 'pgbufprobe_history_reset';"
  . "CREATE FUNCTION old_stop() RETURNS text LANGUAGE C STRICT AS '$other', 'pgbufprobe_stop';"
  . "CREATE FUNCTION old_start() RETURNS text LANGUAGE C STRICT AS '$other', 'pgbufprobe_start';";
ask($node, $old);
has_error($node, 'SELECT old_reset()',
	'55000: the sampler is running with another version of the pgbufprobe library\nDETAIL:  The sampler has version 1\.0 and shares \d+ bytes\. This session has version 0\.9 and expects \d+ bytes\.',
	'a session with another version gets an error');
like(ask($node, 'SELECT old_start()'), qr/running already/, 'it sees that one is running');
like(ask($node, 'SELECT old_stop()'), qr/^The sampler has stopped/, 'and can stop it');

$node->stop;
done_testing();

# When the worker saves and restores: by its settings, which a reload changes; by how the server stops; and beside
# autoprewarm.

use strict;
use warnings;

use CarryOver;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main', 'shared_buffers = 4096') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
my $nblocks = 2800;
my $table = make_table($node, 'postgres', 'pages', $nblocks);
my $from;
my $restores_postgres = "EXISTS (SELECT $carry_load AND datname = 'postgres')";

sub start_without_file
{
	unlink $file;
	$node->start;
	has_begun($node);
	return;
}

# ---------------------------------------------------------------------------
# When it saves

my $before = maps_identity($node);
set($node, carry_over_interval => '1s');
ok(wait_for { maps_identity($node) ne $before }, 'an interval: it saves');
$before = maps_identity($node);
ok(wait_for { maps_identity($node) ne $before }, 'again and again');
like(progress($node, 'carry_over, saved_at > pg_postmaster_start_time()'), qr/^(waiting|saving)\|t$/, 'the progress says when it has');
cmp_ok(-s $file, '>', 1000, 'and there are maps');
set($node, carry_over => 'off');
becomes_true($node, q{carry_over = 'off' FROM pgbufprobe_status()}, 'off: it says so');
$before = maps_identity($node);
# two intervals, in which nothing happens
sleep 2;
is(maps_identity($node), $before, 'off: it saves no more');
$node->stop;
is(maps_identity($node), $before, 'off: neither at the stop');
$node->start;
is(in_buffers($node, $table), '', 'off: nothing is restored');
is(progress($node, 'carry_over, restored_fraction, saved_at'), 'off||', 'off: the progress is empty');
set($node, carry_over => 'on', carry_over_interval => '1d');
ok(wait_for { maps_identity($node) ne $before }, 'turned on: it saves at once');
is(in_buffers($node, $table), '', 'turned on: nothing is restored');
set($node, carry_over_interval => '0');

$node->stop;
for my $mode ('fast', 'smart', 'immediate')
{
	start_without_file();
	use_blocks($node, 'postgres', 'pages', 0, 99, 2);
	$node->stop($mode);
	is(-e $file ? 'saved' : 'not saved', $mode eq 'immediate' ? 'not saved' : 'saved', "interval 0, $mode stop");
	next unless -e $file;
	$node->start;
	is_restored($node, "$mode stop");
	like(in_buffers($node, $table), qr/^0:2 .* 99:2$/, "$mode stop: the blocks are back");
	$node->stop;
}

# ---------------------------------------------------------------------------
# After a crash, what was saved last

start_without_file();
use_blocks($node, 'postgres', 'pages', 100, 199, 3);
save($node);
use_blocks($node, 'postgres', 'pages', 0, 99, 1);
$node->stop('immediate');
$node->start;
is_restored($node, 'immediate stop');
like(in_buffers($node, $table), qr/^100:3 .* 199:3$/, 'immediate stop: the blocks of the last save are back');

$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->reload;
for my $phase ('waits', 'saves', 'restores')
{
	if ($phase eq 'restores')
	{
		# So that it takes some seconds.
		use_blocks($node, 'postgres', 'pages', 200, $nblocks - 1, 3);
		set($node, carry_over_rate => '1MB');
		$node->restart;
		becomes_true($node, q{carry_over = 'restoring' AND restored_fraction > 0 FROM pgbufprobe_status()}, 'a slow restore');
	}
	if ($phase eq 'saves')
	{
		set($node, carry_over_interval => '1s', max_cpu_fraction => '0.0001');
		becomes_true($node, q{carry_over = 'saving' FROM pgbufprobe_status()}, 'a slow save');
	}
	my ($pid) = split /\n/, ask($node, "SELECT pid $carry_worker ORDER BY backend_start DESC");
	ok(wait_for { !grep { m{/(?:base|global|pg_tblspc)\b} && -d } open_files($pid) }, 'a slow save: no folder is open while it sleeps') if $phase eq 'saves';
	kill 'KILL', $pid;
	ok(poll_through_crash($node, "SELECT count(*) > 0 $carry_worker AND pid <> $pid"), "the worker is killed while it $phase: the server recovers");
	set($node, carry_over_rate => '0', carry_over_interval => '0', max_cpu_fraction => '1');
	is_restored($node, "the worker is killed while it $phase");
	like(in_buffers($node, $table), qr/\b100:[345] .* 199:[345]/, "the worker is killed while it $phase: the blocks of the last save are back");
}

my $pid = ask($node, "SELECT pid $carry_worker");
ask($node, "SELECT pg_terminate_backend($pid)");
becomes_true($node, "count(*) = 1 $carry_worker AND pid <> $pid", 'the worker alone ends: another one is started');
has_begun($node);
is(progress($node, 'carry_over'), 'done', 'which restores nothing again');

# ---------------------------------------------------------------------------
# A restore that ends in a crash each time is given up

set($node, carry_over_rate => '1MB');
use_blocks($node, 'postgres', 'pages', 0, $nblocks - 1, 5);
$node->restart;
for my $crash (1 .. 3)
{
	becomes_true($node, q{carry_over = 'restoring' FROM pgbufprobe_status()}, "crash $crash: a restore was begun");
	$node->stop('immediate');
	is(unpack('x8 Q', slurp_file("$file.restoring")), $crash, "crash $crash: it is remembered");
	$from = -s $node->logfile;
	$node->start;
}
becomes_true($node, q{carry_over = 'waiting' FROM pgbufprobe_status()}, 'after three crashes, nothing is restored');
like(log_since($node, $from), qr/LOG:  ignoring file "pg_stat\/pgbufprobe\.maps", because a crash or an immediate shutdown has ended/, 'and the log says so');
set($node, carry_over_rate => '0');
use_blocks($node, 'postgres', 'pages', 0, 99, 1);
$node->restart;
is_restored($node, 'what was saved after the crashes');
ok(!-e "$file.restoring", 'the crashes are forgotten');

# ---------------------------------------------------------------------------
# A slow restore: progress, and its end. At 1 MB/s, all of it would take 22 seconds and more.

set($node, carry_over_rate => '1MB');
my $pages = 'SELECT count(*) FROM pg_buffercache WHERE ' . $table;
use_blocks($node, 'postgres', 'pages', 0, $nblocks - 1, 5);
$node->restart;
# The first megabyte is read at once.
becomes_true($node, qq{carry_over = 'restoring' AND $restores_postgres AND restored_fraction > 0
	AND restore_seconds_left / (1 - restored_fraction) BETWEEN 14 AND 2200 FROM pgbufprobe_status()}, 'a restore at 1 MB/s');
is(progress($node, q{restored_fraction < 1, restore_seconds_left > 0}), 't|t', 'its progress');
is( ask($node, q{BEGIN; SET lock_timeout = '10 s'; LOCK TABLE pages IN ACCESS EXCLUSIVE MODE; SELECT 'locked'; COMMIT}),
	'locked', 'it keeps no lock');
set($node, carry_over => 'off');
becomes_true($node, q{carry_over = 'off' FROM pgbufprobe_status()}, 'turned off: the restore stops');
becomes_true($node, "count(*) = 1 $carry_worker", 'turned off: and so does the worker in the database');
cmp_ok(ask($node, $pages), '<', $nblocks, 'turned off: before it was complete');
is(progress($node, 'restored_fraction'), '', 'turned off: there is no progress any more');

set($node, carry_over => 'on');
becomes_true($node, q{carry_over = 'waiting' FROM pgbufprobe_status()}, 'turned on: it waits');
use_blocks($node, 'postgres', 'pages', 0, $nblocks - 1, 5);
$node->restart;
becomes_true($node, q{carry_over = 'restoring' AND restored_fraction > 0 FROM pgbufprobe_status()}, 'another one');
$before = maps_identity($node);
$from = -s $node->logfile;
$node->stop;
# A worker that was just connecting is terminated as any other one.
unlike(log_since($node, $from), qr/ERROR|PANIC|both caches/, 'a stop during the restore does not wait for it, and logs no error');
is(maps_identity($node), $before, 'the file remains');
$node->start;
set($node, carry_over_rate => '0');
is_restored($node, 'the next start');
is(ask($node, $pages), $nblocks, 'which begins again');

set($node, carry_over_rate => '1MB');
# Who copies a database waits until it is free, which it is every four seconds, but gives up after five.
my $is_copied;
for my $try (1 .. 5)
{
	$node->restart;
	becomes_true($node, q{carry_over = 'restoring' AND restored_fraction > 0 FROM pgbufprobe_status()}, 'once more');
	becomes_true($node, "$restores_postgres AND ($pages) > 500", 'workers take turns');
	$is_copied = $node->psql('template1', 'CREATE DATABASE copy TEMPLATE postgres') == 0;
	last if $is_copied;
}
ok($is_copied, 'a database can be copied while it is restored');
ask($node, 'DROP DATABASE copy');
# By now, little may be left to restore.
$node->restart;
becomes_true($node, q{carry_over = 'restoring' AND restored_fraction > 0 FROM pgbufprobe_status()}, 'a third time');
$before = ask($node, "SELECT min(pid) $carry_worker AND datname IS NULL");
ask($node, "SELECT pg_cancel_backend(pid) $carry_worker");
is(ask($node, "SELECT count(*) $carry_worker AND datname IS NULL AND pid = $before"), 1, 'a cancel does nothing');
my $ended = ask($node, "SELECT now() FROM pg_terminate_backend($before)");
# Others may be there before anybody looks.
becomes_true($node,
	"count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'pgbufprobe carry-over%' AND backend_start < '$ended'",
	'an end of the worker ends the one in the database');
becomes_true($node, "$restores_postgres AND count(*) > 0 $carry_worker AND pid <> $before",
	'and another one begins again');
$node->restart;
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN; LOCK TABLE pages IN ACCESS EXCLUSIVE MODE');
set($node, carry_over_rate => '0');
is_restored($node, 'a table is locked');
cmp_ok(ask($node, $pages), '<', $nblocks, 'the rest of the table is left out');
$session->query_safe('COMMIT');
$session->quit;

# ---------------------------------------------------------------------------
# Beside autoprewarm, and without a slot

SKIP:
{
	skip 'no pg_prewarm', 1 unless create_if_available($node, 'pg_prewarm');
	my $both = q{both "pgbufprobe.carry_over" and "pg_prewarm.autoprewarm" are enabled};
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_prewarm, pgbufprobe'\npg_prewarm.autoprewarm = on\n");
	$node->restart;
	is_restored($node, 'with autoprewarm');
	my %before = split /[: ]/, in_buffers($node, $table);
	$from = -s $node->logfile;
	$node->restart;
	is_restored($node, 'with autoprewarm again');
	logs($node, $from, qr/autoprewarm successfully prewarmed/, 'autoprewarm completes, too');
	my %after = split /[: ]/, in_buffers($node, $table);
	is_deeply([ sort keys %after ], [ sort keys %before ], 'the same blocks are in shared buffers');
	# autoprewarm uses a block again that it finds.
	is(scalar(grep { $after{$_} - $before{$_} != 0 && $after{$_} - $before{$_} != 1 } keys %before), 0, 'with the same usage counts, or one more');
	my $log = log_since($node, $from);
	is(scalar(() = $log =~ /LOG:  \Q$both\E/g), 1, 'one message says that both are enabled');
	unlike($log, qr/ERROR|FATAL/, 'and there is no error');
	$node->append_conf('postgresql.conf', "pg_prewarm.autoprewarm = off\n");
	$from = -s $node->logfile;
	$node->restart;
	is_restored($node, 'autoprewarm is off');
	unlike(log_since($node, $from), qr/\Q$both\E/, 'autoprewarm is off: there is none');
}

# The server takes one for itself, and the sampler one.
$node->append_conf('postgresql.conf', "shared_preload_libraries = pgbufprobe\nmax_worker_processes = 3\n");
$from = -s $node->logfile;
$node->restart;
logs($node, $from, qr/LOG:  the restore of both caches waits for a background worker slot/,
	'without a slot for the restore, the log says so');
like(progress($node, 'carry_over'), qr/^restoring/, 'and it waits');
$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
is(progress($node, 'carry_over'), 'no background worker slot', 'without one for the worker, the progress says so');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP:/, 'no process has crashed but those that were killed');
done_testing();

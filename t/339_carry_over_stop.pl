# What a save may hold up: a stop, for ten seconds, in which files that were not visited keep what was saved of them before;
# and nobody by waiting for storage.

use strict;
use warnings;

use CacheMap;
use CarryOver;
use Faults;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(usleep);

my $node = carry_node('main', "fsync = on\n") or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
ask($node, "CREATE DATABASE another$_") for 1 .. 2;
make_table($node, 'another1', 'pages', 100);

ask($node, 'SELECT count(*) FROM pages', 'another1');
save($node);
set($node, carry_over_interval => '0');
# Those that shared buffers have a part of: what the page cache has alone, the kernel may drop before the next save.
my @before = map { join '/', @$_[ 0 .. 4 ] }
  grep { my $map = read_map(unpack 'H*', $_->[5]); grep { defined $_->[0] } @{ $map->{blocks} } } saved_maps($node);
# Each takes a tenth of a second, next time.
cmp_ok(scalar(@before), '>', 150, 'a save has the maps of many files');
$node->stop('immediate');
start_with_faults($node);
is_restored($node, 'a start');
my $changed = (stat $file)[1];
my $from = -s $node->logfile;
set_faults('pgbufprobe carry-over', 'base/', open => { delay_s => 0.1 });
$node->stop;
like(slurp_file($node->logfile, $from), qr/LOG:  could not save both caches of all relations within 10 s/, 'a slow save ends early, and the log says so');
isnt((stat $file)[1], $changed, 'what was visited is saved');
my %after = map { $_ => 1 } files_saved($node);
cmp_ok(scalar(grep { $after{$_} } @before), '>=', @before - 20, 'and the others are still there');
is(scalar(keys %after), scalar(() = files_saved($node)), 'none is there twice');

# ---------------------------------------------------------------------------
# The file of before cannot be read in time

clear_faults();
start_with_faults($node);
is_restored($node, 'such a file');
$changed = (stat $file)[1];
$from = -s $node->logfile;
# All reads would take a minute.
set_faults('pgbufprobe carry-over', $file, pread => { delay_s => 1 });
ok(stop_within($node, 30), 'a stop ends although the file of before is read slowly');
like(slurp_file($node->logfile, $from), qr/LOG:  could not save both caches .*\n.*DETAIL:  What was saved before remains\./, 'without a save');
is((stat $file)[1], $changed, 'all that was saved before remains');

clear_faults();
$node->start;
is_restored($node, 'a file that was kept');
$node->stop;

# ---------------------------------------------------------------------------
# Storage is slow

start_with_faults($node);
is_restored($node, 'slow storage');
set_faults('pgbufprobe', '', fsync => { delay_s => 60 });
save($node);
is(ask($node, "SET statement_timeout = '50s';\nDROP DATABASE another2"), '', 'a database is dropped meanwhile');
set_faults('pgbufprobe', '', fsync => { delay_s => 60 }, map { $_ => { delay_s => 0.02, delay_rate => 0.1 } } qw(open read pread rename readdir));
ok(stop_within($node, 30), 'a stop does not wait for each call');
my $counts = fault_counts();
is($counts->{fsync}{count}, 0, 'and nobody waits for fsync()');
cmp_ok($counts->{open}{delayed} + $counts->{pread}{delayed}, '>', 100, 'although many calls wait');

clear_faults();
unlink $file or die $!;
start_with_faults($node);
save($node);
SKIP:
{
	my ($pages) = cachestat_counts($file) or skip 'the kernel has no cachestat', 1;
	like($pages, qr/^\d+\|0\|0\|/, 'a new file has been written when it gets its name');
}

# ---------------------------------------------------------------------------
# A save that sleeps between two files keeps no directory open, whose file system could not be unmounted

set($node, max_cpu_fraction => '0.0001', carry_over => 'off');
becomes_true($node, q{carry_over = 'off' FROM pgbufprobe_status()}, 'it is off');
set($node, carry_over => 'on');
my $sleeps = qq{$carry_worker AND wait_event_type = 'Extension' AND (SELECT carry_over = 'saving' FROM pgbufprobe_status())};
becomes_true($node, "count(*) = 1 $sleeps", 'the worker sleeps during a save');
my $pid = ask($node, "SELECT pid $carry_worker");
# Between two sleeps it has one, also while it waits for a processor.
sub is_asleep { return slurp_file("/proc/$pid/stat") =~ /\) S / }
my $open = grep { usleep(50_000); is_asleep() && (grep { -d } open_files($pid)) && is_asleep() } 1 .. 20;
cmp_ok($open, '<', 10, 'nearly always without an open directory');

# ---------------------------------------------------------------------------
# All processes are terminated, and the worker first

set($node, carry_over_interval => '0', max_cpu_fraction => '1');
becomes_true($node, q{carry_over <> 'saving' FROM pgbufprobe_status()}, 'that save ends');
my $saved = maps_identity($node);
my $postmaster = $node->{_pid};
kill 'TERM', $pid, $postmaster or die $!;
ok(wait_for { !kill 0, $postmaster }, 'all terminated: the server stops');
$node->_update_pid(0);
isnt(maps_identity($node), $saved, 'all terminated: caches are saved');
start_with_faults($node);
is_restored($node, 'all terminated');

# ---------------------------------------------------------------------------
# A file system that does not answer until a signal interrupts the call

for my $call ('open', 'readdir')
{
	for my $when ('at the stop', 'in a save before it')
	{
		my $saved = maps_identity($node);
		set_faults('pgbufprobe carry-over', 'base', $call => { hangs => 1 });
		set($node, carry_over_interval => '1s') if $when ne 'at the stop';
		ok($when eq 'at the stop' || wait_for { fault_counts()->{$call}{delayed} > 0 }, "$call() hangs $when");
		ok(stop_within($node, 60), "$call() hangs $when: the server stops");
		isnt(maps_identity($node), $saved, "$call() hangs $when: caches are saved");
		clear_faults();
		append_to_file($node->data_dir . '/postgresql.auto.conf', "pgbufprobe.carry_over_interval = 0\n");
		start_with_faults($node);
		is_restored($node, "$call() hung $when");
	}
}

has_no_crash($node);
done_testing();

# What a restore does when its workers fail: one that ends early, cannot connect or waits for a lock is not finished, and
# is run again. A restore that stays incomplete keeps its file until shared buffers hold as many pages, or for a day.

use strict;
use warnings;

use CarryOver;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(sleep stat);

my $node = carry_node('main', "shared_buffers = 4096\nmax_worker_processes = 8\n") or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
ask($node, "CREATE DATABASE $_") for 'moved', 'renamed';
my %tables = map { $_ => make_table($node, $_, 'pages', 700) } 'postgres', 'moved', 'renamed';
my $again = qr/LOG:  could not restore a part of both caches in database with OID \d+, will try again/;
my $load_worker = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe carry-over restore'};
my $from;
my $saved;

# Inode, size and time of the file: a new one may have the inode of an old one.
sub identity { return join ' ', (stat $file)[ 1, 7, 9 ] }

# Changes a setting without a session, which could wait for the lock.
sub set_in_file
{
	my ($name, $value) = @_;
	append_to_file($node->data_dir . "/postgresql.auto.conf", "pgbufprobe.$name = '$value'\n");
	$node->reload;
	return;
}

sub logs { my ($line, $what) = @_; return ok(wait_for { slurp_file($node->logfile, $from) =~ $line }, $what) }

# All blocks are there, after a restore with failures that went on.
sub all_are_back
{
	my ($what) = @_;
	is_restored($node, $what);
	is(scalar(() = in_buffers($node, $tables{$_}) =~ /:/g), 700, "$what: all blocks in $_ are back") for sort keys %tables;
	unlike(slurp_file($node->logfile, $from), qr/restored both caches without/, "$what: nothing is missing");
	return;
}

# ---------------------------------------------------------------------------
# A save that fails; at the end, it has been tried again

my $other = carry_node('other', "pgbufprobe.carry_over = off\n");
my $other_log = -s $other->logfile;
my $in_the_way = maps_file($other) . '.tmp';
mkdir $in_the_way or die $!;
append_to_file("$in_the_way/file", '');
set($other, carry_over => 'on', carry_over_interval => '1d');
ok(wait_for { slurp_file($other->logfile, $other_log) =~ /LOG:  could not write file "pg_stat\/pgbufprobe\.maps\.tmp"/ }, 'a save fails');
unlink "$in_the_way/file" or die $!;
rmdir $in_the_way or die $!;

# ---------------------------------------------------------------------------
# A worker cannot connect

use_blocks($node, $_, 'pages', 0, 699, 2) for sort keys %tables;
my $directory = $node->data_dir . '/base/' . ask($node, q{SELECT oid FROM pg_database WHERE datname = 'moved'});
$node->stop;
rename $directory, "$directory.aside" or die $!;
$from = -s $node->logfile;
$node->start;
logs($again, 'no connection: the log says that it is tried again');
ok($node->poll_query_until('postgres', "SELECT count(*) = 700 FROM pg_buffercache WHERE $tables{postgres}"),
	'no connection: meanwhile, other databases are restored');
like(progress($node, 'phase'), qr/^restoring/, 'no connection: the restore has not ended');
$saved = identity();
$node->stop;
is(identity(), $saved, 'no connection: a stop keeps the file');
$from = -s $node->logfile;
$node->start;
logs($again, 'no connection after another start');
rename "$directory.aside", $directory or die $!;
all_are_back('connected again');
is(scalar(() = slurp_file($node->logfile, $from) =~ /$again/g), 1, 'with one message about the failures');

# ---------------------------------------------------------------------------
# A worker ends early

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
becomes_true($node, "count(*) = 1 $load_worker", 'a worker restores');
is(ask($node, "SELECT count(pg_terminate_backend(pid)) $load_worker"), 1, 'and is terminated');
logs($again, 'terminated: the log says so');
set($node, carry_over_rate => '0');
all_are_back('terminated');

# ---------------------------------------------------------------------------
# Locks that are held for long

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
my $session = $node->background_psql('postgres');
becomes_true($node, q{database = 'postgres' AND blocks_done > 0 FROM pgbufprobe_carry_over_progress()}, 'a slow restore');
$session->query_safe('BEGIN; LOCK pg_class IN ACCESS EXCLUSIVE MODE');
set_in_file(carry_over_rate => '0');
logs($again, 'a catalog is locked: its worker does not wait for long');
$session->query_safe('COMMIT');
all_are_back('a catalog was locked');
$session->quit;

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
becomes_true($node, q{database IS NOT NULL FROM pgbufprobe_carry_over_progress()}, 'another slow restore');
my ($name) = grep { $_ ne progress($node, 'database') } 'renamed', 'moved';
$session = $node->background_psql('postgres');
$session->query_safe("BEGIN; ALTER DATABASE $name RENAME TO other");
set_in_file(carry_over_rate => '0');
logs($again, 'a database is locked: its worker does not wait for long');
$session->query_safe('ROLLBACK');
all_are_back('a database was locked');
$session->quit;

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
$session = $node->background_psql('postgres');
becomes_true($node, q{database IS NOT NULL FROM pgbufprobe_carry_over_progress()}, 'a third slow restore');
$session->query_safe('BEGIN; LOCK pg_database IN ACCESS EXCLUSIVE MODE');
set_in_file(carry_over_rate => '0');
logs(qr/LOG:  the restore of both caches waits until "pg_database" is not locked/, 'pg_database is locked: the log says so');
is($session->query_safe(q{SELECT count(*) FROM pg_locks WHERE relation = 'pg_database'::regclass AND NOT granted AND pid = (SELECT pid } . $carry_worker . ')'),
	'0', 'and the worker does not wait for that lock');
$session->query_safe('COMMIT');
all_are_back('pg_database was locked');
$session->quit;

# ---------------------------------------------------------------------------
# A file that cannot be read, which is not damaged

my $faults = PostgreSQL::Test::Utils::tempdir() . '/faults';
local $ENV{SLOW_READS} = $faults;
$node->stop;
append_to_file($faults, "?$file");
$from = -s $node->logfile;
start_with($node, 'slow_reads');
all_are_back('one read fails');
ok(!-e $faults, 'it did');
unlike(slurp_file($node->logfile, $from), qr/could not (?:open|read) file|ignoring file/, 'and is tried again, without a message');

set($node, carry_over_rate => '1MB');
$node->stop;
$from = -s $node->logfile;
start_with($node, 'slow_reads');
becomes_true($node, q{database IS NOT NULL AND blocks_done > 0 FROM pgbufprobe_carry_over_progress()}, 'a fourth slow restore');
append_to_file($faults, "!$file");
logs($again, 'all reads fail: the database is tried again');
unlink $faults or die $!;
set($node, carry_over_rate => '0');
all_are_back('they succeed again');

# of a table
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')}, 'renamed');
for my $passes (1, 0)
{
	$node->stop;
	$saved = identity();
	append_to_file($faults, "!$path");
	$from = -s $node->logfile;
	start_with($node, 'slow_reads');
	logs($again, 'no page of a table can be read: its database is tried again');
	last if !$passes;
	unlink $faults or die $!;
	all_are_back('the pages can be read again');
}
logs(qr/LOG:  restored both caches without a part of 1 database: /, 'they still cannot be read: the restore ends without them');
$node->stop;
is(identity(), $saved, 'a stop keeps the file');
unlink $faults or die $!;
$from = -s $node->logfile;
start_with($node, 'slow_reads');
all_are_back('after another start');

# at a save
append_to_file($faults, "!$file");
$saved = identity();
$from = -s $node->logfile;
set($node, carry_over_interval => '1s');
logs(qr/LOG:  could not read file "pg_stat\/pgbufprobe\.maps": Input.*\n.*DETAIL:  It remains, and nothing is saved\./, 'all reads fail in a save: the log says so');
is(identity(), $saved, 'and the file remains');
unlink $faults or die $!;
ok(wait_for { identity() ne $saved }, 'the next save replaces it');
set($node, carry_over_interval => '0');

for my $error ('Permission denied', 'Input/output error')
{
	$node->stop;
	$saved = identity();
	$error eq 'Permission denied' ? chmod(0, $file) : append_to_file($faults, "!$file");
	$from = -s $node->logfile;
	start_with($node, 'slow_reads');
	logs(qr/LOG:  could not read file "pg_stat\/pgbufprobe\.maps": $error/, "$error: the log says so");
	becomes_true($node, q{phase = 'waiting' FROM pgbufprobe_carry_over_progress()}, 'and nothing is restored');
	set($node, carry_over_interval => '1s');
	sleep(2);
	is(progress($node, 'saved_at'), '', 'nothing is saved, although that is due');
	$node->stop;
	is(identity(), $saved, 'the file remains');
	is(scalar(() = slurp_file($node->logfile, $from) =~ /(?:could not read|ignoring) file/g), 1, 'with one message');
	chmod 0600, $file or die $!;
	unlink $faults;
	append_to_file($node->data_dir . '/postgresql.auto.conf', "pgbufprobe.carry_over_interval = 0\n");
	$from = -s $node->logfile;
	$node->start;
	all_are_back('it can be read again');
}

# ---------------------------------------------------------------------------
# A restore that stays incomplete

$node->append_conf('postgresql.conf', "max_worker_processes = 3\nshared_buffers = 8192\n");
$from = -s $node->logfile;
$node->restart;
logs(qr/LOG:  restored both caches without a part of \d databases: 0 MB read/, 'without a slot, the restore ends');
$saved = identity();
$node->stop;
is(identity(), $saved, 'a stop keeps the file');

# until the load has brought as many pages
my $used = q{SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NOT NULL};
$from = -s $node->logfile;
$node->start;
logs(qr/LOG:  restored both caches without a part of/, 'again');
ask($node, one_row_a_page('filler', 1000) . 'SELECT count(*) FROM filler');
cmp_ok(ask($node, $used), '>', 1000, 'the load brings some pages');
$node->stop;
is(identity(), $saved, 'which are not enough');
$from = -s $node->logfile;
$node->start;
logs(qr/LOG:  restored both caches without a part of/, 'once more');
ask($node, one_row_a_page('more', 4500));
cmp_ok(ask($node, $used), '<', 8000, 'shared buffers are not full');
$node->stop;
isnt(identity(), $saved, 'but hold as many pages: the file is replaced');

# or for a day
$saved = identity();
my $shift = PostgreSQL::Test::Utils::tempdir() . '/seconds';
{
	local $ENV{SHIFT_CLOCK} = $shift;
	$from = -s $node->logfile;
	start_with($node, 'shift_clock');
}
logs(qr/LOG:  restored both caches without a part of/, 'a last time');
append_to_file($shift, '86000');
set($node, carry_over => 'off');
set($node, carry_over => 'on', carry_over_interval => '1s');
sleep(2);
is(identity(), $saved, 'on the same day, the file remains');
unlink $shift;
append_to_file($shift, '87000');
ok(wait_for { identity() ne $saved }, 'a day later, it is replaced');

becomes_true($other, 'saved_at IS NOT NULL FROM pgbufprobe_carry_over_progress()', 'the save that failed was tried again before its interval');

has_no_crash($_) for $node, $other;
done_testing();
